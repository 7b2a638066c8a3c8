//! Broken contracts are refused with the exact words that help.
//!
//! Every `tests/bad/NAME.toml` has one fault, said in its first line; `NAME.txt` holds the findings as they are shown.
//! After a deliberate change of wording run the tests with `KEYPLANE_BLESS=1`, which writes the texts anew, and read the
//! difference: each text must be true, point at the fault, and say what to do.

// These lints spare `#[test]` functions, but not what they share.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use keyplane_schema::{Broken, parse};
use keyplane_testing::{Fixtures, file_name as name};

/// Every word of [`keyplane_schema::Code`] that is about contracts; those about scripts have files of their own. A code without a broken file has never been seen at work.
const CODES: [&str; 18] = [
    "syntax",
    "unknown-word",
    "missing",
    "bad-value",
    "bad-name",
    "unknown-name",
    "bad-pattern",
    "loose-check",
    "overlap",
    "cross-slot",
    "ttl-link",
    "limits",
    "owners",
    "verb",
    "acl-reach",
    "acl-command",
    "life-cycle",
    "example",
];

const SYSTEMS: [&str; 5] = ["mempool", "docket", "market", "swarm", "sequencer"];

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
    for file in broken_files() {
        let source = fs::read_to_string(&file).unwrap();
        let first = source.lines().next().unwrap_or_default();
        assert!(first.starts_with("# ") && first.ends_with(['.', '?']), "{}: {first}", name(&file));
    }
}

#[test]
fn every_code_occurs() {
    let broken: Vec<Broken> = broken_files().iter().map(|file| refused(file)).collect();
    let seen: BTreeSet<&str> =
        broken.iter().flat_map(|broken| &broken.diagnostics).map(|found| found.code.word()).collect();
    assert_eq!(seen, BTreeSet::from(CODES));
}

#[test]
fn every_finding_names_file_line_and_column() {
    for file in broken_files() {
        let broken = refused(&file);
        for found in &broken.diagnostics {
            let (line, column) = found.line_column(&broken.source);
            let place = format!("--> {}:{line}:{column}\n", name(&file));
            let told = found.render(&broken.file, &broken.source, false);
            assert!(told.contains(&place), "{place}is not in\n{told}");
        }
    }
}

#[test]
fn colour_changes_nothing_but_the_colour() {
    for file in broken_files() {
        let broken = refused(&file);
        assert_eq!(without_colour(&broken.render(true)), broken.render(false), "{}", name(&file));
    }
}

#[test]
fn the_contracts_of_the_systems_are_sound() {
    for system in SYSTEMS {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../systems").join(system).join("keys.toml");
        if let Err(broken) = parse(system, &fs::read_to_string(file).unwrap()) {
            panic!("{broken}");
        }
    }
}

/// The findings of a broken file, under its bare name.
fn refused(file: &Path) -> Broken {
    match parse(&name(file), &fs::read_to_string(file).unwrap()) {
        Ok(_) => panic!("{} was accepted", name(file)),
        Err(broken) => *broken,
    }
}

fn fixtures() -> Fixtures {
    Fixtures::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad"), "toml")
}

fn broken_files() -> Vec<PathBuf> {
    fixtures().files()
}

/// The text without the escape sequences of colours, `ESC [ … m`.
fn without_colour(text: &str) -> String {
    let mut parts = text.split('\x1b');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |plain, part| plain + part.split_once('m').map_or("", |(_, rest)| rest))
}
