//! A checkpoint to take away: a JSON document that says what it is and holds the encoded state.

use keyplane_kit::blob::{self, Codec};
use keyplane_kit::checkpoint::{MOST_BYTES, Snapshot, State, StateHash};
use serde::{Deserialize, Serialize};

use super::checkpoints::loadable;
use super::error::OpError;
use super::load::Loaded;
use super::{SCHEMA_VERSION, Swarms};
use crate::keys::{CheckpointId, SwarmId};

/// The most that a document may have: the largest state that can be loaded, not packed at all, in digits; and what stands around it.
pub const MOST_EXPORT: usize = 2 * MOST_BYTES + 4096;

/// What the first line says a file is.
const KIND: &str = "keyplane swarm checkpoint";

/// A checkpoint with all that it stands on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Export {
    /// What this is.
    pub kind: String,
    /// The layout of its records.
    pub schema_version: String,
    /// The swarm that it was.
    pub swarm: String,
    /// The checkpoint that it was.
    pub checkpoint: String,
    /// When that was made.
    pub timestamp: String,
    /// SHA-256 of the whole state.
    pub state_hash: String,
    /// The state: encoded, in hexadecimal digits.
    pub state: String,
}

/// A document that is no checkpoint, or no longer the one that was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// It is no JSON of this shape.
    #[error("it is no exported checkpoint: {0}")]
    Document(String),
    /// It is something else.
    #[error("it is no exported checkpoint of a swarm")]
    Kind,
    /// It is of another swarm, whose tasks and agents would be mixed into this one.
    #[error("it is of {of}, and not of {swarm}; `checkpoint fork` begins another swarm from a checkpoint")]
    Other {
        /// The swarm that it was.
        of: String,
        /// The one that it was given for.
        swarm: String,
    },
    /// A later program has written it.
    #[error("it has the layout {0}, which a later program has to read")]
    Version(String),
    /// What follows cannot be read.
    #[error("its state cannot be read: {0}")]
    State(String),
    /// What follows is not what was written.
    #[error("its state has the hash {found}, and {expected} was written")]
    Hash {
        /// What was written.
        expected: String,
        /// What came out.
        found: String,
    },
}

impl Swarms {
    /// A checkpoint to take away.
    pub async fn export(&self, swarm: &SwarmId, id: &CheckpointId) -> Result<Export, OpError> {
        let loaded = self.load(swarm, id).await?;
        // A chain may amount to more than any of its links.
        let full = loaded.state.full();
        loadable(&loaded.from, &full)?;
        Ok(Export {
            kind: KIND.to_owned(),
            schema_version: SCHEMA_VERSION.to_owned(),
            swarm: swarm.to_string(),
            checkpoint: loaded.from,
            timestamp: loaded.at,
            state_hash: loaded.state.hash().to_string(),
            state: hex::encode(blob::encode(Codec::Zstd, &full.encode())),
        })
    }
}

impl Export {
    /// From the text of a document.
    pub fn read(text: &str) -> Result<Self, ImportError> {
        serde_json::from_str(text).map_err(|error| ImportError::Document(error.to_string()))
    }

    /// The state in it, verified, for the swarm that it was and no other.
    pub fn load_of(&self, swarm: &SwarmId) -> Result<Loaded, ImportError> {
        let (of, loaded) = self.load()?;
        match of == *swarm {
            true => Ok(loaded),
            false => Err(ImportError::Other { of: of.to_string(), swarm: swarm.to_string() }),
        }
    }

    /// The state in it, verified, and the swarm that it was.
    pub fn load(&self) -> Result<(SwarmId, Loaded), ImportError> {
        let swarm = SwarmId::from_store(self.swarm.clone()).map_err(|_| ImportError::Kind)?;
        if self.kind != KIND {
            return Err(ImportError::Kind);
        }
        // 1.x is read by whoever reads 1.0.
        if !self.schema_version.starts_with("1.") {
            return Err(ImportError::Version(self.schema_version.clone()));
        }
        let unread = |error: &dyn std::fmt::Display| ImportError::State(error.to_string());
        let stored = hex::decode(&self.state).map_err(|error| unread(&error))?;
        let plain = blob::decode(&stored, MOST_BYTES).map_err(|error| unread(&error))?;
        let mut state = State::default();
        state.apply(Snapshot::decode(plain.into_owned()).map_err(|error| unread(&error))?);
        let found = state.hash();
        if self.state_hash.parse::<StateHash>() != Ok(found) {
            return Err(ImportError::Hash { expected: self.state_hash.clone(), found: found.to_string() });
        }
        let (from, at) = (self.checkpoint.clone(), self.timestamp.clone());
        Ok((swarm, Loaded { from, at, state, passed_over: Vec::new(), links: 1, full_at: None }))
    }
}
