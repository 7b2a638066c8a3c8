//! What the seed's examples send, with the bare client.

use std::collections::HashMap;

use keyplane_bench::rig::Rig;
use redis::aio::MultiplexedConnection;
use redis::{Client, cmd, pipe};

/// Fields of a hash.
type Fields = HashMap<String, String>;

#[derive(Clone)]
pub(crate) struct Seed(MultiplexedConnection);

impl Seed {
    pub(crate) async fn open(rig: &Rig) -> Self {
        let client = Client::open(rig.server.url()).unwrap();
        Self(client.get_multiplexed_async_connection().await.unwrap())
    }

    async fn agent_keys(&mut self, swarm: &str) -> Vec<String> {
        cmd("KEYS").arg(format!("{swarm}:agents:*")).query_async(&mut self.0).await.unwrap()
    }

    /// KEYS, then HGETALL of each, one after the other.
    pub(crate) async fn read(&mut self, swarm: &str) -> Vec<Fields> {
        let mut agents = Vec::new();
        for key in self.agent_keys(swarm).await {
            agents.push(cmd("HGETALL").arg(key).query_async(&mut self.0).await.unwrap());
        }
        agents
    }

    /// KEYS, then all HGETALL together, which the seed's example does not.
    pub(crate) async fn read_together(&mut self, swarm: &str) -> Vec<Fields> {
        let keys = self.agent_keys(swarm).await;
        let mut all = pipe();
        for key in keys {
            all.cmd("HGETALL").arg(key);
        }
        all.query_async(&mut self.0).await.unwrap()
    }

    /// The seed's transaction.
    pub(crate) async fn update(&mut self, swarm: &str, index: &str, id: &str) {
        let mut block = pipe();
        block.atomic();
        block.cmd("HSET").arg(swarm).arg("status").arg("running").ignore();
        block.cmd("HSET").arg(swarm).arg("updatedAt").arg("2025-01-08T10:30:00Z").ignore();
        block.cmd("ZADD").arg(index).arg(1_704_715_800).arg(id).ignore();
        block.exec_async(&mut self.0).await.unwrap();
    }

    /// Two fields, and nothing else.
    pub(crate) async fn set(&mut self, key: &str) {
        let mut set = cmd("HSET");
        set.arg(key).arg("status").arg("active").arg("confidence").arg("0.5");
        set.exec_async(&mut self.0).await.unwrap();
    }
}
