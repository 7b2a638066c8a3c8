//! The timeline on every store.

use std::time::{Duration, SystemTime};

use keyplane_key::{Key, Zset};
use keyplane_kit::timeline::{Cursor, Order, Page, Timeline};
use keyplane_kit::{SetupError, Unit};
use keyplane_store::{Cause, Handle};
use keyplane_testing::{Place, every_store};

use crate::setup::{Keyspace, east, keys, machine, monitor, with_setting};

const HOUR: Duration = Duration::from_secs(3600);

fn sightings(handle: &Handle, keys: &Keyspace) -> Timeline {
    Timeline::new(handle, keys.sightings(&east())).unwrap()
}

fn ago(age: Duration) -> SystemTime {
    SystemTime::now() - age
}

fn members(page: &Page) -> Vec<&str> {
    page.items.iter().map(|(member, _)| std::str::from_utf8(member).unwrap()).collect()
}

/// Puts a member there as a writer would who does not prune.
fn plant(place: &Place, key: &Key<Zset>, at: SystemTime, member: &str) {
    let score = Duration::as_millis(&at.duration_since(SystemTime::UNIX_EPOCH).unwrap()).to_string();
    place.raw::<i64>(key.as_str(), &["ZADD", key.as_str(), &score, member]);
}

#[every_store(except(unix, tls))]
async fn recording_tells_what_is_new_and_what_went(place: Place) {
    let (handle, keys) = (machine(&place).await, keys(&place));
    let (seen, key) = (sightings(&handle, &keys), keys.sightings(&east()));
    let first = seen.record("m1").await.unwrap();
    assert_eq!((first.new, first.pruned), (true, 0));
    plant(&place, &key, ago(25 * HOUR), "old");
    plant(&place, &key, ago(30 * HOUR), "older");
    let again = seen.record("m1").await.unwrap();
    assert_eq!((again.new, again.pruned), (false, 2));
    // A moment that is not kept goes as it comes.
    let late = seen.record_at("late", ago(25 * HOUR)).await.unwrap();
    assert_eq!((late.new, late.pruned), (true, 1));
    assert_eq!(members(&seen.page(None, 10, Order::OldestFirst).await.unwrap()), ["m1"]);
    assert_eq!((seen.counters().recorded.get(), seen.counters().pruned.get()), (3, 3));
    // The key's own end: the audit at the end of the test knows that there must be one.
    let left: i64 = place.raw(key.as_str(), &["PTTL", key.as_str()]);
    assert!((86_000_000..=86_400_000).contains(&left), "{left}");
}

#[every_store(except(unix, tls))]
async fn a_count_is_exact_whether_it_was_pruned_or_not(place: Place) {
    let (handle, keys) = (machine(&place).await, keys(&place));
    let (seen, key) = (sightings(&handle, &keys), keys.sightings(&east()));
    seen.record("now").await.unwrap();
    seen.record_at("minutes", ago(Duration::from_secs(600))).await.unwrap();
    seen.record_at("hours", ago(5 * HOUR)).await.unwrap();
    seen.record_at("tomorrow", SystemTime::now() + 20 * HOUR).await.unwrap();
    plant(&place, &key, ago(25 * HOUR), "yesterday");
    for (window, count) in [(Duration::from_secs(60), 1), (HOUR, 2), (6 * HOUR, 3), (100 * HOUR, 3)] {
        assert_eq!(seen.count(window).await.unwrap(), count, "{window:?}");
    }
    let page = seen.page(None, 10, Order::OldestFirst).await.unwrap();
    assert_eq!(members(&page), ["hours", "minutes", "now", "tomorrow"]);
    assert_eq!(seen.prune().await.unwrap(), 1);
    assert_eq!(seen.prune().await.unwrap(), 0);
    assert_eq!(seen.count(100 * HOUR).await.unwrap(), 3);
}

#[every_store(except(unix, tls))]
async fn the_oldest_over_the_limit_go(place: Place) {
    let (handle, keys) = (machine(&place).await, keys(&place));
    let faults = Timeline::new(&handle, keys.faults(&east())).unwrap();
    assert_eq!(faults.unit(), Unit::Seconds);
    for (age, member) in [(40, "d"), (30, "c"), (20, "b"), (10, "a")] {
        faults.record_at(member, ago(Duration::from_secs(age))).await.unwrap();
    }
    let page = faults.page(None, 10, Order::NewestFirst).await.unwrap();
    assert_eq!(members(&page), ["a", "b", "c"]);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs_f64();
    assert!((now - page.items[0].1 - 10.0).abs() < 5.0, "seconds: {}", page.items[0].1);
    // Older than all that there is room for.
    let old = faults.record_at("d", ago(Duration::from_secs(50))).await.unwrap();
    assert_eq!((old.new, old.pruned), (true, 1));
}

