//! Entries in order, found by place and by rank.
//!
//! Neighbours share a chunk. Coming and going moves no more than one chunk's entries, and a rank is the lengths of the
//! chunks before it: at a million members that is some thousand additions, next to each other in memory.

use std::ops::Range;
use std::sync::Arc;

/// As many as a chunk can hold.
const MOST: usize = 512;
/// A chunk with fewer looks for a neighbour to join.
const FEW: usize = MOST / 4;

/// A member and its score, which is never "not a number".
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) score: f64,
    pub(super) member: Arc<[u8]>,
}

impl Entry {
    fn is_before(&self, score: f64, member: &[u8]) -> bool {
        // The two zeros are one score here, so equality decides and not the order of bits.
        self.score < score || (self.score == score && *self.member < *member)
    }
}

/// By score, then by the bytes of the member. No chunk is empty.
#[derive(Debug, Clone, Default)]
pub(super) struct Order {
    chunks: Vec<Vec<Entry>>,
}

/// A chunk, and an entry in it.
type Place = (usize, usize);

impl Order {
    /// The first entry for which it does not hold; it holds for all before that one.
    fn place(&self, holds: impl Fn(&Entry) -> bool) -> Place {
        let chunk = self.chunks.partition_point(|chunk| chunk.last().is_some_and(&holds));
        (chunk, self.chunks.get(chunk).map_or(0, |chunk| chunk.partition_point(holds)))
    }

    fn place_at(&self, rank: usize) -> Place {
        self.place_after((0, 0), rank)
    }

    /// So many further on; all beyond the last are one place.
    fn place_after(&self, (first, offset): Place, count: usize) -> Place {
        let mut left = offset.saturating_add(count);
        for (at, chunk) in self.chunks.iter().enumerate().skip(first) {
            if left < chunk.len() {
                return (at, left);
            }
            left -= chunk.len();
        }
        (self.chunks.len(), 0)
    }

    /// How many entries it holds for; it holds for all of them before any for which it does not.
    pub(super) fn count_while(&self, holds: impl Fn(&Entry) -> bool) -> usize {
        let (chunk, offset) = self.place(holds);
        self.chunks.iter().take(chunk).map(Vec::len).sum::<usize>() + offset
    }

    /// Of an entry that is there.
    pub(super) fn rank(&self, score: f64, member: &[u8]) -> usize {
        self.count_while(|entry| entry.is_before(score, member))
    }

    pub(super) fn insert(&mut self, entry: Entry) {
        let (mut at, mut offset) = self.place(|known| known.is_before(entry.score, &entry.member));
        if at == self.chunks.len() {
            return self.append(entry);
        }
        if self.chunks[at].len() == MOST {
            let upper = self.chunks[at].split_off(MOST / 2);
            self.chunks.insert(at + 1, upper);
            if offset > MOST / 2 {
                (at, offset) = (at + 1, offset - MOST / 2);
            }
        }
        let chunk = &mut self.chunks[at];
        make_room(chunk);
        chunk.insert(offset, entry);
    }

    /// After all others. What grows at its end, such as a queue by time, fills its chunks and splits none.
    fn append(&mut self, entry: Entry) {
        match self.chunks.last_mut() {
            Some(last) if last.len() < MOST => {
                make_room(last);
                last.push(entry);
            }
            _ => self.chunks.push(vec![entry]),
        }
    }

    pub(super) fn remove(&mut self, score: f64, member: &[u8]) {
        let (at, offset) = self.place(|known| known.is_before(score, member));
        let Some(chunk) = self.chunks.get_mut(at) else { return };
        if chunk.get(offset).is_some_and(|entry| *entry.member == *member) {
            chunk.remove(offset);
            self.tidy(at);
        }
    }

    /// Removes a piece, and hands it over.
    pub(super) fn take(&mut self, ranks: Range<usize>) -> Vec<Entry> {
        let (first, mut offset) = self.place_at(ranks.start);
        let mut taken = Vec::new();
        let (mut at, mut left) = (first, ranks.len());
        while left > 0
            && let Some(chunk) = self.chunks.get_mut(at)
        {
            let end = offset.saturating_add(left).min(chunk.len());
            left -= end - offset;
            taken.extend(chunk.drain(offset..end));
            (at, offset) = (at + 1, 0);
        }
        // Only the first and the last of them can have entries left; the others are dropped at once.
        if at > first + 2 {
            self.chunks.drain(first + 1..at - 1);
            at = first + 2;
        }
        (first..at).rev().for_each(|chunk| self.tidy(chunk));
        taken
    }

