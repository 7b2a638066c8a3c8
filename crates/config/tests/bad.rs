//! Broken files are refused with the exact words that help.
//!
//! Every `tests/bad/NAME.toml` says in its first line what is wrong; `NAME.txt` holds the findings as they are shown.
//! After a deliberate change of wording run the tests with `KEYPLANE_BLESS=1`, which writes the texts anew, and read the
//! difference: each text must be true, point at the fault, say what to do, and not show `hunter2`.

// These lints spare `#[test]` functions, but not what they share.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::path::{Path, PathBuf};

use keyplane_config::{Error, Sources, read};

/// The password in the files that have one.
const SECRET: &str = "hunter2";

#[test]
fn every_fault_is_told_in_the_expected_words() {
    let mut wrong = Vec::new();
    for file in files("toml") {
        let told = refused(&file).render(false) + "\n";
        let expected = file.with_extension("txt");
        if blessing() {
            fs::write(&expected, told).unwrap();
        } else if fs::read_to_string(&expected).unwrap_or_default() != told {
            wrong.push(format!("{} should hold:\n{told}", name(&expected)));
        }
    }
    assert!(wrong.is_empty(), "{} texts differ\n\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn files_and_texts_come_in_pairs() {
    let stems = |extension| -> Vec<String> {
        files(extension).iter().map(|file| name(&file.with_extension(""))).collect()
    };
    if !blessing() {
        assert_eq!(stems("toml"), stems("txt"));
    }
    assert!(stems("toml").len() >= 40);
}

#[test]
fn the_first_line_of_a_file_says_what_is_wrong() {
    for file in files("toml") {
        let source = fs::read_to_string(&file).unwrap();
        let first = source.lines().next().unwrap_or_default();
        assert!(first.starts_with("# ") && first.ends_with(['.', '?']), "{}: {first}", name(&file));
    }
}

#[test]
fn every_finding_names_file_line_and_column_and_says_something_at_the_place() {
    for file in files("toml") {
        let broken = refused(&file).file.unwrap();
        for found in &broken.diagnostics {
            let (line, column) = found.line_column(&broken.source);
            let told = found.render(&broken.file, &broken.source, false);
            assert!(told.contains(&format!("--> {}:{line}:{column}\n", name(&file))), "{told}");
            assert!(found.labels.iter().all(|label| !label.text.is_empty()), "{told}");
        }
    }
}

#[test]
fn the_password_is_in_no_text() {
    let mut with_password = 0;
    for file in files("toml") {
        with_password += usize::from(fs::read_to_string(&file).unwrap().contains(SECRET));
        let error = refused(&file);
        assert!(!format!("{error} {error:?} {error:#?}").contains(SECRET), "{}: {error}", name(&file));
    }
    assert!(with_password >= 9);
}

fn refused(file: &Path) -> Error {
    match read(&Sources::default().file(name(file), fs::read_to_string(file).unwrap())) {
        Ok(_) => panic!("{} was accepted", name(file)),
        Err(error) => error,
    }
}

fn files(extension: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad");
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|own| own == extension));
    files.sort();
    files
}

fn name(file: &Path) -> String {
    file.file_name().unwrap().to_string_lossy().into_owned()
}

fn blessing() -> bool {
    std::env::var_os("KEYPLANE_BLESS").is_some_and(|value| value == "1")
}
