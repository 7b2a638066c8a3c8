//! One real server in a directory of its own, killed when dropped.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use redis::{Client, Connection, RedisResult};
use tempfile::TempDir;

use crate::ports;
use crate::process::Process;
use crate::program::Program;
use crate::settings::{ADMIN, Listen, Role, Settings};
use crate::tls::{self, ClientCertificates, TlsFiles};
use crate::wait::until;

/// How often a start is tried again because someone else took the port.
const TRIES: usize = 10;

/// A server that does not answer a simple question by then is frozen or gone.
const PATIENCE: Duration = Duration::from_secs(2);

/// A running server with an empty database. Dropping it kills it and removes what it wrote.
#[derive(Debug)]
pub struct Server {
    program: PathBuf,
    settings: Settings,
    /// Put before the program on its command line.
    wrapper: Vec<OsString>,
    dir: TempDir,
    port: u16,
    bus_port: u16,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    process: Option<Process>,
    frozen: bool,
}

impl Server {
    /// Starts a server and waits until it answers.
    #[must_use]
    pub fn start(program: Program, settings: &Settings) -> Self {
        Self::start_wrapped(program, settings, |_| Vec::new())
    }

    /// Starts it behind a program that ends by executing its arguments, such as `env`. `prepare` gets the server's
    /// directory, may put files there, and says what comes before the server on the command line.
    pub(crate) fn start_wrapped(
        program: Program,
        settings: &Settings,
        prepare: impl FnOnce(&Path) -> Vec<OsString>,
    ) -> Self {
        let dir = tempfile::Builder::new().prefix("keyplane-").tempdir().expect("a temporary directory");
        if matches!(settings.listen, Listen::Tls(_)) {
            tls::write(dir.path());
        }
        let mut server = Self {
            program: program.must_have(),
            settings: settings.clone(),
            wrapper: prepare(dir.path()),
            dir,
            port: 0,
            bus_port: 0,
            state: Mutex::new(State { process: None, frozen: false }),
        };
        for _ in 0..TRIES {
            server.choose_ports();
            fs::write(server.dir.path().join("conf"), server.config()).expect("the configuration file");
            if server.run() {
                return server;
            }
        }
        panic!("no port stayed free in {TRIES} tries; the log:\n{}", server.log())
    }

    fn choose_ports(&mut self) {
        if self.settings.listen != Listen::Unix {
            self.port = ports::free();
        }
        if self.settings.role == Role::ClusterNode {
            // The customary port + 10000 may be taken while the port is free.
            self.bus_port = ports::free();
        }
    }

    fn config(&self) -> String {
        let dir = self.dir.path().display();
        let mut lines = vec![format!("dir {dir}")];
        let port = self.port;
        match self.settings.listen {
            Listen::Tcp => lines.extend([format!("port {port}"), "bind 127.0.0.1".to_owned()]),
            Listen::Unix => {
                lines.extend(["port 0".to_owned(), format!("unixsocket {}", self.socket().display())]);
            }
            Listen::Tls(clients) => {
                let ask = if clients == ClientCertificates::Required { "yes" } else { "no" };
                lines.push(format!(
                    "port 0\ntls-port {port}\nbind 127.0.0.1 -::1\ntls-ca-cert-file {dir}/ca.pem\n\
                     tls-cert-file {dir}/server.pem\ntls-key-file {dir}/server.key\ntls-auth-clients {ask}"
                ));
            }
        }
        if self.settings.role == Role::ClusterNode {
            lines.push(format!("cluster-enabled yes\ncluster-port {}", self.bus_port));
        }
        if self.settings.role != Role::Sentinel {
            // DEBUG is on, so that it is the user's rights that refuse it and not the server's settings.
            lines.push("save \"\"\nappendonly no\nenable-debug-command yes".to_owned());
        }
        lines.extend(self.settings.access_lines());
        // Last, so that they win.
        lines.extend(self.settings.lines.iter().cloned());
        lines.join("\n") + "\n"
    }

    /// Starts the process and waits until it answers; `false` when its port was taken.
    fn run(&self) -> bool {
        let mut command = self.wrapper.clone();
        command.push(self.program.clone().into());
        command.push(self.dir.path().join("conf").into());
        if self.settings.role == Role::Sentinel {
            command.push("--sentinel".into());
        }
        let mut process = Process::start(self.dir.path(), &command);
        let answers = until("the start of a server", || {
            if process.ended().is_some() {
                let log = self.log();
                let hint = if log.contains("not found") { " (`cargo xtask test` installs it)" } else { "" };
                assert!(log.contains("in use"), "{} does not start{hint}:\n{log}", self.program.display());
                return Ok(false);
            }
            self.answers_as(process.pid()).map(|()| true)
        });
        if answers {
            *self.state() = State { process: Some(process), frozen: false };
        }
        answers
    }

