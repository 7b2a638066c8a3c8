//! Indexes on every store.

use keyplane_key::{Hash, Key};
use keyplane_kit::index::{DrainError, Index, drain, drain_to};
use keyplane_kit::record::{Change, Records};
use keyplane_store::Handle;
use keyplane_testing::{Place, every_store};

use crate::setup::{Keyspace, PoolId, keys, machine, pool};

struct World {
    handle: Handle,
    keys: Keyspace,
    pools: Records,
    open: Index,
    all: Index,
}

impl World {
    /// Empty, but built: whoever reads sees that there is nothing.
    async fn new(place: &Place) -> Self {
        let (handle, keys) = (machine(place).await, keys(place));
        let world = Self {
            pools: Records::of(&handle, &pool::info::POOL).unwrap(),
            open: Index::sorted(&handle, keys.open_pools()).unwrap(),
            all: Index::plain(&handle, keys.all_pools()).unwrap(),
            handle,
            keys,
        };
        assert_eq!(world.open.members(0, -1).await.unwrap(), None, "absent is not empty");
        assert!(world.open.rebuild().await.unwrap().finish().await.unwrap());
        assert!(world.all.rebuild().await.unwrap().finish().await.unwrap());
        assert_eq!(world.open.members(0, -1).await.unwrap(), Some(Vec::new()));
        world
    }

    fn key(&self, id: &str) -> Key<Hash> {
        self.keys.pool(&PoolId::new(id).unwrap())
    }

    async fn create(&self, id: &str, size: f64) -> Key<Hash> {
        let change =
            Change::create().set("state", "open").entering(&self.open, id, size).entering(&self.all, id, 0.0);
        let key = self.key(id);
        self.pools.commit(&key, change).await.unwrap();
        key
    }

    async fn drain(&self, key: &Key<Hash>) -> u64 {
        let drained = drain(&self.handle, key, &[&self.open, &self.all]).await.unwrap();
        assert!(drained.absent.is_empty());
        drained.notes
    }

    async fn names(index: &Index) -> Vec<String> {
        let members = index.members(0, -1).await.unwrap().expect("it is built");
        let mut names: Vec<String> =
            members.into_iter().map(|(name, _)| String::from_utf8(name).unwrap()).collect();
        names.sort();
        names
    }
}

#[every_store(except(unix, tls))]
async fn notes_are_applied_once_and_in_order(place: Place) {
    let world = World::new(&place).await;
    let east = world.create("east", 3.0).await;
    assert_eq!(World::names(&world.open).await, [""; 0], "not before it is drained");
    assert_eq!(world.drain(&east).await, 2);
    assert_eq!(world.open.members(0, -1).await.unwrap().unwrap(), [(b"east".to_vec(), 3.0)]);
    assert_eq!(World::names(&world.all).await, ["east"]);
    assert_eq!(world.drain(&east).await, 0);

    let closing = Change::update()
        .set("state", "closed")
        .entering(&world.open, "east", 9.0)
        .leaving(&world.open, "east");
    world.pools.commit(&east, closing).await.unwrap();
    assert_eq!(world.drain(&east).await, 2);
    assert_eq!(World::names(&world.open).await, [""; 0]);
    // Somebody who slept brings an old note once more.
    let outbox = format!("{}:outbox", east.as_str());
    let note = ["index", world.open.key(), "op", "enter", "member", "east", "score", "1"];
    place.raw::<i64>(&outbox, &["DEL", &outbox]);
    place.raw::<String>(&outbox, &[&["XADD", &outbox, "5-0"][..], &note].concat());
    place.raw::<i64>(&outbox, &["EXPIRE", &outbox, "60"]);
    assert_eq!((world.drain(&east).await, world.open.counters().repeated.get()), (1, 1));
    assert_eq!(
        World::names(&world.open).await,
        [""; 0],
        "what is older than what was applied is not applied"
    );
    let both = tokio::join!(world.drain(&east), world.drain(&east));
    assert_eq!((both, World::names(&world.all).await), ((0, 0), vec!["east".to_owned()]));
}

