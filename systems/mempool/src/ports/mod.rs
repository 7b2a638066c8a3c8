//! The outside: the chain, and peers that take transactions.

pub mod recorded;
mod sim;

pub use sim::SimChain;
