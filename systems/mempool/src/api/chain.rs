//! The chain, pushed: whoever follows it tells every node, in order.

use axum::Json;
use axum::extract::State;
use keyplane_http::Refusal;
use serde::Deserialize;
use serde_json::{Value, json};

use super::look::read_hash;
use super::{Api, unread};
use crate::model::{Block, BlockHash, ChainEvent, Point};
use crate::run::Verdict;
use crate::state::{ConfirmError, Confirmed};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Forward {
    slot: u64,
    hash: String,
    height: u64,
    prev: String,
    txs: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Back {
    slot: u64,
    hash: String,
}

pub(super) async fn forward(
    State(api): State<Api>,
    Json(told): Json<Forward>,
) -> Result<Json<Value>, Refusal> {
    let block = Block {
        point: Point { slot: told.slot, hash: block_hash(&told.hash)? },
        height: told.height,
        prev: block_hash(&told.prev)?,
        txs: told.txs.iter().map(|text| read_hash(text)).collect::<Result<_, _>>()?,
    };
    apply(&api, ChainEvent::Forward(block)).await
}

pub(super) async fn back(State(api): State<Api>, Json(told): Json<Back>) -> Result<Json<Value>, Refusal> {
    apply(&api, ChainEvent::Back { to: Point { slot: told.slot, hash: block_hash(&told.hash)? } }).await
}

pub(super) async fn tip(State(api): State<Api>) -> Result<Json<Value>, Refusal> {
    let tip = api.node.pool().tip().await.map_err(|error| unread(&error))?;
    Ok(Json(match tip {
        Some(tip) => {
            json!({ "height": tip.height, "slot": tip.point.slot, "hash": tip.point.hash.to_string() })
        }
        None => Value::Null,
    }))
}

fn block_hash(text: &str) -> Result<BlockHash, Refusal> {
    text.parse().map_err(|error: crate::model::NotAHash| Refusal::bad_request(error.to_string()))
}

async fn apply(api: &Api, event: ChainEvent) -> Result<Json<Value>, Refusal> {
    let told = match api.node.confirm(&event).await {
        Ok(Verdict::Done(Confirmed::Applied { confirmed, finished })) => {
            json!({ "outcome": "applied", "confirmed": confirmed, "finished": finished })
        }
        Ok(Verdict::Done(Confirmed::Repeated)) => json!({ "outcome": "repeated" }),
        Ok(Verdict::Done(Confirmed::Undone { blocks, back, forgotten })) => json!({
            "outcome": "undone",
            "blocks": blocks,
            "pending_again": back,
            "forgotten": forgotten.iter().map(ToString::to_string).collect::<Vec<_>>(),
        }),
        Ok(Verdict::CaughtUp(events)) => json!({ "outcome": "caught_up", "events": events }),
        Ok(Verdict::Behind) => json!({
            "outcome": "kept",
            "why": "the pool has blocks above it that this node has not been told of",
        }),
        Ok(Verdict::Skipped) => json!({ "outcome": "kept", "why": "this node is not the watcher" }),
        Err(error) => return Err(refused(&error)),
    };
    Ok(Json(told))
}

fn refused(error: &ConfirmError) -> Refusal {
    match error {
        ConfirmError::NotNext { .. } => {
            Refusal::conflict("not_next", error.to_string()).help("send the blocks behind /api/tip first")
        }
        ConfirmError::TooFarBack { .. } => Refusal::conflict("too_far_back", error.to_string())
            .help("go back to a block that was applied here"),
        ConfirmError::NotCountable(error) => Refusal::bad_request(error.to_string()),
        ConfirmError::Read(error) => unread(error),
        error => Refusal::unavailable(error.to_string(), super::AGAIN),
    }
}
