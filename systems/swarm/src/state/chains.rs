//! The newest chains of checkpoints, as this process knows them: with the hashes of all records an increment reads what has
//! changed, and nothing else.
//!
//! What is forgotten is loaded again. So chains are kept for the swarms that were saved last, up to [`MOST_HASHES`]; a process that
//! keeps swarms for months does not grow with all that there ever were.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use keyplane_kit::checkpoint::RecordHash;

use crate::keys::{CheckpointId, SwarmId};

/// Hashes in all chains together: about a hundred megabytes, and some six hundred swarms of fifteen hundred records.
const MOST_HASHES: usize = 1_000_000;

/// The newest chain of a swarm.
#[derive(Debug, Clone)]
pub(super) struct Chain {
    pub(super) newest: CheckpointId,
    pub(super) seq: u64,
    pub(super) hashes: BTreeMap<String, RecordHash>,
    pub(super) increments: u64,
    /// When its full link was made, in Unix milliseconds.
    pub(super) full_at: Option<u64>,
}

#[derive(Debug, Default)]
pub(super) struct Chains(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    /// Each with its turn: the lowest was put in first.
    by_swarm: HashMap<SwarmId, (u64, Chain)>,
    hashes: usize,
    turn: u64,
}

impl Chains {
    /// The chain that ends with this checkpoint.
    pub(super) fn ending_with(&self, swarm: &SwarmId, newest: &CheckpointId, seq: u64) -> Option<Chain> {
        let kept = self.kept();
        let (_, chain) = kept.by_swarm.get(swarm)?;
        (chain.newest == *newest && chain.seq == seq).then(|| chain.clone())
    }

    /// Keeps this one, and forgets others if there are too many.
    pub(super) fn put(&self, swarm: &SwarmId, chain: Chain) {
        let mut kept = self.kept();
        kept.forget(swarm);
        kept.turn += 1;
        kept.hashes += chain.hashes.len();
        let turn = kept.turn;
        kept.by_swarm.insert(swarm.clone(), (turn, chain));
        while kept.hashes > MOST_HASHES && kept.by_swarm.len() > 1 {
            let oldest = kept.by_swarm.iter().min_by_key(|(_, (turn, _))| *turn);
            let Some(oldest) = oldest.map(|(swarm, _)| swarm.clone()) else { break };
            kept.forget(&oldest);
        }
    }

    /// A swarm is gone.
    pub(super) fn forget(&self, swarm: &SwarmId) {
        self.kept().forget(swarm);
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn forget(&mut self, swarm: &SwarmId) {
        if let Some((_, chain)) = self.by_swarm.remove(swarm) {
            self.hashes -= chain.hashes.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use keyplane_kit::checkpoint::Body;

    use super::*;

    fn swarm(number: usize) -> SwarmId {
        SwarmId::new(format!("swarm_{number:08}")).unwrap()
    }

    fn newest() -> CheckpointId {
        CheckpointId::new("checkpoint_00000001").unwrap()
    }

    fn chain(records: usize) -> Chain {
        let hash = RecordHash::of("header", &Body::new([("status", "running")]));
        let hashes = (0..records).map(|number| (number.to_string(), hash)).collect();
        Chain { newest: newest(), seq: 1, hashes, increments: 0, full_at: None }
    }

    #[test]
    fn those_are_kept_that_were_put_in_last() {
        let (chains, tenth) = (Chains::default(), MOST_HASHES / 10);
        let known = |number| chains.ending_with(&swarm(number), &newest(), 1).is_some();
        for number in 0..10 {
            chains.put(&swarm(number), chain(tenth));
        }
        // Once more, so it is not the oldest any longer.
        chains.put(&swarm(0), chain(tenth));
        assert!((0..10).all(known), "there is room for ten");
        chains.put(&swarm(10), chain(tenth));
        assert_eq!((0..=10).filter(|number| !known(*number)).collect::<Vec<_>>(), [1]);
        chains.forget(&swarm(2));
        chains.put(&swarm(11), chain(tenth));
        assert_eq!((0..=11).filter(|number| !known(*number)).collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn one_that_is_too_large_by_itself_is_kept_alone() {
        let chains = Chains::default();
        chains.put(&swarm(1), chain(10));
        chains.put(&swarm(2), chain(MOST_HASHES + 1));
        assert!(chains.ending_with(&swarm(1), &newest(), 1).is_none());
        assert!(chains.ending_with(&swarm(2), &newest(), 1).is_some());
        assert!(chains.ending_with(&swarm(2), &newest(), 2).is_none(), "another has put one on top");
    }
}
