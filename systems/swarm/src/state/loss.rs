//! Loss on purpose, for whoever wants to watch a recovery.

use super::Swarms;
use super::error::OpError;
use crate::keys::SwarmId;

impl Swarms {
    /// Takes away one of so many agents and tasks, as a server does that comes back without all of its keys: how many. What lists them
    /// still does.
    pub(crate) async fn lose(&self, swarm: &SwarmId, one_of: usize) -> Result<u64, OpError> {
        let children = self.children(swarm, &self.names(swarm)?).await?;
        let some = children.agents.iter().chain(&children.tasks).step_by(one_of.max(1));
        let gone: Vec<bool> = self.0.janitor.run_all(some.map(|key| key.unlink())).await?;
        Ok(gone.into_iter().filter(|is_gone| *is_gone).count() as u64)
    }
}
