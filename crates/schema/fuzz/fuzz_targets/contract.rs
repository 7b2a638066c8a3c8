//! Any text is a contract or a list of findings; never a panic, never more than a moment.
//!
//! Bytes alone seldom become TOML, so every second input picks whole lines out of the broken contracts of the tests.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;

static LINES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/bad");
    let files = std::fs::read_dir(folder).expect("the broken contracts").flatten();
    let mut paths: Vec<_> = files.map(|file| file.path()).filter(|path| path.extension().is_some_and(|ending| ending == "toml")).collect();
    paths.sort();
    let mut lines: Vec<String> = Vec::new();
    for path in paths {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        lines.extend(text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')).map(str::to_owned));
    }
    lines.sort();
    lines.dedup();
    lines
});

const HEAD: &str = "[contract]\nname = \"x\"\nversion = \"1.0\"\ndoc = \"X.\"\n[component]\napp = \"App.\"\n";

fn from_lines(data: &[u8]) -> String {
    let pick = |pair: &[u8; 2]| LINES[usize::from(u16::from_le_bytes(*pair)) % LINES.len()].as_str();
    let lines: Vec<&str> = data.as_chunks::<2>().0.iter().map(pick).collect();
    format!("{HEAD}{}\n", lines.join("\n"))
}

fuzz_target!(|data: &[u8]| {
    let text = match data {
        [0, rest @ ..] => from_lines(rest),
        _ => match std::str::from_utf8(data) {
            Ok(text) => text.to_owned(),
            Err(_) => return,
        },
    };
    match keyplane_schema::parse("fuzz.toml", &text) {
        Ok(contract) => {
            let _ = keyplane_schema::markdown(&contract);
            assert!(keyplane_schema::diff(&contract, &contract).changes.is_empty());
        }
        Err(broken) => {
            assert!(!broken.diagnostics.is_empty());
            let _ = broken.render(false);
        }
    }
});
