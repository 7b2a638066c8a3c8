//! A cluster: its start, failover asked for and forced, a node that comes back, a slot that moves.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use keyplane_testing::{Cluster, Kind, Node, Place, Program, Slot, skip};
use redis::{Commands as _, RedisResult};

#[test]
fn replicas_take_over_when_asked_and_when_a_master_dies() {
    let cluster = Cluster::start(Program::Redis, 3, 1);
    let place = Place::new(Kind::Cluster, cluster.url(), None);
    let key = place.key("k");
    place.raw::<()>(&key, &["SET", &key, "before"]);
    let master = cluster.node_of_slot(Slot::of(&key));
    assert_eq!(cluster.replicas_of(master).len(), 1);

    let heir = cluster.failover(master);
    assert_ne!(heir, master);
    assert_eq!(cluster.node_of_slot(Slot::of(&key)), heir);
    assert_eq!(cluster.replicas_of(heir), [master]);
    assert_eq!(place.raw::<String>(&key, &["GET", &key]), "before");

    cluster.kill(heir);
    cluster.wait_until_ok();
    assert_eq!(cluster.node_of_slot(Slot::of(&key)), master);
    place.raw::<()>(&key, &["SET", &key, "after"]);

    cluster.restart(heir);
    cluster.wait_until_ok();
    assert_eq!(cluster.replicas_of(master), [heir]);
    assert_eq!(place.raw::<String>(&key, &["GET", &key]), "after");
}

#[test]
fn a_slot_moves_step_by_step() {
    // Without replicas: they add nothing here.
    let cluster = Cluster::start(Program::Redis, 3, 0);
    let slot = Slot::of("{tag}");
    let from = cluster.node_of_slot(slot);
    let to = cluster.nodes().find(|node| *node != from).unwrap();
    let (mut old, mut new) = (cluster.server(from).admin(), cluster.server(to).admin());
    for index in 0..250 {
        let _: () = old.set(format!("{{tag}}:{index}"), index).unwrap();
    }

    cluster.migrate_slot_begin(slot, from, to);
    assert_eq!(old.get::<_, u32>("{tag}:7").unwrap(), 7);
    assert!(cluster.migrate_key(slot, "{tag}:7"));
    assert!(!cluster.migrate_key(slot, "{tag}:7"));
    let asked: RedisResult<u32> = old.get("{tag}:7");
    assert_eq!(asked.unwrap_err().code(), Some("ASK"));
    let _: () = redis::cmd("ASKING").query(&mut new).unwrap();
    assert_eq!(new.get::<_, u32>("{tag}:7").unwrap(), 7);

    assert_eq!(cluster.migrate_keys(slot), 249);
    cluster.migrate_slot_end(slot);
    assert_eq!(cluster.node_of_slot(slot), to);
    let moved: RedisResult<u32> = old.get("{tag}:7");
    assert_eq!(moved.unwrap_err().code(), Some("MOVED"));
    assert_eq!(new.get::<_, u32>("{tag}:249").unwrap(), 249);
}

#[test]
fn a_url_names_the_masters() {
    let cluster = Cluster::start(Program::Redis, 3, 0);
    let ports: Vec<u16> = (0..3).map(|index| cluster.server(Node(index)).port()).collect();
    let [a, b, c] = ports[..] else { panic!("three masters") };
    assert_eq!(cluster.url(), format!("redis+cluster://127.0.0.1:{a},127.0.0.1:{b},127.0.0.1:{c}"));
    assert_eq!(cluster.node_of_slot(Slot::new(0)), Node(0));
    assert_eq!(cluster.node_of_slot(Slot::new(16383)), Node(2));
}

#[test]
fn valkey_makes_clusters_too() {
    if Program::Valkey.file().is_none() {
        return skip("cluster::valkey_makes_clusters_too: no valkey-server");
    }
    let cluster = Cluster::start(Program::Valkey, 3, 1);
    let heir = cluster.failover(Node(0));
    assert_eq!(cluster.node_of_slot(Slot::new(0)), heir);
}
