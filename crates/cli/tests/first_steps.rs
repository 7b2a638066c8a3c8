//! What a newcomer meets first: the demo, help, completions, man pages.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use assert_cmd::Command;

fn run(args: &[&str]) -> String {
    let output = Command::cargo_bin("keyplane").unwrap().env("NO_COLOR", "1").args(args).output().unwrap();
    assert!(output.status.success(), "{args:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_demo_writes_takes_refuses_and_ages() {
    let text = run(&["demo", "--for", "1s"]);
    for words in ["redis-cli -p ", "depot:parcel:bern:p17", "lives 6.0 s", "ann has p17", "arrived", "taken"]
    {
        assert!(text.contains(words), "{words} is missing:\n{text}");
    }
    assert_eq!(text.matches("refused  ").count(), 3, "{text}");
    let json: serde_json::Value = serde_json::from_str(&run(&["demo", "--json"])).unwrap();
    assert_eq!(json["contracts"].as_array().unwrap().len(), 5);
    assert_eq!(json["refused"].as_array().unwrap().len(), 3);
    assert_eq!(json["taken"], serde_json::json!({ "parcel": "p17", "carried": 1 }));
}

#[test]
fn every_help_page_ends_with_two_examples() {
    let pages: &[&[&str]] = &[
        &[],
        &["demo"],
        &["store"],
        &["ping"],
        &["doctor"],
        &["config"],
        &["config", "show"],
        &["config", "doc"],
        &["completions"],
        &["man"],
        &["keys"],
        &["keys", "check"],
        &["keys", "list"],
        &["keys", "show"],
        &["keys", "match"],
        &["keys", "doc"],
        &["keys", "acl"],
        &["keys", "diff"],
        &["keys", "json-schema"],
    ];
    for page in pages {
        let text = run(&[page, &["--help"][..]].concat());
        let (_, examples) =
            text.split_once("Examples:\n").unwrap_or_else(|| panic!("{page:?} has no examples:\n{text}"));
        assert_eq!(examples.lines().filter(|line| line.contains("keyplane")).count(), 2, "{page:?}");
    }
}

#[test]
fn completions_and_man_pages_come_from_the_same_definition() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let text = run(&["completions", shell]);
        assert!(text.contains("json-schema") && text.contains("doctor"), "{shell}");
    }
    assert!(run(&["man"]).contains("keyplane"));
    let folder = tempfile::tempdir().unwrap();
    run(&["man", "--dir", folder.path().to_str().unwrap()]);
    assert!(folder.path().join("keyplane-keys-match.1").exists());
}

#[test]
fn a_reader_that_stops_early_is_no_error() {
    let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin("keyplane"))
        .args(["keys", "json-schema"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
