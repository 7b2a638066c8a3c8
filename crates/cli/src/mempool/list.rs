//! `keyplane mempool list`: what is in the pool.

use keyplane_mempool::{Pool, Stage, Status, TxHash};
use serde_json::Value;

use super::ask::{row, shown};
use super::{Site, unread};
use crate::args::Given;
use crate::outcome::{Failure, Outcome};
use crate::output::Output;

pub(super) async fn run(
    stage: Option<&str>,
    limit: u32,
    given: &Given,
    output: &Output,
) -> Result<Outcome, Failure> {
    let stage = stage.and_then(|word| word.parse::<Stage>().ok());
    let pool = Site::open(given).await?.pool()?;
    let listed = gather(&pool, stage, limit as usize).await?;
    if output.json {
        output
            .document(&Value::Array(listed.iter().map(|(tx, status)| shown(tx, Some(status))).collect()))?;
    } else {
        let rows: Vec<Vec<String>> = listed.iter().map(|(tx, status)| row(tx, Some(status))).collect();
        output.table(&["TRANSACTION", "STAGE", "DEPTH", "MISSED", "BLOCK", "SLOT"], &rows)?;
        if rows.len() == limit as usize {
            output.remark(&format!("the first {limit}; --limit shows more"));
        }
    }
    Ok(Outcome::Fine)
}

/// Transactions in the order of their way.
async fn gather(pool: &Pool, stage: Option<Stage>, limit: usize) -> Result<Vec<(TxHash, Status)>, Failure> {
    let wanted = |one: Stage| stage.is_none_or(|stage| stage == one);
    let mut hashes = Vec::new();
    if wanted(Stage::Pending) {
        let pending = pool.peek_pending(limit as u64).await.map_err(unread)?;
        hashes.extend(pending.iter().map(|pending| pending.hash));
    }
    let mut listed = with_status(pool, &hashes, stage).await?;
    if [Stage::Propagated, Stage::Acknowledged, Stage::Confirmed].into_iter().any(wanted) {
        let most = if stage.is_some() { usize::MAX } else { limit };
        let inflight = pool.peek_inflight(most).await.map_err(unread)?;
        listed
            .extend(inflight.iter().filter(|one| wanted(one.status.stage)).map(|one| (one.hash, one.status)));
    }
    if wanted(Stage::Finalized) || wanted(Stage::Dropped) {
        let mut cursor = Some(0);
        while let Some(from) = cursor.filter(|_| listed.len() < limit) {
            let page = pool.dump_finalized(from, 1000).await.map_err(unread)?;
            let hashes: Vec<TxHash> = page.items.iter().map(|item| item.entry.hash).collect();
            listed.extend(with_status(pool, &hashes, stage).await?);
            cursor = page.next_cursor;
        }
    }
    listed.truncate(limit);
    Ok(listed)
}

async fn with_status(
    pool: &Pool,
    hashes: &[TxHash],
    stage: Option<Stage>,
) -> Result<Vec<(TxHash, Status)>, Failure> {
    let statuses = pool.check_all(hashes).await.map_err(unread)?;
    let known = hashes.iter().zip(statuses).filter_map(|(tx, status)| Some((*tx, status?)));
    Ok(known.filter(|(_, status)| stage.is_none_or(|stage| stage == status.stage)).collect())
}
