//! What workers asked and were told, kept outside of all hosts: it does not crash with them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use keyplane_swarm::state::Claim;

use crate::world::HOSTS;

/// What a worker reports at the end of its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Report {
    Completed,
    GivenUp,
    FailedForGood,
}

/// What it was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Told {
    Ok,
    /// The claim is not its own any more.
    Refused,
    /// No answer, or nobody was there any more to hear it.
    Unknown,
}

/// A claim that a worker was given, and what came of it as far as it knows.
#[derive(Debug, Clone)]
pub(crate) struct Held {
    pub(crate) agent: String,
    pub(crate) reports: Vec<(Report, Told)>,
    /// It was told once that the claim is not its own any more.
    is_refused: bool,
}

/// A task and the number of a claim.
pub(crate) type ClaimId = (String, u64);

#[derive(Debug, Default)]
pub(crate) struct Book {
    pub(crate) steps: Vec<String>,
    pub(crate) crashes: u64,
    pub(crate) store_crashes: u64,
    pub(crate) claims: BTreeMap<ClaimId, Held>,
    /// The first that was seen on the way and must not be.
    pub(crate) wrong: Option<String>,
    /// Votes that were taken: round and agent.
    pub(crate) votes: BTreeSet<(u64, String)>,
    /// The round that is open, as validators know it.
    pub(crate) round: u64,
    /// The next task that each host adds to the plan.
    pub(crate) next: [u64; HOSTS.len()],
    pub(crate) starts: [u64; HOSTS.len()],
    /// Tasks that were completed in the checkpoint that a lost swarm begins from.
    pub(crate) settled: BTreeSet<String>,
    /// The highest number of a claim before the loss; 0 while nothing was lost.
    pub(crate) lost_at: u64,
    /// Recoveries that were carried through.
    pub(crate) recoveries: u64,
    /// Nobody has anything to do any more.
    pub(crate) is_over: bool,
}

pub(crate) type Shared = Arc<Mutex<Book>>;

impl Book {
    pub(crate) fn step(&mut self, what: &str) {
        let moment = turmoil::sim_elapsed().unwrap_or_default().as_millis();
        self.steps.push(format!("{moment:>7} ms  {what}"));
    }

    pub(crate) fn wrong(&mut self, what: String) {
        if self.wrong.is_none() {
            self.step(&what);
            self.wrong = Some(what);
        }
    }

    pub(crate) fn claimed(&mut self, claim: &Claim) {
        let (task, agent) = (claim.task.to_string(), claim.agent.to_string());
        self.step(&format!("{agent} has {task} under {}, attempt {}", claim.fence, claim.attempt));
        let is_finished = |held: &Held| {
            held.reports.iter().any(|(what, told)| *what != Report::GivenUp && *told == Told::Ok)
        };
        // After a loss numbers are higher than before it.
        let is_second = claim.fence > self.lost_at;
        let (from, to) = if is_second { (self.lost_at + 1, u64::MAX) } else { (0, self.lost_at) };
        let mut earlier = self.claims.range((task.clone(), from)..=(task.clone(), to));
        if earlier.any(|(_, held)| is_finished(held)) {
            self.wrong(format!("{task} was finished and is claimed again"));
        }
        if is_second && self.settled.contains(&task) {
            self.wrong(format!("{task} was finished before the checkpoint and is claimed again"));
        }
        // Who holds a task and asks again is told its claim once more.
        let held = Held { agent: agent.clone(), reports: Vec::new(), is_refused: false };
        if self.claims.entry((task.clone(), claim.fence)).or_insert(held).agent != agent {
            self.wrong(format!("{task} was given out twice under {}", claim.fence));
        }
    }

    /// What the same agent has held of the same task before.
    pub(crate) fn earlier(&self, claim: &Claim) -> Vec<Claim> {
        let task = claim.task.to_string();
        let of_task = self.claims.range((task.clone(), 0)..(task, claim.fence));
        let own = of_task.filter(|(_, held)| held.agent == claim.agent.as_str());
        own.map(|((_, fence), _)| {
            let mut earlier = claim.clone();
            earlier.fence = *fence;
            earlier
        })
        .collect()
    }

    /// A report is about to be made: nobody knows yet.
    pub(crate) fn asks(&mut self, claim: &Claim, report: Report) {
        self.held(claim).reports.push((report, Told::Unknown));
    }

    /// The answer to the report that was made last.
    pub(crate) fn told(&mut self, claim: &Claim, told: Told) {
        let held = self.held(claim);
        let was_refused = held.is_refused;
        held.is_refused |= told == Told::Refused;
        if let Some(last) = held.reports.last_mut() {
            last.1 = told;
        }
        let what = held.reports.last().copied();
        let (agent, task, fence) = (&claim.agent, &claim.task, claim.fence);
        self.step(&format!("{agent} reports {task} under {fence}: {what:?}"));
        if was_refused && told == Told::Ok {
            self.wrong(format!("{agent} was refused {task} under {fence}, and heard again"));
        }
    }

    /// A sign of life on a claim: whether it is still its own, if that is known.
    pub(crate) fn progressed(&mut self, claim: &Claim, told: Told) {
        let held = self.held(claim);
        let was_refused = held.is_refused;
        held.is_refused |= told == Told::Refused;
        if was_refused && told == Told::Ok {
            let (agent, task) = (&claim.agent, &claim.task);
            self.wrong(format!("{agent} was refused {task} under {}, and goes on", claim.fence));
        }
    }

    fn held(&mut self, claim: &Claim) -> &mut Held {
        self.claims.get_mut(&(claim.task.to_string(), claim.fence)).expect("it was claimed")
    }
}
