//! Lua's patterns, as its version 5.1 has them.
//!
//! Lua's own matcher calls itself once per item of a pattern and tries for as long as it takes: a pattern of a script
//! could end the process or keep it for years. Here the depth is bounded and every step is counted.

/// As many as a pattern may have.
const CAPTURES: usize = 32;
/// How deep a match may nest; each item with a repetition and each capture is one.
const DEPTH: usize = 500;
/// What makes a search more than a search for bytes.
const SPECIAL: &[u8] = b"^$*+?.([%-";

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flaw {
    /// The pattern is none.
    Malformed(&'static str),
    /// All steps are used up.
    OutOfSteps,
}

type Found<T> = Result<T, Flaw>;

#[derive(Debug, Clone, Copy)]
struct Capture {
    start: usize,
    length: Length,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Length {
    Open,
    /// It is a place and not a text.
    Place,
    Closed(usize),
}

/// What a capture holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece {
    Text {
        start: usize,
        end: usize,
    },
    /// Counted from 1.
    Place(usize),
}

/// One text and one pattern.
#[derive(Debug)]
pub(super) struct Matcher<'a> {
    text: &'a [u8],
    /// A zero byte ends it.
    pattern: &'a [u8],
    captures: [Capture; CAPTURES],
    level: usize,
    depth: usize,
    /// Steps that are left.
    pub(super) steps: u64,
}

impl<'a> Matcher<'a> {
    /// The second is whether a match has to begin where the search does.
    pub(super) fn anchored(text: &'a [u8], pattern: &'a [u8], steps: u64) -> (Self, bool) {
        match pattern {
            [b'^', rest @ ..] => (Self::new(text, rest, steps), true),
            pattern => (Self::new(text, pattern, steps), false),
        }
    }

    pub(super) fn new(text: &'a [u8], pattern: &'a [u8], steps: u64) -> Self {
        let captures = [Capture { start: 0, length: Length::Open }; CAPTURES];
        Self { text, pattern: until_zero(pattern), captures, level: 0, depth: 0, steps }
    }

    /// The end of a match that begins here.
    pub(super) fn match_at(&mut self, start: usize) -> Found<Option<usize>> {
        self.level = 0;
        self.matches(start, 0)
    }

    /// How many values a match gives; a match without captures gives itself, if that is asked for.
    pub(super) fn count(&self, whole: bool) -> usize {
        if self.level == 0 && whole { 1 } else { self.level }
    }

    /// The capture with this number, counted from 0, of the match from `start` to `end`.
    pub(super) fn capture(&self, number: usize, start: usize, end: usize) -> Found<Piece> {
        if number >= self.level {
            return match number {
                0 => Ok(Piece::Text { start, end }),
                _ => Err(Flaw::Malformed("invalid capture index")),
            };
        }
        let Capture { start, length } = self.captures[number];
        match length {
            Length::Open => Err(Flaw::Malformed("unfinished capture")),
            Length::Place => Ok(Piece::Place(start + 1)),
            Length::Closed(length) => Ok(Piece::Text { start, end: start + length }),
        }
    }

    /// The byte of the pattern, zero behind its end.
    fn at(&self, place: usize) -> u8 {
        self.pattern.get(place).copied().unwrap_or(0)
    }

    fn spend(&mut self, steps: usize) -> Found<()> {
        self.steps = self.steps.checked_sub(steps as u64).ok_or(Flaw::OutOfSteps)?;
        Ok(())
    }

    fn matches(&mut self, text: usize, pattern: usize) -> Found<Option<usize>> {
        if self.depth >= DEPTH {
            return Err(Flaw::Malformed("pattern too complex"));
        }
        self.depth += 1;
        let found = self.matches_from(text, pattern);
        self.depth -= 1;
        found
    }

    fn matches_from(&mut self, mut text: usize, mut pattern: usize) -> Found<Option<usize>> {
        loop {
            match (self.at(pattern), self.at(pattern + 1)) {
                (b'(', b')') => return self.open(text, pattern + 2, Length::Place),
                (b'(', _) => return self.open(text, pattern + 1, Length::Open),
                (b')', _) => return self.close(text, pattern + 1),
                (0, _) => return Ok(Some(text)),
                (b'$', 0) => return Ok((text == self.text.len()).then_some(text)),
                (b'%', b'b') => {
                    let Some(end) = self.balance(text, pattern + 2)? else { return Ok(None) };
                    (text, pattern) = (end, pattern + 4);
                    continue;
                }
                (b'%', b'f') => {
                    let Some(after) = self.frontier(text, pattern + 2)? else { return Ok(None) };
                    pattern = after;
                    continue;
                }
                (b'%', digit @ b'0'..=b'9') => {
                    let Some(end) = self.again(text, digit)? else { return Ok(None) };
                    (text, pattern) = (end, pattern + 2);
                    continue;
                }
                _ => {}
            }
            let end = self.item_end(pattern)?;
            let fits = self.fits(text, pattern, end)?;
            match self.at(end) {
                b'?' => {
                    if fits && let Some(found) = self.matches(text + 1, end + 1)? {
                        return Ok(Some(found));
                    }
                    pattern = end + 1;
                }
                b'*' => return self.most(text, pattern, end),
                b'+' => return if fits { self.most(text + 1, pattern, end) } else { Ok(None) },
                b'-' => return self.fewest(text, pattern, end),
                _ if fits => (text, pattern) = (text + 1, end),
                _ => return Ok(None),
            }
        }
    }

