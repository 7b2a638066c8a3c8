//! `keyplane mempool list`: what is in the pool.

use std::collections::HashSet;

use keyplane_mempool::{Pool, Stage, Status, TxHash};
use serde_json::Value;

use super::ask::{row, shown};
use super::{Site, unread};
use crate::args::Given;
use crate::outcome::{Failure, Outcome};
use crate::output::Output;

/// Finished ones that are asked for at once.
const PAGE: u32 = 1000;

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
        finished(pool, stage, limit, &mut listed).await?;
    }
    listed.truncate(limit);
    Ok(listed)
}

/// The newest first. One that was dropped and sent again is where it is now, and its old entry tells nothing.
async fn finished(
    pool: &Pool,
    stage: Option<Stage>,
    limit: usize,
    listed: &mut Vec<(TxHash, Status)>,
) -> Result<(), Failure> {
    let (mut skip, mut seen) = (0, listed.iter().map(|(tx, _)| *tx).collect::<HashSet<_>>());
    while listed.len() < limit {
        let page = pool.newest_finished(skip, PAGE).await.map_err(unread)?;
        let hashes: Vec<TxHash> =
            page.iter().map(|item| item.entry.hash).filter(|tx| seen.insert(*tx)).collect();
        let with_status = with_status(pool, &hashes, stage).await?;
        listed.extend(with_status.into_iter().filter(|(_, status)| status.stage.is_final()));
        if page.len() < PAGE as usize {
            return Ok(());
        }
        skip += PAGE;
    }
    Ok(())
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
