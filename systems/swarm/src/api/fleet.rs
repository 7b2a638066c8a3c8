//! Operations on many swarms, on performance, and on the lock.

use axum::http::Method;
use serde_json::{Map, Value, json};

use super::args::Args;
use super::kind::{Kind, ROLE};
use super::op::Op;
use super::param::Param;
use super::swarms::IN_SWARM;
use super::{Desk, Refused};
use crate::keys::{Metric, SwarmId};
use crate::state::{Filter, Listed, Locked, OpError, Sample};

/// As the contract has them.
const STATUSES: &[&str] = &["initializing", "running", "paused", "recovering", "completed", "failed"];
const WINDOWS: &[&str] = &["1m", "5m", "1h", "24h"];
const METRICS: &[&str] = &["latency", "throughput", "memory", "cpu", "errors"];

/// A day, the most that samples are kept for.
const DAY: u64 = 86_400;

const METRIC: Param = Param::subject("metric", Kind::OneOf(METRICS), "What was measured.", "latency");
const OWNER: Param =
    Param::required("owner", Kind::Text(100), "Who holds the lock: its value in the store.", "coordinator-1");
const FENCE: Param = Param::required(
    "fence",
    Kind::Text(100),
    "What the holder was told when it took the lock.",
    "1736332230000:6f1c2d3e4a5b60718293a4b5c6d7e8f9",
);

pub(super) static OPS: &[Op] = &[
    Op {
        name: "swarm_list",
        words: &["list"],
        method: Method::GET,
        path: "/api/swarms",
        summary: "Swarms by role, status, activity or performance",
        promise: "Through the indexes, never by a scan. The most recently active come first, or the best in a time window. The \
                  indexes follow within a moment.",
        params: &[
            Param::optional("role", ROLE, "Only those that have an agent of this role.", "coder"),
            Param::optional("status", Kind::OneOf(STATUSES), "Only those in this status.", "running"),
            Param::optional(
                "activeWithin",
                Kind::Time(DAY),
                "Only those in which something happened.",
                "10m",
            ),
            Param::optional("bestIn", Kind::OneOf(WINDOWS), "By their score in this time window.", "5m"),
            Param::with_default("limit", Kind::Whole(1, 10_000), "100", "At most so many.", "20"),
        ],
        carry: |desk, args| Box::pin(list(desk, args)),
    },
    Op {
        name: "performance_record",
        words: &["performance", "record"],
        method: Method::POST,
        path: "/api/swarms/{swarm}/performance/{metric}",
        summary: "Record a value of a metric",
        promise: "Kept for a day, ten thousand at most. Activity: the swarm lives on. Answers how many are kept.",
        params: &[
            IN_SWARM,
            METRIC,
            Param::required("value", Kind::Number(-1e15, 1e15), "The value.", "41.5"),
            Param::optional(
                "at",
                Kind::Whole(0, 1 << 53),
                "When, in Unix milliseconds, a day ago at most; now if it is left out.",
                "1736332200000",
            ),
        ],
        carry: |desk, args| Box::pin(record(desk, args)),
    },
    Op {
        name: "performance_query",
        words: &["performance", "query"],
        method: Method::GET,
        path: "/api/swarms/{swarm}/performance/{metric}",
        summary: "The values of a metric",
        promise: "Oldest first, with the newest value of every metric and the swarm's scores.",
        params: &[
            IN_SWARM,
            METRIC,
            Param::with_default("within", Kind::Time(DAY), "1h", "How far back.", "5m"),
        ],
        carry: |desk, args| Box::pin(query(desk, args)),
    },
    Op {
        name: "lock_take",
        words: &["lock", "take"],
        method: Method::POST,
        path: "/api/swarms/{swarm}/lock",
        summary: "Take the lock of a swarm",
        promise: "For 30 s, unless it is renewed. Answers the fence; changes that show it are refused once somebody else has \
                  the lock.",
        params: &[IN_SWARM, OWNER],
        carry: |desk, args| Box::pin(take(desk, args)),
    },
    Op {
        name: "lock_renew",
        words: &["lock", "renew"],
        method: Method::POST,
        path: "/api/swarms/{swarm}/lock/renew",
        summary: "Hold the lock of a swarm for another 30 s",
        promise: "Refused as `fenced` if it has run out: then somebody else may have written.",
        params: &[IN_SWARM, OWNER, FENCE],
        carry: |desk, args| Box::pin(renew(desk, args)),
    },
    Op {
        name: "lock_release",
        words: &["lock", "release"],
        method: Method::POST,
        path: "/api/swarms/{swarm}/lock/release",
        summary: "Give the lock of a swarm back",
        promise: "Wakes whoever waits for it.",
        params: &[IN_SWARM, OWNER, FENCE],
        carry: |desk, args| Box::pin(release(desk, args)),
    },
    Op {
        name: "lock_status",
        words: &["lock", "status"],
        method: Method::GET,
        path: "/api/swarms/{swarm}/lock",
        summary: "Who holds the lock of a swarm",
        promise: "Its holder, and how often it changed hands. The fence is told to the holder alone.",
        params: &[IN_SWARM],
        carry: |desk, args| Box::pin(lock_status(desk, args)),
    },
];

