//! The loops: election, the chain, peers, and a replay of a recorded one.

mod head;
mod node;
mod propagate;
mod replay;
mod sim;
mod watch;

pub use node::{Node, Verdict};
pub use propagate::propagate;
pub use replay::{Replay, ReplayError, Replayed};
pub use sim::{Member, News, Picture, Sim};
pub use watch::Watch;
