//! The whole life of a swarm, by curl and by the commands.

use keyplane_testing::curl;
use serde_json::{Value, json};

use crate::serving::{CODER, SWARM, Serving, VALIDATOR, objective, redis, running, swarm, told};

#[test]
fn curl_drives_the_whole_life_of_a_swarm() {
    let server = redis();
    let serving = Serving::start(&server.url());
    let at = |rest: &str| format!("/api/swarms/{SWARM}{rest}");
    let post = |rest: &str, body: Value| serving.done("POST", &at(rest), &body);
    serving.done("POST", "/api/swarms", &json!({ "swarm": SWARM, "objective": objective() }));
    post("/agents", json!({ "agent": CODER, "role": "coder", "metadata": { "experience": "senior" } }));
    post("/agents", json!({ "agent": VALIDATOR, "role": "reviewer", "type": "validator" }));
    let updated = serving.done("PATCH", &at(""), &json!({ "status": "running", "expected": 1 }));
    assert_eq!(updated["version"], 2);

    let task = |id: &str, first: &[&str]| json!({ "task": id, "title": id, "description": "To be done.", "priority": "high", "dependencies": first });
    assert_eq!(post("/tasks", task("task_schema_01", &[]))["status"], "pending");
    assert_eq!(post("/tasks", task("task_auth_001", &["task_schema_01"]))["status"], "blocked");
    let claim = post("/tasks/claim", json!({ "agent": CODER }));
    assert_eq!((&claim["claimed"], &claim["task"]), (&json!(true), &json!("task_schema_01")));
    assert_eq!(claim["description"], "To be done.");
    let fence = &claim["fence"];
    post(&format!("/agents/{CODER}/heartbeat"), json!({}));
    let report = json!({ "agent": CODER, "fence": fence, "progress": 40 });
    post("/tasks/task_schema_01/progress", report);
    let done = post(
        "/tasks/task_schema_01/complete",
        json!({ "agent": CODER, "fence": fence, "result": { "files": 3 } }),
    );
    assert_eq!(done["madeReady"], 1);
    let shown = serving.get(&at("/tasks/task_schema_01")).json();
    assert_eq!((&shown["status"], &shown["result"]["files"]), (&json!("completed"), &json!(3)));

    let claim = post("/tasks/claim", json!({ "agent": CODER, "task": "task_auth_001" }));
    post("/tasks/task_auth_001/fail", json!({ "agent": CODER, "fence": claim["fence"], "again": true }));
    let claim = post("/tasks/claim", json!({ "agent": CODER }));
    assert_eq!((&claim["task"], &claim["attempt"]), (&json!("task_auth_001"), &json!(1)));
    post("/tasks/task_auth_001/complete", json!({ "agent": CODER, "fence": claim["fence"] }));
    assert_eq!(post("/tasks/claim", json!({ "agent": CODER }))["claimed"], false);

    let phase = json!({ "phase": "phase_implement", "name": "Implementation", "loopLevel": 3, "exitCriteria": ["tested"] });
    post("/phases", phase);
    post("/phases/phase_implement/move", json!({ "to": "active" }));
    post("/phases/phase_implement/move", json!({ "to": "completed", "met": ["tested"] }));
    assert_eq!(serving.get(&at("/phases/phase_implement")).json()["status"], "completed");

    let memory = json!({ "agent": CODER, "content": { "passed": 41 }, "tags": ["login", "tests"] });
    serving.done("PUT", &at("/memory/result/mem_test_results"), &memory);
    assert_eq!(serving.get(&at("/memory/result/mem_test_results")).json()["content"]["passed"], 41);
    for (query, found) in [("?tags=login,tests", 1), ("?tags=login&tags=tests", 1), ("?tags=login,other", 0)]
    {
        let memories = serving.get(&at(&format!("/memory{query}"))).json();
        assert_eq!(memories["memories"].as_array().unwrap().len(), found, "{query}");
    }

    let round = post("/consensus", json!({ "eligible": 1, "lasts": "10m", "phase": "phase_implement" }));
    assert_eq!(round["round"], 1);
    let vote = json!({ "agent": VALIDATOR, "confidence": 0.95, "reasoning": "All criteria hold." });
    assert_eq!(post("/consensus/1/vote", vote)["voted"], 1);
    assert_eq!(post("/consensus/1/close", json!({}))["decision"], "PROCEED");
    assert_eq!(serving.get(&at("/consensus/1")).json()["votes"][0]["agentId"], VALIDATOR);

    post("/complete", json!({}));
    let status = serving.get(&at("")).json();
    assert_eq!(status["status"], "completed");
    assert_eq!(status["tasksByStatus"], json!({ "completed": 2 }));
    assert_eq!((status["agents"].as_array().unwrap().len(), status["taskCount"].as_u64()), (2, Some(2)));
    assert_eq!(serving.get(&at("?brief=true")).json()["agents"], Value::Null);

    let batch = serving.get(&at("/events?most=1000")).json();
    let kinds: Vec<&str> =
        batch["events"].as_array().unwrap().iter().map(|event| event["kind"].as_str().unwrap()).collect();
    assert_eq!((kinds[0], *kinds.last().unwrap()), ("create_swarm", "complete_swarm"));
    let after = batch["events"][kinds.len() - 2]["id"].as_str().unwrap();
    let live = curl(
        &format!("{}{}", serving.address, at("/events")),
        &["-H", &format!("Last-Event-ID: {after}"), "-m", "2", "-N"],
    );
    let changes: Vec<&str> = live.body.lines().filter(|line| *line == "event: change").collect();
    assert_eq!(changes.len(), 1, "{}", live.body);
    assert!(live.body.contains("complete_swarm"), "{}", live.body);
}

