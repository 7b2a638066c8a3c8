//! The outside: the chain, and peers that take transactions.

pub mod recorded;
mod sim;
mod wallet;

pub use sim::SimChain;
pub use wallet::{SimWallet, transaction};
