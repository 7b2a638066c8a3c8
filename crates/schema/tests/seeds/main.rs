//! The contracts hold everything that the seeds state.
//!
//! `tests/seeds/*.toml` list what each seed document says, key by key and with its line. They were written from the
//! documents, not from the contracts. Here every entry is held against the contract of its system. A contract may
//! differ in two ways, and `systems/*/deviations.md` must name the key in both: by a `reading`, where the seed
//! contradicts itself or is silent, and by a value that was changed on purpose.

// Clippy spares `#[test]` functions, but not what they share.
#![allow(clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use keyplane_schema::acl::{commands, grants};
use keyplane_schema::{
    Access, Contract, Field, Key, Matcher, Naming, Param, ParamKind, Pattern, Policy, Purpose, RenderError,
    Segment, ValueType, Verb, parse,
};
use serde_json::Value;
use toml::de::{DeTable, DeValue};

mod inventory;
mod system;
mod text;

use inventory::{Entry, Inventory, texts};
use system::System;
use text::*;

/// What the inventories hold: keys, fields, examples and commands. Whoever takes an entry out must say so here.
const STATED: [(&str, [usize; 4]); 5] = [
    ("mempool", [6, 0, 4, 7]),
    ("docket", [5, 7, 6, 8]),
    ("market", [14, 156, 14, 0]),
    ("swarm", [13, 32, 12, 5]),
    ("sequencer", [42, 88, 0, 0]),
];

/// Placeholders that the contracts call otherwise. The rest differ in case only: `swarmId`, `swarm_id`.
const PLACEHOLDERS: &[(&str, &[&str])] = &[
    ("hour_key", &["hour"]),
    ("dag_run_id", &["run_id"]),
    ("roundNumber", &["round"]),
    ("metricType", &["metric"]),
    ("agentRole", &["role"]),
    ("swarmStatus", &["status"]),
    ("timeWindow", &["window"]),
    // submission_stats is global, so its epoch may carry the market.
    ("epochId", &["epoch", "stats_epoch"]),
    ("validatorId", &["validator"]),
    ("submissionId", &["submission"]),
    ("partId", &["part"]),
    ("gapType", &["gap"]),
    ("id", &["processing_id"]),
];

/// Values for members that a contract checks as a whole, by one expression.
const SAMPLES: &[(&str, &str)] = &[
    ("epochId", "23646205"),
    ("slotId", "2739"),
    ("projectId", "pairContract_trade_volume:0xb4e16d0168e52d35cacd2c6185b44281ec28c9dc:UNISWAPV2"),
    ("timestamp", "1764063000"),
    ("peerId", "12D3KooWEyoppNCUx8Yx66oV9fJnriXwCcXwDDUA2kj6vnc6iDEp"),
];

/// The seeds' words for who touches a key, and the components that stand for them.
const COMPONENTS: &[(&str, &[&str])] = &[
    ("Watcher Node", &["watcher"]),
    ("Non-Watcher Nodes", &["node"]),
    ("P2P Gateway", &["gateway"]),
    ("Dequeuer", &["dequeuer"]),
    ("Event Monitor", &["event-monitor"]),
    ("Finalizer", &["finalizer"]),
    ("Finalizer workers", &["finalizer"]),
    ("Workers monitoring", &["finalizer", "monitor-api"]),
    ("Aggregator", &["aggregator"]),
    ("relayer-py", &["relayer"]),
    ("State Tracker", &["state-tracker"]),
    ("State-Tracker", &["state-tracker"]),
    ("Monitor API", &["monitor-api"]),
    ("Monitoring", &["monitor-api"]),
    ("Monitoring/API", &["monitor-api"]),
];

/// Keys of which a seed says that their content is the same: staged and live state, the same numbers as a hash and
/// as JSON, two names for one set.
const SAME: [(&str, &str, &str); 6] = [
    ("market", "ob_new", "ob"),
    ("market", "tr_new", "tr"),
    ("market", "feat_new", "feat"),
    ("sequencer", "current_stats", "dashboard_summary"),
    ("sequencer", "epoch_processed_alias", "epoch_processed"),
    ("sequencer", "active_epochs_alias", "active_epochs"),
];

/// Commands that name no key.
const KEYLESS: [&str; 3] = ["MULTI", "EXEC", "MONITOR"];

macro_rules! systems {
    ($($system:ident)*) => { $(tests! { $system:
        every_key_is_there = keys,
        types_are_the_same = types,
        times_to_live_are_the_same = times_to_live,
        every_field_is_declared = fields,
        every_enumerated_value_is_declared = values,
        members_are_built_as_in_the_seed = members,
        limits_are_no_looser = limits,
        writers_may_write_and_readers_may_read = owners,
        examples_match_their_key_and_no_other = examples,
        command_lines_name_keys_of_the_contract = command_lines,
        readings_are_listed_as_deviations = readings,
    })* };
}

macro_rules! tests {
    ($system:ident: $($test:ident = $aspect:ident,)*) => {
        mod $system {
            $(#[test]
            fn $test() {
                super::hold(stringify!($system), super::$aspect);
            })*
        }
    };
}

