//! Every read and write of the swarms' keys, as named operations. Each change is one script.

mod agents;
mod capture;
mod chains;
mod checkpoints;
mod children;
mod consensus;
mod encoded;
mod error;
mod exports;
mod held_keys;
mod horizon;
mod indexes;
mod layouts;
mod lists;
mod load;
mod lock;
mod look;
mod loss;
mod lost;
mod memory;
mod names;
mod outcome;
mod performance;
mod phases;
mod pieces;
mod pins;
mod placed;
mod records;
mod recover;
mod relist;
mod remove;
mod restore;
mod rosters;
mod swarm;
mod tasks;
mod touched;
mod unheld;
mod view;

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use keyplane_key::{Arg, Naming};
use keyplane_kit::events;
use keyplane_kit::record::{Fields, Records};
use keyplane_schema::Contract;
use keyplane_store::{Handle, Reply, Store};

use crate::keys::{self, Keyspace, SwarmId};

pub use agents::{AgentChange, NewAgent};
pub use checkpoints::{Checkpoint, CheckpointOptions, MOST_STATE};
pub use consensus::{Decision, NewRound};
pub use encoded::MOST_VALUE;
pub use error::{OpError, OpenError, ReadError};
pub use exports::{Export, ImportError, MOST_EXPORT};
pub use held_keys::HeldKey;
pub use indexes::Reconciled;
pub use lists::{Filter, Listed};
pub use load::Loaded;
pub use lock::Locked;
pub use look::Record;
pub use lost::Lost;
pub use memory::{Memory, NewMemory};
pub use outcome::Done;
pub use performance::{Sample, length};
pub use phases::NewPhase;
pub use recover::{From, Recovered};
pub use swarm::{NewSwarm, SwarmChange};
pub use tasks::{Claim, Claimed, NewTask};
pub use view::SwarmView;

use chains::Chains;
use consensus::ClosedRounds;
use horizon::Drawing;
use indexes::Indexes;
use names::Names;
use outcome::Told;
use touched::Touched;

/// The layout of the records that this writes.
const SCHEMA_VERSION: &str = "1.0.0";

/// As often as an operation is tried that meets a change in between.
const MOST_TRIES: usize = 1000;

/// How swarms behave. All that work on the same swarms have the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// How long an agent is waited for after its last sign of life.
    pub agent_lease: Duration,
    /// How long a claimed task is waited for after the last sign of life of its holder.
    pub task_lease: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        // Three beats of the seed's thirty seconds.
        Self { agent_lease: Duration::from_secs(90), task_lease: Duration::from_secs(90) }
    }
}

/// The swarms on a store. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Swarms(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    store: Store,
    coordinator: Handle,
    agent: Handle,
    checkpointer: Handle,
    janitor: Handle,
    metrics: Handle,
    monitor: Handle,
    keyspace: Keyspace,
    settings: Settings,
    swarm_fields: Fields,
    agent_fields: Fields,
    task_fields: Fields,
    phase_fields: Fields,
    memory_fields: Fields,
    round_fields: Fields,
    blob_fields: Fields,
    /// Events kept, and marks for the next checkpoint: what the contract allows.
    most: u64,
    /// Fields and bytes of a round.
    most_of_round: (u64, u64),
    /// Lines of a roster.
    most_listed: u64,
    most_members: MostMembers,
    chains: Chains,
    /// Samples of a metric.
    most_samples: u64,
    headers: Records,
    indexes: Indexes,
    touched: Touched,
    drawing: Drawing,
    closed_rounds: ClosedRounds,
}

impl Swarms {
    /// The swarms under that namespace of a store.
    pub fn new(store: &Store, naming: Naming, settings: Settings) -> Result<Self, OpenError> {
        let contract = contract()?;
        let none = HashMap::new();
        let component = |name| store.as_component(&contract, name, &none);
        let (coordinator, agent) = (component("coordinator")?, component("agent")?);
        let (janitor, metrics) = (component("janitor")?, component("metrics-writer")?);
        let keyspace = Keyspace::new(naming).map_err(|error| OpenError::Namespace(error.to_string()))?;
        Ok(Self(Arc::new(Inner {
            swarm_fields: Fields::of(&coordinator, &keys::info::SWARM)?,
            agent_fields: Fields::of(&coordinator, &keys::info::AGENT)?,
            task_fields: Fields::of(&coordinator, &keys::info::TASK)?,
            phase_fields: Fields::of(&coordinator, &keys::info::PHASE)?,
            memory_fields: Fields::of(&coordinator, &keys::info::MEMORY)?,
            round_fields: Fields::of(&coordinator, &keys::info::CONSENSUS)?,
            blob_fields: Fields::of(&coordinator, &keys::info::BLOB)?,
            most: events::most_kept(&coordinator, "events").unwrap_or(10_000),
            most_of_round: most_of_round(&contract),
            most_listed: 1000,
            most_members: MostMembers::of(&coordinator),
            chains: Chains::default(),
            checkpointer: component("checkpointer")?,
            most_samples: metrics.most_members("performance").unwrap_or(10_000),
            headers: Records::of(&janitor, &keys::info::SWARM)?,
            indexes: Indexes::new(&janitor, &keyspace)?,
            touched: Touched::default(),
            drawing: Drawing::default(),
            closed_rounds: ClosedRounds::default(),
            janitor,
            metrics,
            monitor: component("monitor")?,
            store: store.clone(),
            coordinator,
            agent,
            keyspace,
            settings,
        })))
    }

