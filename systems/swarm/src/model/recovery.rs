//! What becomes of a swarm that is recovered.
//!
//! What is there stays as it is: it is newer than any checkpoint. What is missing comes back as it was saved, with four
//! differences: an agent is idle, a task that somebody worked on waits for somebody else (one more attempt), a task waits for
//! those of its dependencies that are not completed, as far as is known now, and a header counts what came after it was saved.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use keyplane_kit::checkpoint::{Body, State};

use crate::keys::AgentId;

/// After this much time half of what a checkpoint says is taken for outdated: a swarm without a sign of life ends then.
const HALF_LIFE: Duration = Duration::from_secs(3600);

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Plan {
    /// Records that come back, the header among them if it is missing.
    pub restore: BTreeMap<String, Body>,
    /// Tasks that are worked on by nobody any more: there, and to be given to somebody else.
    pub requeue: BTreeSet<String>,
    /// Tasks that can be claimed, with their place; some of them are known to be so already.
    pub ready: BTreeMap<String, u64>,
    /// Tasks that wait for others, whether they come back or are there. When all else is back it is looked again for how many.
    pub waiting: BTreeMap<String, Waiting>,
    /// Those of `requeue` that no agent holds: somebody has written them by hand.
    pub unheld: BTreeMap<String, Unheld>,
    /// Votes in rounds that come back.
    pub votes: u64,
}

/// A task that waits for others.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Waiting {
    /// The tasks that it waits for.
    pub others: BTreeSet<String>,
    /// Its place among those that can be claimed.
    pub place: u64,
    /// Which roster lists it.
    pub shard: usize,
}

/// A task under way that no agent holds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Unheld {
    /// Whoever holds it by its own word, which is no agent's id.
    pub holder: String,
    /// Its place among those that can be claimed.
    pub place: u64,
    /// Which roster lists it.
    pub shard: usize,
}

/// What a plan is made of.
#[derive(Debug)]
#[non_exhaustive]
pub struct Found<'f> {
    /// What is there, by name.
    pub live: &'f BTreeMap<String, Body>,
    /// What was saved.
    pub saved: &'f State,
    /// Tasks that somebody holds, whose time is not up.
    pub held: &'f BTreeSet<String>,
    /// The server's time, in Unix milliseconds.
    pub now: u64,
}

impl<'f> Found<'f> {
    /// What was found.
    #[must_use]
    pub fn new(
        live: &'f BTreeMap<String, Body>,
        saved: &'f State,
        held: &'f BTreeSet<String>,
        now: u64,
    ) -> Self {
        Self { live, saved, held, now }
    }

    /// What is to be done.
    #[must_use]
    pub fn plan(&self) -> Plan {
        let mut plan = Plan::default();
        let waiting = self.waiting();
        let missing = self.saved.iter().filter(|(name, _)| !self.live.contains_key(*name));
        for (name, saved) in missing {
            let revived = match family(name) {
                "header" => self.header(saved),
                "agents" => self.agent(saved),
                "tasks" => self.task(saved, waiting.get(name.trim_start_matches("tasks:"))),
                _ => saved.clone(),
            };
            plan.votes += saved.fields().filter(|(field, _)| field.starts_with(b"vote:")).count() as u64;
            plan.restore.insert(name.to_owned(), revived);
        }
        let tasks = self.live.iter().chain(&plan.restore).filter(|(name, _)| family(name) == "tasks");
        for (name, task) in tasks {
            let id = name.trim_start_matches("tasks:").to_owned();
            let (place, shard) = (place(task, self.now), shard(task));
            match task.text("status") {
                Some("in_progress") if !self.held.contains(&id) => {
                    let holder = task.text("assignedAgent").unwrap_or_default();
                    if AgentId::from_store(holder).is_err() {
                        plan.unheld.insert(id.clone(), Unheld { holder: holder.to_owned(), place, shard });
                    }
                    plan.requeue.insert(id);
                }
                Some("pending") => drop(plan.ready.insert(id, place)),
                Some("blocked") => {
                    drop(
                        plan.waiting.insert(id, Waiting { others: ids(task, "dependencies"), place, shard }),
                    );
                }
                _ => {}
            }
        }
        plan
    }

