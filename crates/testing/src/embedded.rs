//! The embedded store in the process of the test.

use std::sync::Arc;

use keyplane_engine::live::{Found, House, Options};
use tempfile::TempDir;

/// An embedded store in a folder of its own, with a socket for whoever looks in. Both go with the last clone.
#[derive(Debug, Clone)]
pub struct Embedded(Arc<Parts>);

#[derive(Debug)]
struct Parts {
    // Before its folder.
    _house: Arc<House>,
    folder: TempDir,
}

impl Embedded {
    /// Starts one.
    #[must_use]
    pub fn start() -> Self {
        Self::start_with(&Options::default())
    }

    /// Starts one that way. Panics when it cannot.
    #[must_use]
    pub fn start_with(options: &Options) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        match House::enter(folder.path(), options) {
            Ok(Found::Own(house)) => Self(Arc::new(Parts { _house: house, folder })),
            other => panic!("no embedded store: {other:?}"),
        }
    }

    /// The URL by which a store of this process finds it: the same engine, without a socket.
    #[must_use]
    pub fn url(&self) -> String {
        format!("embedded:{}", self.0.folder.path().display())
    }
}

/// The URL of the socket in the folder of an embedded store.
pub(crate) fn socket_url(url: &str) -> Option<String> {
    let folder = url.strip_prefix("embedded:")?;
    Some(format!("redis+unix://{folder}/{}", keyplane_engine::live::SOCKET))
}
