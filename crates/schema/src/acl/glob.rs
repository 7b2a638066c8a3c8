//! ACL key patterns: globs that cover a key family, as loose as allowed and as strict as needed.

use crate::dfa::{ByteSet, Dfa};
use crate::language::{Language, Part};
use crate::model::Contract;
use crate::pattern::Pattern;

/// A placeholder of fixed length up to this becomes `?`s; longer ones would only make rules hard to read.
const MAX_FIXED: usize = 64;
/// A family is spelled out by length in at most this many globs.
const MAX_GLOBS: usize = 64;

/// A Redis glob, and the keys it matches.
#[derive(Debug, Clone)]
pub(crate) struct Glob {
    pub(crate) text: String,
    pub(crate) language: Language,
    /// Where its leading segments end, as long as they have one possible length: a family that starts with the same
    /// segments can be compared behind them.
    fixed_ends: Vec<usize>,
}

impl Glob {
    fn new() -> Self {
        Self { text: String::new(), language: Language::default(), fixed_ends: Vec::new() }
    }

    /// How many leading segments have one possible length.
    pub(crate) fn fixed_segments(&self) -> usize {
        self.fixed_ends.len()
    }

    /// What it matches behind that many of its fixed leading segments.
    pub(crate) fn behind(&self, segments: usize) -> Language {
        let from = segments.checked_sub(1).and_then(|last| self.fixed_ends.get(last)).copied().unwrap_or(0);
        self.language.behind(from)
    }

    fn literal(&mut self, text: &str) {
        for c in text.chars() {
            // `)` at the end of a pattern would close a selector, so it is written as a class.
            match c {
                ')' => self.text.push_str("[)]"),
                '*' | '?' | '[' | ']' | '\\' => self.text.extend(['\\', c]),
                _ => self.text.push(c),
            }
        }
        text.bytes().for_each(|byte| self.push(Part::Byte(byte)));
    }

    fn push(&mut self, part: Part) {
        self.language.push(part);
    }

    fn anything(&mut self) {
        self.text.push('*');
        self.push(Part::Anything);
    }

    fn set(&mut self, set: &ByteSet, exact: bool) {
        let members: Vec<u8> = (0..=255).filter(|&byte| set[usize::from(byte)]).collect();
        if let [byte] = members.as_slice() {
            self.literal(&char::from(*byte).to_string());
        } else if exact {
            self.text.push_str(&class(&members));
            self.push(Part::Set(Box::new(*set)));
        } else {
            self.text.push('?');
            self.push(Part::Set(Box::new([true; 256])));
        }
    }

    fn close_segment(&mut self, still_fixed: bool, segment: usize) {
        if still_fixed && self.fixed_ends.len() == segment {
            self.fixed_ends.push(self.language.len());
        }
    }
}

/// One glob for the family: placeholders become `?`s, or what they start with and `*`.
pub(crate) fn loose(contract: &Contract, pattern: &Pattern, reading: bool) -> Glob {
    let mut glob = Glob::new();
    for (index, segment) in pattern.segments().iter().enumerate() {
        if index > 0 {
            glob.literal(":");
        }
        glob.literal(&segment.prefix);
        let mut fixed = true;
        if let Some(check) = check(contract, segment.param.as_deref(), reading) {
            match fixed_positions(check) {
                Some(sets) => sets.iter().for_each(|set| glob.set(set, false)),
                None => {
                    fixed = false;
                    glob.literal(&written_prefix(check));
                    glob.anything();
                }
            }
        }
        glob.literal(&segment.suffix);
        glob.close_segment(fixed, index);
    }
    glob
}

/// The family spelled out: one glob per combination of lengths, each position with exactly its bytes. Placeholders
/// without a longest value stay open. `None` when that would be too many.
pub(crate) fn strict(contract: &Contract, pattern: &Pattern, reading: bool) -> Option<Vec<Glob>> {
    let mut globs = vec![Glob::new()];
    for (index, segment) in pattern.segments().iter().enumerate() {
        for glob in &mut globs {
            if index > 0 {
                glob.literal(":");
            }
            glob.literal(&segment.prefix);
        }
        let mut fixed = true;
        if let Some(check) = check(contract, segment.param.as_deref(), reading) {
            match check.lengths() {
                (shortest, Some(longest)) => {
                    if globs.len() * (longest - shortest + 1) > MAX_GLOBS {
                        return None;
                    }
                    let by_length: Vec<Vec<ByteSet>> =
                        (shortest..=longest).filter_map(|length| check.positions(length)).collect();
                    if !by_length.iter().all(|sets| ascii(sets)) {
                        return None;
                    }
                    let extended = |glob: &Glob, sets: &[ByteSet]| {
                        let mut glob = glob.clone();
                        sets.iter().for_each(|set| glob.set(set, true));
                        glob
                    };
                    globs = globs
                        .iter()
                        .flat_map(|glob| by_length.iter().map(move |sets| extended(glob, sets)))
                        .collect();
                }
                (_, None) => {
                    fixed = false;
                    for glob in &mut globs {
                        glob.literal(&written_prefix(check));
                        glob.anything();
                    }
                }
            }
        }
        for glob in &mut globs {
            glob.literal(&segment.suffix);
            glob.close_segment(fixed && shared_length(contract, segment.param.as_deref(), reading), index);
        }
    }
    Some(globs)
}

