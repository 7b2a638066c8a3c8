//! What is refused is refused in clear words at every door, and changes nothing.

use serde_json::{Value, json};

use crate::serving::{
    CODER, SWARM, Serving, VALIDATOR, everything, keyplane, objective, redis, running, swarm, told,
};

/// A task that the coder holds, one that waits, and an open round.
fn rig(url: &str) {
    running(url);
    for task in ["task_auth_001", "task_form_001"] {
        told(url, &["task", "create", SWARM, task, "--title", "T", "--description", "D"]);
    }
    told(url, &["task", "claim", SWARM, "--agent", CODER, "--task", "task_auth_001"]);
    told(url, &["consensus", "open", SWARM, "--eligible", "2"]);
    told(
        url,
        &[
            "phase",
            "create",
            SWARM,
            "phase_design_1",
            "--name",
            "N",
            "--loop-level",
            "3",
            "--entry-criteria",
            "ready",
        ],
    );
}

#[test]
fn a_refused_request_says_why_and_changes_nothing() {
    let server = redis();
    rig(&server.url());
    let serving = Serving::start(&server.url());
    let before = everything(&server);
    // No codec makes it fit.
    let mut rng = fastrand::Rng::with_seed(1);
    let long: String = (0..200_000).map(|_| rng.alphanumeric()).collect();
    let at = |rest: &str| format!("/api/swarms/{SWARM}{rest}");
    let task = |more: Value| {
        let mut task = json!({ "task": "task_other_01", "title": "T", "description": "D" });
        task.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        task
    };
    let phase = |level: Value| json!({ "phase": "phase_other_1", "name": "N", "loopLevel": level });
    let report = |fence: u64| json!({ "agent": CODER, "fence": fence, "progress": 50 });
    for (method, path, body, status, code) in [
        (
            "POST",
            "/api/swarms".to_owned(),
            json!({ "swarm": "nonsense", "objective": objective() }),
            400,
            "bad_parameter",
        ),
        (
            "POST",
            "/api/swarms".to_owned(),
            json!({ "swarm": "swarm_abc", "objective": objective() }),
            400,
            "bad_parameter",
        ),
        (
            "POST",
            "/api/swarms".to_owned(),
            json!({ "swarm": SWARM, "objective": objective() }),
            409,
            "exists",
        ),
        ("POST", "/api/swarms".to_owned(), json!({ "swarm": "swarm_other_001" }), 400, "bad_parameter"),
        (
            "POST",
            "/api/swarms".to_owned(),
            json!({ "swarm": "swarm_other_001", "objective": { "type": "feature" } }),
            400,
            "bad_parameter",
        ),
        (
            "POST",
            "/api/swarms".to_owned(),
            json!({ "swarm": "swarm_other_001", "objective": { "description": long, "type": "feature", "priority": "high" } }),
            413,
            "too_large",
        ),
        ("PATCH", at(""), json!({ "status": "completed" }), 400, "bad_parameter"),
        ("PATCH", at(""), json!({ "status": "paused", "expected": 7 }), 409, "conflict"),
        ("PATCH", at(""), json!({ "confidence": 1.5 }), 400, "bad_parameter"),
        ("PATCH", at(""), json!({}), 400, "bad_parameter"),
        ("PATCH", "/api/swarms/swarm_nowhere_1".to_owned(), json!({ "status": "paused" }), 404, "no_swarm"),
        ("POST", at("/complete"), json!({}), 409, "open_tasks"),
        ("POST", at("/agents"), json!({ "agent": CODER, "role": "coder" }), 409, "exists"),
        ("POST", at("/agents"), json!({ "agent": "agent_x", "role": "coder" }), 400, "bad_parameter"),
        ("POST", at("/agents"), json!({ "agent": "agent_other_01", "role": "a:b" }), 400, "bad_parameter"),
        ("PATCH", at(&format!("/agents/{CODER}")), json!({ "role": "tester" }), 400, "unknown_parameter"),
        ("POST", at("/agents/agent_nobody_1/heartbeat"), json!({}), 404, "unknown"),
        ("POST", at("/tasks"), task(json!({ "title": "x".repeat(201) })), 413, "too_large"),
        ("POST", at("/tasks"), task(json!({ "priority": "urgent" })), 400, "bad_parameter"),
        ("POST", at("/tasks"), task(json!({ "dependencies": ["task_nowhere_1"] })), 404, "unknown"),
        ("POST", at("/tasks"), task(json!({ "titel": "T" })), 400, "unknown_parameter"),
        ("POST", at("/tasks"), task(json!({ "swarm": SWARM })), 400, "bad_parameter"),
        ("POST", at("/tasks/claim"), json!({ "agent": VALIDATOR, "task": "task_auth_001" }), 409, "held"),
        ("POST", at("/tasks/claim"), json!({ "agent": CODER, "task": "task_form_001" }), 409, "busy"),
        ("POST", at("/tasks/claim"), json!({ "agent": "agent_nobody_1" }), 404, "unknown"),
        ("POST", at("/tasks/task_auth_001/progress"), report(9), 409, "lost"),
        ("POST", at("/tasks/task_form_001/progress"), report(1), 409, "lost"),
        ("POST", at("/tasks/task_auth_001/complete"), json!({ "agent": VALIDATOR, "fence": 1 }), 409, "lost"),
        ("POST", at("/phases"), phase(json!(5)), 400, "bad_parameter"),
        ("POST", at("/phases"), phase(json!("three")), 400, "bad_parameter"),
        ("POST", at("/phases"), phase(json!(-1)), 400, "bad_parameter"),
        ("POST", at("/phases/phase_design_1/move"), json!({ "to": "active" }), 409, "unmet"),
        ("POST", at("/phases/phase_design_1/move"), json!({ "to": "completed" }), 409, "no_such_move"),
        (
            "PUT",
            at("/memory/knowledge/mem_too_long_1"),
            json!({ "agent": CODER, "content": long }),
            413,
            "too_large",
        ),
        (
            "PUT",
            at("/memory/dreams/mem_of_night_1"),
            json!({ "agent": CODER, "content": 1 }),
            400,
            "bad_parameter",
        ),
        ("POST", at("/consensus/1/vote"), json!({ "agent": CODER, "confidence": 0.9 }), 409, "no_validator"),
        (
            "POST",
            at("/consensus/1/vote"),
            json!({ "agent": "agent_nobody_1", "confidence": 0.9 }),
            409,
            "no_validator",
        ),
        ("POST", at("/consensus/7/vote"), json!({ "agent": VALIDATOR, "confidence": 0.9 }), 404, "unknown"),
        (
            "POST",
            at("/consensus/1/vote"),
            json!({ "agent": VALIDATOR, "confidence": 0.9, "reasoning": long }),
            413,
            "too_large",
        ),
        ("POST", at("/consensus/0/close"), json!({}), 400, "bad_parameter"),
        ("POST", at("/consensus"), json!({ "eligible": 901 }), 400, "bad_parameter"),
        ("POST", at("/consensus"), json!({ "eligible": 2, "lasts": "25h" }), 400, "bad_parameter"),
        ("POST", at("/consensus/1/close"), json!({}), 409, "early"),
    ] {
        let answer = serving.send(method, &path, &body);
        assert_eq!((answer.status, answer.code().as_str()), (status, code), "{method} {path}: {answer:?}");
        let error = &answer.json()["error"];
        for part in ["message", "help"] {
            assert!(!error[part].as_str().unwrap().is_empty(), "{error}");
        }
        assert!(error["message"].as_str().unwrap().len() < 1000, "what was sent does not come back: {error}");
    }
    for (path, status, code) in [
        (at("/tasks/task_nowhere_1"), 404, "unknown"),
        ("/api/swarms/swarm_nowhere_1/tasks/task_auth_001".to_owned(), 404, "no_swarm"),
        ("/api/swarms/nonsense".to_owned(), 400, "bad_parameter"),
        (at("?brief=perhaps"), 400, "bad_parameter"),
        (at("?verbose=true"), 400, "unknown_parameter"),
        (at("/memory"), 400, "bad_parameter"),
        (at("/events?after=yesterday"), 400, "bad_parameter"),
        (at("/events?most=1001"), 400, "bad_parameter"),
    ] {
        let answer = serving.get(&path);
        assert_eq!((answer.status, answer.code().as_str()), (status, code), "{path}: {answer:?}");
    }
    assert_eq!(everything(&server), before);
}