    /// Where the item ends that begins here.
    fn item_end(&self, start: usize) -> Found<usize> {
        match self.at(start) {
            b'%' if self.at(start + 1) == 0 => Err(Flaw::Malformed("malformed pattern (ends with '%')")),
            b'%' => Ok(start + 2),
            b'[' => {
                let mut place = start + 1 + usize::from(self.at(start + 1) == b'^');
                loop {
                    let byte = self.at(place);
                    if byte == 0 {
                        return Err(Flaw::Malformed("malformed pattern (missing ']')"));
                    }
                    place += 1;
                    if byte == b'%' && self.at(place) != 0 {
                        place += 1;
                    }
                    if self.at(place) == b']' {
                        return Ok(place + 1);
                    }
                }
            }
            _ => Ok(start + 1),
        }
    }

    /// Whether the byte of the text fits the item.
    fn fits(&mut self, text: usize, item: usize, end: usize) -> Found<bool> {
        self.spend(end - item)?;
        let Some(byte) = self.text.get(text).copied() else { return Ok(false) };
        Ok(match self.at(item) {
            b'.' => true,
            b'%' => is_of_class(byte, self.at(item + 1)),
            b'[' => self.is_in_set(byte, item, end - 1),
            wanted => wanted == byte,
        })
    }

    /// A set from its opening to its closing bracket.
    fn is_in_set(&self, byte: u8, open: usize, close: usize) -> bool {
        let negated = self.at(open + 1) == b'^';
        let mut place = open + 1 + usize::from(negated);
        while place < close {
            let here = self.at(place);
            if here == b'%' {
                place += 1;
                if is_of_class(byte, self.at(place)) {
                    return !negated;
                }
            } else if self.at(place + 1) == b'-' && place + 2 < close {
                place += 2;
                if (here..=self.at(place)).contains(&byte) {
                    return !negated;
                }
            } else if here == byte {
                return !negated;
            }
            place += 1;
        }
        negated
    }

    /// `*` and `+`.
    fn most(&mut self, text: usize, item: usize, end: usize) -> Found<Option<usize>> {
        let mut count = 0;
        while self.fits(text + count, item, end)? {
            count += 1;
        }
        loop {
            if let Some(found) = self.matches(text + count, end + 1)? {
                return Ok(Some(found));
            }
            self.spend(1)?;
            match count.checked_sub(1) {
                Some(fewer) => count = fewer,
                None => return Ok(None),
            }
        }
    }

    /// `-`.
    fn fewest(&mut self, mut text: usize, item: usize, end: usize) -> Found<Option<usize>> {
        loop {
            if let Some(found) = self.matches(text, end + 1)? {
                return Ok(Some(found));
            }
            if !self.fits(text, item, end)? {
                return Ok(None);
            }
            text += 1;
        }
    }

    fn open(&mut self, text: usize, pattern: usize, length: Length) -> Found<Option<usize>> {
        let Some(capture) = self.captures.get_mut(self.level) else {
            return Err(Flaw::Malformed("too many captures"));
        };
        *capture = Capture { start: text, length };
        self.level += 1;
        let found = self.matches(text, pattern)?;
        if found.is_none() {
            self.level -= 1;
        }
        Ok(found)
    }

    fn close(&mut self, text: usize, pattern: usize) -> Found<Option<usize>> {
        let open = self.captures[..self.level].iter().rposition(|capture| capture.length == Length::Open);
        let open = open.ok_or(Flaw::Malformed("invalid pattern capture"))?;
        self.captures[open].length = Length::Closed(text - self.captures[open].start);
        let found = self.matches(text, pattern)?;
        if found.is_none() {
            self.captures[open].length = Length::Open;
        }
        Ok(found)
    }

    /// `%1`: what a capture holds, once more.
    fn again(&mut self, text: usize, digit: u8) -> Found<Option<usize>> {
        let number = usize::from(digit).checked_sub(usize::from(b'1'));
        let capture = number.and_then(|number| self.captures[..self.level].get(number)).copied();
        match capture.ok_or(Flaw::Malformed("invalid capture index"))? {
            Capture { length: Length::Open, .. } => Err(Flaw::Malformed("invalid capture index")),
            Capture { length: Length::Place, .. } => Ok(None),
            Capture { start, length: Length::Closed(length) } => {
                self.spend(length)?;
                let is_there = self.text[text..].starts_with(&self.text[start..start + length]);
                Ok(is_there.then_some(text + length))
            }
        }
    }

