//! `keyplane demo`: a short walk through what a contract does, on keys of the five systems.

use std::sync::Arc;

use keyplane_schema::{Contract, Key, Matcher, Naming, Purpose, RenderError};
use serde_json::{Value, json};

use crate::args::Demo;
use crate::contracts::{self, BUILT_IN};
use crate::outcome::{Failure, Outcome};
use crate::output::{BAD, FAINT, KEY, NAME, Output, STRONG};

/// Keys with a story: what makes each of them hard to tell from a page of Markdown.
const MATCHED: &[(&str, &str)] = &[
    ("dolos:mempool:watcher:lock", "a namespace that holds ':' itself"),
    (
        "courtlistener:task_start:manual_2024-09-17T14:30:00+00:00:process_docket",
        "a run id with ':' and '+' before another segment",
    ),
    ("ob:BTCUSDT", "the live book"),
    ("ob:new:BTCUSDT", "its temporary twin: one word more, another life"),
    ("swarm:index:active", "an index, not a swarm called 'index'"),
    ("swarm:swarm_abc123def456:agents:agent_dev001", "an id of the old shape: readable, never written"),
    (
        "0xE88E5f64AEB483d7057645326AdDFA24A3B312DF:0x21cb57C1f2352ad215a463DD867b838749CD3b8f:EpochValidators(42)",
        "parentheses in a key",
    ),
    ("swarm:swarm_abc123def456:agent:agent_dev00001", "a typo that Redis would have accepted"),
];

/// A contract, a key of it, and values for its placeholders.
type Wanted = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

/// Keys rendered from parameters, the last one with a wrong id.
const RENDERED: &[Wanted] = &[
    ("swarm", "agent", &[("swarm_id", "swarm_abc123def456"), ("agent_id", "agent_dev00001")]),
    ("market", "tr", &[("symbol", "BTCUSDT"), ("window", "5s")]),
    ("swarm", "agent", &[("swarm_id", "swarm123"), ("agent_id", "agent_dev00001")]),
];

pub(crate) fn run(_: &Demo, output: &Output) -> Result<Outcome, Failure> {
    let contracts: Vec<Arc<Contract>> =
        BUILT_IN.iter().map(|(name, _)| contracts::load(name).map(Arc::new)).collect::<Result<_, _>>()?;
    let named: Vec<(Arc<Contract>, Naming)> =
        contracts.iter().map(|contract| (contract.clone(), Naming::plain(contract))).collect();
    let matcher = Matcher::new(named.iter().cloned());
    if output.json {
        return json_walk(&contracts, &matcher, output);
    }
    intro(&contracts, output)?;
    heading("Whose key is this?", "A concrete key, told apart by its contract", output)?;
    for (key, story) in MATCHED {
        explain(&named, &matcher, key, story, output)?;
    }
    heading(
        "Build a key from typed parameters",
        "Rendered only if every parameter passes its check",
        output,
    )?;
    for (schema, name, values) in RENDERED {
        if let Some((contract, key)) = find(&contracts, schema, name) {
            render(contract, key, values, output)?;
        }
    }
    outro(output)?;
    Ok(Outcome::Fine)
}

fn intro(contracts: &[Arc<Contract>], output: &Output) -> Result<(), Failure> {
    output.line(format!(
        "{STRONG}Keyplane{STRONG:#} makes a Redis keyspace an executable contract. Five are built in:\n"
    ))?;
    for contract in contracts {
        output.line(format!(
            "  {NAME}{:10}{NAME:#} {:3} keys  {FAINT}{}{FAINT:#}",
            contract.name,
            contract.keys.iter().filter(|key| key.helper_of.is_none()).count(),
            contract.doc
        ))?;
    }
    Ok(())
}

fn heading(title: &str, subtitle: &str, output: &Output) -> Result<(), Failure> {
    output.line(format!("\n{STRONG}{title}{STRONG:#}  {FAINT}{subtitle}{FAINT:#}"))
}

