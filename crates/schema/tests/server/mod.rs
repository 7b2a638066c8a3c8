//! Real servers for tests: started on a socket of their own, stopped when dropped.
//!
//! A Unix socket in a fresh directory needs no free port and cannot be reached from outside.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use redis::{Client, Connection};
use tempfile::TempDir;

/// A loaded machine may take its time; a server that does not start says so in its log at once.
const START_LIMIT: Duration = Duration::from_secs(20);

/// A running server with an empty database, nothing of which is kept.
#[derive(Debug)]
pub(crate) struct Server {
    process: Child,
    dir: TempDir,
}

impl Server {
    /// Starts the server that this program is.
    pub(crate) fn start(program: &Path) -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let log = fs::File::create(dir.path().join("log")).expect("a log file");
        let process = Command::new(program)
            // DEBUG is on, so that it is the user's rights that refuse it and not the server's settings.
            .args(["--port", "0", "--save", "", "--appendonly", "no", "--enable-debug-command", "yes"])
            .arg("--unixsocket")
            .arg(dir.path().join("socket"))
            .arg("--dir")
            .arg(dir.path())
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a second handle"))
            .stderr(log)
            .spawn()
            .unwrap_or_else(|error| {
                panic!("cannot start {}: {error}; `cargo xtask test` installs it", program.display())
            });
        let mut server = Self { process, dir };
        server.wait_until_it_answers();
        server
    }

    /// A connection with all rights.
    pub(crate) fn admin(&self) -> Connection {
        self.connect("").expect("the default user has no password")
    }

    /// A connection as that user.
    pub(crate) fn login(&self, user: &str, password: &str) -> Connection {
        let credentials = format!("?user={user}&pass={password}");
        self.connect(&credentials).unwrap_or_else(|error| panic!("{user} cannot log in: {error}"))
    }

    fn connect(&self, query: &str) -> redis::RedisResult<Connection> {
        let socket = self.dir.path().join("socket");
        Client::open(format!("redis+unix://{}{query}", socket.display()))?.get_connection()
    }

    fn wait_until_it_answers(&mut self) {
        let deadline = Instant::now() + START_LIMIT;
        while self.connect("").is_err() {
            let ended = self.process.try_wait().expect("the state of the server");
            if ended.is_some() || Instant::now() > deadline {
                let log = fs::read_to_string(self.dir.path().join("log")).unwrap_or_default();
                panic!("the server does not answer; its log:\n{log}");
            }
            thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may be gone already, and there is nothing on it worth an orderly end.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The redis-server on `PATH`. The tests need it; starting it fails with a message where there is none.
pub(crate) fn redis_server() -> PathBuf {
    PathBuf::from("redis-server")
}

/// The valkey-server that the environment names, or the one on `PATH`. An empty name means: do without.
pub(crate) fn valkey_server() -> Option<PathBuf> {
    match env::var_os("KEYPLANE_VALKEY_SERVER") {
        Some(named) if named.is_empty() => None,
        Some(named) => Some(PathBuf::from(named)),
        None => on_path("valkey-server"),
    }
}

fn on_path(program: &str) -> Option<PathBuf> {
    let dirs: OsString = env::var_os("PATH")?;
    env::split_paths(&dirs).map(|dir| dir.join(program)).find(|file| file.is_file())
}
