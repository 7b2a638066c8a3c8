//! A log of events per scope, with ids that tell what a reader missed.
//!
//! Events are entries of a stream. Their ids are `time-number`: the number counts the events of this log, so whoever has seen
//! `…-41` and is given `…-44` knows that two are missing. A reader needs nothing but the id of the last event it has seen,
//! and may go on from there on any node, in any process.
//!
//! # What it promises
//! - **In order, none twice, none silently lost.** A reader that keeps up sees every event. One that was away for longer than
//!   the log reaches back is told how many it missed ([`Gap::Missed`]).
//! - **A log that began anew** (it ran out, or a failover lost its end) is told too ([`Gap::Restarted`]) and read from its
//!   beginning: numbers that come after must not be taken for a continuation. Where ids hold no time (`0-number`, as scripts give
//!   them that must not ask for it), a reader that waits knows the new log from the old one by the last entry it saw; one that
//!   brings nothing but an id knows it as long as the new log is the shorter one.
//! - The log is as long as the contract's `members` and lives as long as its TTL.
//! - An event that belongs to a change of a record is appended in the same step:
//!   [`Change::telling`](crate::record::Change::telling).
//! - Events of one kind may share an entry ([`Events::sharing`]); readers see each of them, under a number of its own.
//!
//! # What it does not
//! - It keeps no positions of readers; they bring their own.
//! - An append whose answer was lost may have happened; it is not repeated.
//! - Entries that a stranger appends with ids of his own are told as a restart.
//!
//! ```no_run
//! # mod pool { keyplane_macros::keyspace!("tests/pool.toml"); }
//! # async fn example(handle: keyplane_store::Handle) -> Result<(), Box<dyn std::error::Error>> {
//! use keyplane_kit::events::{Events, Position};
//!
//! let keys = pool::Keyspace::default();
//! let log = Events::new(&handle, keys.log(&pool::PoolId::new("east")?));
//! let mut seen = Position::Beginning;
//! loop {
//!     let batch = log.read(seen, 100).await?;
//!     for event in &batch.events {
//!         // …
//! #       let _ = event;
//!     }
//!     seen = batch.next;
//! #   break;
//! }
//! # Ok(()) }
//! ```

mod tail;

use std::fmt;
use std::str::FromStr;

use keyplane_key::{Arg, Key, Stream};
use keyplane_store::{Error, Handle};

use crate::counters::counters;
use crate::life::{millis, most_members};

pub use tail::Tail;

pub(crate) mod scripts {
    #![allow(missing_docs, unreachable_pub)]
    keyplane_macros::kit_scripts!("events", "src/events/parts.toml", "src/events");
}

/// An entry of a stream: its id, fields and values.
pub(crate) type Entry = (String, Vec<(Vec<u8>, Vec<u8>)>);

/// Entries that a stream keeps together, as servers are configured.
const STREAM_NODE: u64 = 100;

/// What a script that appends by itself hands to `MAXLEN ~`, which costs half of what trimming to the entry does. The server takes
/// away whole nodes, so a log may have that many entries more: it is told to keep as many less than the contract allows. `None`
/// if that allows any number.
#[must_use]
pub fn most_kept(handle: &Handle, key: &str) -> Option<u64> {
    Some(handle.most_members(key)?.saturating_sub(STREAM_NODE))
}

/// The name of an event: when it was appended by the server's clock, and its number in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventId {
    /// Unix milliseconds; never less than that of the event before.
    pub millis: u64,
    /// Counts from 1.
    pub number: u64,
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.millis, self.number)
    }
}

/// A text that is no id of an event.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not the id of an event, such as 1731745800000-42")]
pub struct NotAnId(String);

impl FromStr for EventId {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        let number = |text: &str| text.parse().ok().filter(|_| text.bytes().all(|b| b.is_ascii_digit()));
        let parts = text.split_once('-').and_then(|(millis, count)| Some((number(millis)?, number(count)?)));
        parts.map(|(millis, number)| Self { millis, number }).ok_or_else(|| NotAnId(text.to_owned()))
    }
}

/// Where a reader stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    /// Before the first event that there ever was.
    Beginning,
    /// Behind this event.
    After(EventId),
}

impl Position {
    fn number(self) -> u64 {
        match self {
            Self::Beginning => 0,
            Self::After(id) => id.number,
        }
    }

    fn id(self) -> String {
        match self {
            Self::Beginning => "0-0".to_owned(),
            Self::After(id) => id.to_string(),
        }
    }
}

