//! Any text as a script of the tests' contract, alone and behind a sound header.
//!
//! `tests/bad_scripts` and `tests/bad_scripts/good` make good seeds.
#![no_main]

use std::sync::LazyLock;

use keyplane_schema::{Contract, parse, script};
use libfuzzer_sys::fuzz_target;

static CONTRACT: LazyLock<Contract> = LazyLock::new(|| {
    parse("keys.toml", include_str!("../../tests/bad_scripts/keys.toml"))
        .expect("the contract of the tests is sound")
});

const HEAD: &str = "\
-- depot/tidy v1: forget jobs and their labels.
-- keys: lock(rw) due(rw) job(rw)... tagged(rw)...
-- args: token, ttl(lock), ids...
-- returns: number of keys
-- repeat: safe

";

fuzz_target!(|text: &str| {
    // The name of the script is in its first line, when it has one.
    let title = text.split_once('/').and_then(|(_, rest)| rest.split([' ', ':']).next());
    check(title.unwrap_or("tidy"), text);
    check("tidy", &format!("{HEAD}{text}"));
});

/// It passes or is refused with findings that can be shown; never a panic, never more than a moment.
fn check(name: &str, source: &str) {
    match script::check(&CONTRACT, &format!("{name}.lua"), source) {
        Ok(script) => assert_eq!(script.name, name),
        Err(broken) => {
            assert!(!broken.diagnostics.is_empty());
            let _ = broken.render(false);
        }
    }
}
