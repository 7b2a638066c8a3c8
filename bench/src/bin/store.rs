//! Typed operations and scripts through the store, against the bare `redis` crate doing the same commands on the same
//! server in the same run: `cargo run --release -p keyplane-bench --bin store [ROUNDS] [SECONDS] [PART OF A NAME]`
//!
//! Rounds alternate, so that what else the machine does falls on both. Printed are medians of operations per second and of
//! client CPU per operation, and the ratio of the two rates.
#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::expect_used)]

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use keyplane_key::Naming;
use keyplane_store::{Handle, Options, Store};
use keyplane_testing::{Program, Server, Settings};
use redis::aio::MultiplexedConnection;
use redis::io::tcp::TcpSettings;
use redis::{Client, IntoConnectionInfo as _, ProtocolVersion, RedisConnectionInfo};

mod parts {
    #![allow(missing_docs, unreachable_pub, dead_code)]
    keyplane_macros::keyspace!("../crates/store/tests/parts.toml");
}

mod scripts {
    #![allow(missing_docs, unreachable_pub, dead_code)]
    keyplane_macros::scripts!("../crates/store/tests/parts.toml", "../crates/store/tests/scripts");
}

use parts::{Bin, Keyspace, Order};

const VALUE: &str = "0123456789012345678901234567890123456789012345678901234567890123";
const PIPELINE: usize = 100;
const GUARD: &str = include_str!("../../../crates/store/src/write.lua");

/// One task, from the start of a round to its end; answers how many operations it did.
type Task = Pin<Box<dyn Future<Output = u64> + Send>>;

struct Workload {
    name: &'static str,
    tasks: usize,
    store: fn(Rig, usize, Round) -> Task,
    bare: fn(Rig, usize, Round) -> Task,
}

#[derive(Clone)]
struct Rig {
    handle: Handle,
    connection: MultiplexedConnection,
    keys: Arc<Keyspace>,
}

/// Whether a round still lasts.
#[derive(Clone, Default)]
struct Round(Arc<AtomicBool>);

impl Round {
    fn lasts(&self) -> bool {
        !self.0.load(Ordering::Relaxed)
    }