    /// Whether it is this process that answers: on a port that someone else took, someone else does.
    fn answers_as(&self, pid: u32) -> Result<(), String> {
        let error = |error: redis::RedisError| format!("{error}; the log:\n{}", self.log());
        let mut connection = self.client().get_connection_with_timeout(PATIENCE).map_err(error)?;
        connection.set_read_timeout(Some(PATIENCE)).map_err(error)?;
        let info: String = redis::cmd("INFO").arg("server").query(&mut connection).map_err(error)?;
        if !info.lines().any(|line| line == format!("process_id:{pid}")) {
            return Err("another server answers on its port".to_owned());
        }
        // It may still be loading its data.
        redis::cmd("PING").exec(&mut connection).map_err(error)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic elsewhere says nothing about the process.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where to reach it, without user and password.
    #[must_use]
    pub fn url(&self) -> String {
        match self.settings.listen {
            Listen::Tcp => format!("redis://127.0.0.1:{}", self.port),
            Listen::Unix => format!("redis+unix://{}", self.socket().display()),
            Listen::Tls(_) => format!("rediss://localhost:{}", self.port),
        }
    }

    /// Its address, for a proxy before it.
    #[must_use]
    pub fn addr(&self) -> String {
        format!("127.0.0.1:{}", self.port())
    }

    /// Its port. Panics for a server on a Unix socket.
    #[must_use]
    pub fn port(&self) -> u16 {
        assert_ne!(self.port, 0, "this server listens on a Unix socket");
        self.port
    }

    pub(crate) fn bus_port(&self) -> u16 {
        self.bus_port
    }

    /// Its Unix socket, where it has one.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.dir.path().join("socket")
    }

    /// The directory with its configuration, log and data.
    #[must_use]
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// What a client needs for TLS, where the server speaks it.
    #[must_use]
    pub fn tls(&self) -> Option<TlsFiles> {
        matches!(self.settings.listen, Listen::Tls(_)).then(|| TlsFiles::in_dir(self.dir.path()))
    }

    /// The process id of the server itself. Panics when it is down.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.state().process.as_ref().expect("the server is down").pid()
    }

    /// Whether it is up and not frozen.
    #[must_use]
    pub fn is_running(&self) -> bool {
        let state = self.state();
        state.process.is_some() && !state.frozen
    }

    /// Its log so far, over all restarts.
    #[must_use]
    pub fn log(&self) -> String {
        fs::read_to_string(self.dir.path().join("log")).unwrap_or_default()
    }

    /// A connection with all rights.
    #[must_use]
    pub fn admin(&self) -> Connection {
        self.try_admin().unwrap_or_else(|error| panic!("no connection to {}: {error}", self.url()))
    }

    /// A connection with all rights, or why there is none.
    pub fn try_admin(&self) -> RedisResult<Connection> {
        self.client().get_connection_with_timeout(PATIENCE)
    }

    /// A connection as that user.
    pub fn login(&self, user: &str, password: &str) -> RedisResult<Connection> {
        self.client_as(Some(user), Some(password)).get_connection_with_timeout(PATIENCE)
    }

    fn client(&self) -> Client {
        match (&self.settings.users[..], &self.settings.password) {
            ([], None) => self.client_as(None, None),
            ([], Some(password)) => self.client_as(None, Some(password)),
            _ => self.client_as(Some(ADMIN), Some("")),
        }
    }

    fn client_as(&self, user: Option<&str>, password: Option<&str>) -> Client {
        let url = self.url();
        let client = match self.tls() {
            Some(files) => files.client(&url),
            None => Client::open(url.as_str()),
        };
        let client = client.unwrap_or_else(|error| panic!("{url}: {error}"));
        // Without the greeting a frozen server is noticed by the first command, which has a time limit.
        let mut redis = client.get_connection_info().redis_settings().clone().set_skip_set_lib_name();
        if let Some(user) = user {
            redis = redis.set_username(user);
        }
        if let Some(password) = password {
            redis = redis.set_password(password);
        }
        let info = client.get_connection_info().clone().set_redis_settings(redis);
        Client::open(info).expect("an address that was good before")
    }

    /// Kills it (SIGKILL) and waits until it is gone. What it wrote stays for [`restart`](Self::restart).
    pub fn kill(&self) {
        *self.state() = State { process: None, frozen: false };
    }

    /// Starts it again on its port and in its directory; kills it before if it is up.
    pub fn restart(&self) {
        self.kill();
        // A killed server leaves its socket behind; a listener that is on its way out may still hold the port.
        let _ = fs::remove_file(self.socket());
        until("the port of a restarted server", || if self.run() { Ok(()) } else { Err("taken".to_owned()) });
    }

    /// Stops it in its tracks (SIGSTOP): connections stay open and nothing answers.
    pub fn freeze(&self) {
        self.state().process.as_ref().expect("the server is down").signal("STOP");
        self.state().frozen = true;
    }

    /// Lets it continue after [`freeze`](Self::freeze).
    pub fn thaw(&self) {
        self.state().process.as_ref().expect("the server is down").signal("CONT");
        self.state().frozen = false;
    }
}
