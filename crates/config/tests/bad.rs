//! Broken files are refused with the exact words that help.
//!
//! Every `tests/bad/NAME.toml` says in its first line what is wrong; `NAME.txt` holds the findings as they are shown.
//! After a deliberate change of wording run the tests with `KEYPLANE_BLESS=1`, which writes the texts anew, and read the
//! difference: each text must be true, point at the fault, say what to do, and not show `hunter2`.

// These lints spare `#[test]` functions, but not what they share.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::path::Path;

use keyplane_config::{Error, Sources, read};
use keyplane_testing::{Fixtures, file_name as name};

/// The password in the files that have one.
const SECRET: &str = "hunter2";

#[test]
fn every_fault_is_told_in_the_expected_words() {
    fixtures().compare(|file| refused(file).render(false) + "\n");
}

#[test]
fn files_and_texts_come_in_pairs() {
    fixtures().come_in_pairs(40);
}

#[test]
fn the_first_line_of_a_file_says_what_is_wrong() {
    for file in fixtures().files() {
        let source = fs::read_to_string(&file).unwrap();
        let first = source.lines().next().unwrap_or_default();
        assert!(first.starts_with("# ") && first.ends_with(['.', '?']), "{}: {first}", name(&file));
    }
}

#[test]
fn every_finding_names_file_line_and_column_and_says_something_at_the_place() {
    for file in fixtures().files() {
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
    for file in fixtures().files() {
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

fn fixtures() -> Fixtures {
    Fixtures::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad"), "toml")
}
