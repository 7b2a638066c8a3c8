//! A store and its keys for one test.

use std::collections::HashMap;

use keyplane_key::Naming;
use keyplane_store::{Handle, Options, Store, Tls};
use keyplane_testing::Place;

pub(crate) mod parts {
    #![allow(missing_docs, unreachable_pub, dead_code)]
    keyplane_macros::keyspace!("tests/parts.toml");
}

pub(crate) mod scripts {
    #![allow(missing_docs, unreachable_pub, dead_code)]
    keyplane_macros::scripts!("tests/parts.toml", "tests/scripts");
}

pub(crate) use parts::{Bin, Keyspace, Order};

/// Options for that place; test servers keep nothing, and that is known.
pub(crate) fn options(place: &Place) -> Options {
    let mut options = Options::default();
    if let Some(files) = &place.tls {
        options.tls = Tls::default();
        options.tls.ca = Some(files.ca.clone());
        options.tls.identity = Some((files.cert.clone(), files.key.clone()));
    }
    options
}

pub(crate) async fn open(place: &Place) -> Store {
    Store::open(&place.url, options(place)).await.expect("a store")
}

/// The keys of that place.
pub(crate) fn keys(place: &Place) -> Keyspace {
    Keyspace::new(Naming::new(place.namespace.clone(), place.hash_tags).unwrap()).unwrap()
}

/// A handle as that component, and the keys; what is left at the end is audited.
pub(crate) async fn component(place: &Place, name: &str) -> (Handle, Keyspace) {
    let contract = place.contract(Keyspace::SOURCE);
    let handle = open(place).await.as_component(&contract, name, &HashMap::new()).unwrap();
    (handle, keys(place))
}

pub(crate) fn order(id: &str) -> Order {
    Order::new(id).unwrap()
}

pub(crate) fn bin(id: &str) -> Bin {
    Bin::new(id).unwrap()
}
