//! Patterns and globs as sets of keys: can two of them meet, and in which key?
//!
//! Overlap of patterns and reach of ACL rules are the same question. It is answered exactly, by walking the product of
//! two small automata, and the answer is a key that proves it.

use std::cell::LazyCell;
use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::dfa::{ByteSet, Dfa, START, friendly_bytes};

/// One step of a language.
#[derive(Debug, Clone)]
pub(crate) enum Part {
    Byte(u8),
    /// One byte of a set.
    Set(Box<ByteSet>),
    /// A value of a placeholder.
    Value(Arc<Dfa>),
    /// `*`: anything, also nothing.
    Anything,
}

/// A sequence of parts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Language {
    parts: Vec<Part>,
}

/// A place in a language: before part `part`, or inside its value automaton.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Place {
    part: usize,
    inner: u16,
}

impl Language {
    pub(crate) fn literal(&mut self, text: &str) {
        self.parts.extend(text.bytes().map(Part::Byte));
    }

    pub(crate) fn push(&mut self, part: Part) {
        self.parts.push(part);
    }

    /// How many parts it has.
    pub(crate) fn len(&self) -> usize {
        self.parts.len()
    }

    /// The language without its first parts.
    pub(crate) fn behind(&self, parts: usize) -> Self {
        Self { parts: self.parts.get(parts..).unwrap_or_default().to_vec() }
    }

    pub(crate) fn extend(&mut self, other: Self) {
        self.parts.extend(other.parts);
    }

    /// A key in both languages, if there is one.
    pub(crate) fn meet(&self, other: &Self) -> Option<String> {
        type Pair = (Place, Place);
        let mut from: FxHashMap<Pair, Option<(Pair, u8)>> = FxHashMap::default();
        let mut queue: VecDeque<Pair> = VecDeque::new();
        for a in self.enter(0) {
            for b in other.enter(0) {
                from.insert((a, b), None);
                queue.push_back((a, b));
            }
        }
        let representatives = LazyCell::new(|| self.representatives(other));
        while let Some(pair @ (a, b)) = queue.pop_front() {
            if a.part == self.parts.len() && b.part == other.parts.len() {
                return Some(trace(&from, pair));
            }
            for byte in self.bytes(a, other, b, || &representatives) {
                let (next_a, next_b) = (self.step(a, byte), other.step(b, byte));
                for &to_a in &next_a {
                    for &to_b in &next_b {
                        from.entry((to_a, to_b)).or_insert_with(|| {
                            queue.push_back((to_a, to_b));
                            Some((pair, byte))
                        });
                    }
                }
            }
        }
        None
    }

    /// Bytes worth trying: one when either side is at a literal, else one of each kind.
    fn bytes<'r>(
        &self,
        a: Place,
        other: &Self,
        b: Place,
        representatives: impl FnOnce() -> &'r [u8],
    ) -> Vec<u8> {
        match (self.parts.get(a.part), other.parts.get(b.part)) {
            (None, _) | (_, None) => Vec::new(),
            (Some(Part::Byte(byte)), _) | (_, Some(Part::Byte(byte))) => vec![*byte],
            _ => representatives().to_vec(),
        }
    }

    /// One byte of every kind that the two languages tell apart, friendly ones first.
    fn representatives(&self, other: &Self) -> Vec<u8> {
        let mut literals = [false; 256];
        let mut checks: Vec<&Arc<Dfa>> = Vec::new();
        let mut sets: Vec<&ByteSet> = Vec::new();
        for part in self.parts.iter().chain(&other.parts) {
            match part {
                Part::Byte(byte) => literals[usize::from(*byte)] = true,
                Part::Value(dfa) if !checks.iter().any(|known| Arc::ptr_eq(known, dfa)) => checks.push(dfa),
                Part::Set(set) if !sets.contains(&&**set) => sets.push(set),
                Part::Value(_) | Part::Set(_) | Part::Anything => {}
            }
        }
        let kind = |byte: u8| -> Vec<u8> {
            let literal = if literals[usize::from(byte)] { [1, byte] } else { [0, 0] };
            let in_sets = sets.iter().map(|set| u8::from(set[usize::from(byte)]));
            literal.into_iter().chain(checks.iter().map(|dfa| dfa.class(byte))).chain(in_sets).collect()
        };
        let mut seen = HashSet::new();
        friendly_bytes().filter(|&byte| seen.insert(kind(byte))).collect()
    }

    /// Places reachable without reading anything from the start of `part`.
    fn enter(&self, part: usize) -> Vec<Place> {
        let mut places = Vec::new();
        let mut index = part;
        loop {
            places.push(Place { part: index, inner: START });
            match self.parts.get(index) {
                Some(Part::Anything) => index += 1,
                Some(Part::Value(dfa)) if dfa.is_accepting(START) => index += 1,
                _ => return places,
            }
        }
    }

    fn step(&self, place: Place, byte: u8) -> Vec<Place> {
        match self.parts.get(place.part) {
            Some(Part::Byte(expected)) if *expected == byte => self.enter(place.part + 1),
            Some(Part::Set(set)) if set[usize::from(byte)] => self.enter(place.part + 1),
            Some(Part::Anything) => self.enter(place.part),
            Some(Part::Value(dfa)) => {
                let inner = dfa.step(place.inner, byte);
                if Dfa::is_dead(inner) {
                    return Vec::new();
                }
                let mut places = vec![Place { part: place.part, inner }];
                if dfa.is_accepting(inner) {
                    places.extend(self.enter(place.part + 1));
                }
                places
            }
            _ => Vec::new(),
        }
    }
}

fn trace<P: Copy + Eq + std::hash::Hash>(from: &FxHashMap<P, Option<(P, u8)>>, end: P) -> String {
    let mut bytes = Vec::new();
    let mut at = end;
    while let Some(Some((previous, byte))) = from.get(&at) {
        bytes.push(*byte);
        at = *previous;
    }
    bytes.reverse();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn glob(text: &str) -> Language {
        let mut language = Language::default();
        for byte in text.bytes() {
            language.push(if byte == b'*' { Part::Anything } else { Part::Byte(byte) });
        }
        language
    }

    fn pattern(parts: &[&str]) -> Language {
        let mut language = Language::default();
        for part in parts {
            match part.strip_prefix('/') {
                Some(regex) => language.push(Part::Value(Arc::new(Dfa::regex(regex).unwrap()))),
                None => language.literal(part),
            }
        }
        language
    }

    #[test]
    fn the_glob_of_the_agents_reaches_the_index() {
        let index = pattern(&["swarm:index:agents:", "/[a-z]+"]);
        assert_eq!(glob("swarm:*:agents:*").meet(&index).unwrap(), "swarm:index:agents:a");
        assert_eq!(glob("swarm:swarm_*:agents:*").meet(&index), None);
    }

    #[test]
    fn a_placeholder_meets_a_literal_only_where_its_check_allows() {
        let swarm = pattern(&["swarm:", "/swarm_[a-z0-9]{2,4}"]);
        assert_eq!(swarm.meet(&pattern(&["swarm:index"])), None);
        assert_eq!(swarm.meet(&pattern(&["swarm:", "/[^:]+"])).unwrap(), "swarm:swarm_aa");
        assert_eq!(pattern(&["a:", "/[^:]+"]).meet(&pattern(&["a:", "/[^:]+", ":b"])), None);
        assert_eq!(pattern(&["a:", "/.+"]).meet(&pattern(&["a:", "/[^:]+", ":b"])).unwrap(), "a:a:b");
    }
}
