//! Keyspace notifications: which are wanted, and their channels.

use std::fmt::Write as _;

/// What happened, by the class that `notify-keyspace-events` names with a letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub(crate) enum Class {
    Generic = 1 << 2,
    String = 1 << 3,
    List = 1 << 4,
    Set = 1 << 5,
    Hash = 1 << 6,
    Zset = 1 << 7,
    Expired = 1 << 8,
    Stream = 1 << 10,
    Missed = 1 << 11,
    New = 1 << 14,
}

const KEYSPACE: u16 = 1;
const KEYEVENT: u16 = 1 << 1;
const EVICTED: u16 = 1 << 9;
const MODULE: u16 = 1 << 13;

const LETTERS: &[(char, u16)] = &[
    ('g', Class::Generic as u16),
    ('$', Class::String as u16),
    ('l', Class::List as u16),
    ('s', Class::Set as u16),
    ('h', Class::Hash as u16),
    ('z', Class::Zset as u16),
    ('x', Class::Expired as u16),
    ('e', EVICTED),
    ('t', Class::Stream as u16),
    ('d', MODULE),
];

/// What `A` stands for: all but key misses and new keys.
const ALL: u16 = {
    let (mut all, mut at) = (0, 0);
    while at < LETTERS.len() {
        all |= LETTERS[at].1;
        at += 1;
    }
    all
};

/// Which notifications are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Wanted(u16);

impl Wanted {
    /// From the letters; `None` is a letter that there is not.
    pub(crate) fn parse(letters: &[u8]) -> Option<Self> {
        let mut wanted = 0;
        for letter in letters {
            wanted |= match char::from(*letter) {
                'A' => ALL,
                'K' => KEYSPACE,
                'E' => KEYEVENT,
                'm' => Class::Missed as u16,
                'n' => Class::New as u16,
                other => LETTERS.iter().find(|(letter, _)| *letter == other)?.1,
            };
        }
        Some(Self(wanted))
    }

    /// In the form that Redis shows: new keys only next to single classes.
    pub(crate) fn letters(self) -> String {
        let mut shown = String::new();
        if self.0 & ALL == ALL {
            shown.push('A');
        } else {
            let classes = LETTERS.iter().chain(&[('n', Class::New as u16)]);
            shown.extend(classes.filter(|(_, bit)| self.0 & bit != 0).map(|(letter, _)| letter));
        }
        let rest = [('K', KEYSPACE), ('E', KEYEVENT), ('m', Class::Missed as u16)];
        shown.extend(rest.iter().filter(|(_, bit)| self.0 & bit != 0).map(|(letter, _)| letter));
        shown
    }

    /// Channel and message for each notification that is wanted of this.
    pub(crate) fn messages(
        self,
        class: Class,
        event: &str,
        db: usize,
        key: &[u8],
    ) -> Vec<(Vec<u8>, Vec<u8>)> {
        let mut messages = Vec::new();
        if self.0 & class as u16 == 0 {
            return messages;
        }
        if self.0 & KEYSPACE != 0 {
            let mut channel = String::new();
            let _ = write!(channel, "__keyspace@{db}__:");
            messages.push(([channel.as_bytes(), key].concat(), event.as_bytes().to_vec()));
        }
        if self.0 & KEYEVENT != 0 {
            messages.push((format!("__keyevent@{db}__:{event}").into_bytes(), key.to_vec()));
        }
        messages
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_come_back_in_the_order_of_redis() {
        for (given, shown) in [
            ("KEA", "AKE"),
            ("Ex", "xE"),
            ("", ""),
            ("g$lshzxetdK", "AK"),
            ("KEn", "nKE"),
            ("AnmK", "AKm"),
            ("xK", "xK"),
        ] {
            assert_eq!(Wanted::parse(given.as_bytes()).map(Wanted::letters).as_deref(), Some(shown));
        }
        assert_eq!(Wanted::parse(b"q"), None);
    }
}
