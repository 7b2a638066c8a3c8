//! The log: what changed, kept in a file.
//!
//! What it promises:
//!
//! - a reader takes whole steps only, in their order, from the first on. A file that ends within a step is cut back to the
//!   step before; a file with a change anywhere else is refused with the place, and nothing of it is used;
//! - the file is what a redis-server calls an append-only file: it loads ours to the same data. What we add to tell a
//!   torn end from a changed middle stands in comments, which it skips.
//!
//! ```text
//! #keyplane log 1
//! #kp LENGTH CHECKSUM CHECK        of the step that follows: its bytes, its checksum with all before it, and its own
//! *3 $3 SET …                      one command, or several inside MULTI and EXEC
//! #kp …
//! ```

mod frame;
mod picture;
mod reader;

pub use frame::Chain;
pub use reader::{Loaded, LogError, load};

pub(crate) use picture::{Picture, write_down};
pub(crate) use reader::commands;
