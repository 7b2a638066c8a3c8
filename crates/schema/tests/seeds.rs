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
        if !commands(hit.key, &BTreeSet::from(Verb::ALL)).contains(command.to_lowercase().as_str()) {
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

struct System {
    contract: Arc<Contract>,
    stated: Inventory,
    rows: Vec<Deviation>,
}

impl System {
    fn load(name: &str) -> Self {
        let deviations = read(&format!("systems/{name}/deviations.md"));
        let rows = deviations.lines().map(Deviation::read).collect();
        Self { contract: contract(name), stated: Inventory::read(name), rows }
    }

    fn at(&self, entry: &Entry, what: &str) -> String {
        let line = entry.0["line"].as_u64().expect("`line` is missing");
        format!("{}.md:{line} `{}`: {what}", self.contract.name, entry.name())
    }

    /// The findings of a check, for every key that the contract has.
    fn each_key(&self, check: impl Fn(&Entry, &Key) -> Vec<String>) -> Vec<String> {
        let mut found = Vec::new();
        for entry in &self.stated.keys {
            for key in self.keys_of(entry.pattern()) {
                found.extend(check(entry, key).iter().map(|what| self.at(entry, what)));
            }
        }
        found
    }

    /// The keys whose pattern has the same structure, `{name}` standing for `<name>`.
    fn keys_of(&self, seed: &str) -> Vec<&Key> {
        let naming = Naming::plain(&self.contract);
        let seed = seed.replace("{prefix}", &self.contract.namespace);
        self.contract.keys.iter().filter(|key| self.same_structure(&naming.pattern(key), &seed)).collect()
    }

    fn same_structure(&self, ours: &Pattern, seed: &str) -> bool {
        let (ours, seed) = (ours.segments(), seed.split(':').collect::<Vec<_>>());
        ours.len() == seed.len() && ours.iter().zip(seed).all(|(ours, seed)| self.same_segment(ours, seed))
    }

    fn same_segment(&self, ours: &Segment, seed: &str) -> bool {
        match (&ours.param, placeholder(seed)) {
            (None, None) => ours.prefix == seed,
            (None, Some(_)) => false,
            (Some(param), Some((prefix, name, suffix))) => {
                ours.prefix == prefix && ours.suffix == suffix && stands_for(name, param)
            }
            // `tr:{symbol}:1s` and `tr:{symbol}:5s` are one key of the contract: <window> is one of the two.
            (Some(param), None) => match &self.param(param).kind {
                ParamKind::OneOf { words, open: false } => words.iter().any(|word| word == seed),
                _ => false,
            },
        }
    }

    fn param(&self, name: &str) -> &Param {
        self.contract.param(name).expect("a sound contract knows its placeholders")
    }

    /// Whether a field's name, or its family, takes this name.
    fn takes(&self, field: &Pattern, name: &str) -> bool {
        let (segments, parts) = (field.segments(), name.split(':').collect::<Vec<_>>());
        let fits = |(segment, part): (&Segment, &str)| match &segment.param {
            None => segment.prefix == part,
            Some(param) => {
                let value = part.strip_prefix(segment.prefix.as_str());
                let value = value.and_then(|value| value.strip_suffix(segment.suffix.as_str()));
                value.is_some_and(|value| self.param(param).accepts(value))
            }
        };
        segments.len() == parts.len() && segments.iter().zip(parts).all(fits)
    }

    /// Fields of the key, of the key it is a twin of, and of the layout of its value or items.
    fn fields<'s>(&'s self, key: &'s Key) -> Vec<&'s Field> {
        let twin = key.fields_of.as_ref().and_then(|name| self.contract.key(name));
        let inside = key.element.iter().flat_map(|kind| self.layout_fields(kind));
        key.fields.iter().chain(twin.into_iter().flat_map(|twin| &twin.fields)).chain(inside).collect()
    }

    fn layout_fields(&self, kind: &ValueType) -> Vec<&Field> {
        match kind {
            ValueType::Json(Some(name)) | ValueType::Cbor(Some(name)) => {
                let layout = self.contract.value(name).expect("a sound contract knows its layouts");
                let items = layout.of.iter().flat_map(|kind| self.layout_fields(kind));
                layout.fields.iter().chain(items).collect()
            }
            ValueType::List(inner) | ValueType::Map(inner) => self.layout_fields(inner),
            ValueType::AnyOf(kinds) => kinds.iter().flat_map(|kind| self.layout_fields(kind)).collect(),
            _ => Vec::new(),
        }
    }

    /// The words that the contract lists for a field, for a `{placeholder}`, or where `of` is empty for the value.
    fn words(&self, key: &Key, of: &str) -> Vec<String> {
        if let Some(("", name, "")) = placeholder(of) {
            let templates = key.element.iter().flat_map(|kind| match kind {
                ValueType::Template(patterns) => patterns.as_slice(),
                _ => &[],
            });
            let params = key.pattern.params().chain(templates.flat_map(Pattern::params));
            return params
                .filter(|param| stands_for(name, param))
                .flat_map(|param| self.param_words(param))
                .collect();
        }
        if of.is_empty() {
            return key.element.iter().flat_map(|kind| self.type_words(kind)).collect();
        }
        let fields = self.fields(key).into_iter().filter(|field| self.takes(&field.name, of));
        fields.flat_map(|field| self.type_words(&field.kind)).collect()
    }

    fn type_words(&self, kind: &ValueType) -> Vec<String> {
        match kind {
            ValueType::OneOf { words, .. } => words.clone(),
            ValueType::Bool(words) => words.split('/').map(str::to_owned).collect(),
            ValueType::Param(name) => self.param_words(name),
            ValueType::AnyOf(kinds) => kinds.iter().flat_map(|kind| self.type_words(kind)).collect(),
            _ => Vec::new(),
        }
    }

    fn param_words(&self, name: &str) -> Vec<String> {
        match &self.param(name).kind {
            ParamKind::OneOf { words, .. } => words.clone(),
            _ => Vec::new(),
        }
    }

    fn declares_member(&self, kind: &ValueType, member: &str) -> bool {
        match (kind, placeholder(member)) {
            (ValueType::AnyOf(kinds), _) => kinds.iter().any(|kind| self.declares_member(kind, member)),
            (ValueType::Template(patterns), _) => {
                patterns.iter().any(|pattern| self.same_structure(pattern, member))
            }
            (ValueType::Param(param), Some(("", name, ""))) => stands_for(name, param),
            (ValueType::Param(param), _) => self.param(param).accepts_for_reading(&sample(member)),
            // The same id, as bytes instead of as text.
            (ValueType::Bytes(Some(length)), Some(("", name, ""))) => {
                let as_text = |param: &&Param| stands_for(name, &param.name);
                self.contract.params.iter().filter(as_text).any(|param| param.kind == ParamKind::Hex(*length))
            }
            _ => false,
        }
    }

    /// All durations that a policy promises; a link without its own has its parent's.
    fn durations(&self, policy: &Policy) -> Vec<Duration> {
        match policy {
            Policy::Linked { to, at_least: None } => {
                self.contract.key(to).map(|parent| self.durations(&parent.ttl.policy)).unwrap_or_default()
            }
            Policy::Pruned { members, key, .. } => [*members].into_iter().chain(*key).collect(),
            other => other.duration().into_iter().collect(),
        }
    }

    fn components(&self, word: &str) -> Vec<&str> {
        if word == "Each component" {
            let writing = self.contract.components.iter().filter(|component| !component.read_only);
            return writing.map(|component| component.name.as_str()).collect();
        }
        match COMPONENTS.iter().find(|(known, _)| *known == word) {
            Some((_, components)) => components.to_vec(),
            None => panic!("no component stands for \"{word}\": add it to COMPONENTS"),
        }
    }

    /// The rows of deviations.md that name the key: its pattern, or the beginning of it with a `*`.
    fn deviations(&self, key: &Key) -> impl Iterator<Item = &Deviation> {
        let pattern = self.listed_name(key);
        let names = move |name: &str| match name.strip_suffix('*') {
            Some(beginning) => pattern.starts_with(beginning),
            None => pattern == name,
        };
        self.rows.iter().filter(move |row| row.key.split('`').skip(1).step_by(2).any(&names))
    }

    fn listed_name(&self, key: &Key) -> String {
        let namespace = if self.contract.namespace.is_empty() { "" } else { "<namespace>:" };
        format!("{namespace}{}", key.pattern)
    }

    fn way_out(&self, key: &Key, ours: &str) -> String {
        let name = self.listed_name(key);
        format!(
            "follow the seed, or give deviations.md a row for `{name}` that says \"{ours}\" in its third column"
        )
    }

    /// Fields, values and members of a command line that the contract does not take.
    fn refused_arguments(&self, command: &str, arguments: &[String], key: &Key) -> Vec<String> {
        let mut found = Vec::new();
        if command == "HSET" {
            for pair in arguments.chunks(2) {
                let [name, value] = pair else { panic!("the field `{}` has no value", pair[0]) };
                match self.fields(key).iter().find(|field| self.takes(&field.name, name)) {
                    None => found.push(format!("field `{name}` is not declared")),
                    Some(field) if self.refuses(&field.kind, value) => {
                        found.push(format!("`{name}` cannot be `{value}`"));
                    }
                    Some(_) => {}
                }
            }
        }
        if let ("LPUSH" | "ZADD", Some(member)) = (command, arguments.last())
            && key.element.as_ref().is_none_or(|kind| self.refuses(kind, member))
        {
            found.push(format!("`{member}` is not a member"));
        }
        found
    }

    /// Says no only to what can be told without decoding.
    fn refuses(&self, kind: &ValueType, text: &str) -> bool {
        match kind {
            ValueType::Param(name) => !self.param(name).accepts_for_reading(text),
            ValueType::OneOf { words, open: false, .. } => !words.iter().any(|word| word == text),
            ValueType::Int(_) => text.parse::<i64>().is_err(),
            ValueType::Json(Some(_)) => !text.starts_with(['{', '[']),
            ValueType::AnyOf(kinds) => kinds.iter().all(|kind| self.refuses(kind, text)),
            _ => false,
        }
    }
}

/// A row of deviations.md: `| key | seed | ours | reason |`.
struct Deviation {
    key: String,
    seed: String,
    ours: String,
}

impl Deviation {
    fn read(line: &str) -> Self {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let ["", key, seed, ours, reason, ""] = cells.as_slice() else {
            panic!("not a row `| key | seed | ours | reason |`: {line}")
        };
        assert!([key, seed, ours, reason].iter().all(|cell| !cell.is_empty()), "an empty cell: {line}");
        Self { key: (*key).to_owned(), seed: (*seed).to_owned(), ours: (*ours).to_owned() }
    }

    /// Whether our value is this time; `12 h` does not say `2 h`.
    fn says(&self, time: &str) -> bool {
        format!(" {}", self.ours).contains(&format!(" {time}"))
    }
}

// ── The inventories ──

struct Inventory {
    keys: Vec<Entry>,
    examples: Vec<Entry>,
    commands: Vec<Entry>,
}

/// A key, an example or a command line of a seed.
struct Entry(Value);

impl Inventory {
    fn read(name: &str) -> Self {
        let text = read(&format!("crates/schema/tests/seeds/{name}.toml"));
        let table = DeTable::parse(&text).unwrap_or_else(|error| panic!("{name}.toml: {error}"));
        let mut all = table_value(table.get_ref());
        check_words(&all, &["key", "example", "command"]);
        let mut entries = |of: &str, words: &[&str]| -> Vec<Entry> {
            let Value::Array(entries) = all[of].take() else { panic!("{name}.toml has no [[{of}]]") };
            entries.iter().for_each(|entry| check_words(entry, words));
            entries.into_iter().map(Entry).collect()
        };
        let words = ["seed", "line", "type", "ttl", "ttl_words", "fields", "values", "members", "limits"];
        let keys = entries("key", &[words.as_slice(), &["writes", "reads", "reading"]].concat());
        for key in keys.iter().filter(|key| !key.0["reading"].is_null()) {
            check_words(&key.0["reading"], &["pattern", "type", "ttl", "fields", "why"]);
        }
        let examples = entries("example", &["key", "of", "line", "legacy"]);
        Self { keys, examples, commands: entries("command", &["line", "run"]) }
    }
}

impl Entry {
    fn name(&self) -> &str {
        ["seed", "key", "run"].iter().find_map(|word| self.text(word)).expect("an entry has a name")
    }

    /// The pattern of a key, by the reading where there is one.
    fn pattern(&self) -> &str {
        self.0["reading"]["pattern"].as_str().unwrap_or_else(|| self.must("seed"))
    }

    fn must(&self, word: &str) -> &str {
        self.text(word).unwrap_or_else(|| panic!("`{word}` is missing in {}", self.0))
    }

    fn text(&self, word: &str) -> Option<&str> {
        self.0[word].as_str()
    }

    fn texts(&self, word: &str) -> Vec<&str> {
        texts(&self.0[word])
    }

    /// What counts: the reading where the seed contradicts itself or says nothing, else what it states.
    fn read_text(&self, word: &str) -> Option<&str> {
        self.0["reading"][word].as_str().or_else(|| self.text(word))
    }

    fn read_texts(&self, word: &str) -> Vec<&str> {
        let reading = &self.0["reading"][word];
        texts(if reading.is_null() { &self.0[word] } else { reading })
    }

    fn table(&self, word: &str) -> impl Iterator<Item = (&str, &Value)> {
        self.0[word].as_object().into_iter().flatten().map(|(name, value)| (name.as_str(), value))
    }
}

/// A misspelt word would never be checked.
fn check_words(table: &Value, words: &[&str]) {
    for name in table.as_object().expect("a table").keys() {
        assert!(words.contains(&name.as_str()), "an inventory has no word `{name}`; it knows {words:?}");
    }
}

fn texts(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().map(|item| item.as_str().expect("a text")).collect()
}

fn table_value(table: &DeTable<'_>) -> Value {
    table.iter().map(|(name, value)| (name.get_ref().to_string(), value_of(value.get_ref()))).collect()
}

fn value_of(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => text.to_string().into(),
        DeValue::Integer(number) => number.as_str().parse::<u64>().expect("a number").into(),
        DeValue::Boolean(flag) => (*flag).into(),
        DeValue::Array(items) => items.iter().map(|item| value_of(item.get_ref())).collect(),
        DeValue::Table(table) => table_value(table),
        DeValue::Float(_) | DeValue::Datetime(_) => panic!("an inventory holds no {}", value.type_str()),
    }
}

