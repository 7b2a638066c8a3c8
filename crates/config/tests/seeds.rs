//! The systems' first descriptions, in their own words, read to the values they meant.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::time::Duration;

use keyplane_config::{Config, Section, Sources, StoreSettings, read};

/// From the mempool's description, verbatim.
const MEMPOOL: &str = r#"[storage.mempool]
backend = "redis"

# Redis connection URL (required)
url = "redis://127.0.0.1:6379"

# Key prefix for namespacing (default: "dolos:mempool")
key_prefix = "dolos:mempool"

# Connection pool size (default: 10)
pool_size = 10

# Max finalized transactions to keep (default: 10000)
max_finalized = 10000

# Watcher lock TTL in seconds (default: 10)
# Shorter = faster failover but more lock contention
# Longer = less contention but slower failover
watcher_lock_ttl = 10
"#;

/// The market's `REDIS_CONFIG`, a Python dictionary, written as TOML.
const MARKET: &str = r#"[market]
host = "redis-cluster.internal"
port = 6379
db = 0
max_connections = 20            # Service-specific pool size
socket_timeout = 0.1            # Fast timeout for hot path
socket_connect_timeout = 0.5    # Quick connection establishment
socket_keepalive = true         # Maintain connections
socket_keepalive_options = {}
health_check_interval = 30      # Connection health checks
retry_on_timeout = true         # Automatic retry
decode_responses = true         # Auto-decode for Python strings
"#;

fn file(text: &str) -> Config {
    read(&Sources::default().file("keyplane.toml", text)).unwrap_or_else(|error| panic!("{error}"))
}

fn environment(variables: &[(&str, &str)]) -> Config {
    let with = |sources: Sources, (name, value): &(&str, &str)| sources.variable(*name, *value);
    read(&variables.iter().fold(Sources::default(), with)).unwrap_or_else(|error| panic!("{error}"))
}

fn docket(config: &Config) -> StoreSettings {
    config.section(Section::Docket).store().unwrap()
}

fn url(store: &StoreSettings) -> Option<&str> {
    store.url.as_ref().map(|url| url.as_str())
}

#[test]
fn the_mempool_of_a_dolos_node() {
    let config = file(MEMPOOL);
    let store = config.section(Section::Mempool).store().unwrap();
    assert_eq!(url(&store), Some("redis://127.0.0.1:6379"));
    assert_eq!((&*store.namespace, store.pool_size), ("dolos:mempool", 10));
    assert_eq!(config.mempool().max_finalized, 10_000);
    assert_eq!(config.mempool().watcher_lock_ttl, Duration::from_secs(10));
    let own = config.section(Section::Mempool);
    assert_eq!(own.source("namespace").to_string(), "keyplane.toml:8");
    assert_eq!(own.source("watcher_lock_ttl").to_string(), "keyplane.toml:19");
    assert_eq!(config.section(Section::Docket).store().unwrap().url, None, "the url is the mempool's alone");
}

#[test]
fn other_values_than_the_defaults_are_read_too() {
    let config = file(
        "[storage.mempool]\nkey_prefix = \"dolos:prod:mempool\"\nwatcher_lock_ttl = 25\npool_size = 20\n",
    );
    let store = config.section(Section::Mempool).store().unwrap();
    assert_eq!((&*store.namespace, store.pool_size), ("dolos:prod:mempool", 20));
    assert_eq!(config.mempool().watcher_lock_ttl, Duration::from_secs(25));
}

#[test]
fn the_markets_dictionary() {
    let config = file(MARKET);
    let store = config.section(Section::Market).store().unwrap();
    assert_eq!(url(&store), Some("redis://redis-cluster.internal:6379/0"));
    assert_eq!(store.pool_size, 20);
    assert_eq!(store.command_timeout, Duration::from_millis(100));
    assert_eq!(store.connect_timeout, Duration::from_millis(500));
    assert_eq!(store.keepalive, Some(Duration::from_secs(30)));
    assert_eq!(store.health_check_interval, Some(Duration::from_secs(30)));
    assert!(store.retry_on_timeout);
}

