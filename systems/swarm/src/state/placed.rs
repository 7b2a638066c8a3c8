//! Where swarms are listed, compared with what they say of themselves.
//!
//! Who writes a header with redis-cli, as the seed's transaction does, or an agent, tells no index. What is listed wrongly then
//! is corrected through the swarm's outbox, in one line with all other changes. Swarms with ids of an old shape have none; only
//! the indexes are written for them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use keyplane_key::Arg;
use keyplane_kit::index::Index;
use keyplane_kit::rfc3339;
use keyplane_store::Reply;

use super::error::OpError;
use super::indexes::Indexes;
use super::names::Names;
use super::outcome::Told;
use super::{Inner, Swarms};
use crate::keys::{Role, Status, SwarmId};
use crate::scripts;

/// Headers compared in one round trip.
const AT_ONCE: usize = 200;

/// What of a header says where it belongs.
const SEEN: [&str; 3] = ["status", "updatedAt", "agentCount"];

/// An index that follows from a header or a roster.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Active,
    Status(Status),
    Role(Role),
}

type Places = BTreeSet<Place>;

/// A swarm that is listed where it does not belong, or is not where it does.
#[derive(Debug)]
struct Misplaced {
    status: String,
    agents: String,
    second: f64,
    enters: Vec<Place>,
    leaves: Vec<Place>,
}

impl Place {
    fn index(&self, indexes: &Indexes) -> Result<Arc<Index>, OpError> {
        Ok(match self {
            Self::Active => Arc::clone(indexes.active()),
            Self::Status(status) => Arc::clone(indexes.status(*status)),
            Self::Role(role) => indexes.role(role)?,
        })
    }

    fn name(&self, names: &Names) -> String {
        match self {
            Self::Active => names.active_index.clone(),
            Self::Status(status) => names.status_index(*status),
            Self::Role(role) => names.role_index(role),
        }
    }

    fn score(&self, second: f64) -> f64 {
        if *self == Self::Active { second } else { 0.0 }
    }
}

impl Swarms {
    /// Corrects the indexes of activity, status and role where they differ from the swarms: for how many of these.
    pub(super) async fn correct(&self) -> Result<u64, OpError> {
        let suspects: BTreeSet<SwarmId> = self.misplaced(None).await?.into_keys().collect();
        if suspects.is_empty() {
            return Ok(0);
        }
        // What has only not been told yet is no mistake.
        for swarm in suspects.iter().filter(|swarm| !swarm.is_legacy()) {
            self.feed(swarm).await?;
        }
        let mut corrected = 0;
        for (swarm, misplaced) in self.misplaced(Some(&suspects)).await? {
            let is_placed = match swarm.is_legacy() {
                true => self.place(&swarm, &misplaced).await?,
                false => self.note(&swarm, &misplaced).await?,
            };
            corrected += u64::from(is_placed);
        }
        Ok(corrected)
    }

    /// Those of some swarms, or of all that are listed, that are not where they belong.
    async fn misplaced(
        &self,
        some: Option<&BTreeSet<SwarmId>>,
    ) -> Result<BTreeMap<SwarmId, Misplaced>, OpError> {
        let Inner { indexes, janitor, .. } = &*self.0;
        let mut listed = self.places().await?;
        listed.retain(|swarm, _| some.is_none_or(|some| some.contains(swarm)));
        let all: Vec<(SwarmId, Places)> = listed.into_iter().collect();
        let mut misplaced = BTreeMap::new();
        for some in all.chunks(AT_ONCE) {
            let reads = some.iter().map(|(swarm, _)| indexes.header(swarm).hmget(SEEN).reading());
            let headers: Vec<Vec<Option<String>>> = janitor.run_all(reads).await?;
            for ((swarm, listed), header) in some.iter().zip(headers) {
                let found = self.compare(swarm, listed, header).await?;
                misplaced.extend(found.map(|found| (swarm.clone(), found)));
            }
        }
        Ok(misplaced)
    }

    /// Where all swarms are listed.
    async fn places(&self) -> Result<BTreeMap<SwarmId, Places>, OpError> {
        let mut listed: BTreeMap<SwarmId, Places> = BTreeMap::new();
        let indexes = &self.0.indexes;
        let statuses = Status::ALL.iter().map(|status| Place::Status(*status));
        let roles = indexes.known_roles().into_iter().map(Place::Role);
        for place in std::iter::once(Place::Active).chain(statuses).chain(roles) {
            for swarm in self.members(&place.index(indexes)?).await?.into_keys() {
                listed.entry(swarm).or_default().insert(place.clone());
            }
        }
        Ok(listed)
    }

    /// `None` if it is where it belongs, or gone.
    async fn compare(
        &self,
        swarm: &SwarmId,
        listed: &Places,
        header: Vec<Option<String>>,
    ) -> Result<Option<Misplaced>, OpError> {
        let Ok([Some(status), updated_at, agents]) = <[_; 3]>::try_from(header) else { return Ok(None) };
        let agents = agents.unwrap_or_default();
        let roles = self.roles(&self.names(swarm)?).await?;
        let mut belongs: Places = roles.into_iter().map(Place::Role).collect();
        let known = status.parse().ok();
        belongs.extend(known.map(Place::Status));
        if !matches!(known, Some(Status::Completed | Status::Failed)) {
            belongs.insert(Place::Active);
        }
        let micros = updated_at.and_then(|at| rfc3339(&at)).unwrap_or_default();
        let found = Misplaced {
            status,
            agents,
            second: micros.div_euclid(1_000_000) as f64,
            enters: belongs.difference(listed).cloned().collect(),
            leaves: listed.difference(&belongs).cloned().collect(),
        };
        Ok((belongs != *listed).then_some(found))
    }

    /// Notes where it belongs, unless it has changed since.
    async fn note(&self, swarm: &SwarmId, misplaced: &Misplaced) -> Result<bool, OpError> {
        let names = self.names(swarm)?;
        let enters = misplaced.enters.iter().map(|place| (place, "enter"));
        let leaves = misplaced.leaves.iter().map(|place| (place, "leave"));
        let notes = enters.chain(leaves).flat_map(|(place, word)| -> [Arg<'_>; 3] {
            [place.name(&names).into(), word.into(), place.score(misplaced.second).into()]
        });
        let call = scripts::CorrectIndexes {
            swarm: &names.swarm,
            swarm_outbox: &names.outbox,
            id: swarm.as_str().into(),
            seen: (&misplaced.status).into(),
            agents: (&misplaced.agents).into(),
            notes: notes.collect(),
        };
        let told: Vec<Reply> = self.0.janitor.call(call).await?;
        if Told::new(&told).word() != "ok" {
            return Ok(false);
        }
        self.feed(swarm).await?;
        Ok(true)
    }

    /// Nothing else writes the indexes of a swarm without an outbox.
    async fn place(&self, swarm: &SwarmId, misplaced: &Misplaced) -> Result<bool, OpError> {
        let Inner { indexes, janitor, keyspace, .. } = &*self.0;
        let mark = indexes.active().mark(&indexes.header(swarm)).await?;
        let member = swarm.as_str();
        for place in &misplaced.enters {
            let score = place.score(misplaced.second);
            place.index(indexes)?.restore(&mark, member.as_bytes(), score).await?;
        }
        for place in &misplaced.leaves {
            let command = match place {
                Place::Active => keyspace.index_active().zrem([member]),
                Place::Status(status) => keyspace.index_status(*status).srem([member]),
                Place::Role(role) => keyspace.index_agents(role).srem([member]),
            };
            janitor.run(command).await?;
        }
        Ok(true)
    }
}