    /// What is there may be more than what was saved, and what was saved may be more than what comes back.
    fn header(&self, saved: &Body) -> Body {
        let saved_names = self.saved.iter().map(|(name, _)| name);
        let all: BTreeSet<&str> = self.live.keys().map(String::as_str).chain(saved_names).collect();
        let count = |of: &str| all.iter().filter(|name| family(name) == of).count() as u64;
        let rounds = all.iter().filter_map(|name| name.strip_prefix("consensus:")?.parse().ok());
        let at_least = |field: &'static str, found: u64| {
            let known = saved.text(field).and_then(|text| text.parse().ok()).unwrap_or(0);
            (field, Some(found.max(known).to_string().into_bytes()))
        };
        saved.with([
            ("status", Some(b"recovering".to_vec())),
            at_least("agentCount", count("agents")),
            at_least("taskCount", count("tasks")),
            at_least("currentRound", rounds.max().unwrap_or(0)),
        ])
    }

    fn agent(&self, saved: &Body) -> Body {
        let stays = matches!(saved.text("status"), Some("completed" | "paused"));
        let status = (!stays).then(|| ("status", Some(b"idle".to_vec())));
        saved.with([("currentTask", None), ("assignedTasks", None)].into_iter().chain(status))
    }

    fn task(&self, saved: &Body, waiting: Option<&BTreeSet<&str>>) -> Body {
        let is_over = matches!(saved.text("status"), Some("completed" | "cancelled" | "failed"));
        let joined = |waiting: &BTreeSet<&str>| waiting.iter().copied().collect::<Vec<_>>().join(" ");
        let mut changes = vec![("dependants", waiting.map(|waiting| joined(waiting).into_bytes()))];
        if !is_over {
            let open = ids(saved, "dependencies").iter().filter(|task| !self.is_completed(task)).count();
            let number = |field: &str| saved.text(field).and_then(|text| text.parse().ok()).unwrap_or(0_u64);
            let was_begun = saved.text("status") == Some("in_progress");
            let text = |number: u64| Some(number.to_string().into_bytes());
            changes.extend([
                ("status", Some(if open > 0 { b"blocked".to_vec() } else { b"pending".to_vec() })),
                ("open", text(open as u64)),
                ("attempt", text(number("attempt") + u64::from(was_begun))),
                // Claims that were made after the checkpoint have numbers that nobody knows any more; none was this high.
                ("fence", text(number("fence").max(self.now) + 1)),
                ("assignedAgent", None),
                ("progress", text(0)),
            ]);
        }
        saved.with(changes)
    }

    /// Which tasks wait for which, whether they are there or come back.
    fn waiting(&self) -> BTreeMap<String, BTreeSet<&str>> {
        let saved = self.saved.iter().filter(|(name, _)| !self.live.contains_key(*name));
        let live = self.live.iter().map(|(name, body)| (name.as_str(), body));
        let mut waiting: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
        for (name, task) in live.chain(saved).filter(|(name, _)| family(name) == "tasks") {
            for id in ids(task, "dependencies") {
                waiting.entry(id).or_default().insert(name.trim_start_matches("tasks:"));
            }
        }
        waiting
    }

    fn is_completed(&self, id: &str) -> bool {
        let name = format!("tasks:{id}");
        let task = self.live.get(&name).or_else(|| self.saved.get(&name));
        task.and_then(|task| task.text("status")) == Some("completed")
    }
}

/// Whether a swarm with that status has ended for good. A failed one may go on.
#[must_use]
pub fn is_final(status: &str) -> bool {
    status == "completed"
}

/// The first part of a name.
#[must_use]
pub fn family(name: &str) -> &str {
    name.split_once(':').map_or(name, |(family, _)| family)
}

