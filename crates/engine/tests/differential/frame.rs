//! Replies as they come over the wire, and when two of them are alike.

use std::io::BufRead;

/// One reply.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Frame {
    Line(char, String),
    Bulk(char, Bytes),
    Null(String),
    Many(char, Vec<Frame>),
}

/// Bytes that show themselves as text.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Bytes(pub(crate) Vec<u8>);

impl std::fmt::Debug for Bytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shown = &self.0[..self.0.len().min(200)];
        write!(f, "\"{}\"", shown.escape_ascii())?;
        if self.0.len() > shown.len() { write!(f, "… ({} bytes)", self.0.len()) } else { Ok(()) }
    }
}

/// How two answers are held against each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compare {
    Exact,
    /// Elements in any order.
    Unordered,
    /// Pairs in any order, flat or as a map.
    Pairs,
    /// A cursor, and elements in any order.
    Scan,
    /// A cursor, and pairs in any order.
    ScanPairs,
    /// The same kind of answer, of the same length: what is in it is left to chance.
    Shape,
    /// Both answer something that is no error, or the same error.
    Success,
}

impl Frame {
    pub(crate) fn read(from: &mut impl BufRead) -> std::io::Result<Self> {
        let mut line = Vec::new();
        from.read_until(b'\n', &mut line)?;
        if line.len() < 3 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        let text = String::from_utf8_lossy(&line[1..line.len() - 2]).into_owned();
        let length = || text.parse::<i64>().map_err(|_| std::io::Error::other(format!("length {text}")));
        let mark = char::from(line[0]);
        Ok(match mark {
            '_' => Self::Null(text),
            '$' | '*' if text == "-1" => Self::Null(mark.to_string()),
            '$' | '=' | '!' => {
                let mut bytes = vec![0; length()? as usize + 2];
                from.read_exact(&mut bytes)?;
                bytes.truncate(bytes.len() - 2);
                Self::Bulk(mark, Bytes(bytes))
            }
            '*' | '~' | '>' | '%' => {
                let count = length()? * if mark == '%' { 2 } else { 1 };
                Self::Many(mark, (0..count).map(|_| Self::read(from)).collect::<Result<_, _>>()?)
            }
            mark => Self::Line(mark, text),
        })
    }

    /// Whether it came out of turn; in RESP2 that does not show.
    pub(crate) fn is_push(&self) -> bool {
        matches!(self, Self::Many('>', _))
    }

    fn is_error(&self) -> bool {
        matches!(self, Self::Line('-', _))
    }

    fn sorted(self, compare: Compare) -> Self {
        match (self, compare) {
            (Self::Many(mark, mut all), Compare::Unordered) => {
                all.sort();
                Self::Many(mark, all)
            }
            (Self::Many(mark, all), Compare::Pairs) if all.len().is_multiple_of(2) => {
                let mut pairs: Vec<_> = all.chunks(2).map(<[Self]>::to_vec).collect();
                pairs.sort();
                Self::Many(mark, pairs.concat())
            }
            (Self::Many(mark, mut all), Compare::Scan | Compare::ScanPairs) if all.len() == 2 => {
                let inner = if compare == Compare::Scan { Compare::Unordered } else { Compare::Pairs };
                let found = all.pop().unwrap().sorted(inner);
                all.push(found);
                Self::Many(mark, all)
            }
            (frame, _) => frame,
        }
    }

    fn shape(&self) -> String {
        match self {
            Self::Line('-', text) => format!("-{text}"),
            Self::Line(mark, _) | Self::Bulk(mark, _) => mark.to_string(),
            Self::Null(text) => format!("null{text}"),
            Self::Many(mark, all) => format!("{mark}{}", all.len()),
        }
    }

    pub(crate) fn is_like(&self, other: &Self, compare: Compare) -> bool {
        match compare {
            Compare::Exact => self == other,
            Compare::Shape => self.shape() == other.shape(),
            Compare::Success if !self.is_error() && !other.is_error() => true,
            _ => self.clone().sorted(compare) == other.clone().sorted(compare),
        }
    }
}
