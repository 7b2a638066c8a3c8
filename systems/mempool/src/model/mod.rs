//! The rules of the mempool: what a transaction is, which stages it goes through, and what a block changes. Deterministic;
//! no store, no clock, no network.
//!
//! A step of the watcher is planned here and carried out by one script. A plan is a list of [`Move`]s, each of which
//! states what it expects to find, so that a plan that is no longer true is refused as a whole.

mod chain;
mod entry;
mod hash;
mod mark;
mod plan;
mod record;
mod stage;
mod status;
mod trim;
mod tx;
mod window;

pub use chain::{Block, ChainEvent, NotCountable, Point};
pub(crate) use entry::tail as entry_tail;
pub use entry::{Entry, Known, NotAnEntry};
pub use hash::{BlockHash, NotAHash, TxHash};
pub use mark::{Detail, Mark};
pub use plan::{
    Applied, Change, Due, Move, Reason, Thresholds, Undone, expire, include, retry, settle, undo,
};
pub use record::{FinalizedEntry, InflightRecord, Payload, RecordError};
pub use stage::Stage;
pub use status::Status;
pub(crate) use trim::{Trim, replaced, trim};
pub use tx::{Input, Tx, TxError};
pub use window::{Catch, Window};
