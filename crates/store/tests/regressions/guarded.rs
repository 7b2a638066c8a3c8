//! The guarded write: limits, TTLs, numbers, and what is told when it stops in the middle.

use std::collections::HashMap;
use std::time::Duration;

use keyplane_key::End::{Left, Right};
use keyplane_store::{Cause, Error, HandleError, Options, Secret, Store};
use keyplane_testing::{Program, Server, Settings};

use crate::rig::{Rig, test};
use crate::setup::{Keyspace, bin, order};
use crate::shelf;
use crate::wait::patient;

fn redis() -> Server {
    Server::start(Program::Redis, &Settings::tcp())
}

/// A server with one user who may do that much, and options to be that user.
fn only(rights: &str) -> (Server, Options) {
    let rules = format!("clerk on >pw ~* +@connection +info +eval +evalsha {rights}");
    let server = Server::start(Program::Redis, &Settings::tcp().user(&rules));
    let mut options = patient();
    options.user = Some("clerk".to_owned());
    options.password = Some(Secret::new("pw"));
    (server, options)
}

/// It stopped in the middle, and says so.
fn stopped(failed: &Error) {
    assert!(matches!(failed.cause(), Cause::Script(_)), "{failed}");
    assert!(failed.maybe_applied() && !failed.is_retryable(), "{failed}");
}

#[test]
fn a_long_write_that_stops_in_the_middle_may_have_been_applied() {
    test(async {
        let server = redis();
        let (hand, keys) = shelf::open(&server.url(), patient()).await;
        // Long enough for several commands; the server does not take one of the last scores.
        let members = || (0..1500).map(|n| (if n == 1400 { f64::NAN } else { 1.0 }, format!("m{n}")));
        let scores = |name| keys.scores(&shelf::id(name));
        stopped(&hand.run(scores("a").zadd(members())).await.unwrap_err());
        assert!(hand.run(scores("a").zcard()).await.unwrap() > 0, "it did not stop in the middle");
        let results = hand.pipeline().run(scores("b").zadd(members())).send().await;
        stopped(results[0].as_ref().unwrap_err());
        let mut own = hand.dedicated(&scores("c")).await.unwrap();
        stopped(&own.run(scores("c").zadd(members())).await.unwrap_err());
    });
}

#[test]
fn a_write_whose_ttl_is_refused_may_have_been_applied() {
    test(async {
        let (server, options) = only("+@read +hset");
        let rig = Rig::open_with(&server.url(), options).await;
        let write = |name| rig.keys.order(&order(name)).hset([("state", "open")]);
        stopped(&rig.clerk.run(write("a")).await.unwrap_err());
        assert_eq!(rig.clerk.run(rig.keys.order(&order("a")).pttl()).await.unwrap(), -1, "it has no TTL");
        stopped(rig.clerk.pipeline().run(write("b")).send().await[0].as_ref().unwrap_err());
        let mut own = rig.clerk.dedicated(&rig.keys.order(&order("c"))).await.unwrap();
        stopped(&own.run(write("c")).await.unwrap_err());
    });
}

#[test]
fn a_write_that_is_refused_before_anything_was_written_was_not_applied() {
    test(async {
        let (server, options) = only("+@read +pexpire");
        let rig = Rig::open_with(&server.url(), options).await;
        let write = rig.keys.order(&order("a")).hset([("state", "open")]);
        let failed = rig.clerk.run(write).await.unwrap_err();
        assert!(!failed.maybe_applied() && !failed.is_retryable(), "{failed}");
    });
}

#[test]
fn settings_that_no_key_can_keep_are_refused() {
    test(async {
        let server = redis();
        let store = Store::open(&server.url(), patient()).await.unwrap();
        let contract = keyplane_store::contract(Keyspace::SOURCE).unwrap();
        let open = |name: &str, lasts| {
            store.as_component(&contract, "clerk", &HashMap::from([(name.to_owned(), lasts)]))
        };
        let year = Duration::from_secs(366 * 24 * 60 * 60);
        for (name, lasts) in [
            ("STOCK_TTL", Duration::ZERO),
            ("STOCK_TTL", year * 100),
            ("STOCK_TTL", Duration::MAX),
            ("STOCK_TLL", Duration::from_secs(60)),
        ] {
            let refused = open(name, lasts).unwrap_err();
            assert!(matches!(refused, HandleError::Setting { .. }), "{refused}");
            assert!(refused.to_string().contains(name), "{refused}");
        }
        for lasts in [Duration::from_millis(1), Duration::from_secs(60), year * 99] {
            open("STOCK_TTL", lasts).unwrap();
        }
    });
}

const PAST_DOUBLES: i64 = 1 << 53;

#[test]
fn counts_beyond_what_lua_can_count_are_right() {
    test(async {
        let server = redis();
        let rig = Rig::open_with(&server.url(), patient()).await;
        let stock = rig.keys.stock(&bin("b"));
        let book = rig.keys.order(&order("o"));
        rig.clerk.run(stock.set(PAST_DOUBLES.to_string())).await.unwrap();
        rig.clerk.run(book.hset([("n", PAST_DOUBLES.to_string())])).await.unwrap();
        for more in 1..4 {
            assert_eq!(rig.clerk.run(stock.incrby(1)).await.unwrap(), PAST_DOUBLES + more);
            assert_eq!(rig.clerk.run(book.hincrby("n", 1)).await.unwrap(), PAST_DOUBLES + more);
        }
        let top = i64::MAX - PAST_DOUBLES - 3;
        assert_eq!(rig.clerk.run(stock.incrby(top)).await.unwrap(), i64::MAX);
        assert_eq!(rig.clerk.run(book.hincrby("n", top)).await.unwrap(), i64::MAX);
        // And below.
        rig.clerk.run(stock.set((-PAST_DOUBLES).to_string())).await.unwrap();
        assert_eq!(rig.clerk.run(stock.incrby(-1)).await.unwrap(), -PAST_DOUBLES - 1);
        let mut own = rig.clerk.dedicated(&stock).await.unwrap();
        assert_eq!(own.run(stock.incrby(-2)).await.unwrap(), -PAST_DOUBLES - 3);
    });
}

