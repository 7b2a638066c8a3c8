//! What is offered to peers. Nodes that share a pool share its peers: whatever one of them claims for a peer, no other offers it
//! until the claim has run out.

use std::time::Duration;

use keyplane_store::Error;

use super::error::ReadError;
use super::{Inner, Pool};
use crate::keys;
use crate::model::{Payload, TxHash};
use crate::scripts;

/// How long a claim stands: longer than any peer takes for an answer.
pub(crate) const CLAIM: Duration = Duration::from_secs(30);

/// All nodes find a peer back at about the same time.
const GRACE: Duration = Duration::from_secs(30);

/// The name of a peer: letters, digits, `_`, `.` and `-`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerName(keys::Peer);

/// A text that names no peer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` cannot be the name of a peer: up to 64 letters, digits, `_`, `.` and `-`")]
pub struct NotAPeer(String);

impl std::str::FromStr for PeerName {
    type Err = NotAPeer;

    fn from_str(text: &str) -> Result<Self, NotAPeer> {
        keys::Peer::new(text).map(Self).map_err(|_| NotAPeer(text.to_owned()))
    }
}

impl std::fmt::Display for PeerName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.as_str())
    }
}

/// A transaction to be offered.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Offer {
    /// Its id.
    pub hash: TxHash,
    /// Its bytes.
    pub payload: Payload,
}

impl Pool {
    /// What stands in the queue behind so many entries. `None`: what is no hash.
    pub(crate) async fn queued(&self, behind: u64, most: u64) -> Result<Vec<Option<TxHash>>, Error> {
        let Inner { node, names, .. } = &*self.0;
        let (Ok(first), Ok(last)) = (i64::try_from(behind), i64::try_from(behind.saturating_add(most)))
        else {
            return Ok(Vec::new());
        };
        let raw = node.run(names.pending.lrange(first, last - 1)).await?;
        Ok(raw.iter().map(|raw| TxHash::from_slice(raw).ok()).collect())
    }

    /// Claims what a peer is to be offered next, in the order of the queue, at most so many. `again`: the connection is a new
    /// one, and the peer may have forgotten what it was offered.
    pub async fn claim(&self, peer: &PeerName, most: u64, again: bool) -> Result<Vec<Offer>, ReadError> {
        let Inner { node, names, .. } = &*self.0;
        let call = scripts::ClaimOffers {
            offered: &names.offered,
            peers: &names.peers,
            claims: &names.claims(&peer.0),
            peer: peer.0.as_str().into(),
            most: most.into(),
            stands: (CLAIM.as_millis() as u64).into(),
            again: u64::from(again).into(),
            grace: GRACE.as_secs().into(),
        };
        let mut claimed: Vec<(String, f64)> = node.call(call).await?;
        claimed.sort_by(|one, other| one.1.total_cmp(&other.1));
        let texts: Vec<String> = claimed.into_iter().map(|(hash, _)| hash).collect();
        let hashes = super::read::hashes(&texts);
        let payloads = self.payloads(&hashes).await?;
        // Somebody took its bytes away; the claim runs out, and whoever sends it again brings them back.
        let offer = |(hash, payload): (TxHash, Option<Payload>)| Some(Offer { hash, payload: payload? });
        Ok(hashes.into_iter().zip(payloads).filter_map(offer).collect())
    }

    /// The peer has answered: it is not offered these again, unless it was away.
    pub async fn answered(&self, peer: &PeerName, txs: &[TxHash]) -> Result<(), Error> {
        if txs.is_empty() {
            return Ok(());
        }
        let Inner { node, names, .. } = &*self.0;
        let members: Vec<String> = txs.iter().map(ToString::to_string).collect();
        node.run(names.claims(&peer.0).zrem(&members)).await.map(|_: u64| ())
    }

    /// The peer has not answered: whoever comes next offers these.
    pub async fn give_back(&self, peer: &PeerName, txs: &[TxHash]) -> Result<(), Error> {
        if txs.is_empty() {
            return Ok(());
        }
        let Inner { node, names, .. } = &*self.0;
        let members: Vec<(f64, String)> = txs.iter().map(|tx| (0.0, tx.to_string())).collect();
        node.run(names.claims(&peer.0).zadd(members)).await.map(|_: u64| ())
    }
}
