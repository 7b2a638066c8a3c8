//! Event logs on every store.

use std::sync::Arc;
use std::time::Duration;

use keyplane_kit::events::{Batch, EventId, Events, Gap, Position};
use keyplane_kit::record::{Change, Records};
use keyplane_testing::{Place, every_store};

use crate::setup::{east, keys, machine, pool};

#[every_store(except(unix, tls))]
async fn a_reader_sees_every_event_in_order(place: Place) {
    let (handle, keys) = (machine(&place).await, keys(&place));
    let log = Events::new(&handle, keys.log(&east()));
    assert_eq!(log.end().await.unwrap(), Position::Beginning);
    for n in 1..=25_u64 {
        let id = log.append(&[("n", n.to_string())]).await.unwrap();
        assert_eq!(id.number, n);
    }
    let (mut seen, mut position) = (Vec::new(), Position::Beginning);
    loop {
        let batch = log.read(position, 10).await.unwrap();
        assert_eq!(batch.gaps, []);
        if batch.events.is_empty() {
            break;
        }
        seen.extend(batch.events.iter().map(|event| event.text("n").unwrap().parse::<u64>().unwrap()));
        // The text of an id is all that a reader needs to keep.
        position = match batch.next {
            Position::After(id) => Position::After(id.to_string().parse::<EventId>().unwrap()),
            Position::Beginning => Position::Beginning,
        };
    }
    assert_eq!(seen, (1..=25).collect::<Vec<_>>());
    assert_eq!(log.end().await.unwrap(), position);
}

#[every_store(except(unix, tls))]
async fn who_was_away_for_too_long_is_told_what_is_missing(place: Place) {
    let (handle, keys) = (machine(&place).await, keys(&place));
    let log = Events::new(&handle, keys.log(&east()));
    log.append(&[("n", "1")]).await.unwrap();
    let away = log.read(Position::Beginning, 10).await.unwrap().next;
    for n in 2..=150 {
        log.append(&[("n", n.to_string())]).await.unwrap();
    }
    // The contract keeps a hundred: 51 to 150.
    let batch = log.read(away, 500).await.unwrap();
    assert_eq!((batch.events.len(), batch.gaps.as_slice()), (100, &[(0, Gap::Missed(49))][..]));
    let fresh = log.read(Position::Beginning, 1).await.unwrap();
    assert_eq!(fresh.gaps, [(0, Gap::Missed(50))]);
    // Who is just in time has missed nothing.
    let Position::After(last) = fresh.next else { panic!("an event was read") };
    assert_eq!(log.read(Position::After(last), 500).await.unwrap().gaps, []);

    // The log is gone, and begins anew.
    let key = keys.log(&east());
    place.raw::<i64>(key.as_str(), &["DEL", key.as_str()]);
    assert_eq!(log.append(&[("n", "again")]).await.unwrap().number, 1);
    let batch = log.read(Position::After(last), 10).await.unwrap();
    assert_eq!(batch.gaps, [(0, Gap::Restarted)]);
}

#[every_store(except(unix, tls))]
async fn a_tail_waits_for_what_comes_next(place: Place) {
    let (handle, other, keys) = (machine(&place).await, machine(&place).await, keys(&place));
    let log = Events::new(&handle, keys.log(&east()));
    log.append(&[("n", "before")]).await.unwrap();
    let mut tail = log.tail(log.end().await.unwrap());
    let teller = tokio::spawn({
        let key = keys.log(&east());
        async move {
            let log = Events::new(&other, key);
            for n in 0..20 {
                log.append(&[("n", n.to_string())]).await.unwrap();
            }
        }
    });
    let mut seen = Vec::new();
    while seen.len() < 20 {
        let batch = tail.next(7, Duration::from_secs(30)).await.unwrap();
        assert!(batch.gaps.is_empty() && !batch.events.is_empty());
        seen.extend(batch.events.iter().map(|event| event.text("n").unwrap().to_owned()));
    }
    teller.await.unwrap();
    assert_eq!(seen, (0..20).map(|n: u32| n.to_string()).collect::<Vec<_>>());
    let none = tail.next(7, Duration::from_millis(1)).await.unwrap();
    assert_eq!((none.events.len(), none.next), (0, tail.position()));
}

