//! Cases where a proof could be fooled: each was once, or would be by a simpler rule.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;

use keyplane_schema::acl::{Acl, grants};
use keyplane_schema::{
    Code, Contract, Effect, Matcher, Naming, Verb, diff, explain_miss, parse, shared_keys,
};

/// A contract with one component and these lines.
fn contract(params: &str, rest: &str) -> String {
    format!(
        "[contract]\nname = \"c\"\nversion = \"1.0\"\ndoc = \"C.\"\n[component]\napp = \"App.\"\nother = \"Other.\"\n[param]\n{params}\n{rest}"
    )
}

fn key(name: &str, pattern: &str, more: &str) -> String {
    format!(
        "[key.{name}]\npattern = \"{pattern}\"\ntype = \"hash\"\nttl = {{ policy = \"none\" }}\ndoc = \"K.\"\n{more}\n"
    )
}

fn sound(source: &str) -> Contract {
    parse("keys.toml", source).unwrap_or_else(|broken| panic!("{broken}"))
}

fn codes(source: &str) -> Vec<Code> {
    match parse("keys.toml", source) {
        Ok(_) => Vec::new(),
        Err(broken) => broken.diagnostics.iter().map(|found| found.code).collect(),
    }
}

const WRITES: &str = "writes = [\"app\"]";

#[test]
fn an_alternative_does_not_hide_an_overlap() {
    let params = "x = { like = 'agent|agent_[a-z]+' }";
    let source = contract(params, &(key("a", "k:<x>", WRITES) + &key("b", "k:agent_foo", WRITES)));
    assert_eq!(codes(&source), [Code::Overlap]);
    let one = Arc::new(sound(&contract(params, &key("a", "k:<x>", WRITES))));
    assert!(Matcher::new([(one.clone(), Naming::plain(&one))]).find("k:agent_bar").is_some());
}

#[test]
fn numbers_are_compared_as_numbers() {
    let params = "x = { int = \"0..1500\" }\ny = { int = \"2000..9999\" }";
    sound(&contract(params, &(key("a", "k:<x>", WRITES) + &key("b", "k:<y>", WRITES))));
    let close = "x = { int = \"0..1500\" }\ny = { int = \"1500..9999\" }";
    assert_eq!(
        codes(&contract(close, &(key("a", "k:<x>", WRITES) + &key("b", "k:<y>", WRITES)))),
        [Code::Overlap]
    );
    let legacy = Arc::new(sound(&contract(
        "z = { int = \"5000..7000\", legacy = 'old[0-9]+' }",
        &key("a", "z:<z>", WRITES),
    )));
    let matcher = Matcher::new([(legacy.clone(), Naming::plain(&legacy))]);
    assert!(
        matcher.find("z:9999").is_none()
            && matcher.find("z:old7").unwrap().legacy
            && !matcher.find("z:6000").unwrap().legacy
    );
}

#[test]
fn a_hash_tag_is_where_it_was_found() {
    let source = contract(
        "market = { text = true }",
        &key("a", "<market>:market:x", "tag = \"market\"\nwrites = [\"app\"]"),
    );
    let contract = sound(&source.replace("doc = \"C.\"", "doc = \"C.\"\nnamespace = \"ns\""));
    let key = contract.key("a").unwrap();
    assert_eq!(Naming::tagged(&contract).pattern(key).as_str(), "ns:<market>:{market}:x");
    let cut =
        self::contract("m = { text = true }", &self::key("a", "q:<m>", "tag = \"<m\"\nwrites = [\"app\"]"));
    assert_eq!(codes(&cut), [Code::BadValue]);
}

#[test]
fn names_that_meet_only_with_hash_tags_overlap_too() {
    let first = key("a", "{a}:<x>", "tag = \"a\"\nwrites = [\"app\"]");
    let second = key("b", "a:<x>", "tag = \"a\"\nwrites = [\"app\"]");
    assert_eq!(codes(&contract("x = { text = true }", &(first + &second))), [Code::Overlap]);
}

#[test]
fn a_large_check_is_checked_all_the_same() {
    assert_eq!(
        codes(&contract("x = { like = '[a-z{}: ]{1,500}' }", &key("a", "k:<x>", WRITES))),
        [Code::LooseCheck]
    );
}

#[test]
fn writes_is_the_ordinary_verb_only_where_nothing_more_exact_is_said() {
    let both = sound(&contract(
        "",
        &(key("a", "k", "writes = [\"app\"]\ncounts = [\"app\"]") + &key("b", "l", WRITES)),
    ));
    assert_eq!(grants(&both, "app")["a"].iter().copied().collect::<Vec<_>>(), [Verb::Count]);
    assert_eq!(grants(&both, "app")["b"].iter().copied().collect::<Vec<_>>(), [Verb::Update]);
}

