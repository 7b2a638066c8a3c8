//! The commands.

use std::process::{Command, Output};

use keyplane_testing::{Program, Server, Settings, recording};
use serde_json::Value;

use crate::node::{Node, block, keyplane, transaction};

fn run(url: &str, words: &[&str]) -> Output {
    keyplane(url).arg("mempool").args(words).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn json(output: &Output) -> Value {
    serde_json::from_str(&said(output)).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

#[test]
fn a_transaction_goes_from_a_file_to_its_end() {
    let server = Server::start(Program::Redis, &Settings::tcp());
    let url = server.url();
    let folder = tempfile::tempdir().unwrap();
    let (hash, bytes) = transaction(1);
    let binary = folder.path().join("signed.tx");
    std::fs::write(&binary, &bytes).unwrap();
    let accepted = run(&url, &["submit", binary.to_str().unwrap()]);
    assert_eq!((accepted.status.code(), said(&accepted)), (Some(0), hash.clone()));
    let text = folder.path().join("signed.hex");
    std::fs::write(&text, hex::encode(&bytes) + "\n").unwrap();
    let again = run(&url, &["submit", text.to_str().unwrap(), "--json"]);
    assert_eq!((again.status.code(), json(&again)["accepted"].as_bool()), (Some(1), Some(false)));
    // What cardano-cli writes, and what copies from elsewhere begin with.
    let envelope = serde_json::json!({ "type": "Witnessed Tx ConwayEra", "description": "", "cborHex": hex::encode(&bytes) });
    for copy in [envelope.to_string(), format!("0x{}", hex::encode(&bytes))] {
        std::fs::write(&text, copy).unwrap();
        let again = run(&url, &["submit", text.to_str().unwrap(), "--json"]);
        assert_eq!((again.status.code(), json(&again)["hash"].as_str()), (Some(1), Some(hash.as_str())));
    }

    assert_eq!(run(&url, &["leader"]).status.code(), Some(1), "no node runs");
    let node = Node::start(&server);
    node.wait_for("acquired watcher lock");
    assert_eq!(json(&run(&url, &["leader", "--json"]))["watcher"], node.id.as_str());
    let listed = json(&run(&url, &["list", "--stage", "pending", "--json"]));
    assert_eq!(listed[0]["hash"], hash.as_str());
    for height in 70..77 {
        let own = [hash.as_str()];
        node.forward(&block(height, if height == 71 { &own } else { &[] }));
    }
    let status = json(&run(&url, &["status", &hash, "--json"]));
    assert_eq!(
        (status[0]["stage"].as_str(), status[0]["confirmations"].as_u64()),
        (Some("finalized"), Some(6))
    );
    let tail = run(&url, &["tail", "--from", "0-0", "--count", "3", "--json"]);
    let stages: Vec<String> = said(&tail)
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["stage"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(stages, ["pending", "confirmed", "finalized"]);
    let unknown = format!("{:064x}", 7);
    assert_eq!(run(&url, &["status", &unknown]).status.code(), Some(1));
}

#[test]
fn bad_input_is_told_and_leaves_nothing() {
    let server = Server::start(Program::Redis, &Settings::tcp());
    let url = server.url();
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let whole = transaction(1).1;
    for path in [
        file("empty", b""),
        file("cut", &whole[..whole.len() - 1]),
        file("odd", b"84a"),
        file("blank", b" \n"),
        file("envelope", b"{\"cborHex\": 7}"),
        file("words", b"not a transaction"),
        folder.path().join("missing").to_str().unwrap().to_owned(),
    ] {
        let refused = run(&url, &["submit", &path]);
        let told = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(2), "{path}: {told}");
        assert!(told.starts_with("error: "), "{told}");
    }
    for words in
        [&["status", "zz"][..], &["tail", "--from", "x"], &["list", "--stage", "lost"], &["replay", "x", "y"]]
    {
        assert_eq!(run(&url, words).status.code(), Some(2), "{words:?}");
    }
    assert_eq!(run("redis://127.0.0.1:1", &["list"]).status.code(), Some(3));
    let nothing = file("nothing", b"");
    assert_eq!(run(&url, &["replay", &nothing, &nothing]).status.code(), Some(2), "no chain to replay");
    let keys: Vec<String> = redis::cmd("KEYS").arg("*").query(&mut server.admin()).unwrap();
    assert_eq!(keys, Vec::<String>::new());
}

#[test]
fn the_recorded_chain_is_replayed() {
    let test = "the_recorded_chain_is_replayed";
    let files = (recording(test, "cardano/blocks.jsonl"), recording(test, "cardano/txs.jsonl"));
    let (Some(blocks), Some(txs)) = files else { return };
    let output = Command::new(env!("CARGO_BIN_EXE_keyplane"))
        .args(["mempool", "replay", "--json"])
        .args([blocks, txs])
        .env_remove("KEYPLANE_URL")
        .output()
        .unwrap();
    let expected =
        serde_json::json!({ "blocks": 913, "received": 834, "finalized": 834, "dropped": 0, "pending": 0 });
    assert_eq!((output.status.code(), json(&output)), (Some(0), expected));
}

#[test]
fn the_list_begins_with_the_newest_finished_one() {
    let server = Server::start(Program::Redis, &Settings::tcp());
    let url = server.url();
    let node = Node::start(&server);
    node.wait_for("acquired watcher lock");
    let hashes: Vec<String> = (1..=3).map(|number| transaction(number).0).collect();
    for number in 1..=3 {
        assert_eq!(node.submit("/api/submit/tx", &transaction(number).1).status, 202);
    }
    for height in 70..79u64 {
        let own = height.checked_sub(71).and_then(|at| hashes.get(at as usize));
        node.forward(&block(height, &own.map(String::as_str).into_iter().collect::<Vec<_>>()));
    }
    let listed = |words: &[&str]| -> Vec<String> {
        let listed = json(&run(&url, &[&["list", "--json"], words].concat()));
        listed.as_array().unwrap().iter().map(|one| one["hash"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(listed(&["--stage", "finalized", "--limit", "1"]), [hashes[2].clone()]);
    assert_eq!(listed(&[]), [hashes[2].clone(), hashes[1].clone(), hashes[0].clone()]);
}

#[test]
fn a_node_tells_programs_where_it_is() {
    let server = Server::start(Program::Redis, &Settings::tcp());
    let mut node = keyplane(&server.url())
        .args(["mempool", "run", "--listen", "127.0.0.1:0", "--json"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    let stdout = node.stdout.take().unwrap();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(stdout), &mut first).unwrap();
    let told: Value = serde_json::from_str(&first).unwrap();
    let address = told["address"].as_str().unwrap();
    let leader = crate::node::curl(&format!("http://{address}/api/leader"), &[]);
    assert_eq!(leader.json()["this_node"], told["node_id"]);
    drop(node.kill());
    drop(node.wait());
}
