//! Fields of hashes that a contract does not name.

use keyplane_schema::{Contract, Key, Param, Pattern};

/// The fields that none of the key's declared ones covers. A hash without declared fields may have any.
pub(super) fn unknown(contract: &Contract, key: &Key, present: &[Vec<u8>]) -> Vec<String> {
    let inherited = |key: &&Key| key.fields_of.as_deref().and_then(|of| contract.key(of));
    // A second spelling may have the fields of a second spelling; a circle must not hold us.
    let keys = std::iter::successors(Some(key), inherited).take(4);
    let declared: Vec<&Pattern> = keys.flat_map(|key| key.fields.iter().map(|field| &field.name)).collect();
    if declared.is_empty() {
        return Vec::new();
    }
    let covered = |field: &[u8]| declared.iter().any(|name| matches(&parts(contract, name), field));
    let strange = present.iter().filter(|field| !covered(field));
    strange.map(|field| String::from_utf8_lossy(field).into_owned()).collect()
}

enum Part<'c> {
    Text(&'c [u8]),
    Value(Option<&'c Param>),
}

/// Literals and placeholders of a name, in order.
fn parts<'c>(contract: &'c Contract, name: &'c Pattern) -> Vec<Part<'c>> {
    let mut parts = Vec::new();
    for (index, segment) in name.segments().iter().enumerate() {
        if index > 0 {
            parts.push(Part::Text(b":"));
        }
        parts.push(Part::Text(segment.prefix.as_bytes()));
        if let Some(param) = &segment.param {
            parts.push(Part::Value(contract.param(param)));
        }
        parts.push(Part::Text(segment.suffix.as_bytes()));
    }
    parts
}

/// Names of fields are short, so trying every end of a placeholder is quick enough.
fn matches(parts: &[Part<'_>], field: &[u8]) -> bool {
    match parts {
        [] => field.is_empty(),
        [Part::Text(text), rest @ ..] => field.strip_prefix(*text).is_some_and(|field| matches(rest, field)),
        [Part::Value(param), rest @ ..] => (0..=field.len()).any(|end| {
            let (value, behind) = field.split_at(end);
            let passes = param.is_none_or(|param| param.read_automaton().accepts(value));
            passes && matches(rest, behind)
        }),
    }
}
