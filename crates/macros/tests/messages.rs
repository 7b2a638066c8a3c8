//! What does not compile, and whether the compiler's message helps.

#[test]
fn mistakes_do_not_compile_and_say_why() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/*.rs");
}
