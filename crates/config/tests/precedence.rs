//! Who wins, and that every value tells where it comes from.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use keyplane_config::{Config, Flag, Section, Sources, read};

/// A place that can say something about the market's `pool_size`, with the number it says; the strongest first.
const PLACES: [(&str, u64); 6] = [
    ("--market-pool-size", 1),
    ("--pool-size", 2),
    ("KEYPLANE_MARKET_POOL_SIZE", 3),
    ("KEYPLANE_POOL_SIZE", 4),
    ("keyplane.toml:4", 5),
    ("keyplane.toml:2", 6),
];

/// Sources in which the chosen places speak.
fn speaking(chosen: &[bool; 6]) -> Sources {
    let mut sources = Sources::default();
    let line = |index: usize| match chosen[index] {
        true => format!("pool_size = {}", PLACES[index].1),
        false => String::new(),
    };
    sources = sources.file("keyplane.toml", format!("[store]\n{}\n[market]\n{}\n", line(5), line(4)));
    for (index, (name, value)) in PLACES.iter().enumerate().take(4).filter(|(index, _)| chosen[*index]) {
        let section = if index % 2 == 0 { Section::Market } else { Section::Store };
        sources = match index < 2 {
            true => sources.flag(Flag::new(*name, section, "pool_size", value.to_string())),
            false => sources.variable(*name, value.to_string()),
        };
    }
    sources
}

#[test]
fn of_all_combinations_the_strongest_place_wins_and_is_named() {
    for bits in 0..64_u32 {
        let chosen: [bool; 6] = std::array::from_fn(|index| bits >> index & 1 == 1);
        let config = read(&speaking(&chosen)).unwrap();
        let market = config.section(Section::Market);
        let winner = PLACES.iter().zip(chosen).find(|(_, chosen)| *chosen).map(|(place, _)| *place);
        let (source, size) = winner.unwrap_or(("default", 20));
        assert_eq!(market.count("pool_size"), Some(size), "{chosen:?}");
        assert_eq!(market.source("pool_size").to_string(), source, "{chosen:?}");
        assert_eq!(market.store().unwrap().pool_size, size, "{chosen:?}");
    }
}

#[test]
fn what_is_said_for_one_system_does_not_reach_the_others() {
    let config = read(&speaking(&[true, false, true, false, true, false])).unwrap();
    for section in Section::ALL.into_iter().filter(|section| *section != Section::Market) {
        assert_eq!(config.section(section).count("pool_size"), Some(10), "{section}");
        assert_eq!(config.section(section).source("pool_size").to_string(), "default");
    }
}

#[test]
fn the_defaults_are_those_of_the_reference() {
    let config = read(&Sources::default()).unwrap();
    let told: Vec<String> = config
        .rows()
        .iter()
        .map(|row| format!("{} {} = {} ({})", row.section.word(), row.name, row.value, row.source))
        .collect();
    let expected = "\
store url = (not set) (default)
store user = (not set) (default)
store password = (not set) (default)
store password_file = (not set) (default)
store pool_size = 10 (default)
store command_timeout = 1s (default)
store connect_timeout = 1s (default)
store keepalive = 30s (default)
store health_check_interval = 30s (default)
store retry_on_timeout = true (default)
store hash_tags = auto (default)
store fsync = everysec (default)
store tls_ca = (not set) (default)
store tls_cert = (not set) (default)
store tls_key = (not set) (default)
store accept = (not set) (default)
mempool namespace = dolos:mempool (default)
mempool max_finalized = 10000 (default)
mempool watcher_lock_ttl = 10s (default)
mempool finalize_threshold = 6 (default)
mempool drop_threshold = 30 (default)
mempool max_transactions = 100000 (default)
mempool max_bytes = 536870912 (default)
mempool max_tx_bytes = 16384 (default)
mempool max_age = 24h (default)
mempool listen = 127.0.0.1:8090 (default)
mempool grpc = (not set) (default)
mempool peers = (not set) (default)
mempool peer_token = (not set) (default)
mempool token = (not set) (default)
docket namespace = (none) (default)
docket counter_ttl = 2h (default)
docket state_ttl = 25h (default)
docket safety_buffer = 25 (default)
docket call_limit_per_hour = 5000 (default)
market pool_size = 20 (default)
market command_timeout = 100ms (default)
market connect_timeout = 500ms (default)
market namespace = (none) (default)
swarm namespace = (none) (default)
swarm listen = 127.0.0.1:8095 (default)
swarm token = (not set) (default)
swarm agent_lease = 90s (default)
swarm task_lease = 90s (default)
swarm checkpoint_interval = 30s (default)
swarm keep_finished = 10m (default)
sequencer namespace = (none) (default)";
    assert_eq!(told.join("\n"), expected);
}

