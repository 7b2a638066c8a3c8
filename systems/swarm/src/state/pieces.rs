//! Results that have no room in their task's key even when they are packed: kept in pieces, and the field names them.
//!
//! # What it promises
//! - Pieces are records like others: they live as long as their swarm, and are saved, recovered, forked and removed with it.
//! - They are there before the field that names them. Whoever dies in between leaves them behind until the swarm ends; they are named
//!   by all that they are pieces of, so whoever keeps the same again keeps it once.
//! - What is read is what was put in, by its SHA-256. Where a piece is missing or another's, what names it is shown instead.

use keyplane_kit::blob;
use keyplane_kit::checkpoint::sha256;
use serde::{Deserialize, Serialize};

use super::encoded::{MOST_VALUE, fold};
use super::error::OpError;
use super::tasks::Claim;
use super::{Inner, Swarms};
use crate::keys::{BlobId, Chunk, SwarmId};
use crate::scripts;

/// The most that a result may take in its task's key, which holds 512 KB, and that one piece takes.
const MOST: usize = 400 * 1024;

/// The contract's `BlobRef`: stands in a field for a value that is stored in pieces.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Reference {
    /// SHA-256 of the value.
    blob: String,
    chunks: u64,
    /// Of the value, in bytes.
    size: usize,
}

impl Reference {
    /// What a field refers to, if it does.
    pub(super) fn read(kept: &[u8]) -> Option<Self> {
        let read: Self = serde_json::from_slice(kept).ok().filter(|read: &Self| read.size <= MOST_VALUE)?;
        let most = MOST_VALUE.div_ceil(MOST) as u64;
        ((1..=most).contains(&read.chunks) && read.id().is_some()).then_some(read)
    }

    fn id(&self) -> Option<BlobId> {
        self.blob.parse().ok()
    }

    /// The records of its pieces, by the names that snapshots give them.
    pub(super) fn names(&self) -> impl Iterator<Item = String> {
        (0..self.chunks).map(|chunk| format!("blob:{}:{chunk}", self.blob))
    }
}

/// A result as its field keeps it, and what has to be kept in pieces before.
fn folded(result: &str) -> Result<(Vec<u8>, Vec<u8>), OpError> {
    let packed = fold("result", result, MOST)?;
    if packed.len() <= MOST {
        // What only looks as if it referred to something is kept behind a header, and read as it was put in.
        let kept = if Reference::read(&packed).is_some() { blob::framed(&packed) } else { packed };
        return Ok((kept, Vec::new()));
    }
    let chunks = packed.len().div_ceil(MOST) as u64;
    let blob = hex::encode(sha256([result.as_bytes()]));
    let reference = Reference { blob, chunks, size: result.len() };
    let kept = serde_json::to_vec(&reference).map_err(|error| OpError::Unreadable(error.to_string()))?;
    Ok((kept, packed))
}

impl Swarms {
    /// Keeps a result: as what its field is to hold.
    pub(super) async fn keep_result(&self, claim: &Claim, result: &str) -> Result<Vec<u8>, OpError> {
        let (kept, packed) = folded(result)?;
        if let Some(id) = Reference::read(&kept).and_then(|reference| reference.id()) {
            for (number, piece) in (0..).zip(packed.chunks(MOST)) {
                self.keep_piece(claim, &id, number, piece).await?;
            }
        }
        Ok(kept)
    }

