//! The network, the swarm, and what goes wrong.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fastrand::Rng;
use keyplane_store::Store;
use keyplane_swarm::Swarms;
use keyplane_swarm::keys::{CheckpointId, Round};
use keyplane_swarm::state::{NewRound, NewSwarm};
use keyplane_testing::{Fault, Network, Trace};
use tokio::time::sleep;

use crate::journal::Shared;
use crate::machine::{connect, open, swarm, work};
use crate::picture::{Picture, field};
use crate::setup::{new_swarm, run as start};
use crate::truth::{Found, Tally};

pub(crate) const HOSTS: [&str; 3] = ["ann", "bob", "cat"];

/// How long faults are made, in simulated time.
const LASTS: Duration = Duration::from_secs(10);

/// In all.
pub(crate) const TASKS: u64 = 117;

/// Between two looks at the whole of it.
const LOOK: Duration = Duration::from_millis(350);

/// A lock whose holder is gone is free again by then, and another can recover what that one began.
const PATIENCE: Duration = Duration::from_secs(180);

/// What a round shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Hosts crash and links fail, and the store crashes too and comes back with its log.
    Crashes,
    /// Hosts crash and links fail, and at one moment all is lost but the checkpoints.
    Loss,
}

impl Kind {
    pub(crate) fn faults(self, seed: u64) -> Vec<Fault> {
        let mut faults = Fault::draw(seed, &HOSTS, LASTS);
        if self == Self::Crashes {
            faults.extend(Fault::draw_of_store(seed, LASTS));
        }
        faults
    }
}

/// What came of a run.
pub(crate) struct Outcome {
    pub(crate) trace: Trace,
    pub(crate) steps: Vec<String>,
    pub(crate) tally: Result<Tally, String>,
    /// Of all that passed at the store, of all that workers saw, and of what was there in the end.
    pub(crate) digest: u64,
}

pub(crate) fn run(kind: Kind, seed: u64, faults: &[Fault]) -> Outcome {
    let mut network = Network::with_log(seed);
    let book = Shared::default();
    for (number, name) in HOSTS.into_iter().enumerate() {
        let (book, seed) = (Arc::clone(&book), seed ^ (number as u64 + 1) << 32);
        network.sim.host(name, move || work(number, seed, Arc::clone(&book)));
    }
    let found = Arc::new(Mutex::new(Found::default()));
    network.sim.client("lead", lead(kind, seed, Arc::clone(&book), Arc::clone(&found)));
    network.run(faults, |step, crashed| {
        let mut book = book.lock().unwrap();
        book.steps.push(step);
        match crashed {
            Some(Network::STORE) => book.store_crashes += 1,
            Some(_) => book.crashes += 1,
            None => {}
        }
    });
    let trace = network.trace();
    drop(network);
    let (book, found) = (book.lock().unwrap(), found.lock().unwrap());
    let mut hasher = DefaultHasher::new();
    (trace.digest, &book.steps, &*found).hash(&mut hasher);
    Outcome { trace, steps: book.steps.clone(), tally: found.check(&book), digest: hasher.finish() }
}

/// Who watches from a place where nothing goes wrong but the store.
struct Lead {
    store: Store,
    swarms: Swarms,
    book: Shared,
}

/// Begins the swarm, has it vote, looks at it all the time, and ends it when everything is done.
async fn lead(kind: Kind, seed: u64, book: Shared, found: Arc<Mutex<Found>>) -> turmoil::Result {
    let mut rng = Rng::with_seed(seed ^ 0x1ead);
    let store = connect().await;
    let lead = Lead { swarms: open(&store), store, book };
    lead.swarms.create(&NewSwarm { id: swarm(), ..new_swarm() }, "lead").await?;
    start(&lead.swarms, &swarm()).await;
    let mut lost_at = (kind == Kind::Loss).then(|| Duration::from_millis(rng.u64(2000..9000)));
    loop {
        let now = turmoil::sim_elapsed().unwrap_or_default();
        sleep(LOOK).await;
        if now > LASTS + PATIENCE {
            lead.book.lock().unwrap().wrong("it does not come to an end".to_owned());
            break;
        }
        let Some(picture) = Picture::take(&lead.store).await else { continue };
        lead.look(&picture);
        if lost_at.is_some_and(|at| now >= at) && picture.newest().is_some() && picture.status() == "running"
        {
            lost_at = None;
            let before = lead.lose().await?;
            found.lock().unwrap().before = Some(before);
            continue;
        }
        if picture.status() == "running" && rng.u8(..4) == 0 {
            lead.decide(&picture).await;
        }
        let is_done = picture.finished() == TASKS && lost_at.is_none() && picture.status() == "running";
        if is_done && now > LASTS + Fault::LONGEST {
            break;
        }
        if lead.book.lock().unwrap().wrong.is_some() {
            return Ok(());
        }
    }
    lead.book.lock().unwrap().is_over = true;
    // What was under way has come to its end by then.
    sleep(2 * Fault::LONGEST).await;
    let ended = lead.swarms.complete(&swarm(), "lead").await;
    if let Err(error) = ended {
        lead.book.lock().unwrap().wrong(format!("it cannot be ended: {error}"));
    }
    let last = Picture::take_whole(&lead.store).await.ok_or("the store does not answer")?;
    found.lock().unwrap().last = last;
    Ok(())
}

impl Lead {
    /// At every moment what there is fits together, but for a swarm that is being put together again.
    fn look(&self, picture: &Picture) {
        if let ("running", Err(why)) = (picture.status(), picture.check()) {
            self.book.lock().unwrap().wrong(why);
        }
    }

    /// All but the checkpoints is gone. Whoever plans the tasks has to see to it that they are there.
    async fn lose(&self) -> Result<Picture, Box<dyn std::error::Error>> {
        let before = Picture::take_and_lose(&self.store).await.ok_or("the store does not answer")?;
        let newest = before.newest().unwrap_or_default().to_owned();
        let saved = self.swarms.load(&swarm(), &CheckpointId::new(newest.clone())?).await?.state;
        let done =
            saved.iter().filter(|(_, body)| matches!(body.text("status"), Some("completed" | "failed")));
        let mut book = self.book.lock().unwrap();
        book.settled = done.filter_map(|(name, _)| name.strip_prefix("tasks:")).map(str::to_owned).collect();
        book.next = Default::default();
        let fences = before.tasks.values().filter_map(|task| field(task, "fence").parse().ok());
        book.lost_at = fences.max().unwrap_or_default();
        let (all, done) = (before.finished(), book.settled.len());
        book.step(&format!("==== all is lost but {newest}: {done} tasks of {all} that are finished"));
        Ok(before)
    }

    /// Closes the round that is open when it can be closed, and opens the next.
    async fn decide(&self, picture: &Picture) {
        let open = picture.rounds.last_key_value();
        if let Some((number, round)) = open
            && matches!(field(round, "status"), "pending" | "achieving")
        {
            // Too early, perhaps: then the next time.
            drop(self.swarms.close_round(&swarm(), Round::new(*number).unwrap(), 3, "lead").await);
            return;
        }
        let eligible = HOSTS.len() as u64;
        let lasts = Duration::from_millis(2500);
        let new = NewRound { required: 0.6, eligible, lasts, phase: None, iteration: 0, most_tries: 10 };
        if let Ok(round) = self.swarms.open_round(&swarm(), &new, "lead").await {
            self.book.lock().unwrap().round = round;
        }
    }
}
