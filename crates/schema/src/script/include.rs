//! Functions that several scripts share: a line `-- include: tell.lua` stands for the text of that file.
//!
//! Redis knows no libraries that every version has, so the text is put in before the script is checked and sent: what is
//! checked is what runs, and it has one SHA.

use std::io;
use std::path::{Path, PathBuf};

/// Below the folder of the scripts, so that what is shared is not taken for a script.
const FOLDER: &str = "include";

const MARK: &str = "-- include:";

/// What keeps a script from being put together.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IncludeError {
    /// The script itself.
    #[error("cannot read `{file}`: {error}")]
    Unread {
        /// The file.
        file: String,
        /// Why.
        error: io::Error,
    },
    /// A file that it includes.
    #[error("line {line} of `{file}` includes `{FOLDER}/{name}`, which cannot be read: {error}")]
    Missing {
        /// The script.
        file: String,
        /// Where it says so.
        line: usize,
        /// What it includes.
        name: String,
        /// Why.
        error: io::Error,
    },
}

/// A script with everything that it includes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Whole {
    /// Its text as it is checked and sent.
    pub source: String,
    /// The names of the files that it includes.
    pub includes: Vec<String>,
}

/// Reads a script and puts in what it includes.
pub fn read(path: &Path) -> Result<Whole, IncludeError> {
    let file = path.display().to_string();
    let text =
        std::fs::read_to_string(path).map_err(|error| IncludeError::Unread { file: file.clone(), error })?;
    let mut whole = Whole { source: String::with_capacity(text.len()), includes: Vec::new() };
    for (at, line) in text.split_inclusive('\n').enumerate() {
        let Some(name) = line.strip_prefix(MARK).map(str::trim) else {
            whole.source.push_str(line);
            continue;
        };
        let shared = std::fs::read_to_string(path_of(path, name)).map_err(|error| IncludeError::Missing {
            file: file.clone(),
            line: at + 1,
            name: name.to_owned(),
            error,
        })?;
        whole.source.push_str(&shared);
        whole.includes.push(name.to_owned());
    }
    Ok(whole)
}

/// Where an included file of a script is.
#[must_use]
pub fn path_of(script: &Path, name: &str) -> PathBuf {
    script.parent().unwrap_or(Path::new("")).join(FOLDER).join(name)
}
