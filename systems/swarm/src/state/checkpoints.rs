//! Checkpoints of a swarm: made and listed.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use keyplane_kit::blob::{self, Codec};
use keyplane_kit::checkpoint::{Cadence, MOST_BYTES, Next, RecordHash, Snapshot, StateHash};
use keyplane_store::Reply;

use super::capture::Capture;
use super::chains::Chain;
use super::error::OpError;
use super::outcome::Told;
use super::records::HEADER;
use super::{Inner, MOST_TRIES, SCHEMA_VERSION, Swarms, flat, millis};
use crate::keys::{CheckpointId, Chunk, SwarmId};
use crate::scripts;

/// What a snapshot may take beside the other fields; a larger one goes into chunks.
const IN_ONE_FIELD: usize = 480 * 1024;

/// No key is larger than this.
const CHUNK: usize = 512 * 1024;

/// What a swarm may amount to, compressed.
pub const MOST_STATE: usize = 1024 * 1024;

/// What is told of a checkpoint, in the order in which [`listed`] takes it.
pub(super) const FIELDS: [&str; 14] = [
    "seq",
    "parent",
    "timestamp",
    "phase",
    "confidence",
    "stateHash",
    "records",
    "size",
    "stored",
    "codec",
    "label",
    "pinned",
    "chunks",
    "links",
];

/// How a checkpoint is to be made.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CheckpointOptions {
    /// What it is called, in words.
    pub label: Option<String>,
    /// A full one, whatever came before.
    pub full: bool,
    /// How it is encoded.
    pub codec: Codec,
}

/// A checkpoint, as lists show it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Checkpoint {
    /// Its id.
    pub id: String,
    /// Its number within the swarm.
    pub seq: u64,
    /// The one that it continues; none if it is a full one.
    pub parent: Option<String>,
    /// When it was made, by the server's clock.
    pub at: String,
    /// The phase that was active.
    pub phase: Option<String>,
    /// The swarm's confidence then.
    pub confidence: f64,
    /// The hash of the whole state.
    pub hash: String,
    /// Records in it.
    pub records: u64,
    /// Bytes before encoding.
    pub size: u64,
    /// Bytes that are stored.
    pub stored: u64,
    /// How it is encoded.
    pub codec: String,
    /// What it is called.
    pub label: Option<String>,
    /// It is kept until it is unpinned.
    pub pinned: bool,
    pub(super) chunks: u64,
    /// It and all that it stands on; 0 if that is not said.
    pub(super) links: u64,
}

/// What a list of checkpoints names.
#[derive(Debug, Default)]
pub(super) struct Named {
    /// Those that are there.
    pub(super) there: Vec<Checkpoint>,
    /// Those that have run out: they are named until the list is thinned out.
    pub(super) gone: Vec<CheckpointId>,
    /// How many names there are, whatever they are.
    pub(super) count: usize,
    /// The last one.
    pub(super) newest: Vec<u8>,
}

