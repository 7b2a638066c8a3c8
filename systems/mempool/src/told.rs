//! The pool in JSON, the same over HTTP and on the command line.

use keyplane_kit::events::Gap;
use serde_json::{Value, json};

use crate::model::{Point, Stage, Status, TxHash};
use crate::state::Change;

/// A transaction that the pool knows.
#[must_use]
pub fn status(hash: &TxHash, status: &Status) -> Value {
    json!({
        "hash": hash.to_string(),
        "stage": status.stage.word(),
        "confirmations": status.confirmations,
        "non_confirmations": status.non_confirmations,
        "confirmed_at": status.confirmed_at.as_ref().map(point),
        "version": status.version,
    })
}

/// A place on the chain.
#[must_use]
pub fn point(point: &Point) -> Value {
    json!({ "slot": point.slot, "hash": point.hash.to_string() })
}

/// A change of a stage.
#[must_use]
pub fn change(change: &Change) -> Value {
    json!({
        "id": change.id.to_string(),
        "hash": change.hash.to_string(),
        "stage": change.stage.word(),
        "from": change.from.map(Stage::word),
        "version": change.version,
        "height": change.height,
        "reason": change.reason,
        "by": change.by,
        "at": change.at,
    })
}

/// What a reader of the events did not see.
#[must_use]
pub fn gap(gap: Gap) -> Value {
    match gap {
        Gap::Missed(count) => json!({ "gap": "missed", "events": count }),
        Gap::Restarted => json!({ "gap": "restarted", "events": null }),
    }
}
