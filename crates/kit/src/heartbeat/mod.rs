//! Who is alive, by what they last said of themselves.
//!
//! # What it promises
//! - **A beat is one step**: the fields, the time by the server's clock in the contract's format, and the TTL.
//! - **Health is judged by the record's own time against the server's clock**, not by the TTL, which a foreign writer may have
//!   left out, nor by the clock of whoever looks.
//! - **What cannot be read is never alive**: a record without a time, or with one in another format, is
//!   [`Stale`](Health::Stale) with the [`Reason`].
//! - A record from the future, by a foreign writer whose clock is ahead, is alive with age zero.
//!
//! # What it does not
//! - Alive means that somebody beat lately, not that work gets done: put what tells of that into the fields.
//! - An age is as exact as the format: in `unix_s` and `rfc3339` it may be up to a second too old.
//! - After its TTL a record is gone: [`Absent`](Health::Absent) is also who never was.
//! - [`look_all`](Heartbeat::look_all) looks at each record by itself, not at all of them at one moment.
//!
//! ```no_run
//! # mod pool { keyplane_macros::keyspace!("tests/pool.toml"); }
//! # async fn example(handle: keyplane_store::Handle) -> Result<(), Box<dyn std::error::Error>> {
//! use std::time::Duration;
//! use keyplane_kit::heartbeat::{Health, Heartbeat};
//!
//! let keys = pool::Keyspace::default();
//! let worker = keys.worker(&pool::PoolId::new("east")?, &pool::MachineId::new("m1")?);
//! let hearts = Heartbeat::new(&handle, worker.info(), "seen", Duration::from_secs(15))?;
//! hearts.beat(&worker, [("state", "busy")]).await?;
//! if let Health::Alive { age, fields } = hearts.look(&worker).await? {
//!     println!("{:?}, {age:?} ago", fields.text("state"));
//! }
//! # Ok(()) }
//! ```

mod health;
mod time;

use std::sync::Arc;
use std::time::Duration;

use keyplane_key::{Arg, Call, Hash, Key, KeyInfo};
use keyplane_schema::{Contract, Policy, ValueType};
use keyplane_store::{Error, Handle, Reply, UnexpectedReply, read_reply};

use crate::counters::counters;
use crate::error::{SetupError, known, ttl};
use time::Format;

pub use health::{Fields, Health, Reason};

pub(crate) mod scripts {
    #![allow(missing_docs, unreachable_pub)]
    keyplane_macros::kit_scripts!("heartbeat", "src/heartbeat/parts.toml", "src/heartbeat");
}

const KIT: &str = "heartbeat";

/// So many records are looked at in one round trip: enough to make it cheap, too few to hold up a server.
const TOGETHER: usize = 100;

/// Why a beat was not written, or a record not read.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum HeartbeatError {
    /// The key is not of the family that this heartbeat was made for. Mend the program; nothing was changed.
    #[error("`{key}` was given to the heartbeat of `{of}`")]
    OtherKey {
        /// The name of the key given.
        key: &'static str,
        /// The name of the key expected.
        of: &'static str,
    },
    /// The record would have more fields than the contract allows. Nothing was written.
    #[error("not written: the record would have more than {most} fields")]
    TooManyFields {
        /// The contract's `max.fields`.
        most: u64,
    },
    /// The server answered something else.
    #[error(transparent)]
    Reply(#[from] UnexpectedReply),
    /// The store failed. A beat may have been written; beating again is safe.
    #[error(transparent)]
    Store(#[from] Error),
}

counters! {
    /// What a heartbeat counts.
    Counters {
        /// Beats written here.
        beats,
        /// Records looked at that were alive.
        alive,
        /// Records looked at that were stale.
        stale,
        /// Records looked for that were not there.
        absent,
    }
}

/// Records of one family. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Heartbeat(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    handle: Handle,
    info: &'static KeyInfo,
    field: &'static str,
    format: Format,
    stale_after: Duration,
    /// 0: as many as there are.
    most: u64,
    counters: Counters,
}

