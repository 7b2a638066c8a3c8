//! Deadlines at their time, and after those who set them are gone.

use std::time::Duration;

use keyplane_kit::deadline::{DeadlineError, Deadlines, Due, UnixMillis};

use crate::setup::east;
use crate::world::{DAY, MILLI, SECOND, World};

#[tokio::test(start_paused = true)]
async fn a_timer_fires_in_its_millisecond_and_not_before() {
    let world = World::new();
    let handle = world.machine().await;
    let (_held, fence) = world.lead(&handle).await;
    let alarms = Deadlines::new(&handle, world.keys.alarms(&east())).unwrap();
    let set = alarms.schedule("a", Due::In(SECOND)).await.unwrap();
    assert_eq!(set.due, UnixMillis(world.now() + 1000));
    alarms.schedule("b", Due::At(UnixMillis(world.now() + 1001))).await.unwrap();
    assert_eq!(alarms.next().await.unwrap(), Some(SECOND));
    world.engine.advance(SECOND - Duration::from_micros(1)).await;
    assert_eq!(alarms.next().await.unwrap(), Some(Duration::from_micros(1)));
    assert!(alarms.due(&fence, 9).await.unwrap().is_empty());
    world.engine.advance(Duration::from_micros(1)).await;
    assert_eq!(alarms.next().await.unwrap(), Some(Duration::ZERO));
    let fired = alarms.due(&fence, 9).await.unwrap();
    assert_eq!((fired.len(), fired[0].id.as_str(), fired[0].due), (1, "a", set.due));
    assert_eq!(alarms.next().await.unwrap(), Some(MILLI));
}

#[tokio::test(start_paused = true)]
async fn within_a_millisecond_a_timer_is_set_for_the_end_of_it() {
    let world = World::new();
    let handle = world.machine().await;
    let (_held, fence) = world.lead(&handle).await;
    let alarms = Deadlines::new(&handle, world.keys.alarms(&east())).unwrap();
    let start = world.now();
    world.engine.advance(Duration::from_micros(300)).await;
    let set = alarms.schedule("a", Due::In(MILLI)).await.unwrap();
    assert_eq!(set.due, UnixMillis(start + 2));
    world.engine.advance(MILLI).await;
    assert!(alarms.due(&fence, 9).await.unwrap().is_empty());
    world.engine.advance(MILLI).await;
    assert_eq!(alarms.due(&fence, 9).await.unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn timers_outlive_restarts_and_months() {
    let world = World::new();
    let key = world.keys.alarms(&east());
    let handle = world.machine().await;
    let alarms = Deadlines::new(&handle, key.clone()).unwrap();
    let due = alarms.schedule("far", Due::In(60 * DAY)).await.unwrap().due;
    alarms.schedule("near", Due::In(DAY)).await.unwrap();
    world.engine.advance(2 * DAY).await;
    let (held, first) = world.lead(&handle).await;
    assert_eq!(alarms.due(&first, 9).await.unwrap()[0].id, "near");
    held.release().await.unwrap();
    drop((alarms, handle));

    world.engine.advance(60 * DAY).await;
    let handle = world.machine().await;
    let alarms = Deadlines::new(&handle, key).unwrap();
    let (_held, second) = world.lead(&handle).await;
    assert!(matches!(alarms.due(&first, 9).await, Err(DeadlineError::Fenced)));
    let fired = alarms.due(&second, 9).await.unwrap();
    let told: Vec<_> = fired.iter().map(|fired| (fired.id.as_str(), fired.again)).collect();
    assert_eq!(told, [("near", true), ("far", false)]);
    assert_eq!(fired[1].due, due);
    assert_eq!(alarms.done(&second, &fired).await.unwrap(), 2);
}
