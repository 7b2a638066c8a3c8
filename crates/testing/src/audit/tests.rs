//! Planted faults: each must be found, and its right counterpart must not.

use super::*;
use std::time::Duration;

const CONTRACT: &str = include_str!("tests.toml");

const HOUR: u64 = 3_600_000;

/// A key as the store could tell it, in the namespace `t1`.
fn fact(key: &str, kind: &str, ttl: Option<u64>) -> Fact {
    let (key, kind) = (format!("t1:{key}"), kind.to_owned());
    Fact { key, kind, ttl: ttl.map(Duration::from_millis), fields: Vec::new(), count: 1 }
}

fn with_fields(mut fact: Fact, fields: &[&[u8]]) -> Fact {
    fact.fields = fields.iter().map(|field| field.to_vec()).collect();
    fact.count = fields.len() as u64;
    fact
}

fn judged(hash_tags: bool, facts: &[Fact]) -> Vec<Finding> {
    let contract =
        Arc::new(keyplane_schema::parse("tests.toml", CONTRACT).unwrap_or_else(|broken| panic!("{broken}")));
    let naming = if hash_tags { Naming::tagged(&contract) } else { Naming::plain(&contract) };
    judge(&[(contract, naming.in_namespace("t1"))], facts)
}

/// What is found about these keys on a store without hash tags.
fn found(facts: &[Fact]) -> Vec<What> {
    judged(false, facts).iter().map(|finding| finding.what).collect()
}

fn of_one(key: &str, kind: &str, ttl: Option<u64>) -> Vec<What> {
    found(&[fact(key, kind, ttl)])
}

#[test]
fn a_key_that_no_pattern_matches() {
    let facts = [fact("order:ab:line:7", "list", Some(1)), fact("ordre:ab:line:7", "list", Some(1))];
    let findings = judged(false, &facts);
    assert_eq!(findings.len(), 1);
    assert_eq!(
        findings[0].to_string(),
        "UnknownKey t1:ordre:ab:line:7: no key of the contract; near line: `ordre` should be `order`; a typo?"
    );
    // On a cluster the tag must be there.
    let tagged = judged(true, &[fact("order:{ab}", "hash", Some(1)), fact("order:ab", "hash", Some(1))]);
    assert_eq!(tagged.iter().map(|finding| finding.key.as_str()).collect::<Vec<_>>(), ["t1:order:ab"]);
}

#[test]
fn a_wrong_type() {
    assert_eq!(of_one("order:ab", "string", Some(1)), [What::WrongType]);
    assert_eq!(of_one("trace:ab", "zset", Some(1)), []);
    assert_eq!(of_one("trace:ab", "hash", Some(1)), []);
    assert_eq!(of_one("trace:ab", "set", Some(1)), [What::WrongType]);
}

#[test]
fn a_key_that_must_not_expire() {
    assert_eq!(of_one("rules", "string", None), []);
    assert_eq!(of_one("rules", "string", Some(1)), [What::TtlForbidden]);
    assert_eq!(of_one("recent", "zset", None), []);
    assert_eq!(of_one("recent", "zset", Some(1)), [What::TtlForbidden]);
}

#[test]
fn a_key_that_must_expire_in_time() {
    for (key, kind, most) in [
        ("order:ab", "hash", HOUR),
        ("coupon:ab", "string", 24 * HOUR),
        ("by-state", "set", HOUR / 12),
        ("lock:ab", "string", 30_000),
        ("trace:ab", "zset", 24 * HOUR),
    ] {
        assert_eq!(of_one(key, kind, Some(most)), [], "{key}");
        assert_eq!(of_one(key, kind, Some(1)), [], "{key}");
        assert_eq!(of_one(key, kind, None), [What::TtlMissing], "{key}");
        assert_eq!(of_one(key, kind, Some(most + 1)), [What::TtlTooLong], "{key}");
    }
}

#[test]
fn a_key_that_ends_after_an_event() {
    assert_eq!(of_one("receipt:ab", "string", None), []);
    assert_eq!(of_one("receipt:ab", "string", Some(HOUR)), []);
    assert_eq!(of_one("receipt:ab", "string", Some(HOUR + 1)), [What::TtlTooLong]);

    assert_eq!(of_one("basket:ab", "string", None), [What::TtlMissing]);
    assert_eq!(of_one("basket:ab", "string", Some(48 * HOUR)), []);
    assert_eq!(of_one("basket:ab", "string", Some(48 * HOUR + 1)), [What::TtlTooLong]);

    assert_eq!(of_one("window:ab", "string", None), [What::TtlMissing]);
    assert_eq!(of_one("window:ab", "string", Some(1000 * HOUR)), []);
}

