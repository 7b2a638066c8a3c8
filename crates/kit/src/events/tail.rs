//! A reader that waits.

use std::time::Duration;

use keyplane_store::{Dedicated, Error};
use tokio::time::{Instant, sleep};

use super::{Batch, Entry, Events, Position};

/// How often a reader without a connection of its own looks for something new.
const LOOK: Duration = Duration::from_millis(100);

/// Waits for events: on a connection of its own while the pool has plenty, and else by looking ten times a second, so that any
/// number of readers leave connections to those that cannot do without. Where it stands is never lost: after an error the next call goes on from
/// the same place, on whatever server has the log by then.
#[derive(Debug)]
pub struct Tail<'e> {
    events: &'e Events,
    position: Position,
    /// The last entry that came: a log that has another in its place is another log.
    last: Option<Entry>,
    connection: Option<Dedicated>,
}

impl<'e> Tail<'e> {
    pub(super) fn new(events: &'e Events, position: Position) -> Self {
        Self { events, position, last: None, connection: None }
    }

    /// The next events, those of at most so many entries; waits up to that long for the first. Empty when none came.
    pub async fn next(&mut self, most: u64, longest: Duration) -> Result<Batch, Error> {
        if self.is_another_log().await? {
            return self.begin_anew(most).await;
        }
        if self.connection.is_none() {
            self.connection = self.events.handle.spare(&self.events.log).await?;
        }
        let entries = match self.connection.take() {
            Some(mut connection) => {
                let command = self.events.log.xread(&self.position.id(), most, longest);
                let read = connection.run(command.reading::<Option<_>>()).await;
                self.connection = Some(connection);
                let streams: Vec<(Vec<u8>, Vec<Entry>)> = read?.unwrap_or_default();
                streams.into_iter().flat_map(|(_, entries)| entries).collect()
            }
            None => self.look_for(most, longest).await?,
        };
        // While it waited, too.
        if !entries.is_empty() && self.is_another_log().await? {
            return self.begin_anew(most).await;
        }
        self.last = entries.last().cloned().or(self.last.take());
        let batch = self.events.counted(Batch::new(self.position, entries, self.events.shared));
        self.position = batch.next;
        Ok(batch)
    }

    async fn look_for(&self, most: u64, longest: Duration) -> Result<Vec<Entry>, Error> {
        let end = Instant::now() + longest;
        loop {
            let entries = self.events.behind(self.position, most).await?;
            let left = end.saturating_duration_since(Instant::now());
            if !entries.is_empty() || left.is_zero() {
                return Ok(entries);
            }
            sleep(left.min(LOOK)).await;
        }
    }

    async fn is_another_log(&self) -> Result<bool, Error> {
        if let Some(last) = &self.last
            && let Some(found) = self.events.entry(&last.0).await?
        {
            return Ok(found != *last);
        }
        self.events.ends_before(self.position).await
    }

    async fn begin_anew(&mut self, most: u64) -> Result<Batch, Error> {
        let entries = self.events.first(most).await?;
        self.last = entries.last().cloned();
        let batch = self.events.counted(Batch::anew(entries, self.events.shared));
        self.position = batch.next;
        Ok(batch)
    }

    /// Where it stands.
    #[must_use]
    pub fn position(&self) -> Position {
        self.position
    }
}
