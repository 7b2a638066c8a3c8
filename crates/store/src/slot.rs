//! Cluster slots.

/// One of the 16,384 parts of a keyspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Slot(u16);

/// How many there are.
pub(crate) const SLOTS: usize = 16_384;

impl Slot {
    /// The slot of a key: CRC16 of its hash tag, or of all of it.
    #[must_use]
    pub fn of(key: &[u8]) -> Self {
        Self(crc16(tag(key)) % SLOTS as u16)
    }

    /// The slot of that number, if there is one.
    #[must_use]
    pub fn new(number: u16) -> Option<Self> {
        (usize::from(number) < SLOTS).then_some(Self(number))
    }

    /// Its number.
    #[must_use]
    pub fn number(self) -> u16 {
        self.0
    }
}

impl std::fmt::Display for Slot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// What stands between the first `{` and the next `}`, unless that is nothing.
fn tag(key: &[u8]) -> &[u8] {
    let Some(open) = key.iter().position(|&b| b == b'{') else { return key };
    let rest = &key[open + 1..];
    match rest.iter().position(|&b| b == b'}') {
        Some(close) if close > 0 => &rest[..close],
        _ => key,
    }
}

/// CRC-16/XMODEM, a byte at a time.
fn crc16(bytes: &[u8]) -> u16 {
    const TABLE: [u16; 256] = table();
    bytes.iter().fold(0, |crc, &byte| (crc << 8) ^ TABLE[usize::from((crc >> 8) as u8 ^ byte)])
}

const fn table() -> [u16; 256] {
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        let mut crc = (index as u16) << 8;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 0x8000 == 0 { crc << 1 } else { (crc << 1) ^ 0x1021 };
            bit += 1;
        }
        table[index] = crc;
        index += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_those_of_the_cluster_specification() {
        assert_eq!(crc16(b"123456789"), 0x31c3);
        assert_eq!(Slot::of(b"foo").number(), 12182);
        assert_eq!(Slot::of(b"{user1000}.following"), Slot::of(b"{user1000}.followers"));
        assert_eq!(Slot::of(b"foo{}{bar}"), Slot(crc16(b"foo{}{bar}") % 16384));
        assert_eq!(Slot::of(b"foo{{bar}}zap"), Slot::of(b"{bar"));
        assert_eq!(Slot::of(b"foo{bar}{zap}"), Slot::of(b"bar"));
    }
}
