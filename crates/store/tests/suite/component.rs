//! Handles opened as a component, and read-only ones.

use std::collections::HashMap;
use std::time::Duration;

use keyplane_store::{Cause, Error, HandleError};
use keyplane_testing::{Place, every_store};

use crate::setup::{Keyspace, Order, bin, component, keys, open, order};

fn refused(error: &Error) -> bool {
    matches!(error.cause(), Cause::NotGranted { .. }) && !error.maybe_applied() && !error.is_retryable()
}

#[every_store]
async fn a_component_does_what_its_contract_grants_and_nothing_else(place: Place) {
    let (clerk, keys) = component(&place, "clerk").await;
    let packer = component(&place, "packer").await.0;
    let b = bin("b1");
    clerk.run(keys.tickets(&b).rpush("t1")).await.unwrap();
    assert!(refused(&clerk.run(keys.tickets(&b).lpop()).await.unwrap_err()));
    assert!(refused(&packer.run(keys.tickets(&b).rpush("t2")).await.unwrap_err()));
    assert!(refused(&packer.run(keys.label(&b).get()).await.unwrap_err()));
    let error = packer.run(keys.order(&order("o")).hset([("note", "x")])).await.unwrap_err();
    assert_eq!(error.to_string(), "HSET order:<order>: the contract does not let packer do that");
    assert_eq!(packer.run(keys.tickets(&b).lpop()).await.unwrap().as_deref(), Some(&b"t1"[..]));
}

#[every_store]
async fn moving_from_one_list_to_another_sets_the_ttl_of_the_other(place: Place) {
    use keyplane_key::End::{Left, Right};
    let (clerk, keys) = component(&place, "clerk").await;
    let packer = component(&place, "packer").await.0;
    let b = bin("b1");
    clerk.run(keys.tickets(&b).rpush("t1")).await.unwrap();
    let moved = packer.run(keys.tickets(&b).lmove(Left, &keys.taken(&b), Right)).await.unwrap();
    assert_eq!(moved.as_deref(), Some(&b"t1"[..]));
    let ttl = packer.run(keys.taken(&b).pttl()).await.unwrap();
    assert!(ttl > 1_100_000 && ttl <= 1_200_000, "{ttl}");
    assert!(refused(&clerk.run(keys.tickets(&b).lmove(Left, &keys.taken(&b), Right)).await.unwrap_err()));
}

#[every_store]
async fn a_read_only_handle_refuses_every_write(place: Place) {
    let contract = place.contract(Keyspace::SOURCE);
    let keys = keys(&place);
    let store = open(&place).await;
    let monitor = store.as_component(&contract, "monitor", &HashMap::new()).unwrap();
    for handle in [store.read_only(&contract), monitor] {
        let label = keys.label(&bin("b1"));
        assert_eq!(handle.run(label.get()).await.unwrap(), None);
        for error in [
            handle.run(label.set("x")).await.map(drop),
            handle.run(label.del()).await.map(drop),
            handle.run(keys.tickets(&bin("b1")).lpop()).await.map(drop),
        ] {
            assert!(matches!(error.unwrap_err().cause(), Cause::ReadOnlyHandle));
        }
    }
}

#[every_store(only(redis))]
async fn old_ids_can_be_read_and_not_written(place: Place) {
    let (clerk, keys) = component(&place, "clerk").await;
    let old = keys.order(&Order::from_store("O-17").unwrap());
    assert_eq!(clerk.run(old.hgetall()).await.unwrap(), []);
    let error = clerk.run(old.hset([("state", "open")])).await.unwrap_err();
    assert!(matches!(error.cause(), Cause::LegacyId), "{error}");
}

#[every_store(only(redis))]
async fn a_component_that_is_not_in_the_contract_is_named(place: Place) {
    let contract = place.contract(Keyspace::SOURCE);
    let error = open(&place).await.as_component(&contract, "boss", &HashMap::new()).unwrap_err();
    assert!(matches!(&error, HandleError::Component { .. }));
    assert_eq!(error.to_string(), "parts has no component `boss`; there are clerk, packer, janitor, monitor");
}

#[every_store(only(redis))]
async fn a_setting_changes_the_ttl(place: Place) {
    let contract = place.contract(Keyspace::SOURCE);
    let settings = HashMap::from([("STOCK_TTL".to_owned(), Duration::from_secs(60))]);
    let clerk = open(&place).await.as_component(&contract, "clerk", &settings).unwrap();
    let stock = keys(&place).stock(&bin("b1"));
    clerk.run(stock.incrby(1)).await.unwrap();
    assert!(clerk.run(stock.pttl()).await.unwrap() <= 60_000);
}

mod elsewhere {
    #![allow(missing_docs, unreachable_pub, dead_code)]
    keyplane_macros::keyspace!("../macros/tests/shop.toml");
}

#[every_store(only(redis))]
async fn a_key_of_another_contract_is_refused(place: Place) {
    let (clerk, _) = component(&place, "clerk").await;
    let key = elsewhere::Keyspace::default().order(&elsewhere::OrderId::new("order_ab12").unwrap());
    let error = clerk.run(key.hgetall()).await.unwrap_err();
    assert!(matches!(error.cause(), Cause::ForeignKey { .. }), "{error}");
}
