//! Swarms that ran out without having ended: counted in the store, so that whoever serves it knows of them.

use std::time::Duration;

use keyplane_key::{Hash, Key};
use keyplane_store::Cause;

use super::error::OpError;
use super::records::HEADER;
use super::{Inner, Swarms};
use crate::keys::{CheckpointId, Status, SwarmId};
use crate::model::recovery::is_final;
use crate::scripts;

/// Swarms that ran out without having ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lost {
    /// How many, as all keepers counted them. It begins anew when there was none for seven days.
    pub count: u64,
    /// How long ago the last one was found, by the server's clock.
    pub ago: Option<Duration>,
    /// Which that was, if it is known.
    pub last: Option<String>,
}

/// What a checkpoint says of its swarm.
pub(super) struct Said {
    recovery: Key<Hash>,
    /// Its status then.
    status: Option<String>,
    /// How it ended afterwards.
    pub(super) ended: Option<String>,
}

/// Checkpoints among which the newest is looked for that was not typed.
const LOOKED_AT: i64 = 32;

/// Where a swarm was seen that is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    /// Among the active: one that failed is so again.
    Active,
    /// By its checkpoints alone.
    Saved,
}

impl Swarms {
    /// Swarms that ran out without having ended, whoever found them.
    pub async fn lost(&self) -> Result<Lost, OpError> {
        let Inner { monitor, keyspace, .. } = &*self.0;
        let expired = keyspace.expired();
        let told: Option<Vec<String>> = monitor.call(scripts::ReadExpired { expired: &expired }).await?;
        let number = |told: &[String], at: usize| told.get(at).and_then(|text| text.parse().ok());
        let Some(told) = told else { return Ok(Lost::default()) };
        Ok(Lost {
            count: number(&told, 0).unwrap_or_default(),
            ago: number(&told, 1).map(Duration::from_millis),
            last: told.get(2).filter(|last| !last.is_empty()).cloned(),
        })
    }

    /// Counts a swarm whose header is gone and of which there are checkpoints, unless it had ended, or somebody has counted it since
    /// it was saved last. Whether it did; `None` if that can be noted nowhere.
    pub(super) async fn count_if_lost(&self, swarm: &SwarmId, seen: Seen) -> Result<Option<bool>, OpError> {
        let Inner { checkpointer, keyspace, .. } = &*self.0;
        let Some(Said { recovery, mut status, ended }) = self.newest_says(swarm).await? else {
            return Ok(None);
        };
        if ended.is_some() {
            return Ok(Some(false));
        }
        if status.is_none() {
            let loaded = self.load_newest(swarm).await?;
            let header = loaded.as_ref().and_then(|loaded| loaded.state.get(HEADER));
            status = header.and_then(|header| header.text("status")).map(str::to_owned);
        }
        let had_ended = match (status.as_deref(), seen) {
            (Some(status), Seen::Active) => is_final(status),
            (Some(status), Seen::Saved) => is_final(status) || status == Status::Failed.as_str(),
            (None, Seen::Active) => false,
            (None, Seen::Saved) => true,
        };
        let header = keyspace.swarm(swarm);
        let call = scripts::NoteLost { swarm: &header, recovery: &recovery };
        if had_ended || !checkpointer.call::<bool>(call).await? {
            return Ok(Some(false));
        }
        tracing::warn!(%swarm, "a swarm ran out without having ended");
        self.count_lost(1, Some(swarm)).await?;
        Ok(Some(true))
    }

    /// Where no keeper saves a swarm that has ended, its newest checkpoint would say for good that it runs; and one that failed may
    /// go on. What fails is no failure of the change: whoever keeps the swarm saves it.
    pub(super) async fn note_end(&self, swarm: &SwarmId) {
        let Inner { checkpointer, keyspace, .. } = &*self.0;
        let noted = async {
            let Some(recovery) = self.newest_made(swarm).await? else { return Ok(()) };
            let header = keyspace.swarm(swarm);
            let call = scripts::NoteEnd { swarm: &header, recovery: &recovery };
            checkpointer.call::<bool>(call).await?;
            Ok::<(), OpError>(())
        };
        if let Err(error) = noted.await {
            tracing::warn!(%swarm, %error, "its newest checkpoint does not tell whether a swarm has ended");
        }
    }

    /// What the newest checkpoint says of the swarm; `None` also where somebody has typed something else.
    pub(super) async fn newest_says(&self, swarm: &SwarmId) -> Result<Option<Said>, OpError> {
        let Some(recovery) = self.newest_made(swarm).await? else { return Ok(None) };
        let read = recovery.hmget(["status", "ended"]).reading();
        let said: Vec<Option<String>> = match self.0.checkpointer.run(read).await {
            Err(error) if matches!(error.cause(), Cause::WrongType) => return Ok(None),
            said => said?,
        };
        let [status, ended] = <[_; 2]>::try_from(said).unwrap_or_default();
        Ok(Some(Said { recovery, status, ended }))
    }

    /// The newest checkpoint that was not typed. Ids of an old shape are read, and never written.
    async fn newest_made(&self, swarm: &SwarmId) -> Result<Option<Key<Hash>>, OpError> {
        let Inner { checkpointer, keyspace, .. } = &*self.0;
        let newest: Vec<String> =
            checkpointer.run(keyspace.checkpoints(swarm).zrange(-LOOKED_AT, -1).reading()).await?;
        let ids = newest.into_iter().rev().filter_map(|id| CheckpointId::from_store(id).ok());
        Ok(ids.into_iter().find(|id| !id.is_legacy()).map(|id| keyspace.recovery(swarm, &id)))
    }

    pub(super) async fn count_lost(&self, more: u64, last: Option<&SwarmId>) -> Result<(), OpError> {
        if more == 0 {
            return Ok(());
        }
        let Inner { janitor, keyspace, .. } = &*self.0;
        let expired = keyspace.expired();
        let last = last.map_or("", SwarmId::as_str).into();
        let call = scripts::CountExpired { expired: &expired, more: more.into(), last };
        janitor.call::<u64>(call).await?;
        Ok(())
    }
}
