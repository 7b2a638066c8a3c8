//! A master behind sentinels: its start, failover asked for and forced, an old master that comes back.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use keyplane_testing::{Kind, Node, Place, Program, Sentinel, skip};
use redis::Commands as _;

#[test]
fn replicas_take_over_when_asked_and_when_the_master_dies() {
    let sentinel = Sentinel::start();
    assert_eq!(sentinel.master(), Node(0));
    let ports: Vec<u16> = sentinel.sentinels().iter().map(keyplane_testing::Server::port).collect();
    let [a, b, c] = ports[..] else { panic!("three sentinels") };
    let url = format!("redis+sentinel://127.0.0.1:{a},127.0.0.1:{b},127.0.0.1:{c}/mymaster");
    assert_eq!(sentinel.url(), url);
    let place = Place::new(Kind::Sentinel, url, None);
    let key = place.key("k");
    place.raw::<()>(&key, &["SET", &key, "before"]);

    let second = sentinel.failover();
    assert_ne!(second, Node(0));
    assert_eq!(sentinel.master(), second);
    assert_eq!(place.raw::<String>(&key, &["GET", &key]), "before");

    assert_eq!(sentinel.kill_master(), second);
    let third = sentinel.wait_for_another_master(second);
    assert_eq!(place.raw::<String>(&key, &["GET", &key]), "before");
    place.raw::<()>(&key, &["SET", &key, "after"]);

    sentinel.restart(second);
    sentinel.wait_until_ok();
    assert_eq!(sentinel.master(), third);
    keyplane_testing::until("what the old master missed", || {
        let value: String = sentinel.server(second).admin().get(&key).unwrap();
        if value == "after" { Ok(()) } else { Err(value) }
    });
}

#[test]
fn valkey_has_sentinels_too() {
    if Program::Valkey.file().is_none() {
        return skip("sentinel::valkey_has_sentinels_too: no valkey-server");
    }
    let sentinel = Sentinel::start_with(Program::Valkey);
    let old = sentinel.kill_master();
    assert_ne!(sentinel.wait_for_another_master(old), old);
}
