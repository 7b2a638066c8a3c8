//! Pipelines: order, parts that fail, scripts that a server does not have yet.

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::task::Poll;
use std::time::Duration;

use keyplane_store::{Cause, Error, Reply};
use keyplane_testing::{Cluster, Mode, Program, Proxy, Server, Settings, Slot};
use tokio::task::JoinSet;

use crate::clusters::bin_in;
use crate::fake::{Answer, Fake, all_slots, error, halves};
use crate::rig::{Rig, options, test};
use crate::setup::{bin, order, scripts::Restock};
use crate::wait::{patient, until_so};

const ON_THE_MOVE: &str = "TRYAGAIN Multiple keys request during rehashing of slot";

/// A cluster of one node that puts off each of these commands the first time it gets it.
struct Moving {
    node: Fake,
    rig: Rig,
}

impl Moving {
    async fn start(put_off: &'static [&'static str]) -> Self {
        let node = Fake::bind();
        let own = node.port();
        let done: Vec<AtomicBool> = put_off.iter().map(|_| AtomicBool::new(false)).collect();
        node.serve(move |words| {
            let place = put_off.iter().position(|command| *command == words[0]);
            match place.filter(|place| !done[*place].swap(true, SeqCst)) {
                Some(_) => error(ON_THE_MOVE),
                None if words[0] == "CLUSTER" => all_slots(own),
                None => Answer::Usual,
            }
        });
        let rig = Rig::open_with(&format!("redis+cluster://{}", node.addr()), patient()).await;
        Self { node, rig }
    }

    /// A script on one bin, then a SET on another or the same.
    async fn restock_then_set(&self, restocked: &str, set: &str) -> Vec<Result<Reply, Error>> {
        let keys = &self.rig.keys;
        let (stock, moves) = (keys.stock(&bin(restocked)), keys.moves(&bin(restocked)));
        let restock = Restock { stock: &stock, moves: &moves, parts: 5_u64.into(), who: "ann".into() };
        let pipeline = self.rig.clerk.pipeline();
        pipeline.call::<i64>(restock).run(keys.label(&bin(set)).set("x")).send().await
    }

    /// The commands that it got, EVAL and EVALSHA as one.
    fn work(&self) -> Vec<String> {
        self.node
            .work()
            .into_iter()
            .map(|name| if name == "EVAL" { "EVALSHA".to_owned() } else { name })
            .collect()
    }
}

fn was_put_off(result: &Result<Reply, Error>) {
    let failed = result.as_ref().unwrap_err();
    assert!(matches!(failed.cause(), Cause::NotNow(_)), "{failed}");
    assert!(failed.is_retryable() && !failed.maybe_applied(), "{failed}");
}

#[test]
fn an_entry_is_not_run_after_a_later_one_of_its_slot() {
    test(async {
        let moving = Moving::start(&["EVALSHA"]).await;
        let results = moving.restock_then_set("b", "b").await;
        was_put_off(&results[0]);
        assert!(results[1].is_ok(), "{results:?}");
        assert_eq!(moving.work(), ["EVALSHA", "SET"]);
    });
}

#[test]
fn an_entry_is_run_again_when_no_later_one_of_its_slot_has_run() {
    test(async {
        let moving = Moving::start(&["EVALSHA"]).await;
        let results = moving.restock_then_set("b", "c").await;
        assert!(results.iter().all(Result::is_ok), "{results:?}");
        assert_eq!(moving.work(), ["EVALSHA", "SET", "EVALSHA"]);
    });
}

#[test]
fn entries_of_one_slot_that_are_all_put_off_are_run_again_in_order() {
    test(async {
        let moving = Moving::start(&["EVALSHA", "SET"]).await;
        let results = moving.restock_then_set("b", "b").await;
        assert!(results.iter().all(Result::is_ok), "{results:?}");
        assert_eq!(moving.work(), ["EVALSHA", "SET", "EVALSHA", "SET"]);
    });
}

#[test]
fn an_order_is_kept_while_a_slot_of_a_real_cluster_moves() {
    test(async {
        let cluster = Cluster::start(Program::Redis, 2, 0);
        let mut options = patient();
        // The script is put off for as long as it may take.
        options.command_timeout = Duration::from_secs(1);
        let rig = Rig::open_with(&cluster.url(), options).await;
        let (stock, moves) = (rig.keys.stock(&bin("b")), rig.keys.moves(&bin("b")));
        rig.clerk.run(stock.set("0")).await.unwrap();
        let slot = Slot::of(stock.as_str());
        let from = cluster.node_of_slot(slot);
        let to = cluster.nodes().find(|node| *node != from).unwrap();
        let restock = || Restock { stock: &stock, moves: &moves, parts: 5_u64.into(), who: "ann".into() };
        // One key is here, the other on neither side: the script must wait, the SET must not.
        cluster.migrate_slot_begin(slot, from, to);
        let results = rig.clerk.pipeline().call::<i64>(restock()).run(stock.set("100")).send().await;
        was_put_off(&results[0]);
        assert!(results[1].is_ok(), "{results:?}");
        tokio::task::block_in_place(|| {
            cluster.migrate_keys(slot);
            cluster.migrate_slot_end(slot);
        });
        assert_eq!(rig.count("b").await, 100);
        let results = rig.clerk.pipeline().call::<i64>(restock()).run(stock.get()).send().await;
        assert!(results.iter().all(Result::is_ok), "{results:?}");
        assert_eq!(rig.count("b").await, 105);
    });
}