/// Ids in a field, which is a JSON list; each once, as often as it may stand there.
fn ids(body: &Body, field: &str) -> BTreeSet<String> {
    body.text(field).and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

/// Where a task stands among those that can be claimed.
fn place(task: &Body, now: u64) -> u64 {
    task.text("place").and_then(|text| text.parse().ok()).unwrap_or(2 * 10_u64.pow(13) + now)
}

/// Which roster lists a record; 0 is the plain one.
#[must_use]
pub fn shard(body: &Body) -> usize {
    body.text("shard").and_then(|shard| shard.parse().ok()).unwrap_or(0)
}

/// How far what a checkpoint of this age says is still to be believed, 0 to 1.
#[must_use]
pub fn freshness(age: Duration) -> f64 {
    0.5_f64.powf(age.as_secs_f64() / HALF_LIFE.as_secs_f64())
}

/// How far a recovered swarm can be trusted, 0 to 1: each record counts that was verified, one that comes from a checkpoint as
/// far as that is fresh. Of nothing nothing is known.
#[must_use]
pub fn confidence(known: u64, verified_live: u64, verified_restored: u64, age: Duration) -> f64 {
    if known == 0 {
        return 0.0;
    }
    (verified_live as f64 + verified_restored as f64 * freshness(age)) / known as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(records: &[(&str, &[(&str, &str)])]) -> State {
        let mut state = State::default();
        for (name, fields) in records {
            state.insert(*name, Body::new(fields.iter().copied()));
        }
        state
    }

    fn live(records: &[(&str, &[(&str, &str)])]) -> BTreeMap<String, Body> {
        state(records).iter().map(|(name, body)| (name.to_owned(), body.clone())).collect()
    }

    const A: &str = "tasks:task_a";
    const B: &str = "tasks:task_b";

    #[test]
    fn what_is_there_stays_and_what_is_missing_comes_back() {
        let saved = state(&[
            ("header", &[("status", "running")]),
            (A, &[("status", "pending")]),
            (B, &[("status", "completed")]),
        ]);
        let there = live(&[("header", &[("status", "paused")]), (A, &[("status", "completed")])]);
        let plan = Found::new(&there, &saved, &BTreeSet::new(), 1).plan();
        assert_eq!(plan.restore.keys().collect::<Vec<_>>(), [B]);
        assert_eq!(plan.restore[B].text("status"), Some("completed"), "what is finished does not run again");
        assert!(plan.requeue.is_empty() && plan.ready.is_empty());
    }

    #[test]
    fn a_task_that_was_begun_waits_for_another_and_its_agent_is_idle() {
        let saved = state(&[
            ("agents:agent_x", &[("status", "busy"), ("currentTask", "task_a")]),
            (A, &[("status", "in_progress"), ("attempt", "1"), ("fence", "7"), ("assignedAgent", "agent_x")]),
        ]);
        let plan = Found::new(&BTreeMap::new(), &saved, &BTreeSet::new(), 1000).plan();
        let (agent, task) = (&plan.restore["agents:agent_x"], &plan.restore[A]);
        assert_eq!((agent.text("status"), agent.text("currentTask")), (Some("idle"), None));
        assert_eq!((task.text("status"), task.text("attempt")), (Some("pending"), Some("2")));
        assert_eq!((task.text("fence"), task.text("assignedAgent")), (Some("1001"), None));
        assert!(plan.ready.contains_key("task_a"));
    }

    #[test]
    fn a_task_waits_for_what_is_not_completed_by_now() {
        let waits: &[(&str, &str)] =
            &[("status", "blocked"), ("dependencies", r#"["task_a"]"#), ("open", "1")];
        let saved = state(&[(A, &[("status", "in_progress")]), (B, waits)]);
        let both_lost = Found::new(&BTreeMap::new(), &saved, &BTreeSet::new(), 1).plan();
        assert_eq!(both_lost.restore[B].text("status"), Some("blocked"));
        assert_eq!(both_lost.restore[A].text("dependants"), Some("task_b"));
        let there = live(&[(A, &[("status", "completed")])]);
        let one_lost = Found::new(&there, &saved, &BTreeSet::new(), 1).plan();
        assert_eq!(one_lost.restore[B].text("status"), Some("pending"));
        assert!(one_lost.ready.contains_key("task_b"));
    }

    #[test]
    fn a_task_waits_once_for_what_it_names_twice() {
        let twice: &[(&str, &str)] = &[
            ("status", "blocked"),
            ("dependencies", r#"["task_a","task_a"]"#),
            ("open", "2"),
            ("place", "7"),
            ("shard", "1"),
        ];
        let saved = state(&[(A, &[("status", "pending")]), (B, twice)]);
        let waits = Waiting { others: BTreeSet::from(["task_a".to_owned()]), place: 7, shard: 1 };
        let lost = Found::new(&BTreeMap::new(), &saved, &BTreeSet::new(), 1).plan();
        assert_eq!(lost.restore[B].text("open"), Some("1"));
        assert_eq!(lost.waiting, BTreeMap::from([("task_b".to_owned(), waits.clone())]));
        let there = live(&[(A, &[("status", "completed")]), (B, twice)]);
        let plan = Found::new(&there, &saved, &BTreeSet::new(), 1).plan();
        assert_eq!(plan.waiting["task_b"], waits, "it is looked at again, whatever it says");
    }

    #[test]
    fn a_header_that_comes_back_counts_what_came_after_it_was_saved() {
        let saved = state(&[
            (
                "header",
                &[("status", "running"), ("agentCount", "1"), ("taskCount", "9"), ("currentRound", "1")],
            ),
            ("agents:agent_x", &[("status", "idle")]),
        ]);
        let there = live(&[("agents:agent_y", &[("status", "idle")]), (A, &[]), ("consensus:12", &[])]);
        let plan = Found::new(&there, &saved, &BTreeSet::new(), 1).plan();
        let header = &plan.restore["header"];
        let counts = ["agentCount", "taskCount", "currentRound"].map(|field| header.text(field));
        assert_eq!(counts, [Some("2"), Some("9"), Some("12")]);
    }

    #[test]
    fn a_live_task_is_taken_back_unless_it_is_held() {
        let there = live(&[(A, &[("status", "in_progress")]), (B, &[("status", "in_progress")])]);
        let held = BTreeSet::from(["task_a".to_owned()]);
        let plan = Found::new(&there, &State::default(), &held, 1).plan();
        assert_eq!(plan.requeue, BTreeSet::from(["task_b".to_owned()]));
        assert_eq!(plan.unheld.keys().collect::<Vec<_>>(), ["task_b"], "it names no agent");
    }

    #[test]
    fn confidence_falls_with_what_is_not_verified_and_with_age() {
        let hour = Duration::from_secs(3600);
        assert_eq!(confidence(10, 10, 0, hour), 1.0);
        assert_eq!(confidence(10, 0, 10, Duration::ZERO), 1.0);
        assert_eq!(confidence(10, 0, 10, hour), 0.5);
        assert_eq!(confidence(10, 5, 0, hour), 0.5);
        assert_eq!(confidence(0, 0, 0, hour), 0.0);
    }
}
