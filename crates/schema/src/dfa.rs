//! A complete deterministic automaton over bytes.
//!
//! Every placeholder check is one of these. The same table answers "does this value pass", "can two patterns meet",
//! "what does every value start with", and is emitted as constants by the macro.

use std::cmp::Ordering;
use std::collections::{HashMap, VecDeque};

use regex_automata::dfa::{Automaton, StartKind, dense};
use regex_automata::nfa::thompson;
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input, MatchKind};

/// No table may grow past this many states: a check on an id is small, and two hostile ones are walked as a product.
const MAX_STATES: usize = 600;

/// Bytes tried first when an example is made up, so that it reads like an id.
const FRIENDLY: &[u8] = b"abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_-.+:";

/// A set of bytes.
pub(crate) type ByteSet = [bool; 256];

/// The automaton. State 0 is dead, state 1 is the start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dfa {
    classes: Vec<u8>,
    width: usize,
    next: Vec<u16>,
    accept: Vec<bool>,
}

const DEAD: u16 = 0;
pub(crate) const START: u16 = 1;

impl Dfa {
    /// The automaton of an ASCII regular expression, matched against the whole value.
    pub(crate) fn regex(pattern: &str) -> Result<Self, String> {
        let pattern = format!("(?:{pattern})");
        let dense = dense::Builder::new()
            .syntax(
                syntax::Config::new().unicode(false).utf8(false).dot_matches_new_line(true).nest_limit(50),
            )
            .thompson(thompson::Config::new().utf8(false).nfa_size_limit(Some(1 << 20)))
            .configure(
                dense::Config::new()
                    // The whole value counts, so no alternative may win over a longer one.
                    .match_kind(MatchKind::All)
                    .start_kind(StartKind::Anchored)
                    .minimize(false)
                    .dfa_size_limit(Some(4 << 20))
                    .determinize_size_limit(Some(8 << 20)),
            )
            .build(&pattern)
            .map_err(|error| reason(&error))?;
        let input = Input::new(b"").anchored(Anchored::Yes);
        let start = dense.start_state_forward(&input).map_err(|error| error.to_string())?;
        explore(start, |&state| {
            if dense.is_dead_state(state) {
                return None;
            }
            let accept = dense.is_match_state(dense.next_eoi_state(state));
            let row = (0..=255)
                .map(|byte| dense.next_state(state, byte))
                .map(|s| (!dense.is_dead_state(s)).then_some(s))
                .collect();
            Some((accept, row))
        })
        .map(|dfa| dfa.minimal())
    }

