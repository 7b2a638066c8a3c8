//! The loops: what is to be done though nobody asks for it. And a fleet to watch.

mod keeper;
mod sim;

pub use keeper::{Counters, Keeper, Pace};
pub use sim::{News, Picture, Sim, settings as sim_settings};
