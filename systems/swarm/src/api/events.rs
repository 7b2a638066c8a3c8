//! What happens in a swarm: read in batches here, and live over HTTP.

use std::time::Duration;

use axum::http::Method;
use keyplane_kit::events::{EventId, Position};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::args::Args;
use super::kind::Kind;
use super::op::Op;
use super::param::Param;
use super::swarms::IN_SWARM;
use super::told::{self, Told};
use super::{Desk, Refused};
use crate::keys::SwarmId;
use crate::state::OpError;

/// The one operation that can be followed.
pub(super) const NAME: &str = "swarm_events";

/// Events that wait for a slow client; what comes after them waits in the store.
pub(super) const AHEAD: usize = 64;

/// How long one question of a live stream waits for something new.
const WAIT: Duration = Duration::from_secs(10);

/// What a store that is away is given to come back.
const PAUSE: Duration = Duration::from_millis(500);

pub(super) static OPS: &[Op] = &[Op {
    name: NAME,
    words: &["events"],
    method: Method::GET,
    path: "/api/swarms/{swarm}/events",
    summary: "What happened in a swarm",
    promise: "Every change in order, none twice; what is gone from the log is told as a gap. Ask again with `after` = `next`. Over HTTP \
              it is a live stream, unless the header Accept asks for application/json.",
    params: &[
        IN_SWARM,
        Param::with_default(
            "after",
            Kind::Text(50),
            "0-0",
            "Begin behind this event; 0-0 is the beginning.",
            "0-41",
        ),
        Param::with_default("most", Kind::Whole(1, 1000), "100", "At most so many.", "10"),
        Param::with_default("wait", Kind::Time(20), "0s", "Wait so long for the first one.", "10s"),
    ],
    carry: |desk, args| Box::pin(read(desk, args)),
}];

async fn read(desk: &Desk, args: &Args) -> Result<Value, Refused> {
    let swarm: SwarmId = args.id("swarm")?;
    let (after, most, wait) =
        (position("after", args.text("after")?)?, args.whole("most")?, args.time("wait")?);
    let events = desk.swarms.events(&swarm);
    let batch = match wait.is_zero() {
        true => events.read(after, most).await?,
        false => events.tail(after).next(most, wait).await?,
    };
    if batch.events.is_empty() && !desk.swarms.is_there(&swarm).await? {
        return Err(OpError::NoSwarm { swarm: swarm.to_string() }.into());
    }
    let next = match batch.next {
        Position::Beginning => "0-0".to_owned(),
        Position::After(id) => id.to_string(),
    };
    let told: Vec<Value> = told::batch(&batch).into_iter().map(|(_, _, told)| told).collect();
    Ok(json!({ "events": told, "next": next }))
}

/// A place in the log, as callers spell it.
pub(super) fn position(name: &str, text: &str) -> Result<Position, Refused> {
    match text {
        "0-0" | "0" => Ok(Position::Beginning),
        id => id.parse::<EventId>().map(Position::After).map_err(|error| Refused::bad_argument(name, &error)),
    }
}

/// Where a live stream begins when it is not said: with what comes next.
pub(super) async fn end(desk: &Desk, swarm: &SwarmId) -> Result<Position, Refused> {
    match desk.swarms.is_there(swarm).await? {
        true => Ok(desk.swarms.events(swarm).end().await?),
        false => Err(OpError::NoSwarm { swarm: swarm.to_string() }.into()),
    }
}

/// Tells every event, with its id and kind, until nobody listens any more.
pub(super) async fn follow(desk: Desk, swarm: SwarmId, position: Position, tell: mpsc::Sender<Told>) {
    let events = desk.swarms.events(&swarm);
    let mut tail = events.tail(position);
    while !tell.is_closed() {
        let Ok(batch) = tail.next(AHEAD as u64, WAIT).await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        for told in told::batch(&batch) {
            if tell.send(told).await.is_err() {
                return;
            }
        }
    }
}
