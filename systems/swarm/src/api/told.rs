//! Swarms and their records as JSON: the contract's names, numbers as numbers, JSON as JSON.

use std::collections::BTreeMap;

use keyplane_kit::events::{Batch, Event, Gap};
use serde_json::{Map, Value, json};

use crate::model::{AgentLine, BadLine, TaskLine};
use crate::state::{Done, Memory, Record, SwarmView};

/// Fields of records that hold JSON.
const JSON: &[&str] = &[
    "objective",
    "recovery",
    "metadata",
    "assignedTasks",
    "completedTasks",
    "dependencies",
    "subtasks",
    "artifacts",
    "result",
    "tasks",
    "entryCriteria",
    "exitCriteria",
    "metrics",
    "votes",
    "decision",
];

/// Fields of records that hold numbers.
const NUMBERS: &[&str] = &[
    "version",
    "confidence",
    "agentCount",
    "taskCount",
    "currentRound",
    "progress",
    "estimatedDuration",
    "actualDuration",
    "attempt",
    "fence",
    "open",
    "loopLevel",
    "iteration",
    "mostTries",
    "requiredConfidence",
    "currentConfidence",
    "eligible",
];

/// Fields that only the scripts need.
const INNER: &[&str] = &["shard", "place", "since", "dependants", "horizon", "lease"];

/// A record under the name of what it is.
pub(super) fn record(kind: &str, id: &str, fields: &Record) -> Value {
    let mut told = Map::new();
    told.insert(kind.to_owned(), id.into());
    let shown = fields.iter().filter(|(name, _)| !INNER.contains(&name.as_str()));
    told.extend(shown.map(|(name, text)| (name.clone(), value(name, text))));
    Value::Object(told)
}

/// What is not what it should be, somebody has written by hand: it is told as it is.
fn value(name: &str, text: &str) -> Value {
    let is_vote = name.starts_with("vote:");
    if is_vote || JSON.contains(&name) || NUMBERS.contains(&name) {
        return serde_json::from_str(text).unwrap_or_else(|_| text.into());
    }
    text.into()
}

pub(super) fn done(done: Done) -> Value {
    json!({ "version": done.version })
}

/// A swarm: the header, how many are what, and the lists unless they are not wanted.
pub(super) fn view(id: &str, view: &SwarmView, brief: bool) -> Value {
    let mut told = record("swarm", id, &view.header);
    let agents = view.agents.values().map(|line| line.status.word());
    let tasks = view.tasks.values().map(|line| line.status.word());
    told["agentsByStatus"] = counted(agents);
    told["tasksByStatus"] = counted(tasks);
    if !brief {
        told["agents"] = view.agents.iter().map(|(id, line)| agent_line(id, line, view.at)).collect();
        told["tasks"] = view.tasks.iter().map(|(id, line)| task_line(id, line)).collect();
    }
    if !view.damaged.is_empty() {
        let why = |(name, bad): (&String, &BadLine)| json!({ "record": name, "why": bad.to_string() });
        told["damaged"] = view.damaged.iter().map(why).collect();
    }
    told
}

fn counted(words: impl Iterator<Item = &'static str>) -> Value {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for word in words {
        *counts.entry(word).or_default() += 1;
    }
    json!(counts)
}

fn agent_line(id: &str, line: &AgentLine, now: u64) -> Value {
    json!({
        "agent": id,
        "role": line.role,
        "status": line.status.word(),
        "confidence": line.confidence,
        "currentTask": line.task,
        "leaseEnd": line.lease_end,
        "interrupted": line.lease_end.is_some_and(|end| end < now),
    })
}

fn task_line(id: &str, line: &TaskLine) -> Value {
    json!({
        "task": id,
        "status": line.status.word(),
        "priority": line.priority.word(),
        "progress": line.progress,
        "assignedAgent": line.agent,
        "attempt": line.attempt,
    })
}

pub(super) fn memory(memory: &Memory) -> Value {
    json!({
        "memory": memory.id,
        "type": memory.kind.as_str(),
        "agent": memory.agent,
        "content": serde_json::from_str::<Value>(&memory.content).unwrap_or_else(|_| memory.content.as_str().into()),
        "tags": memory.tags,
        "timestamp": memory.at,
    })
}

pub(super) fn event(event: &Event) -> Value {
    let text = |field| event.text(field).filter(|text| !text.is_empty());
    let number = |field| event.text(field).and_then(|text| text.parse::<u64>().ok());
    json!({
        "id": event.id.to_string(),
        "kind": text("kind"),
        "subject": text("subject"),
        "from": text("from"),
        "to": text("to"),
        "by": text("by"),
        "version": number("version"),
        "at": number("at"),
    })
}

pub(super) fn gap(gap: Gap) -> Value {
    match gap {
        Gap::Missed(count) => json!({ "gap": "missed", "events": count }),
        Gap::Restarted => json!({ "gap": "restarted", "events": null }),
    }
}

/// What a reader of the log is told: what it is, and the id to go on behind. A gap has none: whoever is cut off after it has not
/// seen the event behind it.
pub(super) type Told = (Option<String>, &'static str, Value);

/// Events in order, gaps where they are.
pub(super) fn batch(batch: &Batch) -> Vec<Told> {
    let mut told = Vec::with_capacity(batch.events.len());
    for (place, one) in batch.events.iter().enumerate() {
        let gaps = batch.gaps.iter().filter(|(before, _)| *before == place);
        told.extend(gaps.map(|(_, missing)| (None, "gap", gap(*missing))));
        told.push((Some(one.id.to_string()), "change", event(one)));
    }
    told
}
