//! `keys match KEY…`: which key of a contract is this?

use keyplane_schema::{Match, Matcher};
use serde_json::{Map, Value, json};

use super::{ttl_json, type_json};
use crate::args::Chosen;
use crate::contracts;
use crate::outcome::{Failure, Outcome};
use crate::output::{BAD, FAINT, KEY, NAME, Output};

pub(super) fn run(keys: &[String], chosen: &Chosen, output: &Output) -> Result<Outcome, Failure> {
    let matcher = Matcher::new(contracts::chosen(chosen)?);
    let mut outcome = Outcome::Fine;
    for key in keys {
        let found = matcher.find_all(key);
        if found.is_empty() {
            outcome = Outcome::Finding;
        }
        match (output.json, found.as_slice()) {
            (true, []) => output.record(&json!({ "key": key, "schema": null, "name": null }))?,
            (true, found) => found.iter().try_for_each(|hit| output.record(&json(key, hit)))?,
            (false, []) => output.line(format!("{KEY}{key}{KEY:#}  {BAD}matches nothing{BAD:#}"))?,
            (false, found) => found.iter().try_for_each(|hit| output.line(line(key, hit)))?,
        }
    }
    Ok(outcome)
}

fn line(key: &str, hit: &Match<'_, '_>) -> String {
    let params: Vec<String> = hit.params.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let legacy = if hit.legacy { "  legacy id: read-only" } else { "" };
    let name = format!("{}/{}", hit.contract.name, hit.key.name);
    format!(
        "{KEY}{key}{KEY:#}  {NAME}{name}{NAME:#}  {}  {}  {FAINT}lives {}{legacy}{FAINT:#}",
        hit.key.type_words(),
        params.join(" "),
        hit.key.ttl.policy
    )
}

fn json(key: &str, hit: &Match<'_, '_>) -> Value {
    let params: Map<String, Value> =
        hit.params.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
    json!({
        "key": key,
        "schema": hit.contract.name,
        "name": hit.key.name,
        "type": type_json(hit.key),
        "params": params,
        "ttl": ttl_json(hit.key),
        "legacy": hit.legacy,
    })
}
