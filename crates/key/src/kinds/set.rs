//! Commands on sets.

use super::{Bytes, Set};
use crate::{Command, Effect, Key};

impl Key<Set> {
    /// `SMEMBERS`.
    pub fn smembers(&self) -> Command<Vec<Bytes>> {
        self.read("SMEMBERS")
    }

    /// `SISMEMBER`.
    pub fn sismember(&self, member: impl AsRef<[u8]>) -> Command<bool> {
        self.read("SISMEMBER").arg(member)
    }

    /// `SCARD`.
    pub fn scard(&self) -> Command<u64> {
        self.read("SCARD")
    }

    /// `SADD`: how many are new.
    pub fn sadd<M: AsRef<[u8]>>(&self, members: impl IntoIterator<Item = M>) -> Command<u64> {
        members.into_iter().fold(self.command("SADD", Effect::Write), Command::arg)
    }

    /// `SREM`: how many were there.
    pub fn srem<M: AsRef<[u8]>>(&self, members: impl IntoIterator<Item = M>) -> Command<u64> {
        members.into_iter().fold(self.command("SREM", Effect::Remove), Command::arg)
    }
}
