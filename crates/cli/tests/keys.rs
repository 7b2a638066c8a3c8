//! `keyplane keys …` from the outside: what it prints and how it exits.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use assert_cmd::Command;
use serde_json::Value;

fn keyplane(args: &[&str]) -> (i32, String, String) {
    let output = Command::cargo_bin("keyplane").unwrap().env("NO_COLOR", "1").args(args).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn json(args: &[&str]) -> (i32, Value) {
    let (code, stdout, _) = keyplane(args);
    (code, serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}")))
}

fn contract(text: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys.toml");
    std::fs::write(&path, text).unwrap();
    let path = path.to_str().unwrap().to_owned();
    (folder, path)
}

const SHOP: &str = r#"
[contract]
name = "shop"
version = "1.0"
doc = "Shop."
[component]
app = "App."
[param]
item = { int = "1..99" }
[key.order]
pattern = "order:<item>"
type = "hash"
ttl = { policy = "sliding", for = "2h" }
doc = "Order."
writes = ["app"]
"#;

#[test]
fn match_json_names_schema_name_type_params_and_ttl() {
    let (code, found) = json(&["keys", "match", "--json", "swarm:swarm_abc123def456:agents:agent_dev00001"]);
    assert_eq!(code, 0);
    assert_eq!(found["schema"], "swarm");
    assert_eq!(found["name"], "agent");
    assert_eq!(found["type"], "hash");
    assert_eq!(found["params"]["swarm_id"], "swarm_abc123def456");
    assert_eq!(found["params"]["agent_id"], "agent_dev00001");
    assert_eq!(found["ttl"]["policy"], "linked");
    assert_eq!(found["ttl"]["to"], "swarm");
    assert_eq!(found["legacy"], false);
}

#[test]
fn match_exits_1_when_something_matches_nothing() {
    let (code, stdout, _) = keyplane(&["keys", "match", "ob:BTCUSDT", "no:such:key"]);
    assert_eq!(code, 1);
    assert!(stdout.contains("market/ob") && stdout.contains("matches nothing"), "{stdout}");
    let (code, found) = json(&["keys", "match", "--json", "no:such:key"]);
    assert_eq!((code, &found["schema"]), (1, &Value::Null));
}

#[test]
fn a_deployment_may_have_its_own_namespace_and_hash_tags() {
    let key = "{dolos:prod:mempool}:pending";
    let (code, found) = json(&[
        "keys",
        "match",
        "--json",
        "--schema",
        "mempool",
        "--namespace",
        "dolos:prod:mempool",
        "--hash-tags",
        key,
    ]);
    assert_eq!((code, &found["name"]), (0, &Value::from("pending")));
    let (code, _, stderr) = keyplane(&["keys", "list", "--schema", "mempool", "--namespace", "a b"]);
    assert_eq!(code, 2);
    assert!(stderr.contains("cannot be a namespace"), "{stderr}");
}

#[test]
fn check_shows_the_place_the_reason_and_exits_1() {
    let (_folder, path) = contract(&SHOP.replace("item = {", "itme = {"));
    let (code, stdout, _) = keyplane(&["keys", "check", &path]);
    assert_eq!(code, 1);
    assert!(
        stdout.contains("keys.toml:11:18")
            && stdout.contains("<item> is not declared")
            && stdout.contains("did you mean `itme`?"),
        "{stdout}"
    );
    let (code, report) = json(&["keys", "check", "--json", &path, "swarm"]);
    assert_eq!(code, 1);
    assert_eq!(
        (&report[0]["sound"], &report[0]["findings"][0]["line"], &report[1]["sound"]),
        (&Value::from(false), &Value::from(11), &Value::from(true))
    );
}

#[test]
fn check_accepts_the_five_contracts() {
    let (code, stdout, _) = keyplane(&["keys", "check", "mempool", "docket", "market", "swarm", "sequencer"]);
    assert_eq!(code, 0);
    assert_eq!(stdout.lines().filter(|line| line.starts_with("sound ")).count(), 5, "{stdout}");
}

#[test]
fn bad_input_is_exit_2_with_what_to_do() {
    for args in [
        &["keys", "check", "nowhere.toml"][..],
        &["keys", "show", "no_such_key"],
        &["keys", "doc", "nosuch"],
        &["keys", "acl"],
    ] {
        let (code, stdout, stderr) = keyplane(args);
        assert_eq!(code, 2, "{args:?}");
        assert!(
            stdout.is_empty() && stderr.contains("error: ") && stderr.contains("help: "),
            "{args:?}: {stderr}"
        );
    }
    let (code, _, stderr) = keyplane(&["--json", "keys", "doc", "nosuch"]);
    let error: Value = serde_json::from_str(&stderr).unwrap();
    assert!(code == 2 && error["error"].is_string() && error["help"].is_string(), "{stderr}");
    assert_eq!(keyplane(&["keys", "nosuch"]).0, 2);
}

#[test]
fn an_unsound_contract_is_not_worked_with() {
    let (_folder, path) = contract(&SHOP.replace("writes = [\"app\"]", ""));
    let (code, stdout, stderr) = keyplane(&["keys", "list", "--schema", &path]);
    assert_eq!(code, 2);
    assert!(stdout.is_empty() && stderr.contains("nobody writes `order`"), "{stderr}");
}

#[test]
fn diff_gives_a_verdict_and_exits_1_when_programs_break() {
    let (_a, old) = contract(SHOP);
    let (_b, new) = contract(&SHOP.replace("1..99", "1..9"));
    let (code, diff) = json(&["keys", "diff", "--json", &old, &new]);
    assert_eq!(code, 1);
    assert_eq!((&diff["readers"], &diff["writers"]), (&Value::from("fine"), &Value::from("breaks")));
    let (code, stdout, _) = keyplane(&["keys", "diff", &old, &old]);
    assert_eq!((code, stdout.trim()), (0, "no difference"));
}

#[test]
fn acl_prints_rules_and_access() {
    let (code, stdout, _) = keyplane(&["keys", "acl", "--schema", "sequencer", "--print"]);
    assert_eq!(code, 0);
    let users: Vec<&str> = stdout.lines().filter(|line| line.starts_with("ACL SETUSER ")).collect();
    assert_eq!(users.len(), 8);
    assert!(
        users
            .iter()
            .all(|user| user.contains(" -@all ") && !user.contains("+keys ") && !user.contains("+flushall"))
    );
    let (_, stdout, _) = keyplane(&["keys", "acl", "--schema", "sequencer"]);
    let row = stdout.lines().find(|line| line.starts_with("dequeuer\tsubmission_queue\t")).unwrap();
    assert!(row.contains("\tconsume\tthe same\t"), "{row}");
}

#[test]
fn doc_and_json_schema_are_printed() {
    let (code, page, _) = keyplane(&["keys", "doc", "swarm"]);
    assert!(code == 0 && page.starts_with("# The swarm keyspace\n") && page.contains("### agent\n"));
    let (code, schema) = json(&["keys", "json-schema"]);
    assert!(code == 0 && schema["properties"]["key"].is_object());
}

#[test]
fn list_and_show_speak_json() {
    let (code, list) = json(&["keys", "list", "--json", "--schema", "market"]);
    assert!(
        code == 0
            && list
                .as_array()
                .unwrap()
                .iter()
                .any(|key| key["name"] == "ob" && key["pattern"] == "ob:<symbol>")
    );
    let (_, key) = json(&["keys", "show", "--json", "sequencer/active_epochs"]);
    assert!(key["operations"].as_array().unwrap().contains(&Value::from("open_window")));
    let (code, key) = json(&["keys", "show", "--json", "ob"]);
    assert!(
        code == 0 && key["fields"].as_array().unwrap().iter().any(|field| field["name"] == "bid<level>_p")
    );
}

#[test]
fn keys_can_be_piped_in_and_a_miss_is_explained() {
    let run = |input: &str| {
        let output = Command::cargo_bin("keyplane")
            .unwrap()
            .env("NO_COLOR", "1")
            .args(["keys", "match", "-"])
            .write_stdin(input)
            .output()
            .unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
    };
    let (code, stdout) = run("ob:BTCUSDT\nit's:odd\nswarm:swarm_abc123def456:agent:agent_dev00001\n");
    assert_eq!(code, 1);
    assert_eq!(stdout.lines().count(), 3, "{stdout}");
    assert!(stdout.contains("nearest is swarm/agent: `agent` should be `agents`; a typo?"), "{stdout}");
    assert_eq!(run("ob:BTCUSDT\n").0, 0);
}

#[test]
fn the_contract_of_the_folder_is_the_default() {
    let (folder, _path) = contract(SHOP);
    let output = Command::cargo_bin("keyplane")
        .unwrap()
        .env("NO_COLOR", "1")
        .current_dir(folder.path())
        .args(["keys", "list"])
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        "order\thash\torder:<item>\t2h from the last write\n"
    );
}

