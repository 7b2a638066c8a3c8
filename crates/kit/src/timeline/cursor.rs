//! A place in a timeline that outlives the member it was made of.

use std::fmt;
use std::str::FromStr;

/// Behind one member of one score. Where it stands is told by both, not by a count, so members that come or go elsewhere do
/// not move it, and its own may be gone.
///
/// Its text, `score_member` with the member in hex, is made for URLs.
#[derive(Debug, Clone, PartialEq)]
pub struct Cursor {
    score: f64,
    member: Vec<u8>,
}

/// The text is no cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a cursor is a score and a member in hex with `_` between them, as it was given out")]
pub struct NoCursor;

impl Cursor {
    /// Behind this member: for who follows a timeline and comes back when there is more.
    #[must_use]
    pub fn behind(member: impl Into<Vec<u8>>, score: f64) -> Self {
        Self { score, member: member.into() }
    }

    pub(super) fn score(&self) -> String {
        self.score.to_string()
    }

    pub(super) fn member(&self) -> &[u8] {
        &self.member
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}_", self.score)?;
        self.member.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for Cursor {
    type Err = NoCursor;

    fn from_str(text: &str) -> Result<Self, NoCursor> {
        let (score, member) = text.split_once('_').ok_or(NoCursor)?;
        let score: f64 = score.parse().ok().filter(|score: &f64| !score.is_nan()).ok_or(NoCursor)?;
        Ok(Self { score, member: unhex(member).ok_or(NoCursor)? })
    }
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |digit: u8| char::from(digit).to_digit(16);
    let byte = |pair: &[u8]| match pair {
        [high, low] => u8::try_from(digit(*high)? * 16 + digit(*low)?).ok(),
        _ => None,
    };
    text.as_bytes().chunks(2).map(byte).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_cursor_is_what_its_text_says(score in proptest::num::f64::ANY, member: Vec<u8>) {
            prop_assume!(!score.is_nan());
            let cursor = Cursor::behind(member, score);
            let text = cursor.to_string();
            prop_assert!(text.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.-".contains(&b)), "{}", text);
            prop_assert_eq!(text.parse(), Ok(cursor));
        }

        #[test]
        fn any_text_is_a_cursor_or_is_refused(text in ".*|[0-9.]*_[0-9a-fg]*") {
            drop(text.parse::<Cursor>());
        }
    }

    #[test]
    fn what_is_no_cursor_is_refused() {
        for text in ["", "1", "_", "_61", "NaN_61", "1_6", "1_6g", "1_é"] {
            assert_eq!(text.parse::<Cursor>(), Err(NoCursor), "{text}");
        }
        assert_eq!("1.5_".parse(), Ok(Cursor::behind("", 1.5)));
    }
}
