//! The tools that models are given, by the client that the protocol's own people wrote.
//!
//! `cargo xtask test` fetches its package and says where it is.

use std::path::Path;
use std::process::Command;

use keyplane_testing::{curl, skip};
use serde_json::json;

use crate::serving::{Serving, redis};

/// The folder of the packages.
const PACKAGES: &str = "KEYPLANE_TEST_CLIENTS";

/// Runs the life of a swarm with it.
fn lives(test: &str, way: &str, target: &str, url: &str) {
    let Some(clients) = std::env::var_os(PACKAGES) else {
        skip(&format!("{test}: {PACKAGES} is not set; `cargo xtask test` fetches the packages"));
        return;
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/swarm/models.py");
    for (mode, swarm) in [("auto", "swarm_modern_01"), ("legacy", "swarm_legacy_01")] {
        let output = Command::new("python3")
            .arg(&script)
            .args([way, target, mode, swarm])
            .env("PYTHONPATH", Path::new(&clients).join("python"))
            .env("KEYPLANE_URL", url)
            .env_remove("KEYPLANE_CONFIG")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.contains("all well"), "{said}{errors}");
        println!("{said}");
    }
}

#[test]
fn a_model_drives_the_whole_life_of_a_swarm_over_http() {
    let server = redis();
    let serving = Serving::start(&server.url());
    lives("MCP over HTTP", "http", &format!("{}/mcp", serving.address), &server.url());
}

#[test]
fn a_model_drives_the_whole_life_of_a_swarm_over_stdio() {
    let server = redis();
    lives("MCP over stdio", "stdio", env!("CARGO_BIN_EXE_keyplane"), &server.url());
}

#[test]
fn the_tools_are_behind_the_same_door_as_the_routes() {
    let server = redis();
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }).to_string();
    let ask = |serving: &Serving, more: &[&str]| {
        let plain = ["-H", "Content-Type: application/json", "-d", &request];
        let accept = ["-H", "Accept: application/json, text/event-stream"];
        curl(&format!("{}/mcp", serving.address), &[&plain[..], &accept, more].concat()).status
    };
    let open = Serving::start(&server.url());
    assert_eq!(ask(&open, &[]), 200);
    assert_eq!(ask(&open, &["-H", "Host: evil.example"]), 403);
    assert_eq!(ask(&open, &["-H", "Origin: https://evil.example"]), 403);
    let token = "a-token-of-the-tests";
    let guarded = Serving::start_with(&server.url(), &[("KEYPLANE_SWARM_TOKEN", token)]);
    assert_eq!(ask(&guarded, &[]), 401);
    assert_eq!(
        ask(&guarded, &["-H", &format!("Authorization: Bearer {token}"), "-H", "Host: swarm.example"]),
        200
    );
}
