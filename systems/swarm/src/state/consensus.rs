//! Consensus rounds. The rule is the [model's](crate::model::Ballot).

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use keyplane_store::Reply;
use serde_json::{Value, json};

use super::error::OpError;
use super::outcome::Done;
use super::{Inner, MOST_TRIES, Swarms, check, flat, millis};
use crate::keys::{AgentId, PhaseId, Round, SwarmId};
use crate::model::{self, Ballot, Tally, Verdict};
use crate::scripts;

/// Rounds that are looked at in one round trip.
const AT_ONCE: usize = 200;

/// Rounds that are looked at at all, the newest: as many as a swarm can list.
const MOST_ROUNDS: u64 = 10_000;

/// What tells whether a round is due.
const DUE: [&str; 2] = ["status", "closesAt"];

/// A round to be.
#[derive(Debug, Clone, PartialEq)]
pub struct NewRound {
    /// The score that it needs, 0 to 1.
    pub required: f64,
    /// Validators that may vote.
    pub eligible: u64,
    /// How long it is open.
    pub lasts: Duration,
    /// The phase that is judged.
    pub phase: Option<PhaseId>,
    /// Tries before this one.
    pub iteration: u64,
    /// Tries after which a person is asked.
    pub most_tries: u64,
}

/// What follows from a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Go on.
    Proceed,
    /// Try again.
    Retry,
    /// Ask a person.
    Escalate,
}

impl Decision {
    /// As rounds spell it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Proceed => "PROCEED",
            Self::Retry => "RETRY",
            Self::Escalate => "ESCALATE",
        }
    }
}

impl Swarms {
    /// Opens the next round: its number.
    pub async fn open_round(&self, swarm: &SwarmId, new: &NewRound, by: &str) -> Result<u64, OpError> {
        let Inner { coordinator, keyspace, most, most_members, round_fields, .. } = &*self.0;
        let names = self.names(swarm)?;
        let mut fields = vec![
            ("requiredConfidence", new.required.to_string()),
            ("eligible", new.eligible.to_string()),
            ("iteration", new.iteration.to_string()),
            ("mostTries", new.most_tries.to_string()),
        ];
        fields.extend(new.phase.as_ref().map(|phase| ("phase", phase.to_string())));
        check(round_fields, &fields)?;
        let mut number = 1;
        for _ in 0..MOST_TRIES {
            let round = Round::new(number).map_err(|_| OpError::Unreadable(number.to_string()))?;
            let key = keyspace.consensus(swarm, round);
            let call = scripts::OpenRound {
                swarm: &names.swarm,
                consensus: &key,
                records: &names.records,
                events: &names.events,
                dirty: &names.dirty,
                swarm_outbox: &names.outbox,
                id: swarm.as_str().into(),
                active_index: (&names.active_index).into(),
                most: (*most).into(),
                by: by.into(),
                round: number.into(),
                lasts: Self::millis(new.lasts),
                most_records: most_members.records.into(),
                fields: flat(&fields),
            };
            let told: Vec<Reply> = coordinator.call(call).await?;
            let told = self.told(swarm, &told).await;
            match told.word() {
                "ok" => return Ok(number),
                "round" => number = told.number(1) + 1,
                _ => return Err(told.refusal(swarm, &number.to_string(), "")),
            }
        }
        Err(OpError::Contended { times: MOST_TRIES })
    }

    /// Casts a validator's vote, or replaces it while the round is open: how many have voted.
    pub async fn vote(
        &self,
        swarm: &SwarmId,
        agent: &AgentId,
        round: Round,
        confidence: f64,
        reasoning: &str,
    ) -> Result<u64, OpError> {
        let Inner { agent: handle, keyspace, most, agent_fields, most_of_round, .. } = &*self.0;
        let names = self.names(swarm)?;
        let (voter, key) = (keyspace.agent(swarm, agent), keyspace.consensus(swarm, round));
        let log = keyspace.vote_log(swarm, round);
        // In digits, as it stands in the vote: a number that has none is refused.
        let sure = confidence.to_string();
        agent_fields.check("confidence", sure.as_bytes())?;
        let quoted = Value::from(reasoning).to_string();
        let call = scripts::Vote {
            swarm: &names.swarm,
            agent: &voter,
            consensus: &key,
            vote_log: &log,
            events: &names.events,
            dirty: &names.dirty,
            swarm_outbox: &names.outbox,
            id: swarm.as_str().into(),
            active_index: (&names.active_index).into(),
            most: (*most).into(),
            by: agent.as_str().into(),
            agent_id: agent.as_str().into(),
            round: round.get().into(),
            confidence: (&sure).into(),
            verdict: Verdict::of(confidence).word().into(),
            reasoning: reasoning.into(),
            quoted: (&quoted).into(),
            most_fields: most_of_round.0.into(),
            most_bytes: most_of_round.1.into(),
        };
        let told: Vec<Reply> = handle.call(call).await?;
        let told = self.told(swarm, &told).await;
        match told.word() {
            "ok" => Ok(told.number(3)),
            "stranger" => {
                Err(OpError::NoValidator { agent: agent.to_string(), kind: told.text(1).to_owned() })
            }
            "left" => Err(OpError::LeftVoter { agent: agent.to_string(), status: told.text(1).to_owned() }),
            _ => Err(told.refusal(swarm, &format!("round {}", round.get()), "")),
        }
    }