    fn end(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn bin(task: usize) -> Bin {
    Bin::new(format!("b{task}")).unwrap()
}

fn order(task: usize) -> Order {
    Order::new(format!("o{task}")).unwrap()
}

/// A task that does this until the round ends.
macro_rules! task {
    ($round:ident, $turn:expr) => {{
        let mut count = 0;
        while $round.lasts() {
            count += $turn;
        }
        count
    }};
}

const WORKLOADS: &[Workload] = &[
    Workload {
        name: "SET with its TTL, 64 tasks",
        tasks: 64,
        store: |rig, task, round| {
            Box::pin(async move {
                let key = rig.keys.label(&bin(task));
                task!(round, {
                    rig.handle.run(key.set(VALUE)).await.unwrap();
                    1
                })
            })
        },
        bare: |mut rig, task, round| {
            Box::pin(async move {
                let key = rig.keys.label(&bin(task)).to_string();
                task!(round, {
                    let mut command = redis::cmd("SET");
                    command.arg(&key).arg(VALUE).arg("PX").arg(86_400_000);
                    command.exec_async(&mut rig.connection).await.unwrap();
                    1
                })
            })
        },
    },
    Workload {
        name: "GET, 64 tasks",
        tasks: 64,
        store: |rig, task, round| {
            Box::pin(async move {
                let key = rig.keys.label(&bin(task));
                task!(round, {
                    rig.handle.run(key.get()).await.unwrap();
                    1
                })
            })
        },
        bare: |mut rig, task, round| {
            Box::pin(async move {
                let key = rig.keys.label(&bin(task)).to_string();
                task!(round, {
                    let _: Option<Vec<u8>> =
                        redis::cmd("GET").arg(&key).query_async(&mut rig.connection).await.unwrap();
                    1
                })
            })
        },
    },
    Workload {
        name: "HSET within its limit and with its TTL (guarded write), 64 tasks",
        tasks: 64,
        store: |rig, task, round| {
            Box::pin(async move {
                let key = rig.keys.order(&order(task));
                task!(round, {
                    rig.handle.run(key.hset([("state", "open"), ("note", VALUE)])).await.unwrap();
                    1
                })
            })
        },
        bare: |mut rig, task, round| {
            Box::pin(async move {
                let key = rig.keys.order(&order(task)).to_string();
                let sha = sha1_smol::Sha1::from(GUARD).digest().to_string();
                task!(round, {
                    let mut command = redis::cmd("EVALSHA");
                    command.arg(&sha).arg(1).arg(&key).arg("renew").arg(3_600_000).arg(5).arg("HSET");
                    command.arg("state").arg("open").arg("note").arg(VALUE);
                    command.exec_async(&mut rig.connection).await.unwrap();
                    1
                })
            })
        },
    },
    Workload {
        name: "script (EVALSHA), 64 tasks",
        tasks: 64,
        store: |rig, task, round| {
            Box::pin(async move {
                let (stock, moves) = (rig.keys.stock(&bin(task)), rig.keys.moves(&bin(task)));
                task!(round, {
                    let call = scripts::Restock {
                        stock: &stock,
                        moves: &moves,
                        parts: 1_u64.into(),
                        who: "ann".into(),
                    };
                    rig.handle.call::<i64>(call).await.unwrap();
                    1
                })
            })
        },
        bare: |mut rig, task, round| {
            Box::pin(async move {
                let stock = rig.keys.stock(&bin(task)).to_string();
                let moves = rig.keys.moves(&bin(task)).to_string();
                task!(round, {
                    let mut command = redis::cmd("EVALSHA");
                    command.arg(scripts::RESTOCK.sha).arg(2).arg(&stock).arg(&moves);
                    command.arg(1).arg("ann").arg(7_200_000).arg(10_800_000);
                    let _: i64 = command.query_async(&mut rig.connection).await.unwrap();
                    1
                })
            })
        },
    },
    Workload {
        name: "pipeline of 100 SET with TTL, 8 tasks",
        tasks: 8,
        store: |rig, task, round| {
            Box::pin(async move {
                let keys: Vec<_> =
                    (0..PIPELINE).map(|number| rig.keys.label(&bin(task * PIPELINE + number))).collect();
                task!(round, {
                    let mut pipeline = rig.handle.pipeline();
                    for key in &keys {
                        pipeline = pipeline.run(key.set(VALUE));
                    }
                    pipeline.send_all().await.unwrap().len() as u64
                })
            })
        },
        bare: |mut rig, task, round| {
            Box::pin(async move {
                let keys: Vec<String> = (0..PIPELINE)
                    .map(|number| rig.keys.label(&bin(task * PIPELINE + number)).to_string())
                    .collect();
                task!(round, {
                    let mut pipeline = redis::pipe();
                    for key in &keys {
                        pipeline.cmd("SET").arg(key).arg(VALUE).arg("PX").arg(86_400_000);
                    }
                    let replies: Vec<redis::Value> = pipeline.query_async(&mut rig.connection).await.unwrap();
                    replies.len() as u64
                })
            })
        },
    },
];

/// Operations per second, and microseconds of this process's CPU per operation.
#[derive(Clone, Copy)]
struct Rate {
    per_second: f64,
    cpu_micros: f64,
}

async fn measure(rig: &Rig, tasks: usize, make: fn(Rig, usize, Round) -> Task, lasts: Duration) -> Rate {
    let round = Round::default();
    let (start, cpu) = (Instant::now(), cpu_seconds());
    let workers: Vec<_> =
        (0..tasks).map(|task| tokio::spawn(make(rig.clone(), task, round.clone()))).collect();
    tokio::time::sleep(lasts).await;
    round.end();
    let mut count = 0;
    for worker in workers {
        count += worker.await.unwrap();
    }
    let count = count as f64;
    Rate {
        per_second: count / start.elapsed().as_secs_f64(),
        cpu_micros: (cpu_seconds() - cpu) / count * 1e6,
    }
}

/// User and system time of this process so far, in the kernel's ticks of 10 ms.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
    let ticks =
        |index: usize| fields.get(index).and_then(|text| text.parse::<f64>().ok()).unwrap_or_default();
    (ticks(11) + ticks(12)) / 100.0
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

async fn rig(server: &Server) -> Rig {
    let store = Store::open(&server.url(), Options::default()).await.expect("a store");
    let contract = keyplane_store::contract(Keyspace::SOURCE).unwrap();
    let handle = store.as_component(&contract, "clerk", &HashMap::new()).unwrap();
    let info = server
        .url()
        .into_connection_info()
        .unwrap()
        .set_redis_settings(RedisConnectionInfo::default().set_protocol(ProtocolVersion::RESP3))
        .set_tcp_settings(TcpSettings::default().set_nodelay(true));
    let connection = Client::open(info).unwrap().get_multiplexed_async_connection().await.unwrap();
    let keys = Arc::new(Keyspace::new(Naming::new("bench", false).unwrap()).unwrap());
    Rig { handle, connection, keys }
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let number = |place: usize, default: f64| {
        std::env::args().nth(place).and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let (rounds, lasts) = (number(1, 21.0) as usize, Duration::from_secs_f64(number(2, 0.7)));
    let server = Server::start(Program::Redis, &Settings::tcp());
    let rig = rig(&server).await;
    println!("{rounds} alternating rounds of {lasts:?}; medians\n");
    println!("| workload | store op/s | bare op/s | ratio | least–most ratio | store µs CPU | bare µs CPU |");
    println!("|---|---|---|---|---|---|---|");
    let chosen = std::env::args().nth(3).unwrap_or_default();
    for workload in WORKLOADS.iter().filter(|workload| workload.name.contains(&chosen)) {
        // Loads the scripts and warms both connections up.
        measure(&rig, workload.tasks, workload.store, lasts / 5).await;
        measure(&rig, workload.tasks, workload.bare, lasts / 5).await;
        let (mut store, mut bare) = (Vec::new(), Vec::new());
        for round in 0..rounds {
            // Who goes first changes too.
            if round % 2 == 0 {
                store.push(measure(&rig, workload.tasks, workload.store, lasts).await);
                bare.push(measure(&rig, workload.tasks, workload.bare, lasts).await);
            } else {
                bare.push(measure(&rig, workload.tasks, workload.bare, lasts).await);
                store.push(measure(&rig, workload.tasks, workload.store, lasts).await);
            }
        }
        report(workload.name, &store, &bare);
    }
}

fn report(name: &str, store: &[Rate], bare: &[Rate]) {
    let rates = |of: &[Rate]| median(of.iter().map(|rate| rate.per_second).collect());
    let cpu = |of: &[Rate]| median(of.iter().map(|rate| rate.cpu_micros).collect());
    let mut ratios: Vec<f64> =
        store.iter().zip(bare).map(|(store, bare)| store.per_second / bare.per_second).collect();
    ratios.sort_by(f64::total_cmp);
    println!(
        "| {name} | {:.0} | {:.0} | **{:.2}** | {:.2}–{:.2} | {:.2} | {:.2} |",
        rates(store),
        rates(bare),
        median(ratios.clone()),
        ratios.first().copied().unwrap_or_default(),
        ratios.last().copied().unwrap_or_default(),
        cpu(store),
        cpu(bare),
    );
}
