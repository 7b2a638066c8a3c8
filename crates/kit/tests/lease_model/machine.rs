//! One machine: it stands for election, writes while it leads, and gives the lead back; again and again.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fastrand::Rng;
use keyplane_kit::lease::{Held, Lease, Options as LeaseOptions};
use keyplane_kit::{Fence, Tokens};
use keyplane_store::{Dialer, Handle, Options, Store};
use keyplane_testing::Network;
use tokio::time::{sleep, timeout};

use crate::journal::record;
use crate::model::Known;
use crate::setup::{Keyspace, east};

/// Short, so that much happens in little time; the network takes up to 20 ms for a message.
const TTL: Duration = Duration::from_millis(900);

/// What all machines, and the one who makes faults, write down. It outlives a crash.
#[derive(Default)]
pub(crate) struct Book {
    pub(crate) known: Known,
    pub(crate) steps: Vec<String>,
    pub(crate) over: bool,
    /// Machines that are at work.
    pub(crate) busy: BTreeSet<&'static str>,
    /// How often each machine has started.
    pub(crate) starts: HashMap<&'static str, u64>,
}

pub(crate) type Shared = Arc<Mutex<Book>>;

impl Book {
    pub(crate) fn step(&mut self, what: &str) {
        let moment = turmoil::sim_elapsed().unwrap_or_default().as_millis();
        self.steps.push(format!("{moment:>7} ms  {what}"));
    }
}

pub(crate) async fn open() -> Handle {
    let mut options = Options::default();
    options.command_timeout = Duration::from_millis(250);
    options.connect_timeout = Duration::from_millis(250);
    let contract = keyplane_store::contract(Keyspace::SOURCE).unwrap();
    let settings = HashMap::from([("leader_ttl".to_owned(), TTL)]);
    let dialer = Dialer::new(Network::card());
    loop {
        let url = Network::URL.parse().unwrap();
        match Store::connect_through(url, options.clone(), dialer.clone()).await {
            Ok(store) => return store.as_component(&contract, "machine", &settings).unwrap(),
            Err(_) => sleep(Duration::from_millis(50)).await,
        }
    }
}

struct Machine {
    name: &'static str,
    handle: Handle,
    keys: Keyspace,
    lease: Lease,
    rng: Rng,
    book: Shared,
    lines: u64,
    start: u64,
}

/// Works until the world is over, or it crashes.
pub(crate) async fn work(name: &'static str, seed: u64, book: Shared) -> turmoil::Result {
    let start = {
        let mut book = book.lock().unwrap();
        book.busy.insert(name);
        let starts = book.starts.entry(name).or_default();
        *starts += 1;
        *starts
    };
    let (handle, keys) = (open().await, Keyspace::default());
    let mut rng = Rng::with_seed(seed ^ (start << 40));
    let mut options = LeaseOptions::default();
    options.tokens = Tokens::seeded(rng.u64(..));
    let lease = Lease::with(&handle, keys.leader(&east()), options)?;
    let mut machine = Machine { name, handle, keys, lease, rng, book, lines: 0, start };
    while !machine.book.lock().unwrap().over {
        machine.stand().await;
    }
    machine.book.lock().unwrap().busy.remove(name);
    Ok(())
}

impl Machine {
    fn moment(&mut self, longest: u64) -> Duration {
        Duration::from_millis(self.rng.u64(..longest))
    }

    fn step(&self, what: &str) {
        self.book.lock().unwrap().step(&format!("{} {what}", self.name));
    }

    async fn stand(&mut self) {
        let rest = self.moment(400);
        sleep(rest).await;
        let taken = if self.rng.bool() {
            self.lease.try_acquire(self.name).await
        } else {
            // A wait that is given up now and then.
            let patience = self.moment(4000);
            match timeout(patience, self.lease.acquire(self.name)).await {
                Ok(taken) => taken.map(Some),
                Err(_) => Ok(None),
            }
        };
        match taken {
            Ok(Some(held)) => self.lead(held).await,
            Ok(None) => {}
            Err(error) => self.step(&format!("has not got it: {error}")),
        }
    }

    async fn lead(&mut self, held: Held) {
        let Ok(fence) = held.fence().cloned() else { return };
        self.step(&format!("leads in {}", fence.as_str()));
        self.book.lock().unwrap().known.fences.push((fence.as_str().to_owned(), self.name.to_owned()));
        for _ in 0..self.rng.u8(1..8) {
            let pause = self.moment(120);
            sleep(pause).await;
            if held.fence().is_err() {
                self.step("stops itself");
                self.book.lock().unwrap().known.lapsed += 1;
                break;
            }
            // Between the question and the write there may be a pause of any length.
            if self.rng.u8(..5) == 0 {
                let pause = self.moment(2500);
                sleep(pause).await;
            }
            self.write(&fence).await;
        }
        if self.rng.u8(..4) == 0 {
            drop(held);
        } else {
            match held.release().await {
                Ok(ours) => {
                    self.step(&format!("gives it back: {ours}"));
                    self.book.lock().unwrap().known.given_back.insert(fence.as_str().to_owned());
                }
                Err(error) => self.step(&format!("gives it back: {error}")),
            }
        }
        // One more with the old fence.
        if self.rng.u8(..3) == 0 {
            let pause = self.moment(1500);
            sleep(pause).await;
            self.write(&fence).await;
        }
    }

    async fn write(&mut self, fence: &Fence) {
        self.lines += 1;
        let line = format!("{} {} {}.{}", fence.as_str(), self.name, self.start, self.lines);
        // Until there is an answer, nobody knows: the machine may crash in between.
        let was_given_back = {
            let known = &mut self.book.lock().unwrap().known;
            known.unknown.insert(line.clone());
            known.given_back.contains(fence.as_str())
        };
        let written = record(&self.handle, &self.keys, &east(), fence, &line).await;
        let mut book = self.book.lock().unwrap();
        let known = &mut book.known;
        let told = match &written {
            Ok(true) => "written",
            Ok(false) => "fenced",
            Err(error) if error.maybe_applied() => "unknown",
            Err(_) => "not sent",
        };
        if told != "unknown" {
            known.unknown.remove(&line);
            let lines = if told == "written" { &mut known.acknowledged } else { &mut known.refused };
            lines.insert(line.clone());
        }
        if was_given_back && told == "written" {
            known.after_the_end.push(line.clone());
        }
        book.step(&format!("{line}: {told}"));
    }
}