    async fn keep_piece(&self, claim: &Claim, id: &BlobId, number: u64, piece: &[u8]) -> Result<(), OpError> {
        let Inner { agent, keyspace, most, most_members, blob_fields, .. } = &*self.0;
        let (names, task) = (self.names(&claim.swarm)?, keyspace.task(&claim.swarm, &claim.task));
        let blob = keyspace.blob(&claim.swarm, id, chunk(number)?);
        let name = format!("blob:{id}:{number}");
        blob_fields.check("piece", piece)?;
        let call = scripts::PutBlob {
            swarm: &names.swarm,
            task: &task,
            blob: &blob,
            records: &names.records,
            events: &names.events,
            dirty: &names.dirty,
            swarm_outbox: &names.outbox,
            id: claim.swarm.as_str().into(),
            active_index: (&names.active_index).into(),
            most: (*most).into(),
            by: claim.agent.as_str().into(),
            agent_id: claim.agent.as_str().into(),
            fence: claim.fence.into(),
            name: (&name).into(),
            most_records: most_members.records.into(),
            piece: piece.into(),
        };
        let told: Vec<keyplane_store::Reply> = agent.call(call).await?;
        let told = self.told(&claim.swarm, &told).await;
        match told.word() {
            "ok" => Ok(()),
            _ => Err(told.refusal(&claim.swarm, claim.task.as_str(), "completed")),
        }
    }

    /// The value that a field refers to; `None` where it refers to nothing, or not all of that is there.
    pub(super) async fn referred(&self, swarm: &SwarmId, kept: &[u8]) -> Result<Option<String>, OpError> {
        let Inner { monitor, keyspace, .. } = &*self.0;
        let Some(reference) = Reference::read(kept) else { return Ok(None) };
        let Some(id) = reference.id() else { return Ok(None) };
        let mut asked = Vec::new();
        for number in 0..reference.chunks {
            asked.push(keyspace.blob(swarm, &id, chunk(number)?).hget("piece"));
        }
        let pieces: Option<Vec<Vec<u8>>> = monitor.run_all(asked).await?.into_iter().collect();
        let packed = pieces.map(|pieces| pieces.concat()).unwrap_or_default();
        let value = blob::decode(&packed, MOST_VALUE).unwrap_or_default();
        let is_it = hex::encode(sha256([&value[..]])) == reference.blob;
        Ok(String::from_utf8(value.into_owned()).ok().filter(|_| is_it))
    }
}

fn chunk(number: u64) -> Result<Chunk, OpError> {
    Chunk::new(number).map_err(|error| OpError::Unreadable(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::encoded::unfolded;

    /// Letters that no codec makes much smaller.
    fn noise(length: usize) -> String {
        let mut rng = fastrand::Rng::with_seed(1);
        (0..length).map(|_| rng.alphanumeric()).collect()
    }

    #[test]
    fn what_has_no_room_is_referred_to_by_what_it_is() {
        let result = noise(900_000);
        let (kept, packed) = folded(&result).unwrap();
        let reference = Reference::read(&kept).unwrap();
        assert_eq!((reference.size, reference.chunks), (900_000, 2));
        assert_eq!(reference.blob, hex::encode(sha256([result.as_bytes()])));
        assert_eq!(packed.chunks(MOST).count(), 2);
        assert_eq!(unfolded(&packed).as_ref(), result.as_bytes());
        let told = folded(&noise(MOST_VALUE + 1)).unwrap_err().to_string();
        assert_eq!(told, "`result` has 1048577 bytes, and 1048576 are allowed");
    }

    #[test]
    fn what_only_looks_like_a_reference_is_none() {
        let looks = format!(r#"{{"blob":"{}","chunks":1,"size":7}}"#, "ab".repeat(32));
        assert!(Reference::read(looks.as_bytes()).is_some());
        let (kept, packed) = folded(&looks).unwrap();
        assert_eq!((Reference::read(&kept), packed.len()), (None, 0));
        assert_eq!(unfolded(&kept).as_ref(), looks.as_bytes());
        for other in [
            r#"{"blob":"ab","chunks":1,"size":7}"#.to_owned(),
            looks.replace(":1,", ":0,"),
            looks.replace(":1,", ":4,"),
            looks.replace(":7", ":70000000"),
            looks.replace("size", "bytes"),
            "{}".to_owned(),
        ] {
            assert_eq!(Reference::read(other.as_bytes()), None, "{other}");
            assert_eq!(folded(&other).unwrap().0, other.as_bytes());
        }
    }
}
