//! Which server programs there are, and where.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

/// A server program that speaks the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Program {
    /// redis-server: the tests need it.
    Redis,
    /// valkey-server: few systems package it, so tests do without where there is none.
    Valkey,
}

impl Program {
    /// The file to run; `None` where there is no such program.
    #[must_use]
    pub fn file(self) -> Option<PathBuf> {
        match self {
            Self::Redis => Some(redis_server()),
            Self::Valkey => valkey_server(),
        }
    }

    pub(crate) fn must_have(self) -> PathBuf {
        self.file().unwrap_or_else(|| panic!("{NO_VALKEY}"))
    }
}

/// Why tests on Valkey do not run.
pub(crate) const NO_VALKEY: &str = "no valkey-server: KEYPLANE_VALKEY_SERVER names none and none is on PATH";

/// The redis-server on `PATH`. The tests need it; starting it fails with a message where there is none.
#[must_use]
pub fn redis_server() -> PathBuf {
    PathBuf::from("redis-server")
}

/// The valkey-server that `KEYPLANE_VALKEY_SERVER` names, or the one on `PATH`. An empty name means: do without.
#[must_use]
pub fn valkey_server() -> Option<PathBuf> {
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
