//! `ReadMempool`: what is in the pool and not yet in a block.

use std::collections::{HashMap, HashSet};

use tonic::Status;
use utxorpc_spec::utxorpc::v1alpha::submit::{ReadMempoolResponse, TxInMempool};

use super::errors::{away, unread};
use super::named;
use crate::model::{Stage, TxHash};
use crate::state::Pool;

/// Transactions of one answer. The protocol has no pages, and with the longest ones this is 160 MB already.
const MOST: usize = 10_000;

/// Pending ones in the order of the queue, then those that were offered to peers. The stages are of one moment; a
/// transaction that comes or goes while it is read may be missing.
pub(super) async fn read(pool: &Pool) -> Result<ReadMempoolResponse, Status> {
    let counts = pool.counts().await.map_err(|error| away(&error))?;
    let all = counts.pending + counts.inflight;
    if all > MOST as u64 {
        return Err(Status::resource_exhausted(format!(
            "the pool has {all} transactions, and one answer holds {MOST}: follow them with WatchMempool"
        )));
    }
    let pending = pool.peek_pending(MOST as u64).await.map_err(|error| unread(&error))?;
    let inflight = pool.peek_inflight(MOST).await.map_err(|error| unread(&error))?;
    // Bytes that somebody has taken away are shown as none.
    let pending = pending.into_iter().map(|one| (one.hash, one.payload.map(|payload| payload.bytes)));
    let inflight = inflight.into_iter().map(|one| (one.hash, Some(one.payload.bytes)));
    let found = pending.chain(inflight);
    // What moves on between the two looks is in both.
    let mut seen = HashSet::new();
    let found: Vec<_> = found.filter(|(hash, _)| seen.insert(*hash)).collect();
    let hashes: Vec<TxHash> = found.iter().map(|(hash, _)| *hash).collect();
    let statuses = pool.check_all(&hashes).await.map_err(|error| unread(&error))?;
    let stages: HashMap<TxHash, Stage> =
        hashes.into_iter().zip(statuses).filter_map(|(hash, status)| Some((hash, status?.stage))).collect();
    let item = |(hash, bytes): (TxHash, Option<Vec<u8>>)| {
        let stage = stages.get(&hash).copied().filter(|stage| !stage.is_final() && !stage.is_on_chain())?;
        Some(TxInMempool {
            r#ref: hash.bytes().to_vec().into(),
            native_bytes: bytes.unwrap_or_default().into(),
            stage: named(Some(stage)),
            parsed_state: None,
        })
    };
    Ok(ReadMempoolResponse { items: found.into_iter().filter_map(item).collect() })
}
