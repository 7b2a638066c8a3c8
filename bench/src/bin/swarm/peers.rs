//! The peers: langgraph's savers, in a Python of their own below the target directory, asked step by step.

use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::{env, fs};

use serde_json::{Value, json};

use crate::checkpoint::Took;

const SCRIPT: &str = include_str!("../../../peers/savers.py");
const REQUIREMENTS: &str = include_str!("../../../peers/requirements.txt");

/// Why the peers cannot be asked.
#[derive(Debug)]
pub(crate) struct Missing(String);

impl std::fmt::Display for Missing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<io::Error> for Missing {
    fn from(error: io::Error) -> Self {
        Self(error.to_string())
    }
}

/// Whom a step is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Saver {
    Sqlite,
    Valkey,
}

impl Saver {
    fn word(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Valkey => "valkey",
        }
    }
}

/// The running script.
pub(crate) struct Peers {
    child: Child,
    asked: ChildStdin,
    told: BufReader<ChildStdout>,
    database: PathBuf,
}

impl Peers {
    /// Installs what is missing, and starts the script. `swarm` says where the live swarm is.
    pub(crate) fn start(mut swarm: Value) -> Result<Self, Missing> {
        let home = home()?;
        let python = install(&home)?;
        let database = home.join(format!("savers-{}.sqlite", std::process::id()));
        swarm["database"] = database.display().to_string().into();
        let mut child =
            Command::new(python).args(["-c", SCRIPT]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (Some(asked), Some(told)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Missing("no pipe to the savers".to_owned()));
        };
        let mut peers = Self { child, asked, told: BufReader::new(told), database };
        peers.ask(&swarm)?;
        Ok(peers)
    }

    fn ask(&mut self, step: &Value) -> Result<Value, Missing> {
        writeln!(self.asked, "{step}")?;
        self.asked.flush()?;
        let mut line = String::new();
        self.told.read_line(&mut line)?;
        serde_json::from_str(&line)
            .map_err(|_| Missing("the savers have ended; what they said is above".to_owned()))
    }

    fn timed(&mut self, step: &Value) -> Result<Took, Missing> {
        let told = self.ask(step)?;
        let number = |name: &str| told[name].as_f64().unwrap_or_default();
        Ok(Took { seconds: number("seconds"), client: number("cpu"), server: 0.0 })
    }

    /// Reads the whole swarm and saves it; or only the agent that has `changed`, where a program knows which.
    pub(crate) fn put(&mut self, saver: Saver, changed: Option<&str>) -> Result<Took, Missing> {
        self.timed(&json!({ "saver": saver.word(), "step": "put", "changed": changed }))
    }

    /// Loads the newest.
    pub(crate) fn load(&mut self, saver: Saver) -> Result<Took, Missing> {
        self.timed(&json!({ "saver": saver.word(), "step": "load" }))
    }

    /// What one checkpoint takes.
    pub(crate) fn bytes(&mut self, saver: Saver) -> Result<f64, Missing> {
        let told = self.ask(&json!({ "saver": saver.word(), "step": "bytes" }))?;
        Ok(told["bytes"].as_f64().unwrap_or_default())
    }
}

impl Drop for Peers {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        for end in ["", "-wal", "-shm"] {
            let _ = fs::remove_file(format!("{}{end}", self.database.display()));
        }
    }
}

/// A directory beside the profiles of the target directory that this program was built in.
fn home() -> Result<PathBuf, Missing> {
    let program = env::current_exe()?;
    let target = program
        .ancestors()
        .nth(2)
        .ok_or_else(|| Missing("this program is in no target directory".to_owned()))?;
    Ok(target.join("peers"))
}

/// The Python that has everything; installed once, and again when other versions are wanted.
fn install(home: &Path) -> Result<PathBuf, Missing> {
    let (python, noted) = (home.join("venv/bin/python"), home.join("requirements.txt"));
    if fs::read_to_string(&noted).is_ok_and(|found| found == REQUIREMENTS) && python.exists() {
        return Ok(python);
    }
    eprintln!("checkpoint: installing langgraph's savers in {}", home.display());
    fs::create_dir_all(home)?;
    let wanted = home.join("wanted.txt");
    fs::write(&wanted, REQUIREMENTS)?;
    run(Command::new("python3").args(["-m", "venv"]).arg(home.join("venv")), "python3 with its module venv")?;
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"]).arg(&wanted);
    run(&mut pip, "langgraph's savers from PyPI")?;
    // Last: what was broken off is begun again.
    fs::rename(wanted, noted)?;
    Ok(python)
}

fn run(command: &mut Command, needed: &str) -> Result<(), Missing> {
    let why = match command.status() {
        Ok(status) if status.success() => return Ok(()),
        Ok(status) => status.to_string(),
        Err(error) => error.to_string(),
    };
    Err(Missing(format!("it needs {needed}: {command:?}: {why}")))
}
