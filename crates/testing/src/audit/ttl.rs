//! Whether a key lives as long as its policy says.

use std::time::Duration;

use keyplane_schema::{Contract, Key, Match, Naming, Policy, Purpose, show_duration};

use super::{Fact, What};

/// Parent and child are read one after the other, and set one after the other by the code under test.
const SLACK: Duration = Duration::from_secs(1);

type Verdict = Option<(What, String)>;

/// What is wrong with the key's expiry. `parent` looks up another key of the store.
pub(super) fn judge<'f>(
    hit: &Match<'_, '_>,
    naming: &Naming,
    fact: &Fact,
    parent: impl Fn(&str) -> Option<&'f Fact>,
) -> Verdict {
    let key = hit.key;
    match &key.ttl.policy {
        Policy::None | Policy::Pruned { key: None, .. } => never(key, fact.ttl),
        Policy::Fixed(lasts)
        | Policy::Sliding(lasts)
        | Policy::Refreshed(lasts)
        | Policy::Max(lasts)
        | Policy::Pruned { key: Some(lasts), .. } => {
            required(key, fact.ttl).or_else(|| at_most(key, fact.ttl, *lasts))
        }
        Policy::After { lasts, before: None, .. } => at_most(key, fact.ttl, *lasts),
        Policy::After { lasts, before: Some(before), .. } => required(key, fact.ttl).or_else(|| {
            // What is added at run time is not known here.
            let known = before.plus.is_none();
            known.then(|| at_most(key, fact.ttl, before.lasts.max(*lasts))).flatten()
        }),
        Policy::Linked { to, .. } => {
            let to = hit.contract.key(to)?;
            let name = parent_name(hit, naming, to)?;
            linked(hit.contract, key, fact.ttl, to, parent(&name))
        }
    }
}

fn never(key: &Key, ttl: Option<Duration>) -> Verdict {
    let ttl = show(ttl?);
    Some((What::TtlForbidden, format!("ends in {ttl}; {} has {}", key.name, key.ttl.policy)))
}

fn required(key: &Key, ttl: Option<Duration>) -> Verdict {
    let missing = || (What::TtlMissing, format!("never ends; {} has {}", key.name, key.ttl.policy));
    ttl.is_none().then(missing)
}

fn at_most(key: &Key, ttl: Option<Duration>, most: Duration) -> Verdict {
    let ttl = ttl.filter(|ttl| *ttl > most)?;
    let text = format!("ends in {}; {} has {}", show(ttl), key.name, key.ttl.policy);
    Some((What::TtlTooLong, text))
}

fn linked(contract: &Contract, key: &Key, ttl: Option<Duration>, to: &Key, parent: Option<&Fact>) -> Verdict {
    match (ttl, parent) {
        (Some(ttl), Some(parent)) => match parent.ttl {
            None => Some((What::TtlTooShort, format!("ends in {}; its {} never does", show(ttl), to.name))),
            Some(longer) if ttl + SLACK < longer => {
                let (ttl, longer) = (show(ttl), show(longer));
                Some((What::TtlTooShort, format!("ends in {ttl}; its {} in {longer}", to.name)))
            }
            Some(_) => None,
        },
        (None, Some(parent)) => {
            let text = || {
                format!("never ends; its {} ends in {}", to.name, parent.ttl.map(show).unwrap_or_default())
            };
            parent.ttl.is_some().then(|| (What::TtlMissing, text()))
        }
        // Nothing would ever end it now.
        (None, None) if ends_by_itself(contract, to) => Some((
            What::TtlMissing,
            format!("never ends; {} is as long as {}, which is gone", key.name, to.name),
        )),
        (_, None) => None,
    }
}

/// Whether a parent always has an expiry: only then is a child without one a leak when its parent is gone. A key that
/// never ends is no parent in a sound contract.
fn ends_by_itself(contract: &Contract, key: &Key) -> bool {
    match &key.ttl.policy {
        Policy::After { before: None, .. } => false,
        Policy::Linked { to, .. } => contract.key(to).is_some_and(|to| ends_by_itself(contract, to)),
        _ => true,
    }
}

/// The parent's key: its placeholders have the values that they have in the child's.
fn parent_name(hit: &Match<'_, '_>, naming: &Naming, to: &Key) -> Option<String> {
    let needed = |(name, _): &&(&str, &str)| to.pattern.params().any(|param| param == *name);
    let values: Vec<(&str, &str)> = hit.params.iter().filter(needed).copied().collect();
    to.render(hit.contract, naming, Purpose::Read, &values).ok()
}

/// Found times are odd, so milliseconds are only told where they matter.
fn show(ttl: Duration) -> String {
    if ttl < Duration::from_secs(10) {
        format!("{} ms", ttl.as_millis())
    } else {
        show_duration(Duration::from_secs(ttl.as_secs()))
    }
}
