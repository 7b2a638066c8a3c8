//! Typed operations: answers, TTLs, limits.

use std::time::Duration;

use keyplane_store::Cause;
use keyplane_testing::{Place, every_store};

use crate::setup::{bin, component, order};

const HOUR: i64 = 3_600_000;

fn near(ttl: i64, full: i64) -> bool {
    ttl > full - 30_000 && ttl <= full
}

#[every_store]
async fn every_write_gives_the_key_its_ttl(place: Place) {
    let (clerk, keys) = component(&place, "clerk").await;
    let (one, b) = (order("o1"), bin("b1"));

    let book = keys.order(&one);
    assert_eq!(clerk.run(book.hset([("state", "open"), ("note", "x")])).await.unwrap(), 2);
    assert!(near(clerk.run(book.pttl()).await.unwrap(), HOUR));

    let lines = keys.lines(&one);
    assert_eq!(clerk.run(lines.rpush("bolt").linked_to(&book)).await.unwrap(), 1);
    assert!(clerk.run(lines.pttl()).await.unwrap() <= HOUR);
    // Moments and not what is left: between two questions time passes.
    let end = |key: &str| place.raw::<i64>(key, &["PEXPIRETIME", key]);
    let (parent, child) = (end(book.as_str()), end(lines.as_str()));
    assert!(child >= parent, "{child} against {parent}");

    let stock = keys.stock(&b);
    assert_eq!(clerk.run(stock.incrby(5)).await.unwrap(), 5);
    assert!(near(clerk.run(stock.pttl()).await.unwrap(), 2 * HOUR));
    clerk.run(stock.set("9")).await.unwrap();
    assert!(near(clerk.run(stock.pttl()).await.unwrap(), 2 * HOUR));

    let label = keys.label(&b);
    clerk.run(label.set("bolts")).await.unwrap();
    assert!(near(clerk.run(label.pttl()).await.unwrap(), 24 * HOUR));
    clerk.run(label.set("nuts").lasting(Duration::from_secs(60))).await.unwrap();
    assert!(clerk.run(label.pttl()).await.unwrap() <= 60_000);
    assert_eq!(clerk.run(label.get()).await.unwrap().as_deref(), Some(&b"nuts"[..]));

    let bins = keys.bins();
    assert_eq!(clerk.run(bins.sadd(["b1", "b2"])).await.unwrap(), 2);
    assert!(near(clerk.run(bins.pttl()).await.unwrap(), 300_000));

    let moves = keys.moves(&b);
    assert_eq!(clerk.run(moves.zadd([(1.0, "ann"), (2.5, "bob")])).await.unwrap(), 2);
    assert!(near(clerk.run(moves.pttl()).await.unwrap(), 3 * HOUR));
    assert_eq!(clerk.run(moves.zscore("bob")).await.unwrap(), Some(2.5));

    let receipt = keys.receipt(&one);
    clerk.run(receipt.set("draft")).await.unwrap();
    assert!(near(clerk.run(receipt.pttl()).await.unwrap(), 2 * HOUR));
    clerk.run(receipt.set("final").at_event()).await.unwrap();
    assert!(near(clerk.run(receipt.pttl()).await.unwrap(), HOUR / 2));

    let tickets = keys.tickets(&b);
    assert_eq!(clerk.run(tickets.rpush("t1")).await.unwrap(), 1);
}

