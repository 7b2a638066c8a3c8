//! The embedded store: an engine in this process, or in the one that came first.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use keyplane_engine::live::{Connection, Found, House, HouseError, Live, Options};
use keyplane_engine::{Fault, Reply as EngineReply};

use crate::reply::{Reply, ServerError};
use crate::wire::{Request, WireError};

pub use keyplane_engine::live::Fsync;

/// How a store reaches its engine; clones reach the same.
#[derive(Debug, Clone, Default)]
pub(crate) struct Embedded {
    fsync: Fsync,
    home: Arc<Mutex<Home>>,
}

/// What a store keeps as long as it is open.
#[derive(Debug, Default)]
struct Home {
    /// The engine of a store that lives in memory, once there is one.
    memory: Option<Live>,
    /// The folder, while it is ours.
    house: Option<Arc<House>>,
}

/// What a folder turned out to be.
pub(crate) enum Entered {
    Here(Local),
    /// Another process has it, and serves this socket.
    Socket(PathBuf),
}

/// A connection within this process. The folder stays ours as long as there is one.
pub(crate) struct Local {
    connection: Connection,
    _house: Option<Arc<House>>,
}

impl Embedded {
    pub(crate) fn new(fsync: Fsync) -> Self {
        Self { fsync, ..Self::default() }
    }

    /// With an engine that somebody else has started.
    pub(crate) fn on(live: Live) -> Self {
        let home = Home { memory: Some(live), house: None };
        Self { fsync: Fsync::default(), home: Arc::new(Mutex::new(home)) }
    }

    /// Takes the folder, or finds who has it. Reading a long log takes as long as it takes.
    pub(crate) async fn settle_in(&self, folder: &Path) -> Result<Found, HouseError> {
        let (folder, fsync, home) = (folder.to_owned(), self.fsync, Arc::clone(&self.home));
        let entered = tokio::task::spawn_blocking(move || {
            let found = House::enter(&folder, &Options { fsync, ..Options::default() })?;
            // Also when nobody waits for this any more: the next attempt finds it done.
            if let Found::Own(house) = &found {
                home.lock().unwrap_or_else(PoisonError::into_inner).house = Some(Arc::clone(house));
            }
            Ok(found)
        });
        entered.await.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))
    }

    pub(crate) async fn enter(&self, folder: Option<&Path>) -> Result<Entered, WireError> {
        let (connection, house) = match folder {
            None => (self.in_memory()?.connect("embedded"), None),
            Some(folder) => match self.settle_in(folder).await {
                Ok(Found::Own(house)) => (house.live().connect("embedded"), Some(house)),
                Ok(Found::Elsewhere(socket)) => return Ok(Entered::Socket(socket)),
                Err(error @ HouseError::Log { .. }) => return Err(WireError::Refused(error.to_string())),
                Err(error) => return Err(WireError::Broken(error.to_string())),
            },
        };
        let local = Local { connection, _house: house };
        // The forms of answers that the client of a server asks for, too.
        local.send(&Request::new("HELLO").arg("3")).await?;
        Ok(Entered::Here(local))
    }

    fn in_memory(&self) -> Result<Live, WireError> {
        let mut home = self.home.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(live) = &home.memory {
            return Ok(live.clone());
        }
        let (live, _) =
            Live::start(Options::default()).map_err(|error| WireError::Refused(error.to_string()))?;
        Ok(home.memory.insert(live).clone())
    }
}

impl Local {
    pub(crate) async fn send(&self, request: &Request) -> Result<Reply, WireError> {
        let reply = self.connection.execute(&request.args()).await;
        reply.map(Reply::from).map_err(|error| WireError::Broken(error.to_string()))
    }

    pub(crate) async fn send_all(
        &self,
        batch: impl Iterator<Item = Vec<&[u8]>>,
    ) -> Result<Vec<Reply>, WireError> {
        // Before the engine is asked: others wait for it.
        let batch: Vec<_> = batch.collect();
        let replies = self.connection.execute_all(&batch).await;
        let replies = replies.map_err(|error| WireError::Broken(error.to_string()))?;
        Ok(replies.into_iter().map(Reply::from).collect())
    }
}

impl From<EngineReply> for Reply {
    fn from(reply: EngineReply) -> Self {
        let all = |replies: Vec<EngineReply>| replies.into_iter().map(Self::from).collect();
        match reply {
            EngineReply::Nil | EngineReply::NilArray => Self::Nil,
            EngineReply::Ok => Self::Ok,
            EngineReply::Status(text) => Self::Bytes(text.into_owned().into_bytes()),
            EngineReply::Int(number) => Self::Int(number),
            EngineReply::Bool(truth) => Self::Int(i64::from(truth)),
            EngineReply::Bulk(bytes)
            | EngineReply::Text(bytes)
            | EngineReply::Verbatim { text: bytes, .. }
            | EngineReply::BigNumber(bytes)
            | EngineReply::Words(bytes) => Self::Bytes(bytes),
            EngineReply::Double(number) => Self::Double(number),
            EngineReply::Array(replies)
            | EngineReply::Set(replies)
            | EngineReply::Push(replies)
            | EngineReply::Several(replies) => Self::Array(all(replies)),
            EngineReply::Map(pairs) => {
                Self::Map(pairs.into_iter().map(|(key, value)| (key.into(), value.into())).collect())
            }
            EngineReply::Error(fault) => Self::Error(server_error(&fault)),
        }
    }
}

fn server_error(fault: &Fault) -> ServerError {
    let text = fault.to_string();
    let (code, message) = text.split_once(' ').unwrap_or((&text, ""));
    ServerError::new(code, message)
}
