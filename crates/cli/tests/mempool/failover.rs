//! The original's failover script, and worse.

use std::time::Instant;

use keyplane_testing::{Program, Server, Settings, chosen, until};

use crate::node::{Node, block, transaction};

const LOCK: &str = "dolos:mempool:watcher:lock";

fn server() -> Server {
    Server::start(Program::Redis, &Settings::tcp())
}

fn ask<T: redis::FromRedisValue>(server: &Server, words: &[&str]) -> T {
    let mut command = redis::cmd(words[0]);
    command.arg(&words[1..]).query(&mut server.admin()).unwrap()
}

fn watcher(server: &Server) -> Option<String> {
    ask(server, &["GET", LOCK])
}

#[test]
fn the_failover_script_of_the_description() {
    let server = server();
    // 1. Two nodes. The first becomes the watcher.
    let mut one = Node::start(&server);
    one.wait_for("acquired watcher lock");
    let two = Node::start(&server);
    // 2. Which one is it?
    assert_eq!(watcher(&server), Some(one.id.clone()));
    assert!(ask::<i64>(&server, &["TTL", LOCK]) > 0);
    let (hash, bytes) = transaction(1);
    assert_eq!(two.submit("/api/submit/tx", &bytes).status, 202);
    for node in [&one, &two] {
        assert_eq!(node.forward(&block(70, &[])).status, 200);
    }
    two.wait_for("not watcher, skipping confirm");
    // 3. It is stopped: the lock is handed over at once.
    one.signal("-TERM");
    // 4. The log of the other says so.
    two.wait_for("acquired watcher lock");
    assert_eq!(watcher(&server), Some(two.id.clone()));
    assert_eq!(two.forward(&block(71, &[&hash])).json()["outcome"], "applied");
    assert_eq!(two.stage(&hash), "confirmed");
    // 5. It comes back, and does not take the lock back.
    let back = Node::start(&server);
    assert_eq!(back.forward(&block(71, &[&hash])).json()["outcome"], "kept");
    back.wait_for("not watcher, skipping confirm");
    assert_eq!(watcher(&server), Some(two.id.clone()));
    assert!(!back.log().contains("acquired"), "{}", back.log());
    // What the operator's lines say.
    assert_eq!(ask::<i64>(&server, &["LLEN", "dolos:mempool:pending"]), 0);
    assert_eq!(ask::<i64>(&server, &["HLEN", "dolos:mempool:inflight"]), 1);
    assert_eq!(ask::<i64>(&server, &["ZCARD", "dolos:mempool:finalized"]), 0);
}

#[test]
fn a_killed_watcher_is_followed_by_one_that_lost_no_block() {
    let server = server();
    let mut one = Node::start(&server);
    one.wait_for("acquired watcher lock");
    let two = Node::start(&server);
    let (hash, bytes) = transaction(2);
    assert_eq!(one.submit("/tx/submit", &bytes).status, 200);
    for height in 70..73 {
        one.forward(&block(height, &[]));
        two.forward(&block(height, &[]));
    }
    // The next block reaches only the other node, and then the watcher is gone.
    assert_eq!(two.forward(&block(73, &[&hash])).json()["outcome"], "kept");
    one.signal("-KILL");
    let killed = Instant::now();
    let confirmed = || match two.stage(&hash) {
        stage if stage == "confirmed" => Ok(()),
        stage => Err(stage.to_string()),
    };
    until("the block is confirmed", confirmed);
    println!("confirmed {:?} after the watcher was killed; its lock lasted 2 s", killed.elapsed());
    assert_eq!(two.curl("/api/tip", &[]).json()["height"], 73);
}

/// A paused watcher wakes and goes on: its block is refused, and it finds out.
#[test]
fn a_woken_watcher_changes_nothing() {
    let server = server();
    let mut one = Node::start(&server);
    one.wait_for("acquired watcher lock");
    let two = Node::start(&server);
    one.forward(&block(70, &[]));
    two.forward(&block(70, &[]));
    one.signal("-STOP");
    two.wait_for("acquired watcher lock");
    let (hash, bytes) = transaction(3);
    two.submit("/tx/submit", &bytes);
    two.forward(&block(71, &[&hash]));
    one.signal("-CONT");
    // Another branch, as the sleeper saw it.
    let mut other = block(71, &[]);
    other["hash"] = format!("{:064x}", 0xdead).into();
    assert_eq!(one.forward(&other).json()["outcome"], "kept");
    assert_eq!(two.stage(&hash), "confirmed");
    assert_eq!(watcher(&server), Some(two.id.clone()));
}

/// A watcher that does not know yet that its term is over finds out by its next block.
#[test]
fn a_block_under_a_term_that_is_over_is_kept() {
    let server = server();
    let node = Node::start_with(&server.url(), &[("KEYPLANE_MEMPOOL_WATCHER_LOCK_TTL", "60s")]);
    node.wait_for("acquired watcher lock");
    assert_eq!(node.forward(&block(70, &[])).json()["outcome"], "applied");
    let fence: String = ask(&server, &["GET", &format!("{LOCK}:fence")]);
    let (term, token) = fence.split_once(':').unwrap();
    let next = format!("{}:{token}", term.parse::<u64>().unwrap() + 1);
    ask::<String>(&server, &["SET", &format!("{LOCK}:fence"), &next]);
    assert_eq!(node.forward(&block(71, &[])).json()["outcome"], "kept");
    node.wait_for("lost watcher lock, skipping confirm");
    assert_eq!(node.curl("/api/tip", &[]).json()["height"], 70);
}

