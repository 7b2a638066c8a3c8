//! What machines know, and whether what is there agrees with it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::AddAssign;

/// What machines and watchers wrote down.
#[derive(Default)]
pub(crate) struct Known {
    /// Changes that were sent, and those of them that were answered.
    begun: BTreeMap<String, &'static str>,
    acknowledged: BTreeSet<String>,
    refused: BTreeSet<String>,
    seen: BTreeMap<&'static str, Vec<String>>,
    pub(crate) unknown: usize,
    pub(crate) conflicts: usize,
    pub(crate) gaps: usize,
    pub(crate) crashed: usize,
}

impl Known {
    pub(crate) fn begun(&mut self, pool: &'static str, id: &str) {
        self.begun.insert(id.to_owned(), pool);
    }

    pub(crate) fn acknowledged(&mut self, _: &str, id: &str) {
        self.acknowledged.insert(id.to_owned());
    }

    pub(crate) fn refused(&mut self, id: &str) {
        self.refused.insert(id.to_owned());
    }

    pub(crate) fn watched(&mut self, pool: &'static str, ids: impl Iterator<Item = String>) {
        self.seen.entry(pool).or_default().extend(ids);
    }
}

/// What the store holds of one pool in the end.
#[derive(Debug, Default, Hash)]
pub(crate) struct Found {
    /// The version, and how often it was updated since it was made; `None` when there is no such pool.
    pub(crate) record: Option<(u64, u64)>,
    /// Numbers and ids of its history.
    pub(crate) history: Vec<(u64, String)>,
    /// Its place in the indexes, and where it belongs, as text.
    pub(crate) placed: [Option<String>; 2],
    pub(crate) belongs: [Option<String>; 2],
}

/// What happened.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) changed: usize,
    pub(crate) conflicts: usize,
    pub(crate) unknown: usize,
    pub(crate) removed: usize,
    pub(crate) crashed: usize,
    pub(crate) watched: usize,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.changed += other.changed;
        self.conflicts += other.conflicts;
        self.unknown += other.unknown;
        self.removed += other.removed;
        self.crashed += other.crashed;
        self.watched += other.watched;
    }
}

/// Holds the two against each other.
pub(crate) fn check(known: &Known, found: &BTreeMap<&'static str, Found>) -> Result<Tally, String> {
    let mut tally = Tally {
        conflicts: known.conflicts,
        unknown: known.unknown,
        crashed: known.crashed,
        ..Tally::default()
    };
    let mut applied = BTreeSet::new();
    for (pool, found) in found {
        for (place, (number, id)) in found.history.iter().enumerate() {
            if *number != place as u64 + 1 {
                return Err(format!("{pool}: event {number} stands at place {}", place + 1));
            }
            if !applied.insert(id.clone()) {
                return Err(format!("{pool}: {id} was done twice"));
            }
            if known.refused.contains(id) {
                return Err(format!("{pool}: {id} was refused and is there"));
            }
            if known.begun.get(id) != Some(pool) {
                return Err(format!("{pool}: {id} was never begun there"));
            }
        }
        let ids: Vec<&String> = found.history.iter().map(|(_, id)| id).collect();
        let seen = known.seen.get(pool).map(|seen| seen.iter().collect::<Vec<_>>()).unwrap_or_default();
        if seen != ids {
            return Err(format!(
                "{pool}: a watcher saw {} events in another way than the {} that were",
                seen.len(),
                ids.len()
            ));
        }
        // Each change adds one to the version, and to the number that it has read and written back.
        if let Some((version, updates)) = found.record
            && version != updates
        {
            return Err(format!("{pool}: version {version} after {updates} updates: one was lost"));
        }
        if found.placed != found.belongs {
            return Err(format!(
                "{pool}: indexes have it at {:?}, and it belongs at {:?}",
                found.placed, found.belongs
            ));
        }
        tally.changed += found.history.len();
        tally.watched += seen.len();
        tally.removed += usize::from(found.record.is_none());
        let survivors = found.record.map_or(0, |(version, _)| version as usize);
        tally.removed += usize::from(survivors < found.history.len());
    }
    if known.gaps > 0 {
        return Err(format!("watchers that kept up were told of {} gaps", known.gaps));
    }
    match known.acknowledged.difference(&applied).next() {
        Some(lost) => Err(format!("{lost} was acknowledged and is not there")),
        None => Ok(tally),
    }
}
