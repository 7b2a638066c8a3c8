//! Deadlines on every store.

use std::time::Duration;

use keyplane_kit::deadline::{DeadlineError, Deadlines, Due, Fired, UnixMillis};
use keyplane_kit::lease::{Held, Lease};
use keyplane_kit::{Fence, SetupError};
use keyplane_store::Handle;
use keyplane_testing::{Place, every_store};

use crate::setup::{Keyspace, east, keys, machine, monitor};

/// Long past, so due at once.
const PAST: Due = Due::At(UnixMillis(1000));
const HOUR: Due = Due::In(Duration::from_secs(3600));

fn alarms(handle: &Handle, keys: &Keyspace) -> Deadlines {
    Deadlines::new(handle, keys.alarms(&east())).unwrap()
}

async fn lead(handle: &Handle, keys: &Keyspace) -> (Held, Fence) {
    let held = Lease::new(handle, keys.leader(&east())).unwrap().acquire("m1").await.unwrap();
    let fence = held.fence().unwrap().clone();
    (held, fence)
}

fn ids(fired: &[Fired]) -> Vec<&str> {
    fired.iter().map(|fired| fired.id.as_str()).collect()
}

#[every_store(except(unix, tls))]
async fn a_timer_is_handed_out_once_and_again_to_the_next_term(place: Place) {
    let (handle, keys) = (machine(&place).await, keys(&place));
    let (alarms, (held, first)) = (alarms(&handle, &keys), lead(&handle, &keys).await);
    alarms.schedule("later", HOUR).await.unwrap();
    alarms.schedule("b:2", Due::At(UnixMillis(2000))).await.unwrap();
    alarms.schedule("a", PAST).await.unwrap();
    alarms.schedule("c", Due::At(UnixMillis(3000))).await.unwrap();

    let fired = alarms.due(&first, 2).await.unwrap();
    assert_eq!(ids(&fired), ["a", "b:2"]);
    assert_eq!((fired[1].due, fired[1].again), (UnixMillis(2000), false));
    assert_eq!(ids(&alarms.due(&first, 10).await.unwrap()), ["c"]);
    assert!(alarms.due(&first, 10).await.unwrap().is_empty());
    assert_eq!(ids(&alarms.firing(&first, 10).await.unwrap()), ["a", "b:2", "c"]);
    assert_eq!(alarms.done(&first, &fired[..1]).await.unwrap(), 1);
    assert_eq!(alarms.done(&first, &fired[..1]).await.unwrap(), 0, "once is all there is");

    held.release().await.unwrap();
    let (_held, second) = lead(&handle, &keys).await;
    alarms.schedule("0", PAST).await.unwrap();
    // Whose term is over gets nothing and ends nothing.
    assert!(matches!(alarms.due(&first, 10).await, Err(DeadlineError::Fenced)));
    assert!(matches!(alarms.done(&first, &fired).await, Err(DeadlineError::Fenced)));
    assert!(matches!(alarms.firing(&first, 10).await, Err(DeadlineError::Fenced)));
    // What is not yet this term's is not its to acknowledge.
    assert_eq!(alarms.done(&second, &fired).await.unwrap(), 0);
    let again = alarms.due(&second, 1).await.unwrap();
    assert_eq!((ids(&again), again[0].due, again[0].again), (vec!["b:2"], UnixMillis(2000), true));
    let rest = alarms.due(&second, 10).await.unwrap();
    assert_eq!(
        rest.iter().map(|fired| (fired.id.as_str(), fired.again)).collect::<Vec<_>>(),
        [("c", true), ("0", false)]
    );
    assert_eq!(alarms.done(&second, again.iter().chain(&rest)).await.unwrap(), 3);
    assert!(alarms.due(&second, 10).await.unwrap().is_empty());
    let count = alarms.counters();
    assert_eq!(
        (count.fired.get(), count.fired_again.get(), count.done.get(), count.fenced.get()),
        (6, 2, 4, 3)
    );
}