systems! { mempool docket market swarm sequencer }

#[test]
fn nothing_was_taken_out_of_the_inventories() {
    let mut total = [0; 4];
    for (name, expected) in STATED {
        let stated = Inventory::read(name);
        let fields = stated.keys.iter().map(|key| key.read_texts("fields").len()).sum();
        let counts = [stated.keys.len(), fields, stated.examples.len(), stated.commands.len()];
        println!("{name:<9} {}", show_counts(counts));
        assert_eq!(counts, expected, "{name}: keys, fields, examples, command lines");
        total = std::array::from_fn(|index| total[index] + counts[index]);
    }
    println!("{:<9} {}", "together", show_counts(total));
    assert!(total[0] >= 80 && total[1] >= 250, "{}", show_counts(total));
}

#[test]
fn what_a_seed_calls_the_same_has_the_same_content() {
    for (name, one, other) in SAME {
        let system = System::load(name);
        let content = |key: &str| {
            let key = system.contract.key(key).expect("a key of SAME");
            let fields: Vec<String> =
                system.fields(key).iter().map(|field| format!("{} {}", field.name, field.kind)).collect();
            // What is written in fields in one key may be a layout in the other.
            if fields.is_empty() { key.element.iter().map(ToString::to_string).collect() } else { fields }
        };
        assert!(!content(one).is_empty(), "{name}: {one} holds nothing");
        assert_eq!(content(one), content(other), "{name}: {one} and {other}");
    }
}

fn show_counts([keys, fields, examples, commands]: [usize; 4]) -> String {
    format!("{keys:3} keys, {fields:3} fields, {examples:2} examples, {commands:2} command lines")
}

fn hold(name: &str, aspect: fn(&System) -> Vec<String>) {
    let found = aspect(&System::load(name));
    assert!(found.is_empty(), "systems/{name}/keys.toml and its seed differ:\n  {}\n", found.join("\n  "));
}

// ── Aspects: each returns what differs, one line per finding ──

fn keys(system: &System) -> Vec<String> {
    let finding = |entry: &Entry| match system.keys_of(entry.pattern()).len() {
        1 => None,
        0 => Some(system.at(entry, "no key of the contract has this pattern")),
        count => Some(system.at(entry, &format!("{count} keys of the contract have this pattern"))),
    };
    system.stated.keys.iter().filter_map(finding).collect()
}

fn types(system: &System) -> Vec<String> {
    system.each_key(|entry, key| {
        let ours: Vec<&str> = key.types.iter().map(|kind| kind.word()).collect();
        // Where a reading picks one of the seed's two types, the contract may still allow both.
        if ours == entry.texts("type") || ours == entry.read_texts("type") {
            return Vec::new();
        }
        let wanted = entry.read_texts("type").join(" or ");
        vec![format!("the seed says {wanted}, the contract says {}", key.type_words())]
    })
}

fn times_to_live(system: &System) -> Vec<String> {
    system.each_key(|entry, key| {
        let policy = &key.ttl.policy;
        // A seed that states no time keeps the key.
        let stated = entry.read_text("ttl").filter(|text| *text != "none").map(duration);
        let fits = match stated {
            None => !policy.expires(),
            Some(stated) => system.durations(policy).contains(&stated),
        };
        let ours = policy.duration().filter(|_| policy.expires()).map_or("no TTL".to_owned(), spoken);
        if fits || system.deviations(key).any(|row| row.says(&ours)) {
            return Vec::new();
        }
        let stated = stated.map_or("no time".to_owned(), spoken);
        let words = entry.text("ttl_words").map(|words| format!(" (\"{words}\")")).unwrap_or_default();
        let way_out = system.way_out(key, &ours);
        vec![format!("the seed says {stated}{words}, the contract says `{policy}`; {way_out}")]
    })
}

fn fields(system: &System) -> Vec<String> {
    system.each_key(|entry, key| {
        let declared = system.fields(key);
        let missing = |name: &&str| !declared.iter().any(|field| system.takes(&field.name, name));
        let finding = |name| format!("field `{name}` is not declared in [key.{}]", key.name);
        entry.read_texts("fields").into_iter().filter(missing).map(finding).collect()
    })
}

fn values(system: &System) -> Vec<String> {
    system.each_key(|entry, key| {
        let mut found = Vec::new();
        for (of, stated) in entry.table("values") {
            let declared = system.words(key, of);
            for word in texts(stated).into_iter().filter(|word| !declared.iter().any(|known| known == word)) {
                let what = if of.is_empty() { "the value" } else { of };
                if !system.deviations(key).any(|row| row.seed.contains(&format!("`{word}`"))) {
                    found.push(format!("{what} may be `{word}` in the seed, {declared:?} in the contract"));
                }
            }
        }
        found
    })
}

