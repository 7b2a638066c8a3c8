//! Why a key matches nothing: the pattern it comes nearest to, and where it leaves it.

use crate::model::{Contract, Key};
use crate::naming::Naming;
use crate::pattern::{Pattern, Segment};
use crate::read::closest;

/// The key that a text comes nearest to.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Miss<'c> {
    /// The nearest key.
    pub key: &'c Key,
    /// What keeps the text from matching, in words.
    pub reason: String,
    agree: usize,
}

impl Miss<'_> {
    /// How many segments agree: to choose among contracts.
    #[must_use]
    pub fn nearness(&self) -> usize {
        self.agree
    }
}

/// The nearest key of a contract, if one is near: at least half of the segments agree, or all but the naming.
#[must_use]
pub fn explain_miss<'c>(contract: &'c Contract, naming: &Naming, text: &str) -> Option<Miss<'c>> {
    let given: Vec<&str> = text.split(':').collect();
    other_naming(contract, naming, &given).or_else(|| {
        let near = |key: &'c Key| {
            let pattern = naming.pattern(key);
            let (agree, reason) = compare(contract, &pattern, &given)?;
            (agree > 0 && agree * 2 >= given.len()).then_some(Miss { key, reason, agree })
        };
        contract.keys.iter().filter_map(near).max_by_key(Miss::nearness)
    })
}

/// The key may be right under another naming: with hash tags, or without the namespace.
fn other_naming<'c>(contract: &'c Contract, naming: &Naming, given: &[&str]) -> Option<Miss<'c>> {
    let turned = Naming { hash_tags: !naming.hash_tags, ..naming.clone() };
    let tags =
        if turned.hash_tags { "it carries a hash tag, as on Cluster" } else { "its hash tag is missing" };
    let bare = naming.clone().in_namespace("");
    let namespace = format!("the namespace `{}:` is missing", naming.namespace);
    [(turned, tags), (bare, namespace.as_str())].iter().find_map(|(other, reason)| {
        let agrees = |key: &&Key| {
            let pattern = other.pattern(key);
            pattern.segments().len() == given.len() && compare(contract, &pattern, given).is_none()
        };
        let key = contract.keys.iter().find(agrees)?;
        Some(Miss { key, reason: (*reason).to_owned(), agree: given.len() })
    })
}

/// How many segments agree, and the first that does not; `None` when all do, or when there are more or fewer of them.
fn compare(contract: &Contract, pattern: &Pattern, given: &[&str]) -> Option<(usize, String)> {
    if pattern.segments().len() != given.len() {
        return None;
    }
    let each = |(segment, text): (&Segment, &&str)| misfit(contract, segment, text);
    let misfits: Vec<Option<String>> = pattern.segments().iter().zip(given).map(each).collect();
    let agree = misfits.iter().filter(|misfit| misfit.is_none()).count();
    misfits.into_iter().flatten().next().map(|first| (agree, first))
}

/// Why a segment does not fit; `None` when it does.
fn misfit(contract: &Contract, segment: &Segment, text: &str) -> Option<String> {
    let Some(param) = segment.param.as_deref().and_then(|name| contract.param(name)) else {
        let typo = if closest(text, &[&segment.prefix]).is_some() { "; a typo?" } else { "" };
        return (segment.prefix != text).then(|| format!("`{text}` should be `{}`{typo}", segment.prefix));
    };
    let inner = text
        .strip_prefix(segment.prefix.as_str())
        .and_then(|rest| rest.strip_suffix(segment.suffix.as_str()));
    match inner {
        None => Some(format!("`{text}` should be `{}<{}>{}`", segment.prefix, param.name, segment.suffix)),
        Some(value) if param.accepts_for_reading(value) => None,
        Some(value) => Some(format!("`{value}` is not a <{}>: {}", param.name, param.describe())),
    }
}
