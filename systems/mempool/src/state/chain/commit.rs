//! Carrying out a step: what the script is given, and what it is brought when it asks.

use std::collections::HashMap;

use keyplane_key::Arg;
use keyplane_kit::Fence;
use keyplane_store::{Reply, read_reply};

use super::{MOST_DUE, Outcome, Step, View};
use crate::model::{self, InflightRecord, Move, Payload, Trim, TxHash};
use crate::scripts;
use crate::state::error::{ConfirmError, ReadError};
use crate::state::read::{Finished, finished};
use crate::state::{Inner, Pool};

/// Payloads that the script did not find, from records; [`Payload::gone`] if they are nowhere.
type Brought = HashMap<TxHash, Payload>;

impl Pool {
    /// Carries out a step, all of it or nothing. A transaction whose bytes are gone moves without them: the chain needs none.
    pub(in crate::state) async fn commit(
        &self,
        fence: &Fence,
        view: &View,
        step: &Step,
    ) -> Result<Outcome, ConfirmError> {
        let trims = self.trims(view, &step.moves).await?;
        let mut brought = Brought::new();
        loop {
            match self.run_commit(fence, view, step, &trims, &brought).await? {
                (word, _) if word == "fenced" => return Err(ConfirmError::Fenced),
                (word, Some(told)) if word == "payloads" => {
                    let texts: Vec<String> =
                        read_reply(told).map_err(|error| ReadError::damaged("payload", "a step", &error))?;
                    for text in texts {
                        let hash = text.parse().map_err(|error| ReadError::damaged("stage", text, &error))?;
                        brought.insert(hash, self.rescue(&hash).await?);
                    }
                }
                (word, Some(Reply::Int(left))) if word == "ok" => {
                    self.tell_gone(&brought);
                    return Ok(Outcome::Done { due_left: u64::try_from(left).unwrap_or_default() });
                }
                _ => return Ok(Outcome::Changed),
            }
        }
    }

    /// One line, however many there are: an eviction takes them all.
    fn tell_gone(&self, brought: &Brought) {
        let gone = brought.iter().filter(|(_, payload)| payload.is_gone()).map(|(hash, _)| hash);
        if let Some(first) = gone.clone().min() {
            let (txs, node_id) = (gone.count(), self.node_id());
            tracing::warn!(node_id, txs, %first, "moved transactions whose bytes are gone from the store");
        }
    }

    async fn run_commit(
        &self,
        fence: &Fence,
        view: &View,
        step: &Step,
        trims: &[Trim],
        brought: &Brought,
    ) -> Result<(String, Option<Reply>), ConfirmError> {
        let Inner { watcher, names, id, most_events, .. } = &*self.0;
        let payloads =
            names.payloads(step.moves.iter().map(|one| &one.tx).chain(trims.iter().map(|trim| &trim.tx)));
        let text = |value: Option<String>| Arg::from(value.unwrap_or_default());
        let applied = step.applied.as_ref().map(|applied| serde_json::to_string(applied).unwrap_or_default());
        let tip = step.tip.or(view.tip);
        let call = scripts::Commit {
            watcher_lock_fence: fence.key(),
            tip: &names.tip,
            applied: &names.applied,
            stage: &names.stage,
            pending: &names.pending,
            inflight: &names.inflight,
            finalized: &names.finalized,
            finalized_index: &names.finalized_index,
            seq: &names.seq,
            due: &names.due,
            offered: &names.offered,
            inputs: &names.inputs,
            stats: &names.stats,
            events: &names.events,
            payload: payloads.iter().collect(),
            fence: fence.into(),
            commits: view.commits.into(),
            node: id.into(),
            most_events: (*most_events).into(),
            height: text(tip.map(|tip| tip.height.to_string())),
            slot: text(step.tip.map(|tip| tip.point.slot.to_string())),
            block: text(step.tip.map(|tip| tip.point.hash.to_string())),
            changes: text(applied),
            forget: text(step.forget.map(|height| height.to_string())),
            base: text(
                step.tip.filter(|_| step.is_first).map(|tip| tip.height.saturating_sub(1).to_string()),
            ),
            plan: plan(step, tip.map(|tip| tip.height), trims, brought),
        };
        let mut told: Vec<Reply> = watcher.call(call).await?;
        let second = (told.len() > 1).then(|| told.remove(1));
        let word = told.pop().map(read_reply::<String>).transpose();
        Ok((word.ok().flatten().unwrap_or_default(), second))
    }

