//! Slots of a cluster.

use std::fmt;

/// One of the 16384 parts of a cluster's keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Slot(u16);

impl Slot {
    /// How many there are.
    pub const COUNT: u16 = 16384;

    /// The slot of that number. Panics beyond the last one.
    #[must_use]
    pub fn new(number: u16) -> Self {
        assert!(number < Self::COUNT, "there is no slot {number}");
        Self(number)
    }

    /// The slot of a key: its hash tag counts, if it has one.
    #[must_use]
    pub fn of(key: impl AsRef<[u8]>) -> Self {
        Self(crc16(hashed_part(key.as_ref())) % Self::COUNT)
    }

    /// Its number.
    #[must_use]
    pub fn number(self) -> u16 {
        self.0
    }
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "slot {}", self.0)
    }
}

/// What stands between the first `{` and the next `}`, unless that is nothing.
fn hashed_part(key: &[u8]) -> &[u8] {
    let tag = || {
        let open = key.iter().position(|&byte| byte == b'{')? + 1;
        let length = key[open..].iter().position(|&byte| byte == b'}')?;
        (length > 0).then_some(&key[open..open + length])
    };
    tag().unwrap_or(key)
}

/// CRC-16/XMODEM, as the cluster specification has it.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, &byte| {
        (0..8).fold(crc ^ (u16::from(byte) << 8), |crc, _| {
            if crc & 0x8000 == 0 { crc << 1 } else { (crc << 1) ^ 0x1021 }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_those_of_the_cluster_specification() {
        assert_eq!(crc16(b"123456789"), 0x31C3);
        assert_eq!(Slot::of("foo").number(), 12182);
        assert_eq!(Slot::of("{user1000}.following"), Slot::of("{user1000}.followers"));
        assert_eq!(Slot::of("foo{}{bar}"), Slot(crc16(b"foo{}{bar}") % Slot::COUNT));
        assert_eq!(Slot::of("foo{{bar}}zap"), Slot::of("{bar"));
    }
}
