//! Records on every store.

use keyplane_key::{Hash, Key};
use keyplane_kit::lease::Lease;
use keyplane_kit::record::{Change, Children, CommitError, FieldProblem, Records};
use keyplane_store::Handle;
use keyplane_testing::{Place, every_store};

use crate::setup::{Keyspace, MachineId, east, keys, machine, pool};

fn pools(handle: &Handle) -> Records {
    Records::of(handle, &pool::info::POOL).unwrap()
}

fn machines(handle: &Handle) -> Records {
    Records::of(handle, &pool::info::MACHINE).unwrap()
}

fn machine_id(id: &str) -> MachineId {
    MachineId::new(id).unwrap()
}

/// A machine that is in its pool's roster.
async fn join(machines: &Records, keys: &Keyspace, id: &str) -> Key<Hash> {
    let key = keys.machine(&east(), &machine_id(id));
    let change =
        Change::create().under(&keys.pool(&east())).set("load", "0").list_in(&keys.roster(&east()), id, "0");
    machines.commit(&key, change).await.unwrap();
    key
}

#[every_store(except(unix, tls))]
async fn a_change_that_came_second_is_refused(place: Place) {
    let (handle, keys) = (machine(&place).await, keys(&place));
    let (pools, east) = (pools(&handle), keys.pool(&east()));
    assert!(matches!(
        pools.commit(&east, Change::update().set("size", "1")).await,
        Err(CommitError::Missing)
    ));
    let made = pools.commit(&east, Change::create().set("state", "open")).await.unwrap();
    assert_eq!(made.version, 1);
    let again = pools.commit(&east, Change::create().set("state", "open")).await;
    assert!(matches!(again, Err(CommitError::Exists { version: 1 })), "{again:?}");

    let first = Change::update().expecting(1).set("size", "5").count("updates", 2);
    assert_eq!(pools.commit(&east, first).await.unwrap().version, 2);
    let second = pools.commit(&east, Change::update().expecting(1).set("size", "7")).await;
    assert!(matches!(second, Err(CommitError::Conflict { expected: 1, found: 2 })), "{second:?}");
    let unmet = pools.commit(&east, Change::update().only_if("size", "6").set("size", "7")).await;
    assert!(matches!(&unmet, Err(CommitError::Unmet { found, .. }) if found == "5"), "{unmet:?}");

    let seen = pools.read(&east).await.unwrap().unwrap();
    assert_eq!((seen.version, seen.text("size"), seen.text("updates")), (2, Some("5"), Some("2")));
    assert_eq!(
        pools.commit(&east, Change::update().unset("size").count("updates", -1)).await.unwrap().version,
        3
    );
    let seen = pools.read(&east).await.unwrap().unwrap();
    assert_eq!((seen.text("size"), seen.text("updates")), (None, Some("1")));

    let late = pools.commit(&east, Change::remove().expecting(2)).await;
    assert!(matches!(late, Err(CommitError::Conflict { found: 3, .. })), "{late:?}");
    assert_eq!(pools.commit(&east, Change::remove().expecting(3)).await.unwrap().version, 3);
    assert_eq!(pools.read(&east).await.unwrap(), None);
    assert_eq!((pools.counters().committed.get(), pools.counters().conflicts.get()), (4, 2));
}

