//! The Lua scripts of a contract, as files in a folder.

use std::fs;
use std::path::{Path, PathBuf};

use keyplane_schema::{Broken, Contract, script};

use crate::outcome::Failure;

const FOLDER: &str = "--scripts takes a folder with .lua files";

/// What is to be said about one script.
pub(super) enum Verdict {
    /// It keeps to its operation.
    Sound {
        /// Its file.
        file: String,
        /// What it does.
        doc: String,
    },
    /// It does not.
    Broken(Box<Broken>),
    /// An operation runs it, and it is not there.
    Missing {
        /// The operation.
        op: String,
        /// The file.
        script: String,
    },
}

/// Every script in the folder, and every one that an operation runs and the folder lacks.
pub(super) fn check(contract: &Contract, folder: &Path) -> Result<Vec<Verdict>, Failure> {
    let files = lua_files(folder)?;
    let mut verdicts = Vec::new();
    for file in &files {
        let shown = file.display().to_string();
        let whole =
            script::include::read(file).map_err(|error| Failure::new(error.to_string()).help(FOLDER))?;
        verdicts.push(match script::check(contract, &shown, &whole.source) {
            Ok(script) => Verdict::Sound { file: shown, doc: script.doc },
            Err(broken) => Verdict::Broken(broken),
        });
    }
    let there = |name: &str| files.iter().any(|file| file.file_name().is_some_and(|own| own == name));
    for op in &contract.ops {
        if let Some(name) = op.script.as_ref().filter(|name| !there(name)) {
            let script = folder.join(name).display().to_string();
            verdicts.push(Verdict::Missing { op: op.name.clone(), script });
        }
    }
    Ok(verdicts)
}

fn lua_files(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(|error| unread(folder, &error))? {
        let path = entry.map_err(|error| unread(folder, &error))?.path();
        if path.extension().is_some_and(|extension| extension == "lua") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn unread(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(format!("cannot read {}: {error}", path.display())).help(FOLDER)
}