#[test]
fn an_operation_keeps_to_the_verbs_of_the_key() {
    let op = "[op.o]\ndoc = \"O.\"\nby = [\"other\"]\nkeys = { a = \"put\" }\n";
    let owners = "puts = [\"app\"]\nremoves = [\"other\"]";
    assert_eq!(codes(&contract("", &(key("a", "k", owners) + op))), [Code::Owners]);
}

#[test]
fn an_item_can_be_moved_from_a_consumed_list_to_a_produced_one() {
    let list = |name: &str, verb: &str| {
        format!(
            "[key.{name}]\npattern = \"{name}\"\ntype = \"list\"\nttl = {{ policy = \"none\" }}\ndoc = \"L.\"\nproduces = [\"other\"]\n{verb}\n"
        )
    };
    let source = contract(
        "",
        &(list("inbox", "consumes = [\"app\"]")
            + &list("work", "").replace("[\"other\"]", "[\"other\", \"app\"]")),
    );
    let contract = sound(&source);
    let acl = Acl::new(&contract, &Naming::plain(&contract));
    let rules = acl.users()[0].rules.join(" ");
    assert!(rules.contains("(+lmove +blmove %RW~inbox %W~work)"), "{rules}");
}

#[test]
fn beyond_ascii_a_rule_is_loose_and_still_right() {
    let contract = sound(&contract("x = { one_of = [\"café\", \"thé\"] }", &key("a", "k:<x>", WRITES)));
    let acl = Acl::new(&contract, &Naming::plain(&contract));
    assert!(acl.users()[0].rules.iter().any(|rule| rule.contains("~k:*")), "{:?}", acl.users()[0].rules);
}

#[test]
fn two_contracts_on_one_server_are_told_apart_or_not() {
    let first = sound(&contract("x = { text = true }", &key("a", "k:<x>", WRITES)));
    let second = sound(&contract("", &key("b", "k:new", WRITES)).replace("name = \"c\"", "name = \"d\""));
    let shared = shared_keys((&first, &Naming::plain(&first)), (&second, &Naming::plain(&second)));
    assert_eq!(shared, [("a".to_owned(), "b".to_owned(), "k:new".to_owned())]);
}

#[test]
fn a_renamed_key_is_compared_with_what_it_was() {
    let old = sound(&contract("", &key("a", "k", WRITES)));
    let same = sound(&contract("", &key("b", "k", WRITES)));
    let other = sound(&contract("", &key("b", "k", "writes = [\"other\"]")));
    assert_eq!(
        (diff(&old, &same).readers(), diff(&old, &same).writers(), diff(&old, &same).changes.len()),
        (Effect::Fine, Effect::Fine, 1)
    );
    assert_eq!(diff(&old, &other).writers(), Effect::Breaks);
}

#[test]
fn dropping_a_legacy_shape_is_not_no_difference() {
    let with = sound(&contract("x = { like = '[a-z]{4}', legacy = '[0-9]+' }", &key("a", "k:<x>", WRITES)));
    let without = sound(&contract("x = { like = '[a-z]{4}' }", &key("a", "k:<x>", WRITES)));
    assert_eq!(
        (diff(&with, &without).readers(), diff(&with, &without).writers()),
        (Effect::Look, Effect::Fine)
    );
    assert_eq!(diff(&without, &with).readers(), Effect::Breaks);
}

#[test]
fn a_miss_is_explained_by_the_nearest_key() {
    let contract = sound(
        &contract(
            "x = { like = 'id_[a-z]{4}' }",
            &key("a", "shop:<x>:cart", "tag = \"<x>\"\nwrites = [\"app\"]"),
        )
        .replace("doc = \"C.\"", "doc = \"C.\"\nnamespace = \"ns\""),
    );
    let plain = Naming::plain(&contract);
    let reason = |text: &str| explain_miss(&contract, &plain, text).map(|miss| miss.reason);
    assert_eq!(reason("ns:shop:7:cart").unwrap(), "`7` is not a <x>: like `id_[a-z]{4}`");
    assert_eq!(reason("ns:shop:id_abcd:crat").unwrap(), "`crat` should be `cart`; a typo?");
    assert_eq!(reason("ns:shop:{id_abcd}:cart").unwrap(), "it carries a hash tag, as on Cluster");
    assert_eq!(reason("shop:id_abcd:cart").unwrap(), "the namespace `ns:` is missing");
    assert_eq!(reason("something:else"), None);
}