fn members(system: &System) -> Vec<String> {
    system.each_key(|entry, key| {
        let ours = key.element.as_ref();
        let missing = |member: &&str| !ours.is_some_and(|kind| system.declares_member(kind, member));
        let shown = ours.map_or("nothing".to_owned(), ToString::to_string);
        let finding = |member| format!("members are `{member}` in the seed, {shown} in the contract");
        entry.texts("members").into_iter().filter(missing).map(finding).collect()
    })
}

fn limits(system: &System) -> Vec<String> {
    system.each_key(|entry, key| {
        let ours = key.limits(&system.contract);
        let looser = |(word, stated): (&str, &Value)| {
            let ours = match word {
                "bytes" => ours.bytes,
                "fields" => ours.fields,
                "members" => ours.members,
                other => panic!("there is no limit `{other}`"),
            };
            let ceiling = stated.as_u64().unwrap_or_else(|| size(stated.as_str().expect("a size")));
            let fits = ours.is_some_and(|ours| ours <= ceiling);
            let ours = ours.map_or("any number".to_owned(), |ours| ours.to_string());
            (!fits).then(|| format!("the seed allows {ceiling} {word}, the contract {ours}"))
        };
        entry.table("limits").filter_map(looser).collect()
    })
}

fn owners(system: &System) -> Vec<String> {
    let may = |component: &str, key: &Key, wanted: fn(&Verb) -> bool| {
        grants(&system.contract, component).get(&key.name).is_some_and(|verbs| verbs.iter().any(wanted))
    };
    // Consuming is both; putting shows nothing of what was there.
    type Wanted = fn(&Verb) -> bool;
    let aspects: [(&str, Wanted); 2] =
        [("writes", |verb| verb.writes()), ("reads", |verb| verb.access() != Access::Write)];
    system.each_key(|entry, key| {
        let mut found = Vec::new();
        for (what, wanted) in aspects {
            for word in entry.texts(what) {
                let without = |component: &&str| !may(component, key, wanted);
                let finding =
                    |component| format!("\"{word}\" {what} it, `{component}` may not in the contract");
                found.extend(system.components(word).into_iter().filter(without).map(finding));
            }
        }
        found
    })
}

fn examples(system: &System) -> Vec<String> {
    let matcher = all_contracts(&system.stated.examples);
    let mut found = Vec::new();
    for entry in &system.stated.examples {
        let (example, of, legacy) = (entry.must("key"), entry.must("of"), entry.0["legacy"] == true);
        let mut differs = |what: &str| found.push(system.at(entry, what));
        let hits = matcher.find_all(example);
        let [hit] = hits.as_slice() else {
            differs(&format!("matches {} keys of the five contracts, not one", hits.len()));
            continue;
        };
        let its = system.keys_of(of).iter().any(|key| key.name == hit.key.name);
        if !its || hit.contract.name != system.contract.name {
            differs(&format!("matches {} of {}, not `{of}`", hit.key.name, hit.contract.name));
        }
        if hit.legacy != legacy {
            differs(if legacy { "should be a legacy name" } else { "should not be a legacy name" });
        }
        let render =
            |purpose| hit.key.render(hit.contract, &Naming::plain(hit.contract), purpose, &hit.params);
        if render(Purpose::Read).as_deref() != Ok(example) {
            differs("cannot be rendered for reading");
        }
        match render(Purpose::Write) {
            Err(RenderError::Refused { .. }) if legacy => {}
            Ok(key) if !legacy && key == example => {}
            other => differs(&format!("rendered for writing: {other:?}")),
        }
    }
    found
}

fn command_lines(system: &System) -> Vec<String> {
    let matcher = all_contracts(&system.stated.commands);
    let mut found = Vec::new();
    for entry in &system.stated.commands {
        let mut differs = |what: &str| found.push(system.at(entry, what));
        let words = shell_words(entry.must("run"));
        let (command, name) = match words.as_slice() {
            [command] if KEYLESS.contains(&command.as_str()) => continue,
            [command, glob] if command == "KEYS" && glob.contains('*') => continue,
            [command, name, ..] => (command, name),
            _ => panic!("{}", system.at(entry, "names no key")),
        };
        let hits = matcher.find_all(name);
        let [hit] = hits.as_slice() else {
            differs(&format!("its key matches {} keys of the five contracts, not one", hits.len()));
            continue;
        };
        if hit.contract.name != system.contract.name {
            differs(&format!("its key belongs to {}", hit.contract.name));
        }
        if !commands(hit.contract, hit.key, &BTreeSet::from(Verb::ALL))
            .contains(command.to_lowercase().as_str())
        {
            differs(&format!("{command} is not for a {}", hit.key.type_words()));
        }
        for wrong in system.refused_arguments(command, &words[2..], hit.key) {
            differs(&wrong);
        }
    }
    found
}

fn readings(system: &System) -> Vec<String> {
    system.each_key(|entry, key| {
        if entry.0["reading"].is_null() || system.deviations(key).next().is_some() {
            return Vec::new();
        }
        vec![format!("has a reading, but deviations.md has no row for `{}`", system.listed_name(key))]
    })
}

// ── A system: its contract, what its seed states, where it deviates ──
