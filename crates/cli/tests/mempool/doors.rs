//! The doors: what wallets send, and garbage.

use keyplane_testing::{Program, Server, Settings};
use serde_json::Value;

use crate::node::{Node, block, curl, keyplane, transaction};

fn rig() -> (Server, Node) {
    let server = Server::start(Program::Redis, &Settings::tcp());
    let node = Node::start(&server);
    node.wait_for("acquired watcher lock");
    (server, node)
}

fn keys(server: &Server) -> Vec<String> {
    let mut keys: Vec<String> = redis::cmd("KEYS").arg("dolos:mempool:*").query(&mut server.admin()).unwrap();
    keys.retain(|key| !key.contains("watcher:lock") && !key.ends_with(":stats"));
    keys
}

#[test]
fn a_wallet_submits_and_asks() {
    let (_server, node) = rig();
    let (hash, bytes) = transaction(1);
    let accepted = node.submit("/api/submit/tx", &bytes);
    assert_eq!((accepted.status, accepted.json()), (202, Value::from(hash.as_str())));
    let again = node.submit("/tx/submit", &bytes);
    let told = again.json();
    assert_eq!(
        (again.status, told["status_code"].as_u64()),
        (409, Some(409)),
        "as Blockfrost's clients read it"
    );
    assert_eq!((told["error"].as_str(), told["code"].as_str()), (Some("Conflict"), Some("duplicate")));
    assert_eq!(node.submit("/api/submit/tx", &bytes).code(), "duplicate");
    let (other, bytes) = transaction(2);
    let accepted = node.submit("/tx/submit", &bytes);
    assert_eq!((accepted.status, accepted.json()), (200, Value::from(other.as_str())));
    let pending = node.curl("/api/pending", &[]).json();
    assert_eq!(pending["items"][0]["hash"], hash.as_str());
    assert_eq!(pending["items"][1]["cbor"], hex::encode(&bytes));

    for height in 70..77 {
        let both = [hash.as_str(), other.as_str()];
        node.forward(&block(height, if height == 71 { &both } else { &[] }));
    }
    let told = node.curl(&format!("/api/tx/{hash}"), &[]).json();
    assert_eq!((told["stage"].as_str(), told["confirmations"].as_u64()), (Some("finalized"), Some(6)));
    let page = node.curl("/api/finalized?limit=1", &[]).json();
    assert_eq!(
        (page["items"][0]["hash"].as_str(), page["next_cursor"].as_u64()),
        (Some(hash.as_str()), Some(2))
    );
    let events = node.curl("/api/events", &["-H", "Last-Event-ID: 0-0", "-m", "2"]).body;
    for stage in ["pending", "confirmed", "finalized"] {
        assert!(events.contains(&format!("\"stage\":\"{stage}\"")), "{events}");
    }
}

#[test]
fn garbage_is_refused_at_every_door_and_leaves_nothing() {
    let (server, node) = rig();
    let whole = transaction(1).1;
    for path in ["/api/submit/tx", "/tx/submit"] {
        // The door for Blockfrost's clients has the code elsewhere.
        let code = |refused: &keyplane_testing::Answer| match refused.json()["code"].as_str() {
            Some(code) => code.to_owned(),
            None => refused.code(),
        };
        for end in [0, 1, 10, whole.len() - 1] {
            let refused = node.submit(path, &whole[..end]);
            assert_eq!((refused.status, code(&refused).as_str()), (400, "bad_request"), "{end}: {refused:?}");
        }
        let longer = node.submit(path, &[&whole[..], &[0]].concat());
        assert_eq!(longer.status, 400, "{longer:?}");
        assert_eq!(node.submit(path, b"\x80").status, 400, "CBOR, but no transaction");
        assert_eq!(node.submit(path, &vec![0x9f; 200_000]).status, 400, "arrays in arrays in arrays");
        let unknown_input = b"\x82\x83\x9f\x82\x01\x50\xd8\x18\x58\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x00\xff\x9f\xff\xa0\x80";
        assert_eq!(node.submit(path, unknown_input).status, 400, "what Byron left room for");
        assert_eq!(node.submit(path, &vec![7; 10 * 1024 * 1024]).status, 413);
        let hex = node.curl(path, &["-H", "Content-Type: text/plain", "-d", "84a4"]);
        assert_eq!((hex.status, code(&hex).as_str()), (415, "unsupported_media"));
        let loud = ["-H", "Content-Type: Application/CBOR; charset=x", "-d", "84a4"];
        assert_eq!(node.curl(path, &loud).status, 400, "the type is right, however it is written");
        assert_eq!(node.curl(path, &[]).status, 405);
    }
    for (path, status) in [
        ("/api/tx/zz", 400),
        ("/api/tx/914c51d2f3df4eec6173a53fc21d0ac1be93b2f3b22d677629c297ad8b307ad0", 404),
        ("/api/finalized?cursor=-1", 400),
        ("/api/pending?limit=x", 400),
        ("/api/nothing", 404),
    ] {
        let refused = node.curl(path, &[]);
        assert_eq!(refused.status, status, "{path}: {refused:?}");
        assert!(!refused.json()["error"]["help"].as_str().unwrap().is_empty());
    }
    for body in [
        "",
        "{}",
        "[]",
        "{\"slot\":-1}",
        "{\"slot\":1,\"hash\":\"ab\",\"height\":1,\"prev\":\"\",\"txs\":[]}",
    ] {
        for path in ["/api/chain/forward", "/api/chain/back"] {
            let refused = node.curl(path, &["-H", "Content-Type: application/json", "-d", body]);
            assert!([400, 422].contains(&refused.status), "{path} {body}: {refused:?}");
        }
    }
    assert_eq!(keys(&server), Vec::<String>::new());
}