/// An event.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event {
    /// Its name.
    pub id: EventId,
    /// What it says.
    pub fields: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Event {
    /// The value of a field, if it is text.
    #[must_use]
    pub fn text(&self, field: &str) -> Option<&str> {
        let found = self.fields.iter().find(|(name, _)| name == field.as_bytes());
        found.and_then(|(_, value)| std::str::from_utf8(value).ok())
    }

    /// One event for each word of a field, in order. The last has the entry's number, the others those right before it.
    fn apart(self, field: &str) -> impl Iterator<Item = Self> {
        let words: Vec<String> = match self.text(field) {
            Some(text) if text.contains(' ') => text.split(' ').map(str::to_owned).collect(),
            _ => Vec::new(),
        };
        let count = words.len() as u64;
        let field = field.as_bytes().to_vec();
        let whole = words.is_empty().then(|| self.clone());
        let parts = words.into_iter().zip(0..).map(move |(word, place)| {
            let number = (self.id.number + 1 + place).saturating_sub(count);
            let mut fields = self.fields.clone();
            if let Some((_, value)) = fields.iter_mut().find(|(name, _)| *name == field) {
                *value = word.into_bytes();
            }
            Self { id: EventId { number, ..self.id }, fields }
        });
        whole.into_iter().chain(parts)
    }
}

/// What a reader did not see, right before an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gap {
    /// So many events are gone for good.
    Missed(u64),
    /// The log began anew: what was before it cannot be told.
    Restarted,
}

/// What was read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Batch {
    /// The events, in order.
    pub events: Vec<Event>,
    /// What is missing before some of them: its place among the events, and what.
    pub gaps: Vec<(usize, Gap)>,
    /// Where to go on.
    pub next: Position,
}

impl Batch {
    fn new(from: Position, entries: Vec<Entry>, shared: Option<&str>) -> Self {
        let mut batch = Self { events: Vec::with_capacity(entries.len()), gaps: Vec::new(), next: from };
        for (id, fields) in entries {
            // Redis gives no other ids.
            let Ok(id) = id.parse::<EventId>() else { continue };
            let seen = batch.next.number();
            let event = Event { id, fields };
            match shared {
                None => batch.push(event),
                // A reader may have stopped in the middle of an entry.
                Some(field) => event
                    .apart(field)
                    .filter(|event| id.number <= seen || event.id.number > seen)
                    .for_each(|event| batch.push(event)),
            }
        }
        batch
    }

    /// What a log begins with that is not the one that was read before.
    fn anew(entries: Vec<Entry>, shared: Option<&str>) -> Self {
        let mut batch = Self::new(Position::Beginning, entries, shared);
        if !batch.events.is_empty() {
            // How many are gone of a log that nobody has seen is nothing to anybody.
            batch.gaps.retain(|(place, _)| *place > 0);
            batch.gaps.insert(0, (0, Gap::Restarted));
        }
        batch
    }

    fn push(&mut self, event: Event) {
        let gap = match event.id.number.checked_sub(self.next.number()) {
            Some(1) => None,
            Some(ahead @ 2..) => Some(Gap::Missed(ahead - 1)),
            Some(0) | None => Some(Gap::Restarted),
        };
        self.gaps.extend(gap.map(|gap| (self.events.len(), gap)));
        self.next = Position::After(event.id);
        self.events.push(event);
    }
}

counters! {
    /// What a log counts.
    Counters {
        /// Events appended here.
        appended,
        /// Events read here.
        read,
        /// Gaps that readers here were told of.
        gaps,
    }
}

/// A log of events.
#[derive(Debug)]
pub struct Events {
    handle: Handle,
    log: Key<Stream>,
    shared: Option<&'static str>,
    counters: Counters,
}

impl Events {
    /// The log in that stream.
    #[must_use]
    pub fn new(handle: &Handle, log: Key<Stream>) -> Self {
        Self { handle: handle.clone(), log, shared: None, counters: Counters::default() }
    }

    /// An entry stands for as many events as this field has words, and its number is that of the last of them.
    #[must_use]
    pub fn sharing(self, field: &'static str) -> Self {
        Self { shared: Some(field), ..self }
    }

    /// Appends an event: its id. At most 500 fields.
    pub async fn append<F: AsRef<[u8]>, V: AsRef<[u8]>>(
        &self,
        fields: &[(F, V)],
    ) -> Result<EventId, AppendError> {
        if fields.is_empty() || fields.len() > 499 {
            return Err(AppendError::Fields(fields.len()));
        }
        let told: String = self
            .handle
            .call(scripts::Append {
                log: &self.log,
                millis: millis(&self.handle, self.log.info()).into(),
                most: most_members(&self.handle, self.log.info()).into(),
                fields: fields
                    .iter()
                    .flat_map(|(f, v)| [Arg::from(f.as_ref()), Arg::from(v.as_ref())])
                    .collect(),
            })
            .await?;
        self.counters.appended.one();
        Ok(told.parse()?)
    }

    /// The next events behind a position: those of at most so many entries.
    pub async fn read(&self, from: Position, most: u64) -> Result<Batch, Error> {
        let entries = self.behind(from, most).await?;
        if entries.is_empty() && self.ends_before(from).await? {
            return Ok(self.counted(Batch::anew(self.first(most).await?, self.shared)));
        }
        Ok(self.counted(Batch::new(from, entries, self.shared)))
    }

