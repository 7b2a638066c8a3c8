//! Records of a swarm by the names that snapshots, marks and events give them: the part of a key behind the swarm's id, or
//! `header`.

use keyplane_key::{Hash, Key};
use keyplane_kit::checkpoint::Body;

use crate::keys::{AgentId, BlobId, Chunk, Keyspace, MemoryId, MemoryType, PhaseId, Round, SwarmId, TaskId};

/// The name of the header.
pub(super) const HEADER: &str = "header";

/// What is of the moment only: times of life, and what the checkpoint itself writes.
const PASSING: [&[u8]; 7] =
    [b"horizon", b"updatedAt", b"expiresAt", b"recovery", b"fence", b"leaseUntil", b"lease"];

/// Keys of some records, by family. Within a family, and from family to family, in the order of their names.
#[derive(Debug, Default)]
pub(super) struct Families {
    pub(super) agent: Vec<Key<Hash>>,
    pub(super) blob: Vec<Key<Hash>>,
    pub(super) consensus: Vec<Key<Hash>>,
    pub(super) memory: Vec<Key<Hash>>,
    pub(super) phase: Vec<Key<Hash>>,
    pub(super) task: Vec<Key<Hash>>,
}

/// A record that is no header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Record {
    Agent(AgentId),
    /// A piece of a value.
    Blob(BlobId, Chunk),
    Consensus(Round),
    Memory(MemoryType, MemoryId),
    Phase(PhaseId),
    Task(TaskId),
}

impl Record {
    /// The record of that name; `None` for the header, and for what is no record.
    pub(super) fn named(name: &str) -> Option<Self> {
        let (family, id) = name.split_once(':')?;
        match family {
            "agents" => AgentId::from_store(id).ok().map(Self::Agent),
            "blob" => {
                let (id, chunk) = id.split_once(':')?;
                Some(Self::Blob(id.parse().ok()?, chunk.parse().ok()?))
            }
            "consensus" => Round::new(id.parse().ok()?).ok().map(Self::Consensus),
            "memory" => {
                let (kind, id) = id.split_once(':')?;
                Some(Self::Memory(kind.parse().ok()?, MemoryId::from_store(id).ok()?))
            }
            "phases" => PhaseId::from_store(id).ok().map(Self::Phase),
            "tasks" => TaskId::from_store(id).ok().map(Self::Task),
            _ => None,
        }
    }

    pub(super) fn key(&self, keyspace: &Keyspace, swarm: &SwarmId) -> Key<Hash> {
        match self {
            Self::Agent(id) => keyspace.agent(swarm, id),
            Self::Blob(id, chunk) => keyspace.blob(swarm, id, *chunk),
            Self::Consensus(round) => keyspace.consensus(swarm, *round),
            Self::Memory(kind, id) => keyspace.memory(swarm, *kind, id),
            Self::Phase(id) => keyspace.phase(swarm, id),
            Self::Task(id) => keyspace.task(swarm, id),
        }
    }
}

impl Families {
    /// The keys of records with these names, which are in order.
    pub(super) fn of<'n>(
        keyspace: &Keyspace,
        swarm: &SwarmId,
        names: impl IntoIterator<Item = &'n str>,
    ) -> Self {
        let mut families = Self::default();
        for record in names.into_iter().filter_map(Record::named) {
            let key = record.key(keyspace, swarm);
            match record {
                Record::Agent(_) => families.agent.push(key),
                Record::Blob(..) => families.blob.push(key),
                Record::Consensus(_) => families.consensus.push(key),
                Record::Memory(..) => families.memory.push(key),
                Record::Phase(_) => families.phase.push(key),
                Record::Task(_) => families.task.push(key),
            }
        }
        families
    }
}

/// Whether a field is kept in snapshots.
pub(super) fn is_lasting(field: &str) -> bool {
    !PASSING.contains(&field.as_bytes())
}

/// A record as snapshots keep it; `None` if it is not there.
pub(super) fn body(fields: &[(Vec<u8>, Vec<u8>)]) -> Option<Body> {
    let lasting = fields.iter().filter(|(field, _)| !PASSING.contains(&field.as_slice()));
    let lasting = lasting.map(|(field, value)| (field, value));
    (!fields.is_empty()).then(|| Body::new(lasting))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_records_and_nothing_else() {
        for name in
            ["agents:agent_dev001", "consensus:3", "memory:knowledge:mem_jquery", "tasks:task_auth_001"]
        {
            assert!(Record::named(name).is_some(), "{name}");
        }
        for name in [
            HEADER,
            "all",
            "agents:",
            "consensus:0",
            "memory:mem_jquery",
            "tag#frontend",
            "blob:ab:0",
            "agents:task_auth_001",
        ] {
            assert_eq!(Record::named(name), None, "{name}");
        }
    }

    #[test]
    fn what_passes_is_not_kept() {
        let field = |name: &str| (name.as_bytes().to_vec(), b"1".to_vec());
        let kept = body(&[field("status"), field("leaseUntil"), field("horizon")]);
        assert_eq!(kept, Some(Body::new([("status", "1")])));
        assert_eq!(body(&[]), None);
    }
}
