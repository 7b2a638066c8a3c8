//! A network of machines that share pools, and what goes wrong in it.

use std::collections::BTreeMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use keyplane_kit::index::Index;
use keyplane_testing::{Fault, Network, Trace};
use tokio::time::sleep;

use crate::machine::{Book, POOLS, Pools, Shared, place, watch, work};
use crate::model::{Found, Known, Tally, check};
use crate::setup::PoolId;

const MACHINES: [&str; 4] = ["ann", "bob", "cat", "dan"];
const WATCHERS: [&str; 3] = ["eve", "fay", "gus"];

/// How long machines work, in simulated time.
const LASTS: Duration = Duration::from_secs(4);

/// What goes wrong under this seed.
pub(crate) fn faults(seed: u64) -> Vec<Fault> {
    Fault::draw(seed, &MACHINES, LASTS)
}

/// What came of a run.
pub(crate) struct Outcome {
    pub(crate) trace: Trace,
    pub(crate) steps: Vec<String>,
    known: Known,
    found: BTreeMap<&'static str, Found>,
}

impl Outcome {
    pub(crate) fn check(&self) -> Result<Tally, String> {
        check(&self.known, &self.found)
    }

    /// Of all that passed at the store, of all that machines saw, and of what was there in the end.
    pub(crate) fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.trace.digest, &self.steps, &self.found).hash(&mut hasher);
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
    for (watcher, pool) in WATCHERS.into_iter().zip(POOLS) {
        network.sim.client(watcher, watch(pool, Arc::clone(&book)));
    }
    let found = Arc::new(Mutex::new(BTreeMap::new()));
    network.sim.client("auditor", audit(seed, Arc::clone(&book), Arc::clone(&found)));
    network.run(faults, |step, crashed| {
        let mut book = book.lock().unwrap();
        book.steps.push(step);
        if let Some(machine) = crashed {
            book.known.crashed += usize::from(book.busy.remove(machine));
        }
    });
    let trace = network.trace();
    drop(network);
    let Book { known, steps, .. } = std::mem::take(&mut *book.lock().unwrap());
    let found = std::mem::take(&mut *found.lock().unwrap());
    Outcome { trace, steps, known, found }
}

/// When all are done and what was held up has arrived, applies what is left over and reads everything.
async fn audit(seed: u64, book: Shared, found: Arc<Mutex<BTreeMap<&'static str, Found>>>) -> turmoil::Result {
    sleep(LASTS).await;
    // In the middle of faults: what went wrong in the end, nobody puts right by going on.
    book.lock().unwrap().over = true;
    while !book.lock().unwrap().busy.is_empty() {
        sleep(Duration::from_millis(50)).await;
    }
    sleep(2 * Fault::LONGEST).await;
    book.lock().unwrap().quiet = true;
    let pools = Pools::new(seed).await;
    for name in POOLS {
        // An index that has to be rebuilt first takes the notes the second time.
        for _ in 0..3 {
            pools.feed(name).await.map_err(|error| error.to_string())?;
        }
    }
    for index in [&pools.open, &pools.all] {
        if index.members(0, -1).await?.is_none() {
            pools.rebuild(index).await.map_err(|error| error.to_string())?;
        }
    }
    for name in POOLS {
        let one = look(&pools, name).await.map_err(|error| error.to_string())?;
        found.lock().unwrap().insert(name, one);
    }
    Ok(())
}

async fn look(pools: &Pools, name: &'static str) -> Result<Found, Box<dyn std::error::Error>> {
    let record = pools.records.read(&pools.key(name)).await?;
    let updates = |text: Option<&str>| text.and_then(|text| text.parse().ok()).unwrap_or(0);
    let entries = pools.handle.run(pools.keys.history(&PoolId::new(name)?).xrange("-", "+")).await?;
    let history = entries.into_iter().map(|(id, fields)| {
        let number = id.split_once('-').and_then(|(_, number)| number.parse().ok()).unwrap_or(0);
        (number, String::from_utf8_lossy(&fields[0].1).into_owned())
    });
    Ok(Found {
        history: history.collect(),
        placed: [placed(&pools.open, name).await?, placed(&pools.all, name).await?],
        belongs: [true, false].map(|only_open| {
            record.as_ref().and_then(|record| place(record, only_open)).map(|score| score.to_string())
        }),
        record: record.as_ref().map(|found| (found.version, updates(found.text("updates")))),
    })
}

async fn placed(index: &Index, name: &str) -> Result<Option<String>, Box<dyn std::error::Error>> {
    let members = index.members(0, -1).await?.ok_or("the index is not there")?;
    let own = members.into_iter().find(|(member, _)| member == name.as_bytes());
    Ok(own.map(|(_, score)| score.to_string()))
}
