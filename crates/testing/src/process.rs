//! A server process that cannot outlive its test.
//!
//! A test process may be killed without a chance to clean up. So each server runs under a small shell script that holds
//! the read end of a pipe; when the test process is gone, the pipe closes and the script kills the server. The server
//! stays a process of its own, so signals go to it directly.

use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

const SUPERVISOR: &str = include_str!("supervisor.sh");

/// A running server and its supervisor. Dropping it kills both.
#[derive(Debug)]
pub(crate) struct Process {
    supervisor: Child,
    server: u32,
}

impl Process {
    /// Starts a command with this directory's `log` as its output.
    pub(crate) fn start(dir: &Path, command: &[OsString]) -> Self {
        let log = File::options().create(true).append(true).open(dir.join("log")).expect("a log file");
        let mut supervisor = Command::new("sh")
            .args(["-c", SUPERVISOR, "supervisor"])
            .arg(dir)
            .args(command)
            // Ctrl-C must reach the tests and not the servers that they are still using.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .expect("sh starts");
        let mut line = String::new();
        let mut said = BufReader::new(supervisor.stdout.take().expect("its output is piped"));
        said.read_line(&mut line).expect("the supervisor tells the server's pid");
        let server = line.trim().parse().unwrap_or_else(|_| panic!("`{line}` is not a pid"));
        Self { supervisor, server }
    }

    /// The server's own process id.
    pub(crate) fn pid(&self) -> u32 {
        self.server
    }

    /// How it ended, if it did.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        self.supervisor.try_wait().expect("the state of the supervisor")
    }

    /// Sends a signal to the server itself.
    pub(crate) fn signal(&self, name: &str) {
        signal(self.server, name);
    }
}

/// Sends a signal through the `kill` program: the standard library can only kill its own children.
pub(crate) fn signal(pid: u32, name: &str) {
    let sent = Command::new("kill").arg(format!("-{name}")).arg(pid.to_string()).status();
    let sent = sent.expect("the kill program");
    assert!(sent.success(), "cannot send SIG{name} to {pid}");
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(mut stdin) = self.supervisor.stdin.take() {
            // The word tells the supervisor that its directory stays. It may be gone already.
            let _ = stdin.write_all(b"stop\n");
        }
        let _ = self.supervisor.wait();
    }
}
