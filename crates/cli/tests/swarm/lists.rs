//! Every operation has one command, one route and one tool: what the three doors say of themselves, compared.

use std::collections::{BTreeMap, BTreeSet};

use keyplane_testing::curl;
use serde_json::Value;

use crate::serving::{CODER, SWARM, Serving, keyplane, redis};

/// The commands that the binary has, by the man pages that it writes of itself. Those that serve are no operations.
fn commands(url: &str) -> BTreeSet<String> {
    let folder = tempfile::tempdir().unwrap();
    assert!(keyplane(url).args(["man", "--dir"]).arg(folder.path()).output().unwrap().status.success());
    let pages: Vec<String> = std::fs::read_dir(folder.path())
        .unwrap()
        .filter_map(|page| {
            let name = page.unwrap().file_name().into_string().unwrap();
            Some(name.strip_prefix("keyplane-swarm-")?.strip_suffix(".1")?.to_owned())
        })
        .collect();
    let has_more = |page: &String| pages.iter().any(|other| other.starts_with(&format!("{page}-")));
    pages
        .iter()
        .filter(|page| !has_more(page) && !["serve", "mcp", "sim"].contains(&page.as_str()))
        .map(|page| page.replace('-', " "))
        .collect()
}

/// The routes by the command that each says it is, with the tool that it says it is.
fn routes(serving: &Serving) -> BTreeMap<String, String> {
    let document = serving.get("/openapi.json").json();
    let quoted = |text: &str, after: &str| -> Option<String> {
        Some(text.split_once(after)?.1.split('`').next()?.to_owned())
    };
    let mut found = BTreeMap::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            if operation["tags"][0] != "swarm" || path == "/mcp" {
                continue;
            }
            let about = operation["description"].as_str().unwrap();
            let command = quoted(about, "CLI: `keyplane swarm ").expect(about);
            let tool = quoted(about, "MCP: `").expect(about);
            assert_eq!(found.insert(command, tool), None, "{method} {path} is there twice");
            is_answered(serving, &method.to_uppercase(), path);
        }
    }
    found
}

/// Whether it really is a route: whatever it says, it is not that there is none.
fn is_answered(serving: &Serving, method: &str, path: &str) {
    let filled = path
        .replace("{swarm}", SWARM)
        .replace("{agent}", CODER)
        .replace("{task}", "task_auth_001")
        .replace("{phase}", "phase_implement")
        .replace("{type}", "knowledge")
        .replace("{memory}", "mem_test_results")
        .replace("{checkpoint}", "checkpoint_00000001")
        .replace("{to}", "checkpoint_00000002")
        .replace("{metric}", "latency")
        .replace("{round}", "1");
    assert!(!filled.contains('{'), "{path}");
    let answer = curl(&format!("{}{filled}", serving.address), &["-X", method]);
    assert!(
        // That there are no swarms is an answer.
        answer.status != 405
            && (answer.status != 200 || (method, path) == ("GET", "/api/swarms"))
            && answer.code() != "unknown_route",
        "{method} {path}: {answer:?}"
    );
}

#[cfg(feature = "mcp")]
fn tools(serving: &Serving) -> BTreeSet<String> {
    let request = serde_json::json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }).to_string();
    let args = [
        "-H",
        "Content-Type: application/json",
        "-H",
        "Accept: application/json, text/event-stream",
        "-d",
        &request,
    ];
    let answer = curl(&format!("{}/mcp", serving.address), &args);
    assert_eq!(answer.status, 200, "{answer:?}");
    let answer = answer.json();
    let tools = answer["result"]["tools"].as_array().expect("tools");
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn every_operation_has_one_command_one_route_and_one_tool() {
    let server = redis();
    let serving = Serving::start(&server.url());
    let (commands, routes) = (commands(&server.url()), routes(&serving));
    assert!(commands.len() > 20, "{commands:?}");
    assert_eq!(commands, routes.keys().cloned().collect::<BTreeSet<_>>());
    #[cfg(feature = "mcp")]
    assert_eq!(tools(&serving), routes.values().cloned().collect::<BTreeSet<_>>());
    #[cfg(not(feature = "mcp"))]
    keyplane_testing::skip("the tools among the operations: this keyplane was built without MCP");
}

/// The command lines at the end of a help, each whole again: help is broken to the width of a terminal.
fn examples(help: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for line in help.lines().skip_while(|line| *line != "Examples:").skip(1).map(str::trim) {
        match lines.last_mut() {
            Some(last) if !line.starts_with("keyplane ") => last.push_str(&format!(" {line}")),
            _ => lines.push(line.to_owned()),
        }
    }
    lines
}

#[test]
fn every_command_helps_with_two_examples_that_it_takes() {
    let server = redis();
    let commands = commands(&server.url());
    for command in commands {
        let words: Vec<&str> = command.split(' ').collect();
        let output = keyplane(&server.url()).arg("swarm").args(&words).arg("--help").output().unwrap();
        let help = String::from_utf8(output.stdout).unwrap();
        let lines = examples(&help);
        assert_eq!(lines.len(), 2, "{help}");
        for line in lines {
            // As a shell takes it apart. Nothing is there, so all it may complain of is that.
            let script = line.replacen("keyplane", "\"$0\" --json", 1);
            let output = std::process::Command::new("sh")
                .args(["-c", &script, env!("CARGO_BIN_EXE_keyplane")])
                .env("KEYPLANE_URL", server.url())
                .output()
                .unwrap();
            let said: Value = serde_json::from_slice(&output.stderr).unwrap_or_default();
            let fine = output.status.code() == Some(0) && (words == ["create"] || words == ["list"]);
            let missing = match words.as_slice() {
                ["checkpoint", _] => ["no_swarm", "unknown"],
                ["lock", _] => ["no_swarm", "fenced"],
                // What is exported is longer than an example can be.
                ["recover"] => ["no_swarm", "bad_export"],
                _ => ["no_swarm"; 2],
            };
            assert!(
                fine || missing.contains(&said["code"].as_str().unwrap_or_default()),
                "{line}: {output:?}"
            );
            let _: () = redis::cmd("FLUSHALL").query(&mut server.admin()).unwrap();
        }
    }
}
