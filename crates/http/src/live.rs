//! Live events: server-sent events that a client resumes where it was cut off.
//!
//! - A reconnecting client says which event it saw last; [`Live::last_id`] gives that to the handler, which goes on after it.
//! - A comment every 15 s keeps proxies from closing a quiet stream, and finds clients that are gone.
//! - A stream ends when its events do, and when the server stops. A browser connects again by itself after a second.
//!
//! What it does not: it keeps no events. Whether none is missed after a reconnect rests on the stream that is handed in.

use std::convert::Infallible;
use std::future::{Future, pending};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::FromRequestParts;
use axum::http::HeaderName;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::request::Parts;
use axum::response::{IntoResponse as _, Response};
use futures_core::Stream;
use serde_json::Value;
use tokio::time::{Interval, MissedTickBehavior, interval};

use crate::server::Stopping;

/// Proxies commonly close what is quiet for 30 to 60 s.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Sent first: browsers differ in how soon they come back.
const OPENING: &str = "retry: 1000\n\n";

/// One event.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    id: Option<String>,
    name: String,
    data: Value,
}

impl Event {
    /// An event. Control characters in id and name are dropped: a newline there would begin a field of its own.
    pub fn new(id: impl Into<String>, name: impl Into<String>, data: Value) -> Self {
        Self { id: Some(plain(id.into())), ..Self::beside(name, data) }
    }

    /// One that is no place to go on behind: a client that is cut off after it comes back to the event before.
    pub fn beside(name: impl Into<String>, data: Value) -> Self {
        Self { id: None, name: plain(name.into()), data }
    }

    /// JSON on one line holds no newline, so one `data` field is enough.
    fn frame(&self) -> Bytes {
        let id = self.id.as_ref().map_or_else(String::new, |id| format!("id: {id}\n"));
        Bytes::from(format!("{id}event: {}\ndata: {}\n\n", self.name, self.data))
    }
}

fn plain(mut text: String) -> String {
    text.retain(|letter| !letter.is_control());
    text
}

/// A request for live events. An extractor; a handler takes it and answers with [`Live::events`].
#[derive(Debug)]
pub struct Live {
    last_id: Option<String>,
    stopping: Option<Stopping>,
}

impl Live {
    /// The last event that the client saw before it was cut off.
    #[must_use]
    pub fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref()
    }

    /// The answer: these events as they come.
    pub fn events(self, events: impl Stream<Item = Event> + Send + 'static) -> Response {
        let mut beat = interval(KEEP_ALIVE);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // An interval's first tick is at once, and the opening is sent then.
        beat.reset();
        let stopping = self.stopping;
        let stop = async move {
            match stopping {
                Some(mut stopping) => stopping.wait().await,
                None => pending().await,
            }
        };
        let frames = Frames { opened: false, events: Box::pin(events), beat, stop: Box::pin(stop) };
        let headers = [
            (CONTENT_TYPE, "text/event-stream"),
            (CACHE_CONTROL, "no-cache"),
            // nginx would collect events until its buffer is full.
            (HeaderName::from_static("x-accel-buffering"), "no"),
        ];
        (headers, Body::from_stream(frames)).into_response()
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Live {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let last_id = parts.headers.get("last-event-id").and_then(|id| id.to_str().ok());
        Ok(Self {
            last_id: last_id.filter(|id| !id.is_empty()).map(str::to_owned),
            stopping: parts.extensions.get::<Stopping>().cloned(),
        })
    }
}

struct Frames<S> {
    opened: bool,
    events: Pin<Box<S>>,
    beat: Interval,
    stop: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl<S: Stream<Item = Event>> Stream for Frames<S> {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if !self.opened {
            self.opened = true;
            return Poll::Ready(Some(Ok(Bytes::from_static(OPENING.as_bytes()))));
        }
        // First, so that a stream which always has an event does not outrun the stop.
        if self.stop.as_mut().poll(context).is_ready() {
            return Poll::Ready(None);
        }
        if let Poll::Ready(event) = self.events.as_mut().poll_next(context) {
            self.beat.reset();
            return Poll::Ready(event.map(|event| Ok(event.frame())));
        }
        ready!(self.beat.poll_tick(context));
        Poll::Ready(Some(Ok(Bytes::from_static(b": still here\n\n"))))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::future::poll_fn;

    use serde_json::json;
    use tokio::time::Instant;

    use super::*;

    /// Gives what it has, then waits for ever.
    struct Told(VecDeque<Event>);

    impl Stream for Told {
        type Item = Event;

        fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Event>> {
            self.0.pop_front().map_or(Poll::Pending, |event| Poll::Ready(Some(event)))
        }
    }

    async fn next(stream: &mut axum::body::BodyDataStream) -> Option<String> {
        let frame = poll_fn(|context| Pin::new(&mut *stream).poll_next(context)).await?;
        Some(String::from_utf8(frame.unwrap().to_vec()).unwrap())
    }

    fn open(stopping: Option<Stopping>, events: Vec<Event>) -> axum::body::BodyDataStream {
        let live = Live { last_id: None, stopping };
        live.events(Told(events.into())).into_body().into_data_stream()
    }

    #[test]
    fn an_event_cannot_forge_another() {
        let event = Event::new("1\ndata: x", "note\r\n\nid: 9", json!("line\nline"));
        assert_eq!(event.frame(), "id: 1data: x\nevent: noteid: 9\ndata: \"line\\nline\"\n\n");
        assert_eq!(Event::beside("no\nte", json!(1)).frame(), "event: note\ndata: 1\n\n");
    }

    #[tokio::test(start_paused = true)]
    async fn a_quiet_stream_is_kept_alive() {
        let mut stream = open(None, vec![Event::new("1", "note", json!({"a": 1}))]);
        assert_eq!(next(&mut stream).await.unwrap(), "retry: 1000\n\n");
        assert_eq!(next(&mut stream).await.unwrap(), "id: 1\nevent: note\ndata: {\"a\":1}\n\n");
        let start = Instant::now();
        for beats in 1..=3 {
            assert_eq!(next(&mut stream).await.unwrap(), ": still here\n\n");
            assert_eq!(start.elapsed().as_secs(), 15 * beats, "of virtual time");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_stop_ends_a_stream_that_still_has_events() {
        let (stop, stopping) = Stopping::pair();
        let event = Event::new("1", "note", json!(1));
        let mut stream = open(Some(stopping), vec![event.clone(), event]);
        assert!(next(&mut stream).await.is_some());
        assert!(next(&mut stream).await.is_some());
        stop.send(true).unwrap();
        assert_eq!(next(&mut stream).await, None);
    }
}
