//! The keys of one pool, named once.

use keyplane_key::{Hash, Key, List, Str, Stream, Zset};

use super::error::OpenError;
use crate::keys::{self, Keyspace};
use crate::model::TxHash;

#[derive(Debug)]
pub(super) struct Names {
    keyspace: Keyspace,
    pub(super) pending: Key<List>,
    pub(super) inflight: Key<Hash>,
    pub(super) finalized: Key<Zset>,
    pub(super) finalized_index: Key<Hash>,
    pub(super) seq: Key<Str>,
    pub(super) watcher_lock: Key<Str>,
    pub(super) watcher_fence: Key<Str>,
    pub(super) watcher_terms: Key<Str>,
    pub(super) stage: Key<Hash>,
    pub(super) due: Key<Zset>,
    pub(super) offered: Key<Zset>,
    pub(super) peers: Key<Hash>,
    pub(super) inputs: Key<Hash>,
    pub(super) tip: Key<Hash>,
    pub(super) applied: Key<Hash>,
    pub(super) events: Key<Stream>,
    pub(super) stats: Key<Hash>,
}

impl Names {
    pub(super) fn new(keyspace: Keyspace) -> Result<Self, OpenError> {
        let watcher_lock = keyspace.watcher_lock();
        let helper = |part| watcher_lock.helper("lease", part).ok_or(OpenError::Helper { part });
        Ok(Self {
            watcher_fence: helper("fence")?,
            watcher_terms: helper("transitions")?,
            pending: keyspace.pending(),
            inflight: keyspace.inflight(),
            finalized: keyspace.finalized(),
            finalized_index: keyspace.finalized_index(),
            seq: keyspace.seq(),
            watcher_lock,
            stage: keyspace.stage(),
            due: keyspace.due(),
            offered: keyspace.offered(),
            peers: keyspace.peers(),
            inputs: keyspace.inputs(),
            tip: keyspace.tip(),
            applied: keyspace.applied(),
            events: keyspace.events(),
            stats: keyspace.stats(),
            keyspace,
        })
    }

    #[allow(clippy::expect_used, reason = "64 hexadecimal digits are what the contract asks for")]
    pub(super) fn payload(&self, hash: &TxHash) -> Key<Str> {
        self.keyspace.payload(&keys::Hash::new(hash.to_string()).expect("a hash"))
    }

    /// What the names of payloads begin with.
    pub(super) fn payload_prefix(&self) -> String {
        let one = self.payload(&TxHash::new([0; 32]));
        let name = one.as_str();
        name.strip_suffix(&"0".repeat(64)).unwrap_or(name).to_owned()
    }

    pub(super) fn claims(&self, peer: &keys::Peer) -> Key<Zset> {
        self.keyspace.claims(peer)
    }

    pub(super) fn refused(&self, peer: &keys::Peer) -> Key<Zset> {
        self.keyspace.refused(peer)
    }

    pub(super) fn payloads<'h>(&self, hashes: impl IntoIterator<Item = &'h TxHash>) -> Vec<Key<Str>> {
        hashes.into_iter().map(|hash| self.payload(hash)).collect()
    }
}
