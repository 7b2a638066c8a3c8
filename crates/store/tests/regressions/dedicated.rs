//! Connections of their own, when the server behind them changes or says nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering::SeqCst};
use std::time::Duration;

use keyplane_key::{Key, Str};
use keyplane_store::{Cause, Dedicated, Error};
use keyplane_testing::{Cluster, Mode, Program, Proxy, Server, Settings, Slot};

use crate::fake::{Answer, Fake, all_slots, error, is_work};
use crate::rig::{Rig, in_time, options, test};
use crate::setup::{bin, order};
use crate::shelf;
use crate::wait::{patient, until, until_so};

fn redis() -> Server {
    Server::start(Program::Redis, &Settings::tcp())
}

fn keys_on(server: &Server) -> u64 {
    redis::cmd("DBSIZE").query(&mut server.admin()).unwrap()
}

/// Two masters, the sentinel that names one of them, and a store behind it.
struct Pair {
    old: Server,
    new: Server,
    named: Arc<AtomicU16>,
    rig: Rig,
    _sentinel: Fake,
}

impl Pair {
    async fn start() -> Self {
        let (old, new) = (redis(), redis());
        let named = Arc::new(AtomicU16::new(old.port()));
        let sentinel = Fake::sentinel(&named);
        let mut options = patient();
        options.health_check_interval = Duration::from_millis(50);
        let rig = Rig::open_with(&format!("redis+sentinel://{}/m", sentinel.addr()), options).await;
        Self { old, new, named, rig, _sentinel: sentinel }
    }

    /// From here on the sentinel names the new one; comes back when the shared connection is there.
    async fn fail_over(&self) {
        self.named.store(self.new.port(), SeqCst);
        until("the store follows the sentinel", || async {
            self.rig.label("elsewhere", "x").await.map_err(|error| error.to_string())?;
            if keys_on(&self.new) > 0 { Ok(()) } else { Err("still at the old master".to_owned()) }
        })
        .await;
        redis::cmd("FLUSHALL").exec(&mut self.old.admin()).unwrap();
    }
}

#[test]
fn a_connection_given_back_before_a_failover_is_not_lent_after_it() {
    test(async {
        let pair = Pair::start().await;
        let label = pair.rig.keys.label(&bin("b"));
        drop(pair.rig.clerk.dedicated(&label).await.unwrap());
        pair.fail_over().await;
        let mut own = pair.rig.clerk.dedicated(&label).await.unwrap();
        own.run(label.set("x")).await.unwrap();
        assert_eq!(keys_on(&pair.old), 0, "written to the old master");
    });
}

#[test]
fn a_connection_given_back_after_a_failover_is_not_lent_again() {
    test(async {
        let pair = Pair::start().await;
        let label = pair.rig.keys.label(&bin("b"));
        let before = pair.rig.clerk.dedicated(&label).await.unwrap();
        pair.fail_over().await;
        drop(before);
        for _ in 0..3 {
            let mut own = pair.rig.clerk.dedicated(&label).await.unwrap();
            own.run(label.set("x")).await.unwrap();
        }
        assert_eq!(keys_on(&pair.old), 0, "written to the old master");
    });
}

#[test]
fn a_dedicated_connection_goes_to_the_new_master() {
    test(async {
        let pair = Pair::start().await;
        let label = pair.rig.keys.label(&bin("b"));
        let mut own = pair.rig.clerk.dedicated(&label).await.unwrap();
        own.run(label.set("x")).await.unwrap();
        pair.named.store(pair.new.port(), SeqCst);
        pair.old.kill();
        heals(&mut own, &label).await;
        assert_eq!(keys_on(&pair.new), 1);
    });
}