#[test]
fn blocks_that_do_not_fit_are_told() {
    let (_server, node) = rig();
    assert_eq!(node.forward(&block(70, &[])).json()["outcome"], "applied");
    assert_eq!(node.forward(&block(70, &[])).json()["outcome"], "repeated");
    let gap = node.forward(&block(75, &[]));
    assert_eq!((gap.status, gap.code().as_str()), (409, "not_next"), "{gap:?}");
    let body = serde_json::json!({ "slot": 1, "hash": format!("{:064x}", 3) }).to_string();
    let far = node.curl("/api/chain/back", &["-H", "Content-Type: application/json", "-d", &body]);
    assert_eq!((far.status, far.code().as_str()), (409, "too_far_back"), "{far:?}");
}

#[test]
fn a_door_for_other_machines_needs_a_token() {
    let server = Server::start(Program::Redis, &Settings::tcp());
    let run = |token: Option<&str>| {
        let mut command = keyplane(&server.url());
        command.args(["mempool", "run", "--listen", "0.0.0.0:0"]);
        command.envs(token.map(|token| ("KEYPLANE_MEMPOOL_TOKEN", token)));
        command.output().unwrap()
    };
    let refused = run(None);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("token"));
    assert_eq!(run(Some("short")).status.code(), Some(2));

    let token = "a-token-of-thirty-two-characters";
    let node = Node::start_with(&server.url(), &[("KEYPLANE_MEMPOOL_TOKEN", token)]);
    assert_eq!(node.curl("/api/leader", &[]).status, 401);
    assert_eq!(node.curl("/health/live", &[]).status, 200);
    let bearer = format!("Authorization: Bearer {token}");
    assert_eq!(curl(&format!("{}/api/leader", node.address), &["-H", &bearer]).status, 200);
}

#[test]
fn metrics_and_alerts_tell_how_it_is() {
    let (_server, node) = rig();
    node.submit("/tx/submit", &transaction(1).1);
    let metrics = node.curl("/metrics", &[]).body;
    for line in [
        "keyplane_mempool_pending 1",
        "keyplane_mempool_is_watcher 1",
        "keyplane_mempool_failovers_total 0",
        "keyplane_mempool_transactions_total{what=\"received\"} 1",
    ] {
        assert!(metrics.lines().any(|told| told == line), "{line} in {metrics}");
    }
    let alerts = node.curl("/api/alerts", &[]).json();
    let names: Vec<&str> =
        alerts["alerts"].as_array().unwrap().iter().map(|alert| alert["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["store_away", "no_leader", "pending_growing", "nearly_full", "finalized_above_max"]);
    assert!(alerts["alerts"].as_array().unwrap().iter().all(|alert| alert["firing"] == false));
    let document = node.curl("/openapi.json", &[]).json();
    assert_eq!(keyplane_http::openapi::problems(&document), Vec::<String>::new());
    assert!(document["paths"]["/api/submit/tx"]["post"].is_object());
}