#[test]
fn every_setting_reads_from_the_environment_and_names_its_variable() {
    let values = [
        ("KEYPLANE_URL", "valkeys+cluster://a:7000,b:7001"),
        ("KEYPLANE_USER", "watcher"),
        ("KEYPLANE_PASSWORD_FILE", "redis.password"),
        ("KEYPLANE_POOL_SIZE", "7"),
        ("KEYPLANE_COMMAND_TIMEOUT", "250ms"),
        ("KEYPLANE_CONNECT_TIMEOUT", "2s"),
        ("KEYPLANE_KEEPALIVE", "off"),
        ("KEYPLANE_HEALTH_CHECK_INTERVAL", "15"),
        ("KEYPLANE_RETRY_ON_TIMEOUT", "no"),
        ("KEYPLANE_HASH_TAGS", "on"),
        ("KEYPLANE_TLS_CA", "/ca.pem"),
        ("KEYPLANE_TLS_CERT", "/cert.pem"),
        ("KEYPLANE_TLS_KEY", "/key.pem"),
        ("KEYPLANE_ACCEPT", "eviction, persistence"),
        ("KEYPLANE_SWARM_NAMESPACE", "prod:eu"),
        ("KEYPLANE_MEMPOOL_MAX_FINALIZED", "11"),
        ("KEYPLANE_MEMPOOL_WATCHER_LOCK_TTL", "12"),
        ("KEYPLANE_DOCKET_COUNTER_TTL", "3h"),
        ("KEYPLANE_DOCKET_STATE_TTL", "2d"),
        ("KEYPLANE_DOCKET_SAFETY_BUFFER", "0"),
        ("KEYPLANE_DOCKET_CALL_LIMIT_PER_HOUR", "1"),
    ];
    let sources =
        values.iter().fold(Sources::default(), |sources, (name, value)| sources.variable(*name, *value));
    let rows = read(&sources).unwrap().rows();
    for (variable, value) in values {
        let row = rows.iter().find(|row| row.source.to_string() == variable).expect(variable);
        let shown = if value.parse::<u64>().is_ok() && !row.doc.contains("counts seconds") {
            value.to_owned()
        } else {
            match value {
                "15" => "15s".to_owned(),
                "12" => "12s".to_owned(),
                "no" => "false".to_owned(),
                other => other.to_owned(),
            }
        };
        // The file of a password also gives the password.
        let row = rows.iter().find(|row| row.source.to_string() == variable && row.value == shown);
        assert!(row.is_some(), "{variable}: {rows:#?}");
    }
}

#[test]
fn an_empty_variable_is_not_set() {
    let config = read(&Sources::default().variable("KEYPLANE_POOL_SIZE", "")).unwrap();
    assert_eq!(config.section(Section::Swarm).source("pool_size").to_string(), "default");
}

#[test]
fn variables_of_tests_and_tools_are_not_settings() {
    let names = [
        "KEYPLANE_TEST_REDIS",
        "KEYPLANE_VALKEY_SERVER",
        "KEYPLANE_SKIPS",
        "KEYPLANE_BLESS",
        "KEYPLANE_CONFIG",
    ];
    let sources = names.iter().fold(Sources::default(), |sources, name| sources.variable(*name, "1"));
    assert!(read(&sources).is_ok());
}

fn user_and_password(config: &Config, section: Section) -> (Option<String>, Option<String>) {
    let store = config.section(section).store().unwrap();
    (store.user, store.password.map(|password| password.reveal().to_owned()))
}

fn pair(user: &str, password: &str) -> (Option<String>, Option<String>) {
    (Some(user.to_owned()), Some(password.to_owned()))
}

#[test]
fn user_and_password_of_a_url_count_like_settings_in_its_place() {
    let file = "[store]\nurl = \"redis://alice:f%2Fle@a/1\"\n[swarm]\nurl = \"redis://bob:swarm@b\"\n";
    let sources = Sources::default().file("keyplane.toml", file);
    let config = read(&sources).unwrap();
    assert_eq!(user_and_password(&config, Section::Docket), pair("alice", "f/le"));
    assert_eq!(user_and_password(&config, Section::Swarm), pair("bob", "swarm"));
    assert_eq!(config.section(Section::Docket).store().unwrap().url.unwrap().as_str(), "redis://a/1");
    assert_eq!(config.section(Section::Docket).source("password").to_string(), "keyplane.toml:2");

    let config = read(&sources.variable("KEYPLANE_PASSWORD", "environment")).unwrap();
    assert_eq!(user_and_password(&config, Section::Docket), pair("alice", "environment"));
    assert_eq!(user_and_password(&config, Section::Swarm), pair("bob", "environment"));
    assert_eq!(config.section(Section::Swarm).source("password").to_string(), "KEYPLANE_PASSWORD");
}

#[test]
fn the_password_of_a_replaced_url_goes_nowhere() {
    let sources = Sources::default()
        .file("keyplane.toml", "[store]\nurl = \"redis://alice:secret@a\"\n")
        .flag(Flag::new("--url", Section::Store, "url", "redis://elsewhere"));
    assert_eq!(user_and_password(&read(&sources).unwrap(), Section::Store), (None, None));
}

#[test]
fn a_path_in_the_file_starts_from_its_folder_and_any_other_from_here() {
    let file = "[store]\ntls_ca = \"ca.pem\"\n[swarm]\ntls_ca = \"/etc/ca.pem\"\n";
    let config = read(
        &Sources::default()
            .file("/etc/keyplane/keyplane.toml", file)
            .variable("KEYPLANE_DOCKET_TLS_CA", "ca.pem"),
    )
    .unwrap();
    let ca = |section| config.section(section).store().unwrap().tls_ca.unwrap();
    assert_eq!(ca(Section::Store).to_str(), Some("/etc/keyplane/ca.pem"));
    assert_eq!(ca(Section::Swarm).to_str(), Some("/etc/ca.pem"));
    assert_eq!(ca(Section::Docket).to_str(), Some("ca.pem"));
}

#[test]
fn one_word_needs_no_list() {
    for text in ["accept = \"eviction\"", "accept = [\"eviction\"]"] {
        let config = read(&Sources::default().file("keyplane.toml", format!("[store]\n{text}\n"))).unwrap();
        assert_eq!(config.section(Section::Swarm).store().unwrap().accept, ["eviction"]);
    }
}
