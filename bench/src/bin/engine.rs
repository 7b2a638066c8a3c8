//! The embedded engine against a redis-server on a Unix socket, through the same store:
//! `cargo run --release -p keyplane-bench --bin engine [ROUNDS] [SECONDS] [PART OF A NAME]`
//!
//! The last two rows measure the two ways in: directly, and through a stream in memory with the unchanged client.
#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::expect_used)]

use std::collections::HashMap;
use std::sync::Arc;

use keyplane_bench::sides::{Make, Workload, compare};
use keyplane_bench::until_the_end;
use keyplane_engine::live::{Live, Options as LiveOptions};
use keyplane_key::Naming;
use keyplane_store::{Handle, Options, Store};
use keyplane_testing::{Program, Server, Settings};
use redis::aio::MultiplexedConnection;

mod parts {
    #![allow(missing_docs, unreachable_pub, dead_code)]
    keyplane_macros::keyspace!("../crates/store/tests/parts.toml");
}

mod scripts {
    #![allow(missing_docs, unreachable_pub, dead_code)]
    keyplane_macros::scripts!("../crates/store/tests/parts.toml", "../crates/store/tests/scripts");
}

use parts::{Bin, Keyspace};

const VALUE: &str = "0123456789012345678901234567890123456789012345678901234567890123";
const PIPELINE: usize = 100;

#[derive(Clone)]
struct Rig {
    engine: Handle,
    server: Handle,
    direct: Arc<keyplane_engine::live::Connection>,
    duplex: MultiplexedConnection,
    keys: Arc<Keyspace>,
}

fn bin(task: usize) -> Bin {
    Bin::new(format!("b{task}")).unwrap()
}

/// The same on either handle.
macro_rules! both {
    ($name:literal, $tasks:expr, |$handle:ident, $keys:ident, $task:ident, $round:ident| $body:expr) => {
        Workload {
            name: $name,
            tasks: $tasks,
            ours: |rig, $task, $round| {
                Box::pin(async move {
                    let ($handle, $keys) = (&rig.engine, &rig.keys);
                    $body
                })
            },
            theirs: |rig, $task, $round| {
                Box::pin(async move {
                    let ($handle, $keys) = (&rig.server, &rig.keys);
                    $body
                })
            },
        }
    };
}

macro_rules! one {
    ($round:ident, $operation:expr) => {
        until_the_end!($round, {
            $operation.await.unwrap();
            1
        })
    };
}

const DIRECT: Make<Rig> = |rig, task, round| {
    Box::pin(async move {
        let key = format!("d{task}");
        one!(round, rig.direct.execute(&[b"SET", key.as_bytes(), VALUE.as_bytes()]))
    })
};

const DUPLEX: Make<Rig> = |mut rig, task, round| {
    Box::pin(async move {
        let key = format!("d{task}");
        until_the_end!(round, {
            redis::cmd("SET").arg(&key).arg(VALUE).exec_async(&mut rig.duplex).await.unwrap();
            1
        })
    })
};

const WORKLOADS: &[Workload<Rig>] = &[
    both!("SET, one caller", 1, |handle, keys, task, round| {
        let key = keys.label(&bin(task));
        one!(round, handle.run(key.set(VALUE)))
    }),
    both!("GET, one caller", 1, |handle, keys, task, round| {
        let key = keys.label(&bin(task));
        one!(round, handle.run(key.get()))
    }),
    both!("script, one caller", 1, |handle, keys, task, round| {
        let (stock, moves) = (keys.stock(&bin(task)), keys.moves(&bin(task)));
        one!(
            round,
            handle.call::<i64>(scripts::Restock {
                stock: &stock,
                moves: &moves,
                parts: 1_u64.into(),
                who: "ann".into(),
            })
        )
    }),
    both!("SET, 64 tasks", 64, |handle, keys, task, round| {
        let key = keys.label(&bin(task));
        one!(round, handle.run(key.set(VALUE)))
    }),
    both!("GET, 64 tasks", 64, |handle, keys, task, round| {
        let key = keys.label(&bin(task));
        one!(round, handle.run(key.get()))
    }),
    both!("script, 64 tasks", 64, |handle, keys, task, round| {
        let (stock, moves) = (keys.stock(&bin(task)), keys.moves(&bin(task)));
        one!(
            round,
            handle.call::<i64>(scripts::Restock {
                stock: &stock,
                moves: &moves,
                parts: 1_u64.into(),
                who: "ann".into(),
            })
        )
    }),
    both!("pipeline of 100 SET, 8 tasks", 8, |handle, keys, task, round| {
        let keys: Vec<_> = (0..PIPELINE).map(|number| keys.label(&bin(task * PIPELINE + number))).collect();
        until_the_end!(round, {
            let mut pipeline = handle.pipeline();
            for key in &keys {
                pipeline = pipeline.run(key.set(VALUE));
            }
            pipeline.send_all().await.unwrap().len() as u64
        })
    }),
    Workload { name: "way in: direct against duplex, one caller", tasks: 1, ours: DIRECT, theirs: DUPLEX },
    Workload { name: "way in: direct against duplex, 64 tasks", tasks: 64, ours: DIRECT, theirs: DUPLEX },
];

async fn handle(url: &str) -> Handle {
    let store = Store::open(url, Options::default()).await.expect("a store");
    let contract = keyplane_store::contract(Keyspace::SOURCE).unwrap();
    store.as_component(&contract, "clerk", &HashMap::new()).unwrap()
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let server = Server::start(Program::Redis, &Settings::unix());
    let (live, _) = Live::start(LiveOptions::default()).unwrap();
    let (near, far) = tokio::io::duplex(64 * 1024);
    let served = live.clone();
    tokio::spawn(async move { served.attend(far, "duplex").await });
    let info = redis::RedisConnectionInfo::default().set_protocol(redis::ProtocolVersion::RESP3);
    let info: &'static _ = Box::leak(Box::new(info));
    let (duplex, driver) = MultiplexedConnection::new(info, near).await.unwrap();
    tokio::spawn(driver);
    let rig = Rig {
        engine: handle("embedded:").await,
        server: handle(&server.url()).await,
        direct: Arc::new(live.connect("bench")),
        duplex,
        keys: Arc::new(Keyspace::new(Naming::new("bench", false).unwrap()).unwrap()),
    };
    compare(&rig, WORKLOADS, ("engine", "redis")).await;
}
