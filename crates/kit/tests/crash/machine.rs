//! A machine as a process: this test program once more.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use keyplane_testing::Server;

pub(crate) const URL: &str = "KEYPLANE_CRASH_URL";
pub(crate) const NAME: &str = "KEYPLANE_CRASH_NAME";

/// Before every line that is meant for the test.
pub(crate) const SAYS: &str = "MACHINE ";

/// Killed when it is dropped.
pub(crate) struct Machine {
    child: Child,
    told: Option<ChildStdin>,
    says: BufReader<ChildStdout>,
    /// All that it has said, and that was heard.
    pub(crate) said: Vec<String>,
}

impl Machine {
    pub(crate) fn start(server: &Server, name: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "told::a_machine", "--ignored", "--nocapture"])
            .env(URL, server.url())
            .env(NAME, name)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (told, says) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        let mut machine = Self { child, told, says, said: Vec::new() };
        machine.hear("ready");
        machine
    }

    /// Tells it to do something.
    pub(crate) fn tell(&mut self, what: &str) {
        writeln!(self.told.as_mut().expect("it lives"), "{what}").unwrap();
    }

    /// The next that it says; `None` when it has ended.
    fn next(&mut self) -> Option<String> {
        loop {
            let mut line = String::new();
            if self.says.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            // A line that was cut by the end of the process was not said.
            if let Some((_, said)) = line.strip_suffix('\n')?.split_once(SAYS) {
                self.said.push(said.to_owned());
                return Some(said.to_owned());
            }
        }
    }

    /// What it says next, which begins like this; what comes after that.
    pub(crate) fn hear(&mut self, begins: &str) -> String {
        let said = self.next().unwrap_or_else(|| panic!("it ended before `{begins}`: {:?}", self.said));
        let rest = said.strip_prefix(begins).unwrap_or_else(|| panic!("`{said}` instead of `{begins}`"));
        rest.trim_start().to_owned()
    }

    /// Listens until it says something that begins like this.
    pub(crate) fn hear_until(&mut self, begins: &str) {
        loop {
            let said = self.next().unwrap_or_else(|| panic!("it ended before `{begins}`"));
            if said.starts_with(begins) {
                return;
            }
        }
    }

    /// Takes the lock, however long that takes: its fence.
    pub(crate) fn lead(&mut self) -> String {
        self.tell("acquire");
        self.hear("leads in")
    }

    /// kill -9. What it said before is still heard.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        while self.next().is_some() {}
    }

    /// SIGSTOP.
    pub(crate) fn stop(&self) {
        self.signal("STOP");
    }

    /// SIGCONT.
    pub(crate) fn go_on(&self) {
        self.signal("CONT");
    }

    fn signal(&self, name: &str) {
        let sent = Command::new("kill").arg(format!("-{name}")).arg(self.child.id().to_string()).status();
        assert!(sent.unwrap().success(), "cannot send SIG{name}");
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
