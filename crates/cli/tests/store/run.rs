//! Running the binary with nothing but what the test gives it.

use std::path::Path;
use std::process::Stdio;

use serde_json::Value;
use tempfile::TempDir;

/// How the binary ended and what it said.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub(crate) fn says(&self, text: &str) -> bool {
        self.stdout.contains(text) || self.stderr.contains(text)
    }
}

/// A folder to run in, with variables for it.
#[derive(Debug)]
pub(crate) struct Folder {
    dir: TempDir,
    variables: Vec<(String, String)>,
}

impl Folder {
    pub(crate) fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap(), variables: Vec::new() }
    }

    /// With this keyplane.toml.
    pub(crate) fn with(settings: &str) -> Self {
        let folder = Self::new();
        std::fs::write(folder.path().join("keyplane.toml"), settings).unwrap();
        folder
    }

    pub(crate) fn set(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// The binary in this folder, without what the machine sets.
    pub(crate) fn command(&self, args: &[&str]) -> std::process::Command {
        let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin("keyplane"));
        for (name, _) in std::env::vars_os() {
            if name.to_str().is_some_and(|name| name.starts_with("KEYPLANE_") || name.starts_with("REDIS_")) {
                command.env_remove(name);
            }
        }
        // Nobody's own store is looked into.
        command.env("HOME", self.path()).env_remove("XDG_STATE_HOME");
        command.current_dir(self.path()).env("NO_COLOR", "1").args(args);
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ended {
        ended(self.command(args).output().unwrap())
    }
}

pub(crate) fn ended(output: std::process::Output) -> Ended {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ended { code: output.status.code().unwrap(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// In an empty folder.
pub(crate) fn keyplane(args: &[&str]) -> Ended {
    Folder::new().run(args)
}

/// The check of that name, in a doctor's document, of its first server.
pub(crate) fn check(document: &Value, name: &str) -> Value {
    let checks = document["servers"][0]["checks"].as_array().unwrap();
    let found = checks.iter().find(|check| check["check"] == name);
    found.unwrap_or_else(|| panic!("no check {name}: {document:#}")).clone()
}

/// How that check stands.
pub(crate) fn state(document: &Value, name: &str) -> String {
    check(document, name)["state"].as_str().unwrap().to_owned()
}
