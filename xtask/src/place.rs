//! Where the repository and its build products are.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::command;

/// The two directories that everything else is relative to.
pub(crate) struct Place {
    /// The checkout.
    pub(crate) root: PathBuf,
    /// Cargo's target directory; may lie outside the checkout.
    pub(crate) target: PathBuf,
}

impl Place {
    /// Finds the checkout and asks cargo for its target directory.
    pub(crate) fn find() -> Result<Self> {
        let root = find_root().context("cannot find the checkout: run this as `cargo xtask`")?;
        // Cargo knows best: the directory can come from the environment, from a config file or from neither.
        let metadata = command::output(
            command::cargo().args(["metadata", "--no-deps", "--format-version", "1"]).current_dir(&root),
        )?;
        let target = string_member(&metadata, "target_directory")
            .context("`cargo metadata` names no target directory")?
            .into();
        Ok(Self { root, target })
    }

    /// A directory for this program's own files. `cargo clean` removes it with the rest.
    pub(crate) fn own_dir(&self) -> PathBuf {
        self.target.join("xtask")
    }
}

/// Asked at run time and not fixed at compile time, because a target directory can outlive its checkout.
fn find_root() -> Option<PathBuf> {
    let start = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).or_else(|| env::current_dir().ok())?;
    start.ancestors().find(|dir| dir.join("xtask/Cargo.toml").is_file()).map(Path::to_path_buf)
}

/// The value of the first string member `name` in a JSON text. A JSON parser would be the only other dependency.
fn string_member(json: &str, name: &str) -> Option<String> {
    let (_, rest) = json.split_once(&format!("\"{name}\":\""))?;
    let mut value = String::new();
    let mut chars = rest.chars();
    loop {
        match chars.next()? {
            '"' => return Some(value),
            // In a path only `\"` and `\\` occur.
            '\\' => value.push(chars.next()?),
            c => value.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::string_member;

    #[test]
    fn a_path_is_read_out_of_the_metadata() {
        let json = r#"{"packages":[],"target_directory":"C:\\build \"x\"","version":1}"#;
        assert_eq!(string_member(json, "target_directory").as_deref(), Some(r#"C:\build "x""#));
        assert_eq!(string_member(json, "workspace_root"), None);
        assert_eq!(string_member(r#"{"target_directory":"cut"#, "target_directory"), None);
    }
}
