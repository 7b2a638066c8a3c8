//! The state of a swarm as of one moment, without holding up anybody for it.
//!
//! Records are read one after the other first, while others go on writing. Every change leaves a mark with the number of its
//! event, so one last step reads again what has changed since, together with the header, in one script: what was not marked
//! is as it was read. Where little has changed that last step is all there is.

use std::collections::{BTreeMap, BTreeSet};

use keyplane_kit::checkpoint::Body;
use keyplane_store::Reply;

use super::error::OpError;
use super::names::Names;
use super::records::{Families, HEADER, Record, body};
use super::view::SwarmView;
use super::{Inner, MOST_TRIES, Swarms};
use crate::keys::SwarmId;
use crate::scripts;

/// Records that one script reads, and one pipeline.
const AT_ONCE: usize = 200;

/// Tries in which only those are named that were found changed. Where agents are so busy that there are always others, all
/// are named.
const TRIES_WITH_FEW: usize = 3;

/// What has changed since a snapshot, or all there is.
#[derive(Debug)]
pub(super) struct Capture {
    /// Changes up to this number are in it.
    pub(super) covered: u64,
    /// The header as it is, for what is not kept of it.
    pub(super) header: BTreeMap<String, String>,
    /// Records by name; `None` for one that is gone.
    pub(super) records: BTreeMap<String, Option<Body>>,
    /// Whether these are all there are.
    pub(super) is_full: bool,
}

/// What a checkpoint has not seen yet.
#[derive(Debug, Default)]
pub(super) struct Marks {
    pub(super) names: BTreeSet<String>,
    newest: u64,
    /// The number at which a mark could not be made.
    lost: Option<u64>,
}

impl Swarms {
    pub(super) async fn marks(&self, names: &Names) -> Result<Marks, OpError> {
        let found = self.0.checkpointer.run(names.dirty.zrange_with_scores(0, -1)).await?;
        let mut marks = Marks::default();
        for (name, number) in found {
            let (name, number) = (String::from_utf8_lossy(&name).into_owned(), number as u64);
            marks.newest = marks.newest.max(number);
            if name == "all" {
                marks.lost = Some(number);
            } else {
                marks.names.insert(name);
            }
        }
        Ok(marks)
    }

    /// What is marked, on top of these `known` records; or all there is, if there are none or marks were lost.
    pub(super) async fn capture(
        &self,
        swarm: &SwarmId,
        names: &Names,
        marks: Marks,
        known: Option<&BTreeSet<String>>,
    ) -> Result<Capture, OpError> {
        if let Some(number) = marks.lost {
            // From here on there is room for marks again. That some are missing stays noted until the checkpoint is made.
            self.0.checkpointer.run(names.dirty.zremrangebyscore("-inf", &format!("({number}"))).await?;
        }
        let known = known.filter(|_| marks.lost.is_none());
        let mut seen = BTreeMap::new();
        let mut asked: BTreeSet<String> = marks.names;
        let mut everything = known.cloned().unwrap_or_default();
        let mut since = None;
        if known.is_none() {
            everything = self.all_names(swarm, names).await?;
            asked.extend(everything.iter().cloned());
        }
        if known.is_none() || asked.len() > AT_ONCE {
            since = Some(marks.newest);
            seen.extend(self.read_each(swarm, &asked).await?);
            asked.clear();
        }
        for tries in 0..MOST_TRIES {
            if tries == TRIES_WITH_FEW {
                asked.extend(everything.iter().cloned());
            }
            asked.retain(|name| Record::named(name).is_some());
            let told = self.changed_since(swarm, names, since, &asked).await?;
            let number = told.get(1).map(number).unwrap_or_default();
            match told.first().map(text).as_deref() {
                Some("ok") => {
                    let header = pairs(told.get(2));
                    let told_header =
                        body(&header).ok_or_else(|| OpError::NoSwarm { swarm: swarm.to_string() })?;
                    seen.extend(
                        told[3..].chunks_exact(2).map(|pair| (text(&pair[0]), body(&pairs(Some(&pair[1]))))),
                    );
                    seen.insert(HEADER.to_owned(), Some(told_header));
                    let is_full = known.is_none();
                    return Ok(Capture { covered: number, header: texts(&header), records: seen, is_full });
                }
                Some("again") => asked.extend(told[1..].iter().map(text)),
                // So much has changed that it is read one by one once more.
                Some("many") => {
                    let changed = self.marks(names).await?.names;
                    since = Some(number);
                    seen.extend(self.read_each(swarm, &changed).await?);
                    everything.extend(changed);
                }
                _ => return Err(OpError::Contended { times: tries }),
            }
        }
        Err(OpError::Contended { times: MOST_TRIES })
    }

