//! `keyplane swarm serve` in a process of its own, curl to talk to it, and the commands.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Output, Stdio};

use keyplane_testing::{Answer, Program, Server, Settings, curl};
use serde_json::{Value, json};

pub(crate) const SWARM: &str = "swarm_abc123def456";
pub(crate) const CODER: &str = "agent_dev00001";
pub(crate) const VALIDATOR: &str = "agent_val00001";

pub(crate) fn redis() -> Server {
    Server::start(Program::Redis, &Settings::tcp())
}

pub(crate) fn keyplane(url: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_keyplane"));
    command.env("KEYPLANE_URL", url).env_remove("KEYPLANE_CONFIG").env("NO_COLOR", "1");
    command
}

/// `keyplane swarm …`.
pub(crate) fn swarm(url: &str, words: &[&str]) -> Output {
    keyplane(url).arg("swarm").args(words).output().unwrap()
}

/// The same, which must succeed, and its answer.
pub(crate) fn told(url: &str, words: &[&str]) -> Value {
    let output = swarm(url, &[words, &["--json"]].concat());
    assert_eq!(output.status.code(), Some(0), "{words:?}: {output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A process that serves. It is killed when it is dropped.
pub(crate) struct Serving {
    process: Child,
    pub(crate) address: String,
}

impl Serving {
    pub(crate) fn start(url: &str) -> Self {
        Self::start_with(url, &[])
    }

    pub(crate) fn start_with(url: &str, settings: &[(&str, &str)]) -> Self {
        Self::launch(url, &["--log", "warn", "--without-keeper"], settings)
    }

    /// One that also takes back tasks, saves and removes.
    pub(crate) fn keeping(url: &str, settings: &[(&str, &str)]) -> Self {
        Self::launch(url, &["--log", "error"], settings)
    }

    fn launch(url: &str, words: &[&str], settings: &[(&str, &str)]) -> Self {
        let mut process = keyplane(url)
            .args(["swarm", "serve", "--listen", "127.0.0.1:0"])
            .args(words)
            .envs(settings.iter().copied())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut first = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut first).unwrap();
        let address = first.split_whitespace().last().unwrap_or_default().to_owned();
        assert!(address.starts_with("http://"), "{first}");
        Self { process, address }
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        curl(&format!("{}{path}", self.address), &["-H", "Accept: application/json"])
    }

    pub(crate) fn send(&self, method: &str, path: &str, body: &Value) -> Answer {
        let body = body.to_string();
        // From a file, because a long one is no argument of a command.
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), body).unwrap();
        let data = format!("@{}", file.path().display());
        let args = ["-X", method, "-H", "Content-Type: application/json", "--data-binary", &data];
        curl(&format!("{}{path}", self.address), &args)
    }

    /// A change that must be carried out.
    pub(crate) fn done(&self, method: &str, path: &str, body: &Value) -> Value {
        let answer = self.send(method, path, body);
        assert_eq!(answer.status, 200, "{method} {path}: {answer:?}");
        answer.json()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// Everything that the store holds.
pub(crate) fn everything(server: &Server) -> BTreeMap<String, Vec<u8>> {
    let mut admin = server.admin();
    let keys: Vec<String> = redis::cmd("KEYS").arg("*").query(&mut admin).unwrap();
    keys.into_iter()
        .map(|key| {
            let value = redis::cmd("DUMP").arg(&key).query(&mut admin).unwrap();
            (key, value)
        })
        .collect()
}

pub(crate) fn objective() -> Value {
    json!({ "description": "Log people in", "type": "feature", "priority": "high" })
}

/// A swarm that runs, with a coder and a validator.
pub(crate) fn running(url: &str) {
    told(url, &["create", SWARM, "--objective", &objective().to_string()]);
    told(url, &["agent", "register", SWARM, CODER, "--role", "coder"]);
    told(url, &["agent", "register", SWARM, VALIDATOR, "--role", "reviewer", "--type", "validator"]);
    told(url, &["update", SWARM, "--status", "running"]);
}
