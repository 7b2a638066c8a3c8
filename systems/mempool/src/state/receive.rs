//! Taking a transaction in.

use std::fmt;

use keyplane_key::Arg;
use keyplane_store::Reply;

use super::error::ReceiveError;
use super::{Inner, Pool};
use crate::model::{Stage, Tx, entry_tail};
use crate::scripts;

/// A limit of the pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Limit {
    /// Unfinished transactions.
    Count,
    /// Their bytes.
    Bytes,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Count => "the limit of transactions",
            Self::Bytes => "the limit of bytes",
        })
    }
}

/// How a transaction was taken in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Received {
    /// It is pending.
    Accepted,
    /// It was here, but its bytes were gone; they are back.
    Restored {
        /// Where it is.
        stage: Stage,
    },
}

impl Pool {
    /// Accepts a transaction once across all nodes. One round trip, whatever the pool holds.
    pub async fn receive(&self, tx: &Tx) -> Result<Received, ReceiveError> {
        let Inner { node, names, settings, id, most_events, .. } = &*self.0;
        let (limits, size) = (settings.limits, tx.size() as u64);
        if size > limits.tx_bytes {
            return Err(ReceiveError::TooLarge { size, max: limits.tx_bytes });
        }
        let inputs: Vec<String> = tx.inputs.iter().map(ToString::to_string).collect();
        let told: Vec<Reply> = node
            .call(scripts::Receive {
                pending: &names.pending,
                payload: &names.payload(&tx.hash),
                stage: &names.stage,
                inputs: &names.inputs,
                inflight: &names.inflight,
                stats: &names.stats,
                events: &names.events,
                hash: tx.hash.to_string().into(),
                raw: tx.hash.bytes().into(),
                bytes: tx.payload.to_cbor().into(),
                size: size.into(),
                spends: entry_tail(size, &inputs).into(),
                most_count: limits.count.into(),
                most_bytes: limits.bytes.into(),
                most_events: (*most_events).into(),
                node: id.into(),
                spent: inputs.iter().map(Arg::from).collect(),
            })
            .await?;
        let word = |at: usize| match told.get(at) {
            Some(Reply::Bytes(bytes)) => String::from_utf8_lossy(bytes).into_owned(),
            Some(Reply::Int(number)) => number.to_string(),
            _ => String::new(),
        };
        let stage = || word(1).parse().unwrap_or(Stage::Pending);
        match word(0).as_str() {
            "duplicate" => Err(ReceiveError::Duplicate { hash: tx.hash, stage: stage() }),
            "restored" => Ok(Received::Restored { stage: stage() }),
            "conflict" => Err(ReceiveError::Conflict { input: word(1), by: word(2) }),
            "full" => {
                let (limit, max) = match word(1).as_str() {
                    "count" => (Limit::Count, limits.count),
                    _ => (Limit::Bytes, limits.bytes),
                };
                Err(ReceiveError::Full { limit, used: word(2).parse().unwrap_or_default(), max })
            }
            _ => Ok(Received::Accepted),
        }
    }
}
