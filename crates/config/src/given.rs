//! A value with the place it comes from, and which of two wins.

use std::fmt;

use keyplane_schema::Span;

use crate::definition::Setting;
use crate::section::Section;
use crate::value::Value;

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Source {
    /// Nobody said anything.
    Default,
    /// A line of the file.
    File {
        /// The file, as it was named.
        name: String,
        /// The line, from 1.
        line: usize,
    },
    /// An environment variable.
    Variable(String),
    /// A flag of the command line.
    Flag(String),
}

/// `default`, `keyplane.toml:12`, `KEYPLANE_URL` or `--url`.
impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { name, line } => write!(f, "{name}:{line}"),
            Self::Variable(name) | Self::Flag(name) => f.write_str(name),
        }
    }
}

/// How strongly a value was said; later is stronger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    Default,
    /// Variables that other programs share, such as `REDIS_HOST`: they count when nobody else speaks.
    Fallback,
    File,
    Environment,
    Flag,
}

/// A setting that was given a value.
#[derive(Clone)]
pub(crate) struct Given {
    pub(crate) setting: &'static Setting,
    pub(crate) section: Section,
    pub(crate) value: Value,
    pub(crate) level: Level,
    pub(crate) source: Source,
    /// The name that was used, for messages: `max_connections`, `KEYPLANE_POOL_SIZE`, `--url`.
    pub(crate) word: String,
    /// The place of the name in the file.
    pub(crate) at: Option<Span>,
}

impl Given {
    /// First how it was said, then whether for this system or for all: a variable beats any line of the file.
    pub(crate) fn rank(&self) -> (Level, bool) {
        (self.level, self.section != Section::Store)
    }

    pub(crate) fn speaks_for(&self, section: Section) -> bool {
        self.section == section || (self.section == Section::Store && self.setting.stands_in(section))
    }
}