    /// The automaton of exactly these words.
    pub(crate) fn words<'a>(words: impl IntoIterator<Item = &'a str>) -> Result<Self, String> {
        let words: Vec<&[u8]> = words.into_iter().map(str::as_bytes).collect();
        // A state is the set of words still possible and how far they have been read.
        let start: (Vec<usize>, usize) = ((0..words.len()).collect(), 0);
        explore(start, |(alive, read)| {
            let accept = alive.iter().any(|&index| words[index].len() == *read);
            let row = (0..=255_u8)
                .map(|byte| {
                    let rest: Vec<usize> = alive
                        .iter()
                        .copied()
                        .filter(|&index| words[index].get(*read) == Some(&byte))
                        .collect();
                    (!rest.is_empty()).then_some((rest, read + 1))
                })
                .collect();
            Some((accept, row))
        })
    }

    /// The automaton of the decimal numbers from `low` to `high`, without leading zeros.
    pub(crate) fn numbers(low: u64, high: u64) -> Result<Self, String> {
        let (low, high) = (low.to_string(), high.to_string());
        // A number is known by how many digits were read, how they compare with those of the ends, and whether it is 0.
        let start = (0, Ordering::Equal, Ordering::Equal, false);
        explore(start, |&(read, to_low, to_high, zero)| {
            let above = read > low.len() || (read == low.len() && to_low != Ordering::Less);
            let below = read < high.len() || (read == high.len() && to_high != Ordering::Greater);
            let row = (0..=255_u8)
                .map(|byte| {
                    let next = |end: &str, known: Ordering| {
                        known.then_with(|| {
                            end.as_bytes().get(read).map_or(Ordering::Equal, |digit| byte.cmp(digit))
                        })
                    };
                    let fits = byte.is_ascii_digit() && !zero && read < high.len();
                    fits.then(|| {
                        (read + 1, next(&low, to_low), next(&high, to_high), read == 0 && byte == b'0')
                    })
                })
                .collect();
            Some((read > 0 && above && below, row))
        })
        .map(Self::minimal)
    }

    /// What this accepts and the other does not.
    pub(crate) fn minus(&self, other: &Self) -> Result<Self, String> {
        self.product(other, |a, b| a && !b)
    }

    /// What either accepts.
    pub(crate) fn or(&self, other: &Self) -> Result<Self, String> {
        self.product(other, |a, b| a || b)
    }

    fn product(&self, other: &Self, accept: impl Fn(bool, bool) -> bool) -> Result<Self, String> {
        explore((START, START), |&(a, b)| {
            if a == DEAD && b == DEAD {
                return None;
            }
            let row = (0..=255).map(|byte| Some((self.step(a, byte), other.step(b, byte)))).collect();
            Some((accept(self.accept[usize::from(a)], other.accept[usize::from(b)]), row))
        })
        .map(|dfa| dfa.minimal())
    }

    pub(crate) fn step(&self, state: u16, byte: u8) -> u16 {
        self.next[usize::from(state) * self.width + usize::from(self.classes[usize::from(byte)])]
    }

    /// Bytes of one class are alike in every state.
    pub(crate) fn class(&self, byte: u8) -> u8 {
        self.classes[usize::from(byte)]
    }

    pub(crate) fn is_accepting(&self, state: u16) -> bool {
        self.accept[usize::from(state)]
    }

    pub(crate) fn is_dead(state: u16) -> bool {
        state == DEAD
    }

    /// Whether the whole value passes.
    #[must_use]
    pub fn accepts(&self, value: &[u8]) -> bool {
        let mut state = START;
        for &byte in value {
            state = self.step(state, byte);
            if state == DEAD {
                return false;
            }
        }
        self.is_accepting(state)
    }

    /// The shortest value that passes, made of friendly bytes where there is a choice.
    pub(crate) fn shortest(&self) -> Option<Vec<u8>> {
        if self.is_accepting(START) { Some(Vec::new()) } else { self.shortest_with(|_| true) }
    }

    /// The shortest value that passes and holds one of the wanted bytes.
    pub(crate) fn shortest_with(&self, wanted: impl Fn(u8) -> bool) -> Option<Vec<u8>> {
        type Place = (u16, bool);
        let mut from: HashMap<Place, (Place, u8)> = HashMap::new();
        let mut queue = VecDeque::from([(START, false)]);
        while let Some(place @ (state, seen)) = queue.pop_front() {
            if seen && self.is_accepting(state) {
                let mut value = Vec::new();
                let mut at = place;
                while let Some(&(previous, byte)) = from.get(&at) {
                    value.push(byte);
                    at = previous;
                }
                value.reverse();
                return Some(value);
            }
            for byte in friendly_bytes() {
                let next = (self.step(state, byte), seen || wanted(byte));
                if next.0 != DEAD && next != (START, false) && !from.contains_key(&next) {
                    from.insert(next, (place, byte));
                    queue.push_back(next);
                }
            }
        }
        None
    }

    /// The length of the shortest and of the longest accepted value; no longest when there is no bound.
    pub(crate) fn lengths(&self) -> (usize, Option<usize>) {
        let live = self.live();
        let mut layer = vec![false; self.accept.len()];
        layer[usize::from(START)] = true;
        let (mut shortest, mut longest) = (None, 0);
        for length in 0..=self.accept.len() {
            if layer.iter().zip(&self.accept).any(|(&here, &accept)| here && accept) {
                shortest.get_or_insert(length);
                longest = length;
            }
            layer = self.advance(&layer, &live);
            if !layer.contains(&true) {
                return (shortest.unwrap_or(0), Some(longest));
            }
        }
        // More steps than states without running dry: there is a loop.
        (shortest.unwrap_or(0), None)
    }

    /// For values of exactly `length`, the bytes possible at each position.
    pub(crate) fn positions(&self, length: usize) -> Option<Vec<ByteSet>> {
        let states = self.accept.len();
        let row = |state: usize| &self.next[state * self.width..][..self.width];
        // ends[i]: states from which an accepting one is reached in exactly i steps.
        let mut ends = vec![self.accept.clone()];
        for step in 0..length {
            ends.push(
                (0..states).map(|state| row(state).iter().any(|&to| ends[step][usize::from(to)])).collect(),
            );
        }
        if !ends[length][usize::from(START)] {
            return None;
        }
        let mut layer = vec![false; states];
        layer[usize::from(START)] = true;
        let mut sets = Vec::with_capacity(length);
        for position in 0..length {
            let mut classes = vec![false; self.width];
            let mut next = vec![false; states];
            for state in (0..states).filter(|&state| layer[state]) {
                for (class, &to) in row(state).iter().enumerate() {
                    if ends[length - position - 1][usize::from(to)] {
                        classes[class] = true;
                        next[usize::from(to)] = true;
                    }
                }
            }
            sets.push(std::array::from_fn(|byte| classes[usize::from(self.classes[byte])]));
            layer = next;
        }
        Some(sets)
    }

    /// What every accepted value starts with.
    pub(crate) fn common_prefix(&self) -> Vec<u8> {
        let live = self.live();
        let mut prefix = Vec::new();
        let mut state = START;
        while !self.is_accepting(state) && prefix.len() < self.accept.len() {
            let mut choices = (0..=255_u8).filter(|&byte| live[usize::from(self.step(state, byte))]);
            match (choices.next(), choices.next()) {
                (Some(byte), None) => {
                    prefix.push(byte);
                    state = self.step(state, byte);
                }
                _ => break,
            }
        }
        prefix
    }

    /// The table, for code that is generated from it: byte classes, row width, transitions, accepting states.
    #[must_use]
    pub fn table(&self) -> (&[u8], usize, &[u16], &[bool]) {
        (&self.classes, self.width, &self.next, &self.accept)
    }

    fn advance(&self, layer: &[bool], live: &[bool]) -> Vec<bool> {
        let mut next = vec![false; layer.len()];
        for state in (0..layer.len()).filter(|&s| layer[s]) {
            for class in 0..self.width {
                let to = usize::from(self.next[state * self.width + class]);
                next[to] |= live[to];
            }
        }
        next
    }

    /// States from which something can still be accepted.
    fn live(&self) -> Vec<bool> {
        let mut live = self.accept.clone();
        loop {
            let before = live.iter().filter(|&&l| l).count();
            for state in 0..live.len() {
                live[state] |=
                    self.next[state * self.width..][..self.width].iter().any(|&to| live[usize::from(to)]);
            }
            if live.iter().filter(|&&l| l).count() == before {
                return live;
            }
        }
    }

    /// Equal states merged, so that emitted tables are small and equal languages compare equal.
    fn minimal(self) -> Self {
        let states = self.accept.len();
        let mut group: Vec<usize> = self.accept.iter().map(|&accept| usize::from(accept)).collect();
        loop {
            let mut seen: HashMap<(usize, Vec<usize>), usize> = HashMap::new();
            let refined: Vec<usize> = (0..states)
                .map(|state| {
                    let row = self.next[state * self.width..][..self.width]
                        .iter()
                        .map(|&to| group[usize::from(to)])
                        .collect();
                    let fresh = seen.len();
                    *seen.entry((group[state], row)).or_insert(fresh)
                })
                .collect();
            let stable = seen.len() == group.iter().collect::<std::collections::HashSet<_>>().len();
            group = refined;
            if stable {
                break;
            }
        }
        let members: HashMap<usize, u16> =
            (0..states).rev().map(|state| (group[state], state as u16)).collect();
        let dead = group[usize::from(DEAD)];
        explore(group[usize::from(START)], |&g| {
            if g == dead {
                return None;
            }
            let state = members[&g];
            let row = (0..=255).map(|byte| Some(group[usize::from(self.step(state, byte))])).collect();
            Some((self.accept[usize::from(state)], row))
        })
        .unwrap_or(self)
    }
}

