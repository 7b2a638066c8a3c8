//! Redis types as markers, and the commands each of them has.
//!
//! One file and one `impl Key<…>` per type: the compiler refuses a command of another type and names the type that has
//! it. Each command says what it does to the key ([`Effect`]) and of which type its answer is.

mod hash;
mod list;
mod set;
mod stream;
mod string;
mod zset;

use crate::{Command, Effect, Key};

pub use list::End;

/// A Redis type.
pub trait Kind: sealed::Sealed + 'static {
    /// The word that TYPE answers.
    const NAME: &'static str;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident = $name:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $kind {}
        impl sealed::Sealed for $kind {}
        impl Kind for $kind {
            const NAME: &'static str = $name;
        }
    )*};
}

kinds! {
    /// A string.
    Str = "string";
    /// A hash.
    Hash = "hash";
    /// A list.
    List = "list";
    /// A set.
    Set = "set";
    /// A sorted set.
    Zset = "zset";
    /// A stream.
    Stream = "stream";
}

/// Bytes as Redis keeps them.
pub(crate) type Bytes = Vec<u8>;

impl<T: Kind> Key<T> {
    fn command<R>(&self, name: &'static str, effect: Effect) -> Command<R> {
        Command::new(name, effect, self)
    }

    fn read<R>(&self, name: &'static str) -> Command<R> {
        self.command(name, Effect::Read)
    }

    /// `DEL`: whether it was there.
    pub fn del(&self) -> Command<bool> {
        self.command("DEL", Effect::Remove)
    }

    /// `UNLINK`: as `del`, the memory freed later.
    pub fn unlink(&self) -> Command<bool> {
        self.command("UNLINK", Effect::Remove)
    }

    /// `EXISTS`.
    pub fn exists(&self) -> Command<bool> {
        self.read("EXISTS")
    }

    /// `PTTL`: milliseconds; -1 without a TTL, -2 when it is not there.
    pub fn pttl(&self) -> Command<i64> {
        self.read("PTTL")
    }
}
