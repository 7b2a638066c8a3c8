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
    told(&url, &["complete", SWARM]);
    let events = told(&url, &["events", SWARM, "--most", "1000"]);
    assert_eq!(events["events"][0]["kind"], "create_swarm");

    let shown = swarm(&url, &["status", SWARM]);
    let shown = String::from_utf8(shown.stdout).unwrap();
    for part in ["completed", "2 completed", "agents", CODER, "task_auth_001"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
}
