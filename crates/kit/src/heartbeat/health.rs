//! What a record says about whoever wrote it.

use std::collections::BTreeMap;
use std::time::Duration;

use keyplane_store::{FromReply, Reply, UnexpectedReply};

use super::time::Format;

/// How somebody is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Health {
    /// Beat lately.
    Alive {
        /// How long ago; zero for a record from the future.
        age: Duration,
        /// What it said.
        fields: Fields,
    },
    /// Did not, or nobody can tell.
    Stale {
        /// Why.
        reason: Reason,
        /// What it said.
        fields: Fields,
    },
    /// There is no record.
    Absent,
}

/// Why a record is stale.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The last beat was that long ago.
    Late(Duration),
    /// It does not say when.
    NoTime,
    /// It says when in a way that the contract does not.
    Unreadable(String),
}

impl Health {
    /// How long ago the last beat was, where that is known.
    #[must_use]
    pub fn age(&self) -> Option<Duration> {
        match self {
            Self::Alive { age, .. } | Self::Stale { reason: Reason::Late(age), .. } => Some(*age),
            _ => None,
        }
    }

    /// Whether it beat lately.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        matches!(self, Self::Alive { .. })
    }

    /// `now` is the server's, in microseconds.
    pub(super) fn judge(
        now: i64,
        fields: Fields,
        field: &str,
        format: Format,
        stale_after: Duration,
    ) -> Self {
        // Redis has no empty hash.
        if fields.0.is_empty() {
            return Self::Absent;
        }
        let Some(written) = fields.get(field) else { return Self::Stale { reason: Reason::NoTime, fields } };
        let Some(at) = std::str::from_utf8(written).ok().and_then(|text| format.read(text)) else {
            let reason = Reason::Unreadable(String::from_utf8_lossy(written).into_owned());
            return Self::Stale { reason, fields };
        };
        let age = Duration::from_micros(u64::try_from(now.saturating_sub(at)).unwrap_or(0));
        match age <= stale_after {
            true => Self::Alive { age, fields },
            false => Self::Stale { reason: Reason::Late(age), fields },
        }
    }
}

/// The fields of a record, by name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fields(BTreeMap<Vec<u8>, Vec<u8>>);

impl FromReply for Fields {
    fn from_reply(reply: Reply) -> Result<Self, UnexpectedReply> {
        BTreeMap::from_reply(reply).map(Self)
    }
}

impl Fields {
    /// The value of a field.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.0.get(name.as_bytes()).map(Vec::as_slice)
    }

    /// The same as text; `None` also where it is none.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        std::str::from_utf8(self.get(name)?).ok()
    }

    /// Names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.0.iter().map(|(name, value)| (name.as_slice(), value.as_slice()))
    }
}
