//! What the generated code does.

mod shop {
    #![allow(missing_docs, unreachable_pub)]
    keyplane_macros::keyspace!("tests/shop.toml");
}

mod awkward {
    #![allow(missing_docs, unreachable_pub)]
    keyplane_macros::keyspace!("tests/awkward.toml");
}

use keyplane_key::{Naming, NamingError, Policy};
use shop::{Item, Keyspace, NoteId, OrderId, State};

#[test]
fn keys_are_rendered_from_checked_values() {
    let keys = Keyspace::default();
    let order = OrderId::new("order_ab12").unwrap();
    assert_eq!(keys.order(&order).as_str(), "shop:order_ab12");
    assert_eq!(
        keys.lines(&order, Item::new(7).unwrap()).rpush("tea").to_string(),
        "RPUSH shop:order_ab12:lines:7 tea"
    );
    assert_eq!(keys.by_state(State::InProgress).as_str(), "shop:index:state:in-progress");
}

#[test]
fn a_value_that_fails_its_check_is_refused_with_the_reason() {
    let error = OrderId::new("order_AB").unwrap_err();
    assert_eq!(
        error.to_string(),
        r#""order_AB" is not a <order_id>: like `^order_[a-z0-9]{4,8}$`; on reading also like `^order[0-9]+$`"#
    );
    assert!(Item::new(0).is_err() && Item::new(100).is_err());
    assert!("07".parse::<Item>().is_err() && "7".parse::<Item>().is_ok());
    assert!(NoteId::new("a:b").is_err() && NoteId::new("a{b").is_err() && NoteId::new("").is_err());
    assert_eq!("5m".parse(), Ok(State::V5m));
}

#[test]
fn legacy_ids_can_be_read_and_are_marked() {
    assert!(OrderId::new("order123").is_err());
    let old = OrderId::from_store("order123").unwrap();
    assert!(old.is_legacy());
    assert!(!OrderId::from_store("order_ab12").unwrap().is_legacy());
}

#[test]
fn hash_tags_and_namespace_are_a_matter_of_the_deployment() {
    let keys = Keyspace::new(Naming::new("eu:prod", true).unwrap()).unwrap();
    let order = OrderId::new("order_ab12").unwrap();
    assert_eq!(keys.lines(&order, Item::new(1).unwrap()).as_str(), "eu:prod:shop:{order_ab12}:lines:1");
    assert_eq!(keys.by_state(State::Open).as_str(), "eu:prod:shop:index:state:open");
    assert!(Naming::new("a{b", true).is_err());
}

#[test]
fn a_key_knows_its_contract() {
    let key = Keyspace::default().order(&OrderId::new("order_ab12").unwrap());
    assert_eq!((key.info().name, key.redis_type()), ("order", "hash"));
    assert_eq!(key.ttl().policy, Policy::Sliding);
    assert_eq!(shop::fields::order::PLACED_AT, "placedAt");
    assert_eq!(shop::fields::order::item_item_n(&Item::new(3).unwrap()), "item3_n");
}

#[test]
fn one_name_with_two_types_has_a_constructor_for_each() {
    let keys = Keyspace::default();
    let (order, note) = (OrderId::new("order_ab12").unwrap(), NoteId::new("cpu").unwrap());
    assert_eq!(
        keys.trace_zset(&order, &note).zadd([(1.5, "x")]).to_string(),
        "ZADD shop:order_ab12:trace:cpu 1.5 x"
    );
    assert_eq!(keys.trace_hash(&order, &note).hget("x").to_string(), "HGET shop:order_ab12:trace:cpu x");
}

#[test]
fn names_that_rust_knows_already_become_code_too() {
    let keys = awkward::Keyspace::default();
    let (key, own) = (awkward::Key::new("a").unwrap(), awkward::Self_::new("b").unwrap());
    assert_eq!(keys.r#match(&key, &own).as_str(), "ns:match:a:b");
    assert!(
        awkward::Gen::new(0).is_err() && "0".parse::<awkward::Gen>().is_err() && awkward::Gen::new(1).is_ok()
    );
    assert_eq!(awkward::Result::ALL.len(), 4);
    assert_eq!(awkward::fields::r#match::r#type(&awkward::Type::new("x").unwrap()), "{x}");
}

#[test]
fn keys_tagged_by_the_namespace_need_one() {
    assert_eq!(awkward::Keyspace::new(Naming::new("", true).unwrap()), Err(NamingError::NoNamespace));
    assert!(awkward::Keyspace::new(Naming::new("", false).unwrap()).is_ok());
}
