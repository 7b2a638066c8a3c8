//! Commands on streams.

use std::time::Duration;

use super::{Bytes, Stream};
use crate::{Command, Effect, Key};

/// An entry: its id, and fields with values.
pub(crate) type Entry = (String, Vec<(Bytes, Bytes)>);

impl Key<Stream> {
    /// `XLEN`.
    pub fn xlen(&self) -> Command<u64> {
        self.read("XLEN")
    }

    /// `XRANGE`: entries between two ids, as Redis writes them (`-`, `+`).
    pub fn xrange(&self, start: &str, end: &str) -> Command<Vec<Entry>> {
        self.read("XRANGE").arg(start).arg(end)
    }

    /// `XRANGE … COUNT`: the first so many of them.
    pub fn xrange_first(&self, start: &str, end: &str, count: u64) -> Command<Vec<Entry>> {
        self.xrange(start, end).arg("COUNT").number(count)
    }

    /// `XREVRANGE … COUNT`: the newest so many, the newest first.
    pub fn xrevrange_first(&self, end: &str, start: &str, count: u64) -> Command<Vec<Entry>> {
        self.read("XREVRANGE").arg(end).arg(start).arg("COUNT").number(count)
    }

    /// `XDEL`: how many were there.
    pub fn xdel<I: AsRef<str>>(&self, ids: impl IntoIterator<Item = I>) -> Command<u64> {
        ids.into_iter().fold(self.command("XDEL", Effect::Remove), |command, id| command.arg(id.as_ref()))
    }

    /// `XADD` with an id of the server's: that id. Where the contract limits the entries, the oldest go.
    pub fn xadd<F: AsRef<[u8]>, V: AsRef<[u8]>>(
        &self,
        fields: impl IntoIterator<Item = (F, V)>,
    ) -> Command<String> {
        fields.into_iter().fold(self.command("XADD", Effect::Write).arg("*"), |command, (field, value)| {
            command.arg(field).arg(value)
        })
    }

    /// `XTRIM MAXLEN`: how many went.
    pub fn xtrim(&self, keep: u64) -> Command<u64> {
        self.command("XTRIM", Effect::Remove).arg("MAXLEN").number(keep)
    }

    /// `XREAD BLOCK`: entries after an id, waiting up to that long for the first, for ever when zero.
    pub fn xread(&self, after: &str, count: u64, longest: Duration) -> Command<Vec<(Bytes, Vec<Entry>)>> {
        let (count, millis) = (count.to_string(), block_millis(longest).to_string());
        self.read("XREAD")
            .with_key_after(&["COUNT", &count, "BLOCK", &millis, "STREAMS"], self)
            .arg(after)
            .blocking(longest)
    }
}

/// Zero means for ever, so a wait of less than a millisecond is one.
fn block_millis(longest: Duration) -> u128 {
    if longest.is_zero() { 0 } else { longest.as_millis().max(1) }
}