    async fn behind(&self, position: Position, most: u64) -> Result<Vec<Entry>, Error> {
        let after = format!("({}", position.id());
        self.handle.run(self.log.xrange_first(&after, "+", most)).await
    }

    async fn first(&self, most: u64) -> Result<Vec<Entry>, Error> {
        self.handle.run(self.log.xrange_first("-", "+", most)).await
    }

    /// Whether the log has events, and none as new as that: it is another log.
    async fn ends_before(&self, position: Position) -> Result<bool, Error> {
        Ok(match (position, self.end().await?) {
            (Position::After(seen), Position::After(newest)) => newest < seen,
            _ => false,
        })
    }

    /// The entry of that id, if it is there.
    async fn entry(&self, id: &str) -> Result<Option<Entry>, Error> {
        Ok(self.handle.run(self.log.xrange_first(id, id, 1)).await?.pop())
    }

    /// Where the log ends now: for readers to whom only what comes next matters.
    pub async fn end(&self) -> Result<Position, Error> {
        let newest = self.handle.run(self.log.xrevrange_first("+", "-", 1)).await?;
        let id = newest.first().and_then(|(id, _)| id.parse().ok());
        Ok(id.map_or(Position::Beginning, Position::After))
    }

    /// A reader that waits for what comes next.
    #[must_use]
    pub fn tail(&self, from: Position) -> Tail<'_> {
        Tail::new(self, from)
    }

    /// The counters.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    fn counted(&self, batch: Batch) -> Batch {
        self.counters.read.many(batch.events.len() as u64);
        self.counters.gaps.many(batch.gaps.len() as u64);
        batch
    }
}

/// Why an event was not appended.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum AppendError {
    /// An event has between one and 499 fields.
    #[error("an event has between 1 and 499 fields, this one has {0}")]
    Fields(usize),
    /// The stream holds what this primitive did not write.
    #[error(transparent)]
    Id(#[from] NotAnId),
    /// The store failed. It may have been appended: see the error.
    #[error(transparent)]
    Store(#[from] Error),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(number: u64, words: &str) -> Entry {
        let field = |name: &str, value: &str| (name.as_bytes().to_vec(), value.as_bytes().to_vec());
        (format!("0-{number}"), vec![field("kind", "new"), field("who", words)])
    }

    type Told = Vec<(u64, String)>;

    /// The log of these entries, read from behind an event on: what is told, what is missing, where to go on.
    fn read(after: u64, entries: &[Entry]) -> (Told, Vec<(usize, Gap)>, u64) {
        let from = match after {
            0 => Position::Beginning,
            number => Position::After(EventId { millis: 0, number }),
        };
        let batch = Batch::new(from, entries.to_vec(), Some("who"));
        assert!(batch.events.iter().all(|event| event.text("kind") == Some("new")));
        let told = |event: &Event| (event.id.number, event.text("who").unwrap().to_owned());
        (batch.events.iter().map(told).collect(), batch.gaps, batch.next.number())
    }

    fn names(from: u64, names: &[&str]) -> Told {
        (from..).zip(names.iter().map(|name| (*name).to_owned())).collect()
    }

    #[test]
    fn events_that_share_an_entry_have_numbers_of_their_own() {
        let log = [entry(1, "ann"), entry(4, "bob cid dan"), entry(5, "eve")];
        assert_eq!(read(0, &log), (names(1, &["ann", "bob", "cid", "dan", "eve"]), vec![], 5));
    }

    #[test]
    fn a_reader_goes_on_in_the_middle_of_an_entry() {
        let rest = [entry(4, "bob cid dan"), entry(5, "eve")];
        assert_eq!(read(1, &rest), (names(2, &["bob", "cid", "dan", "eve"]), vec![], 5));
        assert_eq!(read(2, &rest), (names(3, &["cid", "dan", "eve"]), vec![], 5));
        assert_eq!(read(3, &rest), (names(4, &["dan", "eve"]), vec![], 5));
        assert_eq!(read(4, &rest[1..]), (names(5, &["eve"]), vec![], 5));
    }

    #[test]
    fn what_is_missing_is_counted_by_events() {
        let log = [entry(9, "bob cid dan"), entry(11, "eve")];
        let told = [names(7, &["bob", "cid", "dan"]), names(11, &["eve"])].concat();
        assert_eq!(read(2, &log), (told, vec![(0, Gap::Missed(4)), (3, Gap::Missed(1))], 11));
        // Numbers that a reader has seen already are those of another log.
        let (told, gaps, next) = read(20, &[entry(3, "bob cid dan")]);
        assert_eq!((told.len(), gaps, next), (3, vec![(0, Gap::Restarted)], 3));
    }
}
