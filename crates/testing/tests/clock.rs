//! Virtual time: a stock server whose clock moves only when it is told to.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::thread;
use std::time::{Duration, Instant, UNIX_EPOCH};

use keyplane_testing::VirtualServer;
use redis::Connection;

fn millis(number: u64) -> Duration {
    Duration::from_millis(number)
}

fn pttl(connection: &mut Connection, key: &str) -> i64 {
    redis::cmd("PTTL").arg(key).query(connection).unwrap()
}

#[test]
fn keys_expire_to_the_millisecond() {
    let Some(server) = VirtualServer::start_or_skip("clock::keys_expire_to_the_millisecond") else { return };
    let mut admin = server.admin();
    let _: () = redis::cmd("SET").arg(&["k", "v", "PX", "3600000"]).query(&mut admin).unwrap();
    thread::sleep(millis(30));
    assert_eq!(pttl(&mut admin, "k"), 3_600_000, "no time passes by itself");
    server.advance(millis(3_599_999));
    assert_eq!(pttl(&mut admin, "k"), 1);
    let there: bool = redis::cmd("EXISTS").arg("k").query(&mut admin).unwrap();
    assert!(there);
    server.advance(millis(2));
    assert_eq!(pttl(&mut admin, "k"), -2);
    let there: bool = redis::cmd("EXISTS").arg("k").query(&mut admin).unwrap();
    assert!(!there);
}

#[test]
fn scripts_and_blocked_clients_see_the_same_time() {
    let name = "clock::scripts_and_blocked_clients_see_the_same_time";
    let Some(server) = VirtualServer::start_or_skip(name) else { return };
    let mut admin = server.admin();
    let script = "local t = redis.call('TIME') return t[1] * 1000000 + t[2]";
    let mut told = || -> u64 { redis::cmd("EVAL").arg(&[script, "0"]).query(&mut admin).unwrap() };
    let now = |server: &VirtualServer| server.now().duration_since(UNIX_EPOCH).unwrap().as_micros();
    let first = told();
    assert_eq!(u128::from(first), now(&server));
    thread::sleep(millis(20));
    assert_eq!(told(), first);
    server.advance(Duration::from_micros(1_500_001));
    assert_eq!(told(), first + 1_500_001);

    let mut waiting = server.admin();
    let start = Instant::now();
    let waiter = thread::spawn(move || -> Option<Vec<String>> {
        redis::cmd("BLPOP").arg(&["q", "3600"]).query(&mut waiting).unwrap()
    });
    keyplane_testing::until("a blocked client", || {
        let info: String = redis::cmd("INFO").arg("clients").query(&mut server.admin()).unwrap();
        if info.contains("blocked_clients:1") { Ok(()) } else { Err("none yet".to_owned()) }
    });
    server.advance(Duration::from_secs(3601));
    assert_eq!(waiter.join().unwrap(), None);
    // An hour in no time; the bound only says that it was not waited for.
    assert!(start.elapsed() < Duration::from_secs(60));
}

#[test]
fn keys_go_by_themselves_too() {
    let Some(server) = VirtualServer::start_or_skip("clock::keys_go_by_themselves_too") else { return };
    let mut admin = server.admin();
    for index in 0..100 {
        let _: () =
            redis::cmd("SET").arg(&[&format!("k{index}"), "v", "EX", "86400"]).query(&mut admin).unwrap();
    }
    server.advance(Duration::from_secs(86_401));
    keyplane_testing::until("the server's own sweep", || {
        let left: usize = redis::cmd("DBSIZE").query(&mut admin).unwrap();
        if left == 0 { Ok(()) } else { Err(format!("{left} keys are left")) }
    });
}

#[test]
fn the_clock_survives_a_restart_of_the_server() {
    let name = "clock::the_clock_survives_a_restart_of_the_server";
    let Some(server) = VirtualServer::start_or_skip(name) else { return };
    server.advance(Duration::from_secs(100));
    server.server().restart();
    let (seconds, _): (u64, u64) = redis::cmd("TIME").query(&mut server.admin()).unwrap();
    assert_eq!(seconds, server.now().duration_since(UNIX_EPOCH).unwrap().as_secs());
}
