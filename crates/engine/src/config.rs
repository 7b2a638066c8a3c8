//! The settings that CONFIG shows, and the few that it can change.

use crate::notify::Wanted;

#[derive(Debug, Clone)]
pub(crate) struct Config {
    pub(crate) notify: Wanted,
    pub(crate) password: Option<Vec<u8>>,
    /// Microseconds from which a command is slow; below zero none is.
    pub(crate) slow_from: i64,
    /// How many slow ones are kept.
    pub(crate) slow_kept: usize,
    /// Instructions of Lua after which a script is stopped.
    pub(crate) script_budget: u64,
    /// Where whoever runs the engine listens; only shown.
    pub(crate) port: u16,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            notify: Wanted::default(),
            password: None,
            slow_from: 10_000,
            slow_kept: 128,
            script_budget: 1 << 31,
            port: 0,
        }
    }
}

/// What a setting is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Setting {
    NotifyKeyspaceEvents,
    Requirepass,
    SlowlogLogSlowerThan,
    SlowlogMaxLen,
    Port,
    /// Whether effects are kept.
    Appendonly,
    /// It is always this.
    Fixed(&'static str),
}

/// Every setting by its name: those that change something, and those that client libraries and monitors ask for. The
/// fixed ones say what holds here, which is Redis's default.
pub(crate) const SETTINGS: &[(&str, Setting)] = &[
    ("notify-keyspace-events", Setting::NotifyKeyspaceEvents),
    ("requirepass", Setting::Requirepass),
    ("slowlog-log-slower-than", Setting::SlowlogLogSlowerThan),
    ("slowlog-max-len", Setting::SlowlogMaxLen),
    ("port", Setting::Port),
    ("appendonly", Setting::Appendonly),
    ("activedefrag", Setting::Fixed("no")),
    ("client-query-buffer-limit", Setting::Fixed("1073741824")),
    ("cluster-enabled", Setting::Fixed("no")),
    ("databases", Setting::Fixed("16")),
    ("hash-max-listpack-entries", Setting::Fixed("512")),
    ("hash-max-listpack-value", Setting::Fixed("64")),
    ("list-compress-depth", Setting::Fixed("0")),
    ("list-max-listpack-size", Setting::Fixed("-2")),
    ("maxmemory", Setting::Fixed("0")),
    ("maxmemory-policy", Setting::Fixed("noeviction")),
    ("proto-max-bulk-len", Setting::Fixed("536870912")),
    ("save", Setting::Fixed("")),
    ("set-max-intset-entries", Setting::Fixed("512")),
    ("timeout", Setting::Fixed("0")),
    ("zset-max-listpack-entries", Setting::Fixed("128")),
    ("zset-max-listpack-value", Setting::Fixed("64")),
];

/// A setting by its name, in any case.
pub(crate) fn setting(name: &[u8]) -> Option<&'static (&'static str, Setting)> {
    SETTINGS.iter().find(|(known, _)| name.eq_ignore_ascii_case(known.as_bytes()))
}

impl Config {
    /// What CONFIG GET shows.
    pub(crate) fn shown(&self, setting: Setting, keeps_effects: bool) -> Vec<u8> {
        match setting {
            Setting::NotifyKeyspaceEvents => self.notify.letters().into_bytes(),
            Setting::Requirepass => self.password.clone().unwrap_or_default(),
            Setting::SlowlogLogSlowerThan => self.slow_from.to_string().into_bytes(),
            Setting::SlowlogMaxLen => self.slow_kept.to_string().into_bytes(),
            Setting::Port => self.port.to_string().into_bytes(),
            Setting::Appendonly => if keeps_effects { "yes" } else { "no" }.into(),
            Setting::Fixed(value) => value.into(),
        }
    }

    /// What CONFIG SET does; the error is Redis's.
    pub(crate) fn set(&mut self, setting: Setting, value: &[u8]) -> Result<(), String> {
        match setting {
            Setting::NotifyKeyspaceEvents => {
                // A string of C ends at a zero byte.
                let letters = value.split(|byte| *byte == 0).next().unwrap_or_default();
                self.notify =
                    Wanted::parse(letters).ok_or("Invalid event class character. Use 'Ag$lshzxeKEtmdn'.")?;
            }
            Setting::Requirepass => self.password = Some(value.to_vec()).filter(|value| !value.is_empty()),
            Setting::SlowlogLogSlowerThan => self.slow_from = number(value, -1)?,
            Setting::SlowlogMaxLen => {
                self.slow_kept = usize::try_from(number(value, 0)?).unwrap_or(usize::MAX);
            }
            Setting::Port | Setting::Appendonly | Setting::Fixed(_) => return Err(IMMUTABLE.to_owned()),
        }
        Ok(())
    }
}

pub(crate) const IMMUTABLE: &str = "can't set immutable config";

impl Setting {
    pub(crate) fn is_fixed(self) -> bool {
        matches!(self, Self::Port | Self::Appendonly | Self::Fixed(_))
    }
}

fn number(value: &[u8], least: i64) -> Result<i64, String> {
    let number = crate::number::parse_int(value).ok_or("argument couldn't be parsed into an integer")?;
    if number < least {
        return Err(format!("argument must be between {least} and {} inclusive", i64::MAX));
    }
    Ok(number)
}
