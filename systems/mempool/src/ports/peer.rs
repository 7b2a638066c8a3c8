//! Peers: whoever takes transactions on their way to the chain.

use std::future::Future;

use crate::state::{Offer, PeerName};

/// What a peer says to an offer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// It has it: from now on, or it had it before.
    Taken,
    /// It does not want it.
    Refused(String),
    /// It failed: on this one, or for now on all of them.
    Failed(String),
}

/// The peer did not answer: what it was offered may have reached it or not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the peer does not answer: {0}")]
pub struct Away(pub String);

/// A peer. One that does not answer is asked until it does; then it is offered again all that is in no block.
pub trait Peer: Send + Sync + 'static {
    /// Its name: the same on every node of the pool.
    fn name(&self) -> &PeerName;

    /// Whether it can be reached. Nothing leaves the queue for a peer that cannot.
    fn reach(&self) -> impl Future<Output = Result<(), Away>> + Send;

    /// Offers it a transaction.
    fn offer(&self, tx: &Offer) -> impl Future<Output = Result<Answer, Away>> + Send;
}
