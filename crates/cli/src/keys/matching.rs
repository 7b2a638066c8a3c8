//! `keys match KEY…`: which key of a contract is this?

use std::sync::Arc;

use keyplane_schema::{Contract, Match, Matcher, Naming};
use serde_json::{Map, Value, json};

use super::{ttl_json, type_json};
use crate::args::Chosen;
use crate::contracts;
use crate::outcome::{Failure, Outcome};
use crate::output::{BAD, FAINT, KEY, NAME, Output};

pub(super) fn run(keys: &[String], chosen: &Chosen, output: &Output) -> Result<Outcome, Failure> {
    let contracts = contracts::chosen(chosen)?;
    let matcher = Matcher::new(contracts.iter().cloned());
    let mut outcome = Outcome::Fine;
    let mut each = |key: &str| -> Result<(), Failure> {
        let found = matcher.find_all(key);
        if found.is_empty() {
            outcome = Outcome::Finding;
            return miss(key, &contracts, output);
        }
        found.iter().try_for_each(|hit| {
            if output.json { output.record(&json(key, hit)) } else { output.line(line(key, hit)) }
        })
    };
    for key in keys {
        if key == "-" {
            for line in std::io::stdin().lines() {
                let line = line.map_err(|error| {
                    Failure::new(format!("cannot read keys from standard input: {error}"))
                })?;
                each(&line)?;
            }
        } else {
            each(key)?;
        }
    }
    Ok(outcome)
}

/// A key that matches nothing, with the key it comes nearest to.
fn miss(key: &str, contracts: &[(Arc<Contract>, Naming)], output: &Output) -> Result<(), Failure> {
    let nearest = contracts::nearest(contracts, key);
    if output.json {
        let near = nearest.map(|(name, reason)| json!({ "key": name, "reason": reason }));
        return output.record(&json!({ "key": key, "schema": null, "name": null, "nearest": near }));
    }
    let reason = nearest
        .map(|(name, reason)| format!("  {FAINT}nearest is {name}: {reason}{FAINT:#}"))
        .unwrap_or_default();
    output.line(format!("{KEY}{key}{KEY:#}  {BAD}matches nothing{BAD:#}{reason}"))
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
