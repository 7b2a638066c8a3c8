//! Maps and redirects of clusters.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use keyplane_store::{Cause, Options, Store};
use keyplane_testing::Slot;
use tokio::task::JoinSet;

use crate::fake::{Answer, Fake, MIDDLE, all_slots, error, halves, is_work, slots};
use crate::rig::{Rig, test};
use crate::setup::bin;
use crate::wait::{patient, until, until_so};

/// A bin whose keys lie in the first half of the slots, or in the second.
pub(crate) fn bin_in(rig: &Rig, second_half: bool) -> String {
    let slot = |id: &String| Slot::of(rig.keys.label(&bin(id)).as_str()).number();
    (0..100).map(|number| format!("b{number}")).find(|id| (slot(id) >= MIDDLE) == second_half).unwrap()
}

fn url(seeds: &[&Fake]) -> String {
    let addresses: Vec<String> = seeds.iter().map(|seed| seed.addr()).collect();
    format!("redis+cluster://{}", addresses.join(","))
}

/// A node that has all slots by its map, and sends every command about data elsewhere, in these words.
fn redirecting(words: impl Fn(u16) -> String + Send + Sync + 'static, to: u16) -> Fake {
    let fake = Fake::bind();
    let own = fake.port();
    fake.serve(move |command| match command[0] {
        "CLUSTER" => all_slots(own),
        command if is_work(command) => error(&words(to)),
        _ => Answer::Usual,
    });
    fake
}

#[test]
fn a_node_that_is_cut_off_is_not_asked_for_the_way() {
    test(async {
        // The first is cut off: it knows no better than before and says that the cluster is down. The second knows that
        // the third has taken over.
        let (first, second, third) = (Fake::bind(), Fake::bind(), Fake::bind());
        let cut_off = Arc::new(AtomicBool::new(false));
        let (a, b, c) = (first.port(), second.port(), third.port());
        first.serve({
            let cut_off = Arc::clone(&cut_off);
            move |words| match words[0] {
                "CLUSTER" => halves(a, b),
                command if is_work(command) && cut_off.load(SeqCst) => {
                    error("CLUSTERDOWN The cluster is down")
                }
                _ => Answer::Usual,
            }
        });
        for fake in [&second, &third] {
            let cut_off = Arc::clone(&cut_off);
            fake.serve(move |words| match words[0] {
                "CLUSTER" => halves(if cut_off.load(SeqCst) { c } else { a }, b),
                _ => Answer::Usual,
            });
        }
        // The health check comes after half a minute; the operations must find out themselves.
        let rig = Rig::open_with(&url(&[&first, &second]), patient()).await;
        let id = bin_in(&rig, false);
        rig.read_label(&id).await.unwrap();
        cut_off.store(true, SeqCst);
        until("the node that took over is found", || async {
            let read = rig.read_label(&id).await;
            if let Err(error) = &read {
                assert!(error.is_retryable(), "{error}");
            }
            read
        })
        .await;
        assert_eq!(third.work(), ["GET"]);
    });
}

#[test]
fn half_a_map_does_not_replace_a_whole_one() {
    test(async {
        let (first, second) = (Fake::bind(), Fake::bind());
        let reset = Arc::new(AtomicBool::new(false));
        let (a, b) = (first.port(), second.port());
        // After its reset the first knows of nothing, then of its own half; the second serves and does not tell.
        first.serve({
            let (reset, turn) = (Arc::clone(&reset), AtomicBool::new(false));
            move |words| match words[0] {
                "CLUSTER" if !reset.load(SeqCst) => halves(a, b),
                "CLUSTER" if turn.fetch_xor(true, SeqCst) => slots(&[(0, MIDDLE - 1, a)]),
                "CLUSTER" => slots(&[]),
                _ => Answer::Usual,
            }
        });
        second.serve({
            let reset = Arc::clone(&reset);
            move |words| match words[0] {
                "CLUSTER" if reset.load(SeqCst) => error("ERR not now"),
                "CLUSTER" => halves(a, b),
                _ => Answer::Usual,
            }
        });
        let mut options = patient();
        options.health_check_interval = Duration::from_millis(50);
        let rig = Rig::open_with(&url(&[&first]), options).await;
        let (one, other) = (bin_in(&rig, false), bin_in(&rig, true));
        reset.store(true, SeqCst);
        let before = first.got("CLUSTER SLOTS");
        until_so("the map was asked for a few times", || first.got("CLUSTER SLOTS") > before + 4).await;
        // At once: with the whole map there is nothing to wait for.
        let hasty = rig.clerk.with_timeout(Duration::from_secs(2));
        for id in [one, other] {
            hasty.run(rig.keys.label(&bin(&id)).get()).await.unwrap();
        }
        assert_eq!((first.work(), second.work()), (vec!["GET".to_owned()], vec!["GET".to_owned()]));
    });
}

