//! Commands on strings.

use super::{Bytes, Str};
use crate::{Command, Effect, Key};

impl Key<Str> {
    /// `GET`.
    pub fn get(&self) -> Command<Option<Bytes>> {
        self.read("GET")
    }

    /// `STRLEN`.
    pub fn strlen(&self) -> Command<u64> {
        self.read("STRLEN")
    }

    /// `SET`.
    pub fn set(&self, value: impl AsRef<[u8]>) -> Command<()> {
        self.command("SET", Effect::Write).arg(value).repeatable()
    }

    /// `INCRBY`: the new number.
    pub fn incrby(&self, by: i64) -> Command<i64> {
        self.command("INCRBY", Effect::Write).number(by)
    }

    /// `INCRBYFLOAT`: the new number.
    pub fn incrbyfloat(&self, by: f64) -> Command<f64> {
        self.command("INCRBYFLOAT", Effect::Write).number(by)
    }
}
