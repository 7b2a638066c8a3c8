//! Sentinels that do not agree, and masters that are none.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering::SeqCst};

use keyplane_store::{Options, Store};
use keyplane_testing::{Program, Server, Settings};

use crate::fake::{Answer, Fake};
use crate::rig::{Rig, options, test};
use crate::setup::bin;
use crate::wait::{patient, until, until_so};

fn redis() -> Server {
    Server::start(Program::Redis, &Settings::tcp())
}

fn naming(port: u16) -> Fake {
    Fake::sentinel(&Arc::new(AtomicU16::new(port)))
}

fn url(sentinels: &[&Fake]) -> String {
    let addresses: Vec<String> = sentinels.iter().map(|sentinel| sentinel.addr()).collect();
    format!("redis+sentinel://{}/m", addresses.join(","))
}

fn keys_on(server: &Server) -> u64 {
    redis::cmd("DBSIZE").query(&mut server.admin()).unwrap()
}

#[test]
fn a_master_that_says_nothing_after_the_login_is_given_up() {
    test(async {
        let (old, new) = (redis(), redis());
        let mute = Fake::start(|words| if words[0] == "HELLO" { Answer::Usual } else { Answer::Silence });
        let named = Arc::new(AtomicU16::new(old.port()));
        let sentinel = Fake::sentinel(&named);
        let rig = Rig::open(&url(&[&sentinel])).await;
        rig.label("b", "x").await.unwrap();
        named.store(mute.port(), SeqCst);
        old.kill();
        until_so("the mute master is logged in to", || mute.got("HELLO") > 0).await;
        named.store(new.port(), SeqCst);
        until("the good master is found", || rig.label("b", "x")).await;
        assert_eq!(keys_on(&new), 1);
    });
}

#[test]
fn the_master_that_most_sentinels_name_is_the_master() {
    test(async {
        // Both take writes: nothing but the number of votes tells them apart.
        let (old, new) = (redis(), redis());
        let (stale, one, two) = (naming(old.port()), naming(new.port()), naming(new.port()));
        for (number, order) in
            [[&stale, &one, &two], [&one, &stale, &two], [&two, &one, &stale]].into_iter().enumerate()
        {
            let rig = Rig::open_with(&url(&order), patient()).await;
            rig.label(&format!("b{number}"), "x").await.unwrap();
        }
        assert_eq!((keys_on(&old), keys_on(&new)), (0, 3));
    });
}

#[test]
fn a_sentinel_that_is_silent_or_names_a_dead_master_does_not_matter() {
    test(async {
        let dead = redis();
        let master = redis();
        let (stale, silent) = (naming(dead.port()), Fake::silent());
        dead.kill();
        let (one, two) = (naming(master.port()), naming(master.port()));
        for order in [[&stale, &one, &two], [&silent, &one, &two], [&one, &silent, &two]] {
            Rig::open_with(&url(&order), patient()).await.label("b", "x").await.unwrap();
        }
        assert_eq!(keys_on(&master), 1);
    });
}

#[test]
fn the_one_sentinel_that_answers_is_found_among_silent_ones() {
    test(async {
        let master = redis();
        let silent = [Fake::silent(), Fake::silent(), Fake::silent()];
        let live = naming(master.port());
        let url = url(&[&silent[0], &silent[1], &silent[2], &live]);
        if let Err(error) = Store::open(&url, Options::default()).await {
            panic!("{error}");
        }
    });
}

#[test]
fn pipelines_alone_leave_a_master_that_became_a_replica() {
    test(async {
        let (old, new) = (redis(), redis());
        let named = Arc::new(AtomicU16::new(old.port()));
        let sentinel = Fake::sentinel(&named);
        // The health check would find out too, half a minute later.
        let rig = Rig::open_with(&url(&[&sentinel]), options()).await;
        let label = rig.keys.label(&bin("b"));
        let send = || async { rig.clerk.pipeline().run(label.set("x")).send().await.swap_remove(0) };
        send().await.unwrap();
        named.store(new.port(), SeqCst);
        redis::cmd("REPLICAOF").arg("127.0.0.1").arg(new.port()).exec(&mut old.admin()).unwrap();
        until("pipelines find the new master", || async {
            let sent = send().await;
            if let Err(error) = &sent {
                assert!(error.is_retryable() && !error.maybe_applied(), "{error}");
            }
            sent
        })
        .await;
        assert_eq!(keys_on(&new), 1);
    });
}
