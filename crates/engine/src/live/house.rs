//! One store for all processes of a machine.
//!
//! The first process that enters a folder owns it: it holds the lock, runs the engine on a thread of its own, and serves a
//! Unix socket beside the log. Others are told where the socket is. The lock ends with the process, however that ends;
//! whoever enters next owns the folder, and its log tells what was kept.

use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::net::UnixListener;
use tokio::runtime::Runtime;

use super::{Live, Options, stream};
use crate::log::{Loaded, LogError};

/// The name of the socket in its folder.
pub const SOCKET: &str = "socket";

/// The name of the lock in its folder.
const LOCK: &str = "lock";

/// A folder that this process owns. It is given up with the last clone, and the last connection.
#[derive(Debug)]
pub struct House {
    live: Live,
    folder: PathBuf,
    loaded: Loaded,
    runtime: Option<Runtime>,
}

/// Who has a folder.
#[derive(Debug)]
pub enum Found {
    /// This process.
    Own(Arc<House>),
    /// Another, which serves this socket.
    Elsewhere(PathBuf),
}

/// Why a folder cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HouseError {
    /// The folder, its lock or its socket.
    #[error("{}: {why}", path.display())]
    Folder {
        /// What exactly.
        path: PathBuf,
        /// What the system says.
        why: io::Error,
    },
    /// The log.
    #[error("{}: {why}", path.display())]
    Log {
        /// The file.
        path: PathBuf,
        /// Why.
        why: LogError,
    },
}

/// The folders that this process owns.
static OWNED: Mutex<BTreeMap<PathBuf, Weak<House>>> = Mutex::new(BTreeMap::new());

impl House {
    /// Takes the folder, or finds who has it.
    pub fn enter(folder: &Path, options: &Options) -> Result<Found, HouseError> {
        let at = |path: &Path| {
            let path = path.to_owned();
            move |why| HouseError::Folder { path, why }
        };
        make_private(folder).map_err(at(folder))?;
        let folder = folder.canonicalize().map_err(at(folder))?;
        let mut owned = OWNED.lock().unwrap_or_else(PoisonError::into_inner);
        owned.retain(|_, house| house.strong_count() > 0);
        if let Some(house) = owned.get(&folder).and_then(Weak::upgrade) {
            return Ok(Found::Own(house));
        }
        let path = folder.join(LOCK);
        let lock = File::options().write(true).create(true).truncate(false).open(&path).map_err(at(&path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(Found::Elsewhere(folder.join(SOCKET))),
            Err(TryLockError::Error(why)) => return Err(HouseError::Folder { path, why }),
        }
        let house = Arc::new(Self::build(&folder, lock, options)?);
        owned.insert(folder, Arc::downgrade(&house));
        Ok(Found::Own(house))
    }

    fn build(folder: &Path, lock: File, options: &Options) -> Result<Self, HouseError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("keyplane-store")
            .enable_all()
            .build()
            .map_err(|why| HouseError::Folder { path: folder.to_owned(), why })?;
        match Self::furnish(folder, lock, options, &runtime) {
            Ok((live, loaded)) => {
                Ok(Self { live, folder: folder.to_owned(), loaded, runtime: Some(runtime) })
            }
            Err(error) => {
                // Waiting for it is not allowed where this may be called.
                runtime.shutdown_background();
                Err(error)
            }
        }
    }

    fn furnish(
        folder: &Path,
        lock: File,
        options: &Options,
        runtime: &Runtime,
    ) -> Result<(Live, Loaded), HouseError> {
        let socket = folder.join(SOCKET);
        let at_socket = |why| HouseError::Folder { path: socket.clone(), why };
        let _within = runtime.enter();
        let options = Options { folder: Some(folder.to_owned()), ..options.clone() };
        let (live, loaded) = Live::start_with(&options, Some(lock))
            .map_err(|why| HouseError::Log { path: folder.join(super::LOG), why })?;
        // Of an owner that was killed.
        match std::fs::remove_file(&socket) {
            Err(why) if why.kind() != io::ErrorKind::NotFound => return Err(at_socket(why)),
            _ => {}
        }
        let listener = UnixListener::bind(&socket).map_err(at_socket)?;
        runtime.spawn(stream::serve_unix(live.downgrade(), listener));
        Ok((live, loaded.unwrap_or_default()))
    }

    /// The engine.
    #[must_use]
    pub fn live(&self) -> &Live {
        &self.live
    }

    /// Where it lives.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What was read of its log.
    #[must_use]
    pub fn loaded(&self) -> &Loaded {
        &self.loaded
    }
}

impl Drop for House {
    fn drop(&mut self) {
        // Before the lock goes: the next owner makes its own.
        drop(std::fs::remove_file(self.folder.join(SOCKET)));
        if let Some(runtime) = self.runtime.take() {
            // Its tasks hold the engine weakly; waiting for them is not allowed where this may be dropped.
            runtime.shutdown_background();
        }
    }
}

/// A folder that nobody else on the machine can look into.
fn make_private(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}
