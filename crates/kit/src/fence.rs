//! What a holder shows with every guarded write.
//!
//! A lock alone stops nobody: a holder may be paused while its lock runs out, and write when it wakes. So each term of a
//! lock has a fence, `term:token`, in a key beside it, and every guarded script compares it **for equality** before it
//! writes. "Refuse a lower term" would not do: after an unsynced replica is promoted, the old primary may be at term 2 and
//! the new one at 1, and the stale write would pass. The token differs whatever happens to the numbers.
//!
//! A script of your own guards itself with two lines:
//!
//! ```lua
//! -- keys: watcher_lock_fence(r) …
//! -- args: fence, …
//! if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 'fenced' end
//! ```

use std::fmt;

use keyplane_key::{Arg, Key, Str};

/// The number of a term: higher than that of every term before it that this server has seen, and at least the server's
/// time in milliseconds when it began. Outside resources that can only compare numbers may use it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Term(u64);

impl Term {
    /// The number.
    #[must_use]
    pub fn number(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A term and its token, and the key that holds the current one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fence {
    key: Key<Str>,
    term: Term,
    value: String,
}

impl Fence {
    /// Reads `term:token`. `None` for any other text.
    pub(crate) fn read(key: &Key<Str>, value: &str) -> Option<Self> {
        let term = value.split_once(':')?.0.parse().ok()?;
        Some(Self { key: key.clone(), term: Term(term), value: value.to_owned() })
    }

    /// The key that a guarded script compares with.
    #[must_use]
    pub fn key(&self) -> &Key<Str> {
        &self.key
    }

    /// The term.
    #[must_use]
    pub fn term(&self) -> Term {
        self.term
    }

    /// `term:token`, as the key holds it while this is the current one.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.value
    }

    /// What the key holds once this term has been given back.
    pub(crate) fn burnt(&self) -> String {
        format!("{}:released", self.term)
    }
}

impl<'a> From<&'a Fence> for Arg<'a> {
    fn from(fence: &'a Fence) -> Self {
        fence.as_str().into()
    }
}
