//! No key matches two patterns, no field two names. A placeholder never wins or loses silently against a literal.

use std::slice::from_ref;

use crate::diagnostic::{Code, Diagnostic};
use crate::model::{Contract, Key, Param};
use crate::naming::{Naming, language};
use crate::pattern::{Pattern, Segment};

pub(super) fn check(contract: &Contract) -> Vec<Diagnostic> {
    let namings = [Naming::plain(contract), Naming::tagged(contract)];
    let patterns =
        namings.map(|naming| contract.keys.iter().map(|key| naming.pattern(key)).collect::<Vec<Pattern>>());
    let mut found = Vec::new();
    for (index, key) in contract.keys.iter().enumerate() {
        for (earlier, other) in contract.keys[..index].iter().enumerate() {
            if let Some(witness) =
                patterns.iter().find_map(|patterns| meet(contract, &patterns[earlier], &patterns[index]))
            {
                found.push(report(contract, other, key, &witness));
            }
        }
        found.extend(fields(contract, key));
    }
    found
}

/// Keys of two contracts that can be the same key on one server, with a key that proves it.
pub(crate) fn between(
    first: (&Contract, &Naming),
    second: (&Contract, &Naming),
) -> Vec<(String, String, String)> {
    let mut found = Vec::new();
    for key in &first.0.keys {
        let own = first.1.pattern(key);
        for other in &second.0.keys {
            let pattern = second.1.pattern(other);
            let witness =
                language(first.0, own.segments(), true).meet(&language(second.0, pattern.segments(), true));
            found.extend(witness.map(|witness| (key.name.clone(), other.name.clone(), witness)));
        }
    }
    found
}

fn report(contract: &Contract, first: &Key, second: &Key, witness: &str) -> Diagnostic {
    let message = format!("the keys `{}` and `{}` overlap: both match `{witness}`", first.name, second.name);
    let label = |key: &Key| match &key.helper_of {
        Some(helper) => format!("its helper {} matches `{witness}` (kit primitive {})", key.name, helper.kit),
        None => format!("{} matches `{witness}`", key.name),
    };
    Diagnostic::error(Code::Overlap, message, second.at.pattern, label(second))
        .also(first.at.pattern, label(first))
        .help(help(contract, &first.pattern, &second.pattern))
}

/// The usual cause is a placeholder that also takes a word which the other pattern has as a literal.
fn help(contract: &Contract, first: &Pattern, second: &Pattern) -> String {
    let clash = |literal: &Segment, open: &Segment| {
        let param = contract.param(open.param.as_deref().filter(|_| literal.param.is_none())?)?;
        let word = literal.prefix.strip_prefix(open.prefix.as_str())?.strip_suffix(open.suffix.as_str())?;
        param.accepts_for_reading(word).then(|| (param, word.to_owned()))
    };
    let mut pairs = first.segments().iter().zip(second.segments());
    match pairs.find_map(|(a, b)| clash(a, b).or_else(|| clash(b, a))) {
        Some((param, word)) if param.accepts(&word) => {
            format!("say `except = [\"{word}\"]` in [param.{}], or give it a stricter check", param.name)
        }
        Some((param, word)) => format!("`legacy` in [param.{}] takes `{word}`: make it stricter", param.name),
        None if first == second => {
            "one pattern is one key: drop one of the two, or give it a pattern of its own".to_owned()
        }
        None => "make the check of a placeholder stricter, or change one pattern".to_owned(),
    }
}

fn fields(contract: &Contract, key: &Key) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (index, field) in key.fields.iter().enumerate() {
        for other in &key.fields[..index] {
            if let Some(witness) = meet(contract, &other.name, &field.name) {
                let message = format!("two fields of `{}` overlap: both match `{witness}`", key.name);
                let help = help(contract, &other.name, &field.name);
                found.push(
                    Diagnostic::error(Code::Overlap, message, field.at, "this one")
                        .also(other.at, "and this one")
                        .help(help),
                );
            }
        }
    }
    found
}

/// A key of both patterns. Segments are compared one by one while neither side can hold `:`; from there on exactly.
fn meet(contract: &Contract, first: &Pattern, second: &Pattern) -> Option<String> {
    let holds_colon = |segment: &Segment| {
        segment.param.as_deref().and_then(|name| contract.param(name)).is_some_and(|param| param.colons)
    };
    let (mut a, mut b) = (first.segments(), second.segments());
    let mut witness = String::new();
    while let ([left, rest_a @ ..], [right, rest_b @ ..]) = (a, b) {
        if holds_colon(left) || holds_colon(right) {
            break;
        }
        if left == right {
            witness.push_str(&sample(contract, left));
        } else {
            let language = |segment| language(contract, from_ref(segment), true);
            witness.push_str(&language(left).meet(&language(right))?);
        }
        (a, b) = (rest_a, rest_b);
        match (a.is_empty(), b.is_empty()) {
            (true, true) => return Some(witness),
            (false, false) => witness.push(':'),
            _ => return None,
        }
    }
    Some(witness + &language(contract, a, true).meet(&language(contract, b, true))?)
}

/// A text that the segment can have.
fn sample(contract: &Contract, segment: &Segment) -> String {
    let value =
        segment.param.as_deref().and_then(|name| contract.param(name)).map(Param::sample).unwrap_or_default();
    format!("{}{value}{}", segment.prefix, segment.suffix)
}
