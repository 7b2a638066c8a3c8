//! A script with its keys and arguments, as data. `scripts!` makes one type per script from its header.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use crate::{Args, Key, KeyInfo, Kind};

/// A Lua script that was checked against its contract when it was compiled.
#[derive(Debug, PartialEq, Eq)]
pub struct Script {
    /// On whose keys it runs.
    pub home: Home,
    /// Its name: the file's, without `.lua`.
    pub name: &'static str,
    /// Its source.
    pub source: &'static str,
    /// SHA-1 of the source in hex, as EVALSHA takes it.
    pub sha: &'static str,
    /// Its keys, in the order of KEYS.
    pub keys: &'static [ScriptKey],
    /// Its arguments, in the order of ARGV.
    pub args: &'static [ScriptArg],
    /// The operations that it carries out.
    pub ops: &'static [&'static str],
    /// Changes nothing, so it runs as EVALSHA_RO.
    pub read_only: bool,
    /// Running it twice with the same arguments is the same as once.
    pub repeatable: bool,
}

/// On whose keys a script runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Home {
    /// Those of a contract, by their names.
    Contract(&'static str),
    /// Those of any contract that grants its verbs: a step of a kit primitive.
    Kit(&'static str),
}

impl fmt::Display for Home {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Contract(name) | Self::Kit(name)) = self;
        f.write_str(name)
    }
}

/// A key of a script.
#[derive(Debug, PartialEq, Eq)]
pub struct ScriptKey {
    /// Its name in the contract; of a kit's script, the part that it plays.
    pub name: &'static str,
    /// What the script does to it.
    pub verbs: &'static [&'static str],
    /// Whether the script changes it.
    pub writes: bool,
    /// Any number of keys of this family.
    pub repeats: bool,
}

/// An argument of a script.
#[derive(Debug, PartialEq, Eq)]
pub enum ScriptArg {
    /// The caller's.
    Value,
    /// The contract's TTL of that key in milliseconds; a store fills it in.
    Ttl(&'static str),
}

/// A value for a script: text, bytes or a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arg<'a>(Cow<'a, [u8]>);

impl Arg<'_> {
    /// As it goes on the wire.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl<'a> From<&'a str> for Arg<'a> {
    fn from(text: &'a str) -> Self {
        Self(Cow::Borrowed(text.as_bytes()))
    }
}

impl<'a> From<&'a String> for Arg<'a> {
    fn from(text: &'a String) -> Self {
        Self(Cow::Borrowed(text.as_bytes()))
    }
}

impl<'a> From<&'a [u8]> for Arg<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self(Cow::Borrowed(bytes))
    }
}

impl<'a, const N: usize> From<&'a [u8; N]> for Arg<'a> {
    fn from(bytes: &'a [u8; N]) -> Self {
        Self(Cow::Borrowed(bytes))
    }
}

impl<'a> From<&'a Vec<u8>> for Arg<'a> {
    fn from(bytes: &'a Vec<u8>) -> Self {
        Self(Cow::Borrowed(bytes))
    }
}

impl From<String> for Arg<'_> {
    fn from(text: String) -> Self {
        Self(Cow::Owned(text.into_bytes()))
    }
}

impl From<Vec<u8>> for Arg<'_> {
    fn from(bytes: Vec<u8>) -> Self {
        Self(Cow::Owned(bytes))
    }
}

macro_rules! numbers {
    ($($number:ty)*) => {$(
        impl From<$number> for Arg<'_> {
            fn from(number: $number) -> Self {
                Self(Cow::Owned(number.to_string().into_bytes()))
            }
        }
    )*};
}
numbers!(u8 u16 u32 u64 usize i32 i64 f64);

/// A key of any type, for scripts that take a key whose type the use decides.
#[derive(Debug, Clone, Copy)]
pub struct AnyKey<'a> {
    info: &'static KeyInfo,
    text: &'a str,
    legacy: bool,
}

impl<'a, T: Kind> From<&'a Key<T>> for AnyKey<'a> {
    fn from(key: &'a Key<T>) -> Self {
        Self { info: key.info(), text: key.as_str(), legacy: key.is_legacy() }
    }
}

/// A script, its keys and its arguments.
#[must_use = "a call does nothing until it is sent"]
pub struct Call<R> {
    script: &'static Script,
    families: Vec<&'static KeyInfo>,
    /// For each key, the number of its entry in the script's header.
    parts: Vec<usize>,
    keys: Args,
    args: Args,
    legacy: bool,
    reply: PhantomData<fn() -> R>,
}

impl<R> Call<R> {
    /// A call without keys and arguments yet. Generated code calls this, and the two below in the order of the header.
    pub fn new(script: &'static Script) -> Self {
        let families = Vec::with_capacity(script.keys.len());
        Self {
            script,
            families,
            parts: Vec::with_capacity(script.keys.len()),
            keys: Args::default(),
            args: Args::default(),
            legacy: false,
            reply: PhantomData,
        }
    }

    /// Adds a key for that entry of the header. A legacy id is kept in mind only where the script writes.
    pub fn key<'k>(mut self, key: impl Into<AnyKey<'k>>, part: usize) -> Self {
        let key = key.into();
        self.legacy |= key.legacy && self.script.keys.get(part).is_some_and(|key| key.writes);
        self.families.push(key.info);
        self.parts.push(part);
        self.keys.push(key.text.as_bytes());
        self
    }

    /// Adds an argument of the caller's.
    pub fn arg(mut self, arg: &Arg<'_>) -> Self {
        self.args.push(arg.as_bytes());
        self
    }

    /// The script.
    #[must_use]
    pub fn script(&self) -> &'static Script {
        self.script
    }

    /// The families of its keys, in order.
    #[must_use]
    pub fn families(&self) -> &[&'static KeyInfo] {
        &self.families
    }

    /// Each key's entry in the header, and its family.
    pub fn parts(&self) -> impl Iterator<Item = (&'static ScriptKey, &'static KeyInfo)> {
        let entry = |(part, info): (&usize, &&'static KeyInfo)| Some((self.script.keys.get(*part)?, *info));
        self.parts.iter().zip(&self.families).filter_map(entry)
    }

    /// Its keys, in order.
    #[must_use]
    pub fn keys(&self) -> &Args {
        &self.keys
    }

    /// The caller's arguments in order, those that a store fills in left out.
    #[must_use]
    pub fn args(&self) -> &Args {
        &self.args
    }

    /// Whether it would write a key with an id that may only be read.
    #[must_use]
    pub fn writes_legacy(&self) -> bool {
        self.legacy
    }

    /// The same call, its answer read as another type.
    pub fn reading<S>(self) -> Call<S> {
        let Self { script, families, parts, keys, args, legacy, reply: _ } = self;
        Call { script, families, parts, keys, args, legacy, reply: PhantomData }
    }
}

impl<R> fmt::Debug for Call<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Script { home, name, .. } = self.script;
        write!(f, "{home}/{name}({}; {} arguments)", self.keys, self.args.len())
    }
}
