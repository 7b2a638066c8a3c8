//! What can go wrong, and what the caller can do.

use keyplane_kit::SetupError;
use keyplane_kit::index::DrainError;
use keyplane_kit::lease::LeaseError;
use keyplane_kit::record::CommitError;
use keyplane_store::{Cause, Error, HandleError};

/// Swarms that cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The contract or a component.
    #[error(transparent)]
    Handle(#[from] HandleError),
    /// The namespace.
    #[error("the namespace cannot be used: {0}")]
    Namespace(String),
    /// A part of the kit.
    #[error(transparent)]
    Kit(#[from] SetupError),
}

/// Why an operation was not carried out. Unless it is the store's, nothing was written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpError {
    /// There is no such swarm, or it has run out.
    #[error("there is no swarm `{swarm}`, or it has run out")]
    NoSwarm {
        /// Which one.
        swarm: String,
    },
    /// The swarm has ended.
    #[error("the swarm `{swarm}` is {status}")]
    Over {
        /// Which one.
        swarm: String,
        /// How it ended.
        status: String,
    },
    /// The swarm is not running: its tasks wait; and while it recovers, so do checkpoints and what is to be added.
    #[error("the swarm `{swarm}` is {status}: this waits until it is running")]
    Waits {
        /// Which one.
        swarm: String,
        /// What it is instead.
        status: String,
    },
    /// It was to be created and is there.
    #[error("`{id}` is there already")]
    Exists {
        /// What.
        id: String,
    },
    /// It was to be created, and something is left of an earlier one with its id.
    #[error("something is left of an earlier swarm `{swarm}`")]
    Remains {
        /// Which one.
        swarm: String,
    },
    /// There is none in this swarm.
    #[error("there is no `{id}` in this swarm")]
    Unknown {
        /// What.
        id: String,
    },
    /// Another change came first. Read again and decide anew.
    #[error("`{id}` is at version {found}")]
    Conflict {
        /// What.
        id: String,
        /// The version that it has.
        found: u64,
    },
    /// The contract has no such move.
    #[error("`{id}` cannot become {to}: it is {from}")]
    Move {
        /// What.
        id: String,
        /// What it is.
        from: String,
        /// What it was to become.
        to: String,
    },
    /// The agent works on something else.
    #[error("the agent `{agent}` works on `{task}`: that comes first")]
    Busy {
        /// Which agent.
        agent: String,
        /// On which task.
        task: String,
    },
    /// The agent takes no tasks.
    #[error("the agent `{agent}` is {status}, and takes no tasks")]
    TakesNone {
        /// Which agent.
        agent: String,
        /// What it is.
        status: String,
    },
    /// The task is somebody else's, or nobody's, by now. What was done on it does not count.
    #[error("the task `{task}` is no longer held by this claim: it is {status}{}", held_by(.agent))]
    Lost {
        /// Which task.
        task: String,
        /// What it is.
        status: String,
        /// Who holds it now; empty if nobody does.
        agent: String,
    },
    /// The task is held.
    #[error("the task `{task}` is held{}", by(.agent))]
    Held {
        /// Which task.
        task: String,
        /// Who holds it; empty if nobody does.
        agent: String,
    },
    /// The task is pending, and not among those that can be claimed: somebody has written it by hand, or it is just coming back.
    #[error("the task `{task}` is pending, and not listed among those that can be claimed")]
    NotListed {
        /// Which task.
        task: String,
    },
    /// Tasks are open.
    #[error("{waiting} tasks wait and {under_way} are under way")]
    Open {
        /// That can be claimed, or are blocked.
        waiting: u64,
        /// That are held.
        under_way: u64,
    },
    /// A phase asks for more.
    #[error("`{id}` still asks for: {}", .criteria.join(", "))]
    Unmet {
        /// Which phase.
        id: String,
        /// What does not hold yet.
        criteria: Vec<String>,
    },
    /// A phase has run as often as it may.
    #[error("`{id}` has run {runs} times, which is as often as it may")]
    Runs {
        /// Which phase.
        id: String,
        /// So often.
        runs: u64,
    },
    /// Only validators of the swarm vote.
    #[error("the agent `{agent}` is no validator of this swarm{}", a_kind(.kind))]
    NoValidator {
        /// Which agent.
        agent: String,
        /// What it is instead; empty if the swarm does not know it.
        kind: String,
    },
    /// Who has left, or failed, votes no more.
    #[error("the agent `{agent}` is {status}: only validators that are there vote")]
    LeftVoter {
        /// Which agent.
        agent: String,
        /// What it is.
        status: String,
    },
    /// As many have voted as may.
    #[error("{round} has {votes} votes, which is as many as may be cast")]
    Full {
        /// Which round.
        round: String,
        /// So many.
        votes: u64,
    },
    /// A list of the swarm is full: of the tasks that can be claimed, of deadlines, of records, or of memories with one tag.
    #[error("the list `{list}` of this swarm has {most} members, which is as many as it may have")]
    Crowded {
        /// Which, as the part of its key behind the swarm's id.
        list: String,
        /// So many.
        most: u64,
    },
    /// The round's time is over, and nobody has closed it yet.
    #[error("{round} takes no votes any more: its time was over at {until}")]
    Late {
        /// Which round.
        round: String,
        /// RFC 3339.
        until: String,
    },
    /// The round takes no votes any more.
    #[error("{round} is closed: {status}")]
    Closed {
        /// Which round.
        round: String,
        /// What it is.
        status: String,
    },
    /// The round is open until then.
    #[error("{round} is open until {until}, unless all vote before")]
    Early {
        /// Which round.
        round: String,
        /// RFC 3339.
        until: String,
    },
    /// The lock of the swarm is somebody else's by now, or nobody's.
    #[error("the lock of the swarm `{swarm}` is no longer held with this fence")]
    Fenced {
        /// Which swarm.
        swarm: String,
    },
    /// A swarm that has no checkpoint is not removed.
    #[error("the swarm `{swarm}` has no checkpoint: make one before it is removed")]
    Unsaved {
        /// Which swarm.
        swarm: String,
    },
    /// A metric under whose name somebody keeps something else. Nothing was recorded.
    #[error("{metric} of `{swarm}` holds one value, and no series: nothing can be added")]
    NoSeries {
        /// Which metric.
        metric: String,
        /// Of which swarm.
        swarm: String,
    },
    /// A sample that is older than samples are kept. Nothing was recorded.
    #[error("a sample of {at} is too old: they are kept for a day, from {oldest} on")]
    TooOld {
        /// When it was taken, in Unix milliseconds.
        at: u64,
        /// The oldest that are kept.
        oldest: u64,
    },
    /// A value in a JSON document that its layout in the contract does not allow.
    #[error("`{field}` {why}")]
    Layout {
        /// Where: `objective.type`.
        field: String,
        /// What is wrong.
        why: String,
    },
    /// A value that is no number.
    #[error("{value} is no value of {metric}")]
    NoNumber {
        /// Of which metric.
        metric: &'static str,
        /// What was to be recorded.
        value: f64,
    },
    /// More than the contract allows.
    #[error("`{what}` has {bytes} bytes, and {most} are allowed")]
    TooLarge {
        /// What.
        what: String,
        /// So many.
        bytes: usize,
        /// The limit.
        most: usize,
    },
    /// Somebody holds the lock. It is given back, or runs out within 30 seconds.
    #[error("the lock of `{swarm}` is held by somebody else")]
    Locked {
        /// Of which swarm.
        swarm: String,
    },
    /// A checkpoint that cannot be trusted. An earlier one may.
    #[error("the checkpoint `{checkpoint}` cannot be trusted: {why}")]
    Damaged {
        /// Which one.
        checkpoint: String,
        /// What is wrong with it.
        why: String,
    },
    /// Something cannot be read.
    #[error(transparent)]
    Read(ReadError),
    /// A field that the contract does not allow.
    #[error(transparent)]
    Field(#[from] CommitError),
    /// Somebody else was faster, again and again.
    #[error("{times} attempts met a change in between")]
    Contended {
        /// So often.
        times: usize,
    },
    /// The contract's header has no outbox.
    #[error("the header of a swarm has no outbox in this contract")]
    NoOutbox,
    /// The contract's lock has no fence.
    #[error("the lock of a swarm has no fence in this contract")]
    NoLock,
    /// The lock could not be asked for.
    #[error(transparent)]
    Lock(#[from] LeaseError),
    /// An index could not follow.
    #[error(transparent)]
    Index(#[from] DrainError),
    /// A part of the kit cannot work on this contract.
    #[error(transparent)]
    Kit(#[from] SetupError),
    /// An answer of a script that nobody expects.
    #[error("the store answered `{0}`, which means nothing here")]
    Unreadable(String),
    /// The store failed. It may have been carried out or not: see the error.
    #[error(transparent)]
    Store(#[from] Error),
}

impl OpError {
    /// Whether the store is away, or lets nobody in: what is asked next about another swarm fails as well.
    pub(crate) fn is_of_store(&self) -> bool {
        let error = match self {
            Self::Store(error)
            | Self::Read(ReadError::Store(error))
            | Self::Field(CommitError::Store(error))
            | Self::Lock(LeaseError::Store(error))
            | Self::Index(DrainError::Store(error)) => error,
            _ => return false,
        };
        error.is_retryable() || matches!(error.cause(), Cause::Refused { .. } | Cause::Denied(_))
    }
}

impl From<ReadError> for OpError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Store(error) => Self::Store(error),
            error => Self::Read(error),
        }
    }
}

fn by(agent: &str) -> String {
    if agent.is_empty() { String::new() } else { format!(" by `{agent}`") }
}

fn held_by(agent: &str) -> String {
    if agent.is_empty() { String::new() } else { format!(", held by `{agent}`") }
}

fn a_kind(kind: &str) -> String {
    if kind.is_empty() { String::new() } else { format!(": it is of type {kind}") }
}

/// Why something cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] Error),
    /// What the store holds is not what belongs there.
    #[error("{key} of `{swarm}` cannot be read: {why}")]
    Damaged {
        /// Of which key.
        key: &'static str,
        /// Of which swarm.
        swarm: String,
        /// What is wrong.
        why: String,
    },
}
