//! Streams, as event logs.
//!
//! Entries stand in nodes of up to a hundred, as in Redis: a trim that may be about right removes whole nodes only, so
//! what it leaves is the same here when nodes begin and end with the same entries.

use std::collections::VecDeque;
use std::fmt;

use crate::number;

/// The name of an entry: a moment in milliseconds, and a number within it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Id {
    pub(crate) millis: u64,
    pub(crate) number: u64,
}

impl Id {
    /// No entry has this one.
    pub(crate) const MIN: Self = Self { millis: 0, number: 0 };
    pub(crate) const MAX: Self = Self { millis: u64::MAX, number: u64::MAX };

    pub(crate) fn next(self) -> Option<Self> {
        match self.number.checked_add(1) {
            Some(number) => Some(Self { number, ..self }),
            None => Some(Self { millis: self.millis.checked_add(1)?, number: 0 }),
        }
    }

    pub(crate) fn before(self) -> Option<Self> {
        match self.number.checked_sub(1) {
            Some(number) => Some(Self { number, ..self }),
            None => Some(Self { millis: self.millis.checked_sub(1)?, number: u64::MAX }),
        }
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.millis, self.number)
    }
}

/// Fields and their values in turn, as they were sent.
pub(crate) type Fields = Box<[Box<[u8]>]>;

/// Entries by id, and what is remembered of those that are gone.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Stream {
    nodes: VecDeque<Node>,
    length: usize,
    /// Of the entry that was added last, unless XSETID said otherwise. What is added has a greater one.
    pub(crate) last: Id,
    /// The greatest that was removed by name.
    pub(crate) greatest_removed: Id,
    /// How many entries there have been.
    pub(crate) added: i64,
}

/// What trimming leaves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Keep {
    /// So many.
    Last(usize),
    /// This one and those after it.
    From(Id),
}

/// How exact a trim is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Exactness {
    Exact,
    /// Whole nodes only, and at most so many entries; `None` is any number.
    Nodes(Option<usize>),
}

impl Stream {
    pub(crate) fn len(&self) -> usize {
        self.length
    }

    pub(crate) fn nodes(&self) -> usize {
        self.nodes.len()
    }

    pub(crate) fn first(&self) -> Option<(Id, &Fields)> {
        self.range(Id::MIN, Id::MAX).next()
    }

    /// The last that is still there.
    pub(crate) fn newest(&self) -> Option<(Id, &Fields)> {
        self.range(Id::MIN, Id::MAX).next_back()
    }

    /// The number of the node that the entry is in if there is one.
    fn node_of(&self, id: Id) -> usize {
        self.nodes.partition_point(|node| node.begins() <= id).saturating_sub(1)
    }

    /// From one to the other, both included.
    pub(crate) fn range(&self, from: Id, to: Id) -> impl DoubleEndedIterator<Item = (Id, &Fields)> {
        let first = self.node_of(from);
        let end = (self.node_of(to) + 1).max(first).min(self.nodes.len());
        let entries = self.nodes.range(first..end).flat_map(Node::entries);
        entries.filter(move |(id, _)| (from..=to).contains(id))
    }

    /// Its id is greater than the last.
    pub(crate) fn append(&mut self, id: Id, fields: Fields) {
        match self.nodes.back_mut().filter(|node| node.has_room(&fields)) {
            Some(node) => node.append(id, fields),
            None => self.nodes.push_back(Node::new(id, fields)),
        }
        self.length += 1;
        self.last = id;
        self.added = self.added.wrapping_add(1);
    }

    /// Whether it was there.
    pub(crate) fn remove(&mut self, id: Id) -> bool {
        let number = self.node_of(id);
        let Some(node) = self.nodes.get_mut(number) else { return false };
        if !node.remove(id) {
            return false;
        }
        if node.live == 0 {
            self.nodes.remove(number);
        }
        self.length -= 1;
        self.greatest_removed = self.greatest_removed.max(id);
        true
    }

    /// Removes the oldest entries; how many.
    pub(crate) fn trim(&mut self, keep: Keep, exactness: Exactness) -> usize {
        let before = self.length;
        while let Some(node) = self.nodes.front_mut() {
            let whole = match keep {
                Keep::Last(count) if self.length <= count => break,
                Keep::Last(count) => self.length - node.live >= count,
                Keep::From(id) => node.ends() < id,
            };
            let gone = before - self.length;
            if matches!(exactness, Exactness::Nodes(Some(most)) if gone + node.live > most) {
                break;
            }
            if whole {
                self.length -= node.live;
                self.nodes.pop_front();
                continue;
            }
            if exactness == Exactness::Exact {
                self.length -= match keep {
                    Keep::Last(count) => node.trim(self.length - count, Id::MAX),
                    Keep::From(id) => node.trim(usize::MAX, id),
                };
            }
            break;
        }
        before - self.length
    }

