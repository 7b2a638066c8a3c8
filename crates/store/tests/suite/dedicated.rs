//! Connections of their own: blocking pops, WAIT, the pool's bounds.

use std::collections::HashMap;
use std::time::Duration;

use keyplane_key::End::{Left, Right};
use keyplane_store::{Cause, Store};
use keyplane_testing::{Place, every_store};

use crate::setup::{Keyspace, bin, component, keys, options};

#[every_store]
async fn a_blocking_pop_waits_without_holding_up_others(place: Place) {
    let (clerk, keys) = component(&place, "clerk").await;
    let packer = component(&place, "packer").await.0;
    let tickets = keys.tickets(&bin("b1"));
    let error = packer.run(tickets.blpop(Duration::from_secs(1))).await.unwrap_err();
    assert!(matches!(error.cause(), Cause::Blocking), "{error}");

    let mut own = packer.dedicated(&tickets).await.unwrap();
    let waiting = tokio::spawn({
        let command = tickets.blpop(Duration::from_secs(20));
        async move { own.run(command).await }
    });
    // The shared connection goes on while the other waits.
    assert_eq!(packer.run(tickets.llen()).await.unwrap(), 0);
    clerk.run(tickets.rpush("t1")).await.unwrap();
    let (_, item) = waiting.await.unwrap().unwrap().unwrap();
    assert_eq!(item, b"t1");
}

#[every_store]
async fn a_blocking_pop_that_gets_nothing_ends(place: Place) {
    let (packer, keys) = component(&place, "packer").await;
    let tickets = keys.tickets(&bin("b1"));
    let mut own = packer.dedicated(&tickets).await.unwrap();
    assert_eq!(own.run(tickets.brpop(Duration::from_millis(50))).await.unwrap(), None);
    assert_eq!(own.run(tickets.llen()).await.unwrap(), 0);
}

#[every_store]
async fn a_blocking_move_sets_the_ttl_of_where_it_moves(place: Place) {
    let (clerk, keys) = component(&place, "clerk").await;
    let packer = component(&place, "packer").await.0;
    let b = bin("b1");
    clerk.run(keys.tickets(&b).rpush("t1")).await.unwrap();
    let mut own = packer.dedicated(&keys.tickets(&b)).await.unwrap();
    let command = keys.tickets(&b).blmove(Left, &keys.taken(&b), Right, Duration::from_secs(5));
    assert_eq!(own.run(command).await.unwrap().as_deref(), Some(&b"t1"[..]));
    assert!(packer.run(keys.taken(&b).pttl()).await.unwrap() > 1_100_000);
}

#[every_store(only(cluster, sentinel))]
async fn wait_counts_replicas_that_have_the_write(place: Place) {
    let (clerk, keys) = component(&place, "clerk").await;
    let label = keys.label(&bin("b1"));
    let mut own = clerk.dedicated(&label).await.unwrap();
    own.run(label.set("x")).await.unwrap();
    let replicas = own.wait_for_replicas(1, Duration::from_secs(10)).await.unwrap();
    assert!((1..=2).contains(&replicas), "{replicas}");
}

#[every_store(only(redis))]
async fn wait_gives_up_when_there_is_no_replica(place: Place) {
    let (clerk, keys) = component(&place, "clerk").await;
    let mut own = clerk.dedicated(&keys.label(&bin("b1"))).await.unwrap();
    assert_eq!(own.wait_for_replicas(1, Duration::from_millis(1)).await.unwrap(), 0);
}

#[every_store(only(redis, cluster))]
async fn the_pool_bounds_connections_and_says_so(place: Place) {
    let contract = place.contract(Keyspace::SOURCE);
    let mut options = options(&place);
    options.pool_size = 3;
    options.command_timeout = Duration::from_millis(300);
    let store = Store::open(&place.url, options).await.unwrap();
    let packer = store.as_component(&contract, "packer", &HashMap::new()).unwrap();
    let tickets = keys(&place).tickets(&bin("b1"));
    let first = packer.dedicated(&tickets).await.unwrap();
    let second = packer.dedicated(&tickets).await.unwrap();
    let error = packer.dedicated(&tickets).await.unwrap_err();
    assert!(matches!(error.cause(), Cause::PoolExhausted { size: 3, .. }), "{error}");
    assert!(error.is_retryable() && !error.maybe_applied());
    let counted = store.metrics().snapshot();
    assert_eq!((counted.pool_waits, counted.pool_exhausted, counted.dedicated_open), (1, 1, 2));
    drop(first);
    let third = packer.dedicated(&tickets).await.unwrap();
    drop((second, third));
    assert_eq!(store.metrics().snapshot().dedicated_open, 0);
}
