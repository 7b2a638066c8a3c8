//! What outlives a swarm, by curl: measurements, the lock, checkpoints, a fork, and a recovery when all else is lost.

use serde_json::json;

use crate::serving::{CODER, SWARM, Serving, VALIDATOR, everything, redis, running};

const FORK: &str = "swarm_fork_abc123def456";

#[test]
fn curl_measures_and_locks() {
    let server = redis();
    running(&server.url());
    let serving = Serving::start(&server.url());
    let at = |rest: &str| format!("/api/swarms/{SWARM}{rest}");
    let post = |rest: &str, body| serving.done("POST", &at(rest), &body);

    post("/performance/latency", json!({ "value": 41.5 }));
    assert_eq!(serving.get(&at("/performance/latency")).json()["samples"][0]["value"], 41.5);

    let lock = post("/lock", json!({ "owner": CODER }));
    assert_eq!(serving.get(&at("/lock")).json()["holder"], CODER);
    let other = serving.send("POST", &at("/lock"), &json!({ "owner": VALIDATOR }));
    assert_eq!((other.status, other.code().as_str()), (409, "locked"));
    let stale = serving.send("POST", &at("/lock/release"), &json!({ "owner": CODER, "fence": "7" }));
    assert_eq!((stale.status, stale.code().as_str()), (409, "fenced"));
    for change in ["/lock/renew", "/lock/release"] {
        post(change, json!({ "owner": CODER, "fence": lock["fence"] }));
    }
    post("/lock", json!({ "owner": VALIDATOR }));
}

#[test]
fn curl_saves_forks_and_recovers() {
    let server = redis();
    running(&server.url());
    let serving = Serving::start(&server.url());
    let at = |rest: &str| format!("/api/swarms/{SWARM}{rest}");
    let post = |rest: &str, body| serving.done("POST", &at(rest), &body);

    let first = post("/checkpoints", json!({ "label": "before the change" }));
    serving.done("PATCH", &at(&format!("/agents/{CODER}")), &json!({ "confidence": 0.95 }));
    let second = post("/checkpoints", json!({}));
    assert_eq!((&first["kind"], &second["kind"]), (&json!("full"), &json!("increment")));
    let (first, second) = (first["checkpoint"].as_str().unwrap(), second["checkpoint"].as_str().unwrap());
    let listed = serving.get(&at("/checkpoints")).json();
    assert_eq!(listed["checkpoints"].as_array().unwrap().len(), 2);
    let changed = serving.get(&at(&format!("/checkpoints/{first}/diff/{second}"))).json();
    assert!(changed.to_string().contains(&format!("agents:{CODER}")), "{changed}");
    let exported = serving.get(&at(&format!("/checkpoints/{second}/export"))).json();
    assert_eq!(exported["kind"], "keyplane swarm checkpoint");
    post(&format!("/checkpoints/{first}/pin"), json!({}));
    post("/checkpoints/prune", json!({}));

    post(&format!("/checkpoints/{second}/fork"), json!({ "as": FORK }));
    let forked = serving.get(&format!("/api/swarms/{FORK}/agents/{CODER}")).json();
    assert_eq!(forked["confidence"], 0.95);

    let before = everything(&server);
    let planned = post("/recover", json!({ "dryRun": true }));
    assert_eq!((&planned["dryRun"], &planned["restored"]), (&json!(true), &json!({})));
    assert_eq!(everything(&server), before, "a plan changes nothing");

    let lost = before.keys().filter(|key| !key.contains(":recovery:"));
    let _: i64 = redis::cmd("DEL").arg(lost.collect::<Vec<_>>()).query(&mut server.admin()).unwrap();
    assert_eq!(serving.get(&at("")).code(), "no_swarm");
    let done = post("/recover", json!({}));
    assert!(done["confidence"].as_f64().unwrap() > 0.9, "{done}");
    let status = serving.get(&at("")).json();
    assert_eq!((&status["status"], status["agents"].as_array().unwrap().len()), (&json!("running"), 2));
    assert_eq!(serving.get(&at(&format!("/agents/{CODER}"))).json()["confidence"], 0.95);
}
