//! Words with a fixed meaning, as the contract lists them.

use std::fmt;
use std::str::FromStr;

/// A word that the contract does not have there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{word}` is no {of}; it is one of {known}")]
pub struct UnknownWord {
    /// What was to be named.
    pub of: &'static str,
    /// What was found.
    pub word: String,
    /// What could be.
    pub known: String,
}

macro_rules! words {
    ($(#[$doc:meta])* $name:ident, $of:literal: $($(#[$about:meta])* $variant:ident = $word:literal),+ $(,)?) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name {
            $($(#[$about])* $variant),+
        }

        impl $name {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// All of their words.
            pub const WORDS: &'static [&'static str] = &[$($word),+];

            /// As keys and commands spell it.
            #[must_use]
            pub fn word(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.word())
            }
        }

        impl FromStr for $name {
            type Err = UnknownWord;

            fn from_str(word: &str) -> Result<Self, UnknownWord> {
                Self::ALL.iter().find(|known| known.word() == word).copied().ok_or_else(|| UnknownWord {
                    of: $of,
                    word: word.to_owned(),
                    known: Self::WORDS.join(", "),
                })
            }
        }
    };
}

words! {
    /// What a swarm does.
    Strategy, "strategy":
    /// Builds something.
    Development = "development",
    /// Finds something out.
    Research = "research",
    /// Tries something.
    Testing = "testing",
    /// Brings others together.
    Coordination = "coordination",
}

words! {
    /// How the agents of a swarm are arranged.
    Mode, "mode":
    /// Everybody with everybody: two to seven agents.
    Mesh = "mesh",
    /// Coordinators between: from eight on.
    Hierarchical = "hierarchical",
    /// One coordinator for all.
    Centralized = "centralized",
}

words! {
    /// An agent's part in the loop.
    AgentKind, "type of an agent":
    /// Does tasks.
    Implementer = "implementer",
    /// Judges, and votes.
    Validator = "validator",
    /// Hands out.
    Coordinator = "coordinator",
}

words! {
    /// What an agent is doing.
    AgentStatus, "status of an agent":
    /// Nothing.
    Idle = "idle",
    /// Something without a task.
    Active = "active",
    /// A task.
    Busy = "busy",
    /// It has left for good.
    Completed = "completed",
    /// It broke; it comes back when its swarm is recovered.
    Failed = "failed",
    /// It waits to be told to go on.
    Paused = "paused",
}

words! {
    /// Where a task is.
    TaskStatus, "status of a task":
    /// Can be claimed.
    Pending = "pending",
    /// An agent holds it.
    InProgress = "in_progress",
    /// It is done.
    Completed = "completed",
    /// It was given up; it may be tried again.
    Failed = "failed",
    /// A dependency is open.
    Blocked = "blocked",
    /// Nobody wants it any more.
    Cancelled = "cancelled",
}

words! {
    /// How urgent a task is.
    Priority, "priority":
    /// When nothing else is left.
    Low = "low",
    /// As usual.
    Medium = "medium",
    /// Soon.
    High = "high",
    /// Before everything else.
    Critical = "critical",
}

words! {
    /// What kind of work a task is.
    TaskKind, "type of a task":
    /// Write it.
    Implementation = "implementation",
    /// Judge it.
    Validation = "validation",
    /// Arrange it.
    Coordination = "coordination",
    /// Find out.
    Research = "research",
    /// Try it.
    Testing = "testing",
    /// Describe it.
    Documentation = "documentation",
    /// Read it.
    Review = "review",
    /// Design it.
    Architecture = "architecture",
}

words! {
    /// Where a phase is.
    PhaseStatus, "status of a phase":
    /// It has not begun.
    Pending = "pending",
    /// It runs.
    Active = "active",
    /// Its exit criteria hold.
    Completed = "completed",
    /// It did not get there; it may run again.
    Failed = "failed",
    /// It is left out.
    Skipped = "skipped",
}
