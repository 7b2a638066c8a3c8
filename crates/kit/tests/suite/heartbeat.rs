//! The heartbeat on every store.

use std::time::{Duration, SystemTime};

use keyplane_key::{Hash, Key};
use keyplane_kit::SetupError;
use keyplane_kit::heartbeat::{Health, Heartbeat, HeartbeatError, Reason};
use keyplane_store::Handle;
use keyplane_testing::{Place, What, every_store};

use crate::setup::{Keyspace, MachineId, east, keys, machine, monitor};

const PATIENCE: Duration = Duration::from_secs(15);

fn worker(keys: &Keyspace, id: &str) -> Key<Hash> {
    keys.worker(&east(), &MachineId::new(id).unwrap())
}

fn hearts(handle: &Handle, keys: &Keyspace, field: &'static str) -> Heartbeat {
    Heartbeat::new(handle, worker(keys, "m1").info(), field, PATIENCE).unwrap()
}

/// Milliseconds since 1970, so long ago.
fn millis(ago: i64) -> String {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis();
    (i64::try_from(now).unwrap() - ago).to_string()
}

/// Writes a record as a stranger would who sets no TTL.
fn plant(place: &Place, key: &Key<Hash>, fields: &[&str]) {
    let words = [&["HSET", key.as_str()], fields].concat();
    place.raw::<i64>(key.as_str(), &words);
}

#[every_store(except(unix, tls))]
async fn a_beat_is_read_in_every_format(place: Place) {
    let (handle, eye, keys) = (machine(&place).await, monitor(&place).await, keys(&place));
    let key = worker(&keys, "m1");
    for field in ["seen", "seen_day", "seen_s", "seen_ms", "seen_us"] {
        let own = hearts(&handle, &keys, field);
        own.beat(&key, [("state", "busy"), (field, "whatever")]).await.unwrap();
        let health = hearts(&eye, &keys, field).look(&key).await.unwrap();
        let Health::Alive { age, fields } = health else { panic!("{field}: {health:?}") };
        assert!(age < Duration::from_secs(5), "{field}: {age:?}");
        assert_eq!(fields.text("state"), Some("busy"));
        assert_eq!(own.counters().beats.get(), 1);
    }
    let left: i64 = place.raw(key.as_str(), &["PTTL", key.as_str()]);
    assert!((50_000..=60_000).contains(&left), "{left}");
}

#[every_store(except(unix, tls))]
async fn the_records_own_time_decides_and_not_its_ttl(place: Place) {
    let (handle, keys) = (machine(&place).await, keys(&place));
    let hearts = hearts(&handle, &keys, "seen_ms");
    let [late, fresh, ahead, mute, odd] =
        ["late", "fresh", "ahead", "mute", "odd"].map(|id| worker(&keys, id));
    for id in ["late", "fresh", "ahead", "mute", "odd"] {
        place.expect_finding(What::TtlMissing, &format!("pool:east:worker:{id}"));
    }
    plant(&place, &late, &["seen_ms", &millis(20_000), "state", "gone"]);
    plant(&place, &fresh, &["seen_ms", &millis(5_000)]);
    plant(&place, &ahead, &["seen_ms", &millis(-3_600_000)]);
    plant(&place, &mute, &["state", "busy"]);
    plant(&place, &odd, &["seen_ms", "five to twelve"]);

    let health = hearts.look(&late).await.unwrap();
    assert!(health.age().is_some_and(|age| age >= Duration::from_secs(20)), "{health:?}");
    assert!(
        matches!(&health, Health::Stale { reason: Reason::Late(_), fields } if fields.text("state") == Some("gone"))
    );
    assert!(hearts.look(&fresh).await.unwrap().age().is_some_and(|age| age >= Duration::from_secs(5)));
    assert!(hearts.look(&fresh).await.unwrap().is_alive());
    let health = hearts.look(&ahead).await.unwrap();
    assert_eq!((health.is_alive(), health.age()), (true, Some(Duration::ZERO)));
    let health = hearts.look(&mute).await.unwrap();
    assert!(matches!(health, Health::Stale { reason: Reason::NoTime, .. }), "{health:?}");
    let health = hearts.look(&odd).await.unwrap();
    assert!(
        matches!(&health, Health::Stale { reason: Reason::Unreadable(text), .. } if text == "five to twelve")
    );
    assert_eq!(hearts.look(&worker(&keys, "nobody")).await.unwrap(), Health::Absent);
    let count = hearts.counters();
    assert_eq!((count.alive.get(), count.stale.get(), count.absent.get()), (3, 3, 1));
}