#[test]
fn two_contracts_that_share_keys_are_a_finding() {
    let (_a, first) = contract(SHOP);
    let (_b, second) = contract(&SHOP.replace("name = \"shop\"", "name = \"kiosk\""));
    let (code, stdout, _) = keyplane(&["keys", "check", &first, &second]);
    assert_eq!(code, 1);
    assert!(stdout.contains("shop/order and kiosk/order both match `order:1`"), "{stdout}");
}

#[test]
fn an_unreadable_file_does_not_hide_the_others() {
    let (_folder, path) = contract(SHOP);
    let (code, stdout, stderr) = keyplane(&["keys", "check", "nowhere.toml", &path]);
    assert_eq!(code, 2);
    assert!(stdout.contains("sound ") && stderr.contains("nowhere.toml"), "{stdout}{stderr}");
}

#[test]
fn scripts_are_checked_with_their_contract() {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../macros/tests/ui");
    let (contract, bad, none) = (
        format!("{beside}/till.toml"),
        format!("{beside}/touches_a_stranger"),
        format!("{beside}/lacks_a_script"),
    );
    let (code, stdout, _) = keyplane(&["keys", "check", &contract, "--scripts", &bad]);
    assert_eq!(code, 1, "{stdout}");
    assert!(stdout.contains("error[key-origin]: this key does not come from KEYS"), "{stdout}");
    let (code, found) = json(&["keys", "check", &contract, "--scripts", &none, "--json"]);
    assert_eq!((code, &found[1]["missing"], &found[1]["operation"]), (1, &true.into(), &"take".into()));
    let store = concat!(env!("CARGO_MANIFEST_DIR"), "/../store/tests");
    let (code, stdout, _) = keyplane(&[
        "keys",
        "check",
        &format!("{store}/parts.toml"),
        "--scripts",
        &format!("{store}/scripts"),
    ]);
    assert_eq!((code, stdout.matches("sound").count()), (0, 4), "{stdout}");
    let (code, _, stderr) = keyplane(&["keys", "check", &contract, "--scripts", "nowhere"]);
    assert_eq!(code, 2, "{stderr}");
}
