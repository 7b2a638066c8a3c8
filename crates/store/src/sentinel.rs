//! Asking sentinels for the master.
//!
//! All of them at once, before every attempt to connect: what most of them say counts, so that one which is silent, or
//! still names the old master, does not matter. What they say is checked with the server itself.

use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

use keyplane_url::Address;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};

use crate::node::Context;
use crate::reply::{FromReply as _, Reply};
use crate::wire::{Request, Session, Wire, WireError};

/// A sentinel that does not answer within this is done without.
const PATIENCE: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub(crate) struct Sentinels {
    addresses: Vec<Address>,
    master: String,
}

impl Sentinels {
    pub(crate) fn new(addresses: Vec<Address>, master: String) -> Self {
        Self { addresses, master }
    }

    /// The address of the master: as soon as more than half agree, else what most of those say that answer.
    pub(crate) async fn master(&self, context: &Context) -> Result<Address, WireError> {
        let session = context.session.of_sentinels();
        let mut asked = JoinSet::new();
        for address in &self.addresses {
            let (address, session, name) = (address.clone(), session.clone(), self.master.clone());
            asked.spawn(async move {
                let answer = timeout(PATIENCE, ask(&address, &session, &name)).await;
                (address, answer)
            });
        }
        let mut votes: HashMap<Address, usize> = HashMap::new();
        let mut problems = Vec::new();
        let deadline = Instant::now() + PATIENCE * 2;
        while let Ok(Some(answer)) = timeout_at(deadline, asked.join_next()).await {
            match answer {
                Ok((_, Ok(Ok(Some(master))))) => {
                    let count = votes.entry(master.clone()).or_default();
                    *count += 1;
                    if *count * 2 > self.addresses.len() {
                        return Ok(master);
                    }
                }
                Ok((sentinel, Ok(Ok(None)))) => problems.push(format!("{sentinel} does not know it")),
                Ok((sentinel, Ok(Err(error)))) => problems.push(format!("{sentinel}: {error}")),
                Ok((sentinel, Err(_))) => problems.push(format!("{sentinel} does not answer")),
                Err(_) => {}
            }
        }
        let most = votes.into_iter().max_by_key(|(_, count)| *count);
        most.map(|(master, _)| master).ok_or_else(|| {
            WireError::Broken(format!("no sentinel names a master {}: {}", self.master, problems.join("; ")))
        })
    }
}

async fn ask(sentinel: &Address, session: &Session, master: &str) -> Result<Option<Address>, WireError> {
    let wire = Wire::connect(sentinel, session, || {}).await?;
    let question = Request::new("SENTINEL").arg("GET-MASTER-ADDR-BY-NAME").arg(master);
    match Option::<(String, u16)>::from_reply(wire.send(&question).await?) {
        Ok(found) => Ok(found.map(|(host, port)| Address::Tcp(host, port))),
        Err(error) => Err(WireError::Broken(error.to_string())),
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
        Reply::Error(error) if matches!(error.code.as_str(), "NOPERM" | "NOAUTH") => {
            Err(WireError::Refused(format!("{address} does not tell its role: {error}")))
        }
        _ => Err(WireError::Broken(format!("{address} is not a master, or not yet"))),
    }
}