    /// The oldest finished ones, if this step makes them too many. They go in the same step.
    async fn trims(&self, view: &View, moves: &[Move]) -> Result<Vec<Trim>, ConfirmError> {
        let Inner { watcher, names, settings, .. } = &*self.0;
        let added = moves.iter().filter(|one| one.to.stage.is_final()).count() as u64;
        if view.finalized + added <= settings.max_finalized {
            return Ok(Vec::new());
        }
        let replaced: Vec<String> = model::replaced(moves).iter().map(ToString::to_string).collect();
        let old = match replaced.is_empty() {
            true => 0,
            false => watcher.run(names.finalized_index.hmget(&replaced)).await?.iter().flatten().count(),
        };
        let after = (view.finalized + added).saturating_sub(old as u64);
        let over = after.saturating_sub(settings.max_finalized).min(MOST_DUE as u64) as usize;
        if over == 0 {
            return Ok(Vec::new());
        }
        let oldest =
            watcher.run(names.finalized.zrange_with_scores(0, (over + old) as i64 - 1)).await?.into_iter();
        let log: Vec<Finished> = oldest.map(finished).collect::<Result<_, _>>()?;
        let log: Vec<(TxHash, u64)> = log.iter().map(|item| (item.entry.hash, item.seq)).collect();
        Ok(model::trim(over, &log, moves))
    }

    /// The bytes of a transaction whose payload is gone, from its record or its finished entry.
    async fn rescue(&self, hash: &TxHash) -> Result<Payload, ConfirmError> {
        let Inner { watcher, names, .. } = &*self.0;
        if let Some(record) = watcher.run(names.inflight.hget(hash.bytes())).await? {
            let record = InflightRecord::from_cbor(&record)
                .map_err(ReadError::record("inflight", hash.to_string()))?;
            return Ok(record.payload);
        }
        let seq = watcher.run(names.finalized_index.hget(hash.to_string()).reading::<Option<u64>>()).await?;
        let Some(seq) = seq else { return Ok(Payload::gone()) };
        let page = self.read_finalized(seq, 1).await?;
        let entry = page.items.into_iter().find(|item| item.entry.hash == *hash);
        Ok(entry.map_or_else(Payload::gone, |item| item.entry.payload))
    }
}

/// The plan as the script reads it.
fn plan(step: &Step, height: Option<u64>, trims: &[Trim], brought: &Brought) -> Vec<Arg<'static>> {
    let mut plan: Vec<Arg<'static>> = vec![step.moves.len().into()];
    for one in &step.moves {
        let (before, behind) = one.frame(height);
        let brought = brought.get(&one.tx);
        let reason = match brought {
            Some(payload) if payload.is_gone() => one.reason.without_bytes(),
            _ => one.reason,
        };
        plan.push(one.tx.bytes().to_vec().into());
        plan.push(one.tx.to_string().into());
        plan.push(one.from.to_string().into());
        plan.push(one.to.to_string().into());
        plan.push(one.due.map_or_else(String::new, |due| due.to_string()).into());
        plan.push(before.into());
        plan.push(behind.into());
        plan.push(reason.word().into());
        plan.push(brought.map(Payload::to_cbor).unwrap_or_default().into());
    }
    plan.push(trims.len().into());
    for trim in trims {
        plan.push(trim.tx.to_string().into());
        plan.push(trim.seq.map_or_else(String::new, |seq| seq.to_string()).into());
    }
    plan.extend(step.unknown.iter().map(|hash| Arg::from(hash.to_string())));
    plan
}