/// A checkpoint that is about to be stored.
struct Draft {
    id: CheckpointId,
    seq: u64,
    /// The number of the newest one.
    after: u64,
    parent: Option<CheckpointId>,
    covered: u64,
    hashes: BTreeMap<String, RecordHash>,
    hash: StateHash,
    stored: Vec<u8>,
    fields: Vec<(&'static str, String)>,
    /// Behind the time of this one, in the header's `recovery`.
    so_far: String,
}

/// What became of a draft.
enum Put {
    /// It is stored.
    Made(Box<Checkpoint>),
    /// Another checkpoint came first, or a recovery: the header's `recovery` is not as it was seen.
    Overtaken,
    /// Something is there under its id that no list names.
    Taken,
}

impl Swarms {
    /// Saves the state of a swarm as of one moment: what changed since the checkpoint before, or all of it.
    pub async fn checkpoint(
        &self,
        swarm: &SwarmId,
        options: &CheckpointOptions,
        by: &str,
    ) -> Result<Checkpoint, OpError> {
        let names = self.names(swarm)?;
        let (mut is_full, mut taken) = (options.full, 0);
        for _ in 0..MOST_TRIES {
            let seen: Option<String> =
                self.0.checkpointer.run(names.swarm.hget("recovery").reading()).await?;
            let newest = self.newest(swarm).await?;
            let chain = match &newest {
                Some((id, seq)) if !is_full && is_saved(seen.as_deref()) => {
                    self.chain(swarm, id, *seq).await?
                }
                _ => None,
            };
            let marks = self.marks(&names).await?;
            let known = chain.as_ref().map(|chain| chain.hashes.keys().cloned().collect::<BTreeSet<_>>());
            let mut capture = self.capture(swarm, &names, marks, known.as_ref()).await?;
            let chain = chain.filter(|chain| !capture.is_full && goes_on(chain, &capture));
            if chain.is_none() && !capture.is_full {
                let marks = self.marks(&names).await?;
                capture = self.capture(swarm, &names, marks, None).await?;
            }
            let after = newest.as_ref().map_or(0, |(_, seq)| *seq);
            let draft = draft((after, after.max(taken) + 1), chain.as_ref(), capture, options)?;
            match self.put_draft(swarm, &draft, &seen.unwrap_or_default(), by).await? {
                Put::Made(made) => {
                    self.remember(swarm, chain, &draft, &made);
                    return Ok(*made);
                }
                Put::Taken => taken = draft.seq,
                Put::Overtaken => {}
            }
            // Another was faster: what it has saved need not be saved again. Or the swarm was recovered meanwhile. Or its list of
            // checkpoints is lost, and what it says anew may be of an earlier life.
            if newest.is_none() && self.relist(swarm).await? {
                is_full = true;
            } else if taken > after {
                // What somebody has typed is passed over.
                taken = self.last_taken(swarm, taken).await?;
            }
        }
        Err(OpError::Contended { times: MOST_TRIES })
    }

    /// The last of the numbers from this one on under which something is, listed or not.
    async fn last_taken(&self, swarm: &SwarmId, mut number: u64) -> Result<u64, OpError> {
        let Inner { checkpointer, keyspace, .. } = &*self.0;
        while checkpointer.run(keyspace.recovery(swarm, &numbered(number + 1)?).exists()).await? {
            number += 1;
        }
        Ok(number)
    }

    /// Whether anything has changed since the last checkpoint.
    pub async fn has_changed(&self, swarm: &SwarmId) -> Result<bool, OpError> {
        let names = self.names(swarm)?;
        Ok(self.0.checkpointer.run(names.dirty.zcard()).await? > 0)
    }

    /// The checkpoints of a swarm, oldest first. They may outlive it.
    pub async fn checkpoints(&self, swarm: &SwarmId) -> Result<Vec<Checkpoint>, OpError> {
        self.some_checkpoints(swarm, 0).await
    }

    /// The newest ones, from this rank on. Where they are not listed they are looked for.
    pub(super) async fn some_checkpoints(
        &self,
        swarm: &SwarmId,
        from: i64,
    ) -> Result<Vec<Checkpoint>, OpError> {
        let listed = self.listed_checkpoints(swarm, from).await?;
        if listed.is_empty() && self.relist(swarm).await? {
            return self.listed_checkpoints(swarm, from).await;
        }
        Ok(listed)
    }

    /// The newest ones that are listed, from this rank on.
    pub(super) async fn listed_checkpoints(
        &self,
        swarm: &SwarmId,
        from: i64,
    ) -> Result<Vec<Checkpoint>, OpError> {
        Ok(self.named_checkpoints(swarm, from).await?.there)
    }