#[every_store(except(unix, tls))]
async fn what_the_contract_does_not_allow_is_refused_by_name(place: Place) {
    let (handle, keys) = (machine(&place).await, keys(&place));
    let (pools, east) = (pools(&handle), keys.pool(&east()));
    let problem = |outcome: Result<_, CommitError>| match outcome {
        Err(CommitError::Field { field, problem }) => (field, problem),
        other => panic!("{other:?}"),
    };
    let of = async |change: Change| problem(pools.commit(&east, change).await);
    assert_eq!(of(Change::create().set("size", "1")).await, ("state".to_owned(), FieldProblem::Required));
    assert_eq!(of(Change::upsert().set("colour", "red")).await.1, FieldProblem::Unknown);
    assert_eq!(of(Change::upsert().set("version", "9")).await.1, FieldProblem::Kept);
    assert_eq!(of(Change::upsert().unset("horizon")).await.1, FieldProblem::Kept);
    let not_owned = FieldProblem::NotOwned { owners: "auditor".to_owned() };
    assert_eq!(of(Change::upsert().set("owner", "me")).await.1, not_owned);
    let wrong = FieldProblem::Value { value: "101".to_owned(), kind: "integer 0..100".to_owned() };
    assert_eq!(of(Change::upsert().set("size", "101")).await.1, wrong);
    let long = "x".repeat(21);
    assert_eq!(
        of(Change::upsert().set("note", long)).await.1,
        FieldProblem::TooLong { most: "20 characters".to_owned() }
    );
    assert!(matches!(of(Change::upsert().set("tag:M 1", "1")).await.1, FieldProblem::Unknown));
    assert_eq!(pools.read(&east).await.unwrap(), None, "nothing was written");

    pools.commit(&east, Change::create().set("state", "open").set("tag:m1", "1")).await.unwrap();
    pools.commit(&east, Change::update().set("state", "closed")).await.unwrap();
    let moved = pools.commit(&east, Change::update().set("state", "open").set("size", "3")).await;
    let is_it = |error: &CommitError| matches!(error, CommitError::Move { from, to, .. } if from == "closed" && to == "open");
    assert!(moved.as_ref().is_err_and(is_it), "{moved:?}");
    // To stay is not to move.
    pools.commit(&east, Change::update().set("state", "closed")).await.unwrap();
    assert_eq!(
        pools.read(&east).await.unwrap().unwrap().text("size"),
        None,
        "a refused change writes nothing"
    );

    // version, horizon, state and a tag are there: eight more are twelve.
    let many =
        |count: usize| (1..=count).fold(Change::update(), |change, n| change.set(format!("tag:n{n}"), "1"));
    let full = pools.commit(&east, many(9)).await;
    assert!(matches!(full, Err(CommitError::TooManyFields { would_be: 13, most: 12 })), "{full:?}");
    pools.commit(&east, many(8)).await.unwrap();
    pools.commit(&east, many(8)).await.unwrap();
    let wide = (0..100).fold(Change::update(), |change, n| change.set(format!("tag:w{n}"), "1".repeat(15)));
    assert!(matches!(pools.commit(&east, wide).await, Err(CommitError::TooLarge { most: 2048, .. })));
}

#[every_store(except(unix, tls))]
async fn only_the_holder_of_the_lease_makes_a_guarded_change(place: Place) {
    let (handle, keys) = (machine(&place).await, keys(&place));
    let (pools, pool) = (pools(&handle), keys.pool(&east()));
    pools.commit(&pool, Change::create().set("state", "open")).await.unwrap();
    let lease = Lease::new(&handle, keys.leader(&east())).unwrap();
    let held = lease.acquire("a").await.unwrap();
    let fence = held.fence().unwrap().clone();
    assert_eq!(
        pools.commit(&pool, Change::update().guarded_by(&fence).set("size", "1")).await.unwrap().version,
        2
    );
    held.release().await.unwrap();
    let released = pools.commit(&pool, Change::update().guarded_by(&fence).set("size", "2")).await;
    assert!(matches!(released, Err(CommitError::Fenced)), "{released:?}");
    let next = lease.acquire("b").await.unwrap();
    let stale = pools.commit(&pool, Change::update().guarded_by(&fence).set("size", "2")).await;
    assert!(matches!(stale, Err(CommitError::Fenced)), "{stale:?}");
    pools.commit(&pool, Change::update().guarded_by(next.fence().unwrap()).set("size", "3")).await.unwrap();
    assert_eq!(pools.counters().fenced.get(), 2);
}