    /// `%bxy`.
    fn balance(&mut self, text: usize, pattern: usize) -> Found<Option<usize>> {
        let (open, close) = (self.at(pattern), self.at(pattern + 1));
        if open == 0 || close == 0 {
            return Err(Flaw::Malformed("unbalanced pattern"));
        }
        if self.text.get(text) != Some(&open) {
            return Ok(None);
        }
        let mut nested = 1;
        for place in text + 1..self.text.len() {
            self.spend(1)?;
            if self.text[place] == close {
                nested -= 1;
                if nested == 0 {
                    return Ok(Some(place + 1));
                }
            } else if self.text[place] == open {
                nested += 1;
            }
        }
        Ok(None)
    }

    /// `%f[set]`: where the pattern goes on, if the text passes into the set here.
    fn frontier(&mut self, text: usize, pattern: usize) -> Found<Option<usize>> {
        if self.at(pattern) != b'[' {
            return Err(Flaw::Malformed("missing '[' after '%f' in pattern"));
        }
        let end = self.item_end(pattern)?;
        self.spend(end - pattern)?;
        let before = text.checked_sub(1).map_or(0, |place| self.text[place]);
        let here = self.text.get(text).copied().unwrap_or(0);
        let passes = !self.is_in_set(before, pattern, end - 1) && self.is_in_set(here, pattern, end - 1);
        Ok(passes.then_some(end))
    }
}

/// Whether a search for the pattern is a search for its bytes.
pub(super) fn is_plain(pattern: &[u8]) -> bool {
    !until_zero(pattern).iter().any(|byte| SPECIAL.contains(byte))
}

fn until_zero(pattern: &[u8]) -> &[u8] {
    pattern.split(|byte| *byte == 0).next().unwrap_or_default()
}

/// `%a` and its like; an upper-case letter is the opposite.
fn is_of_class(byte: u8, class: u8) -> bool {
    let is = match class.to_ascii_lowercase() {
        b'a' => byte.is_ascii_alphabetic(),
        b'c' => byte.is_ascii_control(),
        b'd' => byte.is_ascii_digit(),
        b'l' => byte.is_ascii_lowercase(),
        b'p' => byte.is_ascii_punctuation(),
        b's' => matches!(byte, b' ' | b'\t'..=b'\r'),
        b'u' => byte.is_ascii_uppercase(),
        b'w' => byte.is_ascii_alphanumeric(),
        b'x' => byte.is_ascii_hexdigit(),
        b'z' => byte == 0,
        _ => return class == byte,
    };
    is == class.is_ascii_lowercase()
}

/// Where these bytes are, from `start` on.
pub(super) fn find_bytes(text: &[u8], wanted: &[u8], start: usize, steps: &mut u64) -> Found<Option<usize>> {
    let Some(last) = text.len().checked_sub(wanted.len()) else { return Ok(None) };
    for place in start..=last {
        let alike = text[place..].iter().zip(wanted).take_while(|(a, b)| a == b).count();
        if alike == wanted.len() {
            return Ok(Some(place));
        }
        *steps = steps.checked_sub(1 + alike as u64).ok_or(Flaw::OutOfSteps)?;
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end_of(text: &str, pattern: &str) -> Found<Option<usize>> {
        Matcher::new(text.as_bytes(), pattern.as_bytes(), 1 << 20).match_at(0)
    }

    #[test]
    fn patterns_match_as_lua_matches() {
        for (text, pattern, end) in [
            ("abc", "a", Some(1)),
            ("abc", "%a+", Some(3)),
            ("abc", "a-c", None),
            ("aaac", "a-c", Some(4)),
            ("key=value", "(%w+)=(%w+)", Some(9)),
            ("(a(b)c)d", "%b()", Some(7)),
            ("THE", "%f[%a]%u", Some(1)),
            ("abab", "(ab)%1", Some(4)),
            ("]", "[]]", Some(1)),
            ("-", "[a-]", Some(1)),
            ("b", "[^a]", Some(1)),
            ("", "$", Some(0)),
            ("a$b", "a$b", Some(3)),
            ("ab", "a?b?c?", Some(2)),
        ] {
            assert_eq!(end_of(text, pattern), Ok(end), "{text} {pattern}");
        }
    }

    #[test]
    fn a_pattern_neither_nests_nor_tries_without_end() {
        let long = "a?".repeat(100_000);
        assert_eq!(end_of(&"a".repeat(100_000), &long), Err(Flaw::Malformed("pattern too complex")));
        let slow = "a*".repeat(30) + "b";
        assert_eq!(end_of(&"a".repeat(100), &slow), Err(Flaw::OutOfSteps));
    }
}
