//! Commands on sorted sets.

use super::{Bytes, Zset};
use crate::{Command, Effect, Key};

impl Key<Zset> {
    /// `ZSCORE`.
    pub fn zscore(&self, member: impl AsRef<[u8]>) -> Command<Option<f64>> {
        self.read("ZSCORE").arg(member)
    }

    /// `ZCARD`.
    pub fn zcard(&self) -> Command<u64> {
        self.read("ZCARD")
    }

    /// `ZCOUNT`: members with a score in that range, as Redis writes ranges (`-inf`, `(5`).
    pub fn zcount(&self, least: &str, most: &str) -> Command<u64> {
        self.read("ZCOUNT").arg(least).arg(most)
    }

    /// `ZRANGE` by rank.
    pub fn zrange(&self, start: i64, stop: i64) -> Command<Vec<Bytes>> {
        self.read("ZRANGE").number(start).number(stop)
    }

    /// `ZRANGE … WITHSCORES` by rank.
    pub fn zrange_with_scores(&self, start: i64, stop: i64) -> Command<Vec<(Bytes, f64)>> {
        self.read("ZRANGE").number(start).number(stop).arg("WITHSCORES")
    }

    /// `ZADD`: how many are new.
    pub fn zadd<M: AsRef<[u8]>>(&self, members: impl IntoIterator<Item = (f64, M)>) -> Command<u64> {
        members.into_iter().fold(self.command("ZADD", Effect::Write), |command, (score, member)| {
            command.number(score).arg(member)
        })
    }

    /// `ZINCRBY`: the new score.
    pub fn zincrby(&self, by: f64, member: impl AsRef<[u8]>) -> Command<f64> {
        self.command("ZINCRBY", Effect::Write).number(by).arg(member)
    }

    /// `ZREM`: how many were there.
    pub fn zrem<M: AsRef<[u8]>>(&self, members: impl IntoIterator<Item = M>) -> Command<u64> {
        members.into_iter().fold(self.command("ZREM", Effect::Remove), Command::arg)
    }

    /// `ZREMRANGEBYSCORE`: how many were there.
    pub fn zremrangebyscore(&self, least: &str, most: &str) -> Command<u64> {
        self.command("ZREMRANGEBYSCORE", Effect::Remove).arg(least).arg(most)
    }
}
