//! What is found when all is quiet, against what workers were told.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use crate::journal::{Book, Report, Told};
use crate::machine::is_doomed;
use crate::picture::{Picture, field};
use crate::replay::{End, Life, compare, replay};
use crate::setup::task_id;
use crate::world::TASKS;

/// What a run showed.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) rounds: u64,
    pub(crate) finished: u64,
    pub(crate) failed: u64,
    pub(crate) claims: u64,
    pub(crate) taken_back: u64,
    /// Reports that were refused.
    pub(crate) refused: u64,
    /// Reports that had no answer.
    pub(crate) unknown: u64,
    pub(crate) voted: u64,
    pub(crate) crashes: u64,
    pub(crate) store_crashes: u64,
    pub(crate) recoveries: u64,
    /// Finished before a loss: in the checkpoint, or to be done once more.
    pub(crate) kept: u64,
    pub(crate) repeated: u64,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.rounds += other.rounds;
        self.finished += other.finished;
        self.failed += other.failed;
        self.claims += other.claims;
        self.taken_back += other.taken_back;
        self.refused += other.refused;
        self.unknown += other.unknown;
        self.voted += other.voted;
        self.crashes += other.crashes;
        self.store_crashes += other.store_crashes;
        self.recoveries += other.recoveries;
        self.kept += other.kept;
        self.repeated += other.repeated;
    }
}

/// What was seen of the store.
#[derive(Debug, Default, Hash)]
pub(crate) struct Found {
    /// Right before the loss, if there was one.
    pub(crate) before: Option<Picture>,
    pub(crate) last: Picture,
}

impl Found {
    pub(crate) fn check(&self, book: &Book) -> Result<Tally, String> {
        if let Some(wrong) = &book.wrong {
            return Err(wrong.clone());
        }
        self.last.check()?;
        let mut tally = Tally { rounds: 1, crashes: book.crashes, ..Tally::default() };
        tally.store_crashes = book.store_crashes;
        tally.recoveries = book.recoveries;
        let reports = book.claims.values().flat_map(|held| &held.reports);
        for (_, told) in reports {
            tally.refused += u64::from(*told == Told::Refused);
            tally.unknown += u64::from(*told == Told::Unknown);
        }
        if let Some(before) = &self.before {
            let lives = all_lives(before, book, &mut tally)?;
            let done = lives.iter().filter(|(_, life)| life.ended(End::Reported(Report::Completed)) > 0);
            let kept = done.clone().filter(|(task, _)| book.settled.contains(*task)).count() as u64;
            tally.kept += kept;
            tally.repeated += done.count() as u64 - kept;
        }
        let lives = all_lives(&self.last, book, &mut tally)?;
        for number in 0..TASKS {
            self.check_task(number, &lives, book, &mut tally)?;
        }
        self.check_votes(book, &mut tally)?;
        Ok(tally)
    }

    /// Every task ended as it had to, once.
    fn check_task(
        &self,
        number: u64,
        lives: &BTreeMap<String, Life>,
        book: &Book,
        tally: &mut Tally,
    ) -> Result<(), String> {
        let id = task_id(number).to_string();
        let record = self.last.tasks.get(&id).ok_or_else(|| format!("there is no {id}"))?;
        let (report, status) = match is_doomed(number) {
            true => (Report::FailedForGood, "failed"),
            false => (Report::Completed, "completed"),
        };
        let no_life = Life::default();
        let life = lives.get(&id).unwrap_or(&no_life);
        let times = life.ended(End::Reported(report));
        let is_settled = book.settled.contains(&id);
        if field(record, "status") != status || times != u64::from(!is_settled) {
            return Err(format!("{id} ended {times} times (settled: {is_settled}): {record:?}, {life:#?}"));
        }
        if is_settled && !life.claims.is_empty() {
            return Err(format!("{id} was finished before the loss, and yet: {life:#?}"));
        }
        tally.finished += u64::from(status == "completed");
        tally.failed += u64::from(status == "failed");
        Ok(())
    }

    /// Votes that were taken are there, unless their round was lost.
    fn check_votes(&self, book: &Book, tally: &mut Tally) -> Result<(), String> {
        for (round, agent) in &book.votes {
            let there =
                self.last.rounds.get(round).is_some_and(|round| round.contains_key(&format!("vote:{agent}")));
            if !there && self.before.is_none() {
                return Err(format!("{agent} has voted in round {round}, and its vote is not there"));
            }
            tally.voted += u64::from(there);
        }
        Ok(())
    }
}

fn all_lives(picture: &Picture, book: &Book, tally: &mut Tally) -> Result<BTreeMap<String, Life>, String> {
    let lives = replay(picture)?;
    for (task, life) in &lives {
        compare(task, life, book)?;
        tally.claims += life.claims.len() as u64;
        tally.taken_back += life.ended(End::TakenBack);
    }
    Ok(lives)
}
