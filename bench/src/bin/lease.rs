//! Taking and giving back a lock, against the crate `rslock` on the same server in the same run:
//! `cargo run --release -p keyplane-bench --bin lease [ROUNDS] [SECONDS] [PART OF A NAME]`
//!
//! Rounds alternate, so that what else the machine does falls on both. The two do not promise the same: what each gives is
//! printed beside the figures. Both are two round trips, on one shared connection.
#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::expect_used)]

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use keyplane_bench::sides::{Workload, compare};
use keyplane_bench::until_the_end;
use keyplane_key::Naming;
use keyplane_kit::lease::Lease;
use keyplane_store::{Handle, Options, Store};
use keyplane_testing::{Program, Server, Settings};
use rslock::LockManager;

mod crew {
    #![allow(missing_docs, unreachable_pub, dead_code)]
    keyplane_macros::keyspace!("contracts/crew.toml");
}

use crew::{CrewId, Keyspace};

const TTL: Duration = Duration::from_secs(9);

#[derive(Clone)]
struct Rig {
    handle: Handle,
    keys: Arc<Keyspace>,
    rslock: LockManager,
}

/// A lock for each task: nobody waits for anybody.
fn ours(rig: &Rig, task: usize) -> Lease {
    let crew = CrewId::new(format!("p{task}")).unwrap();
    Lease::new(&rig.handle, rig.keys.lock(&crew)).unwrap()
}

const WORKLOADS: &[Workload<Rig>] = &[
    Workload {
        name: "acquire and release, 1 task",
        tasks: 1,
        ours: |rig, task, round| {
            Box::pin(async move {
                let lease = ours(&rig, task);
                until_the_end!(round, {
                    lease.try_acquire("m").await.unwrap().expect("it is free").release().await.unwrap();
                    1
                })
            })
        },
        theirs: |rig, task, round| {
            Box::pin(async move {
                let name = format!("rslock:{task}");
                until_the_end!(round, {
                    let lock = rig.rslock.lock(name.as_bytes(), TTL).await.unwrap();
                    rig.rslock.unlock(&lock).await;
                    1
                })
            })
        },
    },
    Workload {
        name: "acquire and release, 64 tasks, a lock each",
        tasks: 64,
        ours: |rig, task, round| {
            Box::pin(async move {
                let lease = ours(&rig, task);
                until_the_end!(round, {
                    lease.try_acquire("m").await.unwrap().expect("it is free").release().await.unwrap();
                    1
                })
            })
        },
        theirs: |rig, task, round| {
            Box::pin(async move {
                let name = format!("rslock:{task}");
                until_the_end!(round, {
                    let lock = rig.rslock.lock(name.as_bytes(), TTL).await.unwrap();
                    rig.rslock.unlock(&lock).await;
                    1
                })
            })
        },
    },
];

async fn rig(server: &Server) -> Rig {
    let store = Store::open(&server.url(), Options::default()).await.expect("a store");
    let contract = keyplane_store::contract(Keyspace::SOURCE).unwrap();
    let settings = HashMap::from([("lock_ttl".to_owned(), TTL)]);
    let handle = store.as_component(&contract, "worker", &settings).unwrap();
    let keys = Arc::new(Keyspace::new(Naming::new("bench", false).unwrap()).unwrap());
    Rig { handle, keys, rslock: LockManager::new(vec![server.url()]) }
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let server = Server::start(Program::Redis, &Settings::tcp());
    let rig = rig(&server).await;
    compare(&rig, WORKLOADS, ("lease", "rslock")).await;
    println!();
    println!(
        "lease:  a fence for guarded writes, renewal, a release that wakes who waits, terms that rise and are counted"
    );
    println!(
        "rslock: SET NX PX and compare-and-delete; no fence, no renewal by itself, who waits polls; a majority of servers if several"
    );
}
