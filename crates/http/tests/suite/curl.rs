//! The real curl, so that a client other than our own is heard.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};

use axum::http::{HeaderMap, HeaderName};

use crate::site::Reply;

pub(crate) struct Curl(());

impl Curl {
    /// Skips by name where there is none.
    pub(crate) fn here() -> Option<Self> {
        let found = Command::new("curl").arg("--version").stdout(Stdio::null()).status();
        if found.is_ok_and(|status| status.success()) {
            return Some(Self(()));
        }
        keyplane_testing::skip("HTTP over sockets: there is no curl");
        None
    }

    pub(crate) fn call(&self, url: &str, args: &[&str]) -> Reply {
        self.send(url, args, &[])
    }

    /// With this as its standard input, for `--data-binary @-`.
    pub(crate) fn send(&self, url: &str, args: &[&str], input: &[u8]) -> Reply {
        let mut child = command(url, args).arg("--include").stdin(Stdio::piped()).spawn().unwrap();
        // A server that refuses early may leave curl with the rest unsent.
        let _ = child.stdin.take().unwrap().write_all(input);
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        let (mut head, mut body) = said.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no head: {said:?}"));
        // Before a large body curl asks whether to go on.
        while head.contains(" 100 ") {
            (head, body) = body.split_once("\r\n\r\n").expect("an answer after 100 Continue");
        }
        let mut lines = head.lines();
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let mut headers = HeaderMap::new();
        for (name, value) in lines.filter_map(|line| line.split_once(": ")) {
            headers.append(name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
        }
        Reply { status, headers, body: body.to_owned() }
    }

    /// A stream that stays open.
    pub(crate) fn listen(&self, url: &str, args: &[&str]) -> Listening {
        let mut child = command(url, args).arg("--no-buffer").spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Listening { child, lines }
    }
}

fn command(url: &str, args: &[&str]) -> Command {
    let mut command = Command::new("curl");
    // Settings and proxies of whoever runs the tests are none of theirs. The limit only ends what hangs.
    command.args(["--disable", "--noproxy", "*", "--silent", "--show-error", "--max-time", "120"]);
    command.args(args).arg(url).stdout(Stdio::piped());
    command
}

/// A curl that receives events. Dropping it cuts the connection.
pub(crate) struct Listening {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Listening {
    /// The next event: its id, name and data. None when the stream is over.
    pub(crate) fn event(&mut self) -> Option<(String, String, String)> {
        let (mut id, mut name) = (String::new(), String::new());
        loop {
            let mut line = String::new();
            if self.lines.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            match line.trim_end().split_once(": ") {
                Some(("id", value)) => value.clone_into(&mut id),
                Some(("event", value)) => value.clone_into(&mut name),
                Some(("data", value)) => return Some((id, name, value.to_owned())),
                _ => {}
            }
        }
    }

    pub(crate) fn ended(mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
