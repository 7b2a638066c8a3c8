//! A store and the keys of the pool, for one test.

use std::collections::HashMap;
use std::time::Duration;

use keyplane_key::Naming;
use keyplane_store::{Handle, Options, Store};
use keyplane_testing::Place;

pub(crate) mod pool {
    #![allow(missing_docs, unreachable_pub, dead_code)]
    keyplane_macros::keyspace!("tests/pool.toml");
}

pub(crate) mod scripts {
    #![allow(missing_docs, unreachable_pub, dead_code)]
    keyplane_macros::scripts!("tests/pool.toml", "tests/scripts");
}

pub(crate) use pool::{Keyspace, MachineId, PoolId};

/// A store of its own connections: another process, as far as the server can tell.
pub(crate) async fn machine(place: &Place) -> Handle {
    open(place, &HashMap::new()).await
}

/// The same, with locks that last that long.
pub(crate) async fn patient(place: &Place, ttl: Duration) -> Handle {
    open(place, &HashMap::from([("leader_ttl".to_owned(), ttl)])).await
}

async fn open(place: &Place, settings: &HashMap<String, Duration>) -> Handle {
    let contract = place.contract(Keyspace::SOURCE);
    let store = Store::open(&place.url, Options::default()).await.expect("a store");
    store.as_component(&contract, "machine", settings).unwrap()
}

/// Waits until something holds that nobody tells of.
pub(crate) async fn eventually(mut holds: impl FnMut() -> bool) {
    for _ in 0..60_000 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    panic!("not within a minute");
}

/// The keys of that place.
pub(crate) fn keys(place: &Place) -> Keyspace {
    Keyspace::new(Naming::new(place.namespace.clone(), place.hash_tags).unwrap()).unwrap()
}

pub(crate) fn east() -> PoolId {
    PoolId::new("east").unwrap()
}
