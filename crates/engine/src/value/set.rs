//! Sets.

use indexmap::IndexSet;

use crate::db::Hashing;
use crate::number;

/// Members by number. In a small set of integers they are in the order of the integers, as in Redis; otherwise, as in a
/// hash, the last takes the place of one that is removed.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Set {
    members: IndexSet<Box<[u8]>, Hashing>,
    /// Redis keeps small sets of integers sorted in one piece, and never goes back.
    outgrown: bool,
}

/// Up to there a set of integers is kept in one piece.
const SMALL: usize = 512;

impl Set {
    pub(crate) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.members.len()
    }

    pub(crate) fn contains(&self, member: &[u8]) -> bool {
        self.members.contains(member)
    }

    /// Whether it is new.
    pub(crate) fn add(&mut self, member: &[u8]) -> bool {
        if self.members.contains(member) {
            return false;
        }
        match number::parse_int(member) {
            Some(value) if !self.outgrown => {
                let place = self.members.partition_point(|known| number::parse_int(known) < Some(value));
                self.members.shift_insert(place, member.into());
                self.outgrown = self.members.len() > SMALL;
            }
            _ => {
                self.members.insert(member.into());
                self.outgrown = true;
            }
        }
        true
    }

    pub(crate) fn remove(&mut self, member: &[u8]) -> bool {
        if self.outgrown { self.members.swap_remove(member) } else { self.members.shift_remove(member) }
    }

    /// The member with that number; numbers change when a member is removed.
    pub(crate) fn at(&self, number: usize) -> Option<&[u8]> {
        self.members.get_index(number).map(|member| &**member)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.members.iter().map(|member| &**member)
    }

    /// Whether it is a small set of integers.
    pub(crate) fn is_in_one_piece(&self) -> bool {
        !self.outgrown
    }

    pub(crate) fn encoding(&self) -> &'static str {
        if self.outgrown { "hashtable" } else { "intset" }
    }

    pub(crate) fn size(&self) -> usize {
        self.members.iter().map(|member| member.len() + 32).sum()
    }
}

impl<'a> FromIterator<&'a [u8]> for Set {
    fn from_iter<I: IntoIterator<Item = &'a [u8]>>(members: I) -> Self {
        let mut set = Self::default();
        for member in members {
            set.add(member);
        }
        set
    }
}