    /// Closes a round by the one rule, when all have voted or its time is up. A failed one is tried again until
    /// `most_tries`, or as it was opened with.
    pub async fn close_round(
        &self,
        swarm: &SwarmId,
        round: Round,
        most_tries: impl Into<Option<u64>>,
        by: &str,
    ) -> Result<(Tally, Decision, Done), OpError> {
        let Inner { coordinator, keyspace, most, .. } = &*self.0;
        let names = self.names(swarm)?;
        let key = keyspace.consensus(swarm, round);
        let (id, most_tries) = (format!("round {}", round.get()), most_tries.into());
        for _ in 0..MOST_TRIES {
            let seen = self.fields_of(&key).await?;
            let number = |field: &str| seen.get(field).and_then(|text| text.parse::<f64>().ok());
            let votes = votes(&seen).ok_or_else(|| OpError::Unreadable(format!("the votes of {id}")))?;
            let ballot = Ballot {
                eligible: number("eligible").map_or(1, |eligible| eligible as u64),
                required: number("requiredConfidence").unwrap_or(0.9),
                votes: votes.iter().filter_map(|vote| vote["confidence"].as_f64()).collect(),
            };
            let tally = ballot.tally();
            let tries = number("iteration").map_or(0, |iteration| iteration as u64);
            let kept = || number("mostTries").map(|tries| tries as u64);
            let most_tries = most_tries.or_else(kept).unwrap_or(model::MOST_TRIES);
            let decision = match tally.is_achieved {
                true => Decision::Proceed,
                false if tries + 1 < most_tries => Decision::Retry,
                false => Decision::Escalate,
            };
            let told_decision = json!({ "type": decision.word(), "reasoning": reason(&tally, &ballot) });
            let (all, what) = (Value::from(votes).to_string(), told_decision.to_string());
            let call = scripts::CloseRound {
                swarm: &names.swarm,
                consensus: &key,
                events: &names.events,
                dirty: &names.dirty,
                swarm_outbox: &names.outbox,
                id: swarm.as_str().into(),
                active_index: (&names.active_index).into(),
                most: (*most).into(),
                by: by.into(),
                round: round.get().into(),
                expected: seen.get("version").cloned().unwrap_or_else(|| "0".to_owned()).into(),
                is_complete: u64::from(tally.is_complete).into(),
                to: if tally.is_achieved { "achieved" } else { "failed" }.into(),
                score: tally.score.to_string().into(),
                votes: (&all).into(),
                decision: (&what).into(),
            };
            let told: Vec<Reply> = coordinator.call(call).await?;
            let told = self.told(swarm, &told).await;
            match told.word() {
                "ok" => return Ok((tally, decision, told.done())),
                // A vote came in between.
                "conflict" => {}
                _ => return Err(told.refusal(swarm, &id, "")),
            }
        }
        Err(OpError::Contended { times: MOST_TRIES })
    }

