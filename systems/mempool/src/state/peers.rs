//! What is offered to peers. Nodes that share a pool share its peers: whatever one of them claims for a peer, no other offers it,
//! nor what spends it, until the peer has answered or the claim has run out.

use std::time::Duration;

use keyplane_key::Arg;
use keyplane_store::Error;

use super::error::ReadError;
use super::{Inner, Pool};
use crate::keys;
use crate::model::{Payload, TxHash};
use crate::scripts;

/// How long a claim stands: longer than a node offers what it has claimed at once, and than any peer takes for an answer.
pub(crate) const CLAIM: Duration = Duration::from_secs(15);

/// What a peer has refused it is offered again after this, after twice and four times this, and then once in a while.
const AFTER: Duration = Duration::from_secs(10);
const AT_LAST: Duration = Duration::from_secs(3600);

/// A peer that comes and goes is not begun with anew more often.
const GRACE: Duration = Duration::from_secs(10);

/// Between passes over what is in no block: at most, and in the life of a transaction that gets into none, in blocks.
const PAUSE: Duration = Duration::from_secs(60);
const PASSES: u32 = 3;

/// The chain makes a block about so often.
const BLOCK: Duration = Duration::from_secs(20);

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

/// What a node is to offer to a peer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Claimed {
    /// In this order.
    pub offers: Vec<Offer>,
    /// Since the peer was lost it was begun with anew, by this node or another. Where not, it is too early: to be asked again.
    pub is_anew: bool,
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

    /// Claims what a peer is to be offered next, at most so many: what is new to it, in the order of the queue; and, when nothing
    /// is, what it was offered long ago. `lost`: so long ago it did not answer, and it may have forgotten all that it was offered
    /// until then.
    pub async fn claim(
        &self,
        peer: &PeerName,
        most: u64,
        lost: Option<Duration>,
    ) -> Result<Claimed, ReadError> {
        let Inner { node, names, settings, .. } = &*self.0;
        let lost = lost.map_or(String::new(), |lost| lost.as_millis().to_string());
        let pause = (BLOCK * settings.thresholds.drop / PASSES).clamp(GRACE, PAUSE);
        let call = scripts::ClaimOffers {
            offered: &names.offered,
            peers: &names.peers,
            claims: &names.claims(&peer.0),
            refused: &names.refused(&peer.0),
            stage: &names.stage,
            peer: peer.0.as_str().into(),
            most: most.into(),
            stands: millis(CLAIM),
            lost: lost.into(),
            grace: millis(GRACE),
            pause: millis(pause),
        };
        let (anew, mut claimed): (u64, Vec<(String, f64)>) = node.call(call).await?;
        claimed.sort_by(|one, other| one.1.total_cmp(&other.1));
        let texts: Vec<String> = claimed.into_iter().map(|(hash, _)| hash).collect();
        let hashes = super::read::hashes(&texts);
        let (mut offers, mut lost) = (Vec::with_capacity(hashes.len()), Vec::new());
        let raw = node.run_all(names.payloads(&hashes).iter().map(|key| key.get())).await?;
        for (hash, raw) in hashes.into_iter().zip(raw) {
            match raw.and_then(|raw| Payload::from_cbor(&raw).ok()) {
                Some(payload) => offers.push(Offer { hash, payload }),
                None => lost.push(hash),
            }
        }
        // Somebody took its bytes away, or damaged them: it is passed over for now. Whoever sends it again brings them back.
        self.refused(peer, &lost).await?;
        Ok(Claimed { offers, is_anew: anew == 1 })
    }

    /// The peer has these: it is not offered them again, unless it was away.
    pub async fn answered(&self, peer: &PeerName, txs: &[TxHash]) -> Result<(), Error> {
        self.answer(peer, "taken", txs).await
    }

    /// The peer does not want these. It may be for their order or for the moment: it is offered them again, a few times.
    pub async fn refused(&self, peer: &PeerName, txs: &[TxHash]) -> Result<(), Error> {
        self.answer(peer, "refused", txs).await
    }

    /// The peer has not answered: whoever comes next offers these.
    pub async fn give_back(&self, peer: &PeerName, txs: &[TxHash]) -> Result<(), Error> {
        self.answer(peer, "nothing", txs).await
    }

    async fn answer(&self, peer: &PeerName, said: &str, txs: &[TxHash]) -> Result<(), Error> {
        if txs.is_empty() {
            return Ok(());
        }
        let Inner { node, names, .. } = &*self.0;
        let call = scripts::AnswerOffers {
            claims: &names.claims(&peer.0),
            refused: &names.refused(&peer.0),
            said: said.into(),
            again: millis(AFTER),
            at_last: millis(AT_LAST),
            hashes: txs.iter().map(|tx| Arg::from(tx.to_string())).collect(),
        };
        node.call(call).await.map(|_: u64| ())
    }
}

fn millis(duration: Duration) -> Arg<'static> {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX).into()
}