#[every_store]
async fn what_is_not_there_is_none_and_not_an_error(place: Place) {
    let (clerk, keys) = component(&place, "clerk").await;
    let (none, b) = (order("none"), bin("none"));
    assert_eq!(clerk.run(keys.label(&b).get()).await.unwrap(), None);
    assert_eq!(clerk.run(keys.order(&none).hget("state")).await.unwrap(), None);
    assert_eq!(clerk.run(keys.order(&none).hgetall()).await.unwrap(), []);
    assert_eq!(clerk.run(keys.order(&none).hmget(["a", "b"])).await.unwrap(), [None, None]);
    assert_eq!(clerk.run(keys.lines(&none).lrange(0, -1)).await.unwrap(), Vec::<Vec<u8>>::new());
    assert_eq!(clerk.run(keys.moves(&b).zscore("x")).await.unwrap(), None);
    assert_eq!(clerk.run(keys.journal().xrange("-", "+")).await.unwrap(), []);
    assert!(!clerk.run(keys.label(&b).exists()).await.unwrap());
    assert!(!clerk.run(keys.label(&b).del()).await.unwrap());
    assert_eq!(clerk.run(keys.label(&b).pttl()).await.unwrap(), -2);
}

#[every_store]
async fn binary_and_large_values_come_back_as_they_went(place: Place) {
    let (clerk, keys) = component(&place, "clerk").await;
    let label = keys.label(&bin("b1"));
    let bytes: Vec<u8> = (0..=255).cycle().take(1_000_000).collect();
    clerk.run(label.set(&bytes)).await.unwrap();
    assert_eq!(clerk.run(label.get()).await.unwrap(), Some(bytes));
    clerk.run(label.set("")).await.unwrap();
    assert_eq!(clerk.run(label.get()).await.unwrap(), Some(Vec::new()));
}

#[every_store]
async fn a_limit_is_refused_and_nothing_is_written(place: Place) {
    let (clerk, keys) = component(&place, "clerk").await;
    let one = order("o1");
    let book = keys.order(&one);
    clerk.run(book.hset([("state", "open"), ("note", "1"), ("n", "1"), ("part_a", "1")])).await.unwrap();
    let error = clerk.run(book.hset([("part_b", "1"), ("part_c", "1")])).await.unwrap_err();
    assert!(matches!(error.cause(), Cause::Limit { what: "fields", most: 5, would_be: 6 }), "{error}");
    assert!(!error.maybe_applied() && !error.is_retryable());
    assert_eq!(clerk.run(book.hlen()).await.unwrap(), 4);
    // What is there already does not count twice.
    assert_eq!(clerk.run(book.hset([("note", "2"), ("n", "2"), ("part_b", "1")])).await.unwrap(), 1);
    clerk.run(book.hincrby("n", 3)).await.unwrap();
    clerk.run(book.hincrby("part_d", 3)).await.unwrap_err();

    let bins = keys.bins();
    clerk.run(bins.sadd(["a", "b", "c"])).await.unwrap();
    clerk.run(bins.sadd(["a", "c"])).await.unwrap();
    let error = clerk.run(bins.sadd(["a", "d"])).await.unwrap_err();
    assert!(matches!(error.cause(), Cause::Limit { what: "members", most: 3, would_be: 4 }), "{error}");

    let moves = keys.moves(&bin("b"));
    clerk.run(moves.zadd([(1.0, "x"), (2.0, "y"), (3.0, "z")])).await.unwrap();
    clerk.run(moves.zadd([(9.0, "x"), (9.0, "y")])).await.unwrap();
    clerk.run(moves.zadd([(9.0, "x"), (9.0, "w")])).await.unwrap_err();
    assert_eq!(clerk.run(moves.zscore("x")).await.unwrap(), Some(9.0));

    let lines = keys.lines(&one);
    clerk.run(lines.rpush_all(["1", "2", "3"]).linked_to(&book)).await.unwrap();
    clerk.run(lines.rpush_all(["4", "5"]).linked_to(&book)).await.unwrap_err();
    assert_eq!(clerk.run(lines.rpush("4").linked_to(&book)).await.unwrap(), 4);

    let receipt = keys.receipt(&one);
    let error = clerk.run(receipt.set("x".repeat(65))).await.unwrap_err();
    assert!(matches!(error.cause(), Cause::Limit { what: "bytes", most: 64, would_be: 65 }), "{error}");
    clerk.run(receipt.set("x".repeat(64))).await.unwrap();
}