#[every_store(except(unix, tls))]
async fn notes_wait_for_an_index_that_must_be_rebuilt(place: Place) {
    let world = World::new(&place).await;
    let east = world.create("east", 1.0).await;
    world.drain(&east).await;
    // The index has run out.
    for key in [world.keys.open_pools().as_str(), &format!("{}:feed", world.keys.open_pools().as_str())] {
        place.raw::<i64>(key, &["DEL", key]);
    }
    assert_eq!(world.open.members(0, -1).await.unwrap(), None);
    let west = world.create("west", 2.0).await;
    let drained = drain(&world.handle, &west, &[&world.open, &world.all]).await.unwrap();
    assert_eq!((drained.notes, drained.absent), (1, vec![world.open.key().to_owned()]));
    assert_eq!(world.open.members(0, -1).await.unwrap(), None, "one member of two would be a lie");

    let rebuild = world.open.rebuild().await.unwrap();
    let overtaking = world.open.rebuild().await.unwrap();
    let mark = world.open.mark(&east).await.unwrap();
    assert!(!rebuild.admit(&mark, b"east", 1.0).await.unwrap() && !rebuild.finish().await.unwrap());
    assert!(overtaking.admit(&mark, b"east", 1.0).await.unwrap());
    // The west changes after it was marked and before it is admitted: the change wins.
    let mark = world.open.mark(&west).await.unwrap();
    world.pools.commit(&west, Change::update().entering(&world.open, "west", 7.0)).await.unwrap();
    assert!(overtaking.admit(&mark, b"west", 2.0).await.unwrap());
    assert!(overtaking.finish().await.unwrap());
    assert_eq!(world.drain(&west).await, 2);
    let members = world.open.members(0, -1).await.unwrap().unwrap();
    assert_eq!(members, [(b"east".to_vec(), 1.0), (b"west".to_vec(), 7.0)]);
    // What is known already does not give way to an old reading.
    assert!(world.open.restore(&mark, b"west", 2.0).await.unwrap());
    assert_eq!(world.open.members(-1, -1).await.unwrap().unwrap(), [(b"west".to_vec(), 7.0)]);
}

#[every_store(except(unix, tls))]
async fn reconcile_removes_the_dead_and_nobody_else(place: Place) {
    let world = World::new(&place).await;
    for n in 0..250_u32 {
        let key = world.create(&format!("p{n}"), f64::from(n)).await;
        world.drain(&key).await;
        // Every other one runs out, and nobody is told.
        if n % 2 == 0 {
            place.raw::<i64>(key.as_str(), &["DEL", key.as_str()]);
        }
    }
    let record_of = |member: &[u8]| {
        let id = std::str::from_utf8(member).ok().and_then(|text| PoolId::new(text).ok())?;
        Some(world.keys.pool(&id))
    };
    for index in [&world.open, &world.all] {
        let done = index.reconcile(&pool::info::POOL, record_of).await.unwrap().unwrap();
        assert_eq!((done.looked, done.removed), (250, 125), "{}", index.key());
        let alive: Vec<String> = World::names(index).await;
        assert!(alive.len() == 125 && alive.iter().all(|name| name[1..].parse::<u32>().unwrap() % 2 == 1));
        let again = index.reconcile(&pool::info::POOL, record_of).await.unwrap().unwrap();
        assert_eq!((again.looked, again.removed), (125, 0));
    }
}

#[every_store(except(unix, tls))]
async fn a_note_for_an_index_that_was_not_given_stays(place: Place) {
    let world = World::new(&place).await;
    let east = world.create("east", 1.0).await;
    let error = drain(&world.handle, &east, &[&world.open]).await.unwrap_err();
    assert!(matches!(&error, DrainError::UnknownIndex(name) if name == world.all.key()), "{error}");
    assert_eq!(world.drain(&east).await, 2);
}

#[every_store(except(unix, tls))]
async fn a_reconcile_lets_an_index_live_on_and_finds_one_that_is_absent(place: Place) {
    let world = World::new(&place).await;
    let east = world.create("east", 1.0).await;
    world.drain(&east).await;
    let (index, feed) = (world.open.key().to_owned(), format!("{}:feed", world.open.key()));
    for key in [&index, &feed] {
        place.raw::<i64>(key, &["EXPIRE", key, "5"]);
    }
    let record_of = |_: &[u8]| Some(east.clone());
    assert!(world.open.reconcile(&pool::info::POOL, record_of).await.unwrap().is_some());
    for key in [&index, &feed] {
        let left: i64 = place.raw(key, &["TTL", key]);
        assert!((295..=300).contains(&left), "{key}: {left} s");
        place.raw::<i64>(key, &["DEL", key]);
    }
    assert_eq!(world.open.reconcile(&pool::info::POOL, record_of).await.unwrap(), None);
}

#[every_store(except(unix, tls))]
async fn indexes_are_found_by_what_the_notes_name(place: Place) {
    let world = World::new(&place).await;
    let east = world.create("east", 1.0).await;
    let find = |name: &str| Ok([&world.open, &world.all].into_iter().find(|index| index.key() == name));
    assert_eq!(drain_to(&world.handle, &east, find).await.unwrap().notes, 2);
    assert_eq!(World::names(&world.open).await, ["east"]);
    let west = world.create("west", 1.0).await;
    let none = |_: &str| Ok(None::<&Index>);
    let error = drain_to(&world.handle, &west, none).await.unwrap_err();
    assert!(matches!(error, DrainError::UnknownIndex(_)), "{error}");
}