    /// Something has left the chunk.
    fn tidy(&mut self, at: usize) {
        let Some(chunk) = self.chunks.get_mut(at) else { return };
        let length = chunk.len();
        if length == 0 {
            self.chunks.remove(at);
            return;
        }
        if length >= FEW {
            return;
        }
        if chunk.capacity() > 4 * length.max(4) {
            chunk.shrink_to(2 * length);
        }
        // Two that join leave room, so that the next entry does not part them again.
        let fits = |pair: &[Vec<Entry>]| pair.iter().map(Vec::len).sum::<usize>() <= MOST / 2;
        let lefts = [Some(at), at.checked_sub(1)].into_iter().flatten();
        for left in lefts {
            if self.chunks.get(left..left + 2).is_some_and(fits) {
                let right = self.chunks.remove(left + 1);
                self.chunks[left].extend(right);
                return;
            }
        }
    }

    /// The entries of these ranks, from either end.
    pub(super) fn range(&self, ranks: Range<usize>) -> impl DoubleEndedIterator<Item = &Entry> {
        let (first, from) = self.place_at(ranks.start);
        let (last, to) = self.place_after((first, from), ranks.len());
        let pieces = (first..=last).filter_map(move |at| {
            let chunk = self.chunks.get(at)?;
            let from = if at == first { from } else { 0 };
            let to = if at == last { to } else { chunk.len() };
            chunk.get(from..to)
        });
        pieces.flatten()
    }
}

/// For one more in a chunk that is not full: twice as much as there was, and never more than it can hold.
fn make_room(chunk: &mut Vec<Entry>) {
    if chunk.len() == chunk.capacity() {
        chunk.reserve_exact(chunk.len().max(4).min(MOST.saturating_sub(chunk.len())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every chunk has something, and not too much.
    fn check(order: &Order, length: usize) {
        assert!(order.chunks.iter().all(|chunk| !chunk.is_empty() && chunk.capacity() <= MOST));
        assert_eq!(order.chunks.iter().map(Vec::len).sum::<usize>(), length);
    }

    /// Against a plain sorted vector. It grows at first, and then in so many of a hundred steps.
    fn run(seed: u64, steps: usize, growth: u32) {
        const AT_FIRST: usize = 4_000;
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut order = Order::default();
        let mut plain: Vec<(f64, Vec<u8>)> = Vec::new();
        for step in 0..steps {
            if step < AT_FIRST || rng.u32(..100) < growth {
                // Few scores, so that members decide; distinct members, as in a set.
                let entry = (f64::from(rng.i32(-9..9)), format!("{:x}.{step}", rng.u16(..)).into_bytes());
                let at = plain.partition_point(|known| *known < entry);
                order.insert(Entry { score: entry.0, member: entry.1.as_slice().into() });
                plain.insert(at, entry);
            } else if rng.u32(..200) == 0 {
                let from = rng.usize(..=plain.len());
                let to = rng.usize(from..=plain.len().min(from + 2000));
                let taken: Vec<_> =
                    order.take(from..to).into_iter().map(|e| (e.score, e.member.to_vec())).collect();
                assert_eq!(taken, plain.drain(from..to).collect::<Vec<_>>(), "seed {seed}, step {step}");
            } else if !plain.is_empty() {
                let (score, member) = plain.remove(rng.usize(..plain.len()));
                order.remove(score, &member);
            }
            if step % 61 == 0 {
                check(&order, plain.len());
                compare(&order, &plain, &mut rng, &format!("seed {seed}, step {step}"));
            }
        }
        compare(&order, &plain, &mut rng, &format!("seed {seed}, the end"));
    }

    fn compare(order: &Order, plain: &[(f64, Vec<u8>)], rng: &mut fastrand::Rng, when: &str) {
        let from = rng.usize(..=plain.len());
        let to = rng.usize(from..=plain.len());
        let shown = |entry: &Entry| (entry.score, entry.member.to_vec());
        assert_eq!(order.range(from..to).map(shown).collect::<Vec<_>>(), plain[from..to], "{when}");
        let mut back: Vec<_> = order.range(from..to).rev().map(shown).collect();
        back.reverse();
        assert_eq!(back, plain[from..to], "{when}");
        if let Some((score, member)) = plain.get(from) {
            assert_eq!(order.rank(*score, member), from, "{when}");
            let below = plain.iter().filter(|known| known.0 < *score).count();
            assert_eq!(order.count_while(|entry| entry.score < *score), below, "{when}");
        }
    }

    #[test]
    fn an_order_is_a_sorted_vector() {
        for seed in 0..6 {
            run(seed, 12_000, 80);
            run(seed + 100, 12_000, 52);
            run(seed + 200, 16_000, 20);
        }
    }

    #[test]
    fn what_grows_at_its_end_fills_its_chunks() {
        let mut order = Order::default();
        for number in 0..10_000 {
            order.insert(Entry { score: f64::from(number), member: Arc::from(b"m".as_slice()) });
        }
        assert_eq!(order.chunks.len(), 10_000_usize.div_ceil(MOST));
    }
}
