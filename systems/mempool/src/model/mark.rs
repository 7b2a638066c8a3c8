//! What a stage alone does not say.

use std::fmt;
use std::str::FromStr;

use super::chain::Point;
use super::hash::BlockHash;

/// Version and height of a transaction, and where or how often. As text: `4 1405105 57867490:5f2b…`, or `-` in the third place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// Goes up with every move.
    pub version: u64,
    /// Of the block that holds it; or of the tip when it was propagated; 0 while it is pending.
    pub height: u64,
    /// More about the stage.
    pub detail: Detail,
}

/// More about a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Nothing.
    None,
    /// The block that holds it.
    At(Point),
    /// Blocks that came without it, until it was dropped.
    Missed(u64),
}

impl Mark {
    /// The mark of the next move.
    pub(super) fn next(&self, height: u64, detail: Detail) -> Self {
        Self { version: self.version + 1, height, detail }
    }

    /// The block that holds it.
    #[must_use]
    pub fn point(&self) -> Option<Point> {
        match self.detail {
            Detail::At(point) => Some(point),
            Detail::None | Detail::Missed(_) => None,
        }
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.version, self.height)?;
        match self.detail {
            Detail::None => f.write_str(" -"),
            Detail::At(Point { slot, hash }) => write!(f, " {slot}:{hash}"),
            Detail::Missed(blocks) => write!(f, " {blocks}"),
        }
    }
}

/// A text that is no mark.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a mark, such as `4 1405105 -`")]
pub struct NotAMark(String);

impl FromStr for Mark {
    type Err = NotAMark;

    fn from_str(text: &str) -> Result<Self, NotAMark> {
        read(text).ok_or_else(|| NotAMark(text.to_owned()))
    }
}

fn read(text: &str) -> Option<Mark> {
    let mut words = text.split(' ');
    let (version, height) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    let detail = match words.next()? {
        "-" => Detail::None,
        word => match word.split_once(':') {
            Some((slot, hash)) => {
                Detail::At(Point { slot: slot.parse().ok()?, hash: hash.parse::<BlockHash>().ok()? })
            }
            None => Detail::Missed(word.parse().ok()?),
        },
    };
    words.next().is_none().then_some(Mark { version, height, detail })
}
