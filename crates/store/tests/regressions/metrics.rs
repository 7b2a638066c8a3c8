//! What is counted, and what is healthy.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use keyplane_store::OperationSnapshot;
use keyplane_testing::{Mode, Program, Proxy, Server, Settings};

use crate::fake::{Answer, Fake, all_slots, error, halves, is_work};
use crate::rig::{Rig, options, test};
use crate::setup::bin;
use crate::wait::{patient, until_so};

fn counted(rig: &Rig, name: &str) -> OperationSnapshot {
    let snapshot = rig.store.metrics().snapshot();
    snapshot.operations.into_iter().find(|one| one.name == name).unwrap_or_default()
}

#[test]
fn a_store_is_healthy_again_when_pipelines_are_answered() {
    test(async {
        let server = Server::start(Program::Redis, &Settings::tcp());
        let proxy = Proxy::start(server.addr());
        let rig = Rig::open_with(&proxy.url(), patient()).await;
        let label = rig.keys.label(&bin("b"));
        let send = || async { rig.clerk.pipeline().run(label.set("x")).send().await.swap_remove(0) };
        let mut cuts = 0;
        while rig.store.is_healthy() {
            assert!(cuts < 100, "{cuts} pipelines were cut, and all is well");
            send().await.unwrap();
            proxy.set(Mode::CutAfter(0));
            send().await.unwrap_err();
            cuts += 1;
        }
        proxy.set(Mode::Pass);
        let mut answered = 0;
        while !rig.store.is_healthy() {
            assert!(answered < 1000, "{answered} pipelines were answered, and nothing is well");
            send().await.unwrap();
            answered += 1;
        }
    });
}

/// A cluster of two, one of them behind a proxy.
struct Two {
    stays: Fake,
    proxy: Proxy,
    /// Whether the first has all slots.
    left: Arc<AtomicBool>,
    rig: Rig,
    _leaves: Fake,
}

impl Two {
    async fn start(health_check_interval: Duration) -> Self {
        let (stays, leaves) = (Fake::bind(), Fake::bind());
        let proxy = Proxy::start(leaves.addr());
        let left = Arc::new(AtomicBool::new(false));
        let (a, b) = (stays.port(), proxy.addr().port());
        for fake in [&stays, &leaves] {
            let left = Arc::clone(&left);
            fake.serve(move |words| match words[0] {
                "CLUSTER" if left.load(SeqCst) => all_slots(a),
                "CLUSTER" => halves(a, b),
                _ => Answer::Usual,
            });
        }
        let mut options = options();
        options.health_check_interval = health_check_interval;
        let rig = Rig::open_with(&format!("redis+cluster://{}", stays.addr()), options).await;
        Self { stays, proxy, left, rig, _leaves: leaves }
    }

    fn cut_off(&self) {
        self.proxy.set(Mode::Refuse);
        self.proxy.close_connections();
    }

    /// Waits for that many more questions for the map.
    async fn map_asked_for(&self, times: usize) {
        let before = self.stays.got("CLUSTER SLOTS");
        until_so("the map is asked for", || self.stays.got("CLUSTER SLOTS") >= before + times).await;
    }
}

#[test]
fn a_node_that_has_left_does_not_make_a_cluster_unhealthy() {
    test(async {
        let two = Two::start(Duration::from_secs(1)).await;
        two.cut_off();
        until_so("a missing node is not healthy", || !two.rig.store.is_healthy()).await;
        two.left.store(true, SeqCst);
        until_so("a cluster without it is healthy", || two.rig.store.is_healthy()).await;
        // Nobody looks for it any more.
        two.map_asked_for(1).await;
        let before = two.proxy.connections();
        two.map_asked_for(1).await;
        assert_eq!(two.proxy.connections(), before, "attempts to connect to a node that has left");
        assert!(two.rig.store.is_healthy());
    });
}

#[test]
fn a_node_that_is_missing_is_not_forgotten_with_every_look_at_the_map() {
    test(async {
        let two = Two::start(Duration::from_millis(20)).await;
        two.cut_off();
        until_so("a missing node is not healthy", || !two.rig.store.is_healthy()).await;
        for _ in 0..10 {
            two.map_asked_for(1).await;
            assert!(!two.rig.store.is_healthy(), "half of the slots cannot be reached, and all is well");
        }
        two.proxy.set(Mode::Pass);
        until_so("the node is back", || two.rig.store.is_healthy()).await;
    });
}

#[test]
fn an_entry_of_a_pipeline_that_moved_counts_once() {
    test(async {
        let (old, new) = (Fake::bind(), Fake::bind());
        let (from, to) = (old.port(), new.port());
        let asked = AtomicBool::new(false);
        old.serve(move |words| match words[0] {
            // The map of the beginning is an old one.
            "CLUSTER" => all_slots(if asked.load(SeqCst) { to } else { from }),
            command if is_work(command) => {
                asked.store(true, SeqCst);
                error(&format!("MOVED 1 127.0.0.1:{to}"))
            }
            _ => Answer::Usual,
        });
        new.serve(move |words| if words[0] == "CLUSTER" { all_slots(to) } else { Answer::Usual });
        let rig = Rig::open_with(&format!("redis+cluster://{}", old.addr()), patient()).await;
        let label = rig.keys.label(&bin("b"));
        let results = rig.clerk.pipeline().run(label.set("x")).run(label.get()).send().await;
        assert!(results.iter().all(Result::is_ok), "{results:?}");
        for name in ["SET", "GET"] {
            let found = counted(&rig, name);
            assert_eq!((found.answered, found.failed), (1, 0), "{name}");
        }
    });
}

#[test]
fn entries_of_a_pipeline_to_nowhere_count_as_failed() {
    test(async {
        let server = Server::start(Program::Redis, &Settings::tcp());
        let rig = Rig::open(&server.url()).await;
        let label = rig.keys.label(&bin("b"));
        server.kill();
        until_so("the loss is seen", || rig.store.metrics().snapshot().connections_lost > 0).await;
        for _ in 0..3 {
            let results = rig.clerk.pipeline().run(label.set("x")).run(label.get()).send().await;
            assert!(results.iter().all(Result::is_err), "{results:?}");
        }
        for name in ["SET", "GET"] {
            let found = counted(&rig, name);
            assert_eq!((found.answered, found.failed), (0, 3), "{name}");
        }
    });
}
