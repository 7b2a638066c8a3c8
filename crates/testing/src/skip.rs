//! Tests that cannot run here say so by name.

use std::env;
use std::fs::OpenOptions;
use std::io::Write as _;

/// Tells that a test did not test. Runners hide what a passing test prints, so the line also goes to the file that
/// `KEYPLANE_SKIPS` names.
pub fn skip(what: &str) {
    let line = format!("SKIP {what}");
    eprintln!("{line}");
    if let Some(file) = env::var_os("KEYPLANE_SKIPS") {
        let mut file = OpenOptions::new().create(true).append(true).open(file).expect("the file of skips");
        // One write, so that lines of tests that run side by side do not mix.
        file.write_all(format!("{line}\n").as_bytes()).expect("the file of skips takes a line");
    }
}

/// A recording in `shared/data` beside the checkout, such as `cardano/txs.jsonl`; or a skip with the name of the test.
#[must_use]
pub fn recording(test: &str, file: &str) -> Option<std::path::PathBuf> {
    let checkout = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = checkout.join("../shared/data").join(file);
    if path.is_file() {
        return Some(path);
    }
    skip(&format!("{test}: no recording shared/data/{file} beside the checkout"));
    None
}
