//! The form of the log.

/// The first line, with the version of the format.
pub(super) const FIRST_LINE: &[u8] = b"#keyplane log 1\r\n";

/// Length of the line before each step.
pub(super) const HEAD: usize = 4 + 10 + 1 + 8 + 1 + 8 + 2;

/// Checksums, each over its step and the one before: a step that is missing is noticed, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Chain(u32);

/// What the line before a step says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) length: u64,
    pub(super) checksum: u32,
}

impl Chain {
    /// What a log begins with.
    pub fn begin(out: &mut Vec<u8>) -> Self {
        out.extend_from_slice(FIRST_LINE);
        Self(crc32fast::hash(FIRST_LINE))
    }

    /// Appends a step.
    pub fn write(&mut self, step: &[u8], out: &mut Vec<u8>) {
        self.0 = self.with(step);
        let mut head = format!("#kp {:010x} {:08x} ", step.len(), self.0);
        head.push_str(&format!("{:08x}\r\n", crc32fast::hash(head.as_bytes())));
        out.extend_from_slice(head.as_bytes());
        out.extend_from_slice(step);
    }

    /// The checksum with this step.
    pub(super) fn with(self, step: &[u8]) -> u32 {
        let mut hasher = crc32fast::Hasher::new_with_initial(self.0);
        hasher.update(step);
        hasher.finalize()
    }

    /// After a step with this checksum.
    pub(super) fn after(checksum: u32) -> Self {
        Self(checksum)
    }
}

impl Head {
    /// `None` is a line that was changed, or is none.
    pub(super) fn parse(line: &[u8]) -> Option<Self> {
        let line = std::str::from_utf8(line).ok().filter(|line| line.len() == HEAD)?;
        let rest = line.strip_prefix("#kp ")?.strip_suffix("\r\n")?;
        let (length, rest) = rest.split_at_checked(10)?;
        let checksum = rest.strip_prefix(' ')?.get(..8)?;
        let check = rest.get(10..).filter(|check| check.len() == 8 && rest.get(9..10) == Some(" "))?;
        let number = |text: &str| {
            u64::from_str_radix(text, 16).ok().filter(|_| !text.contains(['+', 'A', 'B', 'C', 'D', 'E', 'F']))
        };
        let own = u32::try_from(number(check)?).ok()?;
        (own == crc32fast::hash(line.get(..HEAD - 10)?.as_bytes())).then_some(())?;
        Some(Self { length: number(length)?, checksum: u32::try_from(number(checksum)?).ok()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_as_it_was_written_and_not_otherwise() {
        let mut out = Vec::new();
        let mut chain = Chain::begin(&mut out);
        let at = out.len();
        chain.write(b"step", &mut out);
        assert_eq!(out.len(), at + HEAD + 4);
        let head = out[at..at + HEAD].to_vec();
        let parsed = Head::parse(&head).expect("a head");
        assert_eq!((parsed.length, Chain::after(parsed.checksum)), (4, chain));
        for place in 0..HEAD {
            for bit in 0..8 {
                let mut changed = head.clone();
                changed[place] ^= 1 << bit;
                assert_eq!(Head::parse(&changed), None, "bit {bit} of byte {place}");
            }
        }
    }
}
