//! Scripts that write a line of a roster. A swarm with more than a thousand agents or tasks has several rosters, and which one lists a
//! record stands in the record: the script looks, and where it was given too few it says so before it writes anything.

use keyplane_key::{Call, Hash, Key};
use keyplane_store::{Handle, Reply};

use super::error::OpError;
use super::names::Names;
use super::outcome::Told;
use super::{MOST_TRIES, Swarms};

/// The rosters behind the plain ones that a script is given.
#[derive(Debug, Default)]
pub(super) struct Rosters {
    /// Of agents.
    pub(super) agents: Vec<Key<Hash>>,
    /// Of tasks.
    pub(super) tasks: Vec<Key<Hash>>,
}

impl Rosters {
    fn grow(&mut self, names: &Names, told: &Told) {
        let agents = told.number(1).max(self.agents.len() as u64);
        let tasks = told.number(2).max(self.tasks.len() as u64);
        (self.agents, self.tasks) = (names.roster_shards(agents), names.task_roster_shards(tasks));
    }
}

impl Swarms {
    /// What a script answers that was given all the rosters it needs.
    pub(super) async fn call_with_rosters(
        &self,
        handle: &Handle,
        names: &Names,
        call: impl Fn(&Rosters) -> Call<Vec<Reply>>,
    ) -> Result<Told, OpError> {
        self.call_with_more(&mut Rosters::default(), handle, names, call).await
    }

    /// The same, beginning with these rosters: for an operation of several calls, each of which needs what the one before it did.
    pub(super) async fn call_with_more(
        &self,
        rosters: &mut Rosters,
        handle: &Handle,
        names: &Names,
        call: impl Fn(&Rosters) -> Call<Vec<Reply>>,
    ) -> Result<Told, OpError> {
        for _ in 0..MOST_TRIES {
            let replies = handle.call(call(rosters)).await?;
            let told = self.told(names.id(), &replies).await;
            if told.word() != "shards" {
                return Ok(told);
            }
            rosters.grow(names, &told);
        }
        Err(OpError::Contended { times: MOST_TRIES })
    }
}
