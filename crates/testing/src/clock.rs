//! Virtual time on a real server.
//!
//! A small library, compiled here and preloaded into a stock redis-server, answers its questions for the time from a
//! mapped file. The time in the file moves only when the test says so: a TTL of a day ends after one call.
//!
//! valkey-server 9 adds the real time that its own steps take to the time it was told, so there this does not work.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use redis::Connection;

use crate::program::Program;
use crate::server::Server;
use crate::settings::Settings;
use crate::skip::skip;
use crate::wait::until;

const SOURCE: &str = include_str!("clock.c");

/// 2030-01-01T00:00:00Z: a moment that no real clock of a test shows, so that a mix-up is seen.
pub(crate) const BEGINNING: Duration = Duration::from_secs(1_893_456_000);

/// A redis-server whose clock stands still until [`advance`](Self::advance).
#[derive(Debug)]
pub struct VirtualServer {
    server: Server,
    clock: Clock,
}

#[derive(Debug)]
struct Clock {
    file: File,
    now: Mutex<Duration>,
}

impl VirtualServer {
    /// Starts one. Panics where virtual time cannot be had.
    #[must_use]
    pub fn start() -> Self {
        Self::start_with(&Settings::tcp())
    }

    /// Starts one, or reports a skip of the test under this name where virtual time cannot be had.
    #[must_use]
    pub fn start_or_skip(test: &str) -> Option<Self> {
        Self::start_with_or_skip(test, &Settings::tcp())
    }

    /// The same with these settings.
    #[must_use]
    pub fn start_with_or_skip(test: &str, settings: &Settings) -> Option<Self> {
        match library() {
            Ok(_) => Some(Self::start_with(settings)),
            Err(why) => {
                skip(&format!("{test}: {why}"));
                None
            }
        }
    }

    /// Starts one with these settings.
    #[must_use]
    pub fn start_with(settings: &Settings) -> Self {
        let library = library().unwrap_or_else(|why| panic!("no virtual time: {why}"));
        // The server looks for blocked clients and expired keys between events, and at least this often.
        let settings = settings.clone().line("hz 100").line("dynamic-hz no");
        let mut clock = None;
        let server = Server::start_wrapped(Program::Redis, &settings, |dir| {
            let path = dir.join("clock");
            clock = Some(Clock::new(&path));
            vec!["env".into(), assignment("LD_PRELOAD", &library), assignment("KEYPLANE_CLOCK", &path)]
        });
        let clock = clock.expect("made before the server started");
        let started = Self { server, clock };
        started.wait_until_seen();
        started
    }

    /// The server, for its URL, its connections, or to kill it.
    #[must_use]
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// Where to reach it.
    #[must_use]
    pub fn url(&self) -> String {
        self.server.url()
    }

    /// A connection with all rights.
    #[must_use]
    pub fn admin(&self) -> Connection {
        self.server.admin()
    }

    /// The time on the server.
    #[must_use]
    pub fn now(&self) -> SystemTime {
        UNIX_EPOCH + *self.clock.now.lock().expect("no panic while held")
    }

    /// Moves the server's clock, and waits until the server has seen it.
    pub fn advance(&self, by: Duration) {
        self.clock.advance(by);
        self.wait_until_seen();
    }

    fn wait_until_seen(&self) {
        let now = *self.clock.now.lock().expect("no panic while held");
        let mut admin = self.admin();
        until("the server's clock", || {
            let (seconds, micros): (u64, u32) =
                redis::cmd("TIME").query(&mut admin).map_err(|error| error.to_string())?;
            let told = Duration::new(seconds, micros * 1000);
            if told == now { Ok(()) } else { Err(format!("it shows {told:?} instead of {now:?}")) }
        });
    }
}

impl Clock {
    fn new(path: &Path) -> Self {
        let file =
            File::options().create(true).truncate(true).write(true).open(path).expect("the clock's file");
        let clock = Self { file, now: Mutex::new(BEGINNING) };
        clock.advance(Duration::ZERO);
        clock
    }

    fn advance(&self, by: Duration) {
        let mut now = self.now.lock().expect("no panic while held");
        *now += by;
        let micros = i64::try_from(now.as_micros()).expect("a time in this age");
        // The kernel copies eight aligned bytes at once: the server never sees half a time.
        self.file.write_all_at(&micros.to_ne_bytes(), 0).expect("the clock's file takes the time");
    }
}

fn assignment(name: &str, value: &Path) -> OsString {
    let mut words = OsString::from(name);
    words.push("=");
    words.push(value);
    words
}

/// The library, compiled once per version of its source; or why it cannot be had.
fn library() -> Result<PathBuf, String> {
    static LIBRARY: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let make = || {
        if !cfg!(target_os = "linux") {
            return Err("virtual time needs Linux".to_owned());
        }
        // Beside the test program: in cargo's target directory, where later runs find it.
        let program = env::current_exe().map_err(|error| error.to_string())?;
        compile("cc", program.parent().unwrap_or(Path::new(".")))
    };
    LIBRARY.get_or_init(make).clone()
}

fn compile(compiler: &str, dir: &Path) -> Result<PathBuf, String> {
    let mut hasher = DefaultHasher::new();
    SOURCE.hash(&mut hasher);
    let library = dir.join(format!("keyplane-clock-{:016x}.so", hasher.finish()));
    if library.is_file() {
        return Ok(library);
    }
    // Under a name of its own first: several tests may compile at once.
    let draft = library.with_extension(format!("{}.draft", std::process::id()));
    let mut running = Command::new(compiler)
        .args(["-shared", "-fPIC", "-O2", "-x", "c", "-", "-o"])
        .arg(&draft)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("virtual time needs the C compiler `{compiler}`: {error}"))?;
    running.stdin.take().expect("piped").write_all(SOURCE.as_bytes()).expect("the compiler reads its source");
    let done = running.wait_with_output().expect("the compiler ends");
    assert!(done.status.success(), "cc refuses the clock:\n{}", String::from_utf8_lossy(&done.stderr));
    fs::rename(&draft, &library).map_err(|error| error.to_string())?;
    Ok(library)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_compiler_there_is_a_reason_to_skip() {
        let dir = tempfile::tempdir().unwrap();
        let why = compile("no-such-compiler", dir.path()).unwrap_err();
        assert!(why.starts_with("virtual time needs the C compiler `no-such-compiler`: "), "{why}");
    }

    #[test]
    fn the_library_is_compiled_once() {
        let Ok(first) = library() else {
            return skip("clock::tests::the_library_is_compiled_once: no virtual time here");
        };
        // A compiler that is not there is not asked again.
        assert_eq!(compile("no-such-compiler", first.parent().unwrap()), Ok(first));
    }
}