/// Nobody listens any more, and later somebody does again, with what was on the disk.
#[test]
fn a_store_that_is_killed_and_started_again_is_caught_up_with() {
    let server = Server::start(Program::Redis, &Settings::tcp().appendonly());
    let node = Node::start_with(&server.url(), &[("KEYPLANE_MEMPOOL_WATCHER_LOCK_TTL", "60s")]);
    node.wait_for("acquired watcher lock");
    let (hash, bytes) = transaction(4);
    assert_eq!(node.submit("/tx/submit", &bytes).status, 200);
    assert_eq!(node.forward(&block(70, &[])).json()["outcome"], "applied");
    server.kill();
    assert_eq!(node.submit("/tx/submit", &transaction(5).1).status, 503);
    assert_eq!(node.forward(&block(71, &[&hash])).status, 503);
    assert_eq!(node.forward(&block(72, &[])).status, 503);
    server.restart();
    let confirmed = || match node.curl(&format!("/api/tx/{hash}"), &[]) {
        answer if answer.status == 200 && answer.json()["confirmations"] == 2 => Ok(()),
        answer => Err(answer.body),
    };
    until("the kept blocks are applied", confirmed);
    assert_eq!(node.curl("/api/tip", &[]).json()["height"], 72);
    assert_eq!(node.submit("/tx/submit", &transaction(5).1).status, 200, "what was refused was not stored");
}

/// The store is away for a while: doors say so, blocks are kept, and all catches up.
#[test]
fn a_store_that_is_away_comes_back_to_a_node_that_lost_nothing() {
    let server = server();
    // The lock outlasts the pause, so the node goes on trying as the watcher.
    let node = Node::start_with(&server.url(), &[("KEYPLANE_MEMPOOL_WATCHER_LOCK_TTL", "60s")]);
    node.wait_for("acquired watcher lock");
    let (hash, bytes) = transaction(4);
    assert_eq!(node.submit("/tx/submit", &bytes).status, 200);
    node.forward(&block(70, &[]));
    server.freeze();
    let away = node.submit("/tx/submit", &transaction(5).1);
    assert_eq!((away.status, away.json()["code"].as_str()), (503, Some("unavailable")), "{away:?}");
    assert_eq!(node.curl(&format!("/api/tx/{hash}"), &[]).status, 503, "not a word about the transaction");
    assert_eq!(node.forward(&block(71, &[&hash])).status, 503);
    assert_eq!(node.curl("/health/ready", &[]).status, 503);
    server.thaw();
    let confirmed = || match node.stage(&hash) {
        stage if stage == "confirmed" => Ok(()),
        stage => Err(stage.to_string()),
    };
    until("the kept block is applied", confirmed);
    assert_eq!(node.curl("/api/tip", &[]).json()["height"], 71);
}

#[test]
fn a_store_that_is_away_for_longer_than_the_lock_costs_nothing_but_time() {
    let server = server();
    // Two nodes; the lock of two seconds runs out meanwhile, so afterwards it is anybody's.
    let nodes = [(); 2].map(|()| Node::start(&server));
    until("there is a watcher", || watcher(&server).map(|_| ()).ok_or_else(|| "none".to_owned()));
    let txs: Vec<(String, Vec<u8>)> = (10..20).map(transaction).collect();
    for (_, bytes) in &txs {
        assert_eq!(nodes[0].submit("/tx/submit", bytes).status, 200);
    }
    nodes.iter().for_each(|node| assert_eq!(node.forward(&block(70, &[])).status, 200));
    server.freeze();
    let (frozen, mut height) = (Instant::now(), 70);
    while frozen.elapsed().as_secs() < chosen("KEYPLANE_TEST_AWAY", 3) || height < 72 {
        height += 1;
        let hash = txs.get(height as usize - 71).map(|(hash, _)| hash.as_str());
        let block = block(height, hash.as_slice());
        for node in &nodes {
            let status = node.forward(&block).status;
            // Who is not the watcher any more keeps it without asking.
            assert!(status == 503 || status == 200, "{status}");
            assert_eq!(node.submit("/tx/submit", &transaction(100).1).status, 503);
        }
    }
    server.thaw();
    let applied = || match nodes[1].curl("/api/tip", &[]) {
        answer if answer.status == 200 && answer.json()["height"] == height => Ok(()),
        answer => Err(answer.body),
    };
    until("all blocks are applied", applied);
    for (at, (hash, _)) in txs.iter().enumerate().take_while(|(at, _)| *at as u64 + 71 <= height) {
        let told = nodes[1].curl(&format!("/api/tx/{hash}"), &[]).json();
        assert_eq!(told["confirmations"], height - (at as u64 + 71) + 1, "{told}");
    }
    println!("{} blocks while the store was away for {:?}", height - 70, frozen.elapsed());
}
