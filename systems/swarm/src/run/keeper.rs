//! What keeps swarms in order.
//!
//! # What it promises
//! - The indexes follow what is changed through this process within a moment, and what others have left within
//!   [`Pace::reconcile`]; an index in which nothing changes lives on.
//! - A task whose holder died is given back within [`Pace::look`] of the end of its lease.
//! - A consensus round whose time is over is closed within [`Pace::look`], by the rule that closes all.
//! - As long as something happens in a swarm, its children live as long as it does.
//! - A swarm in which something happens is saved every [`Pace::save`]; old checkpoints are thinned out.
//! - A swarm that has ended is saved, and then removed in batches: its keys do not wait to run out all at once.
//! - **Several keepers may run at once.** Each step may be repeated, and what two do at the same time is done once.
//! - **It lives through a store that is away**: what fails is counted, told, and done the next time.
//! - **A swarm that cannot be kept holds up no other**: somebody may have written what belongs elsewhere under its keys.
//!
//! # What it does not
//! - It finds no swarm that no index lists and that was not changed through this process. A process that ends at once feeds
//!   its own ([`Swarms::feed_touched`]).

use std::sync::Arc;
use std::time::Duration;

use keyplane_kit::checkpoint::Retention;
use keyplane_kit::rfc3339;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

use crate::Swarms;
use crate::keys::{Status, SwarmId, Window};
use crate::state::{CheckpointOptions, Filter, MOST_STATE, OpError};

/// Tasks taken back from one swarm in one look.
const AT_ONCE: u64 = 1000;

/// A swarm this large is told of before it is too large.
const LARGE: u64 = MOST_STATE as u64 / 10 * 8;

/// Swarms in which something happened within this time have their horizon moved.
const ACTIVE: Duration = Duration::from_secs(600);

/// With so many swarms the store may fail in a step before that is left for the next time: it is away.
const MOST_FAILED: usize = 3;

/// How soon what failed is tried again.
const AGAIN: Duration = Duration::from_secs(1);

/// How often what is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pace {
    /// How long changes gather before the indexes hear of them.
    pub feed: Duration,
    /// Between two looks for tasks whose leases ran out, and rounds whose time is over.
    pub look: Duration,
    /// Between two roll-ups of the short windows, 1m and 5m.
    pub roll_up: Duration,
    /// Between two roll-ups of the long windows, 1h and 24h: these read a day of samples.
    pub roll_up_long: Duration,
    /// Between two reconciles. Well within the 300 s that an index lives.
    pub reconcile: Duration,
    /// Between two checkpoints of a swarm in which something happens.
    pub save: Duration,
    /// How long a swarm stays after its end.
    pub keep_finished: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            feed: Duration::from_millis(100),
            look: Duration::from_secs(5),
            roll_up: Duration::from_secs(15),
            roll_up_long: Duration::from_secs(300),
            reconcile: Duration::from_secs(120),
            save: Duration::from_secs(30),
            keep_finished: Duration::from_secs(600),
        }
    }
}

keyplane_kit::counters! {
    /// What a keeper counts.
    Counters {
        /// Notes applied to the indexes.
        notes,
        /// Tasks taken back from holders that fell silent.
        taken_back,
        /// Consensus rounds closed because their time was over.
        closed,
        /// Horizons moved.
        stretched,
        /// Checkpoints made.
        saved,
        /// Full checkpoints that take more than four fifths of what a swarm may amount to.
        large,
        /// Checkpoints removed because nobody needs them any more.
        thinned,
        /// Swarms whose scores were computed.
        rolled_up,
        /// Members removed from indexes because their swarms were gone.
        reconciled,
        /// Swarms that were listed otherwise than they say, and are no longer.
        corrected,
        /// Swarms that ran out without having ended.
        expired,
        /// Finished swarms removed.
        removed,
        /// Steps that failed and will be done the next time.
        failed,
    }
}

/// A keeper at work. Dropping it stops it in the middle, which does no harm; prefer [`stop`](Self::stop).
#[derive(Debug)]
pub struct Keeper {
    stopping: watch::Sender<bool>,
    task: JoinHandle<()>,
    counters: Arc<Counters>,
}

impl Keeper {
    /// Starts one. Needs a tokio runtime.
    #[must_use]
    pub fn start(swarms: Swarms, pace: Pace) -> Self {
        let (stopping, stopped) = watch::channel(false);
        let counters = Arc::<Counters>::default();
        let upkeep = Upkeep { swarms, pace, counters: Arc::clone(&counters) };
        Self { stopping, task: tokio::spawn(upkeep.run(stopped)), counters }
    }

