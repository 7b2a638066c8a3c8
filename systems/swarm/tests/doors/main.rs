//! The table of operations against the router that is made from it, and against garbage. The doors as processes, with curl and
//! other clients, are in the tests of the binary.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod alerts;
mod document;
mod exports;
mod garbage;

use keyplane_key::Naming;
use keyplane_store::{Options, Store};
use keyplane_swarm::api::Desk;
use keyplane_swarm::keys::Keyspace;
use keyplane_swarm::{Settings, Swarms};
use keyplane_testing::Place;

async fn desk(place: &Place) -> Desk {
    place.contract(Keyspace::SOURCE);
    let store = Store::open(&place.url, Options::default()).await.expect("a store");
    let naming = Naming::new(place.namespace.clone(), place.hash_tags).unwrap();
    Desk::new(Swarms::new(&store, naming, Settings::default()).unwrap())
}
