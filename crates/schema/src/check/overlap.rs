//! No key matches two patterns, no field two names. A placeholder never wins or loses silently against a literal.

use std::slice::from_ref;

use crate::diagnostic::{Code, Diagnostic};
use crate::model::{Contract, Key};
use crate::naming::{Naming, language};
use crate::pattern::{Pattern, Segment};

pub(super) fn check(contract: &Contract) -> Vec<Diagnostic> {
    let naming = Naming::plain(contract);
    let patterns: Vec<Pattern> = contract.keys.iter().map(|key| naming.pattern(key)).collect();
    let mut found = Vec::new();
    for (index, (key, pattern)) in contract.keys.iter().zip(&patterns).enumerate() {
        for (other, earlier) in contract.keys[..index].iter().zip(&patterns) {
            if let Some(witness) = meet(contract, earlier, pattern) {
                found.push(report(contract, other, key, &witness));
            }
        }
        found.extend(fields(contract, key));
    }
    found
}

fn report(contract: &Contract, first: &Key, second: &Key, witness: &str) -> Diagnostic {
    let message = format!("the keys `{}` and `{}` overlap: both match `{witness}`", first.name, second.name);
    Diagnostic::error(Code::Overlap, message, second.at.pattern, format!("matches `{witness}`"))
        .also(first.at.pattern, format!("and so does {}", first.name))
        .help(help(contract, &first.pattern, &second.pattern))
}

/// The usual cause is a placeholder that also takes a word which the other pattern has as a literal.
fn help(contract: &Contract, first: &Pattern, second: &Pattern) -> String {
    let pairs = || first.segments().iter().zip(second.segments());
    let clash = pairs().chain(pairs().map(|(a, b)| (b, a))).find_map(|(literal, open)| match (&literal.param, &open.param) {
        (None, Some(param)) if contract.param(param).is_some_and(|param| param.accepts(&literal.prefix)) => Some((param, &literal.prefix)),
        _ => None,
    });
    match clash {
        Some((param, word)) => format!("say `except = [\"{word}\"]` in [param.{param}], or give it a stricter check"),
        None => "make the check of a placeholder stricter, or change one pattern".to_owned(),
    }
}

fn fields(contract: &Contract, key: &Key) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (index, field) in key.fields.iter().enumerate() {
        for other in &key.fields[..index] {
            if let Some(witness) = meet(contract, &other.name, &field.name) {
                let message = format!("two fields of `{}` overlap: both match `{witness}`", key.name);
                found.push(Diagnostic::error(Code::Overlap, message, field.at, "this one").also(other.at, "and this one"));
            }
        }
    }
    found
}

/// A key of both patterns. Segments are compared one by one while neither side can hold `:`; from there on exactly.
fn meet(contract: &Contract, first: &Pattern, second: &Pattern) -> Option<String> {
    let holds_colon = |segment: &Segment| segment.param.as_deref().and_then(|name| contract.param(name)).is_some_and(|param| param.colons);
    let (mut a, mut b) = (first.segments(), second.segments());
    let mut witness = String::new();
    while let ([left, rest_a @ ..], [right, rest_b @ ..]) = (a, b) {
        if holds_colon(left) || holds_colon(right) {
            break;
        }
        witness.push_str(&language(contract, from_ref(left), true).meet(&language(contract, from_ref(right), true))?);
        (a, b) = (rest_a, rest_b);
        match (a.is_empty(), b.is_empty()) {
            (true, true) => return Some(witness),
            (false, false) => witness.push(':'),
            _ => return None,
        }
    }
    Some(witness + &language(contract, a, true).meet(&language(contract, b, true))?)
}
