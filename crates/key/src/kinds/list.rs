//! Commands on lists.

use std::time::Duration;

use super::{Bytes, List};
use crate::{Command, Effect, Key};

/// An end of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum End {
    Left,
    Right,
}

impl End {
    fn word(self) -> &'static str {
        match self {
            Self::Left => "LEFT",
            Self::Right => "RIGHT",
        }
    }
}

impl Key<List> {
    /// `LLEN`.
    pub fn llen(&self) -> Command<u64> {
        self.read("LLEN")
    }

    /// `LRANGE`.
    pub fn lrange(&self, start: i64, stop: i64) -> Command<Vec<Bytes>> {
        self.read("LRANGE").number(start).number(stop)
    }

    /// `LINDEX`.
    pub fn lindex(&self, index: i64) -> Command<Option<Bytes>> {
        self.read("LINDEX").number(index)
    }

    /// `LPUSH`: the new length.
    pub fn lpush(&self, item: impl AsRef<[u8]>) -> Command<u64> {
        self.command("LPUSH", Effect::Write).arg(item)
    }

    /// `RPUSH`: the new length.
    pub fn rpush(&self, item: impl AsRef<[u8]>) -> Command<u64> {
        self.command("RPUSH", Effect::Write).arg(item)
    }

    /// `RPUSH` of several.
    pub fn rpush_all<I: AsRef<[u8]>>(&self, items: impl IntoIterator<Item = I>) -> Command<u64> {
        items.into_iter().fold(self.command("RPUSH", Effect::Write), Command::arg)
    }

    /// `LPOP`.
    pub fn lpop(&self) -> Command<Option<Bytes>> {
        self.command("LPOP", Effect::Remove)
    }

    /// `RPOP`.
    pub fn rpop(&self) -> Command<Option<Bytes>> {
        self.command("RPOP", Effect::Remove)
    }

    /// `BLPOP`: waits up to that long, for ever when zero. Answers list and item.
    pub fn blpop(&self, longest: Duration) -> Command<Option<(Bytes, Bytes)>> {
        self.command("BLPOP", Effect::Remove).number(longest.as_secs_f64()).blocking(longest)
    }

    /// `BRPOP`.
    pub fn brpop(&self, longest: Duration) -> Command<Option<(Bytes, Bytes)>> {
        self.command("BRPOP", Effect::Remove).number(longest.as_secs_f64()).blocking(longest)
    }

    /// `LMOVE` to another list.
    pub fn lmove(&self, from: End, to: &Self, end: End) -> Command<Option<Bytes>> {
        self.command("LMOVE", Effect::Remove).second(to).arg(from.word()).arg(end.word())
    }

    /// `BLMOVE`: waits up to that long, for ever when zero.
    pub fn blmove(&self, from: End, to: &Self, end: End, longest: Duration) -> Command<Option<Bytes>> {
        self.command("BLMOVE", Effect::Remove)
            .second(to)
            .arg(from.word())
            .arg(end.word())
            .number(longest.as_secs_f64())
            .blocking(longest)
    }

    /// `LREM`: how many were removed.
    pub fn lrem(&self, count: i64, item: impl AsRef<[u8]>) -> Command<u64> {
        self.command("LREM", Effect::Remove).number(count).arg(item)
    }

    /// `LTRIM`.
    pub fn ltrim(&self, start: i64, stop: i64) -> Command<()> {
        let command = self.command("LTRIM", Effect::Remove).number(start).number(stop);
        // Only "keep the first n" and "keep the last n" are the same twice.
        let keeps_an_end = (start == 0 && stop >= 0) || (start < 0 && stop == -1);
        if keeps_an_end { command.repeatable() } else { command }
    }
}
