//! The pool over gRPC: UTxO RPC's `SubmitService`, as its clients speak it.
//!
//! # What it promises
//! - `SubmitTx` stores an accepted transaction and nothing else; a refusal has a status of its own and says why.
//! - `WaitForTx` and `WatchMempool` lose no change of a stage: they stand in the log of events before anything is read, and go on
//!   from the same place when the store was away. What is gone from the log is told, or read anew.
//! - `WaitForTx` ends by itself when everything is final. A drop is told.
//! - A predicate that cannot be decided is refused before the stream begins; it never just matches nothing.
//! - Loopback or a token, and an orderly stop: the server is [`keyplane_http::Server`].
//!
//! # What it does not
//! - There is no ledger: `EvalTx` is unimplemented, and patterns on spent outputs are refused.
//! - No parsed transactions; `native_bytes` has everything.
//! - `ReadMempool` has no pages in this protocol. Beyond ten thousand transactions it refuses.
//!
//! # Stages
//! The protocol has no words for a peer's acknowledgement, for finality and for a drop:
//!
//! | here | there |
//! |---|---|
//! | pending | `MEMPOOL` |
//! | propagated, acknowledged | `NETWORK` |
//! | confirmed, finalized | `CONFIRMED` |
//! | dropped, or not known | `UNSPECIFIED` |
//!
//! Its `ACKNOWLEDGED` means that the node has it, which is before `MEMPOOL`; it is never sent. So the order of the protocol is
//! kept, and each change is one message, also where the word stays the same.
#![allow(clippy::result_large_err, reason = "tonic's Status is as large as it is")]

mod errors;
mod follow;
mod mask;
mod pattern;
mod predicate;
mod read;
mod submit;
mod wait;
mod watch;

use std::pin::Pin;

use axum::Router;
use axum::extract::Request as HttpRequest;
use axum::http::Uri;
use axum::http::uri::PathAndQuery;
use axum::response::{IntoResponse as _, Response as HttpResponse};
use futures_core::Stream;
use keyplane_http::Stopping;
use tonic::{Request, Response, Status, async_trait};
use tower::ServiceExt as _;
use utxorpc_spec::utxorpc::v1alpha::submit::submit_service_server::{SubmitService, SubmitServiceServer};
use utxorpc_spec::utxorpc::v1alpha::submit::{
    EvalTxRequest, EvalTxResponse, ReadMempoolRequest, ReadMempoolResponse, Stage as SpecStage,
    SubmitTxRequest, SubmitTxResponse, WaitForTxRequest, WaitForTxResponse, WatchMempoolRequest,
    WatchMempoolResponse,
};

use crate::model::Stage;
use crate::state::Pool;

/// A message may be so long: the longest transaction that can be set as a limit, and as much again.
const LONGEST_MESSAGE: usize = 2 * 1024 * 1024;

const ALPHA: &str = "/utxorpc.v1alpha.submit.SubmitService/";
/// The same messages by another name.
const BETA: &str = "/utxorpc.v1beta.submit.SubmitService/";

/// Messages, and perhaps a status that ends them.
type Messages<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

/// The gRPC side of one node.
#[derive(Debug, Clone)]
pub struct Grpc {
    pool: Pool,
}

impl Grpc {
    /// The gRPC side of this pool.
    #[must_use]
    pub fn new(pool: Pool) -> Self {
        Self { pool }
    }

    /// Its routes, for a server that speaks HTTP/2.
    pub fn routes(self) -> Router {
        let service = SubmitServiceServer::new(self).max_decoding_message_size(LONGEST_MESSAGE);
        Router::new()
            .route_service(&format!("{ALPHA}{{rpc}}"), service.clone())
            .route_service(&format!("{BETA}{{rpc}}"), service.map_request(as_alpha))
            .fallback(unknown)
    }
}

/// One service for both names.
fn as_alpha(mut request: HttpRequest) -> HttpRequest {
    let alpha = request.uri().path().strip_prefix(BETA).map(|rpc| format!("{ALPHA}{rpc}"));
    let named = alpha.and_then(|path| {
        let mut parts = request.uri().clone().into_parts();
        parts.path_and_query = Some(path.parse::<PathAndQuery>().ok()?);
        Uri::from_parts(parts).ok()
    });
    if let Some(uri) = named {
        *request.uri_mut() = uri;
    }
    request
}

async fn unknown(request: HttpRequest) -> HttpResponse {
    let message = format!("there is no {}: this node serves utxorpc's SubmitService", request.uri().path());
    Status::unimplemented(message).into_http().into_response()
}

/// What the protocol calls a stage.
fn named(stage: Option<Stage>) -> i32 {
    let named = match stage {
        Some(Stage::Pending) => SpecStage::Mempool,
        Some(Stage::Propagated | Stage::Acknowledged) => SpecStage::Network,
        Some(Stage::Confirmed | Stage::Finalized) => SpecStage::Confirmed,
        Some(Stage::Dropped) | None => SpecStage::Unspecified,
    };
    named.into()
}

#[async_trait]
impl SubmitService for Grpc {
    async fn eval_tx(&self, _: Request<EvalTxRequest>) -> Result<Response<EvalTxResponse>, Status> {
        Err(Status::unimplemented("this mempool has no ledger to evaluate a transaction against"))
    }

    async fn submit_tx(
        &self,
        request: Request<SubmitTxRequest>,
    ) -> Result<Response<SubmitTxResponse>, Status> {
        submit::submit(&self.pool, request.into_inner()).await.map(Response::new)
    }

    type WaitForTxStream = Messages<WaitForTxResponse>;

    async fn wait_for_tx(
        &self,
        request: Request<WaitForTxRequest>,
    ) -> Result<Response<Self::WaitForTxStream>, Status> {
        let stopping = stopping(&request);
        wait::wait(&self.pool, &request.into_inner(), stopping).await.map(Response::new)
    }

    async fn read_mempool(
        &self,
        _: Request<ReadMempoolRequest>,
    ) -> Result<Response<ReadMempoolResponse>, Status> {
        read::read(&self.pool).await.map(Response::new)
    }

    type WatchMempoolStream = Messages<WatchMempoolResponse>;

    async fn watch_mempool(
        &self,
        request: Request<WatchMempoolRequest>,
    ) -> Result<Response<Self::WatchMempoolStream>, Status> {
        let stopping = stopping(&request);
        watch::watch(&self.pool, &request.into_inner(), stopping).await.map(Response::new)
    }
}

/// The server tells it with every request.
fn stopping<T>(request: &Request<T>) -> Option<Stopping> {
    request.extensions().get::<Stopping>().cloned()
}