#[test]
fn a_dead_node_fails_the_entries_that_need_it_and_no_others() {
    test(async {
        let (first, second) = (Fake::bind(), Fake::bind());
        let proxy = Proxy::start(second.addr());
        let (a, b) = (first.port(), proxy.addr().port());
        for fake in [&first, &second] {
            fake.serve(move |words| if words[0] == "CLUSTER" { halves(a, b) } else { Answer::Usual });
        }
        let mut options = options();
        options.command_timeout = Duration::from_secs(1);
        let rig = Rig::open_with(&format!("redis+cluster://{}", first.addr()), options).await;
        let (live, dead) = (bin_in(&rig, false), bin_in(&rig, true));
        let (live, dead) = (rig.keys.label(&bin(&live)), rig.keys.label(&bin(&dead)));
        let send = || {
            let pipeline = rig.clerk.pipeline();
            pipeline
                .run(live.get())
                .run(dead.get())
                .run(live.set("x"))
                .run(dead.set("x"))
                .run(live.get())
                .send()
        };
        assert!(send().await.iter().all(Result::is_ok));
        proxy.set(Mode::Refuse);
        proxy.close_connections();
        until_so("the loss is seen", || rig.store.metrics().snapshot().connections_lost > 0).await;
        let results = send().await;
        let ok: Vec<bool> = results.iter().map(Result::is_ok).collect();
        assert_eq!(ok, [true, false, true, false, true], "{results:?}");
        for failed in results.iter().filter_map(|result| result.as_ref().err()) {
            assert!(matches!(failed.cause(), Cause::Unreachable { .. }), "{failed}");
            assert!(failed.is_retryable() && !failed.maybe_applied(), "{failed}");
        }
        assert_eq!(second.work(), ["GET", "SET"]);
    });
}

fn forgotten(results: &[Result<Reply, Error>]) -> usize {
    let is_forgotten = |result: &&Result<Reply, Error>| matches!(result, Err(error) if matches!(error.cause(), Cause::ScriptForgotten));
    results.iter().filter(is_forgotten).count()
}

#[test]
fn the_first_pipelines_on_a_server_may_be_sent_side_by_side() {
    test(async {
        let server = Server::start(Program::Redis, &Settings::tcp());
        for round in 0..20 {
            redis::cmd("SCRIPT").arg("FLUSH").exec(&mut server.admin()).unwrap();
            let rig = Rig::open_with(&server.url(), patient()).await;
            let mut side_by_side = JoinSet::new();
            for number in 0..8 {
                let rig = rig.clone();
                side_by_side.spawn(async move {
                    let book = rig.keys.order(&order("o"));
                    let mut pipeline = rig.clerk.pipeline();
                    // Long ones take longer to be put together, so that short ones overtake them.
                    for _ in 0..if number % 2 == 0 { 500 } else { 1 } {
                        pipeline = pipeline.run(book.hset([("state", "open")]));
                    }
                    let results = pipeline.send().await;
                    assert_eq!(forgotten(&results), 0, "round {round}");
                    assert!(results.iter().all(Result::is_ok), "round {round}");
                });
            }
            side_by_side.join_all().await;
        }
    });
}

#[test]
fn a_pipeline_whose_caller_went_away_does_not_spoil_the_next() {
    // On one thread, so that the test says when others have their turn: what is handed over may not be sent yet.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let server = Server::start(Program::Redis, &Settings::tcp());
        for turns in 0..3 {
            redis::cmd("SCRIPT").arg("FLUSH").exec(&mut server.admin()).unwrap();
            let rig = Rig::open_with(&server.url(), patient()).await;
            let book = rig.keys.order(&order("o"));
            let send = || rig.clerk.pipeline().run(book.hset([("state", "open")])).send();
            let mut dropped = Box::pin(send());
            let _ = poll_fn(|context| Poll::Ready(dropped.as_mut().poll(context))).await;
            for _ in 0..turns {
                tokio::task::yield_now().await;
            }
            drop(dropped);
            let results = send().await;
            assert!(results[0].is_ok(), "dropped after {turns} turns: {results:?}");
        }
    });
}
