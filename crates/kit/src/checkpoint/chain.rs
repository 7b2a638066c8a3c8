//! Links that stand on each other.

use std::time::Duration;

use bytes::Bytes;

use super::MOST_BYTES;
use super::snapshot::{Damaged, Snapshot};
use super::state::{State, StateHash};
use crate::blob::{self, DecodeError};

/// What is kept beside a stored snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Its name.
    pub id: String,
    /// The one that it continues; none if it is a full one.
    pub parent: Option<String>,
    /// The hash of the whole state, with it.
    pub hash: StateHash,
}

/// Why a link cannot be trusted. What was loaded before it still can.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Broken {
    /// It continues another than the one before it.
    #[error("it continues `{parent}`, which does not come before it")]
    Parent {
        /// What it continues.
        parent: String,
    },
    /// A full one in the middle of a chain.
    #[error("it continues nothing, and does not stand first")]
    First,
    /// It cannot be decoded.
    #[error(transparent)]
    Blob(#[from] DecodeError),
    /// It is no snapshot.
    #[error(transparent)]
    Snapshot(#[from] Damaged),
    /// The state is another than the one that was saved.
    #[error("the state that it gives has the hash {found}, and {expected} was saved")]
    Hash {
        /// What was saved.
        expected: StateHash,
        /// What came out.
        found: StateHash,
    },
}

/// A chain that is being put together, from its full link on.
#[derive(Debug, Default)]
pub struct Loading {
    state: State,
    last: Option<String>,
}

impl Loading {
    /// A whole chain, its full link first. Only the hash of the last is compared: it covers every record of the state that comes
    /// out. Damage to a record that a later link replaces is not seen, and does no harm. Which link is broken, if one is,
    /// [`add`](Self::add) tells.
    pub fn whole<'l>(links: impl IntoIterator<Item = (&'l Link, &'l [u8])>) -> Result<Self, Broken> {
        let mut loading = Self::default();
        let mut last = None;
        for (link, stored) in links {
            loading.put(link, stored)?;
            loading.last = Some(link.id.clone());
            last = Some(link);
        }
        last.map_or(Ok(()), |link| loading.check(link))?;
        Ok(loading)
    }

    /// Adds the next link with what is stored of it. A broken one changes nothing.
    pub fn add(&mut self, link: &Link, stored: &[u8]) -> Result<(), Broken> {
        let back = self.put(link, stored)?;
        if let Err(broken) = self.check(link) {
            match back {
                Some(back) => self.state.apply(back),
                None => self.state = State::default(),
            }
            return Err(broken);
        }
        self.last = Some(link.id.clone());
        Ok(())
    }

    /// Adds a link that nobody has compared yet; what takes it back, unless it is the first.
    fn put(&mut self, link: &Link, stored: &[u8]) -> Result<Option<Snapshot>, Broken> {
        match (&link.parent, &self.last) {
            (None, Some(_)) => return Err(Broken::First),
            (Some(parent), last) if last.as_ref() != Some(parent) => {
                return Err(Broken::Parent { parent: parent.clone() });
            }
            _ => {}
        }
        let bytes = Bytes::from(blob::decode(stored, MOST_BYTES)?.into_owned());
        if self.last.is_none() {
            self.state = State::read(&bytes)?;
            return Ok(None);
        }
        let snapshot = Snapshot::decode(bytes)?;
        let back = self.before(&snapshot);
        self.state.apply(snapshot);
        Ok(Some(back))
    }

    fn check(&self, link: &Link) -> Result<(), Broken> {
        let found = self.state.hash();
        if found == link.hash { Ok(()) } else { Err(Broken::Hash { expected: link.hash, found }) }
    }

    /// What takes a snapshot back.
    fn before(&self, snapshot: &Snapshot) -> Snapshot {
        let mut back = Snapshot::default();
        for name in snapshot.changed.keys().chain(&snapshot.removed) {
            match self.state.get(name) {
                Some(body) => drop(back.changed.insert(name.clone(), body.clone())),
                None => drop(back.removed.insert(name.clone())),
            }
        }
        back
    }

    /// The last link that was added.
    #[must_use]
    pub fn last(&self) -> Option<&str> {
        self.last.as_deref()
    }

    /// The state of the last link that was added.
    #[must_use]
    pub fn finish(self) -> State {
        self.state
    }
}

/// What the next snapshot has to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// All records.
    Full,
    /// What changed.
    Increment,
}

/// When a chain is closed by a full snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cadence {
    /// Increments in a chain at most: what a load has to go through.
    pub increments: u64,
    /// How old its full one may become: an increment that outlives what it stands on is worth nothing.
    pub full_for: Duration,
}

impl Default for Cadence {
    fn default() -> Self {
        Self { increments: 20, full_for: Duration::from_secs(24 * 3600) }
    }
}