#[test]
fn operations_sent_on_to_a_node_outside_the_map_share_one_connection() {
    test(async {
        let outside = Fake::start(|_| Answer::Usual);
        let node = redirecting(|port| format!("ASK 1 127.0.0.1:{port}"), outside.port());
        let rig = Rig::open_with(&url(&[&node]), patient()).await;
        for _ in 0..80 {
            rig.read_label("b").await.unwrap();
        }
        let mut side_by_side = JoinSet::new();
        for _ in 0..20 {
            let rig = rig.clone();
            side_by_side.spawn(async move { rig.read_label("b").await.unwrap() });
        }
        assert_eq!(side_by_side.join_all().await.len(), 100 - 80);
        assert_eq!((outside.got("ASKING"), outside.got("GET")), (100, 100));
        assert_eq!(outside.connections(), 1);
    });
}

#[test]
fn a_redirect_that_leads_back_is_followed_a_few_times_and_not_now() {
    test(async {
        for word in ["MOVED", "ASK"] {
            let node = Fake::bind();
            let own = node.port();
            node.serve(move |words| match words[0] {
                "CLUSTER" => all_slots(own),
                command if is_work(command) => error(&format!("{word} 1 127.0.0.1:{own}")),
                _ => Answer::Usual,
            });
            let rig = Rig::open(&url(&[&node])).await;
            let failed = rig.add("b", 1).await.unwrap_err();
            assert!(matches!(failed.cause(), Cause::NotNow(_)), "{word}: {failed}");
            assert!(failed.is_retryable() && !failed.maybe_applied(), "{word}: {failed}");
            let alone = node.work().len();
            assert!((2..60).contains(&alone), "{word}: sent {alone} times");

            let stock = rig.keys.stock(&bin("b"));
            let results = rig.clerk.pipeline().run(stock.incrby(1)).send().await;
            let failed = results[0].as_ref().unwrap_err();
            assert!(matches!(failed.cause(), Cause::NotNow(_)), "{word}, in a pipeline: {failed}");
            assert!(failed.is_retryable() && !failed.maybe_applied(), "{word}, in a pipeline: {failed}");
            let piped = node.work().len() - alone;
            assert!((2..60).contains(&piped), "{word}, in a pipeline: sent {piped} times");
        }
    });
}

#[test]
fn a_redirect_without_a_host_means_the_host_that_answered() {
    test(async {
        for word in ["MOVED", "ASK"] {
            let target = Fake::start(|_| Answer::Usual);
            let node = redirecting(move |port| format!("{word} 1 :{port}"), target.port());
            let rig = Rig::open_with(&url(&[&node]), patient()).await;
            rig.label("b", "x").await.unwrap();
            let piped = rig.clerk.pipeline().run(rig.keys.label(&bin("b")).get()).send().await;
            assert!(piped[0].is_ok(), "{word}: {piped:?}");
            assert_eq!(target.work(), ["SET", "GET"], "{word}");
        }
    });
}

#[test]
fn the_one_seed_that_answers_is_found_among_silent_ones() {
    test(async {
        let silent = [Fake::silent(), Fake::silent(), Fake::silent()];
        let live = Fake::bind();
        let own = live.port();
        live.serve(move |words| if words[0] == "CLUSTER" { all_slots(own) } else { Answer::Usual });
        let url = url(&[&silent[0], &silent[1], &silent[2], &live]);
        if let Err(error) = Store::open(&url, Options::default()).await {
            panic!("{error}");
        }
    });
}