    pub(crate) fn size(&self) -> usize {
        let entry =
            |(_, fields): (Id, &Fields)| fields.iter().map(|part| part.len() + 16).sum::<usize>() + 32;
        self.nodes.iter().flat_map(Node::entries).map(entry).sum()
    }
}

/// Entries in the order they came, and the places of those that were removed among them.
#[derive(Debug, Clone, PartialEq)]
struct Node {
    /// Never empty; nothing where an entry was removed.
    places: Vec<(Id, Option<Fields>)>,
    live: usize,
    /// The names of the first entry's fields, which Redis writes only once.
    names: Fields,
    /// How many bytes Redis would need.
    bytes: usize,
}

impl Node {
    /// So many places there are in one at most.
    const PLACES: usize = 100;
    /// What would make it as large as this goes into the next one.
    const BYTES: usize = 4096;

    fn new(id: Id, fields: Fields) -> Self {
        let names: Fields = fields.iter().step_by(2).cloned().collect();
        // Head and end, the numbers of live and removed entries and of fields, the names, and a zero.
        let head = 7 + 3 * packed_int(0) + packed_int(names.len() as i64);
        let bytes = head + names.iter().map(|name| packed(name)).sum::<usize>();
        let mut node = Self { places: Vec::new(), live: 0, names, bytes };
        node.append(id, fields);
        node
    }

    fn append(&mut self, id: Id, fields: Fields) {
        self.bytes += self.packed_entry(id, &fields);
        self.places.push((id, Some(fields)));
        self.live += 1;
    }

    fn has_room(&self, fields: &Fields) -> bool {
        let bytes = fields.iter().map(|part| part.len()).sum::<usize>();
        self.places.len() < Self::PLACES && self.bytes + bytes < Self::BYTES
    }

    /// The id of its first place.
    fn begins(&self) -> Id {
        self.places.first().map_or(Id::MIN, |(id, _)| *id)
    }

    /// The id of its last place.
    fn ends(&self) -> Id {
        self.places.last().map_or(Id::MIN, |(id, _)| *id)
    }

    fn entries(&self) -> impl DoubleEndedIterator<Item = (Id, &Fields)> {
        self.places.iter().filter_map(|(id, fields)| Some((*id, fields.as_ref()?)))
    }

    fn remove(&mut self, id: Id) -> bool {
        let place = self.places.iter_mut().find(|(known, fields)| *known == id && fields.is_some());
        let removed = place.is_some_and(|(_, fields)| fields.take().is_some());
        self.live -= usize::from(removed);
        removed
    }

    /// Removes so many of its first entries at most, up to a place that is not before that id; how many.
    fn trim(&mut self, most: usize, before: Id) -> usize {
        let places = self.places.iter_mut().take_while(|(id, _)| *id < before);
        let live = places.filter_map(|(_, fields)| fields.as_mut().is_some().then_some(fields));
        let gone = live.take(most).map(Option::take).count();
        self.live -= gone;
        gone
    }

    /// Its mark, its distance from the node's beginning, its fields where they are others than the node's, its values,
    /// and the number of all these.
    fn packed_entry(&self, id: Id, fields: &Fields) -> usize {
        let begins = self.places.first().map_or(id, |(id, _)| *id);
        let distance = |from: u64, to: u64| packed_int(to.wrapping_sub(from) as i64);
        let values = fields.iter().skip(1).step_by(2);
        let count = fields.len() / 2;
        let mut bytes = packed_int(0)
            + distance(begins.millis, id.millis)
            + distance(begins.number, id.number)
            + values.map(|value| packed(value)).sum::<usize>();
        let mut parts = count + 3;
        if !fields.iter().step_by(2).eq(self.names.iter()) {
            bytes += packed_int(count as i64);
            bytes += fields.iter().step_by(2).map(|name| packed(name)).sum::<usize>();
            parts += count + 1;
        }
        bytes + packed_int(parts as i64)
    }
}

/// The size of a string in one of Redis's listpacks.
fn packed(bytes: &[u8]) -> usize {
    match (number::parse_int(bytes), bytes.len()) {
        (Some(number), _) => packed_int(number),
        (None, length @ ..64) => with_length(1 + length),
        (None, length @ ..4096) => with_length(2 + length),
        (None, length) => with_length(5 + length),
    }
}

/// The size of an integer there.
fn packed_int(number: i64) -> usize {
    with_length(match number {
        0..=127 => 1,
        -4096..=4095 => 2,
        -0x8000..=0x7fff => 3,
        -0x80_0000..=0x7f_ffff => 4,
        -0x8000_0000..=0x7fff_ffff => 5,
        _ => 9,
    })
}

/// An element, and its length behind it.
fn with_length(bytes: usize) -> usize {
    bytes
        + match bytes {
            0..=127 => 1,
            128..16_383 => 2,
            16_383..2_097_151 => 3,
            2_097_151..268_435_455 => 4,
            _ => 5,
        }
}