    /// Where they are.
    pub(crate) fn store(&self) -> &Store {
        &self.0.store
    }

    /// How they behave.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.0.settings
    }

    fn names(&self, swarm: &SwarmId) -> Result<Names, OpError> {
        Names::new(&self.0.keyspace, swarm)
    }

    /// Applies the notes of all swarms that were changed through this process: how many notes. For processes that end before
    /// a [keeper](crate::run::Keeper) would come by. What fails is tried again the next time, and told after the others were
    /// tried.
    pub async fn feed_touched(&self) -> Result<u64, OpError> {
        let mut last = None;
        let notes = self.feed_each(|_, error| last = Some(error)).await?;
        last.map_or(Ok(notes), Err)
    }

    /// The same, where somebody hears of each that `failed`. None waits for another, unless the store is away.
    pub(crate) async fn feed_each(
        &self,
        mut failed: impl FnMut(&SwarmId, OpError) + Send,
    ) -> Result<u64, OpError> {
        let (mut notes, mut again) = (0, Vec::new());
        let mut swarms = self.0.touched.take().into_iter();
        let mut away = None;
        while let Some(swarm) = swarms.next() {
            match self.feed(&swarm).await {
                Ok(more) => notes += more,
                Err(error) if error.is_of_store() => {
                    again.push(swarm);
                    again.extend(swarms.by_ref());
                    away = Some(error);
                }
                Err(error) => {
                    failed(&swarm, error);
                    again.push(swarm);
                }
            }
        }
        again.iter().for_each(|swarm| self.0.touched.add(swarm));
        away.map_or(Ok(notes), Err)
    }

    /// Until a swarm is changed through this process.
    pub(crate) async fn touched(&self) {
        self.0.touched.some().await;
    }

    /// An answer of an operation. What was done has left notes for the indexes; and if it was done late in the life of the
    /// children, these live on from now on.
    async fn told(&self, swarm: &SwarmId, replies: &[Reply]) -> Told {
        let told = Told::new(replies);
        if told.word() == "ok" {
            self.0.touched.add(swarm);
        }
        if told.is_near() {
            self.go_on(swarm).await;
        }
        told
    }

    fn millis(lasts: Duration) -> Arg<'static> {
        u64::try_from(lasts.as_millis()).unwrap_or(u64::MAX).into()
    }
}

/// Members that the contract lets the lists of a swarm have.
#[derive(Debug)]
struct MostMembers {
    ready: u64,
    leases: u64,
    records: u64,
    /// Memories with one tag.
    tagged: u64,
}

impl MostMembers {
    fn of(handle: &Handle) -> Self {
        let most = |key| handle.most_members(key).unwrap_or(u64::MAX);
        Self {
            ready: most("ready"),
            leases: most("leases"),
            records: most("records"),
            tagged: most("memory_tag"),
        }
    }
}

/// The contract, read once in a process.
fn contract() -> Result<Arc<Contract>, OpenError> {
    static READ: OnceLock<Arc<Contract>> = OnceLock::new();
    if let Some(contract) = READ.get() {
        return Ok(Arc::clone(contract));
    }
    let contract = keyplane_store::contract(Keyspace::SOURCE)?;
    Ok(Arc::clone(READ.get_or_init(|| contract)))
}

/// Fields and bytes that the contract gives to a round.
fn most_of_round(contract: &Contract) -> (u64, u64) {
    let limits = contract.key("consensus").map(|key| key.limits(contract));
    let most = limits.map(|limits| (limits.fields, limits.bytes)).unwrap_or_default();
    (most.0.unwrap_or(u64::MAX), most.1.unwrap_or(u64::MAX))
}

/// Unix milliseconds of a moment as records spell it; `None` for what is none.
fn millis(at: &str) -> Option<u64> {
    keyplane_kit::rfc3339(at).and_then(|micros| u64::try_from(micros / 1000).ok())
}

/// Fields and values as a script takes them.
fn flat<'f>(fields: &'f [(&'static str, String)]) -> Vec<Arg<'f>> {
    fields.iter().flat_map(|(field, value)| [Arg::from(*field), Arg::from(value)]).collect()
}

/// Whether the contract allows all of them.
fn check(rules: &Fields, fields: &[(&'static str, String)]) -> Result<(), OpError> {
    for (field, value) in fields {
        rules.check(field, value.as_bytes())?;
    }
    Ok(())
}
