//! The routes in words.

use axum::http::StatusCode;
use keyplane_http::Operation;
use keyplane_http::operation::Place;
use serde_json::{Value, json};

const JSON: &str = "application/json";

fn hash() -> Value {
    json!({ "type": "string", "pattern": "^[0-9a-f]{64}$" })
}

fn number() -> Value {
    json!({ "type": "integer", "minimum": 0 })
}

fn object(names: &[&str]) -> Value {
    json!({ "type": "object", "required": names })
}

pub(super) fn operations() -> Vec<Operation> {
    let mut all: Vec<Operation> = vec![
        submitting(
            "/api/submit/tx",
            StatusCode::ACCEPTED,
            "Submit a transaction, as to cardano-submit-api",
            |told, status, why| told.refuses(status, why),
        ),
        submitting(
            "/tx/submit",
            StatusCode::OK,
            "Submit a transaction, as to Blockfrost",
            |told, status, why| told.answers(status, why, JSON, blockfrost_error()),
        ),
    ];
    all.extend(asking());
    all.extend(following());
    all
}

/// What a door for transactions refuses, and why.
const REFUSALS: [(StatusCode, &str); 6] = [
    (StatusCode::BAD_REQUEST, "No transaction; the message says why."),
    (StatusCode::CONFLICT, "`duplicate`: the pool has it. `conflict`: another one spends the same input."),
    (StatusCode::PAYLOAD_TOO_LARGE, "Longer than any block could hold."),
    (StatusCode::UNSUPPORTED_MEDIA_TYPE, "Not application/cbor."),
    (StatusCode::TOO_MANY_REQUESTS, "The pool is full; the message says which limit."),
    (StatusCode::SERVICE_UNAVAILABLE, "The store is away. Sending it again is safe."),
];

fn submitting(
    path: &str,
    accepted: StatusCode,
    summary: &str,
    refuses: fn(Operation, StatusCode, &'static str) -> Operation,
) -> Operation {
    let operation = Operation::post(path, summary)
        .takes("application/cbor", json!({ "type": "string", "contentMediaType": "application/cbor" }))
        .answers(accepted, "Accepted: the id of the transaction.", JSON, hash());
    REFUSALS.into_iter().fold(operation, |told, (status, why)| refuses(told, status, why))
}

/// A refusal as Blockfrost's clients read it, and our code and help beside it.
fn blockfrost_error() -> Value {
    let text = json!({ "type": "string" });
    json!({
        "type": "object",
        "required": ["status_code", "error", "message", "code", "help"],
        "properties": {
            "status_code": number(), "error": text, "message": text, "code": text, "help": text,
        },
    })
}

fn asking() -> Vec<Operation> {
    let page = |operation: Operation| {
        operation.parameter(Place::Query, "limit", "At most so many; 1000 at most.", number())
    };
    vec![
        Operation::get("/api/tx/{hash}", "Where a transaction is")
            .parameter(Place::Path, "hash", "Its id.", hash())
            .answers(
                StatusCode::OK,
                "Stage, depth and block.",
                JSON,
                object(&["hash", "stage", "confirmations"]),
            )
            .refuses(StatusCode::NOT_FOUND, "The pool does not know it."),
        page(Operation::get("/api/pending", "The oldest pending transactions, in the order of the queue"))
            .answers(StatusCode::OK, "Ids and bytes.", JSON, object(&["items"])),
        page(Operation::get("/api/finalized", "Finished transactions"))
            .parameter(Place::Query, "cursor", "The number to begin with.", number())
            .answers(
                StatusCode::OK,
                "A page; `trimmed_to` says that entries before it are gone.",
                JSON,
                object(&["items", "next_cursor", "trimmed_to"]),
            ),
        Operation::get("/api/leader", "Which node applies the chain").answers(
            StatusCode::OK,
            "Its id and its lock.",
            JSON,
            object(&["watcher", "this_node"]),
        ),
        Operation::get("/api/tip", "The last applied block").answers(
            StatusCode::OK,
            "Height, slot and hash; null before the first one.",
            JSON,
            json!({ "type": ["object", "null"] }),
        ),
        Operation::get("/api/events", "Every change of a stage, on every node").streams(
            "Events `stage`; `gap` where some are gone. `Last-Event-ID: 0-0` begins with the oldest.",
        ),
    ]
}

fn following() -> Vec<Operation> {
    let hashes = json!({ "type": "array", "items": hash() });
    let block = json!({
        "type": "object",
        "required": ["slot", "hash", "height", "prev", "txs"],
        "properties": { "slot": number(), "hash": hash(), "height": number(), "prev": hash(), "txs": hashes },
    });
    let point = json!({
        "type": "object",
        "required": ["slot", "hash"],
        "properties": { "slot": number(), "hash": hash() },
    });
    let told = |operation: Operation| {
        operation
            .answers(
                StatusCode::OK,
                "What became of it: applied, repeated, undone, caught_up or kept.",
                JSON,
                object(&["outcome"]),
            )
            .refuses(StatusCode::CONFLICT, "`not_next`, `too_far_back`: blocks between are missing.")
            .refuses(
                StatusCode::SERVICE_UNAVAILABLE,
                "The store is away. The event is kept and applied later.",
            )
    };
    vec![
        told(Operation::post("/api/chain/forward", "The chain grew by a block").takes(JSON, block)),
        told(
            Operation::post("/api/chain/back", "Blocks were undone: this one is the tip again")
                .takes(JSON, point),
        ),
    ]
}
