//! Asking sentinels for the master.
//!
//! They are asked before every attempt to connect, so a failover is found by the reconnect that it causes. What they say
//! is checked with the server itself: right after a failover some of them still name the old master.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::timeout;

use crate::reply::{FromReply as _, Reply};
use crate::wire::{Request, Session, Wire, WireError};
use keyplane_url::Address;

/// A sentinel that does not answer within this is passed over.
const PATIENCE: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub(crate) struct Sentinels {
    addresses: Vec<Address>,
    master: String,
    /// The one that answered last is asked first.
    first: AtomicUsize,
}

impl Sentinels {
    pub(crate) fn new(addresses: Vec<Address>, master: String) -> Self {
        Self { addresses, master, first: AtomicUsize::new(0) }
    }

    /// The address of the master, from the first sentinel that knows it.
    pub(crate) async fn master(&self, session: &Session) -> Result<Address, WireError> {
        let session = session.of_sentinels();
        let start = self.first.load(Ordering::Relaxed);
        let mut problems = Vec::new();
        for turn in 0..self.addresses.len() {
            let index = (start + turn) % self.addresses.len();
            let sentinel = &self.addresses[index];
            match timeout(PATIENCE, self.ask(sentinel, &session)).await {
                Ok(Ok(Some(master))) => {
                    self.first.store(index, Ordering::Relaxed);
                    return Ok(master);
                }
                Ok(Ok(None)) => problems.push(format!("{sentinel} does not know {}", self.master)),
                Ok(Err(error)) => problems.push(format!("{sentinel}: {error}")),
                Err(_) => problems.push(format!("{sentinel} does not answer")),
            }
        }
        Err(WireError::Broken(format!("no sentinel names a master: {}", problems.join("; "))))
    }

    async fn ask(&self, sentinel: &Address, session: &Session) -> Result<Option<Address>, WireError> {
        let wire = Wire::connect(sentinel, session, || {}).await?;
        let question = Request::new("SENTINEL").arg("GET-MASTER-ADDR-BY-NAME").arg(&self.master);
        match Option::<(String, u16)>::from_reply(wire.send(&question).await?) {
            Ok(found) => Ok(found.map(|(host, port)| Address::Tcp(host, port))),
            Err(error) => Err(WireError::Broken(error.to_string())),
        }
    }
}

impl fmt::Display for Sentinels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the master {}", self.master)
    }
}

/// Refuses a server that is no master, or no longer.
pub(crate) async fn must_be_master(wire: &Wire, address: &Address) -> Result<(), WireError> {
    match wire.send(&Request::new("INFO").arg("replication")).await? {
        Reply::Bytes(info) if info.windows(11).any(|part| part == b"role:master") => Ok(()),
        Reply::Error(error) => Err(WireError::Refused(format!("{address} does not tell its role: {error}"))),
        _ => Err(WireError::Broken(format!("{address} is not a master, or not yet"))),
    }
}
