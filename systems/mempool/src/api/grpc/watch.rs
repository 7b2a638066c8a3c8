//! `WatchMempool`: every change of a stage from now on, of those transactions that match.
//!
//! What is gone from the log ends the stream as `DATA_LOSS`, with how much: whoever watches reads the mempool and watches anew.

use std::collections::HashMap;

use keyplane_http::Stopping;
use keyplane_kit::events::{Gap, Position};
use pallas_traverse::MultiEraTx;
use tonic::Status;
use utxorpc_spec::utxorpc::v1alpha::submit::{TxInMempool, WatchMempoolRequest, WatchMempoolResponse};

use super::errors::away;
use super::follow::{Change, Teller, answered, next, stream};
use super::mask::Mask;
use super::predicate::Predicate;
use super::{Messages, named};
use crate::model::{Payload, TxHash};
use crate::state::Pool;

/// What is sent of what.
struct Wanted {
    predicate: Option<Predicate>,
    mask: Mask,
}

pub(super) async fn watch(
    pool: &Pool,
    request: &WatchMempoolRequest,
    stopping: Option<Stopping>,
) -> Result<Messages<WatchMempoolResponse>, Status> {
    let paths = request.field_mask.as_ref().map_or(&[][..], |mask| &mask.paths);
    let wanted = Wanted {
        predicate: request.predicate.as_ref().map(Predicate::read).transpose()?,
        mask: Mask::read(paths)?,
    };
    let position = pool.events().end().await.map_err(|error| away(&error))?;
    let pool = pool.clone();
    Ok(stream(stopping, |teller| follow(pool, position, wanted, teller)))
}

async fn follow(
    pool: Pool,
    position: Position,
    wanted: Wanted,
    teller: Teller<WatchMempoolResponse>,
) -> Result<(), Status> {
    let events = pool.events();
    let mut tail = events.tail(position);
    loop {
        let batch = next(&mut tail).await;
        let changes: Vec<Option<Change>> = batch.events.iter().map(Change::read).collect();
        let payloads = payloads(&pool, &wanted, &changes).await?;
        for (place, change) in changes.iter().enumerate() {
            if let Some((_, gap)) = batch.gaps.iter().find(|(before, _)| *before == place) {
                return Err(lost(gap));
            }
            let Some(change) = change else { continue };
            let payload = payloads.get(&change.tx);
            if wanted.has(change, payload)? {
                teller.tell(wanted.shown(change, payload)).await;
            }
        }
    }
}

/// The bytes, where anything depends on them.
async fn payloads(
    pool: &Pool,
    wanted: &Wanted,
    changes: &[Option<Change>],
) -> Result<HashMap<TxHash, Payload>, Status> {
    let mut txs: Vec<TxHash> = changes.iter().flatten().map(|change| change.tx).collect();
    txs.sort_unstable();
    txs.dedup();
    if txs.is_empty() || (wanted.predicate.is_none() && !wanted.mask.native_bytes) {
        return Ok(HashMap::new());
    }
    let found = answered(|| pool.payloads(&txs)).await?;
    Ok(txs.into_iter().zip(found).filter_map(|(tx, payload)| Some((tx, payload?))).collect())
}

impl Wanted {
    fn has(&self, change: &Change, payload: Option<&Payload>) -> Result<bool, Status> {
        let Some(predicate) = &self.predicate else { return Ok(true) };
        // They outlive the end of a transaction by a day.
        let Some(payload) = payload else {
            return Err(Status::data_loss(format!(
                "the bytes of {} are gone: whether it matches cannot be told",
                change.tx
            )));
        };
        // What was taken in can be read.
        Ok(MultiEraTx::decode(&payload.bytes).is_ok_and(|tx| predicate.matches(&tx)))
    }

    fn shown(&self, change: &Change, payload: Option<&Payload>) -> WatchMempoolResponse {
        let mut tx = TxInMempool::default();
        if self.mask.reference {
            tx.r#ref = change.tx.bytes().to_vec().into();
        }
        if self.mask.native_bytes {
            tx.native_bytes = payload.map(|payload| payload.bytes.clone()).unwrap_or_default().into();
        }
        if self.mask.stage {
            tx.stage = named(Some(change.stage));
        }
        WatchMempoolResponse { tx: Some(tx) }
    }
}

fn lost(gap: &Gap) -> Status {
    let what = match gap {
        Gap::Missed(count) => format!("{count} changes are gone from the log"),
        Gap::Restarted => "the log of changes began anew".to_owned(),
    };
    Status::data_loss(format!("{what}: read the mempool and watch again"))
}
