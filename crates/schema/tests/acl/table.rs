//! Declared and effective access, side by side.

use std::collections::BTreeSet;
use std::fmt::{self, Write as _};
use std::sync::Arc;

use keyplane_schema::{Key, Verb};

use crate::loaded::{Answer, Loaded};
use crate::probes::{Probe, probes, shared_names};

/// What every component may do to every key, as declared and as found out.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Vec<Row>,
    /// Where the two are not the same.
    pub(crate) differences: Vec<String>,
    /// Pairs of component and key with nothing declared and nothing allowed.
    strangers: usize,
    tried: usize,
    allowed: usize,
}

#[derive(Debug)]
struct Row {
    component: String,
    key: String,
    declared: String,
    effective: String,
}

/// Tries every probe on a key of every family as every component.
pub(crate) fn probe_all(loaded: &mut Loaded) -> Table {
    let mut table = Table::default();
    let contract = Arc::clone(&loaded.contract);
    for component in loaded.components() {
        for key in &contract.keys {
            let verbs = loaded.verbs(&component, key);
            let declared = loaded.declared(&component, key);
            let (allowed, tried) = effective(loaded, &component, key, &declared);
            table.compare(&component, key, &declared, &allowed);
            table.tried += tried;
            table.allowed += allowed.len();
            if verbs.is_empty() {
                table.strangers += 1;
            } else {
                table.rows.push(Row::new(&component, key, &verbs, &allowed));
            }
        }
    }
    table
}

/// What the server lets through. Commands that should change the key run one by one, each on a fresh key; the others
/// should change nothing and go together.
fn effective(
    loaded: &mut Loaded,
    component: &str,
    key: &Key,
    declared: &BTreeSet<&str>,
) -> (BTreeSet<&'static str>, usize) {
    let text = loaded.sample(key);
    let (mut allowed, mut tried) = (BTreeSet::new(), 0);
    for &kind in &key.types {
        let changes = |probe: &Probe| !probe.is_read() && declared.contains(probe.name());
        let (changing, harmless): (Vec<Probe>, Vec<Probe>) = probes(kind).into_iter().partition(changes);
        tried += changing.len() + harmless.len();
        for probe in changing {
            loaded.set_up([(text.as_str(), kind)]);
            if loaded.run(component, &probe.words(&text)) == Answer::Allowed {
                allowed.insert(probe.name());
            }
        }
        loaded.set_up([(text.as_str(), kind)]);
        let commands: Vec<_> = harmless.iter().map(|probe| probe.words(&text)).collect();
        let answers = loaded.run_all(component, &commands);
        let through = harmless.iter().zip(answers).filter(|(_, answer)| *answer == Answer::Allowed);
        allowed.extend(through.map(|(probe, _)| probe.name()));
    }
    (allowed, tried)
}

impl Row {
    fn new(component: &str, key: &Key, verbs: &BTreeSet<Verb>, allowed: &BTreeSet<&'static str>) -> Self {
        let declared: Vec<&str> = verbs.iter().map(|verb| verb.word()).collect();
        Self {
            component: component.to_owned(),
            key: key.name.clone(),
            declared: declared.join(" "),
            effective: shortened(allowed),
        }
    }
}

/// The commands, with those that every reader has and those that every writer has as one word each.
fn shortened(allowed: &BTreeSet<&'static str>) -> String {
    let mut rest = allowed.clone();
    let mut words = Vec::new();
    for (word, names) in ["(look)", "(expire)"].into_iter().zip(shared_names()) {
        if names.iter().all(|name| allowed.contains(name)) {
            rest.retain(|name| !names.contains(name));
            words.push(word);
        }
    }
    words.splice(0..0, rest);
    words.join(" ")
}

impl Table {
    fn compare(&mut self, component: &str, key: &Key, declared: &BTreeSet<&str>, allowed: &BTreeSet<&str>) {
        let mut note = |what: &str, commands: Vec<&&str>| {
            if !commands.is_empty() {
                self.differences.push(format!("{component} on {}: {what} {commands:?}", key.name));
            }
        };
        note("declared but refused", declared.difference(allowed).collect());
        note("allowed but not declared", allowed.difference(declared).collect());
    }

    /// The rows as text, in columns.
    pub(crate) fn text(&self) -> String {
        let width = |cell: fn(&Row) -> &str, head: &str| {
            let widest = self.rows.iter().map(|row| cell(row).chars().count()).max();
            widest.unwrap_or(0).max(head.len())
        };
        let columns = [
            width(|row| row.component.as_str(), "component"),
            width(|row| row.key.as_str(), "key"),
            width(|row| row.declared.as_str(), "declared"),
        ];
        let mut text = String::new();
        let mut line = |cells: [&str; 4]| {
            let [a, b, c] = columns;
            let written = writeln!(text, "{:a$}  {:b$}  {:c$}  {}", cells[0], cells[1], cells[2], cells[3]);
            written.expect("a String takes all text");
        };
        line(["component", "key", "declared", "effective"]);
        for row in &self.rows {
            line([&row.component, &row.key, &row.declared, &row.effective]);
        }
        text
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rows, differences, strangers, tried, allowed } = self;
        write!(f, "{} pairs of component and key with access declared, {strangers} without; ", rows.len())?;
        write!(f, "{tried} commands tried, {allowed} allowed, {} differences", differences.len())
    }
}
