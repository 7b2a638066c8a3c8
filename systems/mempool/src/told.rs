//! The pool in JSON, the same over HTTP and on the command line.

use keyplane_kit::events::{Event, Gap};
use serde_json::{Value, json};

use crate::model::{Point, Status, TxHash};

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
pub fn event(event: &Event) -> Value {
    let word = |field| event.text(field);
    let number = |field| word(field).and_then(|text| text.parse::<u64>().ok());
    json!({
        "id": event.id.to_string(),
        "hash": word("hash"),
        "stage": word("stage"),
        "from": word("from"),
        "version": number("version"),
        "height": number("height"),
        "reason": word("reason"),
        "by": word("by"),
        "at": number("at"),
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
