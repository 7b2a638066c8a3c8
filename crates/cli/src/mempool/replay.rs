//! `keyplane mempool replay`: a recorded chain, from files.

use std::path::Path;

use keyplane_kit::lease::LeaseError;
use keyplane_mempool::ports::recorded::{longest_chain, read_blocks, read_txs};
use keyplane_mempool::run::Replay;
use keyplane_mempool::state::{ConfirmError, ReceiveError};
use serde_json::json;

use super::{Site, unopened, unread};
use crate::args::Given;
use crate::outcome::{Failure, Outcome};
use crate::output::{NAME, Output};
use crate::progress::Progress;

pub(super) async fn run(
    blocks: &Path,
    txs: &Path,
    given: &Given,
    output: &Output,
) -> Result<Outcome, Failure> {
    let bad = |error: keyplane_mempool::ports::recorded::RecordedError| Failure::new(error.to_string());
    let progress = Progress::start(output);
    progress.say(|| "reading the recording".to_owned());
    let all = read_blocks(blocks).map_err(bad)?;
    let (rows, chain) = (all.len(), longest_chain(all));
    if chain.is_empty() {
        return Err(Failure::new(format!("{} holds no block", blocks.display()))
            .help("one JSON object per line: {\"hash\", \"prev\", \"slot\", \"number\", \"txs\"}"));
    }
    let txs = read_txs(txs).map_err(bad)?;
    if rows > chain.len() {
        output.remark(&format!("{} blocks of other chains are left out", rows - chain.len()));
    }
    let pool = Site::open_or_in_memory(given).await?.pool()?;
    let lease = pool.lease().map_err(|error| unopened(&error))?;
    let held = lease.try_acquire(pool.node_id()).await.map_err(locked)?;
    let held = held.ok_or_else(|| {
        Failure::new("another node is the watcher of this pool")
            .help("replay into a pool of its own: another namespace")
    })?;
    let fence = held.fence().map_err(|error| Failure::new(error.to_string()))?.clone();
    let mut replay = Replay::new(&pool, &fence, &txs);
    for (number, block) in chain.iter().enumerate() {
        progress.say(|| format!("block {} of {}", number + 1, chain.len()));
        replay.apply(block).await.map_err(stopped)?;
    }
    let done = replay.settle().await.map_err(stopped)?;
    drop(progress);
    held.release().await.map_err(locked)?;
    if output.json {
        output.document(&json!({
            "blocks": done.blocks,
            "received": done.received,
            "finalized": done.finalized,
            "dropped": done.dropped,
            "pending": done.pending,
        }))?;
    } else {
        output.line(format!(
            "{NAME}{}{NAME:#} blocks, {NAME}{}{NAME:#} transactions received: {} finalized, {} dropped, {} pending",
            done.blocks, done.received, done.finalized, done.dropped, done.pending
        ))?;
    }
    Ok(if done.pending == 0 { Outcome::Fine } else { Outcome::Finding })
}

fn stopped(error: keyplane_mempool::run::ReplayError) -> Failure {
    use keyplane_mempool::run::ReplayError;
    match error {
        ReplayError::Read(error) => unread(error),
        ReplayError::Confirm(ConfirmError::Read(error)) => unread(error),
        ReplayError::Receive { error: ReceiveError::Store(error), .. } => unread(error),
        error => Failure::new(error.to_string()),
    }
}

fn locked(error: LeaseError) -> Failure {
    match error {
        LeaseError::Store(error) => unread(error),
        error => Failure::new(error.to_string()),
    }
}