/// Tries with the same object until it works again; what came before may all be retried.
async fn heals(own: &mut Dedicated, label: &Key<Str>) -> Vec<Error> {
    let start = tokio::time::Instant::now();
    let mut errors = Vec::new();
    loop {
        match in_time(own.run(label.set("z"))).await {
            Ok(()) => return errors,
            Err(error) => {
                assert!(error.is_retryable(), "{error}");
                assert!(start.elapsed() < Duration::from_secs(20), "does not heal: {error}");
                errors.push(error);
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
    }
}

/// A redirect is told, and nothing was done.
fn told_and_not_applied(errors: &[Error]) {
    assert!(!errors.is_empty(), "nobody was told that the slot has moved");
    assert!(errors.iter().all(|error| !error.maybe_applied()), "{errors:?}");
}

#[test]
fn a_dedicated_connection_follows_its_slot() {
    test(async {
        let (old, new) = (Fake::bind(), Fake::bind());
        let moved = Arc::new(AtomicBool::new(false));
        let (from, to) = (old.port(), new.port());
        let has_moved = Arc::clone(&moved);
        let map = move || all_slots(if has_moved.load(SeqCst) { to } else { from });
        old.serve({
            let (moved, map) = (Arc::clone(&moved), map.clone());
            move |words| match words[0] {
                "CLUSTER" => map(),
                command if is_work(command) && moved.load(SeqCst) => {
                    error(&format!("MOVED 1 127.0.0.1:{to}"))
                }
                _ => Answer::Usual,
            }
        });
        new.serve(move |words| if words[0] == "CLUSTER" { map() } else { Answer::Usual });
        let rig = Rig::open_with(&format!("redis+cluster://{}", old.addr()), patient()).await;
        let label = rig.keys.label(&bin("b"));
        let mut own = rig.clerk.dedicated(&label).await.unwrap();
        own.run(label.set("x")).await.unwrap();
        moved.store(true, SeqCst);
        told_and_not_applied(&heals(&mut own, &label).await);
        assert_eq!(new.work(), ["SET"]);
    });
}

#[test]
fn a_dedicated_connection_leaves_a_dead_node() {
    test(async {
        let (old, new) = (Fake::bind(), Fake::bind());
        let proxy = Proxy::start(old.addr());
        let dead = Arc::new(AtomicBool::new(false));
        let (from, to) = (proxy.addr().port(), new.port());
        let is_dead = Arc::clone(&dead);
        let map = move || all_slots(if is_dead.load(SeqCst) { to } else { from });
        for fake in [&old, &new] {
            let map = map.clone();
            fake.serve(move |words| if words[0] == "CLUSTER" { map() } else { Answer::Usual });
        }
        let rig =
            Rig::open_with(&format!("redis+cluster://{},{}", proxy.addr(), new.addr()), patient()).await;
        let label = rig.keys.label(&bin("b"));
        let mut own = rig.clerk.dedicated(&label).await.unwrap();
        own.run(label.set("x")).await.unwrap();
        dead.store(true, SeqCst);
        proxy.set(Mode::Refuse);
        proxy.close_connections();
        heals(&mut own, &label).await;
        assert_eq!(new.work(), ["SET"]);
    });
}

#[test]
fn a_dedicated_connection_follows_a_slot_of_a_real_cluster() {
    test(async {
        let cluster = Cluster::start(Program::Redis, 2, 0);
        let rig = Rig::open_with(&cluster.url(), patient()).await;
        let label = rig.keys.label(&bin("b"));
        let mut own = rig.clerk.dedicated(&label).await.unwrap();
        own.run(label.set("x")).await.unwrap();
        let slot = Slot::of(label.as_str());
        let from = cluster.node_of_slot(slot);
        let to = cluster.nodes().find(|node| *node != from).unwrap();
        tokio::task::block_in_place(|| {
            cluster.migrate_slot_begin(slot, from, to);
            cluster.migrate_keys(slot);
            cluster.migrate_slot_end(slot);
        });
        told_and_not_applied(&heals(&mut own, &label).await);
        assert_eq!(own.run(label.get()).await.unwrap().as_deref(), Some(&b"z"[..]));
    });
}

#[test]
fn a_silent_server_does_not_keep_who_wants_a_connection_of_its_own() {
    test(async {
        let server = redis();
        let proxy = Proxy::start(server.addr());
        let mut options = options();
        // Far longer than this test may take: connecting is part of the operation.
        options.connect_timeout = Duration::from_secs(120);
        let rig = Rig::open_with(&proxy.url(), options).await;
        let label = rig.keys.label(&bin("b"));
        proxy.set(Mode::HalfOpen);
        let failed = in_time(rig.clerk.dedicated(&label)).await.unwrap_err();
        assert!(failed.is_retryable() && !failed.maybe_applied(), "{failed}");
        proxy.set(Mode::Pass);
        until("connections can be had again", || in_time(rig.clerk.dedicated(&label))).await;
    });
}

#[test]
fn limits_and_missing_parents_are_told_as_such() {
    test(async {
        let server = redis();
        let rig = Rig::open_with(&server.url(), patient()).await;
        let bins = rig.keys.bins();
        let mut own = rig.clerk.dedicated(&bins).await.unwrap();
        let failed = own.run(bins.sadd(["a", "b", "c", "d"])).await.unwrap_err();
        let Cause::Limit { what, most, would_be } = failed.cause() else { panic!("{failed}") };
        assert_eq!((*what, *most, *would_be), ("members", 3, 4));
        assert!(!failed.maybe_applied());
        let (book, lines) = (rig.keys.order(&order("o")), rig.keys.lines(&order("o")));
        let failed = own.run(lines.rpush("x").linked_to(&book)).await.unwrap_err();
        assert!(matches!(failed.cause(), Cause::NoParent { parent: "order" }), "{failed}");
    });
}

#[test]
fn a_wait_of_less_than_a_millisecond_ends() {
    test(async {
        let server = redis();
        let (hand, keys) = shelf::open(&server.url(), patient()).await;
        let (log, incoming) = (keys.log(&shelf::id("a")), keys.incoming(&shelf::id("a")));
        let moment = Duration::from_micros(500);
        let mut own = hand.dedicated(&log).await.unwrap();
        assert_eq!(in_time(own.run(log.xread("$", 1, moment))).await.unwrap(), []);
        assert_eq!(in_time(own.run(incoming.blpop(moment))).await.unwrap(), None);
    });
}

#[test]
fn a_pool_is_not_used_up_by_a_server_that_went_away() {
    test(async {
        let server = redis();
        let mut options = patient();
        options.pool_size = 2;
        let rig = Rig::open_with(&server.url(), options).await;
        let label = rig.keys.label(&bin("b"));
        let mut own = rig.clerk.dedicated(&label).await.unwrap();
        own.run(label.set("x")).await.unwrap();
        server.restart();
        heals(&mut own, &label).await;
        drop(own);
        rig.clerk.dedicated(&label).await.unwrap();
        until_so("nobody has a connection of its own", || rig.store.metrics().snapshot().dedicated_open == 0)
            .await;
    });
}
