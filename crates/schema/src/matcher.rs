//! From a concrete key to its pattern and parameters.
//!
//! The patterns of all contracts form one tree by segments: a literal child is one hash look-up, so the cost of a match
//! grows with the length of the key and not with the number of patterns. Within one contract at most one key matches,
//! because overlapping patterns are refused when the contract is read.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::model::{Contract, Key, Param};
use crate::naming::Naming;

/// Placeholders that one pattern may hold; more is refused when the contract is read.
pub(crate) const MAX_PARAMS: usize = 8;

/// Finds the pattern of a key among several contracts.
#[derive(Debug)]
pub struct Matcher {
    contracts: Vec<Arc<Contract>>,
    nodes: Vec<Node>,
}

/// A key and what it is.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Match<'m, 'k> {
    /// The contract it belongs to.
    pub contract: &'m Contract,
    /// The key of the contract.
    pub key: &'m Key,
    /// The values of the placeholders, in the order of the pattern.
    pub params: Vec<(&'m str, &'k str)>,
    /// Whether an id has the legacy shape: such a key may be read, not written.
    pub legacy: bool,
}

#[derive(Debug, Default)]
struct Node {
    literals: FxHashMap<Box<[u8]>, u32>,
    values: Vec<Value>,
    /// (contract, key) that end here.
    ends: Vec<(u32, u32)>,
}

/// A segment with a placeholder.
#[derive(Debug)]
struct Value {
    prefix: Box<[u8]>,
    suffix: Box<[u8]>,
    param: Arc<Param>,
    /// For a placeholder that may hold `:`: how many segments come behind it.
    behind: Option<usize>,
    next: u32,
}

/// A match in the making: byte ranges of the values found so far.
#[derive(Clone, Copy, Default)]
struct Trail {
    spans: [(u32, u32); MAX_PARAMS],
    len: usize,
    legacy: bool,
}

impl Matcher {
    /// A matcher over several contracts, each spelled its own way.
    #[must_use]
    pub fn new(contracts: impl IntoIterator<Item = (Arc<Contract>, Naming)>) -> Self {
        let mut matcher = Self { contracts: Vec::new(), nodes: vec![Node::default()] };
        for (contract, naming) in contracts {
            let number = matcher.contracts.len() as u32;
            let params: FxHashMap<String, Arc<Param>> =
                contract.params.iter().map(|param| (param.name.clone(), Arc::new(param.clone()))).collect();
            for (index, key) in contract.keys.iter().enumerate() {
                matcher.insert(&naming, key, &params, (number, index as u32));
            }
            matcher.contracts.push(contract);
        }
        matcher
    }

    /// The first match, contracts in the order they were given.
    #[must_use]
    pub fn find<'m, 'k>(&'m self, key: &'k str) -> Option<Match<'m, 'k>> {
        let mut best: Option<((u32, u32), Trail)> = None;
        self.search(key, &mut |end, trail| {
            if best.as_ref().is_none_or(|(known, _)| end < *known) {
                best = Some((end, *trail));
            }
        });
        best.map(|(end, trail)| self.hit(key, end, &trail))
    }

    /// All matches: at most one per contract.
    #[must_use]
    pub fn find_all<'m, 'k>(&'m self, key: &'k str) -> Vec<Match<'m, 'k>> {
        let mut hits: Vec<((u32, u32), Trail)> = Vec::new();
        self.search(key, &mut |end, trail| hits.push((end, *trail)));
        hits.sort_by_key(|(end, _)| *end);
        hits.iter().map(|(end, trail)| self.hit(key, *end, trail)).collect()
    }

    fn hit<'m, 'k>(&'m self, text: &'k str, (contract, key): (u32, u32), trail: &Trail) -> Match<'m, 'k> {
        let contract: &Contract = &self.contracts[contract as usize];
        let key = &contract.keys[key as usize];
        let values = trail.spans[..trail.len].iter().map(|&(start, end)| &text[start as usize..end as usize]);
        Match { contract, key, params: key.pattern.params().zip(values).collect(), legacy: trail.legacy }
    }