#[every_store]
async fn a_stream_keeps_its_newest_entries(place: Place) {
    let (clerk, keys) = component(&place, "clerk").await;
    let journal = keys.journal();
    let mut last = String::new();
    for number in 0..8 {
        last = clerk.run(journal.xadd([("what", number.to_string())])).await.unwrap();
    }
    let entries = clerk.run(journal.xrange("-", "+")).await.unwrap();
    assert_eq!(entries.len(), 5);
    assert_eq!(entries[4], (last, vec![(b"what".to_vec(), b"7".to_vec())]));
}

#[every_store]
async fn a_linked_key_needs_its_parent(place: Place) {
    let (clerk, keys) = component(&place, "clerk").await;
    let one = order("o1");
    let (book, lines) = (keys.order(&one), keys.lines(&one));
    let error = clerk.run(lines.rpush("bolt")).await.unwrap_err();
    assert!(matches!(error.cause(), Cause::NeedsParent { parent: "order" }), "{error}");
    let error = clerk.run(lines.rpush("bolt").linked_to(&keys.bins())).await.unwrap_err();
    assert!(matches!(error.cause(), Cause::NeedsParent { .. } | Cause::CrossSlot(..)), "{error}");
    let error = clerk.run(lines.rpush("bolt").linked_to(&book)).await.unwrap_err();
    assert!(matches!(error.cause(), Cause::NoParent { parent: "order" }), "{error}");
    assert!(!clerk.run(lines.exists()).await.unwrap());
    // A child that must live longer than its parent does.
    clerk.run(book.hset([("state", "open")])).await.unwrap();
    place.raw::<i64>(book.as_str(), &["PEXPIRE", book.as_str(), "1000"]);
    clerk.run(lines.rpush("bolt").linked_to(&book)).await.unwrap();
    assert!(near(clerk.run(lines.pttl()).await.unwrap(), 600_000));
}

#[every_store]
async fn long_commands_are_cut_into_slices(place: Place) {
    let (clerk, keys) = component(&place, "clerk").await;
    let tickets = keys.tickets(&bin("b"));
    let items: Vec<String> = (0..20_000).map(|number| number.to_string()).collect();
    assert_eq!(clerk.run(tickets.rpush_all(&items)).await.unwrap(), 20_000);
    let packer = component(&place, "packer").await.0;
    let found = packer.run(tickets.lrange(0, -1)).await.unwrap();
    assert_eq!(found.len(), 20_000);
    assert_eq!(found[19_999], b"19999");
}

#[every_store]
async fn an_error_names_the_operation_and_the_pattern(place: Place) {
    let (clerk, keys) = component(&place, "clerk").await;
    let label = keys.label(&bin("b1"));
    place.raw::<i64>(label.as_str(), &["LPUSH", label.as_str(), "x"]);
    let error = clerk.run(label.get()).await.unwrap_err();
    assert!(matches!(error.cause(), Cause::WrongType), "{error}");
    assert_eq!(error.to_string(), "GET label:<bin>: the key holds another type than the contract says");
    clerk.run(label.del()).await.unwrap();

    let error = clerk.run(label.set("x").lasting(Duration::from_secs(90_000))).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "SET label:<bin>: a TTL of 90000s is not in the contract: at most 24h (max)"
    );
    let error =
        clerk.run(keys.order(&order("o")).hset([("n", "1")]).lasting(Duration::ZERO)).await.unwrap_err();
    assert!(matches!(error.cause(), Cause::Ttl { .. }), "{error}");
}

#[every_store]
async fn a_number_that_is_none_is_an_error_of_the_server(place: Place) {
    let (clerk, keys) = component(&place, "clerk").await;
    let stock = keys.stock(&bin("b1"));
    clerk.run(stock.set("many")).await.unwrap();
    let error = clerk.run(stock.incrby(1)).await.unwrap_err();
    assert!(matches!(error.cause(), Cause::Server(_)), "{error}");
    assert!(!error.is_retryable());
}
