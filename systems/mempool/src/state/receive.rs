//! Taking a transaction in.

use std::fmt;

use keyplane_store::{Error, Reply};

use super::error::ReceiveError;
use super::inbox::{Answer, Inbox, Parcel};
use super::{Inner, Limits, Pool, Settings};
use crate::model::{Stage, Tx, TxHash};
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
    /// Accepts a transaction once across all nodes. One round trip, whatever the pool holds; callers at the same time
    /// share it.
    pub async fn receive(&self, tx: &Tx) -> Result<Received, ReceiveError> {
        let max = self.0.settings.limits.tx_bytes;
        match tx.size() as u64 {
            size if size > max => Err(ReceiveError::TooLarge { size, max }),
            _ => Inbox::send(&self.0, tx).await,
        }
    }
}

impl Inner {
    /// Accepts some in one step: an answer for each.
    pub(super) async fn take_in(&self, parcels: &[Parcel]) -> Result<Vec<Answer>, Error> {
        let Self { node, names, settings: Settings { limits, .. }, id, most_events, .. } = self;
        let payloads = names.payloads(parcels.iter().map(|parcel| &parcel.hash));
        let call = scripts::Receive {
            pending: &names.pending,
            stage: &names.stage,
            inputs: &names.inputs,
            inflight: &names.inflight,
            stats: &names.stats,
            events: &names.events,
            payload: payloads.iter().collect(),
            most_count: limits.count.into(),
            most_bytes: limits.bytes.into(),
            most_events: (*most_events).into(),
            node: id.into(),
            size: parcels.iter().map(|parcel| parcel.size).sum::<usize>().into(),
            txs: parcels.iter().flat_map(Parcel::words).collect(),
        };
        // Only of those that were not simply accepted, each with its place, which counts from one.
        let told: Vec<Reply> = node.call(call).await?;
        let mut answers: Vec<Answer> = parcels.iter().map(|_| Ok(Received::Accepted)).collect();
        for told in &told {
            let Reply::Array(words) = told else { continue };
            let place = match words.first() {
                Some(Reply::Int(place)) => usize::try_from(place - 1).unwrap_or(usize::MAX),
                _ => continue,
            };
            if let (Some(parcel), Some(answer)) = (parcels.get(place), answers.get_mut(place)) {
                *answer = judged(&parcel.hash, &words[1..], limits);
            }
        }
        Ok(answers)
    }
}

/// What the script said of one.
fn judged(hash: &TxHash, told: &[Reply], limits: &Limits) -> Answer {
    let word = |at: usize| match told.get(at) {
        Some(Reply::Bytes(bytes)) => String::from_utf8_lossy(bytes).into_owned(),
        Some(Reply::Int(number)) => number.to_string(),
        _ => String::new(),
    };
    let stage = || word(1).parse().unwrap_or(Stage::Pending);
    match word(0).as_str() {
        "duplicate" => Err(ReceiveError::Duplicate { hash: *hash, stage: stage() }),
        "restored" => Ok(Received::Restored { stage: stage() }),
        "conflict" => Err(ReceiveError::Conflict { input: word(1), by: word(2) }),
        "full" => {
            let (limit, max) = match word(1).as_str() {
                "count" => (Limit::Count, limits.count),
                _ => (Limit::Bytes, limits.bytes),
            };
            Err(ReceiveError::Full { limit, used: word(2).parse().unwrap_or_default(), max })
        }
        _ => Err(ReceiveError::Unanswered),
    }
}
