//! What the events tell, told again: who held which task under which number, and how that ended.

use std::collections::BTreeMap;

use crate::journal::{Book, Held, Report, Told};
use crate::picture::{Event, Picture, field};

/// How a claim ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Reported(Report),
    TakenBack,
    /// Not before the last event.
    Open,
}

/// A claim as the events tell it.
#[derive(Debug)]
pub(crate) struct Claimed {
    pub(crate) agent: String,
    /// Counted from the first event on.
    number: u64,
    pub(crate) end: End,
}

/// One task through all its events.
#[derive(Debug, Default)]
pub(crate) struct Life {
    pub(crate) claims: Vec<Claimed>,
    /// By how much its claims' number went up.
    counted: u64,
    /// The number before the first event.
    base: u64,
}

impl Life {
    pub(crate) fn ended(&self, how: End) -> u64 {
        self.claims.iter().filter(|claim| claim.end == how).count() as u64
    }

    fn end(&mut self, event: &Event, end: End) -> Result<String, String> {
        match self.claims.last_mut() {
            Some(claim) if claim.end == End::Open => {
                claim.end = end;
                Ok(claim.agent.clone())
            }
            _ => Err(format!("nobody holds it, and yet: {event:?}")),
        }
    }
}

/// The lives of all tasks, from the first event of a swarm, or the first after a loss, to this picture.
pub(crate) fn replay(picture: &Picture) -> Result<BTreeMap<String, Life>, String> {
    if !picture.events.iter().map(|event| event.number).eq(1..=picture.events.len() as u64) {
        return Err("the numbers of the events have a gap".to_owned());
    }
    let mut lives: BTreeMap<String, Life> = BTreeMap::new();
    let mut records: BTreeMap<&str, (&str, Option<u64>)> = BTreeMap::new();
    let mut of_agents: BTreeMap<String, u64> = BTreeMap::new();
    for event in &picture.events {
        if event.kind == "checkpoint" {
            continue;
        }
        let is_restored = event.kind == "recover" && event.version == 0;
        let before = records.insert(&event.subject, (&event.to, (!is_restored).then_some(event.version)));
        if let Some((status, version)) = before {
            // An agent's version also goes up with what becomes of its tasks: that is counted below.
            let is_next = version.is_none_or(|version| version + 1 == event.version);
            let is_agent = event.subject.starts_with("agents:");
            if !is_agent && (is_restored || !is_next || version.is_some() && status != event.from) {
                return Err(format!("after version {version:?}, {status}: {event:?}"));
            }
        } else if !is_restored && event.version > 1 && event.from != "recovering" {
            return Err(format!("the first of it: {event:?}"));
        }
        if let Some(agent) = event.subject.strip_prefix("agents:").filter(|_| !is_restored) {
            let version = of_agents.entry(agent.to_owned()).or_insert(event.version - 1);
            *version += 1;
            if *version != event.version {
                return Err(format!("{agent} is at {version}: {event:?}"));
            }
        }
        if let Some(task) = event.subject.strip_prefix("tasks:") {
            let agent = tell(lives.entry(task.to_owned()).or_default(), event)?;
            if let Some(version) = agent.and_then(|agent| of_agents.get_mut(&agent)) {
                *version += 1;
            }
        }
    }
    for (task, life) in &mut lives {
        let record = picture.tasks.get(task).ok_or_else(|| format!("{task} is gone"))?;
        let fence: u64 = field(record, "fence").parse().unwrap_or_default();
        life.base = fence
            .checked_sub(life.counted)
            .ok_or_else(|| format!("{task} is at {fence}: {}", life.counted))?;
    }
    check_last(picture, &records, &of_agents)?;
    Ok(lives)
}

/// What an event does to a task: the agent that it changes too.
fn tell(life: &mut Life, event: &Event) -> Result<Option<String>, String> {
    let reported = |life: &mut Life, report| life.end(event, End::Reported(report)).map(Some);
    match (event.kind.as_str(), event.to.as_str()) {
        ("claim_task", _) => {
            if life.claims.last().is_some_and(|claim| {
                claim.end != End::TakenBack && claim.end != End::Reported(Report::GivenUp)
            }) {
                return Err(format!("it is held or finished, and yet: {event:?}"));
            }
            life.counted += 1;
            let claim = Claimed { agent: event.by.clone(), number: life.counted, end: End::Open };
            life.claims.push(claim);
            Ok(Some(event.by.clone()))
        }
        ("complete_task", "completed") => reported(life, Report::Completed),
        ("fail_task", "pending") => reported(life, Report::GivenUp),
        ("fail_task", "failed") => reported(life, Report::FailedForGood),
        ("requeue_task", _) => {
            life.counted += 1;
            life.end(event, End::TakenBack).map(Some)
        }
        _ => Ok(None),
    }
}

/// The records are as the last event of each says.
fn check_last(
    picture: &Picture,
    records: &BTreeMap<&str, (&str, Option<u64>)>,
    of_agents: &BTreeMap<String, u64>,
) -> Result<(), String> {
    let tasks = picture.tasks.iter().map(|(id, task)| (format!("tasks:{id}"), task));
    let rounds = picture.rounds.iter().map(|(round, fields)| (format!("consensus:{round}"), fields));
    let header = std::iter::once(("header".to_owned(), &picture.header));
    for (name, record) in tasks.chain(rounds).chain(header) {
        let is = (field(record, "status"), field(record, "version").parse::<u64>().ok());
        match records.get(name.as_str()) {
            // Restored, and not changed since.
            Some((_, None)) => {}
            Some(told) if *told == is => {}
            told => return Err(format!("{name} is {is:?}, and was told to be {told:?}")),
        }
    }
    for (id, agent) in &picture.agents {
        let (version, counted) = (field(agent, "version"), of_agents.get(id));
        if counted.is_some_and(|counted| counted.to_string() != version) {
            return Err(format!("{id} is at version {version}, and was changed {counted:?} times"));
        }
    }
    Ok(())
}

/// Whether what workers were told of a task is what happened; how often it is not known to them.
pub(crate) fn compare(task: &str, life: &Life, book: &Book) -> Result<(), String> {
    let last = life.base + life.counted;
    let of_life = (task.to_owned(), life.base)..=(task.to_owned(), last);
    for ((_, fence), held) in book.claims.range(of_life) {
        let number = fence - life.base;
        let claim = life.claims.iter().find(|claim| claim.number == number);
        match claim {
            Some(claim) if claim.agent == held.agent => {}
            _ => {
                return Err(format!(
                    "{task} was given to {held:?} under {fence}, and the events tell {claim:?}"
                ));
            }
        }
    }
    for claim in &life.claims {
        let held = book.claims.get(&(task.to_owned(), life.base + claim.number));
        if !fits(claim.end, held) {
            return Err(format!("{task}: {claim:?}, and its holder knows {held:?}"));
        }
    }
    Ok(())
}

/// Whether the holder of a claim may know this of its end. Who was told nothing may believe anything.
fn fits(end: End, held: Option<&Held>) -> bool {
    let reports = held.map_or(&[][..], |held| held.reports.as_slice());
    let is = |report, told| reports.contains(&(report, told));
    match end {
        End::Reported(report) => {
            let others = reports.iter().any(|(what, told)| *what != report && *told == Told::Ok);
            let oks = reports.iter().filter(|(_, told)| *told == Told::Ok).count();
            (is(report, Told::Ok) || is(report, Told::Unknown)) && !others && oks <= 1
        }
        End::TakenBack | End::Open => reports.iter().all(|(_, told)| *told != Told::Ok),
    }
}