    async fn changed_since(
        &self,
        swarm: &SwarmId,
        names: &Names,
        since: Option<u64>,
        asked: &BTreeSet<String>,
    ) -> Result<Vec<Reply>, OpError> {
        let families = Families::of(&self.0.keyspace, swarm, asked.iter().map(String::as_str));
        let since = since.map_or_else(|| "-1".to_owned(), |since| since.to_string());
        let call = scripts::Snapshot {
            swarm: &names.swarm,
            dirty: &names.dirty,
            agent: families.agent.iter().collect(),
            blob: families.blob.iter().collect(),
            consensus: families.consensus.iter().collect(),
            memory: families.memory.iter().collect(),
            phase: families.phase.iter().collect(),
            task: families.task.iter().collect(),
            since: (&since).into(),
            most_read: AT_ONCE.into(),
            names: asked.iter().map(|name| name.as_str().into()).collect(),
        };
        Ok(self.0.checkpointer.call(call).await?)
    }

    /// The names of all records but the header, as the lists have them.
    async fn all_names(&self, swarm: &SwarmId, names: &Names) -> Result<BTreeSet<String>, OpError> {
        let view = self.read(swarm).await?.ok_or_else(|| OpError::NoSwarm { swarm: swarm.to_string() })?;
        self.names_in(names, &view).await
    }

    /// The same, where the rosters were read already.
    pub(super) async fn names_in(
        &self,
        names: &Names,
        view: &SwarmView,
    ) -> Result<BTreeSet<String>, OpError> {
        let others: Vec<String> = self.0.checkpointer.run(names.records.smembers().reading()).await?;
        let agents = view.agents.keys().map(|id| format!("agents:{id}"));
        let tasks = view.tasks.keys().map(|id| format!("tasks:{id}"));
        // Whatever a list says of them, the records are there.
        let damaged = view.damaged.keys().cloned();
        Ok(agents
            .chain(tasks)
            .chain(damaged)
            .chain(others)
            .filter(|name| Record::named(name).is_some())
            .collect())
    }

    /// Records, each as it is at its moment; `None` for one that is gone.
    pub(super) async fn read_each(
        &self,
        swarm: &SwarmId,
        names: &BTreeSet<String>,
    ) -> Result<Vec<(String, Option<Body>)>, OpError> {
        let Inner { checkpointer, keyspace, .. } = &*self.0;
        let known: Vec<_> =
            names.iter().filter_map(|name| Some((name, Record::named(name)?.key(keyspace, swarm)))).collect();
        let mut read = Vec::with_capacity(known.len());
        // Two pipelines at a time: the server answers one while the other is read.
        for some in known.chunks(2 * AT_ONCE) {
            let (one, other) = some.split_at(some.len().min(AT_ONCE));
            let (one, other) =
                (one.iter().map(|(_, key)| key.hgetall()), other.iter().map(|(_, key)| key.hgetall()));
            let (first, second) = tokio::try_join!(checkpointer.run_all(one), checkpointer.run_all(other))?;
            let found = first.into_iter().chain(second);
            read.extend(some.iter().zip(found).map(|((name, _), fields)| ((*name).clone(), body(&fields))));
        }
        Ok(read)
    }
}

fn text(reply: &Reply) -> String {
    match reply {
        Reply::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Reply::Int(number) => number.to_string(),
        _ => String::new(),
    }
}

fn number(reply: &Reply) -> u64 {
    text(reply).parse().unwrap_or_default()
}

fn pairs(reply: Option<&Reply>) -> Vec<(Vec<u8>, Vec<u8>)> {
    let bytes = |reply: &Reply| match reply {
        Reply::Bytes(bytes) => bytes.clone(),
        _ => Vec::new(),
    };
    match reply {
        Some(Reply::Array(part)) => {
            part.chunks_exact(2).map(|pair| (bytes(&pair[0]), bytes(&pair[1]))).collect()
        }
        _ => Vec::new(),
    }
}

fn texts(fields: &[(Vec<u8>, Vec<u8>)]) -> BTreeMap<String, String> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    fields.iter().map(|(field, value)| (text(field), text(value))).collect()
}
