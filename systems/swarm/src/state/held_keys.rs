//! The keys that a swarm has, found through its header, rosters and lists, never by a scan.

use std::time::Duration;

use keyplane_key::{Command, Hash, Key, Kind, List, Str, Zset};
use keyplane_store::Cause;

use super::children::Children;
use super::error::OpError;
use super::names::Names;
use super::{Inner, Swarms};
use crate::keys::{CheckpointId, Metric, SwarmId};

/// Keys asked for in one round trip per server.
const AT_ONCE: usize = 1000;

/// A key that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HeldKey {
    /// Its name in the store.
    pub key: String,
    /// Its name in the contract.
    pub family: &'static str,
    /// Its Redis type, as TYPE answers it.
    pub kind: &'static str,
    /// How long it lives from now on; none if it has no end.
    pub lives: Option<Duration>,
}

/// Keys that may be there, and the questions whether they are.
#[derive(Default)]
struct Asked {
    keys: Vec<HeldKey>,
    questions: Vec<Command<i64>>,
}

impl Asked {
    fn add<K: Kind>(&mut self, key: &Key<K>) {
        self.keys.push(HeldKey {
            key: key.as_str().to_owned(),
            family: key.info().name,
            kind: K::NAME,
            lives: None,
        });
        self.questions.push(key.pttl());
    }

    fn add_all<'k, K: Kind + 'k>(&mut self, keys: impl IntoIterator<Item = &'k Key<K>>) {
        keys.into_iter().for_each(|key| self.add(key));
    }
}

impl Swarms {
    /// The keys of a swarm, its header first, family by family. Its checkpoints may outlive it.
    pub async fn keys(&self, swarm: &SwarmId) -> Result<Vec<HeldKey>, OpError> {
        let names = self.names(swarm)?;
        let mut asked = Asked::default();
        add_own(&mut asked, &names)?;
        add_children(&mut asked, &self.children(swarm, &names).await?);
        self.add_performance(&mut asked, swarm).await?;
        self.add_checkpoints(&mut asked, swarm).await?;
        let mut held = Vec::new();
        let mut keys = asked.keys.into_iter();
        for some in asked.questions.chunks(AT_ONCE) {
            let lives = self.0.monitor.run_all(some.iter().cloned()).await?;
            held.extend(keys.by_ref().zip(lives).filter_map(|(key, lives)| living(key, lives)));
        }
        Ok(held)
    }

    /// A metric's key is the series, or the seed's hash.
    async fn add_performance(&self, asked: &mut Asked, swarm: &SwarmId) -> Result<(), OpError> {
        let Inner { monitor, keyspace, .. } = &*self.0;
        for metric in Metric::ALL {
            let series: Key<Zset> = keyspace.performance_zset(swarm, *metric);
            match monitor.run(series.zcard()).await {
                Ok(_) => asked.add(&series),
                Err(error) if matches!(error.cause(), Cause::WrongType) => {
                    let value: Key<Hash> = keyspace.performance_hash(swarm, *metric);
                    asked.add(&value);
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    async fn add_checkpoints(&self, asked: &mut Asked, swarm: &SwarmId) -> Result<(), OpError> {
        let keyspace = &self.0.keyspace;
        asked.add(&keyspace.checkpoints(swarm));
        for checkpoint in self.listed_checkpoints(swarm, 0).await? {
            let Ok(id) = CheckpointId::from_store(checkpoint.id) else { continue };
            asked.add(&keyspace.recovery(swarm, &id));
            asked.add_all(&self.chunk_keys(swarm, &id, checkpoint.chunks));
        }
        Ok(())
    }
}

fn add_own(asked: &mut Asked, names: &Names) -> Result<(), OpError> {
    let helper = |role| names.lock.helper::<Str>("lease", role).ok_or(OpError::NoLock);
    let wake: Key<List> = names.lock.helper("lease", "wake").ok_or(OpError::NoLock)?;
    asked.add(&names.swarm);
    asked.add(&names.outbox);
    asked.add(&names.lock);
    asked.add(&helper("fence")?);
    asked.add(&helper("transitions")?);
    asked.add(&wake);
    asked.add(&names.roster);
    asked.add(&names.task_roster);
    asked.add_all(names.sorted_sets());
    asked.add(&names.records);
    asked.add(&names.events);
    asked.add(&names.performance_current);
    Ok(())
}

fn add_children(asked: &mut Asked, children: &Children) {
    asked.add_all(&children.roster_shards);
    asked.add_all(&children.task_roster_shards);
    asked.add_all(&children.agents);
    asked.add_all(&children.tasks);
    asked.add_all(&children.phases);
    asked.add_all(&children.memories);
    asked.add_all(&children.tags);
    asked.add_all(&children.rounds);
    asked.add_all(&children.vote_logs);
    asked.add_all(&children.blobs);
}

/// As PTTL answers it: -1 without an end, -2 when it is not there.
fn living(key: HeldKey, millis: i64) -> Option<HeldKey> {
    match millis {
        -2 => None,
        millis => Some(HeldKey { lives: u64::try_from(millis).ok().map(Duration::from_millis), ..key }),
    }
}