    /// Closes those of a swarm's rounds whose time was over at `now`, which is the server's time: how many.
    pub async fn close_due_rounds(&self, swarm: &SwarmId, now: u64, by: &str) -> Result<u64, OpError> {
        let mut closed = 0;
        for round in self.due_rounds(swarm, now).await? {
            match self.close_round(swarm, round, None, by).await {
                Ok(_) => closed += 1,
                // Another was faster, it has gone, or somebody has typed what only a person can read.
                Err(
                    OpError::Closed { .. }
                    | OpError::Early { .. }
                    | OpError::Unknown { .. }
                    | OpError::Unreadable(_),
                ) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(closed)
    }

    /// Rounds that are open although their time is over. One without a deadline waits for its voters.
    async fn due_rounds(&self, swarm: &SwarmId, now: u64) -> Result<Vec<Round>, OpError> {
        let Inner { janitor, keyspace, closed_rounds, .. } = &*self.0;
        let header: Vec<Option<String>> =
            janitor.run(self.names(swarm)?.swarm.hmget(["currentRound", "recovery"]).reading()).await?;
        let field = |at: usize| header.get(at).and_then(Option::as_deref).unwrap_or_default();
        let newest: u64 = field(0).parse().unwrap_or_default();
        let life = recoveries(field(1));
        let oldest = closed_rounds.until(swarm, life).max(newest.saturating_sub(MOST_ROUNDS)) + 1;
        let rounds: Vec<Round> = (oldest..=newest).filter_map(|number| Round::new(number).ok()).collect();
        let (mut due, mut first_open) = (Vec::new(), newest + 1);
        for some in rounds.chunks(AT_ONCE) {
            let reads = some.iter().map(|round| keyspace.consensus(swarm, *round).hmget(DUE).reading());
            let found: Vec<Vec<Option<String>>> = janitor.run_all(reads).await?;
            for (round, fields) in some.iter().zip(found).filter(|(_, fields)| is_open(fields)) {
                first_open = first_open.min(round.get());
                due.extend(is_due(&fields, now).then_some(*round));
            }
        }
        closed_rounds.put(swarm, life, first_open.saturating_sub(1));
        Ok(due)
    }
}

/// Rounds of swarms that are known to be closed for good, so that they are not looked at again and again: all up to a number.
#[derive(Debug, Default)]
pub(super) struct ClosedRounds(Mutex<HashMap<SwarmId, (u64, u64)>>);

impl ClosedRounds {
    /// More swarms than that are not remembered: their rounds are looked at once more.
    const MOST: usize = 10_000;

    /// The last of them. With each recovery, some may have come back that were not there.
    fn until(&self, swarm: &SwarmId, life: u64) -> u64 {
        let known = self.known().get(swarm).copied();
        known.filter(|(of, _)| *of == life).map_or(0, |(_, until)| until)
    }

    fn put(&self, swarm: &SwarmId, life: u64, until: u64) {
        let mut known = self.known();
        if known.len() >= Self::MOST && !known.contains_key(swarm) {
            known.clear();
        }
        match until {
            0 => drop(known.remove(swarm)),
            _ => drop(known.insert(swarm.clone(), (life, until))),
        }
    }

    fn known(&self) -> MutexGuard<'_, HashMap<SwarmId, (u64, u64)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How often a swarm was recovered, by its header.
fn recoveries(recovery: &str) -> u64 {
    let known: Value = serde_json::from_str(recovery).unwrap_or_default();
    known["recoveryAttempts"].as_u64().unwrap_or_default()
}

/// Whether a round with these of its fields is there and open.
fn is_open(fields: &[Option<String>]) -> bool {
    let status = fields.first().and_then(Option::as_deref);
    status.is_some_and(|status| status != "achieved" && status != "failed")
}

/// Whether the time of a round with these of its fields is over.
fn is_due(fields: &[Option<String>], now: u64) -> bool {
    let closes_at = fields.get(1).and_then(|at| millis(at.as_deref()?));
    closes_at.is_some_and(|closes_at| closes_at <= now)
}

/// The votes of a round, one for each agent, by their agents: those that were typed into one field, as the seed has it, and before
/// them those that were cast. `None` if what was typed is no list of votes; closing the round would throw it away.
fn votes(round: &BTreeMap<String, String>) -> Option<Vec<Value>> {
    let mut votes: BTreeMap<String, Value> = BTreeMap::new();
    let typed = round.get("votes").filter(|typed| !typed.is_empty());
    let typed: Vec<Value> = typed.map_or(Some(Vec::new()), |typed| serde_json::from_str(typed).ok())?;
    for vote in typed {
        votes.insert(vote["agentId"].as_str()?.to_owned(), vote);
    }
    for (field, vote) in round {
        let Some(agent) = field.strip_prefix("vote:") else { continue };
        votes.extend(serde_json::from_str(vote).ok().map(|vote| (agent.to_owned(), vote)));
    }
    Some(votes.into_values().collect())
}

fn reason(tally: &Tally, ballot: &Ballot) -> String {
    let voted = ballot.votes.len();
    format!(
        "{voted} of {} voted, {} needed; score {:.3}, {} needed",
        ballot.eligible, tally.quorum, tally.score, ballot.required
    )
}
