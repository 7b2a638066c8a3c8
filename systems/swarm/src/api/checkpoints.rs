//! Operations on checkpoints, and recovery.

use axum::http::Method;
use keyplane_kit::blob::Codec;
use keyplane_kit::checkpoint::{Difference, Retention};
use serde_json::{Map, Value, json};

use super::args::Args;
use super::kind::{CHECKPOINT, Kind, SWARM};
use super::op::Op;
use super::param::Param;
use super::swarms::{BY, IN_SWARM};
use super::{Desk, Refused};
use crate::keys::{CheckpointId, SwarmId};
use crate::state::{Checkpoint, CheckpointOptions, Export, From, MOST_EXPORT, OpError, Recovered};

const OF_CHECKPOINT: Param =
    Param::subject("checkpoint", CHECKPOINT, "The checkpoint's id.", "checkpoint_00000042");

/// An exported checkpoint: whatever is exported is taken.
const EXPORT: Kind = Kind::Object(MOST_EXPORT);

pub(super) static OPS: &[Op] = &[
    Op {
        name: "checkpoint_create",
        words: &["checkpoint", "create"],
        method: Method::POST,
        path: "/api/swarms/{swarm}/checkpoints",
        summary: "Save the state of a swarm",
        promise: "As of one moment, and only what changed since the checkpoint before; a full one from time to time. It lives \
                  seven days; where a keeper runs, one without a label may be thinned out after an hour.",
        params: &[
            IN_SWARM,
            Param::optional("label", Kind::Text(200), "What it is called, in words.", "before the merge"),
            Param::optional("full", Kind::Flag, "Save everything, whatever came before.", "true"),
            Param::with_default(
                "codec",
                Kind::OneOf(&["zstd", "gzip", "plain"]),
                "zstd",
                "How it is encoded.",
                "gzip",
            ),
            BY,
        ],
        carry: |desk, args| Box::pin(create(desk, args)),
    },
    Op {
        name: "checkpoint_list",
        words: &["checkpoint", "list"],
        method: Method::GET,
        path: "/api/swarms/{swarm}/checkpoints",
        summary: "The checkpoints of a swarm",
        promise: "Oldest first. They outlive their swarm.",
        params: &[IN_SWARM],
        carry: |desk, args| Box::pin(list(desk, args)),
    },
    Op {
        name: "checkpoint_diff",
        words: &["checkpoint", "diff"],
        method: Method::GET,
        path: "/api/swarms/{swarm}/checkpoints/{checkpoint}/diff/{to}",
        summary: "What differs between two checkpoints",
        promise: "Both are verified. Records that were added, removed or changed, and in which fields.",
        params: &[
            IN_SWARM,
            OF_CHECKPOINT,
            Param::subject("to", CHECKPOINT, "The later checkpoint's id.", "checkpoint_00000043"),
        ],
        carry: |desk, args| Box::pin(diff(desk, args)),
    },
    Op {
        name: "checkpoint_fork",
        words: &["checkpoint", "fork"],
        method: Method::POST,
        path: "/api/swarms/{swarm}/checkpoints/{checkpoint}/fork",
        summary: "Begin another swarm where a checkpoint was made",
        promise: "The new swarm runs; what was under way waits for somebody to claim it. The old one is left alone.",
        params: &[
            IN_SWARM,
            OF_CHECKPOINT,
            Param::required("as", SWARM, "The id of the new swarm.", "swarm_def456abc123"),
            BY,
        ],
        carry: |desk, args| Box::pin(fork(desk, args)),
    },
    Op {
        name: "checkpoint_pin",
        words: &["checkpoint", "pin"],
        method: Method::POST,
        path: "/api/swarms/{swarm}/checkpoints/{checkpoint}/pin",
        summary: "Keep a checkpoint, or let it run out again",
        promise: "A pinned one is kept with all that it stands on. Unpinned, it has seven days.",
        params: &[
            IN_SWARM,
            OF_CHECKPOINT,
            Param::optional("unpin", Kind::Flag, "Let it run out again.", "true"),
        ],
        carry: |desk, args| Box::pin(pin(desk, args)),
    },
    Op {
        name: "checkpoint_prune",
        words: &["checkpoint", "prune"],
        method: Method::POST,
        path: "/api/swarms/{swarm}/checkpoints/prune",
        summary: "Remove checkpoints that nobody needs",
        promise: "What is kept can be loaded: an increment keeps all that it stands on. The newest and pinned ones stay.",
        params: &[
            IN_SWARM,
            Param::with_default(
                "keepAllFor",
                Kind::Time(604_800),
                "60m",
                "All that are younger stay.",
                "10m",
            ),
            Param::with_default(
                "thenOneEach",
                Kind::Time(604_800),
                "60m",
                "Of those that are older, one full one for each such stretch of time.",
                "24h",
            ),
        ],
        carry: |desk, args| Box::pin(prune(desk, args)),
    },
    Op {
        name: "checkpoint_export",
        words: &["checkpoint", "export"],
        method: Method::GET,
        path: "/api/swarms/{swarm}/checkpoints/{checkpoint}/export",
        summary: "A checkpoint to take away",
        promise: "A JSON document with the whole state and its hash; swarm_recover takes it as `export`.",
        params: &[IN_SWARM, OF_CHECKPOINT],
        carry: |desk, args| Box::pin(export(desk, args)),
    },
    Op {
        name: "swarm_recover",
        words: &["recover"],
        method: Method::POST,
        path: "/api/swarms/{swarm}/recover",
        summary: "Let a swarm go on after something was lost",
        promise: "Restores what is missing from the newest checkpoint that can be trusted, gives tasks of the dead to others, keeps \
                  votes, makes agents idle, and sets the swarm running; under its lock. What is there stays. Answers what it \
                  did, and how far the swarm can be trusted: the share of records verified, times how fresh they are.",
        params: &[
            IN_SWARM,
            Param::optional("dryRun", Kind::Flag, "Only say what would be done.", "true"),
            Param::optional("checkpoint", CHECKPOINT, "This one, not the newest.", "checkpoint_00000042"),
            Param::optional(
                "export",
                EXPORT,
                "An exported checkpoint; `@FILE` on a command line.",
                r#"{"kind":"keyplane swarm checkpoint"}"#,
            ),
            BY,
        ],
        carry: |desk, args| Box::pin(recover(desk, args)),
    },
];

