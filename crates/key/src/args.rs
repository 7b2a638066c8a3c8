//! Arguments in one buffer: a command of ten arguments costs one allocation, not ten.

/// A list of byte strings, each behind its length.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Args {
    data: Vec<u8>,
    count: usize,
}

/// A length in front of an argument.
const LENGTH: usize = size_of::<u64>();

impl Args {
    pub(crate) fn starting_with(first: &[u8]) -> Self {
        // Most commands are a key, a value and little else.
        let mut args = Self { data: Vec::with_capacity(first.len() + 160), count: 0 };
        args.push(first);
        args
    }

    pub(crate) fn push(&mut self, arg: &[u8]) {
        self.data.extend_from_slice(&(arg.len() as u64).to_ne_bytes());
        self.data.extend_from_slice(arg);
        self.count += 1;
    }

    /// Adds a number in decimal, without a string of its own.
    pub(crate) fn push_display(&mut self, arg: impl std::fmt::Display) {
        use std::io::Write as _;
        let start = self.data.len();
        self.data.extend_from_slice(&[0; LENGTH]);
        // Writing to a vector cannot fail.
        let _ = write!(self.data, "{arg}");
        let length = (self.data.len() - start - LENGTH) as u64;
        self.data[start..start + LENGTH].copy_from_slice(&length.to_ne_bytes());
        self.count += 1;
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// All their bytes together.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.data.len() - self.count * LENGTH
    }

    /// The argument at that place.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<&[u8]> {
        self.iter().nth(index)
    }

    /// One after the other.
    #[must_use]
    pub fn iter(&self) -> Iter<'_> {
        Iter { rest: &self.data, count: self.count }
    }
}

/// Arguments one after the other.
#[derive(Debug, Clone)]
pub struct Iter<'a> {
    rest: &'a [u8],
    count: usize,
}

impl<'a> Iterator for Iter<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let (length, rest) = self.rest.split_first_chunk::<LENGTH>()?;
        let (arg, rest) = rest.split_at_checked(u64::from_ne_bytes(*length) as usize)?;
        self.rest = rest;
        self.count -= 1;
        Some(arg)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.count, Some(self.count))
    }
}

impl ExactSizeIterator for Iter<'_> {}

impl<'a> IntoIterator for &'a Args {
    type Item = &'a [u8];
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
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
