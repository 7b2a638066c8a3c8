//! Arguments in one buffer: a command of ten arguments costs two allocations, not ten.

/// A list of byte strings.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Args {
    data: Vec<u8>,
    ends: Vec<usize>,
}

impl Args {
    pub(crate) fn starting_with(first: &[u8]) -> Self {
        let mut args = Self { data: Vec::with_capacity(first.len() + 112), ends: Vec::with_capacity(6) };
        args.push(first);
        args
    }

    pub(crate) fn push(&mut self, arg: &[u8]) {
        self.data.extend_from_slice(arg);
        self.ends.push(self.data.len());
    }

    /// Adds a number in decimal, without a string of its own.
    pub(crate) fn push_display(&mut self, arg: impl std::fmt::Display) {
        use std::io::Write as _;
        // Writing to a vector cannot fail.
        let _ = write!(self.data, "{arg}");
        self.ends.push(self.data.len());
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// All their bytes together.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.data.len()
    }

    /// The argument at that place.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<&[u8]> {
        let end = *self.ends.get(index)?;
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        Some(&self.data[start..end])
    }

    /// One after the other.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> + Clone + '_ {
        let mut start = 0;
        self.ends.iter().map(move |&end| {
            let arg = &self.data[start..end];
            start = end;
            arg
        })
    }
}

impl std::fmt::Debug for Args {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter().map(|arg| arg.escape_ascii().to_string())).finish()
    }
}

impl std::fmt::Display for Args {
    /// As one would type them to redis-cli.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, arg) in self.iter().enumerate() {
            f.write_str(if index > 0 { " " } else { "" })?;
            match std::str::from_utf8(arg) {
                Ok(text) if is_plain(text) => f.write_str(text)?,
                _ => write!(f, "\"{}\"", arg.escape_ascii())?,
            }
        }
        Ok(())
    }
}

fn is_plain(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_graphic() && b != b'"' && b != b'\\')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_in_comes_out() {
        let mut args = Args::starting_with(b"key");
        args.push(b"");
        args.push_display(-12);
        args.push(b"\xff \"");
        let all: Vec<&[u8]> = args.iter().collect();
        assert_eq!(all, [&b"key"[..], b"", b"-12", b"\xff \""]);
        assert_eq!((args.len(), args.bytes(), args.get(2), args.get(4)), (4, 9, Some(&b"-12"[..]), None));
        assert_eq!(args.to_string(), r#"key "" -12 "\xff \"""#);
    }
}
