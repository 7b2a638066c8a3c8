//! The contracts take real ids: recorded transactions, courts and symbols, where the recordings are at hand.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

use std::sync::Arc;

use keyplane_schema::{Contract, Matcher, Naming, Purpose, parse};
use serde_json::Value;

/// A recording beside the checkout, or a named skip.
fn recording(test: &str, file: &str) -> Option<String> {
    keyplane_testing::recording(test, file).map(|path| std::fs::read_to_string(path).unwrap())
}

fn system(name: &str) -> Arc<Contract> {
    let path = format!("{}/../../systems/{name}/keys.toml", env!("CARGO_MANIFEST_DIR"));
    Arc::new(parse(name, &std::fs::read_to_string(path).unwrap()).unwrap_or_else(|broken| panic!("{broken}")))
}

fn texts<'l>(lines: &'l str, field: &'l str) -> impl Iterator<Item = String> + 'l {
    lines
        .lines()
        .map(move |line| serde_json::from_str::<Value>(line).unwrap()[field].as_str().unwrap().to_owned())
}

/// Renders a key for writing with each value and finds it again.
fn round_trip(
    contract: &Arc<Contract>,
    key: &str,
    param: &str,
    more: &[(&str, &str)],
    values: impl Iterator<Item = String>,
) -> usize {
    let naming = Naming::plain(contract);
    let matcher = Matcher::new([(contract.clone(), naming.clone())]);
    let mut count = 0;
    for value in values {
        let given = [&[(param, value.as_str())], more].concat();
        let text = contract.key(key).unwrap().render(contract, &naming, Purpose::Write, &given).unwrap();
        let hit = matcher.find(&text).unwrap();
        assert_eq!((hit.key.name.as_str(), hit.legacy), (key, false), "{text}");
        assert!(hit.params.contains(&(param, value.as_str())), "{text}");
        count += 1;
    }
    count
}

#[test]
fn every_recorded_transaction_has_its_payload_key() {
    let Some(lines) = recording("every_recorded_transaction_has_its_payload_key", "cardano/txs.jsonl") else {
        return;
    };
    assert_eq!(round_trip(&system("mempool"), "payload", "hash", &[], texts(&lines, "hash")), 1715);
}

#[test]
fn every_recorded_court_has_its_keys() {
    let Some(lines) = recording("every_recorded_court_has_its_keys", "courtlistener/courts.jsonl") else {
        return;
    };
    assert_eq!(round_trip(&system("docket"), "seen", "court", &[], texts(&lines, "id")), 29);
    assert_eq!(
        round_trip(&system("docket"), "cursor", "court", &[("endpoint", "dockets")], texts(&lines, "id")),
        29
    );
}
