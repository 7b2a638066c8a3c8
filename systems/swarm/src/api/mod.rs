//! The doors of the swarms: one table of operations, from which HTTP, MCP and the command line follow.
//!
//! # What it promises
//! - **An operation is defined once** ([`Op`]): its name, command, route, parameters, and the function that carries it out. The
//!   three doors have the same operations because none of them has a list of its own.
//! - **What comes in is checked before anything is asked of the store**: ids, words, ranges, lengths, and parameters that there
//!   are not. A refusal names the parameter.
//! - **One refusal** ([`Refused`]): a code that stays, a sentence, and what to do about it; the same at every door.
//! - A refused operation has changed nothing. Where the store did not answer nobody can say, and the refusal says that.
//!
//! # What it does not
//! - It knows no users: whoever is let in may do everything. An agent may speak for another.
//! - It adds nothing to [`Swarms`]: programs in Rust call that.

mod agents;
mod args;
mod checkpoints;
mod consensus;
mod events;
mod figures;
mod fleet;
mod http;
mod kind;
mod memory;
mod op;
mod param;
mod phases;
mod refused;
mod swarms;
mod tasks;
mod told;

#[cfg(feature = "mcp")]
mod mcp;

use crate::state::Swarms;

pub use args::Args;
pub use http::Api;
pub use kind::{ContractId, Kind};
#[cfg(feature = "mcp")]
pub use mcp::{Broken, Tools};
pub use op::{Carry, Op};
pub use param::{Need, Param};
pub use refused::{Blame, Refused};

/// What operations work on. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Desk {
    swarms: Swarms,
    /// Somebody in this process feeds the indexes.
    is_kept: bool,
}

impl Desk {
    /// A desk for these swarms. After every change it tells the indexes itself.
    #[must_use]
    pub fn new(swarms: Swarms) -> Self {
        Self { swarms, is_kept: false }
    }

    /// A desk beside a keeper, which tells the indexes of many changes at once.
    #[must_use]
    pub fn kept(self) -> Self {
        Self { is_kept: true, ..self }
    }

    /// The swarms that it works on.
    #[must_use]
    pub fn swarms(&self) -> &Swarms {
        &self.swarms
    }
}

/// Every operation, in the order in which help and documents show them.
pub fn operations() -> impl Iterator<Item = &'static Op> {
    let families = [
        swarms::OPS,
        agents::OPS,
        tasks::OPS,
        phases::OPS,
        memory::OPS,
        consensus::OPS,
        checkpoints::OPS,
        fleet::OPS,
        events::OPS,
    ];
    families.into_iter().flatten()
}

/// The operation of that name.
#[must_use]
pub fn operation(name: &str) -> Option<&'static Op> {
    operations().find(|op| op.name == name)
}