/// Numbers the states reachable from `start` and packs them. `expand` gives a state's acceptance and its row of 256
/// successors; `None` means dead.
fn explore<S: Clone + Eq + std::hash::Hash>(
    start: S,
    expand: impl Fn(&S) -> Option<(bool, Vec<Option<S>>)>,
) -> Result<Dfa, String> {
    let mut numbers: HashMap<S, u16> = HashMap::from([(start.clone(), START)]);
    let mut order = vec![start];
    let mut rows: Vec<[u16; 256]> = vec![[DEAD; 256], [DEAD; 256]];
    let mut accept = vec![false, false];
    let mut index = 0;
    while index < order.len() {
        let state = order[index].clone();
        index += 1;
        let Some((accepting, row)) = expand(&state) else { continue };
        accept[index] = accepting;
        for (byte, target) in row.into_iter().enumerate() {
            let Some(target) = target else { continue };
            let fresh = order.len() as u16 + 1;
            let number = *numbers.entry(target.clone()).or_insert_with(|| {
                order.push(target);
                rows.push([DEAD; 256]);
                accept.push(false);
                fresh
            });
            rows[index][byte] = number;
        }
        if order.len() > MAX_STATES {
            return Err(format!("the check needs more than {MAX_STATES} states; make it simpler"));
        }
    }
    Ok(pack(&rows, accept))
}

