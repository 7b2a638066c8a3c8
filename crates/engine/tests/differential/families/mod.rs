//! The grammars, one per family of commands.

mod hashes;
mod keys;
mod lists;
mod pubsub;
mod scripting;
mod server;
mod sets;
mod streams;
mod strings;
mod transactions;
mod zsets;

use crate::grammar::Family;

pub(crate) use hashes::hashes;
pub(crate) use keys::keys;
pub(crate) use lists::lists;
pub(crate) use pubsub::pubsub;
pub(crate) use scripting::scripting;
pub(crate) use server::server;
pub(crate) use sets::sets;
pub(crate) use streams::streams;
pub(crate) use strings::strings;
pub(crate) use transactions::transactions;
pub(crate) use zsets::zsets;

/// Those that put something under keys.
pub(crate) fn feeders() -> Vec<Family> {
    vec![hashes(), keys(), lists(), sets(), streams(), strings(), zsets()]
}

/// Every family but those of connections and channels: each has its own numbers, and when several keys end at once, who
/// listens may hear of them in any order.
pub(crate) fn all() -> Vec<Family> {
    vec![hashes(), keys(), lists(), scripting(), sets(), streams(), strings(), transactions(), zsets()]
}
