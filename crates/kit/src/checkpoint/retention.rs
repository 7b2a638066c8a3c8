//! What is kept of many snapshots.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// A stored snapshot, as far as it matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kept {
    /// Its number.
    pub seq: u64,
    /// The one that it continues; none if it is a full one.
    pub parent: Option<u64>,
    /// How old it is.
    pub age: Duration,
    /// It is kept whatever its age.
    pub pinned: bool,
}

/// All of the youngest, then one full one for each stretch of time, and what those that are kept stand on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// All that are younger are kept.
    pub all_for: Duration,
    /// Of those that are older, full ones that lie this far apart.
    pub then_one_each: Duration,
}

impl Default for Retention {
    /// All of the last hour, then one an hour: 168 in the seven days that a checkpoint lives.
    fn default() -> Self {
        let hour = Duration::from_secs(3600);
        Self { all_for: hour, then_one_each: hour }
    }
}

impl Retention {
    /// The numbers of those that can go.
    #[must_use]
    pub fn superfluous(&self, all: &[Kept]) -> Vec<u64> {
        let by_seq: BTreeMap<u64, &Kept> = all.iter().map(|one| (one.seq, one)).collect();
        let mut full: Vec<&Kept> =
            all.iter().filter(|one| one.parent.is_none() && one.age >= self.all_for).collect();
        full.sort_by_key(|one| std::cmp::Reverse(one.age));
        // From the oldest on: distances stay the same when all grow older, so what is kept now is kept next time.
        let mut apart: Vec<&Kept> = Vec::new();
        for one in full {
            if apart.last().is_none_or(|before| before.age - one.age >= self.then_one_each) {
                apart.push(one);
            }
        }
        let newest = by_seq.keys().next_back().copied();
        let is_wanted = |one: &&Kept| {
            one.pinned
                || one.age < self.all_for
                || Some(one.seq) == newest
                || apart.iter().any(|kept| kept.seq == one.seq)
        };
        let mut wanted = BTreeSet::new();
        for one in all.iter().filter(is_wanted) {
            let mut next = Some(one.seq);
            while let Some(seq) = next.filter(|seq| wanted.insert(*seq)) {
                next = by_seq.get(&seq).and_then(|one| one.parent);
            }
        }
        by_seq.into_keys().filter(|seq| !wanted.contains(seq)).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    /// Every minute one, a full one after four increments; the last is the youngest.
    fn minutes(count: u64) -> Vec<Kept> {
        let one = |seq: u64| Kept {
            seq,
            parent: (!(seq - 1).is_multiple_of(5)).then(|| seq - 1),
            age: MINUTE * u32::try_from(count - seq).unwrap(),
            pinned: false,
        };
        (1..=count).map(one).collect()
    }

    fn left(all: &[Kept], retention: Retention) -> Vec<u64> {
        let gone = retention.superfluous(all);
        all.iter().map(|one| one.seq).filter(|seq| !gone.contains(seq)).collect()
    }

    const RETENTION: Retention = Retention { all_for: MINUTE, then_one_each: Duration::from_secs(600) };

    #[test]
    fn the_newest_chain_stays_and_of_each_stretch_one() {
        // 26 to 28 are the newest chain; 21, 11 and 1 are full ones, ten minutes apart.
        assert_eq!(left(&minutes(28), RETENTION), [1, 11, 21, 26, 27, 28]);
        assert_eq!(left(&minutes(3), RETENTION), [1, 2, 3]);
        assert_eq!(left(&[], RETENTION), [0; 0]);
    }

    /// Whatever is removed each time: in the end there is one for each stretch.
    #[test]
    fn thinning_out_again_and_again_leaves_one_of_each_stretch() {
        let mut left: Vec<Kept> = Vec::new();
        for made in 1..=600_u64 {
            for one in &mut left {
                one.age += MINUTE;
            }
            left.push(Kept { seq: made, parent: None, age: Duration::ZERO, pinned: false });
            let gone = RETENTION.superfluous(&left);
            left.retain(|one| !gone.contains(&one.seq));
        }
        let ages: Vec<u64> = left.iter().rev().map(|one| one.age.as_secs() / 60).collect();
        let apart = ages.windows(2).map(|pair| pair[1] - pair[0]);
        assert!(ages.len() > 59 && apart.skip(1).all(|minutes| minutes == 10), "{ages:?}");
    }

    #[test]
    fn what_is_pinned_stays_with_all_that_it_stands_on() {
        let mut all = minutes(28);
        all[8].pinned = true;
        let left = left(&all, RETENTION);
        assert!([6, 7, 8, 9].iter().all(|seq| left.contains(seq)) && !left.contains(&10), "{left:?}");
    }

    proptest! {
        #[test]
        fn nothing_that_is_kept_lacks_what_it_stands_on(
            count in 0_u64..200,
            pinned in prop::collection::vec(any::<bool>(), 200),
            all_for in 0_u64..90,
            each in 0_u64..90,
        ) {
            let mut all = minutes(count);
            for (one, pinned) in all.iter_mut().zip(pinned) {
                one.pinned = pinned && one.seq.is_multiple_of(7);
            }
            let time = |minutes| MINUTE * u32::try_from(minutes).unwrap();
            let retention = Retention { all_for: time(all_for), then_one_each: time(each) };
            let left = left(&all, retention);
            for one in all.iter().filter(|one| left.contains(&one.seq)) {
                prop_assert!(one.parent.is_none_or(|parent| left.contains(&parent)), "{} lacks its parent", one.seq);
            }
            prop_assert_eq!(left.last().copied(), all.last().map(|one| one.seq));
            prop_assert!(all.iter().all(|one| !one.pinned || left.contains(&one.seq)));
        }
    }
}
