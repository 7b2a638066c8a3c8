//! What is done for every request: a limit, an answer whatever happens, one shape of errors, and a count.

use std::any::Any;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use axum::body::to_bytes;
use axum::extract::{MatchedPath, Request, State};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, TRANSFER_ENCODING};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use tokio::time::{Instant, timeout};

use crate::refusal::Refusal;
use crate::requests::Requests;

/// More than any message that axum writes.
const MESSAGE_MOST: usize = 8 * 1024;

#[derive(Debug, Clone)]
pub(crate) struct Tended {
    pub(crate) within: Duration,
    pub(crate) requests: Arc<Requests>,
}

/// Stands around every route and the fallback. The limit is for the head of the answer: what streams is not cut.
pub(crate) async fn tend(State(tended): State<Tended>, request: Request, next: Next) -> Response {
    let Tended { within, requests } = tended;
    let start = Instant::now();
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let answer = caught(async { shaped(&method, next.run(request).await).await });
    let mut response = match timeout(within, answer).await {
        Ok(Ok(response)) => response,
        Ok(Err(panic)) => Refusal::internal(words(&*panic)).into_response(),
        Err(_) => late(within).into_response(),
    };
    let path = route.as_ref().map_or("(none)", MatchedPath::as_str);
    requests.answered(&method, path, response.status(), start.elapsed());
    // Who answered: `openapi::unanswered` asks.
    if let Some(route) = route {
        response.extensions_mut().insert(route);
    }
    response
}

fn late(within: Duration) -> Refusal {
    Refusal::unavailable(
        format!("no answer within {within:?}; the request may have been applied"),
        Duration::from_secs(1),
    )
    .code("timed_out")
    .help("look whether it was applied, then try again")
}

/// Errors that are plain text, as axum and its extractors write them, in the common body. Other media types are left
/// alone: protocols such as JSON-RPC bring errors of their own.
async fn shaped(method: &Method, response: Response) -> Response {
    let status = response.status();
    let plain = match response.headers().get(CONTENT_TYPE) {
        Some(media) => media.as_bytes().starts_with(b"text/"),
        None => true,
    };
    if !plain || !(status.is_client_error() || status.is_server_error()) {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let said = to_bytes(body, MESSAGE_MOST).await.unwrap_or_default();
    let said = String::from_utf8_lossy(&said);
    let message = match (status, said.trim()) {
        (StatusCode::METHOD_NOT_ALLOWED, _) => format!("{method} is not possible here"),
        (_, "") => status.canonical_reason().unwrap_or("the request failed").to_owned(),
        (_, said) => said.to_owned(),
    };
    let mut shaped = Refusal::new(status, message).into_response();
    // What else the answer says, such as Allow, stays.
    for header in [CONTENT_TYPE, CONTENT_LENGTH, TRANSFER_ENCODING] {
        parts.headers.remove(header);
    }
    shaped.headers_mut().extend(parts.headers);
    shaped
}

/// A handler that panics costs its caller an answer and nobody else anything.
async fn caught<F: Future>(future: F) -> Result<F::Output, Box<dyn Any + Send>> {
    let mut future = pin!(future);
    poll_fn(|context| {
        // What the future touched is dropped with it; what it shares with others is behind locks that know of panics.
        match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
            Ok(Poll::Ready(output)) => Poll::Ready(Ok(output)),
            Ok(Poll::Pending) => Poll::Pending,
            Err(panic) => Poll::Ready(Err(panic)),
        }
    })
    .await
}

fn words(panic: &(dyn Any + Send)) -> String {
    let words =
        panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("a handler panicked: {}", words.unwrap_or("without words"))
}