#[every_store(except(unix, tls))]
async fn any_number_may_wait_and_none_takes_the_last_connection(place: Place) {
    let (handle, keys) = (machine(&place).await, keys(&place));
    let log = Arc::new(Events::new(&handle, keys.log(&east())));
    let mut waiting = tokio::task::JoinSet::new();
    for _ in 0..40 {
        let log = Arc::clone(&log);
        waiting.spawn(async move {
            let mut tail = log.tail(Position::Beginning);
            let mut seen = 0;
            while seen < 2 {
                seen += tail.next(10, Duration::from_secs(30)).await.unwrap().events.len();
            }
            seen
        });
    }
    log.append(&[("n", "1")]).await.unwrap();
    // Whoever needs a connection gets one: a lock that waits for its replicas, say.
    drop(handle.dedicated(&keys.log(&east())).await.unwrap());
    log.append(&[("n", "2")]).await.unwrap();
    assert_eq!(waiting.join_all().await, [2; 40]);
    assert_eq!(handle.metrics().snapshot().pool_exhausted, 0);
}

#[every_store(except(unix, tls))]
async fn a_change_and_its_event_are_one_step(place: Place) {
    let (handle, keys) = (machine(&place).await, keys(&place));
    let (pools, east_pool, log) =
        (Records::of(&handle, &pool::info::POOL).unwrap(), keys.pool(&east()), keys.log(&east()));
    let events = Events::new(&handle, log.clone());
    events.append(&[("is", "announced")]).await.unwrap();
    let change = Change::create().set("state", "open").telling(&log, [("is", "open")]);
    pools.commit(&east_pool, change).await.unwrap();
    let refused = Change::update().expecting(7).telling(&log, [("is", "never")]);
    assert!(pools.commit(&east_pool, refused).await.is_err());
    let batch = events.read(Position::Beginning, 10).await.unwrap();
    let told: Vec<_> = batch.events.iter().filter_map(|event| event.text("is")).collect();
    assert_eq!((told, batch.gaps), (vec!["announced", "open"], vec![]));
}

/// As scripts number events that must not ask for the time.
fn number(place: &Place, key: &str, number: u64, says: &str) {
    place.raw::<String>(key, &["XADD", key, &format!("0-{number}"), "n", says]);
    place.raw::<i64>(key, &["EXPIRE", key, "60"]);
}

fn said(batch: &Batch) -> Vec<&str> {
    batch.events.iter().map(|event| event.text("n").unwrap()).collect()
}

#[every_store(except(unix, tls))]
async fn a_log_that_began_anew_is_told_from_its_beginning_however_long_it_is_by_then(place: Place) {
    let (handle, keys) = (machine(&place).await, keys(&place));
    let key = keys.log(&east());
    let log = Events::new(&handle, key.clone());
    let mut tail = log.tail(Position::Beginning);
    let wait = Duration::from_millis(20);
    for length in 1..=5 {
        place.raw::<i64>(key.as_str(), &["DEL", key.as_str()]);
        for n in 1..=3 {
            number(&place, key.as_str(), n, "old");
        }
        // Of the round before it is another log, too.
        let gaps: &[(usize, Gap)] = if length == 1 { &[] } else { &[(0, Gap::Restarted)] };
        let batch = tail.next(10, wait).await.unwrap();
        assert_eq!((said(&batch), batch.gaps.as_slice()), (vec!["old"; 3], gaps), "{length}");
        let seen = batch.next;

        place.raw::<i64>(key.as_str(), &["DEL", key.as_str()]);
        let batch = tail.next(10, wait).await.unwrap();
        assert_eq!((batch.events.len(), batch.gaps.len()), (0, 0), "an empty log says nothing");
        for n in 1..=length {
            number(&place, key.as_str(), n, "new");
        }
        let batch = tail.next(10, wait).await.unwrap();
        assert_eq!(
            (said(&batch), batch.gaps.as_slice()),
            (vec!["new"; length as usize], &[(0, Gap::Restarted)][..])
        );
        let batch = tail.next(10, wait).await.unwrap();
        assert_eq!((batch.events.len(), batch.gaps.len()), (0, 0), "it is told once");

        // Whoever brings an id alone knows it while the log is shorter.
        if length < 3 {
            for batch in [log.read(seen, 10).await.unwrap(), log.tail(seen).next(10, wait).await.unwrap()] {
                assert_eq!(
                    (said(&batch), batch.gaps.as_slice()),
                    (vec!["new"; length as usize], &[(0, Gap::Restarted)][..])
                );
            }
        }
    }
}
