//! The folder of the store that all processes of a user share.

use std::env;
use std::path::PathBuf;

use crate::outcome::Failure;

/// `$XDG_STATE_HOME/keyplane`, or `~/.local/state/keyplane`.
pub(crate) fn folder() -> Result<PathBuf, Failure> {
    let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute("XDG_STATE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".local/state")))
        .map(|base| base.join("keyplane"))
        .ok_or_else(|| {
            Failure::new("there is no folder for the store: neither XDG_STATE_HOME nor HOME names one")
                .help("name a folder with --url embedded:PATH, or a server with --url redis://127.0.0.1:6379")
        })
}