async fn list(desk: &Desk, args: &Args) -> Result<Value, Refused> {
    let filter = Filter {
        role: args.id_if("role")?,
        status: args.word_if("status")?,
        active_within: args.time_if("activeWithin"),
        best_in: args.word_if("bestIn")?,
        limit: Some(usize::try_from(args.whole("limit")?).unwrap_or(usize::MAX)),
    };
    let found = desk.swarms.list(&filter).await?;
    Ok(json!({ "swarms": found.iter().map(listed).collect::<Vec<_>>() }))
}

fn listed(one: &Listed) -> Value {
    let mut told = Map::new();
    told.insert("swarm".to_owned(), json!(one.id.to_string()));
    told.insert("status".to_owned(), json!(one.status));
    told.insert("agents".to_owned(), json!(one.agents));
    told.insert("tasks".to_owned(), json!(one.tasks));
    told.extend(one.score.map(|score| ("score".to_owned(), json!(score))));
    told.insert("confidence".to_owned(), json!(one.confidence));
    told.insert("strategy".to_owned(), json!(one.strategy));
    told.insert("mode".to_owned(), json!(one.mode));
    told.insert("updatedAt".to_owned(), json!(one.updated_at));
    Value::Object(told)
}

async fn record(desk: &Desk, args: &Args) -> Result<Value, Refused> {
    let sample = Sample { at: args.whole_if("at"), value: args.number("value")? };
    let metric: Metric = args.word("metric")?;
    let kept = desk.swarms.record_metric(&args.id("swarm")?, metric, &[sample]).await?;
    Ok(json!({ "metric": metric.as_str(), "kept": kept }))
}

async fn query(desk: &Desk, args: &Args) -> Result<Value, Refused> {
    let (swarm, metric): (SwarmId, Metric) = (args.id("swarm")?, args.word("metric")?);
    if !desk.swarms.is_there(&swarm).await? {
        return Err(OpError::NoSwarm { swarm: swarm.to_string() }.into());
    }
    let samples = desk.swarms.samples(&swarm, metric, args.time("within")?).await?;
    let samples: Vec<Value> =
        samples.iter().map(|sample| json!({ "at": sample.at, "value": sample.value })).collect();
    let current = desk.swarms.current_values(&swarm).await?;
    Ok(json!({ "metric": metric.as_str(), "current": current, "samples": samples }))
}

async fn take(desk: &Desk, args: &Args) -> Result<Value, Refused> {
    let (swarm, owner): (SwarmId, &str) = (args.id("swarm")?, args.text("owner")?);
    match desk.swarms.lock(&swarm, owner).await? {
        Locked::Taken { fence } => Ok(json!({ "owner": owner, "fence": fence, "seconds": 30 })),
        Locked::Held { .. } => Err(OpError::Locked { swarm: swarm.to_string() }.into()),
    }
}

async fn renew(desk: &Desk, args: &Args) -> Result<Value, Refused> {
    let owner = args.text("owner")?;
    desk.swarms.renew_lock(&args.id("swarm")?, owner, args.text("fence")?).await?;
    Ok(json!({ "owner": owner, "seconds": 30 }))
}

async fn release(desk: &Desk, args: &Args) -> Result<Value, Refused> {
    desk.swarms.unlock(&args.id("swarm")?, args.text("owner")?, args.text("fence")?).await?;
    Ok(json!({ "released": true }))
}

async fn lock_status(desk: &Desk, args: &Args) -> Result<Value, Refused> {
    let swarm: SwarmId = args.id("swarm")?;
    if !desk.swarms.is_there(&swarm).await? {
        return Err(OpError::NoSwarm { swarm: swarm.to_string() }.into());
    }
    let status = desk.swarms.lock_status(&swarm).await?;
    Ok(json!({ "holder": status.holder, "terms": status.transitions }))
}
