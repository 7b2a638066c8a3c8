//! All that the store holds of the swarm at one moment, and whether it fits together.

use std::collections::{BTreeMap, BTreeSet};

use keyplane_store::{Reply, Store};

use crate::machine::swarm;

/// Reads everything in one step: the events only if it is told so, because they are many. Removes all but the checkpoints in
/// the same step if it is told so.
const LOOK: &str = r"
local found = {}
for _, key in ipairs(redis.call('KEYS', ARGV[1])) do
  local kind, held = redis.call('TYPE', key).ok, nil
  local is_checkpoint = string.find(key, ':recovery:', 1, true) or string.find(key, ':checkpoints', 1, true)
  if kind == 'hash' and not is_checkpoint then
    held = redis.call('HGETALL', key)
  elseif kind == 'zset' then
    held = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')
  elseif kind == 'stream' and ARGV[2] ~= '' then
    held = redis.call('XRANGE', key, '-', '+')
  end
  if held then found[#found + 1] = {key, held} end
  if ARGV[2] == 'lose' and not is_checkpoint then redis.call('DEL', key) end
end
return found";

pub(crate) type Fields = BTreeMap<String, String>;

/// One entry of the swarm's events.
#[derive(Debug, Clone, Hash)]
pub(crate) struct Event {
    pub(crate) number: u64,
    pub(crate) kind: String,
    pub(crate) subject: String,
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) by: String,
    pub(crate) version: u64,
}

#[derive(Debug, Clone, Default, Hash)]
pub(crate) struct Picture {
    pub(crate) header: Fields,
    pub(crate) agents: BTreeMap<String, Fields>,
    pub(crate) tasks: BTreeMap<String, Fields>,
    pub(crate) rounds: BTreeMap<u64, Fields>,
    pub(crate) events: Vec<Event>,
    roster: Fields,
    task_roster: Fields,
    ready: Fields,
    leases: Fields,
    checkpoints: Fields,
}

impl Picture {
    /// As it is now, without its events.
    pub(crate) async fn take(store: &Store) -> Option<Self> {
        Self::look(store, "").await
    }

    /// As it is now, with its events.
    pub(crate) async fn take_whole(store: &Store) -> Option<Self> {
        Self::look(store, "events").await
    }

    /// As it was before all but the checkpoints was lost, in the same step.
    pub(crate) async fn take_and_lose(store: &Store) -> Option<Self> {
        Self::look(store, "lose").await
    }

    /// Nothing while the store is away.
    async fn look(store: &Store, how: &str) -> Option<Self> {
        let pattern = format!("*{}*", swarm());
        let answers = store.ask_all(&["EVAL", LOOK, "0", &pattern, how]).await;
        let mut picture = Self::default();
        for (_, answer) in answers {
            let Reply::Array(keys) = answer.ok()? else { return None };
            for key in keys {
                let Reply::Array(pair) = key else { continue };
                picture.add(&text(&pair[0]), &pair[1]);
            }
        }
        Some(picture)
    }

    fn add(&mut self, key: &str, held: &Reply) {
        let of_swarm = format!("swarm:{}", swarm());
        let Some(rest) = key.strip_prefix(&of_swarm) else { return };
        match rest {
            "" => self.header = fields(held),
            ":agents" => self.roster = fields(held),
            ":tasks" => self.task_roster = fields(held),
            ":ready" => self.ready = fields(held),
            ":leases" => self.leases = fields(held),
            ":checkpoints" => self.checkpoints = fields(held),
            ":events" => self.events = events(held),
            _ => match rest[1..].split_once(':') {
                Some(("agents", id)) => drop(self.agents.insert(id.to_owned(), fields(held))),
                Some(("tasks", id)) => drop(self.tasks.insert(id.to_owned(), fields(held))),
                Some(("consensus", round)) => drop(self.rounds.insert(round.parse().unwrap(), fields(held))),
                _ => {}
            },
        }
    }

    pub(crate) fn status(&self) -> &str {
        field(&self.header, "status")
    }

    /// The newest checkpoint.
    pub(crate) fn newest(&self) -> Option<&str> {
        let seq = |(_, seq): &(&String, &String)| seq.parse::<u64>().unwrap_or_default();
        self.checkpoints.iter().max_by_key(seq).map(|(id, _)| id.as_str())
    }

    /// How many tasks are finished, one way or the other.
    pub(crate) fn finished(&self) -> u64 {
        let is_over = |task: &&Fields| matches!(field(task, "status"), "completed" | "failed");
        self.tasks.values().filter(is_over).count() as u64
    }

