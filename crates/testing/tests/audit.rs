//! The audit on real stores: what a test leaves behind is held against its contract, then removed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::panic::{AssertUnwindSafe, catch_unwind};

use keyplane_testing::{Kind, Place, Program, Server, Settings, What, every_store, run_at};
use redis::Commands as _;

const CONTRACT: &str = r#"
[contract]
name    = "shop"
version = "1.0"
doc     = "Orders of a shop."

[param]
order_id = { text = true }

[component]
clerk = "Takes orders."

[key.order]
pattern = "order:<order_id>"
tag     = "<order_id>"
type    = "hash"
ttl     = { policy = "sliding", for = "1h" }
max     = { fields = 2 }
writes  = ["clerk"]
doc     = "One order."
[key.order.fields]
state = "text"
note  = "text"

[key.lines]
pattern  = "lines:<order_id>"
tag      = "<order_id>"
type     = "list"
ttl      = { policy = "linked", to = "order" }
max      = { members = 2 }
produces = ["clerk"]
doc      = "Lines of an order."

[key.rules]
pattern = "rules"
type    = "string"
ttl     = { policy = "none" }
writes  = ["clerk"]
doc     = "The rules of the shop."
"#;

/// A key about an order, as this place spells it.
fn about(place: &Place, family: &str, id: &str) -> String {
    let id = if place.hash_tags { format!("{{{id}}}") } else { id.to_owned() };
    place.key(&format!("{family}:{id}"))
}

#[every_store]
async fn a_store_in_order_passes(place: Place) {
    place.contract(CONTRACT);
    let (order, lines, rules) =
        (about(&place, "order", "a"), about(&place, "lines", "a"), place.key("rules"));
    place.raw::<()>(&order, &["HSET", &order, "state", "open"]);
    place.raw::<()>(&order, &["EXPIRE", &order, "3600"]);
    place.raw::<()>(&lines, &["RPUSH", &lines, "1"]);
    place.raw::<()>(&lines, &["EXPIRE", &lines, "3600"]);
    place.raw::<()>(&rules, &["SET", &rules, "none"]);
}

/// Every finding that a store can show, on keys of different slots.
#[every_store]
async fn every_fault_is_found(place: Place) {
    place.contract(CONTRACT);
    let plant = |key: &str, words: &[&str], ttl: Option<&str>| {
        let words = [&words[..1], &[key], &words[1..]].concat();
        place.raw::<()>(key, &words);
        if let Some(seconds) = ttl {
            place.raw::<()>(key, &["EXPIRE", key, seconds]);
        }
    };
    plant(&place.key("stray"), &["SET", "v"], None);
    plant(&about(&place, "order", "string"), &["SET", "v"], Some("60"));
    plant(&about(&place, "order", "forever"), &["HSET", "state", "open"], None);
    plant(&about(&place, "order", "long"), &["HSET", "state", "open"], Some("3700"));
    plant(&about(&place, "order", "field"), &["HSET", "staet", "open"], Some("60"));
    plant(&about(&place, "order", "many"), &["HSET", "state", "1", "note", "2", "x", "3"], Some("60"));
    plant(&about(&place, "order", "child"), &["HSET", "state", "open"], Some("600"));
    plant(&about(&place, "lines", "child"), &["RPUSH", "1", "2", "3"], Some("60"));
    plant(&place.key("rules"), &["SET", "v"], Some("60"));

    place.expect_finding(What::UnknownKey, "stray");
    place.expect_finding(What::WrongType, "order:string");
    place.expect_finding(What::TtlMissing, "order:forever");
    place.expect_finding(What::TtlTooLong, "order:long");
    place.expect_finding(What::UnknownField, "order:field");
    place.expect_finding(What::UnknownField, "order:many");
    place.expect_finding(What::TooManyFields, "order:many");
    place.expect_finding(What::TtlTooShort, "lines:child");
    place.expect_finding(What::TooManyMembers, "lines:child");
    place.expect_finding(What::TtlForbidden, "rules");
    assert_eq!(place.findings().len(), 10, "{:#?}", place.findings());
}

/// How a test at a place of its own ends: the words of its panic.
fn failure(server: &Server, test: impl FnOnce(&Place)) -> String {
    let place = Place::new(Kind::Redis, server.url(), None);
    let run = || {
        run_at(&place, |place| {
            test(&place);
            std::future::ready(())
        });
    };
    let problem = catch_unwind(AssertUnwindSafe(run)).expect_err("the test fails");
    let keys: usize = redis::cmd("DBSIZE").query(&mut server.admin()).unwrap();
    assert_eq!(keys, 0, "keys are removed, also on a panic");
    let words = problem.downcast_ref::<&str>().map(ToString::to_string);
    words.or_else(|| problem.downcast_ref::<String>().cloned()).unwrap()
}

#[test]
fn findings_fail_the_test_and_keys_always_go() {
    let server = Server::start(Program::Redis, &Settings::tcp());
    let stray = |place: &Place| {
        let key = place.key("stray");
        server.admin().set::<_, _, ()>(&key, "v").unwrap();
    };
    let text = failure(&server, |place| {
        place.contract(CONTRACT);
        stray(place);
    });
    assert!(text.starts_with("the store does not keep the contract:\nUnknownKey t"), "{text}");
    assert!(text.ends_with(":stray: no key of the contract"), "{text}");

    let text = failure(&server, |place| {
        stray(place);
        panic!("for another reason");
    });
    assert_eq!(text, "for another reason");

    let text = failure(&server, |place| {
        place.contract(CONTRACT);
        place.expect_finding(What::TtlMissing, "order:a");
    });
    assert!(text.ends_with("TtlMissing order:a: expected by the test, and not found"), "{text}");
}