async fn create(desk: &Desk, args: &Args) -> Result<Value, Refused> {
    let options = CheckpointOptions {
        label: args.text_if("label").map(str::to_owned),
        full: args.flag("full"),
        codec: args.word::<Codec>("codec")?,
    };
    Ok(shown(&desk.swarms.checkpoint(&args.id("swarm")?, &options, args.by()).await?))
}

async fn list(desk: &Desk, args: &Args) -> Result<Value, Refused> {
    let all = of_swarm(desk, &args.id("swarm")?).await?;
    Ok(json!({ "checkpoints": all.iter().map(shown).collect::<Vec<_>>() }))
}

/// None at all are an answer of a swarm that is there, and of no other.
async fn of_swarm(desk: &Desk, swarm: &SwarmId) -> Result<Vec<Checkpoint>, Refused> {
    let all = desk.swarms.checkpoints(swarm).await?;
    if all.is_empty() && !desk.swarms.is_there(swarm).await? {
        return Err(OpError::NoSwarm { swarm: swarm.to_string() }.into());
    }
    Ok(all)
}

async fn diff(desk: &Desk, args: &Args) -> Result<Value, Refused> {
    let (earlier, later): (CheckpointId, CheckpointId) = (args.id("checkpoint")?, args.id("to")?);
    let found = desk.swarms.diff(&args.id("swarm")?, &earlier, &later).await?;
    let text =
        |bytes: &Option<Vec<u8>>| bytes.as_ref().map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    let record = |(name, difference): (&String, &Difference)| match difference {
        Difference::Added => json!({ "record": name, "is": "added" }),
        Difference::Removed => json!({ "record": name, "is": "removed" }),
        Difference::Changed(fields) => {
            let fields = fields.iter().map(|(field, before, after)| {
                (field.clone(), json!({ "before": text(before), "after": text(after) }))
            });
            json!({ "record": name, "is": "changed", "fields": fields.collect::<Map<_, _>>() })
        }
        _ => json!({ "record": name, "is": "different" }),
    };
    Ok(json!({ "differences": found.iter().map(record).collect::<Vec<_>>() }))
}

