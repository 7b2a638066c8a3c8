//! The rules of a swarm, without any I/O.

mod consensus;
mod lines;
mod phase;
pub mod recovery;
mod score;
mod words;

pub use consensus::{Ballot, MOST_TRIES, PASSING, Tally, Verdict};
pub use lines::{AgentLine, BadLine, TaskLine};
pub use phase::{LoopLevel, NoLevel, metrics, unmet};
pub use score::{LATENCY_TARGET, Measured};
pub use words::{
    AgentKind, AgentStatus, Mode, PhaseStatus, Priority, Strategy, TaskKind, TaskStatus, UnknownWord,
};
