//! A reader that waits.

use std::time::Duration;

use keyplane_store::{Dedicated, Error};

use super::{Batch, Events, Position};

/// Waits for events on a connection of its own. Where it stands is never lost: after an error the next call goes on from
/// the same place, on whatever server has the log by then.
#[derive(Debug)]
pub struct Tail<'e> {
    events: &'e Events,
    position: Position,
    connection: Option<Dedicated>,
}

impl<'e> Tail<'e> {
    pub(super) fn new(events: &'e Events, position: Position) -> Self {
        Self { events, position, connection: None }
    }

    /// The next events, those of at most so many entries; waits up to that long for the first. Empty when none came.
    pub async fn next(&mut self, most: u64, longest: Duration) -> Result<Batch, Error> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.events.handle.dedicated(&self.events.log).await?,
        };
        let command = self.events.log.xread(&self.position.id(), most, longest);
        let read = connection.run(command.reading::<Option<_>>()).await;
        self.connection = Some(connection);
        let streams: Vec<(Vec<u8>, Vec<_>)> = read?.unwrap_or_default();
        let entries = streams.into_iter().flat_map(|(_, entries)| entries).collect();
        let batch = self.events.told(self.position, entries);
        self.position = batch.next;
        Ok(batch)
    }

    /// Where it stands.
    #[must_use]
    pub fn position(&self) -> Position {
        self.position
    }
}
