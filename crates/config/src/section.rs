//! The sections of `keyplane.toml`: one for the store, one per system.

use std::fmt;

/// A section, and with it whose settings are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Section {
    /// How to reach the store, for every system that does not say otherwise.
    Store,
    /// The shared mempool.
    Mempool,
    /// Court-record ingestion.
    Docket,
    /// Hot state and prediction.
    Market,
    /// Agent swarms.
    Swarm,
    /// Snapshot consensus.
    Sequencer,
}

/// The section in which a Dolos node configures its mempool; read as `[mempool]`.
pub(crate) const OLDER_MEMPOOL: (&str, &str) = ("storage", "mempool");

impl Section {
    /// All sections, the store first.
    pub const ALL: [Self; 6] =
        [Self::Store, Self::Mempool, Self::Docket, Self::Market, Self::Swarm, Self::Sequencer];

    /// The systems.
    pub const SYSTEMS: [Self; 5] = [Self::Mempool, Self::Docket, Self::Market, Self::Swarm, Self::Sequencer];

    /// Its name in the file.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Store => "store",
            Self::Mempool => "mempool",
            Self::Docket => "docket",
            Self::Market => "market",
            Self::Swarm => "swarm",
            Self::Sequencer => "sequencer",
        }
    }

    /// The section of that name.
    #[must_use]
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|section| section.word() == word)
    }

    /// What its variables begin with.
    pub(crate) fn variable_prefix(self) -> String {
        match self {
            Self::Store => "KEYPLANE_".to_owned(),
            system => format!("KEYPLANE_{}_", system.word().to_ascii_uppercase()),
        }
    }
}

/// As it stands in the file: `[mempool]`.
impl fmt::Display for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}]", self.word())
    }
}