#[test]
fn the_commands_drive_the_whole_life_of_a_swarm() {
    let server = redis();
    let url = server.url();
    running(&url);
    let text = ["--title", "Login form", "--description", "A form with two fields."];
    told(&url, &[&["task", "create", SWARM, "task_schema_01"], &text[..]].concat());
    let waits = [&["task", "create", SWARM, "task_auth_001", "--dependencies", "task_schema_01"], &text[..]];
    assert_eq!(told(&url, &waits.concat())["status"], "blocked");
    for task in ["task_schema_01", "task_auth_001"] {
        let claim = told(&url, &["task", "claim", SWARM, "--agent", CODER]);
        assert_eq!(claim["task"], task);
        let fence = claim["fence"].to_string();
        told(&url, &["agent", "heartbeat", SWARM, CODER]);
        let holds = ["--agent", CODER, "--fence", &fence];
        told(&url, &[&["task", "progress", SWARM, task, "--progress", "40"], &holds[..]].concat());
        let result = ["task", "complete", SWARM, task, "--result", r#"{"files":3}"#];
        told(&url, &[&result, &holds[..]].concat());
    }
    told(&url, &["agent", "update", SWARM, CODER, "--confidence", "0.9"]);
    assert_eq!(told(&url, &["agent", "show", SWARM, CODER])["confidence"], 0.9);
    let named = ["--name", "Implementation", "--loop-level", "3", "--exit-criteria", "tested, and read"];
    told(&url, &[&["phase", "create", SWARM, "phase_implement"], &named[..]].concat());
    told(&url, &["phase", "move", SWARM, "phase_implement", "--to", "active"]);
    let met = ["--to", "completed", "--met", "tested, and read"];
    told(&url, &[&["phase", "move", SWARM, "phase_implement"], &met[..]].concat());
    let kept = ["--agent", CODER, "--content", "in plain words", "--tags", "login,tests"];
    told(&url, &[&["memory", "put", SWARM, "knowledge", "mem_test_results"], &kept[..]].concat());
    let found = told(&url, &["memory", "search", SWARM, "--tags", "tests"]);
    assert_eq!(found["memories"][0]["content"], "in plain words");
    assert_eq!(told(&url, &["consensus", "open", SWARM, "--eligible", "1"])["round"], 1);
    told(&url, &["consensus", "vote", SWARM, "1", "--agent", VALIDATOR, "--confidence", "0.95"]);
    assert_eq!(told(&url, &["consensus", "close", SWARM, "1"])["decision"], "PROCEED");
    // What fails is tried again, or called off.
    for (task, waits_for) in [("task_tests_001", None), ("task_docs_0001", Some("task_tests_001"))] {
        let more = waits_for.map_or_else(Vec::new, |first| vec!["--dependencies", first]);
        told(&url, &[&["task", "create", SWARM, task], &text[..], &more].concat());
    }
    for attempt in [0, 1] {
        let claim = told(&url, &["task", "claim", SWARM, "--agent", CODER]);
        assert_eq!((&claim["task"], &claim["attempt"]), (&json!("task_tests_001"), &json!(attempt)));
        let fence = claim["fence"].to_string();
        told(&url, &["task", "fail", SWARM, "task_tests_001", "--agent", CODER, "--fence", &fence]);
        if attempt == 0 {
            let again = told(&url, &["task", "retry", SWARM, "task_tests_001"]);
            assert_eq!(again, json!({ "status": "pending", "attempt": 1 }));
        }
    }
    assert_eq!(swarm(&url, &["complete", SWARM]).status.code(), Some(1), "a task is blocked");
    let waiting = told(&url, &["task", "cancel", SWARM, "task_tests_001"]);
    assert_eq!(waiting, json!({ "status": "cancelled", "waiting": ["task_docs_0001"] }));
    told(&url, &["task", "cancel", SWARM, "task_docs_0001"]);
    told(&url, &["complete", SWARM]);
    let events = told(&url, &["events", SWARM, "--most", "1000"]);
    assert_eq!(events["events"][0]["kind"], "create_swarm");

    let shown = swarm(&url, &["status", SWARM]);
    let shown = String::from_utf8(shown.stdout).unwrap();
    for part in ["completed", "2 completed", "2 cancelled", "agents", CODER, "task_auth_001"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
}

#[test]
fn what_was_given_is_shown_as_it_is() {
    let server = redis();
    let url = server.url();
    running(&url);
    for given in [r#"{"passed":41,"failed":1}"#, "{}", "[]", r#"["a, b","c"]"#, "41"] {
        let kept = ["--agent", CODER, "--content", given];
        told(&url, &[&["memory", "put", SWARM, "result", "mem_test_results"], &kept[..]].concat());
        let shown = swarm(&url, &["memory", "get", SWARM, "result", "mem_test_results"]);
        let shown = String::from_utf8(shown.stdout).unwrap();
        let content = shown.lines().find_map(|line| line.strip_prefix("content")).map(str::trim);
        let told = told(&url, &["memory", "get", SWARM, "result", "mem_test_results"]);
        assert_eq!(content.unwrap_or_default(), told["content"].to_string(), "{shown}");
    }
    let shown = swarm(&url, &["status", SWARM]);
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("2 idle"), "how many are what is told in words: {shown}");
}

#[test]
fn the_keys_of_a_swarm_are_those_that_the_store_has() {
    let server = redis();
    let url = server.url();
    running(&url);
    let text = ["--title", "Login form", "--description", "A form with two fields."];
    told(&url, &[&["task", "create", SWARM, "task_schema_01"], &text[..]].concat());
    let kept = ["--agent", CODER, "--content", "in plain words", "--tags", "login,tests"];
    told(&url, &[&["memory", "put", SWARM, "knowledge", "mem_test_results"], &kept[..]].concat());
    told(&url, &["consensus", "open", SWARM, "--eligible", "1"]);
    told(&url, &["consensus", "vote", SWARM, "1", "--agent", VALIDATOR, "--confidence", "0.95"]);
    told(&url, &["phase", "create", SWARM, "phase_implement", "--name", "N", "--loop-level", "3"]);
    told(&url, &["performance", "record", SWARM, "latency", "--value", "41.5"]);
    let key = format!("swarm:{SWARM}:performance:memory");
    let _: () = redis::cmd("HSET").arg(key).arg(&["value", "3"]).query(&mut server.admin()).unwrap();
    told(&url, &["checkpoint", "create", SWARM]);
    told(&url, &["lock", "take", SWARM, "--owner", "somebody"]);
    let answer = told(&url, &["keys", SWARM]);
    let mut listed: Vec<(String, String, String)> = answer["keys"]
        .as_array()
        .unwrap()
        .iter()
        .map(|held| {
            let text = |name: &str| held[name].as_str().unwrap().to_owned();
            let ttl = held["ttl"].as_u64().map_or(-1, |ttl| ttl as i64);
            assert!(ttl == -1 || (0..=604_800).contains(&ttl), "{held}");
            assert_eq!(
                ttl == -1,
                ["lock_fence", "lock_transitions", "performance"].contains(&&*text("family"))
                    && text("type") != "zset",
                "{held}"
            );
            (text("key"), text("family"), text("type"))
        })
        .collect();
    let mut admin = server.admin();
    let mut keys: Vec<String> = redis::cmd("KEYS").arg(format!("*{SWARM}*")).query(&mut admin).unwrap();
    keys.sort();
    listed.sort();
    assert_eq!(listed.iter().map(|held| held.0.clone()).collect::<Vec<_>>(), keys);
    for (key, family, kind) in &listed {
        let found: String = redis::cmd("TYPE").arg(key).query(&mut admin).unwrap();
        assert_eq!((&found, family.is_empty()), (kind, false), "{key}");
    }
    assert_eq!(swarm(&url, &["keys", "swarm_nowhere_1"]).status.code(), Some(1));
}

#[test]
fn help_says_what_each_command_does() {
    let output = swarm("redis://127.0.0.1:1", &["--help"]);
    let help = String::from_utf8(output.stdout).unwrap();
    let words = help.split_whitespace().collect::<Vec<_>>().join(" ");
    for about in [
        "serve Serve the operations over HTTP",
        "sim Watch a fleet that claims",
        "task Tasks of a swarm: create, claim",
        "consensus Consensus rounds of a swarm: open",
        "lock The lock of a swarm: take",
    ] {
        assert!(words.contains(about), "{about}: {help}");
    }
}