    /// Ends the step under way, tells the indexes what is known, and stops.
    pub async fn stop(mut self) {
        self.stopping.send_replace(true);
        drop((&mut self.task).await);
    }

    /// The counters.
    #[must_use]
    pub fn counters(&self) -> Arc<Counters> {
        Arc::clone(&self.counters)
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Upkeep {
    swarms: Swarms,
    pace: Pace,
    counters: Arc<Counters>,
}

/// What is done with one swarm.
#[derive(Debug, Clone, Copy)]
enum Step<'w> {
    TakeBack,
    CloseRounds,
    RollUp(&'w [Window]),
    Feed,
    Stretch,
    Save,
}

impl Step<'_> {
    /// For the log.
    fn name(self) -> &'static str {
        match self {
            Self::TakeBack => "take back tasks",
            Self::CloseRounds => "close rounds",
            Self::RollUp(_) => "roll up",
            Self::Feed => "feed",
            Self::Stretch => "stretch",
            Self::Save => "save",
        }
    }
}

/// When what is due.
struct Due {
    feed: Option<Instant>,
    look: Instant,
    roll_up: Instant,
    roll_up_long: Instant,
    save: Instant,
    reconcile: Instant,
}

impl Due {
    fn next(&self) -> Instant {
        let others = [self.look, self.roll_up, self.roll_up_long, self.save, self.reconcile];
        others.into_iter().chain(self.feed).min().unwrap_or(self.look)
    }
}

impl Upkeep {
    async fn run(self, mut stopped: watch::Receiver<bool>) {
        let begin = Instant::now();
        // The indexes may have run out while nobody kept them.
        let mut due = Due {
            feed: None,
            look: begin,
            roll_up: begin,
            roll_up_long: begin,
            save: begin,
            reconcile: begin,
        };
        loop {
            tokio::select! {
                biased;
                _ = stopped.changed() => break,
                () = self.swarms.touched(), if due.feed.is_none() => due.feed = Some(Instant::now() + self.pace.feed),
                () = sleep_until(due.next()) => self.work(&mut due).await,
            }
        }
        self.feed().await;
    }

    /// Does what is due.
    async fn work(&self, due: &mut Due) {
        let (now, pace) = (Instant::now(), &self.pace);
        if due.feed.is_some_and(|feed| feed <= now) {
            due.feed = (!self.feed().await).then(|| Instant::now() + AGAIN);
        }
        if due.look <= now {
            self.told("take back tasks", &self.each(None, Step::TakeBack).await);
            self.told("close rounds", &self.each(None, Step::CloseRounds).await);
            due.look = Instant::now() + pace.look;
        }
        if due.roll_up_long <= now {
            self.told("roll up", &self.each(None, Step::RollUp(Window::ALL)).await);
            (due.roll_up_long, due.roll_up) =
                (Instant::now() + pace.roll_up_long, Instant::now() + pace.roll_up);
        } else if due.roll_up <= now {
            self.told("roll up", &self.each(None, Step::RollUp(&[Window::V1m, Window::V5m])).await);
            due.roll_up = Instant::now() + pace.roll_up;
        }
        if due.save <= now {
            self.told("save", &self.each(None, Step::Save).await);
            due.save = Instant::now() + pace.save;
        }
        if due.reconcile <= now {
            self.told("reconcile", &self.reconcile().await);
            self.told("stretch", &self.each(Some(ACTIVE), Step::Stretch).await);
            self.told("remove", &self.remove_finished().await);
            due.reconcile = Instant::now() + pace.reconcile;
        }
    }

    /// Whether all went well.
    async fn feed(&self) -> bool {
        let mut is_all = true;
        let failed = |swarm: &SwarmId, error: OpError| {
            is_all = false;
            self.failed(swarm, Step::Feed.name(), &error);
        };
        let fed = self.swarms.feed_each(failed).await.map(|notes| self.counters.notes.many(notes));
        self.told(Step::Feed.name(), &fed) && is_all
    }

    /// Does something with every active swarm, or those in which something happened within that time. One with which it cannot
    /// be done does not keep it from the others.
    async fn each(&self, within: Option<Duration>, step: Step<'_>) -> Result<(), OpError> {
        let mut away = 0;
        let recent = self.swarms.recent(within).await?;
        for (swarm, _) in recent.swarms {
            // Ids of an old shape are read, and never written.
            if swarm.is_legacy() {
                continue;
            }
            let done = self.one(&swarm, step, recent.now).await;
            self.go_on(&swarm, step.name(), done, &mut away)?;
        }
        Ok(())
    }

