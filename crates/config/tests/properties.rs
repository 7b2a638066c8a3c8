//! Whatever stands in a file, a variable or a flag: an answer, never a panic, and never a value out of range.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use keyplane_config::{Flag, Section, Sources, read};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

/// Names of settings, of older settings, and of nothing.
const NAMES: [&str; 29] = [
    "url",
    "user",
    "password",
    "password_file",
    "pool_size",
    "command_timeout",
    "connect_timeout",
    "keepalive",
    "health_check_interval",
    "retry_on_timeout",
    "hash_tags",
    "fsync",
    "tls_ca",
    "accept",
    "namespace",
    "max_finalized",
    "watcher_lock_ttl",
    "counter_ttl",
    "safety_buffer",
    "call_limit_per_hour",
    "key_prefix",
    "backend",
    "max_connections",
    "socket_timeout",
    "socket_keepalive",
    "host",
    "port",
    "db",
    "colour",
];

/// A value in TOML: of every kind, near the ends of ranges, and some that nobody takes.
fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<i64>().prop_map(|number| number.to_string()),
        (-2_i64..2_000).prop_map(|number| number.to_string()),
        any::<f64>().prop_map(|number| format!("{number:?}")),
        any::<bool>().prop_map(|flag| flag.to_string()),
        "[0-9]{1,20}(ms|s|m|h|d|w|)".prop_map(|text| format!("'{text}'")),
        "(redis|rediss|valkey|http|unix|embedded)(\\+unix|\\+cluster|)(://|:)[a-z0-9:@/?=&#%,\\[\\].-]{0,24}"
            .prop_map(|text| format!("'{text}'")),
        "[^\\p{Cc}']{0,12}".prop_map(|text| format!("'{text}'")),
        prop::collection::vec("'[a-z ]{0,5}'", 0..3).prop_map(|items| format!("[{}]", items.join(", "))),
        Just("{ a = 1 }".to_owned()),
        Just("1979-05-27".to_owned()),
        Just("99999999999999999999999999".to_owned()),
        Just("'auto'".to_owned()),
        Just("'off'".to_owned()),
        Just("nan".to_owned()),
        Just("-inf".to_owned()),
    ]
}

/// A file that is TOML in most cases, with every section and setting, known or not.
fn file() -> impl Strategy<Value = String> {
    let heading = prop::sample::select(vec![
        "",
        "[store]",
        "[mempool]",
        "[storage.mempool]",
        "[docket]",
        "[market]",
        "[swarm]",
        "[[market]]",
        "[colour]",
    ]);
    let line =
        (prop::sample::select(NAMES.to_vec()), value()).prop_map(|(name, value)| format!("{name} = {value}"));
    let section = (heading, prop::collection::vec(line, 0..5))
        .prop_map(|(heading, lines)| format!("{heading}\n{}\n", lines.join("\n")));
    prop::collection::vec(section, 0..4).prop_map(|sections| sections.concat())
}

/// Reads, prints everything, and checks what the types do not.
fn holds(sources: &Sources) {
    let config = match read(sources) {
        Ok(config) => config,
        Err(error) => {
            assert!(error.file.is_some() || !error.faults.is_empty());
            assert!(error.file.as_ref().is_none_or(|broken| !broken.diagnostics.is_empty()));
            assert!(!error.render(true).is_empty() && !error.render(false).is_empty());
            return;
        }
    };
    assert!(config.rows().len() >= 29);
    for section in Section::ALL {
        let settings = config.section(section);
        assert!((1..=1_000).contains(&settings.count("pool_size").unwrap()));
        assert!((1..=600_000).contains(&settings.duration("command_timeout").unwrap().as_millis()));
        let namespace = settings.text("namespace").unwrap_or_default();
        assert!(!namespace.contains(['{', '}', '*', ' ', '\n']));
    }
    let docket = config.docket();
    assert!(docket.safety_buffer < docket.call_limit_per_hour && docket.counter_ttl.as_secs() >= 3_600);
    assert!(config.mempool().max_finalized >= 1 && config.mempool().watcher_lock_ttl.as_secs() >= 1);
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 1_000,
        // The seed of a failure is written beside this file and tried first from then on.
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_file_is_read_or_refused(text in file()) {
        holds(&Sources::default().file("keyplane.toml", text));
    }

    #[test]
    fn any_text_is_read_or_refused(text in "(?s).{0,200}") {
        holds(&Sources::default().file("keyplane.toml", text));
    }

    #[test]
    fn a_file_that_was_cut_or_spoilt_is_read_or_refused(text in file(), at in any::<prop::sample::Index>(), with in "(?s).{0,2}") {
        let mut at = at.index(text.len() + 1);
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        holds(&Sources::default().file("keyplane.toml", &text[..at]));
        holds(&Sources::default().file("keyplane.toml", format!("{}{with}{}", &text[..at], &text[at..])));
    }

    #[test]
    fn any_variable_and_flag_is_read_or_refused(
        name in prop::sample::select(NAMES.to_vec()),
        system in prop::sample::select(vec!["", "MEMPOOL_", "DOCKET_", "MARKET_", "STORE_"]),
        older in prop::sample::select(vec!["REDIS_HOST", "REDIS_PORT", "REDIS_SSL", "REDIS_STATE_TTL_HOURS", "CALL_LIMIT_PER_HOUR"]),
        values in prop::collection::vec(prop_oneof![value(), "(?s).{0,12}"], 3),
    ) {
        let unquoted: Vec<&str> = values.iter().map(|value| value.trim_matches('\'')).collect();
        let variable = format!("KEYPLANE_{system}{}", name.to_ascii_uppercase());
        holds(&Sources::default()
            .variable(variable, unquoted[0])
            .variable(older, unquoted[1])
            .flag(Flag::new("--flag", Section::Docket, name, unquoted[2])));
    }
}