fn pack(rows: &[[u16; 256]], accept: Vec<bool>) -> Dfa {
    let mut columns: HashMap<Vec<u16>, u8> = HashMap::new();
    let mut representatives: Vec<usize> = Vec::new();
    let mut classes = vec![0; 256];
    for (byte, class) in classes.iter_mut().enumerate() {
        let column: Vec<u16> = rows.iter().map(|row| row[byte]).collect();
        let fresh = columns.len() as u8;
        *class = *columns.entry(column).or_insert_with(|| {
            representatives.push(byte);
            fresh
        });
    }
    let next = rows.iter().flat_map(|row| representatives.iter().map(|&byte| row[byte])).collect();
    Dfa { classes, width: representatives.len(), next, accept }
}

/// All bytes, friendly ones first.
pub(crate) fn friendly_bytes() -> impl Iterator<Item = u8> {
    FRIENDLY.iter().copied().chain((0..=255).filter(|byte| !FRIENDLY.contains(byte)))
}

fn reason(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    if cause.to_string().contains("exceeded") {
        return "it is too large; make it simpler".to_owned();
    }
    // The parser's message ends in the reason; the lines before it draw the pattern.
    let text = cause.to_string();
    let line = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or(&text);
    line.trim_start_matches("error: ").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_regex_is_matched_against_the_whole_value() {
        let dfa = Dfa::regex("swarm_[a-z0-9_]{2,4}").unwrap();
        assert!(dfa.accepts(b"swarm_ab"));
        assert!(!dfa.accepts(b"swarm_a"));
        assert!(!dfa.accepts(b"swarm_abcde"));
        assert!(!dfa.accepts(b"xswarm_ab"));
        assert_eq!(dfa.common_prefix(), b"swarm_");
        assert_eq!(dfa.lengths(), (8, Some(10)));
        assert_eq!(dfa.shortest().unwrap(), b"swarm_aa");
    }

    #[test]
    fn unbounded_languages_have_no_longest_value() {
        assert_eq!(Dfa::regex("a+").unwrap().lengths(), (1, None));
        assert_eq!(Dfa::regex("a{3}").unwrap().lengths(), (3, Some(3)));
    }

    #[test]
    fn words_and_regex_of_the_same_language_differ_in_nothing() {
        let words = Dfa::words(["open", "closed"]).unwrap();
        let regex = Dfa::regex("closed|open").unwrap();
        assert!(words.minus(&regex).unwrap().shortest().is_none());
        assert!(regex.minus(&words).unwrap().shortest().is_none());
    }

    #[test]
    fn difference_and_union_are_exact() {
        let any = Dfa::regex("[a-z]+").unwrap();
        let but = any.minus(&Dfa::words(["new"]).unwrap()).unwrap();
        assert!(!but.accepts(b"new") && but.accepts(b"news") && but.accepts(b"ne"));
        assert!(but.or(&Dfa::words(["new"]).unwrap()).unwrap().accepts(b"new"));
    }

    #[test]
    fn no_alternative_hides_a_longer_one() {
        for (regex, value) in [
            ("a|ab", "ab"),
            ("ab|a", "a"),
            ("a+?", "aaa"),
            ("agent|agent_[a-z]+", "agent_bar"),
            ("^a|b$", "b"),
        ] {
            assert!(Dfa::regex(regex).unwrap().accepts(value.as_bytes()), "{regex} {value}");
        }
        assert!(!Dfa::regex("^a$").unwrap().accepts(b"ab"));
    }

    #[test]
    fn ranges_of_numbers_are_exact() {
        for (low, high) in [(0, 0), (0, 9), (5, 123), (99, 1000), (2000, 9999), (7, 7)] {
            let dfa = Dfa::numbers(low, high).unwrap();
            for number in 0..=12_000_u64 {
                assert_eq!(
                    dfa.accepts(number.to_string().as_bytes()),
                    (low..=high).contains(&number),
                    "{number} in {low}..{high}"
                );
            }
            assert!(!dfa.accepts(b"") && !dfa.accepts(b"00") && !dfa.accepts(b"07"));
        }
        let all = Dfa::numbers(0, i64::MAX as u64).unwrap();
        assert!(all.accepts(b"9223372036854775807") && !all.accepts(b"9223372036854775808"));
    }

    #[test]
    fn positions_list_the_bytes_of_each_place() {
        let sets = Dfa::regex("a[01]").unwrap().positions(2).unwrap();
        assert!(sets[0][usize::from(b'a')] && !sets[0][usize::from(b'b')]);
        assert_eq!(sets[1].iter().filter(|&&b| b).count(), 2);
        assert!(Dfa::regex("ab").unwrap().positions(3).is_none());
    }

    #[test]
    fn a_hostile_regex_is_refused_not_expanded() {
        assert!(Dfa::regex("[a-z]{1,100000}").is_err());
        assert!(Dfa::regex("(a|b)*a(a|b){16}").is_err());
        assert!(Dfa::regex("[").is_err());
    }
}
