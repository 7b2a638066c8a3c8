//! Logins, deadlines, URLs, and the end of a store.

use std::time::Duration;

use keyplane_store::{Cause, OpenError, Secret, Store, Url};
use keyplane_testing::{Mode, Program, Proxy, Server, Settings};

use crate::fake::{Answer, Fake};
use crate::rig::{DEADLINE, Rig, in_time, is_unreachable, test};
use crate::setup::bin;
use crate::wait::{patient, until, until_so};

#[test]
fn a_login_that_is_wrong_by_now_is_refused_and_not_retryable() {
    test(async {
        let server = Server::start(Program::Redis, &Settings::tcp().password("right"));
        let mut options = patient();
        options.password = Some(Secret::new("right"));
        let rig = Rig::open_with(&server.url(), options).await;
        rig.label("b", "x").await.unwrap();
        let mut admin = server.admin();
        let mut tell = |words: &[&str]| redis::cmd(words[0]).arg(&words[1..]).exec(&mut admin).unwrap();
        tell(&["CONFIG", "SET", "requirepass", "another"]);
        tell(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]);
        // The connection may be lost under the first.
        let failed = loop {
            let failed = rig.add("b", 1).await.unwrap_err();
            if !matches!(failed.cause(), Cause::ConnectionLost(_)) {
                break failed;
            }
        };
        assert!(matches!(failed.cause(), Cause::Refused { .. }), "{failed}");
        assert!(!failed.is_retryable() && !failed.maybe_applied(), "{failed}");
        let results = rig.clerk.pipeline().run(rig.keys.label(&bin("b")).set("y")).send().await;
        let failed = results[0].as_ref().unwrap_err();
        assert!(matches!(failed.cause(), Cause::Refused { .. }), "{failed}");
        let failed = rig.clerk.dedicated(&rig.keys.label(&bin("b"))).await.unwrap_err();
        assert!(matches!(failed.cause(), Cause::Refused { .. }), "{failed}");
        tell(&["CONFIG", "SET", "requirepass", "right"]);
        until("the login is right again", || rig.label("b", "z")).await;
    });
}

#[test]
fn a_login_that_is_wrong_from_the_start_is_refused() {
    test(async {
        let server = Server::start(Program::Redis, &Settings::tcp().password("right"));
        let mut options = patient();
        options.password = Some(Secret::new("wrong"));
        let failed = Store::open(&server.url(), options).await.unwrap_err();
        let OpenError::Unreachable(failed) = failed else { panic!("{failed}") };
        assert!(matches!(failed.cause(), Cause::Refused { .. }), "{failed}");
        assert!(!failed.is_retryable() && !failed.maybe_applied(), "{failed}");
    });
}

#[test]
fn a_deadline_may_be_as_long_as_there_are_durations() {
    test(async {
        let server = Server::start(Program::Redis, &Settings::tcp());
        let rig = Rig::open_with(&server.url(), patient()).await;
        let all = rig.store.handle(&keyplane_store::contract(crate::setup::Keyspace::SOURCE).unwrap());
        let all = all.with_timeout(Duration::MAX);
        let (label, stock, tickets) =
            (rig.keys.label(&bin("b")), rig.keys.stock(&bin("b")), rig.keys.tickets(&bin("b")));
        in_time(all.run(label.set("x"))).await.unwrap();
        assert_eq!(in_time(all.run(stock.incrby(2))).await.unwrap(), 2);
        let results = in_time(all.pipeline().run(label.get()).run(stock.incrby(1)).send()).await;
        assert!(results.iter().all(Result::is_ok), "{results:?}");
        let mut own = in_time(all.dedicated(&tickets)).await.unwrap();
        assert_eq!(in_time(own.run(tickets.llen())).await.unwrap(), 0);
        assert_eq!(in_time(own.run(tickets.blpop(Duration::from_millis(10)))).await.unwrap(), None);
        assert_eq!(in_time(own.wait_for_replicas(0, Duration::from_millis(1))).await.unwrap(), 0);
    });
}

#[test]
fn a_question_to_all_servers_tells_whom_it_asked_and_that_it_may_have_been_done() {
    test(async {
        let fake = Fake::start(|words| if words[0] == "FLUSHALL" { Answer::Silence } else { Answer::Usual });
        let proxy = Proxy::start(fake.addr());
        let rig = Rig::open(&proxy.url()).await;
        let (asked, answer) = in_time(rig.store.ask_all(&["FLUSHALL"])).await.swap_remove(0);
        assert_eq!(asked, proxy.addr().to_string());
        let failed = answer.unwrap_err();
        assert!(matches!(failed.cause(), Cause::TimedOut(after) if *after == DEADLINE), "{failed}");
        assert!(failed.maybe_applied(), "{failed}");
        proxy.set(Mode::Refuse);
        proxy.close_connections();
        until_so("the loss is seen", || rig.store.metrics().snapshot().connections_lost > 0).await;
        let (asked, answer) = in_time(rig.store.ask_all(&["PING"])).await.swap_remove(0);
        assert_eq!(asked, proxy.addr().to_string());
        assert!(is_unreachable(&answer.unwrap_err()));
    });
}

#[test]
fn a_store_that_nobody_holds_closes_its_connections() {
    test(async {
        let fake = Fake::start(|_| Answer::Usual);
        let proxy = Proxy::start(fake.addr());
        let rig = Rig::open_with(&proxy.url(), patient()).await;
        drop(rig.clerk.dedicated(&rig.keys.label(&bin("b"))).await.unwrap());
        assert_eq!(proxy.open_connections(), 2);
        drop(rig);
        until_so("all connections are closed", || proxy.open_connections() == 0).await;
        assert_eq!(proxy.connections(), 2);
    });
}

#[test]
fn a_password_in_the_wrong_place_is_refused_and_not_shown() {
    let refused = "redis+unix://user:pa/SECRET@/run/x.sock".parse::<Url>();
    let shown = match &refused {
        Ok(url) => format!("{url} {url:?}"),
        Err(error) => format!("{error} {error:?}"),
    };
    assert!(!shown.contains("SECRET"), "{shown}");
    assert!(refused.is_err(), "{shown}");
    for text in [
        "redis://user:123?SECRET@host:6379",
        "redis://user:123/SECRET@host:6379",
        "redis://user:123?db=SECRET@host:6379",
        "redis+unix://:SECRET@/run/x.sock",
        "redis+sentinel://user:123/SECRET@s1:26379/0",
        "redis+cluster://user:123/SECRET@n1:6379,n2:6379",
        "user:SECRET@redis://host",
    ] {
        let shown = match text.parse::<Url>() {
            Ok(url) => format!("{url} {url:?}"),
            Err(error) => format!("{error} {error:?}"),
        };
        assert!(!shown.contains("SECRET"), "{text}: {shown}");
    }
}
