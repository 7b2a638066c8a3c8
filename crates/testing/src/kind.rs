//! The kinds of store that a test can run on.

use std::env;
use std::fmt;

/// Chooses kinds for a run of tests: `KEYPLANE_TEST_STORES=redis,cluster`.
pub(crate) const CHOICE: &str = "KEYPLANE_TEST_STORES";

/// A kind of store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Kind {
    /// redis-server over TCP.
    Redis,
    /// redis-server over a Unix socket.
    Unix,
    /// redis-server over TLS with client certificates.
    Tls,
    /// valkey-server over TCP.
    Valkey,
    /// A Redis Cluster of three masters with a replica each.
    Cluster,
    /// A Redis master with two replicas behind three sentinels.
    Sentinel,
    /// The embedded store, in the process of the test.
    Embedded,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Redis, Self::Unix, Self::Tls, Self::Valkey, Self::Cluster, Self::Sentinel, Self::Embedded];

    /// Whether tests of several processes can share one.
    #[must_use]
    pub fn is_shared(self) -> bool {
        self != Self::Embedded
    }

    /// The word in `#[every_store]`, in `KEYPLANE_TEST_STORES` and in the name of the test.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Redis => "redis",
            Self::Unix => "unix",
            Self::Tls => "tls",
            Self::Valkey => "valkey",
            Self::Cluster => "cluster",
            Self::Sentinel => "sentinel",
            Self::Embedded => "embedded",
        }
    }

    /// The kind of that word, or a message with all words.
    pub fn parse(word: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|kind| kind.word() == word).ok_or_else(|| {
            let known = Self::ALL.map(Self::word).join(", ");
            format!("no kind of store is `{word}`: there are {known}")
        })
    }

    /// The kinds of a list such as `redis,cluster`.
    pub fn parse_list(list: &str) -> Result<Vec<Self>, String> {
        list.split(',').map(|word| Self::parse(word.trim())).collect()
    }

    /// The kinds that `KEYPLANE_TEST_STORES` chooses; all when it is unset or empty. Panics on an unknown word, because
    /// a typo would otherwise mean that nothing is tested.
    #[must_use]
    pub fn chosen() -> Vec<Self> {
        match env::var(CHOICE) {
            Ok(list) if !list.trim().is_empty() => {
                Self::parse_list(&list).unwrap_or_else(|problem| panic!("{CHOICE}: {problem}"))
            }
            _ => Self::ALL.to_vec(),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}