#[test]
fn what_is_no_request_is_refused_too() {
    let server = redis();
    let serving = Serving::start(&server.url());
    let url = format!("{}/api/swarms", serving.address);
    let send = |args: &[&str]| {
        let answer = keyplane_testing::curl(&url, args);
        (answer.status, answer.code())
    };
    let json = ["-H", "Content-Type: application/json", "-d"];
    assert_eq!(send(&["-d", "swarm=swarm_abc123def456"]).0, 415, "a form");
    for body in ["{", "[]", "null", "{\"swarm\":", "\"swarm\""] {
        assert_eq!(send(&[&json[..], &[body]].concat()).0, 400, "{body}");
    }
    let patch = keyplane_testing::curl(&format!("{url}/{SWARM}?status=running"), &["-X", "PATCH"]);
    assert_eq!((patch.status, patch.code().as_str()), (400, "bad_parameter"), "a change in the query");
    let foreign = send(&["-H", "Host: evil.example", "-H", "Content-Type: application/json", "-d", "{}"]);
    assert_eq!(foreign, (403, "foreign_host".to_owned()));
    assert!(everything(&server).is_empty());
}

#[test]
fn commands_exit_with_who_is_to_blame() {
    let server = redis();
    let url = server.url();
    rig(&url);
    let before = everything(&server);
    let code = |words: &[&str]| {
        let output = swarm(&url, &[words, &["--json"]].concat());
        let said: Value = serde_json::from_slice(&output.stderr).unwrap_or_default();
        (output.status.code().unwrap(), said["code"].as_str().unwrap_or_default().to_owned())
    };
    assert_eq!(code(&["status", "swarm_nowhere_1"]), (1, "no_swarm".into()));
    assert_eq!(
        code(&["task", "claim", SWARM, "--agent", VALIDATOR, "--task", "task_auth_001"]),
        (1, "held".into())
    );
    assert_eq!(
        code(&["consensus", "vote", SWARM, "1", "--agent", CODER, "--confidence", "1"]),
        (1, "no_validator".into())
    );
    assert_eq!(code(&["status", "nonsense"]), (2, "bad_parameter".into()));
    let level = ["phase", "create", SWARM, "phase_other_1", "--name", "N", "--loop-level", "5"];
    assert_eq!(code(&level), (2, "bad_parameter".into()));
    assert_eq!(code(&["update", SWARM, "--confidence", "-1"]), (2, "bad_parameter".into()));
    assert_eq!(code(&["update", SWARM, "--confidence", "NaN"]), (2, "bad_parameter".into()));
    assert_eq!(code(&["update", SWARM, "--status", "completed"]).0, 2, "clap says that itself");
    assert_eq!(everything(&server), before);
    let away = keyplane("redis://127.0.0.1:1").args(["swarm", "status", SWARM]).output().unwrap();
    assert_eq!(away.status.code(), Some(3), "{away:?}");
}

