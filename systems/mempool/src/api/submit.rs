//! The doors for transactions.

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use keyplane_http::Refusal;
use serde_json::json;

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

/// As Blockfrost answers: 200 and the id, and its clients read `status_code`, `error` and `message` of a refusal.
pub(super) async fn blockfrost(State(api): State<Api>, headers: HeaderMap, body: Bytes) -> Response {
    let refused = match take_in(&api, &headers, body).await {
        Ok(hash) => return Json(hash).into_response(),
        Err(refused) => refused,
    };
    let body = json!({
        "status_code": refused.status.as_u16(),
        "error": refused.status.canonical_reason().unwrap_or_default(),
        "message": refused.message,
        "code": refused.code,
        "help": refused.help,
    });
    let (parts, _) = refused.into_response().into_parts();
    let mut response = Json(body).into_response();
    *response.status_mut() = parts.status;
    if let Some(after) = parts.headers.get(RETRY_AFTER) {
        response.headers_mut().insert(RETRY_AFTER, after.clone());
    }
    response
}

async fn take_in(api: &Api, headers: &HeaderMap, body: Bytes) -> Result<String, Refusal> {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let is_cbor = |kind: &str| kind.trim().eq_ignore_ascii_case("application/cbor");
    if !kind.split(';').next().is_some_and(is_cbor) {
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