impl Cadence {
    /// After a chain of so many increments whose full link is that old.
    #[must_use]
    pub fn next(&self, increments: u64, full_since: Duration) -> Next {
        if increments >= self.increments || full_since >= self.full_for {
            Next::Full
        } else {
            Next::Increment
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blob::{Codec, encode};
    use crate::checkpoint::Body;

    fn snapshot(changed: &[(&str, &str)], removed: &[&str]) -> Snapshot {
        Snapshot {
            changed: changed.iter().map(|(name, to)| ((*name).to_owned(), Body::new([("is", to)]))).collect(),
            removed: removed.iter().map(|name| (*name).to_owned()).collect(),
        }
    }

    /// A chain of three links, as it is stored.
    fn chain() -> Vec<(Link, Vec<u8>)> {
        let steps = [
            snapshot(&[("a", "1"), ("b", "1")], &[]),
            snapshot(&[("a", "2"), ("c", "1")], &["b"]),
            snapshot(&[("c", "2")], &[]),
        ];
        let mut state = State::default();
        let link = |(at, step): (usize, Snapshot)| {
            let stored = encode(Codec::Zstd, &step.encode());
            state.apply(step);
            let parent = at.checked_sub(1).map(|before| format!("c{before}"));
            (Link { id: format!("c{at}"), parent, hash: state.hash() }, stored)
        };
        steps.into_iter().enumerate().map(link).collect()
    }

    #[test]
    fn a_chain_gives_the_state_of_its_last_link() {
        let mut loading = Loading::default();
        for (link, stored) in chain() {
            loading.add(&link, &stored).unwrap();
        }
        assert_eq!(loading.last(), Some("c2"));
        let state = loading.finish();
        assert_eq!(state.full(), snapshot(&[("a", "2"), ("c", "2")], &[]));
        let chain = chain();
        let whole = Loading::whole(chain.iter().map(|(link, stored)| (link, stored.as_slice()))).unwrap();
        assert_eq!(whole.last(), Some("c2"));
        assert_eq!(whole.finish(), state);
    }

    #[test]
    fn whichever_bit_of_a_link_is_turned_it_is_named_and_what_came_before_is_kept() {
        let chain = chain();
        for (broken, (_, stored)) in chain.iter().enumerate() {
            for at in 0..stored.len() * 8 {
                let mut turned = stored.clone();
                turned[at / 8] ^= 1 << (at % 8);
                let mut loading = Loading::default();
                for (link, stored) in &chain[..broken] {
                    loading.add(link, stored).unwrap();
                }
                let before = loading.state.clone();
                loading.add(&chain[broken].0, &turned).unwrap_err();
                assert_eq!(loading.state, before, "link {broken}, bit {at}");
            }
        }
    }

    #[test]
    fn whichever_bit_of_a_chain_is_turned_it_gives_the_state_that_was_saved_or_none() {
        let chain = chain();
        let whole = |stored: &[Vec<u8>]| {
            let links = chain.iter().map(|(link, _)| link);
            Loading::whole(links.zip(stored.iter().map(Vec::as_slice)))
        };
        let mut stored: Vec<Vec<u8>> = chain.iter().map(|(_, stored)| stored.clone()).collect();
        let saved = whole(&stored).unwrap().finish();
        let mut harmless = vec![0; chain.len()];
        for at in 0..stored.len() {
            for bit in 0..stored[at].len() * 8 {
                stored[at][bit / 8] ^= 1 << (bit % 8);
                if let Ok(loading) = whole(&stored) {
                    assert_eq!(loading.finish(), saved, "link {at}, bit {bit}");
                    harmless[at] += 1;
                }
                stored[at][bit / 8] ^= 1 << (bit % 8);
            }
        }
        // Of the first link `b`, and what `a` was, are gone in the end; nothing of the last one is.
        assert!(harmless[0] > 0 && harmless[0] < stored[0].len() * 4, "{harmless:?}");
        assert_eq!(harmless[2], 0);
    }

    #[test]
    fn links_out_of_place_are_refused() {
        let chain = chain();
        let mut loading = Loading::default();
        let missing = loading.add(&chain[1].0, &chain[1].1);
        assert_eq!(missing, Err(Broken::Parent { parent: "c0".to_owned() }));
        loading.add(&chain[0].0, &chain[0].1).unwrap();
        let skipped = loading.add(&chain[2].0, &chain[2].1);
        assert_eq!(skipped, Err(Broken::Parent { parent: "c1".to_owned() }));
        assert_eq!(loading.add(&chain[0].0, &chain[0].1), Err(Broken::First));
    }

    #[test]
    fn a_chain_is_closed_after_so_many_and_in_time() {
        let cadence = Cadence { increments: 2, full_for: Duration::from_secs(100) };
        let next = |increments, seconds| cadence.next(increments, Duration::from_secs(seconds));
        assert_eq!(
            [next(0, 0), next(1, 99), next(2, 0), next(0, 100)],
            [Next::Increment, Next::Increment, Next::Full, Next::Full]
        );
    }
}
