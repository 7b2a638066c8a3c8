//! Sorted sets.
//!
//! A member is found by its name in constant time, by score, rank or number in little more, however many there are.

mod order;

use std::ops::Range;
use std::sync::Arc;

use indexmap::IndexMap;

use crate::db::Hashing;
use order::{Entry, Order};

/// The bytes of a member, shared between the places that know it.
pub(crate) type Member = Arc<[u8]>;

/// Members by name and number as in a hash, and in the order of their scores.
#[derive(Debug, Clone, Default)]
pub(crate) struct Zset {
    members: IndexMap<Member, f64, Hashing>,
    order: Order,
    /// Redis keeps small ones in one piece, and goes back only where a result is stored anew.
    outgrown: bool,
}

/// Up to there a sorted set is kept in one piece.
const SMALL: usize = 128;
const SHORT: usize = 64;

/// What giving a member a score came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scored {
    New,
    Moved,
    Same,
}

impl PartialEq for Zset {
    /// The order follows from the scores.
    fn eq(&self, other: &Self) -> bool {
        self.members == other.members && self.outgrown == other.outgrown
    }
}

impl Zset {
    /// For that many members, of which the longest is that long.
    pub(crate) fn for_members(count: usize, longest: usize) -> Self {
        Self { outgrown: count > SMALL || longest > SHORT, ..Self::default() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.members.len()
    }

    pub(crate) fn score(&self, member: &[u8]) -> Option<f64> {
        self.members.get(member).copied()
    }

    /// The score is a number.
    pub(crate) fn set(&mut self, member: &[u8], score: f64) -> Scored {
        if let Some((_, name, known)) = self.members.get_full_mut(member) {
            if *known == score {
                return Scored::Same;
            }
            let member = Member::clone(name);
            let kept = if self.outgrown { score } else { unsigned_zero(score) };
            let before = std::mem::replace(known, kept);
            self.order.remove(before, &member);
            self.order.insert(Entry { score: kept, member });
            return Scored::Moved;
        }
        self.outgrown |= self.members.len() >= SMALL || member.len() > SHORT;
        let score = if self.outgrown { score } else { unsigned_zero(score) };
        let member = Member::from(member);
        self.members.insert(Member::clone(&member), score);
        self.order.insert(Entry { score, member });
        Scored::New
    }

    /// Whether it was there.
    pub(crate) fn remove(&mut self, member: &[u8]) -> bool {
        let Some(score) = self.members.swap_remove(member) else { return false };
        self.order.remove(score, member);
        self.shrink();
        true
    }

    /// Removes the members of these ranks, and hands them over.
    pub(crate) fn take(&mut self, ranks: Range<usize>) -> Vec<(Member, f64)> {
        let taken = self.order.take(ranks);
        for entry in &taken {
            self.members.swap_remove(&*entry.member);
        }
        self.shrink();
        taken.into_iter().map(|entry| (entry.member, entry.score)).collect()
    }

    /// What has become much smaller than it was gives room back.
    fn shrink(&mut self) {
        let length = self.members.len().max(SMALL);
        if self.members.capacity() > 4 * length {
            self.members.shrink_to(2 * length);
        }
    }

    /// How many have a lower score, or the same and come before it.
    pub(crate) fn rank(&self, member: &[u8]) -> Option<usize> {
        self.score(member).map(|score| self.order.rank(score, member))
    }

    /// How many it holds for; it holds for all of them before any for which it does not.
    pub(crate) fn count_while(&self, holds: impl Fn(&[u8], f64) -> bool) -> usize {
        self.order.count_while(|entry| holds(&entry.member, entry.score))
    }

    /// The members of these ranks, from either end.
    pub(crate) fn range(&self, ranks: Range<usize>) -> impl DoubleEndedIterator<Item = (&[u8], f64)> {
        self.order.range(ranks).map(|entry| (&*entry.member, entry.score))
    }

    /// All of them, in no order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], f64)> {
        self.members.iter().map(|(member, score)| (&**member, *score))
    }

    /// The member with that number; numbers change when a member is removed.
    pub(crate) fn at(&self, number: usize) -> Option<(&[u8], f64)> {
        self.members.get_index(number).map(|(member, score)| (&**member, *score))
    }

    pub(crate) fn is_in_one_piece(&self) -> bool {
        !self.outgrown
    }

    pub(crate) fn encoding(&self) -> &'static str {
        if self.outgrown { "skiplist" } else { "listpack" }
    }

    pub(crate) fn size(&self) -> usize {
        // Bytes with their two counts; an entry here and one in the order.
        self.members.iter().map(|(member, _)| member.len() + 16 + 48 + 24).sum()
    }
}

/// Redis writes whole scores of small sorted sets as integers, of which none is a negative zero.
fn unsigned_zero(score: f64) -> f64 {
    score + 0.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// What both places know, against a plain map.
    #[test]
    fn names_and_order_agree() {
        for seed in 0..8 {
            let mut rng = fastrand::Rng::with_seed(seed);
            let mut zset = Zset::default();
            let mut plain: BTreeMap<Vec<u8>, f64> = BTreeMap::new();
            for step in 0..4_000 {
                let member = format!("m{}", rng.u32(..900)).into_bytes();
                match rng.u32(..10) {
                    0..=5 => {
                        let score = f64::from(rng.i32(-20..20)) / 2.0;
                        let before = plain.insert(member.clone(), score);
                        let scored = match before {
                            None => Scored::New,
                            Some(before) if before == score => Scored::Same,
                            Some(_) => Scored::Moved,
                        };
                        assert_eq!(zset.set(&member, score), scored, "seed {seed}, step {step}");
                    }
                    6..=8 => {
                        let was_there = plain.remove(&member).is_some();
                        assert_eq!(zset.remove(&member), was_there, "seed {seed}, step {step}");
                    }
                    _ => {
                        let from = rng.usize(..=zset.len());
                        let to = zset.len().min(from + rng.usize(..5));
                        for (member, score) in zset.take(from..to) {
                            assert_eq!(plain.remove(&*member), Some(score), "seed {seed}, step {step}");
                        }
                    }
                }
                if step % 97 == 0 {
                    check(&zset, &plain, &format!("seed {seed}, step {step}"));
                }
            }
        }
    }

    fn check(zset: &Zset, plain: &BTreeMap<Vec<u8>, f64>, when: &str) {
        let mut sorted: Vec<(f64, &[u8])> = plain.iter().map(|(member, score)| (*score, &**member)).collect();
        sorted.sort_by(|a, b| a.partial_cmp(b).unwrap());
        let found: Vec<_> = zset.range(0..zset.len()).map(|(member, score)| (score, member)).collect();
        assert_eq!(found, sorted, "{when}");
        for (rank, (score, member)) in sorted.iter().enumerate() {
            assert_eq!(zset.rank(member), Some(rank), "{when}");
            assert_eq!(zset.score(member), Some(*score), "{when}");
        }
        let mut numbered: Vec<_> = (0..zset.len()).filter_map(|number| zset.at(number)).collect();
        numbered.sort_by_key(|(member, _)| *member);
        assert!(
            numbered.iter().map(|(member, _)| *member).eq(plain.keys().map(|member| &**member)),
            "{when}"
        );
    }

    #[test]
    fn a_drained_set_gives_room_back() {
        let mut zset = Zset::default();
        for number in 0..20_000 {
            zset.set(format!("{number}").as_bytes(), f64::from(number));
        }
        zset.take(0..19_900);
        assert!(zset.members.capacity() < 1_000);
    }
}
