//! The pool over HTTP: submitting as wallets know it, status, the chain as a push feed, live events, metrics and alerts.
//!
//! # What it promises
//! - `POST /api/submit/tx` is cardano-submit-api's door and `POST /tx/submit` is Blockfrost's: a wallet needs no change but the
//!   address.
//! - An answer says what happened: 409 for a duplicate or a conflicting input, 400 with the reason for what is no transaction,
//!   429 for a full pool, 503 when the store is away. Nothing but an accepted transaction is stored.
//! - The chain is pushed in order, to every node; repeating an event changes nothing.

mod chain;
mod figures;
#[cfg(feature = "grpc")]
mod grpc;
mod look;
mod submit;
mod tail;
mod words;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::routing::{get, post};
use keyplane_http::metrics::Family;
use keyplane_http::{Alert, Later, Operation, Panel, Refusal};
use keyplane_store::Error;

use crate::run::Node;
use crate::state::ReadError;

#[cfg(feature = "grpc")]
pub use grpc::Grpc;

/// The API of one node.
#[derive(Debug, Clone)]
pub struct Api {
    node: Arc<Node>,
}

impl Api {
    /// The API of this node.
    #[must_use]
    pub fn new(node: Arc<Node>) -> Self {
        Self { node }
    }
}

impl Panel for Api {
    fn name(&self) -> &'static str {
        "mempool"
    }

    fn routes(&self) -> Router {
        Router::new()
            .route("/api/submit/tx", post(submit::cardano))
            .route("/tx/submit", post(submit::blockfrost))
            .route("/api/tx/{hash}", get(look::status))
            .route("/api/pending", get(look::pending))
            .route("/api/finalized", get(look::finalized))
            .route("/api/leader", get(look::leader))
            .route("/api/tip", get(chain::tip))
            .route("/api/chain/forward", post(chain::forward))
            .route("/api/chain/back", post(chain::back))
            .route("/api/events", get(tail::events))
            .with_state(self.clone())
    }

    fn operations(&self) -> Vec<Operation> {
        words::operations()
    }

    fn metrics(&self) -> Later<'_, Vec<Family>> {
        Box::pin(figures::metrics(&self.node))
    }

    fn alerts(&self) -> Later<'_, Vec<Alert>> {
        Box::pin(figures::alerts(&self.node))
    }

    fn ready(&self) -> Later<'_, Result<(), String>> {
        Box::pin(async { self.node.pool().pulse().await.map(|_| ()).map_err(|error| error.to_string()) })
    }
}

/// A store that is away comes back by itself.
const AGAIN: Duration = Duration::from_secs(2);

fn away(error: &Error) -> Refusal {
    Refusal::unavailable(format!("the store does not answer: {error}"), AGAIN)
}

fn unread(error: &ReadError) -> Refusal {
    match error {
        ReadError::Store(error) => away(error),
        ReadError::Damaged { .. } => Refusal::internal(error.to_string()),
    }
}