    /// After a step with one swarm, whatever came of it; unless the store has failed so often that it must be `away`.
    fn go_on(
        &self,
        swarm: &SwarmId,
        step: &'static str,
        done: Result<(), OpError>,
        away: &mut usize,
    ) -> Result<(), OpError> {
        match done {
            // It has ended, or run out, and the index has not heard of it.
            Ok(()) | Err(OpError::NoSwarm { .. } | OpError::Over { .. }) => Ok(()),
            Err(error) => {
                *away += usize::from(error.is_of_store());
                if *away == MOST_FAILED {
                    return Err(error);
                }
                self.failed(swarm, step, &error);
                Ok(())
            }
        }
    }

    fn failed(&self, swarm: &SwarmId, step: &'static str, error: &OpError) {
        self.counters.failed.one();
        tracing::warn!(%swarm, %error, step, "a step of the keeper failed with a swarm, and will be done again");
    }

    /// One step with one swarm, of which the list is as of `now`.
    async fn one(&self, swarm: &SwarmId, step: Step<'_>, now: u64) -> Result<(), OpError> {
        let Self { swarms, counters, .. } = self;
        match step {
            Step::TakeBack => {
                let back = swarms.take_back(swarm, AT_ONCE).await?;
                counters.taken_back.many(back.len() as u64);
            }
            Step::CloseRounds => counters.closed.many(swarms.close_due_rounds(swarm, now, "keeper").await?),
            Step::RollUp(windows) => {
                swarms.roll_up(swarm, windows).await?;
                counters.rolled_up.one();
            }
            Step::Feed => counters.notes.many(swarms.feed(swarm).await?),
            Step::Save => self.save(swarm).await?,
            Step::Stretch => counters.stretched.many(u64::from(swarms.stretch(swarm).await?)),
        }
        Ok(())
    }

    async fn reconcile(&self) -> Result<(), OpError> {
        // What processes have left that ended before they could say so.
        let fed = self.each(None, Step::Feed).await;
        let done = self.swarms.reconcile().await?;
        self.counters.reconciled.many(done.removed);
        self.counters.corrected.many(done.corrected);
        self.counters.expired.many(done.expired);
        fed
    }

    async fn remove_finished(&self) -> Result<(), OpError> {
        let now = self.swarms.recent(Some(Duration::ZERO)).await?.now;
        let kept = u64::try_from(self.pace.keep_finished.as_millis()).unwrap_or(u64::MAX);
        let mut away = 0;
        for status in [Status::Completed, Status::Failed] {
            let ended = Filter { status: Some(status), ..Filter::default() };
            for swarm in self.swarms.list(&ended).await? {
                let at = rfc3339(&swarm.updated_at).and_then(|micros| u64::try_from(micros / 1000).ok());
                if !swarm.id.is_legacy() && at.is_none_or(|at| at.saturating_add(kept) <= now) {
                    let removed = self.remove(&swarm.id).await;
                    self.go_on(&swarm.id, "remove", removed, &mut away)?;
                }
            }
        }
        Ok(())
    }

    /// Makes a checkpoint if anything has changed; with a full one those are thinned out that came before.
    async fn save(&self, swarm: &SwarmId) -> Result<(), OpError> {
        if !self.swarms.has_changed(swarm).await? {
            return Ok(());
        }
        let made = self.swarms.checkpoint(swarm, &CheckpointOptions::default(), "keeper").await?;
        self.counters.saved.one();
        if made.parent.is_none() {
            if made.stored > LARGE {
                self.counters.large.one();
                tracing::warn!(%swarm, bytes = made.stored, "a swarm is near what it may amount to");
            }
            self.counters.thinned.many(self.swarms.prune(swarm, Retention::default()).await?);
        }
        Ok(())
    }

    async fn remove(&self, swarm: &SwarmId) -> Result<(), OpError> {
        self.save(swarm).await?;
        match self.swarms.remove(swarm).await {
            Ok(Some(keys)) => {
                self.counters.removed.one();
                tracing::info!(%swarm, keys, "removed a finished swarm");
                Ok(())
            }
            // Another is at it, or has been; or it goes on.
            Ok(None)
            | Err(
                OpError::Fenced { .. }
                | OpError::NoSwarm { .. }
                | OpError::Move { .. }
                | OpError::Unsaved { .. },
            ) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Whether it went well.
    fn told(&self, step: &'static str, outcome: &Result<(), OpError>) -> bool {
        if let Err(error) = outcome {
            self.counters.failed.one();
            tracing::warn!(%error, step, "a step of the keeper failed, and will be done again");
        }
        outcome.is_ok()
    }
}