    /// What the list names, from this rank on.
    pub(super) async fn named_checkpoints(&self, swarm: &SwarmId, from: i64) -> Result<Named, OpError> {
        let Inner { checkpointer, keyspace, .. } = &*self.0;
        let ranked = checkpointer.run(keyspace.checkpoints(swarm).zrange_with_scores(from, -1)).await?;
        let (count, newest) = (ranked.len(), ranked.last().map(|(id, _)| id.clone()).unwrap_or_default());
        let ids: Vec<(CheckpointId, u64)> = ranked
            .into_iter()
            .filter_map(|(id, seq)| {
                let id = CheckpointId::from_store(String::from_utf8(id).ok()?).ok()?;
                Some((id, seq as u64))
            })
            .collect();
        let asked = ids.iter().map(|(id, _)| keyspace.recovery(swarm, id).hmget(FIELDS));
        let asked = asked.map(|command| command.reading::<Vec<Option<String>>>());
        let found = checkpointer.run_all(asked).await?;
        let numbered = |(id, seq): &(CheckpointId, u64), fields: &[_]| {
            let one = listed(id, fields);
            // What others have written has no number but that of the list.
            Checkpoint { seq: if one.seq == 0 { *seq } else { one.seq }, ..one }
        };
        let mut named = Named { count, newest, ..Named::default() };
        for (id, fields) in ids.into_iter().zip(found) {
            match fields.iter().any(Option::is_some) {
                true => named.there.push(numbered(&id, &fields)),
                false => named.gone.push(id.0),
            }
        }
        Ok(named)
    }

    pub(super) fn chunk_keys(
        &self,
        swarm: &SwarmId,
        id: &CheckpointId,
        count: u64,
    ) -> Vec<keyplane_key::Key<keyplane_key::Str>> {
        let chunks = (0..count).filter_map(|chunk| Chunk::new(chunk).ok());
        chunks.map(|chunk| self.0.keyspace.checkpoint_chunk(swarm, id, chunk)).collect()
    }

    /// The newest checkpoint and its number.
    async fn newest(&self, swarm: &SwarmId) -> Result<Option<(CheckpointId, u64)>, OpError> {
        let Inner { checkpointer, keyspace, .. } = &*self.0;
        let newest = checkpointer.run(keyspace.checkpoints(swarm).zrange_with_scores(-1, -1)).await?;
        let Some((id, seq)) = newest.into_iter().next() else { return Ok(None) };
        let id = String::from_utf8_lossy(&id).into_owned();
        let id = CheckpointId::from_store(id.clone()).map_err(|_| OpError::Unreadable(id))?;
        Ok(Some((id, seq as u64)))
    }

    /// The chain that ends with this one, from memory or loaded; `None` if it cannot be trusted: then a full one is due.
    async fn chain(&self, swarm: &SwarmId, id: &CheckpointId, seq: u64) -> Result<Option<Chain>, OpError> {
        let remembered = self.0.chains.ending_with(swarm, id, seq);
        if remembered.is_some() {
            return Ok(remembered);
        }
        let loaded = self.load_chain(swarm, id).await?;
        Ok(loaded.ok().map(|loaded| Chain {
            newest: id.clone(),
            seq,
            hashes: loaded.state.hashes(),
            increments: loaded.links.saturating_sub(1),
            full_at: loaded.full_at,
        }))
    }

    fn remember(&self, swarm: &SwarmId, before: Option<Chain>, draft: &Draft, made: &Checkpoint) {
        let made_at = millis(&made.at);
        let (increments, full_at) =
            before.map_or((0, made_at), |chain| (chain.increments + 1, chain.full_at));
        let chain = Chain {
            newest: draft.id.clone(),
            seq: draft.seq,
            hashes: draft.hashes.clone(),
            increments,
            full_at,
        };
        self.0.chains.put(swarm, chain);
    }

