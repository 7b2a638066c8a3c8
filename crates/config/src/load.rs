//! Reads the environment and the file of this process. The only part with I/O besides the password's file.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::Path;

use keyplane_schema::Code;

use crate::config::Config;
use crate::definition::Via;
use crate::error::{Error, Fault};
use crate::flags::Flag;
use crate::read::{Sources, read};
use crate::table::by_older_name;

/// Read when it is there and no other file is named.
const FILE: &str = "keyplane.toml";
const VARIABLE: &str = "KEYPLANE_CONFIG";

/// Reads the settings of this process: `flags`, its environment, and the file that `config` (the flag `--config`) or
/// `KEYPLANE_CONFIG` names, else `keyplane.toml` in the current folder if there is one.
pub fn load(config: Option<&Path>, flags: Vec<Flag>) -> Result<Config, Error> {
    load_from(Path::new(""), std::env::vars_os(), config, flags)
}

/// The same with another folder and environment.
pub fn load_from(
    folder: &Path,
    environment: impl IntoIterator<Item = (OsString, OsString)>,
    config: Option<&Path>,
    flags: Vec<Flag>,
) -> Result<Config, Error> {
    let environment = variables(environment)?;
    let file = find(folder, &environment, config)?;
    read(&Sources { file, environment, flags })
}

/// The variables that can be ours.
fn variables(
    environment: impl IntoIterator<Item = (OsString, OsString)>,
) -> Result<Vec<(String, String)>, Error> {
    let mut variables = Vec::new();
    let mut faults = Vec::new();
    for (name, value) in environment {
        let Ok(name) = name.into_string() else { continue };
        if !name.starts_with("KEYPLANE_") && by_older_name(Via::Environment, &name).is_none() {
            continue;
        }
        match value.into_string() {
            Ok(value) => variables.push((name, value)),
            Err(_) => faults.push(Fault::new(Code::BadValue, format!("the variable {name} is not UTF-8"))),
        }
    }
    // The order of an environment is chance; messages and rows should not be.
    variables.sort();
    if faults.is_empty() { Ok(variables) } else { Err(Error { file: None, faults }) }
}

fn find(
    folder: &Path,
    environment: &[(String, String)],
    config: Option<&Path>,
) -> Result<Option<(String, String)>, Fault> {
    let variable = environment.iter().find(|(name, value)| name == VARIABLE && !value.is_empty());
    let named = config
        .map(|path| (path, "--config"))
        .or_else(|| variable.map(|(_, value)| (Path::new(value.as_str()), VARIABLE)));
    let path = folder.join(named.map_or(Path::new(FILE), |(path, _)| path));
    let shown = path.display().to_string();
    match (std::fs::read_to_string(&path), named) {
        (Ok(text), _) => Ok(Some((shown, text))),
        (Err(error), None) if error.kind() == ErrorKind::NotFound => Ok(None),
        (Err(error), Some((_, by))) if error.kind() == ErrorKind::NotFound => {
            Err(Fault::new(Code::Missing, format!("there is no file {shown}, which {by} names"))
                .help("name a file that exists, or leave it out to use the defaults"))
        }
        (Err(error), named) => {
            let by = named.map(|(_, by)| format!(", which {by} names,")).unwrap_or_default();
            Err(Fault::new(Code::BadValue, format!("the file {shown}{by} cannot be read: {error}")))
        }
    }
}
