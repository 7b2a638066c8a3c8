//! What is wrong outside of the file: the variable or flag is named, and what to do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::ffi::OsString;
use std::path::Path;

use keyplane_config::{Error, Flag, Section, Sources, load_from, read};

fn told(sources: &Sources) -> String {
    read(sources).expect_err("accepted").to_string()
}

fn of_variable(name: &str, value: &str) -> String {
    told(&Sources::default().variable(name, value))
}

fn of_flag(flag: &str, section: Section, setting: &str, value: &str) -> String {
    told(&Sources::default().flag(Flag::new(flag, section, setting, value)))
}

#[test]
fn an_unknown_variable_is_refused_with_the_closest_name() {
    let cases = [
        ("KEYPLANE_POOLSIZE", "did you mean KEYPLANE_POOL_SIZE?"),
        ("KEYPLANE_STORE_URL", "did you mean KEYPLANE_URL?"),
        ("KEYPLANE_MEMPOL_URL", "did you mean KEYPLANE_MEMPOOL_URL?"),
        (
            "KEYPLANE_NAMESPACE",
            "it is set per system: KEYPLANE_MEMPOOL_NAMESPACE, KEYPLANE_DOCKET_NAMESPACE, \
             KEYPLANE_MARKET_NAMESPACE, KEYPLANE_SWARM_NAMESPACE, KEYPLANE_SEQUENCER_NAMESPACE",
        ),
        ("KEYPLANE_COUNTER_TTL", "it is set per system: KEYPLANE_DOCKET_COUNTER_TTL"),
        ("KEYPLANE_MARKET_SOCKET_TIMEOUT", "its name is KEYPLANE_MARKET_COMMAND_TIMEOUT"),
        ("KEYPLANE_XYZ", "`keyplane config show` lists all settings; unset it if it is not one"),
        ("KEYPLANE_", "`keyplane config show` lists all settings; unset it if it is not one"),
    ];
    for (name, help) in cases {
        let expected = format!("error[unknown-word]: the variable {name} is not a setting\n  = help: {help}");
        assert_eq!(of_variable(name, "1"), expected);
    }
}

#[test]
fn the_value_of_a_variable_is_repeated_with_what_is_wrong() {
    let cases = [
        ("KEYPLANE_POOL_SIZE", "5000", "=5000: `pool_size` is 1..=1000"),
        ("KEYPLANE_POOL_SIZE", "ten", "=ten: `pool_size` takes a whole number"),
        ("KEYPLANE_POOL_SIZE", "1\n2", "=1\\n2: `pool_size` takes a whole number"),
        ("KEYPLANE_MARKET_POOL_SIZE", "0", "=0: `pool_size` is 1..=1000"),
        ("KEYPLANE_RETRY_ON_TIMEOUT", "maybe", "=maybe: `retry_on_timeout` takes true or false"),
        ("KEYPLANE_HASH_TAGS", "maybe", "=maybe: `hash_tags` is auto, on or off"),
        (
            "KEYPLANE_COMMAND_TIMEOUT",
            "30",
            "=30: `command_timeout`: `30` has no unit; write `30s`, `30m` or `30h`",
        ),
        (
            "KEYPLANE_COMMAND_TIMEOUT",
            "inf",
            "=inf: `command_timeout` takes a duration such as \"500ms\" or \"2h\"",
        ),
        ("KEYPLANE_KEEPALIVE", "1ms", "=1ms: `keepalive` is 1s..=24h, or off"),
        ("REDIS_COUNTER_TTL_HOURS", "0", "=0: `counter_ttl` is 1h..=30d"),
        ("REDIS_COUNTER_TTL_HOURS", "2h", "=2h: `counter_ttl` takes a number of hours"),
        ("REDIS_COUNTER_TTL_HOURS", "NaN", "=NaN: `counter_ttl` is 1h..=30d"),
        ("CALL_LIMIT_PER_HOUR", "-1", "=-1: `call_limit_per_hour` is 1..=1000000"),
    ];
    for (name, value, words) in cases {
        assert_eq!(of_variable(name, value), format!("error[bad-value]: {name}{words}"));
    }
}

#[test]
fn a_url_is_never_repeated() {
    let expected = "error[bad-value]: KEYPLANE_URL: `url` has no host, or a port that is not 1 to 65535\n  \
                    = help: a user and password stand before the host, with `@` after them";
    assert_eq!(of_variable("KEYPLANE_URL", "redis://watcher:hunter2"), expected);
}

#[test]
fn a_bad_part_of_the_dockets_url_names_its_variable() {
    let sources =
        Sources::default().variable("REDIS_HOST", "a").variable("REDIS_PORT", "tcp://10.0.0.1:6379");
    assert_eq!(
        told(&sources),
        "error[bad-value]: REDIS_PORT=tcp://10.0.0.1:6379: `port` takes a whole number"
    );
}

#[test]
fn two_variables_for_one_setting_are_refused() {
    let sources = Sources::default()
        .variable("KEYPLANE_DOCKET_COUNTER_TTL", "3h")
        .variable("REDIS_COUNTER_TTL_HOURS", "2")
        .variable("KEYPLANE_PASSWORD", "hunter2")
        .variable("KEYPLANE_PASSWORD_FILE", "redis.password");
    let expected = "\
error[bad-name]: `counter_ttl` of the docket is given twice: by KEYPLANE_DOCKET_COUNTER_TTL and by REDIS_COUNTER_TTL_HOURS
  = help: unset one of them

error[bad-name]: the password is given twice: by KEYPLANE_PASSWORD and by KEYPLANE_PASSWORD_FILE
  = help: unset one of them";
    assert_eq!(told(&sources), expected);
}

