//! The attribute: one test per store, chosen by the environment, with skips that have a name.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::env;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use keyplane_testing::{Kind, Place, Slot, every_store};

/// A test sees its own namespace, on whatever store.
#[every_store]
async fn a_place_takes_keys(place: Place) {
    let key = place.key("k");
    place.raw::<()>(&key, &["SET", &key, "v"]);
    assert_eq!(place.raw::<String>(&key, &["GET", &key]), "v");
    assert_eq!(place.hash_tags, place.kind == Kind::Cluster);
    assert_eq!(place.masters().len(), if place.kind == Kind::Cluster { 3 } else { 1 });
    assert_eq!(place.tls.is_some(), place.kind == Kind::Tls);
}

/// Keys of all slots are removed at the end; the next test checks the count.
#[every_store(only(redis, cluster))]
async fn results_may_be_returned(place: Place) -> Result<(), String> {
    let keys: Vec<String> = (0..20).map(|index| place.key(&index.to_string())).collect();
    for key in &keys {
        place.raw::<()>(key, &["SET", key, "v"]);
    }
    place.clear().map_err(|error| error.to_string())?;
    let left = keys.iter().filter(|key| place.raw::<bool>(key, &["EXISTS", key])).count();
    let slots: std::collections::BTreeSet<Slot> = keys.iter().map(Slot::of).collect();
    assert!(slots.len() > 1);
    if left == 0 { Ok(()) } else { Err(format!("{left} keys are left")) }
}

/// Kept out of ordinary runs by the attribute that passes through; `ignore_reaches_the_tests` asks for it.
#[every_store(except(unix, tls, valkey, cluster, sentinel))]
#[ignore = "shows that #[ignore] reaches the tests"]
async fn ignored(place: Place) {
    panic!("{} ran", place.kind);
}

/// Runs tests of this file in a process of their own.
fn run(tests: &[&str], variables: &[(&str, &str)]) -> Output {
    Command::new(env::current_exe().unwrap())
        .arg("--exact")
        .args(tests)
        .arg("--nocapture")
        .env_remove("KEYPLANE_TEST_SERVERS")
        .envs(variables.iter().copied())
        .output()
        .unwrap()
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn ignore_reaches_the_tests() {
    let on_redis = [("KEYPLANE_TEST_STORES", "redis")];
    let kept_out = run(&["ignored::redis"], &on_redis);
    assert!(kept_out.status.success(), "{}", errors(&kept_out));
    assert!(String::from_utf8_lossy(&kept_out.stdout).contains("0 passed; 0 failed; 1 ignored"));
    let asked_for = run(&["ignored::redis", "--ignored"], &on_redis);
    assert!(!asked_for.status.success());
    assert!(errors(&asked_for).contains("redis ran"), "{}", errors(&asked_for));
}

#[test]
fn the_environment_chooses_stores() {
    let skips = tempfile::NamedTempFile::new().unwrap();
    let tests = ["a_place_takes_keys::redis", "a_place_takes_keys::cluster"];
    let skips_file = skips.path().to_str().unwrap();
    let output = run(&tests, &[("KEYPLANE_TEST_STORES", "redis"), ("KEYPLANE_SKIPS", skips_file)]);
    assert!(output.status.success(), "{}", errors(&output));
    let line = "SKIP every_store::a_place_takes_keys::cluster: KEYPLANE_TEST_STORES leaves it out\n";
    assert_eq!(fs::read_to_string(skips.path()).unwrap(), line);
    assert!(errors(&output).contains(line));
}

#[test]
fn a_typo_in_the_choice_is_a_failure() {
    let output = run(&["a_place_takes_keys::redis"], &[("KEYPLANE_TEST_STORES", "reddis")]);
    assert!(!output.status.success());
    let text = "KEYPLANE_TEST_STORES: no kind of store is `reddis`: there are redis, unix, tls, valkey,";
    assert!(errors(&output).contains(text), "{}", errors(&output));
}

#[test]
fn a_store_that_cannot_be_had_is_a_named_skip() {
    let variables =
        [("KEYPLANE_VALKEY_SERVER", ""), ("KEYPLANE_TEST_STORES", ""), ("KEYPLANE_SKIPS", "/dev/null")];
    let output = run(&["a_place_takes_keys::valkey"], &variables);
    assert!(output.status.success(), "{}", errors(&output));
    let line = "SKIP every_store::a_place_takes_keys::valkey: no valkey-server";
    assert!(errors(&output).contains(line), "{}", errors(&output));
}

#[test]
fn every_kind_of_the_attribute_is_a_kind() {
    let list = Command::new(env::current_exe().unwrap()).arg("--list").output().unwrap();
    let list = String::from_utf8_lossy(&list.stdout).into_owned();
    let made =
        list.lines().filter_map(|line| line.strip_prefix("a_place_takes_keys::")?.strip_suffix(": test"));
    let mut made: Vec<Kind> = made.map(|word| Kind::parse(word).unwrap()).collect();
    made.sort();
    assert_eq!(made, Kind::ALL);
}

/// Two processes of tests on the servers of one run.
#[test]
fn tests_use_the_servers_of_the_run() {
    let this = env::current_exe().unwrap();
    let this = this.to_str().unwrap();
    let servers = Path::new(env!("CARGO_BIN_EXE_keyplane-test-servers"));
    let script = format!(
        "cut -f 1 $KEYPLANE_TEST_SERVERS; {this} --exact a_place_takes_keys::redis && \
         {this} --exact a_place_takes_keys::tls && \
         redis-cli -u $(grep '^redis\t' $KEYPLANE_TEST_SERVERS | cut -f 2) info stats | grep total_conn; exit 7"
    );
    let output = Command::new(servers)
        .args(["--stores", "redis,tls,valkey", "--", "sh", "-c", &script])
        .env("KEYPLANE_VALKEY_SERVER", "")
        .env_remove("KEYPLANE_TEST_STORES")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(7), "the command's own code\n{said}\n{}", errors(&output));
    assert!(said.starts_with("redis\ntls\nvalkey\n"), "{said}");
    assert!(errors(&output).contains("valkey    none: no valkey-server"), "{}", errors(&output));
    let connections = said.lines().find_map(|line| line.strip_prefix("total_connections_received:")).unwrap();
    let connections: u32 = connections.trim().parse().unwrap();
    // The start asks once and redis-cli once: the others were the test's.
    assert!(connections > 2, "{connections}");
}
