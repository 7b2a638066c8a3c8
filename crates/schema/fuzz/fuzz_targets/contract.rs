//! Any text, starting from the broken contracts of the tests.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../check.rs"]
mod check;

fuzz_target!(|text: &str| check::any_text(text));
