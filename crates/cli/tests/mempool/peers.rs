//! Two nodes of a pool, and a peer of both: a node of another pool.

use keyplane_testing::{Program, Server, Settings, until};

use crate::node::{Node, keyplane, spender, transaction};

/// What a metric of the peer counts.
fn counted(peer: &Node, what: &str) -> u64 {
    let metrics = peer.curl("/metrics", &[]).body;
    let start = format!("keyplane_mempool_transactions_total{{what=\"{what}\"}} ");
    let line =
        metrics.lines().find_map(|line| line.strip_prefix(&start)).unwrap_or_else(|| panic!("{metrics}"));
    line.parse().unwrap()
}

fn wait_until_received(peer: &Node, count: u64) {
    until("the peer has all of them", || match counted(peer, "received") {
        received if received == count => Ok(()),
        received => Err(received.to_string()),
    });
}

#[test]
fn a_peer_gets_everything_once_and_again_when_it_has_forgotten() {
    let server = Server::start(Program::Redis, &Settings::tcp());
    let other = Server::start(Program::Redis, &Settings::tcp());
    let mut peer = Node::start(&other);
    let address = peer.address.strip_prefix("http://").unwrap().to_owned();
    let relay = format!("relay-1=http://{address}/api/submit/tx");
    let nodes = [(); 2].map(|()| Node::start_with(&server.url(), &[("KEYPLANE_MEMPOOL_PEERS", &relay)]));
    let txs: Vec<(String, Vec<u8>)> = (0..60).map(transaction).collect();
    for (at, (_, bytes)) in txs.iter().enumerate() {
        assert_eq!(nodes[at % 2].submit("/api/submit/tx", bytes).status, 202);
    }
    wait_until_received(&peer, 60);
    assert_eq!(counted(&peer, "duplicates"), 0, "no two nodes offered the same");
    until("all are acknowledged", || {
        let stages: Vec<_> = txs.iter().map(|(hash, _)| nodes[0].stage(hash)).collect();
        if stages.iter().all(|stage| stage == "acknowledged") { Ok(()) } else { Err(format!("{stages:?}")) }
    });

    // The peer is gone, and what comes meanwhile stays in the queue.
    peer.signal("-KILL");
    let (hash, bytes) = transaction(100);
    assert_eq!(nodes[0].submit("/api/submit/tx", &bytes).status, 202);
    for node in &nodes {
        // One of them has something to offer and finds out at once; the other when it has.
        node.curl("/api/tip", &[]);
    }
    until("a node has noticed", || {
        let logs: Vec<String> = nodes.iter().map(Node::log).collect();
        if logs.iter().any(|log| log.contains("the peer is away")) { Ok(()) } else { Err(logs.concat()) }
    });
    // It comes back at the same place, without a memory.
    let _: () = redis::cmd("FLUSHALL").query(&mut other.admin()).unwrap();
    let peer = Node::start_at(&other.url(), &address);
    wait_until_received(&peer, 61);
    until("the late one is acknowledged", || match nodes[1].stage(&hash) {
        stage if stage == "acknowledged" => Ok(()),
        stage => Err(stage.to_string()),
    });
}

#[test]
fn a_peer_that_cannot_be_one_is_refused_at_the_start() {
    for (peer, why) in [
        ("relay", "NAME=URL"),
        ("a b=http://127.0.0.1:1/", "cannot be the name of a peer"),
        ("relay=ftp://127.0.0.1/", "http://HOST:PORT/PATH"),
    ] {
        let output = keyplane("embedded:")
            .args(["mempool", "run", "--listen", "127.0.0.1:0", "--peer", peer])
            .output();
        let output = output.unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(why), "{said}");
    }
}

fn relay(peer: &Node) -> String {
    format!("relay-1={}/api/submit/tx", peer.address)
}

#[test]
fn a_peer_that_has_another_spender_has_not_taken_this_one() {
    let (server, other) = [(); 2].map(|()| Server::start(Program::Redis, &Settings::tcp())).into();
    let peer = Node::start(&other);
    let (first, bytes) = transaction(1);
    assert_eq!(peer.submit("/api/submit/tx", &bytes).status, 202);
    let node = Node::start_with(&server.url(), &[("KEYPLANE_MEMPOOL_PEERS", &relay(&peer))]);
    let (second, bytes) = spender(1, 180_000);
    assert_ne!(first, second);
    assert_eq!(node.submit("/api/submit/tx", &bytes).status, 202);
    node.wait_for("refused by the peer");
    let (third, bytes) = transaction(3);
    assert_eq!(node.submit("/api/submit/tx", &bytes).status, 202);
    until("the next one is taken", || match node.stage(&third) {
        stage if stage == "acknowledged" => Ok(()),
        stage => Err(stage.to_string()),
    });
    assert_eq!(node.stage(&second), "propagated");
}

#[test]
fn a_peer_that_lets_nobody_in_keeps_what_waits_waiting() {
    let (server, other) = [(); 2].map(|()| Server::start(Program::Redis, &Settings::tcp())).into();
    let peer = Node::start_with(&other.url(), &[("KEYPLANE_MEMPOOL_TOKEN", "correct-horse-battery-staple")]);
    let peers = relay(&peer);
    let node = Node::start_with(&server.url(), &[("KEYPLANE_MEMPOOL_PEERS", &peers)]);
    let (hash, bytes) = transaction(1);
    assert_eq!(node.submit("/api/submit/tx", &bytes).status, 202);
    node.wait_for("401 Unauthorized");
    drop(node);
    let node = Node::start_with(
        &server.url(),
        &[
            ("KEYPLANE_MEMPOOL_PEERS", &peers),
            ("KEYPLANE_MEMPOOL_PEER_TOKEN", "correct-horse-battery-staple"),
        ],
    );
    until("it is taken", || match node.stage(&hash) {
        stage if stage == "acknowledged" => Ok(()),
        stage => Err(stage.to_string()),
    });
}