fn explain(
    contracts: &[(Arc<Contract>, Naming)],
    matcher: &Matcher,
    key: &str,
    story: &str,
    output: &Output,
) -> Result<(), Failure> {
    output.line(format!("\n  {KEY}{key}{KEY:#}  {FAINT}{story}{FAINT:#}"))?;
    match matcher.find(key) {
        None => {
            let reason = contracts::nearest(contracts, key)
                .map(|(name, reason)| format!("; nearest is {name}: {reason}"));
            output.line(format!("    {BAD}matches nothing{BAD:#}{}", reason.unwrap_or_default()))
        }
        Some(hit) => {
            let params: Vec<String> =
                hit.params.iter().map(|(name, value)| format!("{name}={}", shortened(value))).collect();
            let legacy =
                if hit.legacy { format!("  {BAD}legacy id, read-only{BAD:#}") } else { String::new() };
            output.line(format!(
                "    {NAME}{}/{}{NAME:#}  {}  {}{legacy}",
                hit.contract.name,
                hit.key.name,
                hit.key.type_words(),
                params.join(" ")
            ))?;
            output.line(format!("    {} {FAINT}Lives: {}.{FAINT:#}", hit.key.doc, hit.key.ttl.policy))
        }
    }
}

/// Addresses are long; their ends are enough to tell them apart.
fn shortened(value: &str) -> String {
    if value.len() == 42 && value.starts_with("0x") {
        format!("{}…{}", &value[..6], &value[38..])
    } else {
        value.to_owned()
    }
}

fn render(contract: &Contract, key: &Key, values: &[(&str, &str)], output: &Output) -> Result<(), Failure> {
    let shown: Vec<String> = values.iter().map(|(name, value)| format!("{name}={value}")).collect();
    output.line(format!("\n  {NAME}{}/{}{NAME:#} {}", contract.name, key.name, shown.join(" ")))?;
    match (
        spelled(contract, key, &Naming::plain(contract), values),
        spelled(contract, key, &Naming::tagged(contract), values),
    ) {
        (Ok(plain), Ok(tagged)) => {
            output.line(format!("    {KEY}{plain}{KEY:#}"))?;
            output.line(format!("    {KEY}{tagged}{KEY:#}  {FAINT}on Cluster: the hash tag keeps its family on one slot{FAINT:#}"))
        }
        (Err(error), _) | (_, Err(error)) => output.line(format!("    {BAD}refused{BAD:#}: {error}")),
    }
}

fn spelled(
    contract: &Contract,
    key: &Key,
    naming: &Naming,
    values: &[(&str, &str)],
) -> Result<String, RenderError> {
    key.render(contract, naming, Purpose::Write, values)
}

fn outro(output: &Output) -> Result<(), Failure> {
    output.line(format!("\n{STRONG}Try it{STRONG:#}"))?;
    for line in [
        "keyplane keys list --schema market",
        "keyplane keys show agent",
        "keyplane keys doc swarm",
        "keyplane keys acl --schema sequencer",
    ] {
        output.line(format!("  {line}"))?;
    }
    Ok(())
}

fn find<'c>(contracts: &'c [Arc<Contract>], schema: &str, name: &str) -> Option<(&'c Contract, &'c Key)> {
    let contract = contracts.iter().find(|contract| contract.name == schema)?;
    Some((contract, contract.key(name)?))
}

fn json_walk(contracts: &[Arc<Contract>], matcher: &Matcher, output: &Output) -> Result<Outcome, Failure> {
    let matched = |(key, story): &(&str, &str)| {
        let hit = matcher.find(key);
        json!({ "key": key, "story": story, "schema": hit.as_ref().map(|hit| &hit.contract.name), "name": hit.as_ref().map(|hit| &hit.key.name) })
    };
    let rendered = |(schema, name, values): &Wanted| -> Option<Value> {
        let (contract, key) = find(contracts, schema, name)?;
        let result = spelled(contract, key, &Naming::plain(contract), values);
        Some(
            json!({ "schema": schema, "name": name, "key": result.as_ref().ok(), "refused": result.as_ref().err().map(ToString::to_string) }),
        )
    };
    output.document(&json!({
        "contracts": contracts.iter().map(|contract| json!({ "schema": contract.name, "keys": contract.keys.len() })).collect::<Vec<_>>(),
        "matched": MATCHED.iter().map(matched).collect::<Vec<_>>(),
        "rendered": RENDERED.iter().filter_map(rendered).collect::<Vec<_>>(),
    }))?;
    Ok(Outcome::Fine)
}
