//! What a setting is. The settings themselves are in [`crate::table`].

use std::fmt;
use std::time::Duration;

use keyplane_schema::show_duration;

use crate::section::Section;

/// One setting: reading, `config show` and the reference page follow from this.
pub(crate) struct Setting {
    pub(crate) name: &'static str,
    pub(crate) place: Place,
    pub(crate) kind: Kind,
    /// Written as an environment variable would be; `None` is "not set".
    pub(crate) default: Option<&'static str>,
    /// Sections with a default of their own.
    pub(crate) own_defaults: &'static [(Section, &'static str)],
    pub(crate) older: &'static [Older],
    pub(crate) doc: &'static str,
}

/// Where a setting may stand.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// In `[store]` for all, and in any system that says otherwise.
    Everywhere,
    /// In each system, never for all at once.
    EachSystem,
    /// In one section.
    Only(Section),
}

/// A name from a system's first description, still accepted.
pub(crate) struct Older {
    pub(crate) section: Section,
    pub(crate) name: &'static str,
    pub(crate) via: Via,
    pub(crate) meaning: Meaning,
}

/// Where an older name stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Via {
    File,
    Environment,
}

/// How the value under an older name is meant.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// As under the name of today.
    Same,
    /// A number of seconds, maybe with a fraction.
    Seconds,
    /// A number of hours.
    Hours,
    /// True: the default interval; false: off.
    Switch,
    /// A part of the url.
    Part(Part),
}

/// What older descriptions give instead of a url.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Host,
    Port,
    Db,
    Tls,
    Password,
}

/// A word that is accepted and changes nothing.
pub(crate) struct Inert {
    pub(crate) section: Section,
    pub(crate) name: &'static str,
    /// What it must look like; `None` takes anything.
    pub(crate) kind: Option<Kind>,
    /// What to do when it does not.
    pub(crate) help: Option<&'static str>,
    pub(crate) doc: &'static str,
}

/// What a value looks like.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Text,
    Host,
    Url,
    Namespace,
    Path,
    Secret,
    Flag,
    Words,
    Choice(&'static [&'static str]),
    Count {
        least: u64,
        most: u64,
    },
    Duration {
        least: Duration,
        most: Duration,
        /// Whether `off` is a value.
        off: bool,
        /// Whether a number without a unit counts seconds, as it did in the first description.
        bare: bool,
    },
}

impl Setting {
    /// Whether the setting may stand in that section.
    pub(crate) fn stands_in(&self, section: Section) -> bool {
        match self.place {
            Place::Everywhere => true,
            Place::EachSystem => section != Section::Store,
            Place::Only(only) => section == only,
        }
    }

    /// The sections in whose part of the reference the setting is told.
    pub(crate) fn is_told_in(&self, section: Section) -> bool {
        match self.place {
            Place::Everywhere => section == Section::Store,
            _ => self.stands_in(section),
        }
    }

    /// The variable that sets it.
    pub(crate) fn variable(&self, section: Section) -> String {
        section.variable_prefix() + &self.name.to_ascii_uppercase()
    }

    /// The default for that section alone: `[store]` has the general one.
    pub(crate) fn default_in(&self, section: Section) -> Option<&'static str> {
        let own = self.own_defaults.iter().find(|(of, _)| *of == section).map(|(_, text)| *text);
        own.or_else(|| self.default.filter(|_| self.is_told_in(section)))
    }
}

impl Part {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Port => "port",
            Self::Db => "db",
            Self::Tls => "ssl",
            Self::Password => "password",
        }
    }

    pub(crate) fn kind(self) -> Kind {
        match self {
            Self::Host => Kind::Host,
            Self::Port => Kind::Count { least: 1, most: 65_535 },
            // Redis takes any number of databases; its own limit is that of a C int.
            Self::Db => Kind::Count { least: 0, most: 2_147_483_647 },
            Self::Tls => Kind::Flag,
            Self::Password => Kind::Secret,
        }
    }
}

impl Kind {
    /// Whether an error may repeat the value.
    pub(crate) fn is_open(&self) -> bool {
        !matches!(self, Self::Url | Self::Secret | Self::Host)
    }
}

/// What the setting takes, in the words of an error.
impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text | Self::Secret => f.write_str("a text"),
            Self::Host => f.write_str("the name or address of a host"),
            Self::Url => f.write_str("a url such as \"redis://127.0.0.1:6379\""),
            Self::Namespace => f.write_str("a text such as \"prod:eu\""),
            Self::Path => f.write_str("the path of a file"),
            Self::Flag => f.write_str("true or false"),
            Self::Words => f.write_str("a list of words"),
            Self::Choice(words) => f.write_str(&one_of(words)),
            Self::Count { .. } => f.write_str("a whole number"),
            Self::Duration { off: false, .. } => f.write_str("a duration such as \"500ms\" or \"2h\""),
            Self::Duration { off: true, .. } => f.write_str("a duration such as \"30s\", or \"off\""),
        }
    }
}

impl Kind {
    /// Which values are allowed, where that is not all of them.
    pub(crate) fn range(&self) -> Option<String> {
        match self {
            Self::Count { least, most } => Some(format!("{least}..={most}")),
            Self::Duration { least, most, off, .. } => {
                let off = if *off { ", or off" } else { "" };
                Some(format!("{}..={}{off}", show_duration(*least), show_duration(*most)))
            }
            Self::Choice(words) => Some(one_of(words)),
            _ => None,
        }
    }
}

/// `a, b or c`.
pub(crate) fn one_of(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [most @ .., last] => format!("{} or {last}", most.join(", ")),
    }
}
