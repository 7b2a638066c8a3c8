//! Every change of a stage, live.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::extract::State;
use axum::response::Response;
use futures_core::Stream;
use keyplane_http::live::Event;
use keyplane_http::{Live, Refusal};
use keyplane_kit::events::{EventId, Position};
use tokio::sync::mpsc;

use super::{Api, away};
use crate::state::{Change, Pool};
use crate::told;

/// Events that wait for a slow client; what comes after them waits in the store.
pub(super) const AHEAD: usize = 64;

/// How long one question waits for something new.
pub(super) const WAIT: Duration = Duration::from_secs(10);

/// What a store that is away is given to come back.
pub(super) const PAUSE: Duration = Duration::from_millis(500);

pub(super) async fn events(State(api): State<Api>, live: Live) -> Result<Response, Refusal> {
    let pool = api.node.pool().clone();
    let position = match live.last_id() {
        Some("0-0" | "0") => Position::Beginning,
        Some(id) => id
            .parse::<EventId>()
            .map(Position::After)
            .map_err(|error| Refusal::bad_request(format!("Last-Event-ID: {error}")))?,
        None => pool.events().end().await.map_err(|error| away(&error))?,
    };
    let (tell, told) = mpsc::channel(AHEAD);
    tokio::spawn(follow(pool, position, tell));
    Ok(live.events(Told(told)))
}

/// Until the client is gone.
async fn follow(pool: Pool, position: Position, tell: mpsc::Sender<Event>) {
    let events = pool.events();
    let mut tail = events.tail(position);
    while !tell.is_closed() {
        let Ok(batch) = tail.next(AHEAD as u64, WAIT).await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        for (place, event) in batch.events.iter().enumerate() {
            for (_, gap) in batch.gaps.iter().filter(|(before, _)| *before == place) {
                if tell.send(Event::beside("gap", told::gap(*gap))).await.is_err() {
                    return;
                }
            }
            let Some(change) = Change::read(event) else { continue };
            if tell.send(Event::new(event.id.to_string(), "stage", told::change(&change))).await.is_err() {
                return;
            }
        }
    }
}

/// What a task tells, as a stream.
pub(super) struct Told<T>(pub(super) mpsc::Receiver<T>);

impl<T> Stream for Told<T> {
    type Item = T;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        self.0.poll_recv(context)
    }
}
