//! Guarded writes: lines of a journal that only the holder of the current fence can add.

use keyplane_kit::Fence;
use keyplane_store::{Error, Handle};

use crate::setup::{Keyspace, PoolId, scripts};

/// Adds a line as whoever shows this fence. Whether it was let in.
pub(crate) async fn record(
    handle: &Handle,
    keys: &Keyspace,
    pool: &PoolId,
    fence: &Fence,
    line: &str,
) -> Result<bool, Error> {
    let call = scripts::Record {
        leader_fence: fence.key(),
        journal: &keys.journal(pool),
        fence: fence.into(),
        line: line.into(),
    };
    Ok(handle.call::<u64>(call).await? > 0)
}
