//! Checkpoints outlive their swarm, and may outlive the list of them too: then it is made anew from the checkpoints themselves.

use std::collections::BTreeSet;
use std::time::Duration;

use keyplane_store::Reply;

use super::error::OpError;
use super::outcome::Told;
use super::{Inner, Swarms};
use crate::keys::{CheckpointId, SwarmId};
use crate::scripts;

/// Between two pages of a scan, so that it does not hold up others.
const PAUSE: Duration = Duration::from_millis(1);

impl Swarms {
    /// Lists a swarm's checkpoints anew if there is no list. Whether there is one by now. It looks at every key of the store, and
    /// that only where a list is absent.
    pub(super) async fn relist(&self, swarm: &SwarmId) -> Result<bool, OpError> {
        let Inner { checkpointer, keyspace, .. } = &*self.0;
        let list = keyspace.checkpoints(swarm);
        if checkpointer.run(list.exists()).await? {
            return Ok(true);
        }
        // Nothing is written under an id of an old shape.
        if swarm.is_legacy() {
            return Ok(false);
        }
        let ids = self.scanned_checkpoints(swarm).await?;
        if ids.is_empty() {
            return Ok(false);
        }
        let recoveries: Vec<_> = ids.iter().map(|id| keyspace.recovery(swarm, id)).collect();
        let call = scripts::RelistCheckpoints {
            checkpoints: &list,
            recovery: recoveries.iter().collect(),
            ids: ids.iter().map(|id| id.as_str().into()).collect(),
        };
        let told: Vec<Reply> = checkpointer.call(call).await?;
        let told = Told::new(&told);
        // Another may have been faster.
        Ok(told.word() == "there" || told.number(1) > 0)
    }

    /// The checkpoints of a swarm, by their own keys.
    async fn scanned_checkpoints(&self, swarm: &SwarmId) -> Result<BTreeSet<CheckpointId>, OpError> {
        let Inner { janitor, keyspace, .. } = &*self.0;
        let some = CheckpointId::new("checkpoint_00000000");
        let some = some.map_err(|error| OpError::Unreadable(error.to_string()))?;
        let key = keyspace.recovery(swarm, &some);
        let Some((before, after)) = key.as_str().rsplit_once(some.as_str()) else {
            return Err(OpError::Unreadable(key.as_str().to_owned()));
        };
        let (mut pages, mut found, mut looked_at) = (janitor.scan(before), BTreeSet::new(), 0);
        while let Some(page) = pages.next().await? {
            looked_at += 1;
            if looked_at > 1 {
                tokio::time::sleep(PAUSE).await;
            }
            let id = |key: &Vec<u8>| {
                // What has more behind the id is a chunk.
                let id = std::str::from_utf8(key).ok()?.strip_prefix(before)?.strip_suffix(after)?;
                CheckpointId::from_store(id).ok()
            };
            found.extend(page.iter().filter_map(id));
        }
        Ok(found)
    }
}
