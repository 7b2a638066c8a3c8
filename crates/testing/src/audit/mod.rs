//! What a test left behind, held against its contract.
//!
//! The facts are read from every master first, then judged without the store: the judgement can be tested by itself.

mod facts;
mod fields;
mod ttl;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use keyplane_schema::{Contract, Match, Matcher, Naming, RedisType, explain_miss};

pub(crate) use facts::{Fact, read, remove};

/// What is wrong with a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum What {
    /// No key of the contract has this shape.
    UnknownKey,
    /// It has another Redis type than the contract says.
    WrongType,
    /// It must expire and does not.
    TtlMissing,
    /// It lives longer than its policy allows.
    TtlTooLong,
    /// It may end before the key that it is linked to.
    TtlTooShort,
    /// It expires and must not.
    TtlForbidden,
    /// A hash has a field that the contract does not name.
    UnknownField,
    /// A hash has more fields than its limit.
    TooManyFields,
    /// A collection has more members than its limit.
    TooManyMembers,
}

/// Something that the contract does not allow.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// What it is.
    pub what: What,
    /// The key as stored.
    pub key: String,
    /// What was found and what the contract says.
    pub text: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {}: {}", self.what, self.key, self.text)
    }
}

/// What a test has stated about itself.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    pub(crate) contracts: Vec<(Arc<Contract>, Naming)>,
    pub(crate) expected: Vec<(What, String)>,
}

/// Everything that the contracts do not allow.
pub(crate) fn judge(contracts: &[(Arc<Contract>, Naming)], facts: &[Fact]) -> Vec<Finding> {
    let matcher = Matcher::new(contracts.iter().cloned());
    let by_key: BTreeMap<&str, &Fact> = facts.iter().map(|fact| (fact.key.as_str(), fact)).collect();
    let mut found = Vec::new();
    for fact in facts {
        let mut report = |what, text| found.push(Finding { what, key: fact.key.clone(), text });
        match matcher.find(&fact.key) {
            None => report(What::UnknownKey, unknown(contracts, &fact.key)),
            Some(hit) => {
                let naming = naming_of(contracts, hit.contract);
                judge_shape(&hit, fact, &mut report);
                let parent = |key: &str| by_key.get(key).copied();
                if let Some((what, text)) = ttl::judge(&hit, naming, fact, parent) {
                    report(what, text);
                }
            }
        }
    }
    found
}

fn naming_of<'r>(contracts: &'r [(Arc<Contract>, Naming)], contract: &Contract) -> &'r Naming {
    let known = contracts.iter().find(|(known, _)| std::ptr::eq(&**known, contract));
    &known.expect("the matcher was made of these contracts").1
}

/// The namespace agrees with every pattern, so it is left out: only the rest can be near one.
fn unknown(contracts: &[(Arc<Contract>, Naming)], key: &str) -> String {
    let near = contracts.iter().filter_map(|(contract, naming)| {
        let rest = key.replacen(&naming.namespace, "", 1);
        let rest = rest.trim_start_matches(['{', '}', ':']);
        explain_miss(contract, &naming.clone().in_namespace(""), rest)
    });
    match near.max_by_key(|miss| miss.nearness()) {
        Some(miss) => format!("no key of the contract; near {}: {}", miss.key.name, miss.reason),
        None => "no key of the contract".to_owned(),
    }
}

/// Type, fields and limits.
fn judge_shape(hit: &Match<'_, '_>, fact: &Fact, report: &mut impl FnMut(What, String)) {
    let key = hit.key;
    if !key.types.iter().any(|kind| kind.word() == fact.kind) {
        // Nothing else about it can be right or wrong.
        return report(What::WrongType, format!("a {}; {} is a {}", fact.kind, key.name, key.type_words()));
    }
    let limits = key.limits(hit.contract);
    let is_hash = fact.kind == RedisType::Hash.word();
    let (limit, what, unit) = if is_hash {
        (limits.fields, What::TooManyFields, "fields")
    } else {
        (limits.members, What::TooManyMembers, "members")
    };
    if let Some(limit) = limit.filter(|limit| fact.count > *limit) {
        report(what, format!("{} {unit}; {} may have {limit}", fact.count, key.name));
    }
    if is_hash {
        for field in fields::unknown(hit.contract, key, &fact.fields) {
            report(What::UnknownField, format!("field `{field}`, which {} does not have", key.name));
        }
    }
}

/// What remains to complain about when expected findings are taken off: the others, and those that did not come.
pub(crate) fn settle(found: &[Finding], expected: &[(What, String)], namespace: &str) -> Vec<String> {
    let bare = |key: &str| {
        let key = key.replace(['{', '}'], "");
        key.strip_prefix(&format!("{namespace}:")).unwrap_or(&key).to_owned()
    };
    let meets = |finding: &Finding, (what, key): &(What, String)| {
        finding.what == *what && bare(&finding.key) == bare(key)
    };
    let surprises = found.iter().filter(|finding| !expected.iter().any(|expected| meets(finding, expected)));
    let absent = expected.iter().filter(|expected| !found.iter().any(|finding| meets(finding, expected)));
    let absent = absent.map(|(what, key)| format!("{what:?} {key}: expected by the test, and not found"));
    surprises.map(ToString::to_string).chain(absent).collect()
}

#[cfg(test)]
mod tests;