#[test]
fn a_count_that_cannot_be_told_right_is_not_told() {
    test(async {
        // Who may count and not read.
        let (server, options) = only("+set +incrby +hincrby +hset +hlen +pexpire");
        let rig = Rig::open_with(&server.url(), options).await;
        let (stock, book) = (rig.keys.stock(&bin("b")), rig.keys.order(&order("o")));
        rig.clerk.run(stock.set((PAST_DOUBLES - 2).to_string())).await.unwrap();
        assert_eq!(rig.clerk.run(stock.incrby(1)).await.unwrap(), PAST_DOUBLES - 1);
        stopped(&rig.clerk.run(stock.incrby(2)).await.unwrap_err());
        rig.clerk.run(book.hset([("n", (PAST_DOUBLES - 2).to_string())])).await.unwrap();
        assert_eq!(rig.clerk.run(book.hincrby("n", 1)).await.unwrap(), PAST_DOUBLES - 1);
        stopped(&rig.clerk.run(book.hincrby("n", 2)).await.unwrap_err());
        let there: i64 = redis::cmd("GET").arg(stock.as_str()).query(&mut server.admin()).unwrap();
        assert_eq!(there, PAST_DOUBLES + 1);
    });
}

#[test]
fn what_is_moved_is_held_against_the_limit_of_where_it_goes() {
    test(async {
        let server = redis();
        let (hand, keys) = shelf::open(&server.url(), patient()).await;
        let (incoming, kept) = (keys.incoming(&shelf::id("a")), keys.kept(&shelf::id("a")));
        hand.run(incoming.rpush_all(["1", "2", "3"])).await.unwrap();
        for item in ["1", "2"] {
            let moved = hand.run(incoming.lmove(Left, &kept, Right)).await.unwrap();
            assert_eq!(moved.as_deref(), Some(item.as_bytes()));
        }
        let failed = hand.run(incoming.lmove(Left, &kept, Right)).await.unwrap_err();
        let Cause::Limit { what, most, would_be } = failed.cause() else { panic!("{failed}") };
        assert_eq!((*what, *most, *would_be), ("members", 2, 3));
        assert!(!failed.maybe_applied());
        assert_eq!((hand.run(incoming.llen()).await.unwrap(), hand.run(kept.llen()).await.unwrap()), (1, 2));
    });
}

#[test]
fn moving_nothing_renews_nothing() {
    test(async {
        let server = redis();
        let (hand, keys) = shelf::open(&server.url(), patient()).await;
        let (incoming, kept) = (keys.incoming(&shelf::id("a")), keys.kept(&shelf::id("a")));
        hand.run(kept.rpush("x")).await.unwrap();
        redis::cmd("PEXPIRE").arg(kept.as_str()).arg(60_000).exec(&mut server.admin()).unwrap();
        assert_eq!(hand.run(incoming.lmove(Left, &kept, Right)).await.unwrap(), None);
        let lasts = hand.run(kept.pttl()).await.unwrap();
        assert!((1..=60_000).contains(&lasts), "{lasts}");
    });
}

#[test]
fn what_is_named_twice_counts_once() {
    test(async {
        let server = redis();
        let rig = Rig::open_with(&server.url(), patient()).await;
        let (bins, moves, book) = (rig.keys.bins(), rig.keys.moves(&bin("b")), rig.keys.order(&order("o")));
        assert_eq!(rig.clerk.run(bins.sadd(["a", "b", "c", "c"])).await.unwrap(), 3);
        assert_eq!(rig.clerk.run(moves.zadd(["a", "b", "c", "c"].map(|who| (1.0, who)))).await.unwrap(), 3);
        let fields = ["state", "note", "n", "part_a", "part_b", "part_b"].map(|field| (field, "1"));
        assert_eq!(rig.clerk.run(book.hset(fields)).await.unwrap(), 5);
        // One more is too much, named once or twice.
        let over = |failed: Error, most| {
            let Cause::Limit { most: limit, would_be, .. } = failed.cause() else { panic!("{failed}") };
            assert_eq!((*limit, *would_be), (most, most + 1));
        };
        over(rig.clerk.run(bins.sadd(["d", "a", "d"])).await.unwrap_err(), 3);
        over(rig.clerk.run(moves.zadd(["d", "a", "d"].map(|who| (1.0, who)))).await.unwrap_err(), 3);
        over(
            rig.clerk.run(book.hset(["part_c", "n", "part_c"].map(|field| (field, "1")))).await.unwrap_err(),
            5,
        );
    });
}

#[test]
fn an_entry_of_many_fields_is_one_entry_and_ends() {
    test(async {
        let server = redis();
        let (hand, keys) = shelf::open(&server.url(), patient()).await;
        let log = keys.log(&shelf::id("a"));
        hand.run(log.xadd((0..600).map(|number| (format!("f_{number}"), "x")))).await.unwrap();
        assert_eq!(hand.run(log.xlen()).await.unwrap(), 1);
        assert!(hand.run(log.pttl()).await.unwrap() > 0);
        let fields: usize =
            hand.run(log.xrange("-", "+")).await.unwrap().iter().map(|(_, fields)| fields.len()).sum();
        assert_eq!(fields, 600);
    });
}
