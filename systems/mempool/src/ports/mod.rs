//! The outside: the chain, and peers that take transactions.

mod peer;
pub mod recorded;
mod sim;
mod submit;
mod wallet;

pub use peer::{Answer, Away, Peer};
pub use sim::{SimChain, SimPeer};
pub use submit::{NotASubmitPeer, SubmitPeer};
pub use wallet::{SimWallet, transaction};
