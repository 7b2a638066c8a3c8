//! Bugs that are planted into the engine one at a time: the differential tests have to notice every one of them.
//!
//! The bugs stand in a list beside those tests. They are planted in a copy of the sources, so a run that is interrupted
//! leaves nothing behind in the checkout.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use toml::de::DeTable;

use crate::command::{self, cargo, duration};
use crate::needs::{self, Need};
use crate::place::Place;

const LIST: &str = "crates/engine/tests/planted.toml";
const ENGINE: &str = "crates/engine/src";
const TEST: [&str; 6] = ["test", "-p", "keyplane-engine", "--test", "differential", "--locked"];

/// The first build compiles everything that the engine and its tests depend on. A family takes seconds, and to shrink what
/// it finds a minute or two.
const LIMIT: Duration = Duration::from_secs(30 * 60);

/// One entry of the list.
struct Bug {
    /// The wrong behaviour, in plain words.
    name: String,
    /// Below the engine's sources.
    file: String,
    /// What stands in that file exactly once, and what is to stand there instead.
    find: String,
    replace: String,
    /// The family of the differential tests that must notice.
    family: String,
}

/// Plants each bug whose name has `part` in it, or all of them. The last line says how many were caught.
pub(crate) fn run(place: &Place, part: Option<&str>) -> Result<()> {
    let list = fs::read_to_string(place.root.join(LIST)).with_context(|| format!("cannot read {LIST}"))?;
    let mut bugs = parse(&list)?;
    bugs.retain(|bug| part.is_none_or(|part| bug.name.contains(part)));
    ensure!(!bugs.is_empty(), "no bug in {LIST} has `{}` in its name", part.unwrap_or_default());
    needs::provide_these(&[Need::Redis])?;
    let field = Field::prepare(place)?;
    field.check_unplanted(&bugs)?;
    let mut caught = 0;
    for bug in &bugs {
        let line = match field.plant(bug) {
            Ok(Some(time)) => {
                caught += 1;
                format!("caught after {}", duration(time))
            }
            Ok(None) => "MISSED".to_owned(),
            Err(problem) => format!("cannot be planted: {problem:#}"),
        };
        println!("{:<13} {}: {line}", bug.family, bug.name);
    }
    let summary = format!("{caught} of {} caught", bugs.len());
    ensure!(caught == bugs.len(), summary);
    println!("{summary}");
    Ok(())
}

fn parse(list: &str) -> Result<Vec<Bug>> {
    let table = DeTable::parse(list).with_context(|| format!("{LIST} is no TOML"))?;
    let entries = table.get_ref().get("bug").and_then(|bugs| bugs.get_ref().as_array());
    let entries = entries.with_context(|| format!("{LIST} has no [[bug]]"))?;
    let bugs = entries.iter().enumerate().map(|(number, entry)| {
        let text = |field: &str| {
            let value = entry.get_ref().get(field).and_then(|value| value.get_ref().as_str());
            value.map(str::to_owned).with_context(|| format!("bug {} in {LIST} has no `{field}`", number + 1))
        };
        let (name, file, family) = (text("name")?, text("file")?, text("family")?);
        Ok(Bug { name, file, find: text("find")?, replace: text("replace")?, family })
    });
    bugs.collect()
}

/// A copy of the sources to plant bugs in, with builds and logs of its own.
struct Field {
    sources: PathBuf,
    target: PathBuf,
    logs: PathBuf,
}

impl Field {
    fn prepare(place: &Place) -> Result<Self> {
        let dir = place.own_dir().join("planted");
        let field = Self { sources: dir.join("sources"), target: dir.join("target"), logs: dir.join("logs") };
        mirror(&place.root, &field.sources, &place.target)?;
        fs::create_dir_all(&field.logs).context("cannot make the folder of logs")?;
        Ok(field)
    }

    /// What is red already would catch anything, and what is skipped nothing.
    fn check_unplanted(&self, bugs: &[Bug]) -> Result<()> {
        let families: BTreeSet<&str> = bugs.iter().map(|bug| bug.family.as_str()).collect();
        let log = self.logs.join("unplanted.log");
        let start = Instant::now();
        let args: Vec<&str> = ["--", "--exact", "--nocapture"].into_iter().chain(families.clone()).collect();
        self.test(&log, &args).context("the unplanted engine is red")?;
        let said = fs::read_to_string(&log)?;
        ensure!(!said.contains("SKIP "), "the differential tests cannot run here: see {}", log.display());
        ensure!(said.contains(&format!(" {} passed", families.len())), "not all are families: {families:?}");
        println!("{:<13} green after {}", "unplanted", duration(start.elapsed()));
        Ok(())
    }

    /// Plants a bug, lets its family look for it, and puts the file back as it was. How long it took; `None` is missed.
    fn plant(&self, bug: &Bug) -> Result<Option<Duration>> {
        let path = self.sources.join(ENGINE).join(&bug.file);
        let sound = fs::read_to_string(&path).with_context(|| format!("cannot read {}", bug.file))?;
        let times = sound.matches(&bug.find).count();
        ensure!(times == 1, "what to replace is {times} times in {}", bug.file);
        fs::write(&path, sound.replace(&bug.find, &bug.replace))?;
        let caught = self.look_for(bug);
        fs::write(&path, sound)?;
        caught
    }

    fn look_for(&self, bug: &Bug) -> Result<Option<Duration>> {
        let log = self.logs.join(bug.name.replace(|c: char| !c.is_ascii_alphanumeric(), "-") + ".log");
        self.test(&log, &["--no-run"])?;
        let start = Instant::now();
        let Err(problem) = self.test(&log, &["--", "--exact", &bug.family]) else { return Ok(None) };
        // A test that was stopped has found nothing.
        let is_red = fs::read_to_string(&log)?.contains(&format!("test {} ... FAILED", bug.family));
        if is_red { Ok(Some(start.elapsed())) } else { Err(problem) }
    }

    /// Runs the differential tests; what they print goes into the log.
    fn test(&self, log: &Path, args: &[&str]) -> Result<()> {
        let said = File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
        let mut command = cargo();
        command.args(TEST).args(args).current_dir(&self.sources);
        // Red is for differences here, not for what a sequence has not met.
        command.env("KEYPLANE_DIFF_LEAST", "0").env("CARGO_TARGET_DIR", &self.target);
        command.stdout(said.try_clone()?).stderr(said);
        command::run_quietly(&mut command, LIMIT).with_context(|| format!("see {}", log.display()))
    }
}

/// Copies a folder, but for what was built and what is git's. What is the same stays untouched, so that cargo need not build
/// it again; what a run that was interrupted has planted is not the same.
fn mirror(from: &Path, to: &Path, target: &Path) -> Result<()> {
    fs::create_dir_all(to).with_context(|| format!("cannot make {}", to.display()))?;
    for entry in fs::read_dir(from)? {
        let name = entry?.file_name();
        let (path, copy) = (from.join(&name), to.join(&name));
        if path == target || name == "target" || name == ".git" {
            continue;
        }
        if path.is_dir() {
            mirror(&path, &copy, target)?;
        } else if fs::read(&copy).ok() != Some(fs::read(&path)?) {
            // Not `fs::copy`: where it keeps the time of a file, that looks older than what was built of it.
            fs::write(&copy, fs::read(&path)?).with_context(|| format!("cannot copy {}", path.display()))?;
        }
    }
    Ok(())
}