impl Heartbeat {
    /// Heartbeats in keys of this family, with the time in `field`. The contract makes the family `sliding`, and the field a
    /// `time` that names a moment: unix or RFC 3339.
    pub fn new(
        handle: &Handle,
        info: &'static KeyInfo,
        field: &'static str,
        stale_after: Duration,
    ) -> Result<Self, SetupError> {
        let said = known(handle, info)?;
        if !matches!(said.ttl.policy, Policy::Sliding(_) | Policy::Refreshed(_)) {
            return Err(ttl(info, KIT, &said.ttl.policy, "to end some time after the last beat: `sliding`"));
        }
        let format = format_of(handle.contract(), said, field).ok_or_else(|| SetupError::Field {
            key: info.name,
            kit: KIT,
            field: field.to_owned(),
            needs: "a `time` there, as `unix_s`, `unix_ms`, `unix_us`, `rfc3339` or `rfc3339ms`",
        })?;
        let most = said.limits(handle.contract()).fields.unwrap_or(0);
        let (handle, counters) = (handle.clone(), Counters::default());
        Ok(Self(Arc::new(Inner { handle, info, field, format, stale_after, most, counters })))
    }

    /// Writes the fields and the server's time, and makes the record last. Other fields stay as they are; the time's own is the
    /// server's whatever is given for it.
    pub async fn beat<'f>(
        &self,
        key: &Key<Hash>,
        fields: impl IntoIterator<Item = (&'f str, impl Into<Arg<'f>>)>,
    ) -> Result<(), HeartbeatError> {
        self.check(key)?;
        let Inner { handle, field, format, most, counters, .. } = &*self.0;
        let call = scripts::Beat {
            record: key,
            field: (*field).into(),
            format: format.word().into(),
            most: (*most).into(),
            said: fields.into_iter().flat_map(|(name, value)| [name.into(), value.into()]).collect(),
        };
        let written: Option<String> = handle.call(call).await?;
        written.ok_or(HeartbeatError::TooManyFields { most: *most })?;
        counters.beats.one();
        Ok(())
    }

    /// How somebody is.
    pub async fn look(&self, key: &Key<Hash>) -> Result<Health, HeartbeatError> {
        self.check(key)?;
        let reply: Reply = self.0.handle.call(scripts::Look { record: key }).await?;
        self.judge(reply)
    }

    /// How several are, in their order, a hundred in each round trip. On a cluster a server that fails fails its own only.
    pub async fn look_all(&self, keys: &[Key<Hash>]) -> Vec<Result<Health, HeartbeatError>> {
        let mut all = Vec::with_capacity(keys.len());
        for keys in keys.chunks(TOGETHER) {
            let pipeline = keys.iter().fold(self.0.handle.pipeline(), |pipeline, key| {
                pipeline.call(Call::<Reply>::from(scripts::Look { record: key }))
            });
            let replies = pipeline.send().await;
            let judged = keys.iter().zip(replies).map(|(key, reply)| {
                self.check(key)?;
                self.judge(reply?)
            });
            all.extend(judged);
        }
        all
    }

    /// The age at which a record is stale.
    #[must_use]
    pub fn stale_after(&self) -> Duration {
        self.0.stale_after
    }

    /// The counters.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.0.counters
    }

    fn check(&self, key: &Key<Hash>) -> Result<(), HeartbeatError> {
        let (given, own) = (key.info(), self.0.info);
        match (given.contract, given.name) == (own.contract, own.name) {
            true => Ok(()),
            false => Err(HeartbeatError::OtherKey { key: given.name, of: own.name }),
        }
    }

    fn judge(&self, reply: Reply) -> Result<Health, HeartbeatError> {
        let Inner { field, format, stale_after, counters, .. } = &*self.0;
        let (now, fields): (i64, Fields) = read_reply(reply)?;
        let health = Health::judge(now, fields, field, *format, *stale_after);
        match &health {
            Health::Alive { .. } => counters.alive.one(),
            Health::Stale { .. } => counters.stale.one(),
            Health::Absent => counters.absent.one(),
        }
        Ok(health)
    }
}

/// How the contract writes the time in a field, which may be that of the key whose fields this one has.
fn format_of(contract: &Contract, key: &keyplane_schema::Key, field: &str) -> Option<Format> {
    let other = key.fields_of.as_deref().and_then(|name| contract.key(name));
    let mut fields = key.fields.iter().chain(other.into_iter().flat_map(|key| &key.fields));
    match fields.find(|known| known.name.as_str() == field)?.kind {
        ValueType::Time(format) => Format::of(format),
        _ => None,
    }
}
