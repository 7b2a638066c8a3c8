//! A process that runs `keyplane store`.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Killed when it is dropped.
pub(crate) struct Owner {
    child: Child,
    /// Where it listens.
    pub(crate) address: String,
    /// Bytes that it cut off its log.
    pub(crate) torn: u64,
}

impl Owner {
    /// Starts one on a free port and waits until it listens.
    pub(crate) fn start(folder: &Path, fsync: &str) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_keyplane"))
            .args(["store", "--listen", "127.0.0.1:0", "--json", "--fsync", fsync])
            .arg(folder)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the binary runs");
        let mut said = String::new();
        let mut reader = BufReader::new(child.stdout.take().expect("a pipe"));
        // The document ends with a brace of its own.
        while reader.read_line(&mut said).expect("text") > 0 && !said.trim_end().ends_with('}') {}
        let said: serde_json::Value =
            serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}"));
        let address = said["address"].as_str().expect("an address").to_owned();
        Self { child, address, torn: said["torn_bytes"].as_u64().expect("a count") }
    }

    pub(crate) fn connect(&self) -> redis::Connection {
        let client = redis::Client::open(format!("redis://{}", self.address)).expect("a url");
        client.get_connection().expect("a connection")
    }

    /// kill -9.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ends");
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
