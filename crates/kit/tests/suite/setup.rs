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

#[allow(unused_imports, reason = "each binary has its own choice of them")]
pub(crate) use pool::{Keyspace, MachineId, PoolId};

/// A store of its own connections: another process, as far as the server can tell.
pub(crate) async fn machine(place: &Place) -> Handle {
    open(place, "machine", &HashMap::new()).await
}

/// A store of somebody who may only read.
pub(crate) async fn monitor(place: &Place) -> Handle {
    open(place, "monitor", &HashMap::new()).await
}

/// A machine with a setting of its deployment.
pub(crate) async fn with_setting(place: &Place, name: &str, lasts: Duration) -> Handle {
    open(place, "machine", &HashMap::from([(name.to_owned(), lasts)])).await
}

/// The same, with locks that last that long.
pub(crate) async fn patient(place: &Place, ttl: Duration) -> Handle {
    with_setting(place, "leader_ttl", ttl).await
}

async fn open(place: &Place, component: &str, settings: &HashMap<String, Duration>) -> Handle {
    let contract = place.contract(Keyspace::SOURCE);
    let store = Store::open(&place.url, Options::default()).await.expect("a store");
    store.as_component(&contract, component, settings).unwrap()
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
