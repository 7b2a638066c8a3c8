//! Files that are told in exact words: `NAME.toml` with a fault, and `NAME.txt` with what is said about it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The variable that makes the tests write the expected texts instead of comparing them.
const BLESS: &str = "KEYPLANE_BLESS";

/// A folder of such files.
#[derive(Debug, Clone)]
pub struct Fixtures {
    folder: PathBuf,
    extension: &'static str,
}

impl Fixtures {
    /// The files with that extension in a folder; the texts are beside them.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>, extension: &'static str) -> Self {
        Self { folder: folder.into(), extension }
    }

    /// The files, in order.
    #[must_use]
    pub fn files(&self) -> Vec<PathBuf> {
        self.with_extension(self.extension)
    }

    fn with_extension(&self, extension: &str) -> Vec<PathBuf> {
        let entries =
            fs::read_dir(&self.folder).unwrap_or_else(|error| panic!("{}: {error}", self.folder.display()));
        let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        files.retain(|file| file.extension().is_some_and(|own| own == extension));
        files.sort();
        files
    }

    /// Panics where what is told differs from the text; with `KEYPLANE_BLESS=1` writes the texts instead.
    pub fn compare(&self, told: impl Fn(&Path) -> String) {
        let mut wrong = Vec::new();
        for file in self.files() {
            let (expected, told) = (file.with_extension("txt"), told(&file));
            if blessing() {
                fs::write(&expected, told).unwrap();
            } else if fs::read_to_string(&expected).unwrap_or_default() != told {
                wrong.push(difference(&expected, &told));
            }
        }
        let count = wrong.len();
        assert!(
            wrong.is_empty(),
            "{count} texts differ; `-` is expected, `+` is told\n\n{}",
            wrong.join("\n")
        );
    }

    /// Panics when a file has no text, a text no file, or there are fewer than that many.
    pub fn come_in_pairs(&self, least: usize) {
        let stems = |files: Vec<PathBuf>| -> BTreeSet<String> {
            files.iter().map(|file| file_name(&file.with_extension(""))).collect()
        };
        let files = stems(self.files());
        if !blessing() {
            assert_eq!(files, stems(self.with_extension("txt")));
        }
        assert!(files.len() >= least, "only {} files", files.len());
    }
}

/// The bare name of a file.
#[must_use]
pub fn file_name(file: &Path) -> String {
    file.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn blessing() -> bool {
    std::env::var_os(BLESS).is_some_and(|value| value == "1")
}

/// The lines that differ, between those that are alike at both ends.
fn difference(expected: &Path, told: &str) -> String {
    let old = fs::read_to_string(expected).unwrap_or_default();
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), told.lines().collect());
    let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let tail = old[head..].iter().rev().zip(new[head..].iter().rev()).take_while(|(a, b)| a == b).count();
    let mut text = format!("{}, from line {}:\n", file_name(expected), head + 1);
    for line in &old[head..old.len() - tail] {
        text += &format!("- {line}\n");
    }
    for line in &new[head..new.len() - tail] {
        text += &format!("+ {line}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_told_and_a_missing_text_too() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("a.toml"), "x").unwrap();
        fs::write(dir.path().join("a.txt"), "one\ntwo\nthree\n").unwrap();
        let fixtures = Fixtures::new(dir.path(), "toml");
        fixtures.compare(|_| "one\ntwo\nthree\n".to_owned());
        fixtures.come_in_pairs(1);
        let failed =
            std::panic::catch_unwind(|| fixtures.compare(|_| "one\n2\nthree\n".to_owned())).unwrap_err();
        let told = failed.downcast_ref::<String>().unwrap();
        assert!(told.contains("a.txt, from line 2:\n- two\n+ 2\n"), "{told}");
        fs::write(dir.path().join("b.toml"), "y").unwrap();
        assert!(std::panic::catch_unwind(|| fixtures.come_in_pairs(1)).is_err());
        assert!(std::panic::catch_unwind(|| fixtures.come_in_pairs(9)).is_err());
    }
}
