//! How long keys live.

use std::fmt;
use std::time::Duration;

use crate::units::show_duration;

/// How long a key lives.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ttl {
    /// The rule.
    pub policy: Policy,
    /// What else there is to say.
    pub doc: Option<String>,
    /// The configuration setting that overrides the duration.
    pub setting: Option<String>,
}

/// The rule of a TTL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Policy {
    /// Until it is deleted.
    None,
    /// That long after creation.
    Fixed(Duration),
    /// That long after the last write.
    Sliding(Duration),
    /// Never before the key `to`, and at least `at_least` after its own last write.
    Linked {
        /// The parent.
        to: String,
        /// Its own minimum.
        at_least: Option<Duration>,
    },
    /// Renewed by every write and by a job; absence means rebuild.
    Refreshed(Duration),
    /// Members older than that go.
    Pruned {
        /// The age at which a member goes.
        members: Duration,
        /// How long the key lives after the last write.
        key: Option<Duration>,
        /// The component that prunes.
        by: Option<String>,
    },
    /// That long after an event.
    After {
        /// The event.
        event: String,
        /// How long after it.
        lasts: Duration,
        /// The limit until the event.
        before: Option<Before>,
    },
    /// Some TTL, at most that long.
    Max(Duration),
}

/// How long a key lives at most while its event has not come.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Before {
    pub lasts: Duration,
    /// A duration known at run time that is added.
    pub plus: Option<String>,
}

impl Policy {
    /// The word of the contract.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Fixed(_) => "fixed",
            Self::Sliding(_) => "sliding",
            Self::Linked { .. } => "linked",
            Self::Refreshed(_) => "refreshed",
            Self::Pruned { .. } => "pruned",
            Self::After { .. } => "after",
            Self::Max(_) => "max",
        }
    }

    /// The duration it names, of members where it is about members.
    #[must_use]
    pub fn duration(&self) -> Option<Duration> {
        match self {
            Self::None => None,
            Self::Linked { at_least, .. } => *at_least,
            Self::Fixed(lasts) | Self::Sliding(lasts) | Self::Refreshed(lasts) | Self::Max(lasts) => {
                Some(*lasts)
            }
            Self::Pruned { members, .. } => Some(*members),
            Self::After { lasts, .. } => Some(*lasts),
        }
    }

    /// Whether the key itself ever expires.
    #[must_use]
    pub fn expires(&self) -> bool {
        !matches!(self, Self::None | Self::Pruned { key: None, .. })
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("no expiry"),
            Self::Fixed(lasts) => write!(f, "{} from creation", show_duration(*lasts)),
            Self::Sliding(lasts) => write!(f, "{} from the last write", show_duration(*lasts)),
            Self::Linked { to, at_least: None } => write!(f, "as long as {to}"),
            Self::Linked { to, at_least: Some(lasts) } => {
                write!(f, "as long as {to}, at least {}", show_duration(*lasts))
            }
            Self::Refreshed(lasts) => write!(f, "{}, refreshed", show_duration(*lasts)),
            Self::Pruned { members, key: None, .. } => {
                write!(f, "no expiry; members older than {} go", show_duration(*members))
            }
            Self::Pruned { members, key: Some(key), .. } => {
                write!(
                    f,
                    "{} from the last write; members older than {} go",
                    show_duration(*key),
                    show_duration(*members)
                )
            }
            Self::After { event, lasts, .. } => write!(f, "{} after {event}", show_duration(*lasts)),
            Self::Max(lasts) => write!(f, "at most {}", show_duration(*lasts)),
        }
    }
}
