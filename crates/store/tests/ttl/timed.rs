//! Stores whose clock is the test's: a real server, and the embedded one.

use std::collections::BTreeMap;
use std::time::{Duration, UNIX_EPOCH};

use keyplane_engine::Reply;
use keyplane_store::{Options, Store};
use keyplane_testing::{VirtualEngine, VirtualServer};
use tokio::runtime::{Builder, Runtime};

/// When each key ends; `None` never.
pub(crate) type Ends = BTreeMap<String, Option<i64>>;

pub(crate) enum Timed {
    Server(VirtualServer),
    Engine(VirtualEngine),
}

impl Timed {
    pub(crate) fn server(server: VirtualServer) -> (Self, Runtime) {
        (Self::Server(server), Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap())
    }

    pub(crate) fn engine() -> (Self, Runtime) {
        let runtime = Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        let engine = runtime.block_on(async { VirtualEngine::start(1) });
        (Self::Engine(engine), runtime)
    }

    pub(crate) async fn open(&self) -> Store {
        match self {
            Self::Server(server) => Store::open(&server.url(), Options::default()).await,
            Self::Engine(engine) => Store::on_engine(engine.live().clone(), Options::default()).await,
        }
        .unwrap()
    }

    pub(crate) fn now(&self) -> i64 {
        let now = match self {
            Self::Server(server) => server.now(),
            Self::Engine(engine) => engine.now(),
        };
        i64::try_from(now.duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
    }

    pub(crate) async fn advance(&self, millis: u64) {
        let by = Duration::from_millis(millis);
        match self {
            Self::Server(server) => server.advance(by),
            Self::Engine(engine) => engine.advance(by).await,
        }
    }

    pub(crate) async fn flush(&self) {
        match self {
            Self::Server(server) => redis::cmd("FLUSHALL").exec(&mut server.admin()).unwrap(),
            Self::Engine(engine) => {
                assert_eq!(engine.live().connect("test").execute(&[b"FLUSHALL"]).await, Ok(Reply::Ok));
            }
        }
    }

    /// What is said about every key there is.
    pub(crate) async fn ends(&self) -> Ends {
        let all = match self {
            Self::Server(server) => ends_on_server(server),
            Self::Engine(engine) => ends_on_engine(engine).await,
        };
        // A key that ended and was not yet collected is -2.
        let there = all.into_iter().filter(|(_, end)| *end != -2);
        there.map(|(name, end)| (name, (end != -1).then_some(end))).collect()
    }
}

fn ends_on_server(server: &VirtualServer) -> Vec<(String, i64)> {
    let mut admin = server.admin();
    let names: Vec<String> = redis::cmd("KEYS").arg("*").query(&mut admin).unwrap();
    let mut ask = redis::pipe();
    for name in &names {
        ask.cmd("PEXPIRETIME").arg(name);
    }
    let ends: Vec<i64> = if names.is_empty() { Vec::new() } else { ask.query(&mut admin).unwrap() };
    names.into_iter().zip(ends).collect()
}

async fn ends_on_engine(engine: &VirtualEngine) -> Vec<(String, i64)> {
    let admin = engine.live().connect("test");
    let Ok(Reply::Array(names)) = admin.execute(&[b"KEYS", b"*"]).await else { panic!("no keys") };
    let mut all = Vec::new();
    for name in names {
        let Reply::Bulk(name) = name else { panic!("{name:?} is no name") };
        let Ok(Reply::Int(end)) = admin.execute(&[b"PEXPIRETIME", &name]).await else { panic!("no end") };
        all.push((String::from_utf8(name).unwrap(), end));
    }
    all
}
