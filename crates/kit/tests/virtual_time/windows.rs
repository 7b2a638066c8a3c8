//! A timeline at the edges of its windows.

use std::time::Duration;

use keyplane_engine::Reply;
use keyplane_kit::timeline::{Order, Timeline};

use crate::setup::east;
use crate::world::{DAY, HOUR, MILLI, SECOND, World};

#[tokio::test(start_paused = true)]
async fn a_member_is_counted_through_the_millisecond_of_its_windows_end() {
    let world = World::new();
    let seen = Timeline::new(&world.machine().await, world.keys.sightings(&east())).unwrap();
    seen.record("m1").await.unwrap();
    world.engine.advance(SECOND).await;
    assert_eq!(seen.count(SECOND).await.unwrap(), 1);
    assert_eq!(seen.count(SECOND - MILLI).await.unwrap(), 0);
    // A part of a unit counts as a whole one.
    assert_eq!(seen.count(SECOND - Duration::from_micros(1)).await.unwrap(), 1);
    world.engine.advance(MILLI).await;
    assert_eq!(seen.count(SECOND).await.unwrap(), 0);
    assert_eq!(seen.count(DAY).await.unwrap(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_future_member_is_counted_from_its_millisecond_on() {
    let world = World::new();
    let seen = Timeline::new(&world.machine().await, world.keys.sightings(&east())).unwrap();
    seen.record_at("soon", world.engine.now() + SECOND).await.unwrap();
    world.engine.advance(SECOND - MILLI).await;
    assert_eq!(seen.count(HOUR).await.unwrap(), 0);
    world.engine.advance(MILLI).await;
    assert_eq!(seen.count(Duration::ZERO).await.unwrap(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_is_a_day_old_goes_in_the_next_millisecond_and_not_before() {
    let world = World::new();
    let key = world.keys.sightings(&east());
    let seen = Timeline::new(&world.machine().await, key.clone()).unwrap();
    seen.record("old").await.unwrap();
    world.engine.advance(HOUR).await;
    seen.record("m1").await.unwrap();
    world.engine.advance(23 * HOUR).await;
    assert_eq!(seen.record("m1").await.unwrap().pruned, 0);
    assert_eq!(seen.page(None, 9, Order::OldestFirst).await.unwrap().items.len(), 2);
    world.engine.advance(MILLI).await;
    // Not pruned yet, and not shown.
    assert_eq!(world.raw(&["ZCARD", key.as_str()]).await, Reply::Int(2));
    assert_eq!(seen.count(10 * DAY).await.unwrap(), 1);
    assert_eq!(seen.page(None, 9, Order::OldestFirst).await.unwrap().items[0].0, b"m1");
    assert_eq!(seen.page(None, 9, Order::NewestFirst).await.unwrap().items.len(), 1);
    assert_eq!(seen.prune().await.unwrap(), 1);
    // Pruning is no write that makes the key last longer: it ends a day after the last one.
    world.engine.advance(23 * HOUR).await;
    seen.prune().await.unwrap();
    world.engine.advance(HOUR - 2 * MILLI).await;
    assert_eq!(world.raw(&["EXISTS", key.as_str()]).await, Reply::Int(1));
    world.engine.advance(2 * MILLI).await;
    assert_eq!(world.raw(&["EXISTS", key.as_str()]).await, Reply::Int(0));
}

#[tokio::test(start_paused = true)]
async fn a_timeline_that_is_written_to_for_days_stays_a_day_long() {
    let world = World::new();
    let key = world.keys.sightings(&east());
    let seen = Timeline::new(&world.machine().await, key.clone()).unwrap();
    for hour in 0..24 * 7 {
        seen.record(format!("m{hour}")).await.unwrap();
        world.engine.advance(HOUR).await;
    }
    // The one that is just a day old is still there: it went in as the first of these 25.
    seen.record("last").await.unwrap();
    assert_eq!(world.raw(&["ZCARD", key.as_str()]).await, Reply::Int(25));
    assert_eq!(seen.counters().pruned.get(), 24 * 7 + 1 - 25);
}