    /// Whether lists, counts and records say the same.
    pub(crate) fn check(&self) -> Result<(), String> {
        let counts = [
            ("agentCount", self.agents.len(), self.roster.len()),
            ("taskCount", self.tasks.len(), self.task_roster.len()),
        ];
        for (name, records, lines) in counts {
            if field(&self.header, name) != records.to_string() || records != lines {
                let said = field(&self.header, name);
                return Err(format!("{name} is {said}, with {records} records and {lines} lines"));
            }
        }
        for (id, agent) in &self.agents {
            self.check_agent(id, agent)?;
        }
        for (id, task) in &self.tasks {
            self.check_task(id, task)?;
        }
        let lists: [(&str, BTreeSet<&String>, &str); 2] = [
            ("ready", self.ready.keys().collect(), "pending"),
            (
                "leases",
                self.leases.keys().filter(|member| member.starts_with("task_")).collect(),
                "in_progress",
            ),
        ];
        for (name, listed, status) in lists {
            let are = self.tasks.iter().filter(|(_, task)| field(task, "status") == status);
            let are: BTreeSet<&String> = are.map(|(id, _)| id).collect();
            if listed != are {
                return Err(format!("{name} has {listed:?}, and {status} are {are:?}"));
            }
        }
        Ok(())
    }

    fn check_agent(&self, id: &str, agent: &Fields) -> Result<(), String> {
        let task = field(agent, "currentTask");
        let lease = self.leases.get(id).map_or("", String::as_str);
        let line = [field(agent, "status"), field(agent, "confidence"), task, lease, field(agent, "role")];
        same(id, &line.join("|"), field(&self.roster, id))?;
        if !task.is_empty() && field(self.task(task)?, "assignedAgent") != id {
            return Err(format!("{id} has {task}, which is {:?}", self.task(task)?));
        }
        Ok(())
    }

    fn check_task(&self, id: &str, task: &Fields) -> Result<(), String> {
        let status = field(task, "status");
        let holder = field(task, "assignedAgent");
        let line = [status, field(task, "priority"), field(task, "progress"), holder, field(task, "attempt")];
        same(id, &line.join("|"), field(&self.task_roster, id))?;
        let waits_for: Vec<String> =
            serde_json::from_str(task.get("dependencies").map_or("[]", String::as_str)).unwrap();
        let is_open = |task: &String| self.task(task).is_ok_and(|task| field(task, "status") != "completed");
        let open = waits_for.into_iter().filter(is_open).count();
        let fits = match status {
            "blocked" => open > 0 && field(task, "open") == open.to_string(),
            "pending" => open == 0 && holder.is_empty() && self.ready.get(id) == task.get("place"),
            "in_progress" => {
                let works = self.agents.get(holder).map(|agent| field(agent, "currentTask"));
                open == 0 && works == Some(id)
            }
            _ => open == 0,
        };
        if fits { Ok(()) } else { Err(format!("{id} with {open} open dependencies is {task:?}")) }
    }

    fn task(&self, id: &str) -> Result<&Fields, String> {
        self.tasks.get(id).ok_or_else(|| format!("there is no {id}"))
    }
}

pub(crate) fn field<'f>(fields: &'f Fields, name: &str) -> &'f str {
    fields.get(name).map_or("", String::as_str)
}

fn same(id: &str, record: &str, line: &str) -> Result<(), String> {
    if record == line { Ok(()) } else { Err(format!("{id} is {record}, and listed as {line}")) }
}

fn text(reply: &Reply) -> String {
    match reply {
        Reply::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        other => panic!("no text: {other:?}"),
    }
}

fn fields(reply: &Reply) -> Fields {
    let Reply::Array(parts) = reply else { panic!("no fields: {reply:?}") };
    parts.chunks_exact(2).map(|pair| (text(&pair[0]), text(&pair[1]))).collect()
}

fn events(reply: &Reply) -> Vec<Event> {
    let Reply::Array(entries) = reply else { panic!("no entries: {reply:?}") };
    let event = |entry: &Reply| {
        let Reply::Array(parts) = entry else { panic!("no entry: {entry:?}") };
        let said = fields(&parts[1]);
        let said = |name: &str| field(&said, name).to_owned();
        Event {
            number: text(&parts[0]).trim_start_matches("0-").parse().unwrap(),
            kind: said("kind"),
            subject: said("subject"),
            from: said("from"),
            to: said("to"),
            by: said("by"),
            version: said("version").parse().unwrap(),
        }
    };
    entries.iter().map(event).collect()
}