// ── Small things ──

/// A file of the repository.
fn read(path: &str) -> String {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    std::fs::read_to_string(format!("{root}/{path}")).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Proving a contract sound takes a moment, so tests in one process share it.
fn contract(name: &str) -> Arc<Contract> {
    static KNOWN: [OnceLock<Arc<Contract>>; STATED.len()] = [const { OnceLock::new() }; STATED.len()];
    let index = STATED.iter().position(|(known, _)| *known == name).expect("a system of STATED");
    let file = format!("systems/{name}/keys.toml");
    let load = || parse(&file, &read(&file)).unwrap_or_else(|broken| panic!("{broken}"));
    KNOWN[index].get_or_init(|| Arc::new(load())).clone()
}

/// A matcher over all five contracts, or over none where there is nothing to match.
fn all_contracts(entries: &[Entry]) -> Matcher {
    let contracts = STATED.iter().filter(|_| !entries.is_empty()).map(|(name, _)| contract(name));
    Matcher::new(contracts.map(|contract| {
        let naming = Naming::plain(&contract);
        (contract, naming)
    }))
}

/// The text before the first `{name}`, the name, and the text behind it.
fn placeholder(text: &str) -> Option<(&str, &str, &str)> {
    let (prefix, rest) = text.split_once('{')?;
    let (name, suffix) = rest.split_once('}')?;
    Some((prefix, name, suffix))
}

fn stands_for(seed: &str, param: &str) -> bool {
    match PLACEHOLDERS.iter().find(|(name, _)| *name == seed) {
        Some((_, params)) => params.contains(&param),
        None => snake_case(seed) == param,
    }
}

fn snake_case(name: &str) -> String {
    let step =
        |c: char| if c.is_ascii_uppercase() { format!("_{}", c.to_ascii_lowercase()) } else { c.to_string() };
    name.chars().map(step).collect()
}

fn sample(member: &str) -> String {
    SAMPLES.iter().fold(member.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
}

fn duration(text: &str) -> Duration {
    let (count, unit) = split_unit(text);
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86400,
        other => panic!("`{other}` is not a unit of time"),
    };
    Duration::from_secs(count * seconds)
}

fn size(text: &str) -> u64 {
    let (count, unit) = split_unit(text);
    match unit {
        "KB" => count << 10,
        "MB" => count << 20,
        other => panic!("`{other}` is not a unit of size"),
    }
}

fn split_unit(text: &str) -> (u64, &str) {
    let (count, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).expect("a unit"));
    (count.parse().expect("a number"), unit)
}

/// A duration as deviations.md writes it.
fn spoken(duration: Duration) -> String {
    match duration.as_secs() {
        seconds if seconds % 86400 == 0 && seconds > 86400 => format!("{} days", seconds / 86400),
        seconds if seconds % 3600 == 0 => format!("{} h", seconds / 3600),
        seconds if seconds % 60 == 0 => format!("{} min", seconds / 60),
        seconds => format!("{seconds} s"),
    }
}

/// Words between spaces; double quotes hold a word together.
fn shell_words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (index, part) in line.split('"').enumerate() {
        if index % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words
}