async fn fork(desk: &Desk, args: &Args) -> Result<Value, Refused> {
    let (swarm, new): (SwarmId, SwarmId) = (args.id("swarm")?, args.id("as")?);
    let forked = desk.swarms.fork(&swarm, &args.id("checkpoint")?, &new, args.by()).await?;
    Ok(recovered(&new, &forked))
}

async fn pin(desk: &Desk, args: &Args) -> Result<Value, Refused> {
    let pinned = !args.flag("unpin");
    desk.swarms.pin(&args.id("swarm")?, &args.id("checkpoint")?, pinned).await?;
    Ok(json!({ "checkpoint": args.text("checkpoint")?, "pinned": pinned }))
}

async fn prune(desk: &Desk, args: &Args) -> Result<Value, Refused> {
    let retention = Retention { all_for: args.time("keepAllFor")?, then_one_each: args.time("thenOneEach")? };
    let swarm: SwarmId = args.id("swarm")?;
    of_swarm(desk, &swarm).await?;
    Ok(json!({ "removed": desk.swarms.prune(&swarm, retention).await? }))
}

async fn export(desk: &Desk, args: &Args) -> Result<Value, Refused> {
    let export = desk.swarms.export(&args.id("swarm")?, &args.id("checkpoint")?).await?;
    Ok(serde_json::to_value(export).unwrap_or_default())
}

async fn recover(desk: &Desk, args: &Args) -> Result<Value, Refused> {
    let swarm: SwarmId = args.id("swarm")?;
    let named: Option<CheckpointId> = args.id_if("checkpoint")?;
    let from = match args.json_if("export").map(|text| Export::read(&text)).transpose()? {
        Some(export) if named.as_ref().is_some_and(|id| id.as_str() != export.checkpoint) => {
            return Err(Refused::bad_argument("export", &format!("it is of {}", export.checkpoint)));
        }
        Some(export) => From::State(Box::new(export.load_of(&swarm)?)),
        None => named.map_or(From::Newest, From::Checkpoint),
    };
    Ok(recovered(&swarm, &desk.swarms.recover(&swarm, from, args.flag("dryRun"), args.by()).await?))
}

fn shown(one: &Checkpoint) -> Value {
    json!({
        "checkpoint": one.id,
        "seq": one.seq,
        "timestamp": one.at,
        "kind": if one.parent.is_none() { "full" } else { "increment" },
        "parent": one.parent,
        "records": one.records,
        "size": one.size,
        "stored": one.stored,
        "codec": one.codec,
        "confidence": one.confidence,
        "phase": one.phase,
        "label": one.label,
        "pinned": one.pinned,
        "stateHash": one.hash,
    })
}

fn recovered(swarm: &SwarmId, done: &Recovered) -> Value {
    let passed_over = |(id, why): &(String, String)| json!({ "checkpoint": id, "why": why });
    json!({
        "swarm": swarm.to_string(),
        "dryRun": done.is_dry_run,
        "confidence": (done.confidence * 1000.0).round() / 1000.0,
        "verified": done.verified,
        "known": done.known,
        "checkpoint": done.checkpoint.as_ref().map(|(id, _)| id),
        "checkpointAge": done.checkpoint.as_ref().map(|(_, age)| age.as_secs()),
        "restored": done.restored,
        "lost": done.lost,
        "requeued": done.requeued,
        "votesKept": done.votes,
        "agentsIdle": done.idle,
        "passedOver": done.passed_over.iter().map(passed_over).collect::<Vec<_>>(),
    })
}
