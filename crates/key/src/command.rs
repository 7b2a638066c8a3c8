//! A Redis command as data.

use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use crate::{Args, Key, KeyInfo, Kind};

/// What a command does to its key, as far as its TTL is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Changes nothing.
    Read,
    /// May create the key, so that a TTL is due.
    Write,
    /// Takes away.
    Remove,
}

impl Effect {
    /// Whether it changes anything.
    #[must_use]
    pub fn writes(self) -> bool {
        self != Self::Read
    }

    /// Whether it can bring the key into being, so that a TTL is due.
    #[must_use]
    pub fn creates(self) -> bool {
        self == Self::Write
    }
}

/// How long what is written shall live, where the contract leaves that to the writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Life {
    /// As the contract says.
    #[default]
    Contract,
    /// Shorter than the contract's longest.
    Lasting(Duration),
    /// The event that the TTL waits for has come.
    EventCame,
}

/// A command, the key family it is for, and the type of its answer.
#[must_use = "a command does nothing until it is sent"]
pub struct Command<R> {
    name: &'static str,
    info: &'static KeyInfo,
    effect: Effect,
    args: Args,
    key_at: usize,
    legacy: bool,
    second: Option<&'static KeyInfo>,
    parent: Option<(&'static KeyInfo, Box<str>)>,
    life: Life,
    block: Option<Duration>,
    repeatable: bool,
    reply: PhantomData<fn() -> R>,
}

impl<R> Command<R> {
    pub(crate) fn new<T: Kind>(name: &'static str, effect: Effect, key: &Key<T>) -> Self {
        Self {
            name,
            info: key.info(),
            effect,
            args: Args::starting_with(key.as_str().as_bytes()),
            key_at: 0,
            legacy: key.is_legacy(),
            second: None,
            parent: None,
            life: Life::Contract,
            block: None,
            repeatable: effect == Effect::Read,
            reply: PhantomData,
        }
    }

    /// For the few commands whose key is not the first argument.
    pub(crate) fn with_key_after<T: Kind>(mut self, before: &[&str], key: &Key<T>) -> Self {
        self.args = Args::default();
        for word in before {
            self.args.push(word.as_bytes());
        }
        self.key_at = before.len();
        self.arg(key.as_str())
    }

    pub(crate) fn arg(mut self, arg: impl AsRef<[u8]>) -> Self {
        self.args.push(arg.as_ref());
        self
    }

    pub(crate) fn number(mut self, arg: impl fmt::Display) -> Self {
        self.args.push_display(arg);
        self
    }

    pub(crate) fn second<T: Kind>(mut self, key: &Key<T>) -> Self {
        self.second = Some(key.info());
        self.legacy |= key.is_legacy();
        self.arg(key.as_str())
    }

    pub(crate) fn blocking(mut self, longest: Duration) -> Self {
        self.block = Some(longest);
        self
    }

    /// The key whose life this one's is linked to: with this write it gets an end that is not before the parent's. Where the
    /// contract says `linked`, a write without it is refused. A later renewal of the parent is a matter of its own.
    pub fn linked_to<P: Kind>(mut self, parent: &Key<P>) -> Self {
        self.parent = Some((parent.info(), parent.as_str().into()));
        self
    }

    /// A TTL shorter than the contract's, where writes renew it (`sliding`, `refreshed`, `max`, `pruned`).
    pub fn lasting(mut self, ttl: Duration) -> Self {
        self.life = Life::Lasting(ttl);
        self
    }

    /// The event that an `after` TTL waits for comes with this write.
    pub fn at_event(mut self) -> Self {
        self.life = Life::EventCame;
        self
    }

    /// May be sent again when its answer is lost: twice leaves what once leaves. The answer may then be that of the second
    /// time, and what others wrote in between may be overwritten. Reads are, and SET; other commands tell by their answer what
    /// they changed, so only the caller knows whether that matters.
    pub fn repeatable(mut self) -> Self {
        self.repeatable = true;
        self
    }

    /// Whether it may be sent again when its answer is lost.
    #[must_use]
    pub fn is_repeatable(&self) -> bool {
        self.repeatable
    }

    /// The command's name, in capitals.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Its arguments, the key among them.
    #[must_use]
    pub fn args(&self) -> &Args {
        &self.args
    }

    /// The key: for nearly all commands the first argument.
    #[must_use]
    pub fn key(&self) -> &[u8] {
        self.args.get(self.key_at).unwrap_or_default()
    }

    /// What the contract says about the key.
    #[must_use]
    pub fn info(&self) -> &'static KeyInfo {
        self.info
    }

    /// The family of its second key; that key is the second argument.
    #[must_use]
    pub fn second_info(&self) -> Option<&'static KeyInfo> {
        self.second
    }

    /// What it does to the key.
    #[must_use]
    pub fn effect(&self) -> Effect {
        self.effect
    }

    /// Whether a key holds an id that may only be read.
    #[must_use]
    pub fn is_legacy(&self) -> bool {
        self.legacy
    }

    /// The key whose life this one's is linked to.
    #[must_use]
    pub fn parent(&self) -> Option<(&'static KeyInfo, &str)> {
        self.parent.as_ref().map(|(info, text)| (*info, &**text))
    }

    /// How long what is written shall live.
    #[must_use]
    pub fn life(&self) -> Life {
        self.life
    }

    /// How long the server may keep the answer back; such a command needs a connection of its own.
    #[must_use]
    pub fn blocks(&self) -> Option<Duration> {
        self.block
    }

    /// The same command, its answer read as another type.
    pub fn reading<S>(self) -> Command<S> {
        let Self {
            name,
            info,
            effect,
            args,
            key_at,
            legacy,
            second,
            parent,
            life,
            block,
            repeatable,
            reply: _,
        } = self;
        Command {
            name,
            info,
            effect,
            args,
            key_at,
            legacy,
            second,
            parent,
            life,
            block,
            repeatable,
            reply: PhantomData,
        }
    }
}

impl<R> Clone for Command<R> {
    fn clone(&self) -> Self {
        Self {
            args: self.args.clone(),
            parent: self.parent.clone(),
            reply: PhantomData,
            name: self.name,
            info: self.info,
            effect: self.effect,
            key_at: self.key_at,
            legacy: self.legacy,
            second: self.second,
            life: self.life,
            block: self.block,
            repeatable: self.repeatable,
        }
    }
}

impl<R> fmt::Debug for Command<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<R> fmt::Display for Command<R> {
    /// As one would type it to redis-cli.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.args)
    }
}