#[test]
fn refusals_say_what_is_true() {
    let server = redis();
    let url = server.url();
    rig(&url);
    let said = |words: &[&str]| {
        let output = swarm(&url, &[words, &["--json"]].concat());
        let said: Value = serde_json::from_slice(&output.stderr).unwrap_or_default();
        let part = |name: &str| said[name].as_str().unwrap_or_default().to_owned();
        (output.status.code().unwrap(), part("code"), part("error"))
    };
    let claim = |task: &str| said(&["task", "claim", SWARM, "--agent", VALIDATOR, "--task", task]);
    let held = claim("task_auth_001");
    assert_eq!(held.2, format!("the task `task_auth_001` is held by `{CODER}`"));
    let key = format!("swarm:{SWARM}:tasks:task_typed_01");
    let _: () = redis::cmd("HSET").arg(key).arg(&["status", "pending"]).query(&mut server.admin()).unwrap();
    let typed = claim("task_typed_01");
    assert_eq!((typed.0, typed.1.as_str()), (1, "not_listed"));
    assert!(typed.2.contains("is pending, and not listed"), "{typed:?}");

    let objective =
        |objective: Value| said(&["create", "swarm_other_001", "--objective", &objective.to_string()]);
    for (given, part) in [
        (
            json!({ "description": "D", "type": "weird", "priority": "high" }),
            "`objective.type` cannot be \"weird\": it is one of feature, bugfix",
        ),
        (json!({ "type": "feature", "priority": "high" }), "`objective.description` is missing"),
        (
            json!({ "description": 7, "type": "feature", "priority": "high" }),
            "`objective.description` cannot be 7",
        ),
        (
            json!({ "description": "D", "type": "feature", "priority": "high", "estimatedDuration": 5 }),
            "`objective.estimatedDuration`",
        ),
        (
            json!({ "description": "D", "type": "feature", "priority": "high", "requirements": ["A", 7] }),
            "`objective.requirements[1]`",
        ),
        (
            json!({ "description": "D", "type": "feature", "priority": "high", "constraints": [{ "type": "time" }] }),
            "`objective.constraints[0].description` is missing",
        ),
    ] {
        let refused = objective(given);
        assert_eq!((refused.0, refused.1.as_str()), (2, "bad_parameter"), "{refused:?}");
        assert!(refused.2.contains(part), "{part}: {refused:?}");
    }
    let long = objective(json!({ "description": "x".repeat(1001), "type": "feature", "priority": "high" }));
    assert_eq!((long.0, long.1.as_str()), (2, "too_large"), "{long:?}");

    let old = said(&["performance", "record", SWARM, "latency", "--value", "5", "--at", "1736332200000"]);
    assert_eq!((old.0, old.1.as_str()), (2, "too_old"), "{old:?}");
    let key = format!("swarm:{SWARM}:performance:memory");
    let _: () = redis::cmd("HSET").arg(key).arg(&["value", "3"]).query(&mut server.admin()).unwrap();
    let single = said(&["performance", "record", SWARM, "memory", "--value", "5"]);
    assert_eq!((single.0, single.1.as_str()), (1, "no_series"), "{single:?}");
}

#[test]
fn an_address_that_others_reach_needs_a_token() {
    let server = redis();
    let refused = keyplane(&server.url()).args(["swarm", "serve", "--listen", "0.0.0.0:0"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("token"), "{refused:?}");
}
