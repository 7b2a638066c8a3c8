//! Typed operations and scripts through the store, against the bare `redis` crate doing the same commands on the same
//! server in the same run: `cargo run --release -p keyplane-bench --bin store [ROUNDS] [SECONDS] [PART OF A NAME]`
//!
//! Rounds alternate, so that what else the machine does falls on both. Printed are medians of operations per second and of
//! client CPU per operation, and the ratio of the two rates.
#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::expect_used)]

use std::collections::HashMap;
use std::sync::Arc;

use keyplane_bench::sides::{Workload, compare};
use keyplane_bench::until_the_end;
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

#[derive(Clone)]
struct Rig {
    handle: Handle,
    connection: MultiplexedConnection,
    keys: Arc<Keyspace>,
}

fn bin(task: usize) -> Bin {
    Bin::new(format!("b{task}")).unwrap()
}

fn order(task: usize) -> Order {
    Order::new(format!("o{task}")).unwrap()
}

const WORKLOADS: &[Workload<Rig>] = &[
    Workload {
        name: "SET with its TTL, 64 tasks",
        tasks: 64,
        ours: |rig, task, round| {
            Box::pin(async move {
                let key = rig.keys.label(&bin(task));
                until_the_end!(round, {
                    rig.handle.run(key.set(VALUE)).await.unwrap();
                    1
                })
            })
        },
        theirs: |mut rig, task, round| {
            Box::pin(async move {
                let key = rig.keys.label(&bin(task)).to_string();
                until_the_end!(round, {
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
        ours: |rig, task, round| {
            Box::pin(async move {
                let key = rig.keys.label(&bin(task));
                until_the_end!(round, {
                    rig.handle.run(key.get()).await.unwrap();
                    1
                })
            })
        },
        theirs: |mut rig, task, round| {
            Box::pin(async move {
                let key = rig.keys.label(&bin(task)).to_string();
                until_the_end!(round, {
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
        ours: |rig, task, round| {
            Box::pin(async move {
                let key = rig.keys.order(&order(task));
                until_the_end!(round, {
                    rig.handle.run(key.hset([("state", "open"), ("note", VALUE)])).await.unwrap();
                    1
                })
            })
        },
        theirs: |mut rig, task, round| {
            Box::pin(async move {
                let key = rig.keys.order(&order(task)).to_string();
                let sha = sha1_smol::Sha1::from(GUARD).digest().to_string();
                until_the_end!(round, {
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
        ours: |rig, task, round| {
            Box::pin(async move {
                let (stock, moves) = (rig.keys.stock(&bin(task)), rig.keys.moves(&bin(task)));
                until_the_end!(round, {
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
        theirs: |mut rig, task, round| {
            Box::pin(async move {
                let stock = rig.keys.stock(&bin(task)).to_string();
                let moves = rig.keys.moves(&bin(task)).to_string();
                until_the_end!(round, {
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
        ours: |rig, task, round| {
            Box::pin(async move {
                let keys: Vec<_> =
                    (0..PIPELINE).map(|number| rig.keys.label(&bin(task * PIPELINE + number))).collect();
                until_the_end!(round, {
                    let mut pipeline = rig.handle.pipeline();
                    for key in &keys {
                        pipeline = pipeline.run(key.set(VALUE));
                    }
                    pipeline.send_all().await.unwrap().len() as u64
                })
            })
        },
        theirs: |mut rig, task, round| {
            Box::pin(async move {
                let keys: Vec<String> = (0..PIPELINE)
                    .map(|number| rig.keys.label(&bin(task * PIPELINE + number)).to_string())
                    .collect();
                until_the_end!(round, {
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
    let server = Server::start(Program::Redis, &Settings::tcp());
    let rig = rig(&server).await;
    compare(&rig, WORKLOADS, ("store", "bare")).await;
}
