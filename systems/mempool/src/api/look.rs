//! What can be asked.

use axum::Json;
use axum::extract::{Path, Query, State};
use keyplane_http::Refusal;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Api, unread};
use crate::model::TxHash;
use crate::told;

/// Of a page, unless it is said.
const PAGE: u32 = 100;

/// Of a page, whatever is said.
const MOST: u32 = 1000;

pub(super) async fn status(State(api): State<Api>, Path(hash): Path<String>) -> Result<Json<Value>, Refusal> {
    let hash = read_hash(&hash)?;
    let status = api.node.pool().check_status(&hash).await.map_err(|error| unread(&error))?;
    status.map(|status| Json(told::status(&hash, &status))).ok_or_else(|| {
        Refusal::not_found(format!("the pool does not know {hash}"))
            .help("it may have been trimmed, or never sent here")
    })
}

pub(super) fn read_hash(text: &str) -> Result<TxHash, Refusal> {
    text.parse().map_err(|error: crate::model::NotAHash| Refusal::bad_request(error.to_string()))
}

#[derive(Deserialize)]
pub(super) struct Paging {
    cursor: Option<u64>,
    limit: Option<u32>,
}

impl Paging {
    fn limit(&self) -> u32 {
        self.limit.unwrap_or(PAGE).clamp(1, MOST)
    }
}

pub(super) async fn pending(
    State(api): State<Api>,
    Query(paging): Query<Paging>,
) -> Result<Json<Value>, Refusal> {
    let pending =
        api.node.pool().peek_pending(paging.limit().into()).await.map_err(|error| unread(&error))?;
    let item = |one: &crate::state::Pending| {
        let payload = one.payload.as_ref();
        json!({
            "hash": one.hash.to_string(),
            "era": payload.map(|payload| payload.era),
            "cbor": payload.map(|payload| hex::encode(&payload.bytes)),
        })
    };
    Ok(Json(json!({ "items": pending.iter().map(item).collect::<Vec<_>>() })))
}

pub(super) async fn finalized(
    State(api): State<Api>,
    Query(paging): Query<Paging>,
) -> Result<Json<Value>, Refusal> {
    let cursor = paging.cursor.unwrap_or_default();
    let page =
        api.node.pool().dump_finalized(cursor, paging.limit()).await.map_err(|error| unread(&error))?;
    let item = |item: &crate::state::Finished| {
        let entry = &item.entry;
        json!({
            "seq": item.seq,
            "hash": entry.hash.to_string(),
            "stage": entry.stage.word(),
            "confirmations": item.confirmations,
            "non_confirmations": entry.non_confirmations,
            "confirmed_at": entry.confirmed_at.as_ref().map(told::point),
        })
    };
    Ok(Json(json!({
        "items": page.items.iter().map(item).collect::<Vec<_>>(),
        "next_cursor": page.next_cursor,
        "trimmed_to": page.trimmed_to,
    })))
}

pub(super) async fn leader(State(api): State<Api>) -> Result<Json<Value>, Refusal> {
    let pulse = api.node.pool().pulse().await.map_err(|error| unread(&error))?;
    Ok(Json(json!({
        "watcher": pulse.watcher,
        "this_node": api.node.pool().node_id(),
        "lock_left_ms": pulse.lock_left.map(|left| left.as_millis() as u64),
        "term": pulse.term,
        "terms": pulse.terms,
    })))
}