    async fn put_draft(&self, swarm: &SwarmId, draft: &Draft, seen: &str, by: &str) -> Result<Put, OpError> {
        let Inner { checkpointer, keyspace, most, .. } = &*self.0;
        let names = self.names(swarm)?;
        let in_chunks = draft.stored.len() > IN_ONE_FIELD;
        let chunks: Vec<&[u8]> = if in_chunks { draft.stored.chunks(CHUNK).collect() } else { Vec::new() };
        let chunk_keys = self.chunk_keys(swarm, &draft.id, chunks.len() as u64);
        let mut more: Vec<_> = chunks.iter().map(|chunk| (*chunk).into()).collect();
        more.extend(flat(&draft.fields));
        if !in_chunks {
            more.extend(["blob".into(), draft.stored.as_slice().into()]);
        }
        let call = scripts::Checkpoint {
            swarm: &names.swarm,
            recovery: &keyspace.recovery(swarm, &draft.id),
            checkpoints: &keyspace.checkpoints(swarm),
            dirty: &names.dirty,
            events: &names.events,
            checkpoint_chunk: chunk_keys.iter().collect(),
            most: (*most).into(),
            by: by.into(),
            checkpoint_id: draft.id.as_str().into(),
            seq: draft.seq.into(),
            covered: draft.covered.into(),
            seen: seen.into(),
            so_far: (&draft.so_far).into(),
            after: draft.after.into(),
            more,
        };
        let told: Vec<Reply> = checkpointer.call(call).await?;
        let told = Told::new(&told);
        match told.word() {
            "ok" => Ok(Put::Made(Box::new(made(draft, told.text(1), chunks.len())))),
            "seq" => Ok(Put::Overtaken),
            "exists" => Ok(Put::Taken),
            _ => Err(told.refusal(swarm, draft.id.as_str(), "")),
        }
    }
}

/// Whether the header, by its `recovery`, has seen a checkpoint since it was created or came back. Before that what is there may
/// be something else than what the newest one says.
fn is_saved(recovery: Option<&str>) -> bool {
    let known: serde_json::Value =
        recovery.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    known["lastCheckpoint"].is_string()
}

/// Whether the next link may still stand on this chain.
fn goes_on(chain: &Chain, capture: &Capture) -> bool {
    let now = capture.header.get("updatedAt").and_then(|at| millis(at));
    let age = now.zip(chain.full_at).map(|(now, full)| Duration::from_millis(now.saturating_sub(full)));
    Cadence::default().next(chain.increments, age.unwrap_or_default()) == Next::Increment
}

/// The id with that number.
fn numbered(seq: u64) -> Result<CheckpointId, OpError> {
    let id = format!("checkpoint_{seq:08}");
    CheckpointId::new(id.clone()).map_err(|_| OpError::Unreadable(id))
}

/// The next one: behind the newest number that is listed, under this one.
fn draft(
    (after, seq): (u64, u64),
    chain: Option<&Chain>,
    capture: Capture,
    options: &CheckpointOptions,
) -> Result<Draft, OpError> {
    let id = numbered(seq)?;
    let mut hashes = chain.map(|chain| chain.hashes.clone()).unwrap_or_default();
    let mut snapshot = Snapshot::default();
    for (name, body) in capture.records {
        match body {
            Some(body) => {
                let hash = RecordHash::of(&name, &body);
                let is_same = hashes.insert(name.clone(), hash) == Some(hash);
                // Marked, and as it was: such as a vote that was given again.
                if !is_same || name == HEADER {
                    snapshot.changed.insert(name, body);
                }
            }
            None if hashes.remove(&name).is_some() => drop(snapshot.removed.insert(name)),
            None => {}
        }
    }
    loadable(id.as_str(), &snapshot)?;
    let hash = StateHash::of(hashes.values());
    let plain = snapshot.encode();
    let stored = blob::encode(options.codec, &plain);
    let header = |field: &str| capture.header.get(field).cloned();
    let mut fields = vec![
        ("stateHash", hash.to_string()),
        ("codec", blob::codec_of(&stored).unwrap_or_default().to_string()),
        ("size", plain.len().to_string()),
        ("stored", stored.len().to_string()),
        ("records", snapshot.changed.len().to_string()),
        ("confidence", header("confidence").unwrap_or_else(|| "0".to_owned())),
        ("schemaVersion", SCHEMA_VERSION.to_owned()),
        // Increments so far, their full one, and this.
        ("links", chain.map_or(1, |chain| chain.increments + 2).to_string()),
    ];
    let parent = chain.map(|chain| chain.newest.clone());
    fields.extend(parent.as_ref().map(|parent| ("parent", parent.to_string())));
    fields.extend(header("status").map(|status| ("status", status)));
    fields.extend(header("currentPhase").map(|phase| ("phase", phase)));
    fields.extend(options.label.clone().map(|label| ("label", label)));
    let so_far = so_far(&header("recovery").unwrap_or_default());
    Ok(Draft { id, seq, after, parent, covered: capture.covered, hashes, hash, stored, fields, so_far })
}

/// What nobody could load is not stored, and not given away.
pub(super) fn loadable(id: &str, snapshot: &Snapshot) -> Result<(), OpError> {
    match snapshot.size() {
        bytes if bytes > MOST_BYTES => {
            Err(OpError::TooLarge { what: id.to_owned(), bytes, most: MOST_BYTES })
        }
        _ => Ok(()),
    }
}

/// Recoveries so far: the end of the header's `recovery`.
fn so_far(recovery: &str) -> String {
    let known: serde_json::Value = serde_json::from_str(recovery).unwrap_or_default();
    let attempts = known["recoveryAttempts"].as_u64().unwrap_or_default();
    format!("\"recoveryAttempts\":{attempts},\"lastRecovery\":{}}}", known["lastRecovery"])
}

fn made(draft: &Draft, at: &str, chunks: usize) -> Checkpoint {
    let text =
        |name: &str| draft.fields.iter().find(|(field, _)| *field == name).map(|(_, value)| value.clone());
    let number = |name: &str| text(name).and_then(|text| text.parse().ok()).unwrap_or_default();
    Checkpoint {
        id: draft.id.to_string(),
        seq: draft.seq,
        parent: draft.parent.as_ref().map(ToString::to_string),
        at: at.to_owned(),
        phase: text("phase"),
        confidence: text("confidence").and_then(|text| text.parse().ok()).unwrap_or_default(),
        hash: draft.hash.to_string(),
        records: number("records"),
        size: number("size"),
        stored: number("stored"),
        codec: text("codec").unwrap_or_default(),
        label: text("label"),
        pinned: false,
        chunks: chunks as u64,
        links: number("links"),
    }
}

pub(super) fn listed(id: &CheckpointId, fields: &[Option<String>]) -> Checkpoint {
    let text = |at: usize| fields.get(at).cloned().flatten();
    let number = |at: usize| text(at).and_then(|text| text.parse().ok()).unwrap_or_default();
    Checkpoint {
        id: id.to_string(),
        seq: number(0),
        parent: text(1),
        at: text(2).unwrap_or_default(),
        phase: text(3),
        confidence: text(4).and_then(|text| text.parse().ok()).unwrap_or_default(),
        hash: text(5).unwrap_or_default(),
        records: number(6),
        size: number(7),
        stored: number(8),
        codec: text(9).unwrap_or_default(),
        label: text(10),
        pinned: text(11).as_deref() == Some("true"),
        chunks: number(12),
        links: number(13),
    }
}

#[cfg(test)]
mod tests {
    use keyplane_kit::checkpoint::Body;

    use super::*;

    /// So many tasks with a result of half a megabyte.
    fn tasks(count: usize) -> Capture {
        let task = Body::new([("status", "completed"), ("result", &"x".repeat(512 * 1024))]);
        let records = (0..count).map(|number| (format!("tasks:task_{number:08}"), Some(task.clone())));
        Capture { covered: 1, header: BTreeMap::new(), records: records.collect(), is_full: true }
    }

    #[test]
    fn what_could_not_be_loaded_is_refused_before_it_is_stored() {
        let options = CheckpointOptions::default();
        let refused = draft((0, 1), None, tasks(512), &options).err();
        let Some(OpError::TooLarge { what, bytes, most }) = refused else { panic!("{refused:?}") };
        assert_eq!((what.as_str(), most), ("checkpoint_00000001", MOST_BYTES));
        assert!(bytes > MOST_BYTES, "{bytes}");
        assert!(draft((0, 1), None, tasks(16), &options).is_ok());
    }
}
