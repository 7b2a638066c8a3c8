//! Clients that others wrote, for the tests, where they can be had: redis-py, ioredis, and the one of the Model Context Protocol.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, ensure};

use crate::command;
use crate::place::Place;

/// The tests read the folder of the packages from here.
pub(crate) const VARIABLE: &str = "KEYPLANE_TEST_CLIENTS";

const REDIS_PY: &str = "redis==8.1.0";
const IOREDIS: &str = "ioredis@6.0.0";
const MCP: &str = "mcp==2.3.0";

/// Without a network this is a note, so it should be a quick one.
const FETCH_LIMIT: Duration = Duration::from_secs(120);

/// The folder of the packages: named by the user, fetched earlier, or fetched now.
pub(crate) fn find(place: &Place) -> Result<PathBuf> {
    if let Some(named) = env::var_os(VARIABLE) {
        ensure!(!named.is_empty(), "{VARIABLE} is empty");
        return Ok(named.into());
    }
    // Other versions are another folder.
    let folder = place.own_dir().join(format!("clients-{REDIS_PY}-{IOREDIS}-{MCP}"));
    if !folder.exists() {
        fetch(&folder)?;
    }
    Ok(folder)
}

/// Complete or not there: what an interrupted run leaves behind has another name.
fn fetch(folder: &Path) -> Result<()> {
    let begun = folder.with_extension("begun");
    if begun.exists() {
        fs::remove_dir_all(&begun)?;
    }
    fs::create_dir_all(&begun)?;
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "--no-input", "--retries", "1", "install", "--no-compile", "--target"]);
    run(pip.arg(begun.join("python")).args([REDIS_PY, MCP]), &begun)?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--prefix"]);
    run(npm.arg(begun.join("node")).arg(IOREDIS), &begun)?;
    fs::rename(&begun, folder)?;
    Ok(())
}

fn run(command: &mut Command, folder: &Path) -> Result<()> {
    let said = File::create(folder.join("fetch.log"))?;
    command::run_quietly(command.stdout(said.try_clone()?).stderr(said), FETCH_LIMIT)
}