fn shared_length(contract: &Contract, param: Option<&str>, reading: bool) -> bool {
    check(contract, param, reading)
        .is_none_or(|check| matches!(check.lengths(), (shortest, Some(longest)) if shortest == longest))
}

fn check<'c>(contract: &'c Contract, param: Option<&str>, reading: bool) -> Option<&'c Dfa> {
    let param = contract.param(param?)?;
    Some(if reading { &param.read_check } else { &param.check })
}

fn fixed_positions(check: &Dfa) -> Option<Vec<ByteSet>> {
    match check.lengths() {
        (shortest, Some(longest)) if shortest == longest && longest <= MAX_FIXED => {
            check.positions(longest).filter(|sets| ascii(sets))
        }
        _ => None,
    }
}

/// A glob class: `[0-9a-f_]`. Redis takes the end of a range as it stands, so only letters and digits form ranges;
/// everything else is a member of its own.
fn class(members: &[u8]) -> String {
    let mut text = String::from("[");
    let mut rest = members;
    while let [first, ..] = rest {
        let run = rest
            .iter()
            .zip(*first..)
            .take_while(|(byte, expected)| *byte == expected && byte.is_ascii_alphanumeric())
            .count();
        let run = if first.is_ascii_alphanumeric() { same_kind(&rest[..run]) } else { 1 };
        let last = rest[run - 1];
        match run {
            1 | 2 => rest[..run].iter().for_each(|&byte| push_escaped(&mut text, byte)),
            _ => text.push_str(&format!("{}-{}", char::from(*first), char::from(last))),
        }
        rest = &rest[run..];
    }
    text.push(']');
    text
}

/// How many bytes from the start are all digits, all capitals or all small letters.
fn same_kind(run: &[u8]) -> usize {
    let kind = |byte: u8| (byte.is_ascii_digit(), byte.is_ascii_uppercase());
    run.iter().take_while(|byte| kind(**byte) == kind(run[0])).count()
}

fn push_escaped(text: &mut String, byte: u8) {
    if !byte.is_ascii_alphanumeric() {
        text.push('\\');
    }
    text.push(char::from(byte));
}

/// A rule is text, so bytes beyond ASCII can be matched by `*` only.
fn ascii(sets: &[ByteSet]) -> bool {
    sets.iter().all(|set| set[128..].iter().all(|&possible| !possible))
}

/// What every value starts with, as far as it can be written.
fn written_prefix(check: &Dfa) -> String {
    check.common_prefix().into_iter().take_while(u8::is_ascii).map(char::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Redis's own reading of a class, ported from its matcher: what follows `[` up to `]`.
    fn redis_class_matches(class: &[u8], byte: u8) -> bool {
        let mut at = 1;
        let mut found = false;
        loop {
            match class[at..] {
                [b'\\', literal, ..] => {
                    found |= literal == byte;
                    at += 2;
                }
                [b']', ..] | [] => return found,
                [start, b'-', end, ..] => {
                    let (low, high) = (start.min(end), start.max(end));
                    found |= (low..=high).contains(&byte);
                    at += 3;
                }
                [literal, ..] => {
                    found |= literal == byte;
                    at += 1;
                }
            }
        }
    }

    #[test]
    fn a_class_means_the_same_to_redis() {
        for regex in [
            "[a-z0-9./-]",
            "[a-z+,-]",
            "[]\\^a-c-]",
            "[!-~]",
            "[A-z]",
            "[0-9A-Fa-f_]",
            "[*-?]",
            "[ab]",
            "[W-c]",
        ] {
            let Ok(check) = Dfa::regex(regex) else { continue };
            let sets = check.positions(1).unwrap();
            let members: Vec<u8> = (0..=127).filter(|&byte| sets[0][usize::from(byte)]).collect();
            let text = class(&members);
            for byte in 0..=127 {
                assert_eq!(
                    redis_class_matches(text.as_bytes(), byte),
                    members.contains(&byte),
                    "{regex} as {text}: {:?}",
                    char::from(byte)
                );
            }
        }
    }
}
