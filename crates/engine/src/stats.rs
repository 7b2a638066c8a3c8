//! What the engine counts about itself, for INFO and SLOWLOG.

use std::collections::{BTreeMap, HashMap, VecDeque};

use crate::db::Hashing;
use crate::fault::Fault;
use crate::time::Time;

#[derive(Debug, Default)]
pub(crate) struct Stats {
    pub(crate) commands: u64,
    pub(crate) hits: u64,
    pub(crate) misses: u64,
    pub(crate) expired: u64,
    pub(crate) errors: u64,
    /// By code, as many as are kept.
    pub(crate) by_error: BTreeMap<Vec<u8>, u64>,
    pub(crate) started: Time,
    /// Clients that had come when the counting began.
    pub(crate) clients_before: u64,
    pub(crate) by_command: HashMap<&'static str, Calls, Hashing>,
    pub(crate) pace: Pace,
    pub(crate) slow: VecDeque<Slow>,
    pub(crate) slow_so_far: u64,
}

/// How often a command was sent, and how long it took.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Calls {
    pub(crate) calls: u64,
    pub(crate) micros: u64,
    /// It was not run.
    pub(crate) rejected: u64,
    /// It was run and answered with an error.
    pub(crate) failed: u64,
}

/// An entry of SLOWLOG.
#[derive(Debug, Clone)]
pub(crate) struct Slow {
    pub(crate) id: u64,
    pub(crate) at: Time,
    pub(crate) micros: u64,
    pub(crate) args: Vec<Vec<u8>>,
    pub(crate) address: String,
    pub(crate) name: Vec<u8>,
}

/// Scripts can make up codes: no more of them than this are counted apart.
const MOST_CODES: usize = 128;

impl Stats {
    /// A client was answered with this error.
    pub(crate) fn count_error(&mut self, fault: &Fault) {
        self.errors += 1;
        // A first word that is too long, or the only one, is no code.
        let code = fault.code();
        let code = if code.len() < 31 && code.len() < fault.bytes().len() { code } else { b"ERR" };
        if let Some(count) = self.by_error.get_mut(code) {
            *count += 1;
        } else if self.by_error.len() < MOST_CODES {
            self.by_error.insert(code.to_vec(), 1);
        }
    }

    /// CONFIG RESETSTAT. What SLOWLOG keeps stays.
    pub(crate) fn reset(&mut self, clients_so_far: u64) {
        *self = Self {
            started: self.started,
            clients_before: clients_so_far,
            slow: std::mem::take(&mut self.slow),
            slow_so_far: self.slow_so_far,
            ..Self::default()
        };
    }
}

/// How many commands ran in this second and in the one before.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Pace {
    second: u64,
    now: u64,
    before: u64,
}

impl Pace {
    pub(crate) fn count(&mut self, at: Time) {
        let before = self.per_second(at);
        if at.seconds() != self.second {
            *self = Self { second: at.seconds(), now: 0, before };
        }
        self.now += 1;
    }

    /// In the last whole second.
    pub(crate) fn per_second(&self, at: Time) -> u64 {
        match at.seconds().saturating_sub(self.second) {
            0 => self.before,
            1 => self.now,
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pace_is_that_of_the_last_whole_second() {
        let mut pace = Pace::default();
        let at = |seconds: u64| Time::from_millis(seconds * 1000);
        (0..3).for_each(|_| pace.count(at(5)));
        assert_eq!(pace.per_second(at(5)), 0);
        assert_eq!(pace.per_second(at(6)), 3);
        pace.count(at(6));
        assert_eq!(pace.per_second(at(6)), 3);
        assert_eq!(pace.per_second(at(7)), 1);
        assert_eq!(pace.per_second(at(8)), 0);
    }
}
