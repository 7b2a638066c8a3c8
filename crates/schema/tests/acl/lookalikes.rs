//! Keys whose values look like parts of other patterns: the ones that a careless glob lets through.

use std::collections::BTreeSet;
use std::sync::Arc;

use keyplane_schema::{Contract, Key, Param};

use crate::loaded::{Loaded, expected};
use crate::probes::{Probe, probes};

/// Values to try for one placeholder. More would repeat what these show.
const MOST: usize = 12;

/// Tries every command on such keys of every family, as every component. Returns how many keys there were, and each
/// command that did not come out as declared.
pub(crate) fn try_all(loaded: &mut Loaded) -> (usize, Vec<String>) {
    let (mut tried, mut differences) = (0, Vec::new());
    let contract = Arc::clone(&loaded.contract);
    for key in &contract.keys {
        for text in lookalikes(loaded, &contract, key) {
            tried += 1;
            for component in loaded.components() {
                differences.extend(compare(loaded, &component, key, &text));
            }
        }
    }
    (tried, differences)
}

/// Only the rights matter here, so the key need not exist; commands that would wait for it are left out.
fn compare(loaded: &mut Loaded, component: &str, key: &Key, text: &str) -> Vec<String> {
    let all = key.types.iter().flat_map(|kind| probes(*kind));
    let probes: Vec<Probe> = all.filter(|probe| !probe.blocks()).collect();
    let commands: Vec<_> = probes.iter().map(|probe| probe.words(text)).collect();
    let declared = loaded.declared(component, key);
    let answers = probes.iter().zip(loaded.run_all(component, &commands));
    let wrong = answers.filter(|(probe, answer)| *answer != expected(declared.contains(probe.name())));
    let told =
        |probe: &Probe, answer| format!("{component}: {} {text} ({}): {answer:?}", probe.name(), key.name);
    wrong.map(|(probe, answer)| told(probe, answer)).collect()
}

fn lookalikes(loaded: &Loaded, contract: &Contract, key: &Key) -> BTreeSet<String> {
    let mut texts = BTreeSet::new();
    let params: Vec<&Param> = key.pattern.params().filter_map(|name| contract.param(name)).collect();
    for param in &params {
        for value in values(contract, param) {
            let value_of =
                |other: &&Param| if other.name == param.name { value.clone() } else { other.sample() };
            let values: Vec<_> = params.iter().map(|other| (other.name.as_str(), value_of(other))).collect();
            texts.insert(loaded.render(key, &values));
        }
    }
    texts
}

/// Words of the contract's patterns, alone and inside the sample, as far as the placeholder takes them.
fn values(contract: &Contract, param: &Param) -> BTreeSet<String> {
    let sample = param.sample();
    let (front, back) = sample.split_at(sample.len() / 2);
    let shapes = |word: &str| {
        [
            word.to_owned(),
            format!("{sample}:{word}"),
            format!("{word}:{sample}"),
            format!("{front}:{word}:{back}"),
            format!("{front}{word}"),
            format!("{front}{word}{back}"),
            format!("{sample}_{word}"),
        ]
    };
    let values = literals(contract).into_iter().flat_map(|word| shapes(&word));
    values.filter(|value| param.accepts(value)).take(MOST).collect()
}

fn literals(contract: &Contract) -> BTreeSet<String> {
    let segments = contract.keys.iter().flat_map(|key| key.pattern.segments());
    let words = segments.flat_map(|segment| [segment.prefix.clone(), segment.suffix.clone()]);
    words.filter(|word| !word.is_empty()).collect()
}
