//! The doors for transactions.

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use keyplane_http::Refusal;

use super::{AGAIN, Api, away};
use crate::model::Tx;
use crate::state::ReceiveError;

/// As cardano-submit-api answers: 202 and the id.
pub(super) async fn cardano(
    State(api): State<Api>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<(StatusCode, Json<String>), Refusal> {
    take_in(&api, &headers, body).await.map(|hash| (StatusCode::ACCEPTED, Json(hash)))
}

/// As Blockfrost answers: 200 and the id.
pub(super) async fn blockfrost(
    State(api): State<Api>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<String>, Refusal> {
    take_in(&api, &headers, body).await.map(Json)
}

async fn take_in(api: &Api, headers: &HeaderMap, body: Bytes) -> Result<String, Refusal> {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if kind.split(';').next().map(str::trim) != Some("application/cbor") {
        let message = format!("the body is `{kind}`: a transaction is sent as application/cbor");
        return Err(Refusal::unsupported_media(message));
    }
    let tx = Tx::decode(body.to_vec()).map_err(|error| {
        Refusal::bad_request(format!("no transaction: {error}"))
            .help("send a signed transaction in CBOR, as bytes")
    })?;
    match api.node.pool().receive(&tx).await {
        Ok(_) => Ok(tx.hash.to_string()),
        Err(error) => Err(refused(&error)),
    }
}

fn refused(error: &ReceiveError) -> Refusal {
    let message = error.to_string();
    match error {
        ReceiveError::Duplicate { .. } => {
            Refusal::conflict("duplicate", message).help("it is on its way: ask /api/tx/{hash} where it is")
        }
        ReceiveError::Conflict { .. } => {
            Refusal::conflict("conflict", message).help("wait for the first one, or spend another output")
        }
        ReceiveError::TooLarge { .. } => Refusal::too_large(message).help("no block could hold it"),
        ReceiveError::Full { .. } => {
            let mut refusal = Refusal::new(StatusCode::TOO_MANY_REQUESTS, message).code("full");
            refusal.retry_after = Some(AGAIN);
            refusal
        }
        ReceiveError::Store(error) => away(error),
        ReceiveError::Unanswered => Refusal::unavailable(message, AGAIN),
    }
}
