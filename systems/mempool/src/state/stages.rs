//! Moves that any node makes: offered to a peer, taken by a peer.

use keyplane_key::Arg;
use keyplane_store::Error;

use super::read::hashes;
use super::{Inner, Pool};
use crate::model::TxHash;
use crate::scripts;

/// What a call moved.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Marked {
    /// Moved by this call.
    pub moved: Vec<TxHash>,
    /// Left where they are, because their bytes are gone: sending the transaction again brings them back.
    pub without_payload: Vec<TxHash>,
}

impl Pool {
    /// Moves transactions from pending to inflight, as propagated, in the order given. Those that are not pending are left
    /// alone. One round trip for any number; in the order of the queue it costs what is moved.
    pub async fn mark_inflight(&self, txs: &[TxHash]) -> Result<Marked, Error> {
        if txs.is_empty() {
            return Ok(Marked::default());
        }
        let Inner { node, names, settings, id, most_events, .. } = &*self.0;
        let (texts, payloads) = (texts(txs), names.payloads(txs));
        let call = scripts::MarkInflight {
            pending: &names.pending,
            inflight: &names.inflight,
            stage: &names.stage,
            tip: &names.tip,
            due: &names.due,
            offered: &names.offered,
            stats: &names.stats,
            events: &names.events,
            payload: payloads.iter().collect(),
            drop_after: settings.thresholds.drop.into(),
            most_events: (*most_events).into(),
            node: id.into(),
            hashes: both(txs, &texts),
        };
        let (moved, lost): (Vec<String>, Vec<String>) = node.call(call).await?;
        Ok(Marked { moved: hashes(&moved), without_payload: hashes(&lost) })
    }

    /// Propagated becomes acknowledged; any other stage is left alone. One round trip for any number.
    pub async fn mark_acknowledged(&self, txs: &[TxHash]) -> Result<Marked, Error> {
        if txs.is_empty() {
            return Ok(Marked::default());
        }
        let Inner { node, names, id, most_events, .. } = &*self.0;
        let texts = texts(txs);
        let call = scripts::MarkAcknowledged {
            inflight: &names.inflight,
            stage: &names.stage,
            events: &names.events,
            most_events: (*most_events).into(),
            node: id.into(),
            hashes: both(txs, &texts),
        };
        let moved: Vec<String> = node.call(call).await?;
        Ok(Marked { moved: hashes(&moved), without_payload: Vec::new() })
    }
}

fn texts(txs: &[TxHash]) -> Vec<String> {
    txs.iter().map(ToString::to_string).collect()
}

/// Each hash as text and as bytes.
fn both<'a>(txs: &'a [TxHash], texts: &'a [String]) -> Vec<Arg<'a>> {
    txs.iter().zip(texts).flat_map(|(tx, text)| [Arg::from(text), Arg::from(tx.bytes())]).collect()
}