#[test]
fn a_child_that_ends_before_its_parent() {
    let family = |parent: Option<u64>, child: Option<u64>| {
        found(&[fact("order:ab", "hash", parent), fact("order:ab:line:7", "list", child)])
    };
    assert_eq!(family(Some(1000), Some(1000)), []);
    assert_eq!(family(Some(60_000), Some(59_500)), []);
    assert_eq!(family(Some(60_000), Some(50_000)), [What::TtlTooShort]);
    assert_eq!(family(Some(60_000), None), [What::TtlMissing]);
    // The parent's own fault is one finding, the child's another.
    assert_eq!(family(None, Some(60_000)), [What::TtlMissing, What::TtlTooShort]);
    assert_eq!(family(None, None), [What::TtlMissing]);
}

#[test]
fn a_child_whose_parent_is_gone() {
    assert_eq!(of_one("order:ab:line:7", "list", Some(HOUR)), []);
    assert_eq!(of_one("order:ab:line:7", "list", None), [What::TtlMissing]);
    // This parent has no expiry before its event, so its child need not have one either.
    assert_eq!(of_one("receipt:ab:note:7", "string", None), []);
    // Another order's header is not this line's parent.
    let strangers = [fact("order:cd", "hash", Some(HOUR)), fact("order:ab:line:7", "list", Some(1))];
    assert_eq!(found(&strangers), []);
}

#[test]
fn a_parent_is_found_behind_hash_tags() {
    let family = [fact("order:{ab}", "hash", Some(60_000)), fact("order:{ab}:line:7", "list", Some(1))];
    let findings = judged(true, &family);
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].to_string(), "TtlTooShort t1:order:{ab}:line:7: ends in 1 ms; its order in 1m");
}

#[test]
fn a_field_that_the_contract_does_not_have() {
    let order = |fields: &[&[u8]]| judged(false, &[with_fields(fact("order:ab", "hash", Some(1)), fields)]);
    assert_eq!(order(&[b"placedAt", b"item7_n", b"item99_n"]), []);
    assert_eq!(
        order(&[b"placedAt", b"placed_at"])[0].to_string(),
        "UnknownField t1:order:ab: field `placed_at`, which order does not have"
    );
    assert_eq!(order(&[b"item100_n"]).len(), 1, "100 is out of range");
    assert_eq!(order(&[b"\xff"]).len(), 1);
    // A second spelling has the same fields; a hash without declared fields has any.
    let draft = |field: &[u8]| found(&[with_fields(fact("draft:ab", "hash", Some(1)), &[field])]);
    assert_eq!(draft(b"item1_n"), []);
    assert_eq!(draft(b"other"), [What::UnknownField]);
    assert_eq!(found(&[with_fields(fact("trace:ab", "hash", Some(1)), &[b"any"])]), []);
}

#[test]
fn too_many_fields_or_members() {
    let sized = |key: &str, kind: &str, count| found(&[Fact { count, ..fact(key, kind, Some(1)) }]);
    assert_eq!(sized("order:ab", "hash", 3), []);
    assert_eq!(sized("order:ab", "hash", 4), [What::TooManyFields]);
    assert_eq!(sized("by-state", "set", 10), []);
    assert_eq!(sized("by-state", "set", 11), [What::TooManyMembers]);
    // The contract's own ceiling.
    assert_eq!(sized("trace:ab", "zset", 100), []);
    assert_eq!(sized("trace:ab", "zset", 101), [What::TooManyMembers]);
}

#[test]
fn expected_findings_must_come() {
    let found = judged(true, &[fact("order:{ab}", "string", Some(1)), fact("stray", "string", None)]);
    let stray = (What::UnknownKey, "stray".to_owned());
    let order = (What::WrongType, "order:ab".to_owned());
    assert_eq!(settle(&found, &[stray.clone(), order.clone()], "t1"), Vec::<String>::new());
    let left = settle(&found, std::slice::from_ref(&stray), "t1");
    assert_eq!(left, ["WrongType t1:order:{ab}: a string; order is a hash"]);
    let absent = settle(&[], &[order], "t1");
    assert_eq!(absent, ["WrongType order:ab: expected by the test, and not found"]);
}
