//! The keys of `shelf.toml`.

use keyplane_key::Naming;
use keyplane_store::{Handle, Options, Store};

pub(crate) mod keys {
    #![allow(missing_docs, unreachable_pub, dead_code)]
    keyplane_macros::keyspace!("tests/regressions/shelf.toml");
}

pub(crate) mod scripts {
    #![allow(missing_docs, unreachable_pub, dead_code)]
    keyplane_macros::scripts!("tests/regressions/shelf.toml", "tests/regressions/scripts");
}

use keys::{Id, Keyspace};

/// The shelf on a server, as the one who does all of it.
pub(crate) async fn open(url: &str, options: Options) -> (Handle, Keyspace) {
    let store = Store::open(url, options).await.expect("a store");
    let contract = keyplane_store::contract(Keyspace::SOURCE).unwrap();
    let hand = store.as_component(&contract, "hand", &Default::default()).unwrap();
    let keys = Keyspace::new(Naming::new("rig", store.is_cluster()).unwrap()).unwrap();
    (hand, keys)
}

pub(crate) fn id(text: &str) -> Id {
    Id::new(text).unwrap()
}
