//! Commands on hashes.

use super::{Bytes, Hash};
use crate::{Command, Effect, Key};

impl Key<Hash> {
    /// `HGET`.
    pub fn hget(&self, field: impl AsRef<[u8]>) -> Command<Option<Bytes>> {
        self.read("HGET").arg(field)
    }

    /// `HMGET`: in the order of the fields.
    pub fn hmget<F: AsRef<[u8]>>(&self, fields: impl IntoIterator<Item = F>) -> Command<Vec<Option<Bytes>>> {
        fields.into_iter().fold(self.read("HMGET"), Command::arg)
    }

    /// `HGETALL`: empty when it is not there.
    pub fn hgetall(&self) -> Command<Vec<(Bytes, Bytes)>> {
        self.read("HGETALL")
    }

    /// `HSCAN`: where to go on (0: it was the last), and some fields with their values.
    pub fn hscan(&self, cursor: u64, count: u64) -> Command<(u64, Vec<(Bytes, Bytes)>)> {
        self.read("HSCAN").number(cursor).arg("COUNT").number(count)
    }

    /// `HEXISTS`.
    pub fn hexists(&self, field: impl AsRef<[u8]>) -> Command<bool> {
        self.read("HEXISTS").arg(field)
    }

    /// `HLEN`.
    pub fn hlen(&self) -> Command<u64> {
        self.read("HLEN")
    }

    /// `HSET` of several fields: how many are new.
    pub fn hset<F: AsRef<[u8]>, V: AsRef<[u8]>>(
        &self,
        fields: impl IntoIterator<Item = (F, V)>,
    ) -> Command<u64> {
        fields.into_iter().fold(self.command("HSET", Effect::Write), |command, (field, value)| {
            command.arg(field).arg(value)
        })
    }

    /// `HSETNX`: whether the field is new.
    pub fn hsetnx(&self, field: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Command<bool> {
        self.command("HSETNX", Effect::Write).arg(field).arg(value)
    }

    /// `HINCRBY`: the new number.
    pub fn hincrby(&self, field: impl AsRef<[u8]>, by: i64) -> Command<i64> {
        self.command("HINCRBY", Effect::Write).arg(field).number(by)
    }

    /// `HINCRBYFLOAT`: the new number.
    pub fn hincrbyfloat(&self, field: impl AsRef<[u8]>, by: f64) -> Command<f64> {
        self.command("HINCRBYFLOAT", Effect::Write).arg(field).number(by)
    }

    /// `HDEL`: how many were there.
    pub fn hdel<F: AsRef<[u8]>>(&self, fields: impl IntoIterator<Item = F>) -> Command<u64> {
        fields.into_iter().fold(self.command("HDEL", Effect::Remove), Command::arg)
    }
}
