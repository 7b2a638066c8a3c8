//! Hashes.

use indexmap::IndexMap;

use crate::db::Hashing;

/// Fields by number. While the hash is small they stay in the order they came. Later the last takes the place of one that
/// is removed, so that a scan from the end towards the beginning misses none.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Hash {
    fields: IndexMap<Box<[u8]>, Vec<u8>, Hashing>,
    /// Redis keeps small ones in one piece, and never goes back.
    outgrown: bool,
}

/// Up to so many fields a hash is kept in one piece.
const SMALL: usize = 512;
/// Up to that length of each field and value.
const SHORT: usize = 64;

impl Hash {
    pub(crate) fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.fields.len()
    }

    pub(crate) fn get(&self, field: &[u8]) -> Option<&Vec<u8>> {
        self.fields.get(field)
    }

    /// Whether the field is new.
    pub(crate) fn set(&mut self, field: &[u8], value: Vec<u8>) -> bool {
        self.outgrown |= field.len() > SHORT || value.len() > SHORT;
        let new = match self.fields.get_mut(field) {
            Some(known) => {
                *known = value;
                false
            }
            None => self.fields.insert(field.into(), value).is_none(),
        };
        self.outgrown |= self.fields.len() > SMALL;
        new
    }

    pub(crate) fn remove(&mut self, field: &[u8]) -> Option<Vec<u8>> {
        if self.outgrown { self.fields.swap_remove(field) } else { self.fields.shift_remove(field) }
    }

    /// The field with that number; numbers change when a field is removed.
    pub(crate) fn at(&self, number: usize) -> Option<(&[u8], &Vec<u8>)> {
        self.fields.get_index(number).map(|(field, value)| (&**field, value))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], &Vec<u8>)> {
        self.fields.iter().map(|(field, value)| (&**field, value))
    }

    /// Whether Redis would show all of it in one step of a scan.
    pub(crate) fn is_in_one_piece(&self) -> bool {
        !self.outgrown
    }

    pub(crate) fn encoding(&self) -> &'static str {
        if self.outgrown { "hashtable" } else { "listpack" }
    }

    pub(crate) fn size(&self) -> usize {
        self.fields.iter().map(|(field, value)| field.len() + value.capacity() + 48).sum()
    }
}
