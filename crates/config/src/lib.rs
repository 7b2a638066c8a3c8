//! Settings of Keyplane: flag, environment, `keyplane.toml` or default, each with its source.
//!
//! ```
//! use keyplane_config::{Flag, Section, Sources, read};
//!
//! let sources = Sources::default()
//!     .file("keyplane.toml", "[store]\nurl = \"redis://a\"\n[market]\npool_size = 40\n")
//!     .variable("KEYPLANE_USER", "watcher")
//!     .flag(Flag::new("--url", Section::Store, "url", "redis://b"));
//!
//! let config = read(&sources)?;
//! let market = config.section(Section::Market).store()?;
//! assert_eq!(market.url.unwrap().as_str(), "redis://b");
//! assert_eq!((market.pool_size, market.user.as_deref()), (40, Some("watcher")));
//! assert_eq!(config.section(Section::Market).source("pool_size").to_string(), "keyplane.toml:4");
//! # Ok::<(), keyplane_config::Error>(())
//! ```
//!
//! What it promises:
//!
//! - flag > environment > file > default; at the same height, what is said for one system beats what is said for all;
//! - every value knows where it comes from;
//! - what nobody knows, what is out of range and what is said twice is refused, all of it at once, with file, line,
//!   column and the closest known name, or with the name of the variable or flag;
//! - no secret is printed: not by `Debug` or `Display`, not in rows, not in errors, not in the source lines of errors;
//! - every setting is defined once ([`markdown`] and [`Config::rows`] follow from the same table as the reading).
//!
//! It does not connect, and it does not know which start-up findings there are to accept: the store does.

mod config;
mod credentials;
mod definition;
mod environment;
mod error;
mod file;
mod flags;
mod given;
mod load;
mod mask;
mod parts;
mod read;
mod reference;
mod rows;
mod secret;
mod section;
mod store;
mod table;
mod unknown;
mod url;
mod value;

pub use config::{Config, Settings};
pub use error::{Error, Fault};
pub use flags::Flag;
pub use given::Source;
pub use keyplane_url::Secret;
pub use load::{load, load_from};
pub use read::{Sources, read};
pub use reference::markdown;
pub use rows::Row;
pub use section::Section;
pub use store::{DocketSettings, HashTags, MempoolSettings, StoreSettings, SwarmSettings};
pub use url::StoreUrl;
