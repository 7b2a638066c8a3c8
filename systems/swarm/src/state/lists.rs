//! Lists of swarms, through the indexes and never by a scan.

use std::collections::BTreeMap;
use std::time::Duration;

use super::error::OpError;
use super::indexes::Members;
use super::{Inner, MOST_TRIES, Swarms};
use crate::keys::{Role, Status, SwarmId, Window};
use crate::scripts;

/// Headers read in one round trip.
const AT_ONCE: usize = 200;

/// Fields of a header that a list shows.
const SHOWN: [&str; 7] = ["status", "strategy", "mode", "agentCount", "taskCount", "confidence", "updatedAt"];

/// Which swarms. Without a status: those that have not ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// With an agent of this role.
    pub role: Option<Role>,
    /// In this status.
    pub status: Option<Status>,
    /// In which something has happened within that time, by the server's clock. None that has ended.
    pub active_within: Option<Duration>,
    /// That have a score in this window; the best first.
    pub best_in: Option<Window>,
    /// At most so many.
    pub limit: Option<usize>,
}

/// A swarm in a list.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Listed {
    /// Its id.
    pub id: SwarmId,
    /// What it is doing.
    pub status: String,
    /// What it does.
    pub strategy: String,
    /// How its agents are arranged.
    pub mode: String,
    /// How many these are.
    pub agents: u64,
    /// How many tasks it has.
    pub tasks: u64,
    /// Overall confidence, 0 to 1.
    pub confidence: Option<f64>,
    /// When something happened last, in RFC 3339.
    pub updated_at: String,
    /// Its score in the window that was asked for.
    pub score: Option<f64>,
}

/// Active swarms with the second of their last activity, the latest first, as of a moment of the server's clock.
#[derive(Debug, Clone, Default)]
pub(crate) struct Recent {
    /// Unix milliseconds.
    pub(crate) now: u64,
    pub(crate) swarms: Vec<(SwarmId, f64)>,
}

impl Swarms {
    /// The swarms that pass the filter, the latest activity first unless the best were asked for. An index that is absent is
    /// rebuilt first; a swarm that is gone, or has another status by now, is left out.
    pub async fn list(&self, filter: &Filter) -> Result<Vec<Listed>, OpError> {
        let Inner { indexes, .. } = &*self.0;
        let mut candidates = self.candidates(filter).await?;
        if let Some(role) = &filter.role {
            let index = indexes.role(role)?;
            keep(&mut candidates, &self.members(&index).await?);
        }
        if let Some(window) = filter.best_in {
            let scores = self.members(indexes.window(window)).await?;
            keep(&mut candidates, &scores);
            for (swarm, order) in &mut candidates {
                *order = scores.get(swarm).copied().unwrap_or_default();
            }
            candidates.sort_by(|a, b| b.1.total_cmp(&a.1));
        }
        let most = filter.limit.unwrap_or(usize::MAX);
        let mut listed = Vec::new();
        for some in candidates.chunks(AT_ONCE) {
            if listed.len() >= most {
                break;
            }
            listed.extend(self.headers_of(some, filter).await?);
        }
        listed.truncate(most);
        Ok(listed)
    }

    /// How many swarms are in which status.
    pub async fn counts(&self) -> Result<BTreeMap<&'static str, u64>, OpError> {
        let mut counts = BTreeMap::new();
        for status in Status::ALL {
            let members = self.members(self.0.indexes.status(*status)).await?;
            counts.insert(status.as_str(), members.len() as u64);
        }
        Ok(counts)
    }

    /// Whom the status and the time leave, the latest activity first.
    async fn candidates(&self, filter: &Filter) -> Result<Vec<(SwarmId, f64)>, OpError> {
        let Inner { indexes, .. } = &*self.0;
        let is_over = matches!(filter.status, Some(Status::Completed | Status::Failed));
        let mut candidates = match filter.status {
            // Only the active ones have an order there; these come as they are called.
            Some(status) if is_over && filter.active_within.is_none() => {
                return Ok(self.members(indexes.status(status)).await?.into_iter().collect());
            }
            _ => self.recent(filter.active_within).await?.swarms,
        };
        if let Some(status) = filter.status {
            keep(&mut candidates, &self.members(indexes.status(status)).await?);
        }
        Ok(candidates)
    }

    /// Active swarms, all or those in which something has happened within that time.
    pub(crate) async fn recent(&self, within: Option<Duration>) -> Result<Recent, OpError> {
        let Inner { indexes, janitor, keyspace, .. } = &*self.0;
        let index = keyspace.index_active();
        let feed = index.helper("index", "feed").ok_or(OpError::NoOutbox)?;
        for _ in 0..MOST_TRIES {
            let call = scripts::RecentSwarms {
                index_active: &index,
                index_active_feed: &feed,
                within: within.map_or_else(|| "".into(), Self::millis),
            };
            let Some(told): Option<Vec<String>> = janitor.call(call).await? else {
                self.members(indexes.active()).await?;
                continue;
            };
            let number = |text: Option<&String>| text.and_then(|text| text.parse::<f64>().ok());
            let pairs = told.get(1..).unwrap_or_default().chunks_exact(2);
            let swarm =
                |pair: &[String]| Some((SwarmId::from_store(pair[0].as_str()).ok()?, number(pair.get(1))?));
            return Ok(Recent {
                now: number(told.first()).map_or(0, |now| now as u64),
                swarms: pairs.filter_map(swarm).collect(),
            });
        }
        Err(OpError::Contended { times: MOST_TRIES })
    }

    /// Their headers in one round trip per server.
    async fn headers_of(&self, some: &[(SwarmId, f64)], filter: &Filter) -> Result<Vec<Listed>, OpError> {
        let Inner { monitor, keyspace, .. } = &*self.0;
        let reads = some.iter().map(|(swarm, _)| keyspace.swarm(swarm).hmget(SHOWN).reading());
        let headers: Vec<Vec<Option<String>>> = monitor.run_all(reads).await?;
        let score = |order: f64| filter.best_in.is_some().then_some(order);
        let all = some
            .iter()
            .zip(headers)
            .filter_map(|((swarm, order), fields)| listed(swarm, fields, score(*order)));
        let passes = |listed: &Listed| filter.status.is_none_or(|status| status.as_str() == listed.status);
        Ok(all.filter(passes).collect())
    }
}

fn keep(candidates: &mut Vec<(SwarmId, f64)>, members: &Members) {
    candidates.retain(|(swarm, _)| members.contains_key(swarm));
}

/// `None` if it is gone.
fn listed(swarm: &SwarmId, fields: Vec<Option<String>>, score: Option<f64>) -> Option<Listed> {
    let [status, strategy, mode, agents, tasks, confidence, updated_at] = fields.try_into().ok()?;
    let count = |text: Option<String>| text.and_then(|text| text.parse().ok()).unwrap_or_default();
    Some(Listed {
        id: swarm.clone(),
        status: status?,
        strategy: strategy.unwrap_or_default(),
        mode: mode.unwrap_or_default(),
        agents: count(agents),
        tasks: count(tasks),
        confidence: confidence.and_then(|text| text.parse().ok()),
        updated_at: updated_at.unwrap_or_default(),
        score,
    })
}
