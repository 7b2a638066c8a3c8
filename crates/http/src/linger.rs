//! A refused upload still hears why.
//!
//! When a server answers before it has read the whole body and closes, the system resets the connection, and the reset can
//! overtake the answer: the client sees a broken pipe instead of `413`. So what still comes is read and thrown away for a
//! moment. A client that sends for longer than that without listening may still be reset.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, BodyDataStream, Bytes, HttpBody as _};
use axum::extract::Request;
use axum::http::header::EXPECT;
use axum::middleware::Next;
use axum::response::Response;
use futures_core::Stream;
use tokio::time::timeout;

/// Time for an answer to reach the other side of the world; shorter than the grace of a stop.
const MOMENT: Duration = Duration::from_secs(2);

/// Stands before everything else, because everything else may refuse.
pub(crate) async fn linger(request: Request, next: Next) -> Response {
    if request.body().is_end_stream() {
        return next.run(request).await;
    }
    let asks_first = request.headers().contains_key(EXPECT);
    let (parts, body) = request.into_parts();
    let coming = Coming { body: body.into_data_stream(), begun: false, ended: false };
    let coming = Arc::new(Mutex::new(coming));
    let lent = Body::from_stream(Lent(Arc::clone(&coming)));
    let response = next.run(Request::from_parts(parts, lent)).await;
    // A handler may have passed the body on; then whoever has it reads it.
    if let Some(coming) = Arc::into_inner(coming) {
        let mut coming = coming.into_inner().unwrap_or_else(PoisonError::into_inner);
        // Whoever asks before sending, and was not told to go on, sends nothing.
        let sends = coming.begun || !asks_first;
        if sends && !coming.ended {
            tokio::spawn(timeout(MOMENT, async move {
                while let Some(Ok(_)) = poll_fn(|context| coming.poll(context)).await {}
            }));
        }
    }
    response
}

struct Coming {
    body: BodyDataStream,
    begun: bool,
    ended: bool,
}

impl Coming {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, axum::Error>>> {
        self.begun = true;
        let next = ready!(Pin::new(&mut self.body).poll_next(context));
        self.ended = !matches!(next, Some(Ok(_)));
        Poll::Ready(next)
    }
}

/// The body as handlers see it. It comes back when they drop it.
struct Lent(Arc<Mutex<Coming>>);

impl Stream for Lent {
    type Item = Result<Bytes, axum::Error>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).poll(context)
    }
}
