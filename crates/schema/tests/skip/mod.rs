//! Tests that cannot run here say so by name.

use std::env;
use std::fs::OpenOptions;
use std::io::Write as _;

/// Tells that a test did not test. Runners hide what a passing test prints, so the line also goes to a file.
pub(crate) fn skip(what: &str) {
    let line = format!("SKIP {what}");
    eprintln!("{line}");
    if let Some(file) = env::var_os("KEYPLANE_SKIPS") {
        let mut file = OpenOptions::new().create(true).append(true).open(file).expect("the file of skips");
        writeln!(file, "{line}").expect("the file of skips takes a line");
    }
}