#[every_store(except(unix, tls))]
async fn a_key_without_an_end_keeps_none_and_counts_microseconds(place: Place) {
    let (handle, keys) = (machine(&place).await, keys(&place));
    let ticks = Timeline::new(&handle, keys.ticks(&east())).unwrap();
    let before = SystemTime::now();
    ticks.record([0_u8, 0xff, b'\n']).await.unwrap();
    let page = ticks.page(None, 1, Order::OldestFirst).await.unwrap();
    assert_eq!((page.items[0].0.as_slice(), page.next), (&[0_u8, 0xff, b'\n'][..], None));
    let micros = before.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_micros() as f64;
    assert!((page.items[0].1 - micros).abs() < 60e6, "microseconds: {}", page.items[0].1);
    // To the last digit: Lua would round it to ten microseconds if it was asked to.
    let moment = SystemTime::UNIX_EPOCH + Duration::from_micros(micros as u64 + 7);
    ticks.record_at("exact", moment).await.unwrap();
    let page = ticks.page(None, 9, Order::NewestFirst).await.unwrap();
    assert!(page.items.contains(&(b"exact".to_vec(), micros + 7.0)), "{page:?}");
}

#[every_store(except(unix, tls))]
async fn pages_neither_repeat_nor_lose_members_of_one_score(place: Place) {
    let (handle, keys) = (machine(&place).await, keys(&place));
    let (seen, key) = (sightings(&handle, &keys), keys.sightings(&east()));
    let at = ago(HOUR);
    for member in ["a", "b", "c", "d", "e", "f"] {
        seen.record_at(member, at).await.unwrap();
    }
    let first = seen.page(None, 2, Order::OldestFirst).await.unwrap();
    assert_eq!(members(&first), ["a", "b"]);
    // The cursor's own goes, and others come before and behind it.
    place.raw::<i64>(key.as_str(), &["ZREM", key.as_str(), "b"]);
    seen.record_at("aa", at).await.unwrap();
    seen.record_at("bb", at).await.unwrap();
    let cursor: Cursor = first.next.unwrap().to_string().parse().unwrap();
    let second = seen.page(Some(&cursor), 3, Order::OldestFirst).await.unwrap();
    assert_eq!(members(&second), ["bb", "c", "d"]);
    let third = seen.page(second.next.as_ref(), 3, Order::OldestFirst).await.unwrap();
    assert_eq!((members(&third), &third.next), (vec!["e", "f"], &None));
    // And from the other end.
    let newest = seen.page(None, 3, Order::NewestFirst).await.unwrap();
    assert_eq!(members(&newest), ["f", "e", "d"]);
    place.raw::<i64>(key.as_str(), &["ZREM", key.as_str(), "d"]);
    let rest = seen.page(newest.next.as_ref(), 2000, Order::NewestFirst).await.unwrap();
    assert_eq!((members(&rest), &rest.next), (vec!["c", "bb", "aa", "a"], &None));
    // Whoever follows comes back with the last one it saw.
    seen.record("g").await.unwrap();
    let (member, score) = third.items.last().unwrap();
    let more = Cursor::behind(member.as_slice(), *score);
    assert_eq!(members(&seen.page(Some(&more), 5, Order::OldestFirst).await.unwrap()), ["g"]);
}

#[every_store(except(unix, tls))]
async fn who_may_only_read_counts_and_pages(place: Place) {
    let (handle, eye, keys) = (machine(&place).await, monitor(&place).await, keys(&place));
    sightings(&handle, &keys).record("m1").await.unwrap();
    let seen = sightings(&eye, &keys);
    assert_eq!(seen.count(HOUR).await.unwrap(), 1);
    assert_eq!(members(&seen.page(None, 1, Order::OldestFirst).await.unwrap()), ["m1"]);
    let refused = seen.record("m2").await.unwrap_err();
    assert!(matches!(refused.cause(), Cause::ReadOnlyHandle), "{refused}");
}

#[every_store(only(embedded))]
async fn a_deployment_may_keep_them_for_another_time(place: Place) {
    let (handle, keys) = (with_setting(&place, "sightings_for", HOUR).await, keys(&place));
    let seen = sightings(&handle, &keys);
    assert_eq!(seen.lasts(), HOUR);
    seen.record_at("m1", ago(2 * HOUR)).await.unwrap();
    assert_eq!(seen.counters().pruned.get(), 1);
}

#[every_store(only(embedded))]
async fn a_key_that_is_no_timeline_is_refused(place: Place) {
    let (handle, keys) = (machine(&place).await, keys(&place));
    let ranks = Timeline::new(&handle, keys.ranks(&east())).unwrap_err();
    assert!(matches!(ranks, SetupError::Score { .. }), "{ranks}");
    assert_eq!(
        ranks.to_string(),
        "the score of `ranks` is time (rfc3339), and the timeline needs `time:unix_s`, `time:unix_ms` or `time:unix_us`"
    );
    let alarms = Timeline::new(&handle, keys.alarms(&east())).unwrap_err();
    assert!(matches!(alarms, SetupError::Ttl { .. }), "{alarms}");
}
