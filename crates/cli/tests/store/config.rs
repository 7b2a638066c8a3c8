//! `config show`: every setting with its source; `config doc`: what there is to set.

use serde_json::Value;

use crate::run::{Ended, Folder, keyplane};

fn folder() -> Folder {
    Folder::with(
        "# ours\n[store]\npool_size = 3\n[docket]\nsafety_buffer = 30\n[mempool]\nbackend = \"redis\"\n",
    )
    .set("KEYPLANE_USER", "watcher")
    .set("KEYPLANE_MARKET_PASSWORD", "hunter2")
}

fn line<'t>(ended: &'t Ended, name: &str) -> &'t str {
    let found = ended.stdout.lines().find(|line| line.starts_with(&format!("{name}\t")));
    found.unwrap_or_else(|| panic!("no {name}: {ended:?}"))
}

#[test]
fn every_setting_has_its_value_and_source() {
    let ended = folder().run(&["config", "show", "--url", "redis://b"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""));
    for expected in [
        "store.url\tredis://b\t--url",
        "store.user\twatcher\tKEYPLANE_USER",
        "store.pool_size\t3\tkeyplane.toml:3",
        "store.command_timeout\t1s\tdefault",
        "store.password\t(not set)\tdefault",
        "market.password\t(set)\tKEYPLANE_MARKET_PASSWORD",
        "docket.safety_buffer\t30\tkeyplane.toml:5",
        "mempool.backend\t(no effect)\tkeyplane.toml:7",
    ] {
        assert_eq!(line(&ended, expected.split('\t').next().unwrap()), expected);
    }
    assert!(!ended.says("hunter2"));
}

#[test]
fn only_what_was_set_with_changed() {
    let ended = folder().run(&["config", "show", "--changed"]);
    let names: Vec<&str> = ended.stdout.lines().filter_map(|line| line.split('\t').next()).collect();
    // What [store] says beats the market's own default, so the market has a line too.
    let expected =
        "store.user store.pool_size mempool.backend docket.safety_buffer market.password market.pool_size";
    assert_eq!(names.join(" "), expected);
    assert!(!ended.says("default"));
    let nothing = keyplane(&["config", "show", "--changed"]);
    assert_eq!((nothing.code, nothing.stdout.as_str()), (0, ""));
    assert!(nothing.says("nothing is set"));
}

#[test]
fn the_file_may_be_named_by_flag_or_variable() {
    let folder = Folder::new();
    std::fs::write(folder.path().join("one.toml"), "[store]\npool_size = 1\n").unwrap();
    std::fs::write(folder.path().join("two.toml"), "[store]\npool_size = 2\n").unwrap();
    let folder = folder.set("KEYPLANE_CONFIG", "one.toml");
    assert!(folder.run(&["config", "show"]).says("store.pool_size\t1\tone.toml:2"));
    assert!(folder.run(&["config", "show", "--config", "two.toml"]).says("store.pool_size\t2\ttwo.toml:2"));
}

#[test]
fn machines_get_the_source_in_parts() {
    let rows = folder().run(&["config", "show", "--json", "--url", "redis://b"]).json();
    let row = |section: &str, setting: &str| -> Value {
        let mut all = rows.as_array().unwrap().iter();
        all.find(|row| row["section"] == section && row["setting"] == setting).unwrap().clone()
    };
    let source = |section: &str, setting: &str| row(section, setting)["source"].to_string();
    assert_eq!(source("store", "url"), r#"{"kind":"flag","name":"--url","line":null}"#);
    assert_eq!(source("store", "user"), r#"{"kind":"environment","name":"KEYPLANE_USER","line":null}"#);
    assert_eq!(source("store", "pool_size"), r#"{"kind":"file","name":"keyplane.toml","line":3}"#);
    assert_eq!(source("store", "keepalive"), r#"{"kind":"default","name":null,"line":null}"#);
    assert_eq!(row("store", "pool_size")["value"], "3");
    assert!(row("store", "pool_size")["doc"].is_string());
}

#[test]
fn broken_settings_are_shown_all_of_them() {
    let folder = Folder::with("[store]\npool_sise = 3\n[stroe]\n").set("KEYPLANE_POOL_SIZE", "many");
    let ended = folder.run(&["config", "show"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (2, ""));
    for said in [
        "keyplane.toml:2:1",
        "pool_sise = 3",
        "did you mean `pool_size`?",
        "keyplane.toml:3",
        "KEYPLANE_POOL_SIZE=many",
    ] {
        assert!(ended.says(said), "{said}: {ended:?}");
    }
    assert!(ended.says("error: the settings cannot be used: 3 findings"), "{ended:?}");
    let ended = folder.run(&["config", "show", "--json"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (2, ""));
    let error: Value = serde_json::from_str(&ended.stderr).unwrap();
    let findings = error["findings"].as_array().unwrap();
    assert_eq!(findings.len(), 3, "{error:#}");
    assert_eq!((&findings[0]["line"], &findings[0]["file"]), (&2.into(), &"keyplane.toml".into()));
}

#[test]
fn a_page_says_what_there_is_to_set() {
    let ended = keyplane(&["config", "doc"]);
    assert_eq!(ended.code, 0);
    assert!(ended.stdout.starts_with("# Settings\n") && ended.says("KEYPLANE_MARKET_POOL_SIZE"), "{ended:?}");
}
