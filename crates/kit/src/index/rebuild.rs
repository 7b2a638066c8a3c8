//! Building an index anew from its records.

use keyplane_key::{Hash, Key};
use keyplane_store::Error;

use super::outbox::{numbers, outbox_of};
use super::{DrainError, Index, scripts};

/// How far a record's outbox had come before the record was read.
#[derive(Debug, Clone)]
pub struct Mark {
    source: String,
    millis: u64,
    number: u64,
}

/// A rebuild under way. Readers see nothing until it is finished, and notes wait.
#[derive(Debug)]
#[must_use = "readers see nothing until the rebuild is finished"]
pub struct Rebuild<'i> {
    index: &'i Index,
    token: String,
}

impl Index {
    /// Empties the index and begins to build it anew. One that was under way elsewhere is overtaken, and told so.
    pub async fn rebuild(&self) -> Result<Rebuild<'_>, Error> {
        let token = self.tokens.draw();
        let call = scripts::Begin {
            feed: &self.feed,
            zsets: self.target.zsets(),
            sets: self.target.sets(),
            token: token.as_str().into(),
            millis: self.millis.into(),
        };
        self.handle.call::<()>(call).await?;
        Ok(Rebuild { index: self, token })
    }

    /// Notes how far a record's changes are known. To be taken **before** the record is read.
    pub async fn mark(&self, record: &Key<Hash>) -> Result<Mark, DrainError> {
        let outbox = outbox_of(record)?;
        let newest = self.handle.run(outbox.xrevrange_first("+", "-", 1)).await?;
        let (millis, number) = newest.first().and_then(|(id, _)| numbers(id)).unwrap_or((0, 0));
        Ok(Mark { source: record.as_str().to_owned(), millis, number })
    }

    /// Puts the member of a record that was read after the mark where it belongs, unless a later change was applied. Whether
    /// the index is there.
    pub async fn restore(&self, mark: &Mark, member: &[u8], score: f64) -> Result<bool, Error> {
        self.admit("", mark, member, score).await
    }

    async fn admit(&self, token: &str, mark: &Mark, member: &[u8], score: f64) -> Result<bool, Error> {
        let call = scripts::Admit {
            feed: &self.feed,
            zsets: self.target.zsets(),
            sets: self.target.sets(),
            kind: self.target.word().into(),
            token: token.into(),
            source: mark.source.as_str().into(),
            millis: self.millis.into(),
            ms: mark.millis.into(),
            number: mark.number.into(),
            score: score.into(),
            member: member.into(),
        };
        self.handle.call(call).await
    }
}

impl Rebuild<'_> {
    /// Puts in a record's member, as it was read after the mark. `false`: another rebuild has begun; leave it to that one.
    pub async fn admit(&self, mark: &Mark, member: &[u8], score: f64) -> Result<bool, Error> {
        self.index.admit(&self.token, mark, member, score).await
    }

    /// Shows the index to readers. `false`: another rebuild has begun.
    pub async fn finish(self) -> Result<bool, Error> {
        let index = self.index;
        let call = scripts::Finish {
            feed: &index.feed,
            zsets: index.target.zsets(),
            sets: index.target.sets(),
            token: self.token.as_str().into(),
            millis: index.millis.into(),
        };
        let finished = index.handle.call(call).await?;
        if finished {
            index.counters.rebuilt.one();
        }
        Ok(finished)
    }
}