#[every_store(except(unix, tls))]
async fn set_again_while_it_fires_it_is_another_timer(place: Place) {
    let (handle, keys) = (machine(&place).await, keys(&place));
    let (alarms, (_held, fence)) = (alarms(&handle, &keys), lead(&handle, &keys).await);
    assert!(!alarms.schedule("a", PAST).await.unwrap().moved);
    let first = alarms.due(&fence, 10).await.unwrap();
    // For another time, and for the very same one.
    assert!(!alarms.schedule("a", HOUR).await.unwrap().moved, "the one that fires does not wait");
    assert!(alarms.schedule("a", PAST).await.unwrap().moved);
    let second = alarms.due(&fence, 10).await.unwrap();
    assert_eq!((ids(&second), second[0].due), (vec!["a"], first[0].due));
    assert_eq!(alarms.done(&fence, &first).await.unwrap(), 1);
    assert_eq!(alarms.firing(&fence, 10).await.unwrap().len(), 1, "the second is still firing");
    alarms.schedule("a", HOUR).await.unwrap();
    assert_eq!(alarms.done(&fence, &second).await.unwrap(), 1);
    assert!(alarms.next().await.unwrap().is_some(), "and the third still waits");
}

#[every_store(except(unix, tls))]
async fn timers_are_moved_cancelled_and_waited_for(place: Place) {
    let (handle, eye, keys) = (machine(&place).await, monitor(&place).await, keys(&place));
    let (set, seen) = (alarms(&handle, &keys), alarms(&eye, &keys));
    assert_eq!(seen.next().await.unwrap(), None);
    let day = set.schedule("a", Due::In(Duration::from_secs(86_400))).await.unwrap();
    let hour = set.schedule("a", HOUR).await.unwrap();
    assert!(hour.moved && hour.due < day.due);
    let left = seen.next().await.unwrap().unwrap();
    assert!(left > Duration::from_secs(3590) && left <= Duration::from_millis(3_600_001), "{left:?}");
    set.schedule("b", PAST).await.unwrap();
    assert_eq!(seen.next().await.unwrap(), Some(Duration::ZERO));
    assert!(set.cancel("b").await.unwrap());
    assert!(!set.cancel("b").await.unwrap());
    assert!(seen.next().await.unwrap().is_some_and(|left| !left.is_zero()));
    assert_eq!((set.counters().scheduled.get(), set.counters().cancelled.get()), (3, 1));
}

#[every_store(except(unix, tls))]
async fn what_a_higher_term_took_before_a_failover_is_handed_out_too(place: Place) {
    let (handle, keys) = (machine(&place).await, keys(&place));
    let (set, (_held, fence)) = (alarms(&handle, &keys), lead(&handle, &keys).await);
    let firing = format!("{}:firing", keys.alarms(&east()));
    let higher = (fence.term().number() + 5).to_string();
    place.raw::<i64>(&firing, &["ZADD", &firing, &higher, "7:0:a", &higher, "8:0:b", "5", "9:0:c"]);
    let fired = set.due(&fence, 2).await.unwrap();
    assert_eq!(ids(&fired), ["c", "a"]);
    assert_eq!(ids(&set.due(&fence, 2).await.unwrap()), ["b"]);
    assert_eq!(set.done(&fence, &fired).await.unwrap(), 2);
}

#[every_store(except(unix, tls))]
async fn no_more_wait_than_the_contract_allows(place: Place) {
    let (handle, keys) = (machine(&place).await, keys(&place));
    let set = alarms(&handle, &keys);
    for number in 0..50 {
        set.schedule(&format!("a{number}"), HOUR).await.unwrap();
    }
    let full = set.schedule("one-more", HOUR).await.unwrap_err();
    assert!(matches!(full, DeadlineError::Full { most: 50 }), "{full}");
    assert!(set.schedule("a7", PAST).await.unwrap().moved, "moving adds none");
}

#[every_store(only(embedded))]
async fn a_key_that_could_lose_timers_is_refused(place: Place) {
    let (handle, keys) = (machine(&place).await, keys(&place));
    let refused = |key| Deadlines::new(&handle, key).unwrap_err();
    assert!(matches!(refused(keys.brief_alarms(&east())), SetupError::Ttl { .. }));
    assert!(matches!(refused(keys.odd_alarms(&east())), SetupError::Score { .. }));
    assert!(matches!(refused(keys.sightings(&east())), SetupError::NoHelper { .. }));
}
