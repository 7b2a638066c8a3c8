//! Payloads without a transaction: what a stranger, or the original, has left behind.

use keyplane_key::Arg;
use keyplane_kit::Fence;

use super::error::ConfirmError;
use super::{Inner, Pool};
use crate::model::TxHash;
use crate::scripts;

impl Pool {
    /// Removes payloads whose transaction the pool does not know: how many. It looks at all keys of the store.
    pub async fn sweep(&self, fence: &Fence) -> Result<u64, ConfirmError> {
        let Inner { watcher, names, .. } = &*self.0;
        let prefix = names.payload_prefix();
        let mut pages = watcher.scan(&prefix);
        let mut removed = 0;
        while let Some(page) = pages.next().await? {
            let hash =
                |key: &Vec<u8>| std::str::from_utf8(key).ok()?.strip_prefix(&prefix)?.parse::<TxHash>().ok();
            let hashes: Vec<TxHash> = page.iter().filter_map(hash).collect();
            if hashes.is_empty() {
                continue;
            }
            let payloads = names.payloads(&hashes);
            let call = scripts::SweepPayloads {
                watcher_lock_fence: fence.key(),
                stage: &names.stage,
                payload: payloads.iter().collect(),
                fence: fence.into(),
                hashes: hashes.iter().map(|hash| Arg::from(hash.to_string())).collect(),
            };
            match watcher.call::<i64>(call).await? {
                count if count >= 0 => removed += count.unsigned_abs(),
                _ => return Err(ConfirmError::Fenced),
            }
        }
        Ok(removed)
    }
}
