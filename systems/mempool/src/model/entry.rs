//! What the store knows of a transaction.

use std::fmt;
use std::str::FromStr;

use super::mark::Mark;
use super::stage::Stage;

/// Where a transaction is. Two that are equal are the same moment of it: the version goes up with every move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// Its stage.
    pub stage: Stage,
    /// Its mark.
    pub mark: Mark,
}

impl fmt::Display for Known {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.stage, self.mark)
    }
}

/// All that is known of a transaction but its bytes. As text: `pending 1 0 - 1731745800 312` and the inputs that it spends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Where it is.
    pub known: Known,
    /// When it was received, in Unix seconds by the server's clock.
    pub received: u64,
    /// Its size in bytes.
    pub size: u64,
    /// What it spends, each as `<id>#<index>`.
    pub inputs: Vec<String>,
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}{}", self.known, self.received, tail(self.size, &self.inputs))
    }
}

/// What stands behind the time in an entry.
pub(crate) fn tail(size: u64, inputs: &[String]) -> String {
    let mut text = format!(" {size}");
    for input in inputs {
        text.push(' ');
        text.push_str(input);
    }
    text
}

/// A text that is no entry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not what is known of a transaction, such as `pending 1 0 - 1731745800 312`")]
pub struct NotAnEntry(String);

impl FromStr for Entry {
    type Err = NotAnEntry;

    fn from_str(text: &str) -> Result<Self, NotAnEntry> {
        read(text).ok_or_else(|| NotAnEntry(text.to_owned()))
    }
}

fn read(text: &str) -> Option<Entry> {
    let (stage, rest) = text.split_once(' ')?;
    let mark = rest.match_indices(' ').nth(2).map(|(at, _)| at)?;
    let known = Known { stage: stage.parse().ok()?, mark: rest[..mark].parse().ok()? };
    let mut words = rest[mark + 1..].split(' ');
    let (received, size) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    Some(Entry { known, received, size, inputs: words.map(str::to_owned).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{BlockHash, Detail, Point};

    #[test]
    fn reads_what_it_writes() {
        let at = Detail::At(Point { slot: 57_867_490, hash: BlockHash::new([7; 32]) });
        for (stage, detail) in
            [(Stage::Pending, Detail::None), (Stage::Confirmed, at), (Stage::Dropped, Detail::Missed(31))]
        {
            for inputs in [vec![], vec![format!("{}#1", "4e".repeat(32)), format!("{}#12", "00".repeat(32))]]
            {
                let known = Known { stage, mark: Mark { version: 4, height: 1_405_105, detail } };
                let entry = Entry { known, received: 1_731_745_800, size: 312, inputs };
                assert_eq!(entry.to_string().parse(), Ok(entry.clone()), "{entry}");
            }
        }
    }

    #[test]
    fn refuses_what_is_none() {
        for text in [
            "",
            "pending",
            "pending 1 0 -",
            "pending 1 0 - 5",
            "waiting 1 0 - 5 312",
            "pending 1 0 - x 312",
            "pending 1 -",
        ] {
            assert!(text.parse::<Entry>().is_err(), "{text}");
        }
    }
}