#[every_store(except(unix, tls))]
async fn what_follows_a_record_changes_with_it(place: Place) {
    let (handle, keys) = (machine(&place).await, keys(&place));
    let (pool, busy, idle) = (keys.pool(&east()), keys.busy(&east()), keys.idle(&east()));
    let (machines, roster, log) = (machines(&handle), keys.roster(&east()), keys.log(&east()));
    let m1 = keys.machine(&east(), &machine_id("m1"));
    let orphan = machines.commit(&m1, Change::create().under(&pool).set("load", "0")).await;
    assert!(matches!(orphan, Err(CommitError::Orphan)), "{orphan:?}");
    let alone = machines.commit(&m1, Change::create().set("load", "0")).await;
    assert!(matches!(alone, Err(CommitError::NeedsParent { parent: "pool" })), "{alone:?}");

    pools(&handle).commit(&pool, Change::create().set("state", "open")).await.unwrap();
    let working = Change::upsert()
        .renewing(&pool)
        .set("load", "0.5")
        .place_in(&busy, "m1", 0.5)
        .remove_from(&idle, "m1")
        .list_in(&roster, "m1", "busy")
        .telling(&log, [("machine", "m1"), ("is", "busy")]);
    machines.commit(&m1, working).await.unwrap();
    assert_eq!(handle.run(busy.zscore("m1")).await.unwrap(), Some(0.5));
    assert_eq!(handle.run(roster.hget("m1")).await.unwrap(), Some(b"busy".to_vec()));

    let resting = Change::update()
        .under(&pool)
        .set("load", "0")
        .displace_from(&busy, "m1")
        .add_to(&idle, "m1")
        .list_in(&roster, "m1", "idle")
        .telling(&log, [("machine", "m1"), ("is", "idle")]);
    machines.commit(&m1, resting).await.unwrap();
    assert_eq!(handle.run(busy.zscore("m1")).await.unwrap(), None);
    assert!(handle.run(idle.sismember("m1")).await.unwrap());
    let told = handle.run(log.xrange("-", "+")).await.unwrap();
    let numbers: Vec<&str> = told.iter().filter_map(|(id, _)| id.split_once('-')).map(|(_, n)| n).collect();
    assert_eq!(numbers, ["1", "2"], "events are counted");

    // A refused change takes nothing with it.
    let late = Change::update().under(&pool).expecting(9).set("load", "1").place_in(&busy, "m1", 1.0);
    assert!(machines.commit(&m1, late).await.is_err());
    assert_eq!(handle.run(busy.zcard()).await.unwrap(), 0);
    let gone = Change::remove().under(&pool).remove_from(&idle, "m1").unlist_from(&roster, "m1");
    machines.commit(&m1, gone).await.unwrap();
    assert_eq!(handle.run(roster.hlen()).await.unwrap() + handle.run(idle.scard()).await.unwrap(), 0);
}

#[every_store(except(unix, tls))]
async fn a_roster_finds_all_records(place: Place) {
    let (handle, keys) = (machine(&place).await, keys(&place));
    pools(&handle).commit(&keys.pool(&east()), Change::create().set("state", "open")).await.unwrap();
    let machines = machines(&handle);
    for n in 0..300 {
        join(&machines, &keys, &format!("m{n}")).await;
    }
    // One is gone, and its line is still there: a stranger removed it.
    let lost = keys.machine(&east(), &machine_id("m7"));
    place.raw::<i64>(lost.as_str(), &["DEL", lost.as_str()]);
    let key_of = |id: &str| MachineId::new(id).ok().map(|id| keys.machine(&east(), &id));
    let found = machines.read_all(&keys.roster(&east()), key_of).await.unwrap();
    assert_eq!(found.len(), 299);
    assert!(found.iter().all(|(id, machine)| id != "m7" && machine.version == 1));
    handle.run(keys.roster(&east()).hdel(["m7"])).await.unwrap();
}

#[every_store(except(unix, tls))]
async fn no_record_outlives_its_children(place: Place) {
    let (handle, keys) = (machine(&place).await, keys(&place));
    let (pools, machines, pool) = (pools(&handle), machines(&handle), keys.pool(&east()));
    pools.commit(&pool, Change::create().set("state", "open")).await.unwrap();
    let mut children = Children::default();
    for n in 0..3 {
        children.hashes.push(join(&machines, &keys, &format!("m{n}")).await);
    }
    children.hashes.push(keys.roster(&east()));
    let end = |key: &Key<Hash>| place.raw::<i64>(key.as_str(), &["PEXPIRETIME", key.as_str()]);
    let horizon =
        async || pools.read(&pool).await.unwrap().unwrap().text("horizon").unwrap().parse::<i64>().unwrap();
    let drawn = horizon().await;
    assert!(children.hashes.iter().all(|child| end(child) >= drawn) && end(&pool) < drawn);

    // As if an hour and more had passed: the children end soon, and the horizon stands there.
    let soon = end(&pool) - 40 * 60_000;
    for child in &children.hashes {
        place.raw::<i64>(child.as_str(), &["PEXPIREAT", child.as_str(), &soon.to_string()]);
    }
    place.raw::<i64>(pool.as_str(), &["HSET", pool.as_str(), "horizon", &soon.to_string()]);
    let renewed = pools.commit(&pool, Change::update().set("size", "1")).await.unwrap();
    assert!(renewed.horizon_is_near);
    assert_eq!(end(&pool), soon, "a renewal stops at the horizon");

    let stretch = pools.stretch(&pool).await.unwrap().unwrap();
    children.hashes.push(join(&machines, &keys, "late").await);
    assert!(stretch.finish(&children).await.unwrap());
    let renewed = pools.commit(&pool, Change::update().set("size", "2")).await.unwrap();
    assert!(!renewed.horizon_is_near);
    let drawn = horizon().await;
    assert!(end(&pool) > soon && end(&pool) < drawn);
    assert!(children.hashes.iter().all(|child| end(child) >= drawn), "every child lives until the horizon");
}
