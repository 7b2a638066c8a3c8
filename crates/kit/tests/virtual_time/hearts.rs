//! A heartbeat by the calendar, and at the edge of its patience.

use std::time::Duration;

use keyplane_engine::Reply;
use keyplane_key::{Hash, Key};
use keyplane_kit::heartbeat::{Health, Heartbeat, Reason};

use crate::setup::{MachineId, east};
use crate::world::{DAY, MILLI, SECOND, World};

fn worker(world: &World) -> Key<Hash> {
    world.keys.worker(&east(), &MachineId::new("m1").unwrap())
}

#[tokio::test(start_paused = true)]
async fn a_worker_is_alive_through_the_last_moment_of_patience() {
    let (world, patience) = (World::new(), 15 * SECOND);
    let key = worker(&world);
    let hearts = Heartbeat::new(&world.machine().await, key.info(), "seen", patience).unwrap();
    assert_eq!(hearts.look(&key).await.unwrap(), Health::Absent);
    hearts.beat(&key, [("state", "busy")]).await.unwrap();
    world.engine.advance(patience).await;
    let health = hearts.look(&key).await.unwrap();
    assert_eq!((health.is_alive(), health.age()), (true, Some(patience)));
    world.engine.advance(MILLI).await;
    let health = hearts.look(&key).await.unwrap();
    let Health::Stale { reason, fields } = health else { panic!("{health:?}") };
    assert_eq!((reason, fields.text("state")), (Reason::Late(patience + MILLI), Some("busy")));
    // A beat brings it back, and a minute without one ends the record.
    hearts.beat(&key, [("state", "idle")]).await.unwrap();
    assert!(hearts.look(&key).await.unwrap().is_alive());
    world.engine.advance(60 * SECOND + MILLI).await;
    assert_eq!(hearts.look(&key).await.unwrap(), Health::Absent);
}

/// Beats in both ways to write a date, and reads what was written.
async fn dates(world: &World) -> [String; 2] {
    let (key, handle) = (worker(world), world.machine().await);
    let mut written = [const { String::new() }; 2];
    for (text, field) in written.iter_mut().zip(["seen_day", "seen"]) {
        let hearts = Heartbeat::new(&handle, key.info(), field, SECOND).unwrap();
        hearts.beat(&key, [("state", "busy")]).await.unwrap();
        assert!(hearts.look(&key).await.unwrap().is_alive(), "what is written is read");
        let Reply::Bulk(bytes) = world.raw(&["HGET", key.as_str(), field]).await else { panic!("no time") };
        *text = String::from_utf8(bytes).unwrap();
    }
    written
}

#[tokio::test(start_paused = true)]
async fn dates_are_those_of_the_calendar() {
    let world = World::new();
    assert_eq!(dates(&world).await, ["2030-01-01T00:00:00Z", "2030-01-01T00:00:00.000Z"]);
    world.engine.advance(2 * 365 * DAY + (31 + 28) * DAY + Duration::from_micros(86_399_999_999)).await;
    assert_eq!(dates(&world).await, ["2032-02-29T23:59:59Z", "2032-02-29T23:59:59.999Z"]);
    world.engine.advance(Duration::from_micros(1)).await;
    assert_eq!(dates(&world).await, ["2032-03-01T00:00:00Z", "2032-03-01T00:00:00.000Z"]);
    // The rest of 2032, and no leap day in 2100.
    world.engine.advance(305 * DAY + 13 * 3600 * SECOND + 7 * 60 * SECOND + 5 * SECOND + 42 * MILLI).await;
    assert_eq!(dates(&world).await, ["2032-12-31T13:07:05Z", "2032-12-31T13:07:05.042Z"]);
    let years: u32 = (2033..2100).map(|year| if year % 4 == 0 { 366 } else { 365 }).sum();
    world.engine.advance(DAY + years * DAY + 58 * DAY).await;
    assert_eq!(dates(&world).await[0], "2100-02-28T13:07:05Z");
    world.engine.advance(DAY).await;
    assert_eq!(dates(&world).await[0], "2100-03-01T13:07:05Z");
}
