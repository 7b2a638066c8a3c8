//! A network of machines, and what goes wrong in it.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use keyplane_testing::{Fault, Network, Trace};
use tokio::time::sleep;

use crate::machine::{Book, Shared, open, work};
use crate::model::{Known, Tally, check};
use crate::setup::{Keyspace, east};

const MACHINES: [&str; 4] = ["ann", "bob", "cat", "dan"];

/// How long machines work, in simulated time.
const LASTS: Duration = Duration::from_secs(10);

/// What goes wrong under this seed.
pub(crate) fn faults(seed: u64) -> Vec<Fault> {
    Fault::draw(seed, &MACHINES, LASTS)
}

/// What came of a run.
pub(crate) struct Outcome {
    pub(crate) trace: Trace,
    pub(crate) steps: Vec<String>,
    known: Known,
    journal: Vec<String>,
}

impl Outcome {
    pub(crate) fn check(&self) -> Result<Tally, String> {
        check(&self.journal, &self.known)
    }

    /// Of all that passed at the store, and of all that machines saw.
    pub(crate) fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.trace.digest, &self.steps, &self.journal).hash(&mut hasher);
        hasher.finish()
    }
}

pub(crate) fn run(seed: u64, faults: &[Fault]) -> Outcome {
    let mut network = Network::new(seed);
    let book = Shared::default();
    for (number, name) in MACHINES.into_iter().enumerate() {
        let (book, seed) = (Arc::clone(&book), seed ^ (number as u64 + 1) << 32);
        network.sim.host(name, move || work(name, seed, Arc::clone(&book)));
    }
    let journal = Arc::new(Mutex::new(Vec::new()));
    network.sim.client("auditor", audit(Arc::clone(&book), Arc::clone(&journal)));
    network.run(faults, |step, crashed| {
        let mut book = book.lock().unwrap();
        book.steps.push(step);
        if let Some(machine) = crashed {
            book.known.crashed += usize::from(book.busy.remove(machine));
        }
    });
    let trace = network.trace();
    drop(network);
    let mut book = book.lock().unwrap();
    let Book { known, steps, .. } = std::mem::take(&mut *book);
    let journal = std::mem::take(&mut *journal.lock().unwrap());
    Outcome { trace, steps, known, journal }
}

/// When all are done and what was held up has arrived, reads the journal.
async fn audit(book: Shared, journal: Arc<Mutex<Vec<String>>>) -> turmoil::Result {
    sleep(LASTS).await;
    book.lock().unwrap().over = true;
    sleep(Fault::LONGEST).await;
    while !book.lock().unwrap().busy.is_empty() {
        sleep(Duration::from_millis(50)).await;
    }
    let (handle, keys) = (open().await, Keyspace::default());
    let lines: Vec<Vec<u8>> = handle.run(keys.journal(&east()).lrange(0, -1)).await?;
    let lines = lines.into_iter().map(|line| String::from_utf8(line).unwrap());
    journal.lock().unwrap().extend(lines);
    Ok(())
}