#[test]
fn the_markets_older_names_keep_their_units() {
    let config = file(
        "[market]\nmax_connections = 8\nsocket_timeout = 2.5\nsocket_connect_timeout = 3\nsocket_keepalive = false\n\
         health_check_interval = 0\n",
    );
    let store = config.section(Section::Market).store().unwrap();
    assert_eq!(store.pool_size, 8);
    assert_eq!(store.command_timeout, Duration::from_millis(2_500));
    assert_eq!(store.connect_timeout, Duration::from_secs(3));
    assert_eq!((store.keepalive, store.health_check_interval), (None, None));
}

#[test]
fn words_without_effect_are_shown_as_such() {
    let rows = file(&format!("{MARKET}\n{MEMPOOL}")).rows();
    let inert: Vec<String> = rows
        .iter()
        .filter(|row| row.value == "(no effect)")
        .map(|row| format!("{} {} ({})", row.section, row.name, row.source))
        .collect();
    let expected = [
        "[mempool] backend (keyplane.toml:15)",
        "[market] socket_keepalive_options (keyplane.toml:9)",
        "[market] decode_responses (keyplane.toml:12)",
    ];
    assert_eq!(inert, expected);
}

#[test]
fn the_dockets_variables() {
    let config = environment(&[
        ("REDIS_COUNTER_TTL_HOURS", "3"),
        ("REDIS_STATE_TTL_HOURS", "26"),
        ("COURTLISTENER_SAFETY_BUFFER", "30"),
        ("CALL_LIMIT_PER_HOUR", "4000"),
    ]);
    let own = config.docket();
    assert_eq!(own.counter_ttl, Duration::from_secs(3 * 3_600));
    assert_eq!(own.state_ttl, Duration::from_secs(26 * 3_600));
    assert_eq!((own.safety_buffer, own.call_limit_per_hour), (30, 4_000));
    assert_eq!(config.section(Section::Docket).source("state_ttl").to_string(), "REDIS_STATE_TTL_HOURS");
}

#[test]
fn the_dockets_defaults() {
    let own = environment(&[]).docket();
    assert_eq!(
        (own.counter_ttl, own.state_ttl),
        (Duration::from_secs(2 * 3_600), Duration::from_secs(25 * 3_600))
    );
    assert_eq!((own.safety_buffer, own.call_limit_per_hour), (25, 5_000));
}

#[test]
fn redis_host_and_its_companions_make_the_dockets_url() {
    let config = environment(&[
        ("REDIS_DB", "2"),
        ("REDIS_HOST", "redis.example.org"),
        ("REDIS_PASSWORD", "open sesame"),
        ("REDIS_PORT", "6380"),
        ("REDIS_SSL", "true"),
    ]);
    let store = docket(&config);
    assert_eq!(url(&store), Some("rediss://redis.example.org:6380/2"));
    assert_eq!(store.password.unwrap().reveal(), "open sesame");
    assert_eq!(config.section(Section::Docket).source("url").to_string(), "REDIS_HOST");
    assert_eq!(config.section(Section::Docket).source("password").to_string(), "REDIS_HOST");
    assert_eq!(config.section(Section::Swarm).store().unwrap().url, None, "they are the docket's");
    assert_eq!(url(&docket(&environment(&[("REDIS_HOST", "::1")]))), Some("redis://[::1]:6379/0"));
}

#[test]
fn without_redis_host_its_companions_say_nothing() {
    // What Kubernetes sets beside a service named redis.
    let config = environment(&[("REDIS_PORT", "tcp://10.0.0.1:6379"), ("REDIS_PASSWORD", "x")]);
    assert_eq!((docket(&config).url, docket(&config).password), (None, None));
    let rows = config.rows();
    let row = rows.iter().find(|row| row.name == "REDIS_PORT").unwrap();
    assert_eq!((&*row.value, row.doc), ("(no effect)", "REDIS_HOST is not set."));
}

#[test]
fn any_other_url_is_stronger_than_redis_host() {
    let variables = [("REDIS_HOST", "a"), ("REDIS_PASSWORD", "of a"), ("KEYPLANE_URL", "redis://b")];
    let store = docket(&environment(&variables));
    assert_eq!((url(&store), &store.password), (Some("redis://b"), &None));
    let both = Sources::default()
        .variable("REDIS_HOST", "a")
        .file("keyplane.toml", "[store]\nurl = \"redis://c\"\n");
    assert_eq!(url(&docket(&read(&both).unwrap())), Some("redis://c"));
}