#[test]
fn a_flag_is_named_with_its_value() {
    let cases = [
        (("--pool-size", "pool_size", "0"), "--pool-size 0: `pool_size` is 1..=1000"),
        (
            ("--timeout", "command_timeout", ""),
            "--timeout : `command_timeout`: `` does not start with a number",
        ),
        (("--url", "url", "http://a"), "--url: `url` has a scheme that is not known"),
        (("--colour", "colour", "red"), "--colour is for `colour`, which [store] does not have"),
    ];
    for ((flag, setting, value), words) in cases {
        let told = of_flag(flag, Section::Store, setting, value);
        assert_eq!(told.lines().next().unwrap().split_once(": ").unwrap().1, words);
    }
}

#[test]
fn no_flag_carries_a_password() {
    let cases = [
        ("--url", "url", "redis://watcher:hunter2@a"),
        ("--url", "url", "redis+unix:///run/redis.sock?db=1&pass=hunter2"),
        ("--password", "password", "hunter2"),
    ];
    for (flag, setting, value) in cases {
        let expected = format!(
            "error[bad-value]: {flag} carries a password, and every user of this machine can read a command line\n  \
             = help: set KEYPLANE_PASSWORD, or name a file (chmod 600) in KEYPLANE_PASSWORD_FILE"
        );
        assert_eq!(of_flag(flag, Section::Store, setting, value), expected);
    }
}

#[test]
fn values_that_contradict_each_other_are_told_with_their_sources() {
    let sources = Sources::default()
        .file("keyplane.toml", "[store]\ntls_cert = \"/a\"\n[docket]\nsafety_buffer = 100\n")
        .variable("CALL_LIMIT_PER_HOUR", "100")
        .variable("KEYPLANE_SWARM_TLS_KEY", "/b");
    let expected = "\
error[limits]: safety_buffer 100 (keyplane.toml:4) leaves nothing of call_limit_per_hour 100 (CALL_LIMIT_PER_HOUR)
  = help: make the buffer smaller than the limit

error[missing]: [store] has a tls_cert (keyplane.toml:2) and no tls_key
  = help: give tls_key too, or neither";
    assert_eq!(told(&sources), expected);
}

#[test]
fn findings_of_all_places_come_at_once() {
    let sources = Sources::default()
        .file("keyplane.toml", "[store]\npool_size = 0\n")
        .variable("KEYPLANE_COLOR", "red")
        .flag(Flag::new("--url", Section::Store, "url", ""));
    let told = told(&sources);
    for words in ["keyplane.toml:2:13", "KEYPLANE_COLOR", "--url: `url` is empty"] {
        assert!(told.contains(words), "{told}");
    }
}

fn loaded(folder: &Path, variables: &[(&str, &str)], config: Option<&str>) -> Result<u64, Error> {
    let variables = variables.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let config = load_from(folder, variables, config.map(Path::new), Vec::new())?;
    Ok(config.section(Section::Store).count("pool_size").unwrap())
}

#[test]
fn the_file_is_the_one_that_is_named_else_the_one_that_is_there_else_none() {
    let folder = tempfile::tempdir().unwrap();
    let by_variable = [("KEYPLANE_CONFIG", "two.toml")];
    assert_eq!(loaded(folder.path(), &[], None).unwrap(), 10);
    for (name, size) in [("keyplane.toml", 1), ("two.toml", 2), ("three.toml", 3)] {
        std::fs::write(folder.path().join(name), format!("[store]\npool_size = {size}\n")).unwrap();
    }
    assert_eq!(loaded(folder.path(), &[], None).unwrap(), 1);
    assert_eq!(loaded(folder.path(), &[("KEYPLANE_CONFIG", "")], None).unwrap(), 1);
    assert_eq!(loaded(folder.path(), &by_variable, None).unwrap(), 2);
    assert_eq!(loaded(folder.path(), &by_variable, Some("three.toml")).unwrap(), 3);
}

#[test]
fn a_named_file_that_does_not_exist_is_an_error() {
    let folder = Path::new("/nowhere");
    for (variables, config, by) in [
        (&[][..], Some("a.toml"), "--config"),
        (&[("KEYPLANE_CONFIG", "a.toml")][..], None, "KEYPLANE_CONFIG"),
    ] {
        let expected = format!(
            "error[missing]: there is no file /nowhere/a.toml, which {by} names\n  \
             = help: name a file that exists, or leave it out to use the defaults"
        );
        assert_eq!(loaded(folder, variables, config).unwrap_err().to_string(), expected);
    }
}

#[test]
fn a_file_that_cannot_be_read_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("keyplane.toml"), [0xff, 0xfe]).unwrap();
    let told = loaded(folder.path(), &[], None).unwrap_err().to_string();
    assert!(told.contains("keyplane.toml cannot be read"), "{told}");
}

#[cfg(unix)]
#[test]
fn a_variable_that_is_not_utf_8_is_an_error_when_it_is_ours() {
    use std::os::unix::ffi::OsStringExt as _;
    let with = |name: &str| {
        let value = OsString::from_vec(vec![0xff]);
        load_from(Path::new("/nowhere"), [(OsString::from(name), value)], None, Vec::new())
    };
    assert_eq!(
        with("KEYPLANE_USER").unwrap_err().to_string(),
        "error[bad-value]: the variable KEYPLANE_USER is not UTF-8"
    );
    assert!(with("PATH").is_ok());
}