#[every_store(except(unix, tls))]
async fn many_are_looked_at_in_their_order(place: Place) {
    let (handle, keys) = (machine(&place).await, keys(&place));
    let hearts = hearts(&handle, &keys, "seen");
    let all: Vec<Key<Hash>> = (0..230).map(|number| worker(&keys, &format!("m{number}"))).collect();
    for (number, key) in all.iter().enumerate().step_by(3) {
        hearts.beat(key, [("load", number)]).await.unwrap();
    }
    // One that is no hash fails alone.
    place.raw::<()>(all[1].as_str(), &["SET", all[1].as_str(), "x", "PX", "60000"]);
    place.expect_finding(What::WrongType, "pool:east:worker:m1");
    let health = hearts.look_all(&all).await;
    assert_eq!(health.len(), all.len());
    for (number, health) in health.into_iter().enumerate() {
        match (number, health) {
            (1, health) => assert!(matches!(health, Err(HeartbeatError::Store(_))), "{health:?}"),
            (_, Ok(Health::Alive { fields, .. })) => {
                assert_eq!(fields.text("load"), Some(number.to_string().as_str()));
                assert_eq!(number % 3, 0);
            }
            (_, health) => {
                assert!(matches!(health, Ok(Health::Absent)) && number % 3 != 0, "{number}: {health:?}")
            }
        }
    }
}

#[every_store(except(unix, tls))]
async fn a_beat_that_breaks_the_contract_is_refused(place: Place) {
    let (handle, keys) = (machine(&place).await, keys(&place));
    let (hearts, key) = (hearts(&handle, &keys, "seen"), worker(&keys, "m1"));
    let fields = ["state", "load", "seen_day", "seen_s", "seen_ms", "seen_us", "seen_iso", "note_m1"];
    // Nine with the time, which is all there may be; said twice it is one.
    hearts.beat(&key, fields.iter().chain(&["state"]).map(|name| (*name, "1"))).await.unwrap();
    let many = hearts.beat(&key, [("note_m2", "1"), ("load", "2")]).await.unwrap_err();
    assert!(matches!(many, HeartbeatError::TooManyFields { most: 9 }), "{many}");
    let Health::Alive { fields, .. } = hearts.look(&key).await.unwrap() else { panic!("alive") };
    assert_eq!((fields.text("load"), fields.iter().count()), (Some("1"), 9), "nothing was written");

    // The fields of a second family are those of the first, and a heartbeat is for one family.
    let spare = keys.spare(&east(), &MachineId::new("m1").unwrap());
    let other = hearts.beat(&spare, [("state", "1")]).await.unwrap_err();
    assert!(matches!(other, HeartbeatError::OtherKey { key: "spare", of: "worker" }), "{other}");
    let spares = Heartbeat::new(&handle, spare.info(), "seen", PATIENCE).unwrap();
    spares.beat(&spare, [("state", "1")]).await.unwrap();
    assert!(spares.look(&spare).await.unwrap().is_alive());
}

#[every_store(only(embedded))]
async fn a_field_that_names_no_moment_is_refused(place: Place) {
    let (handle, keys) = (machine(&place).await, keys(&place));
    let info = worker(&keys, "m1").info();
    for field in ["state", "seen_iso", "nothing"] {
        let refused = Heartbeat::new(&handle, info, field, PATIENCE).unwrap_err();
        assert!(matches!(refused, SetupError::Field { .. }), "{refused}");
    }
    let refused = Heartbeat::new(&handle, keys.plan(&east()).info(), "seen", PATIENCE).unwrap_err();
    assert!(matches!(refused, SetupError::Ttl { .. }), "{refused}");
}
