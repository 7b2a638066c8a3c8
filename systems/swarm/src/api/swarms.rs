//! Operations on a swarm as a whole.

use axum::http::Method;
use serde_json::{Value, json};

use super::args::Args;
use super::kind::{COUNT, Kind, SHARE, SWARM};
use super::op::Op;
use super::param::Param;
use super::{Desk, Refused, told};
use crate::keys::SwarmId;
use crate::model::{Mode, Strategy};
use crate::state::{NewSwarm, OpError, SwarmChange};

/// The swarm that everything in it is named with.
pub(super) const IN_SWARM: Param = Param::subject("swarm", SWARM, "The swarm's id.", "swarm_abc123def456");

/// Who does it.
pub(super) const BY: Param =
    Param::with_default("by", Kind::Text(100), "coordinator", "Who does it, for the log of events.", "alice");

/// The version that a change was made for.
pub(super) const EXPECTED: Param =
    Param::optional("expected", COUNT, "Only if it is at this version; else `conflict`.", "3");

/// What it is for: the contract's layout is a few fields of text.
const OBJECTIVE: Kind = Kind::Object(64 * 1024);
const OBJECTIVE_DOC: &str = "What the swarm is for: `description` (at most 1000 characters), `type` (feature, bugfix, research, \
                             testing, documentation, architecture, security) and `priority` (low, medium, high, critical).";
const OBJECTIVE_EXAMPLE: &str = r#"{"description":"Log people in","type":"feature","priority":"high"}"#;

/// Statuses that are set; `completed` and `recovering` have operations of their own.
const SETTABLE: &[&str] = &["running", "paused", "failed"];

pub(super) static OPS: &[Op] = &[
    Op {
        name: "swarm_create",
        words: &["create"],
        method: Method::POST,
        path: "/api/swarms",
        summary: "Create a swarm",
        promise: "It is `initializing`: register agents, then set it running with swarm_update. Answers its version.",
        params: &[
            Param::subject(
                "swarm",
                SWARM,
                "Its id: `swarm_` and 8 to 32 letters, digits or `_`.",
                "swarm_abc123def456",
            ),
            Param::required("objective", OBJECTIVE, OBJECTIVE_DOC, OBJECTIVE_EXAMPLE),
            Param::with_default(
                "strategy",
                Kind::OneOf(Strategy::WORDS),
                "development",
                "What it does.",
                "research",
            ),
            Param::with_default(
                "mode",
                Kind::OneOf(Mode::WORDS),
                "hierarchical",
                "How its agents are arranged.",
                "mesh",
            ),
            BY,
        ],
        carry: |desk, args| Box::pin(create(desk, args)),
    },
    Op {
        name: "swarm_update",
        words: &["update"],
        method: Method::PATCH,
        path: "/api/swarms/{swarm}",
        summary: "Change a swarm: its status, confidence or objective",
        promise: "All of it or nothing, in one step. With `expected` it is refused when another change came first. Answers \
                  the new version.",
        params: &[
            IN_SWARM,
            Param::optional("status", Kind::OneOf(SETTABLE), "What it is to become.", "running"),
            Param::optional("confidence", SHARE, "Overall confidence, 0 to 1.", "0.8"),
            Param::optional("objective", OBJECTIVE, OBJECTIVE_DOC, OBJECTIVE_EXAMPLE),
            EXPECTED,
            Param::optional(
                "fence",
                Kind::Text(100),
                "Only while this fence, told by lock_take, is that of the lock; else `fenced`.",
                "1736332230000:6f1c2d3e4a5b60718293a4b5c6d7e8f9",
            ),
            BY,
        ],
        carry: |desk, args| Box::pin(update(desk, args)),
    },
    Op {
        name: "swarm_complete",
        words: &["complete"],
        method: Method::POST,
        path: "/api/swarms/{swarm}/complete",
        summary: "End a running swarm",
        promise: "Refused while a task waits, is blocked or is under way. What has ended takes no changes any more.",
        params: &[IN_SWARM, BY],
        carry: |desk, args| Box::pin(complete(desk, args)),
    },
    Op {
        name: "swarm_status",
        words: &["status"],
        method: Method::GET,
        path: "/api/swarms/{swarm}",
        summary: "A swarm with its agents and tasks",
        promise: "As of one moment. A look is not activity: it does not keep a swarm alive.",
        params: &[
            IN_SWARM,
            Param::optional("brief", Kind::Flag, "Leave the lists of agents and tasks out.", "true"),
        ],
        carry: |desk, args| Box::pin(status(desk, args)),
    },
    Op {
        name: "swarm_keys",
        words: &["keys"],
        method: Method::GET,
        path: "/api/swarms/{swarm}/keys",
        summary: "The keys of a swarm in the store",
        promise: "With family, type and time to live in seconds; none is a key without an end. Found through the header and the \
                  rosters, never by a scan. A look is not activity.",
        params: &[IN_SWARM],
        carry: |desk, args| Box::pin(keys(desk, args)),
    },
];

async fn keys(desk: &Desk, args: &Args) -> Result<Value, Refused> {
    let swarm: SwarmId = args.id("swarm")?;
    let held = desk.swarms.keys(&swarm).await?;
    if held.is_empty() {
        return Err(OpError::NoSwarm { swarm: swarm.to_string() }.into());
    }
    let keys: Vec<Value> = held
        .iter()
        .map(|held| {
            let seconds = held.lives.map(|lives| lives.as_secs());
            json!({ "key": held.key, "family": held.family, "type": held.kind, "ttl": seconds })
        })
        .collect();
    Ok(json!({ "swarm": swarm.as_str(), "keys": keys }))
}

async fn create(desk: &Desk, args: &Args) -> Result<Value, Refused> {
    let new = NewSwarm {
        id: args.id("swarm")?,
        strategy: args.word("strategy")?,
        mode: args.word("mode")?,
        objective: args.json("objective")?,
    };
    Ok(told::done(desk.swarms.create(&new, args.by()).await?))
}

async fn update(desk: &Desk, args: &Args) -> Result<Value, Refused> {
    let change = SwarmChange {
        expected: args.whole_if("expected"),
        status: args.word_if("status")?,
        confidence: args.number_if("confidence"),
        objective: args.json_if("objective"),
        fence: args.text_if("fence").map(str::to_owned),
        ..SwarmChange::default()
    };
    if change.status.is_none() && change.confidence.is_none() && change.objective.is_none() {
        return Err(Refused::nothing_to_change("status, confidence, objective"));
    }
    Ok(told::done(desk.swarms.update(&args.id("swarm")?, &change, args.by()).await?))
}

async fn complete(desk: &Desk, args: &Args) -> Result<Value, Refused> {
    Ok(told::done(desk.swarms.complete(&args.id("swarm")?, args.by()).await?))
}

async fn status(desk: &Desk, args: &Args) -> Result<Value, Refused> {
    let swarm: SwarmId = args.id("swarm")?;
    match desk.swarms.read(&swarm).await? {
        Some(view) => Ok(told::view(swarm.as_str(), &view, args.flag("brief"))),
        None => Err(OpError::NoSwarm { swarm: swarm.to_string() }.into()),
    }
}
