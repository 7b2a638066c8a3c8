//! The HTTP base that every system's API stands on.
//!
//! # What it promises
//! - **A door is never open by mistake.** Without a [`Token`] only loopback is listened on; any other address is refused before
//!   anything is bound. With one, every route but health needs it. A page of a foreign site cannot reach a door without a
//!   token through its visitor's browser.
//! - **One error body**, [`Refusal`]: `{"error":{"code":…,"message":…,"help":…}}`. Unknown routes, wrong methods, bodies
//!   that are too long or cannot be read, requests that take too long and handlers that panic come in it too. A client
//!   that is still sending when it is refused gets to hear it.
//! - **A system is a [`Panel`]**: its routes, the same in words, metrics, alerts, readiness. [`router`] puts panels together
//!   and adds `/health/live`, `/health/ready`, `/metrics`, `/api/alerts` and `/openapi.json`. A panel that hangs or panics
//!   does not hide the others.
//! - **Live events resume** after the last one that a client saw ([`live`]).
//! - **gRPC passes the same door** (feature `http2`): a refusal comes as a gRPC status to whoever speaks gRPC.
//! - **A stop is orderly**: open requests finish within a limit, live streams end, then [`Server::run`] returns.
//!
//! # What it does not
//! - No TLS: a token travels in the clear. Beyond one machine or a trusted network, put a proxy in front.
//! - One token for all; it says that a caller may call, not who it is.
//! - A head that is not HTTP is answered by hyper, with an empty body. Heads are waited for 30 s; the number of
//!   connections is the system's limit.
//! - The body limit binds axum's extractors. A handler that reads the raw body keeps its own count.
//! - A request that runs out of time may have been applied.
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use axum::http::StatusCode;
//! use axum::{Json, Router, routing::get};
//! use keyplane_http::{Listen, Operation, Options, Panel, Server, router};
//! use serde_json::json;
//!
//! struct Clock;
//!
//! impl Panel for Clock {
//!     fn name(&self) -> &'static str {
//!         "clock"
//!     }
//!
//!     fn routes(&self) -> Router {
//!         Router::new().route("/api/ticks", get(|| async { Json(42) }))
//!     }
//!
//!     fn operations(&self) -> Vec<Operation> {
//!         let ticks = json!({"type": "integer"});
//!         vec![Operation::get("/api/ticks", "Ticks so far").answers(StatusCode::OK, "So many.", "application/json", ticks)]
//!     }
//! }
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let server = Server::bind(Listen::open("127.0.0.1:0".parse()?)).await?;
//! let api = router(vec![Arc::new(Clock)], Options::default())?;
//! let stop = tokio::time::sleep(std::time::Duration::from_secs(60)); // or a signal
//! server.run(api, stop).await;
//! # Ok(()) }
//! ```

mod base;
mod door;
mod linger;
mod listen;
pub mod live;
pub mod metrics;
pub mod openapi;
pub mod operation;
mod panel;
mod refusal;
mod requests;
mod router;
mod server;
mod tend;

pub use listen::{Listen, ListenError, Token};
pub use live::Live;
pub use operation::Operation;
pub use panel::{Alert, Later, Panel, Severity};
pub use refusal::Refusal;
pub use router::{Options, RouterError, router};
pub use server::{Ended, Server, Stopping};