    fn insert(
        &mut self,
        naming: &Naming,
        key: &Key,
        params: &FxHashMap<String, Arc<Param>>,
        end: (u32, u32),
    ) {
        let pattern = naming.pattern(key);
        let segments = pattern.segments();
        let mut node = 0;
        for (index, segment) in segments.iter().enumerate() {
            let param = segment.param.as_ref().and_then(|name| params.get(name));
            node = match param {
                None => self.literal_child(node, segment.prefix.as_bytes()),
                Some(param) => {
                    let behind = param.colons.then_some(segments.len() - index - 1);
                    self.value_child(
                        node,
                        segment.prefix.as_bytes(),
                        param,
                        segment.suffix.as_bytes(),
                        behind,
                    )
                }
            };
        }
        self.nodes[node as usize].ends.push(end);
    }

    fn literal_child(&mut self, node: u32, literal: &[u8]) -> u32 {
        let fresh = self.nodes.len() as u32;
        let child = *self.nodes[node as usize].literals.entry(literal.into()).or_insert(fresh);
        if child == fresh {
            self.nodes.push(Node::default());
        }
        child
    }

    fn value_child(
        &mut self,
        node: u32,
        prefix: &[u8],
        param: &Arc<Param>,
        suffix: &[u8],
        behind: Option<usize>,
    ) -> u32 {
        let same = |value: &&Value| {
            *value.prefix == *prefix
                && *value.suffix == *suffix
                && Arc::ptr_eq(&value.param, param)
                && value.behind == behind
        };
        if let Some(value) = self.nodes[node as usize].values.iter().find(same) {
            return value.next;
        }
        let next = self.nodes.len() as u32;
        self.nodes.push(Node::default());
        let value =
            Value { prefix: prefix.into(), suffix: suffix.into(), param: param.clone(), behind, next };
        self.nodes[node as usize].values.push(value);
        next
    }

    fn search(&self, key: &str, found: &mut impl FnMut((u32, u32), &Trail)) {
        if u32::try_from(key.len()).is_ok() {
            self.walk(0, key, 0, Trail::default(), found);
        }
    }

    /// Tries every child of `node` on the segment that starts at `start`.
    fn walk(
        &self,
        node: u32,
        key: &str,
        start: usize,
        trail: Trail,
        found: &mut impl FnMut((u32, u32), &Trail),
    ) {
        let node = &self.nodes[node as usize];
        let bytes = key.as_bytes();
        let end = bytes[start..].iter().position(|&b| b == b':').map_or(bytes.len(), |offset| start + offset);
        if let Some(&child) = node.literals.get(&bytes[start..end]) {
            self.proceed(child, key, end, trail, found);
        }
        for value in &node.values {
            let end = match value.behind {
                None => Some(end),
                Some(behind) => end_before(bytes, start, behind),
            };
            if let Some(end) = end
                && let Some(trail) = value.take(key, start, end, trail)
            {
                self.proceed(value.next, key, end, trail, found);
            }
        }
    }

    fn proceed(
        &self,
        node: u32,
        key: &str,
        end: usize,
        trail: Trail,
        found: &mut impl FnMut((u32, u32), &Trail),
    ) {
        if end < key.len() {
            self.walk(node, key, end + 1, trail, found);
        } else {
            for &end in &self.nodes[node as usize].ends {
                found(end, &trail);
            }
        }
    }
}

impl Value {
    /// The trail with this segment's value, if the value passes.
    fn take(&self, key: &str, start: usize, end: usize, mut trail: Trail) -> Option<Trail> {
        let segment = key.as_bytes().get(start..end)?;
        let inner = segment.strip_prefix(&*self.prefix)?.strip_suffix(&*self.suffix)?;
        let from = start + self.prefix.len();
        let value = key.get(from..from + inner.len())?;
        if !self.param.accepts(value) {
            if !self.param.accepts_for_reading(value) {
                return None;
            }
            trail.legacy = true;
        }
        *trail.spans.get_mut(trail.len)? = (from as u32, (from + inner.len()) as u32);
        trail.len += 1;
        Some(trail)
    }
}

/// Where the value ends when `behind` segments follow it, seen from the end of the key.
fn end_before(bytes: &[u8], start: usize, behind: usize) -> Option<usize> {
    let mut end = bytes.len();
    for _ in 0..behind {
        end = bytes[start..end].iter().rposition(|&b| b == b':').map(|offset| start + offset)?;
    }
    Some(end)
}
