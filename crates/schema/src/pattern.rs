//! Key patterns: segments between `:`, each with literals and at most one `<placeholder>`.

use std::fmt;

/// A parsed pattern, such as `swarm:<swarm_id>:agents:<agent_id>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    text: String,
    segments: Vec<Segment>,
}

/// What stands between two `:`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// Literal text before the placeholder; the whole segment when there is none.
    pub prefix: String,
    /// The placeholder's name.
    pub param: Option<String>,
    /// Literal text after the placeholder.
    pub suffix: String,
}

/// Why a pattern is not one, with the offset of the offending byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PatternError {
    pub(crate) offset: usize,
    pub(crate) reason: String,
}

impl Pattern {
    pub(crate) fn parse(text: &str) -> Result<Self, PatternError> {
        if text.is_empty() {
            return Err(PatternError { offset: 0, reason: "the pattern is empty".to_owned() });
        }
        let mut segments = Vec::new();
        let mut offset = 0;
        for part in text.split(':') {
            segments.push(
                segment(part).map_err(|error| PatternError { offset: offset + error.offset, ..error })?,
            );
            offset += part.len() + 1;
        }
        let pattern = Self { text: text.to_owned(), segments };
        pattern.check_braces()?;
        pattern.check_repeats()?;
        Ok(pattern)
    }

    /// A pattern put together from parts that were checked: a namespace, a pattern, a hash tag.
    pub(crate) fn assembled(text: String) -> Self {
        let trusted = |part: &str| match (part.find('<'), part.find('>')) {
            (Some(open), Some(close)) if open < close => Segment {
                prefix: part[..open].to_owned(),
                param: Some(part[open + 1..close].to_owned()),
                suffix: part[close + 1..].to_owned(),
            },
            _ => Segment { prefix: part.to_owned(), param: None, suffix: String::new() },
        };
        let segments = text.split(':').map(trusted).collect();
        Self { text, segments }
    }

    /// As written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Its segments, from the left.
    #[must_use]
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// Its placeholders, from the left.
    pub fn params(&self) -> impl Iterator<Item = &str> {
        self.segments.iter().filter_map(|segment| segment.param.as_deref())
    }

    /// Puts values for the placeholders.
    pub(crate) fn fill<'v, E>(&self, mut value: impl FnMut(&str) -> Result<&'v str, E>) -> Result<String, E> {
        let mut key = String::with_capacity(self.text.len() + 32);
        for (index, segment) in self.segments.iter().enumerate() {
            if index > 0 {
                key.push(':');
            }
            key.push_str(&segment.prefix);
            if let Some(param) = &segment.param {
                key.push_str(value(param)?);
            }
            key.push_str(&segment.suffix);
        }
        Ok(key)
    }

    /// The hash tag that literal braces make, if any.
    pub(crate) fn braced(&self) -> Option<&str> {
        let open = self.text.find('{')?;
        let close = self.text[open..].find('}')?;
        Some(&self.text[open + 1..open + close])
    }

    fn check_braces(&self) -> Result<(), PatternError> {
        let at = |offset, reason: &str| Err(PatternError { offset, reason: reason.to_owned() });
        let opens: Vec<usize> = self.text.match_indices('{').map(|(offset, _)| offset).collect();
        let closes: Vec<usize> = self.text.match_indices('}').map(|(offset, _)| offset).collect();
        match (opens.as_slice(), closes.as_slice()) {
            ([], []) => Ok(()),
            ([open], [close]) if close > open && close - open > 1 => Ok(()),
            ([open], [close]) if *close == open + 1 => {
                at(*open, "`{}` is an empty hash tag, which Redis ignores")
            }
            ([first, ..], _) => at(
                *first,
                "braces are a hash tag: one `{`, something, one `}`; placeholders are written `<name>`",
            ),
            ([], [first, ..]) => at(*first, "`}` without `{`"),
        }
    }

    fn check_repeats(&self) -> Result<(), PatternError> {
        let params: Vec<&str> = self.params().collect();
        for (index, param) in params.iter().enumerate() {
            if params[..index].contains(param) {
                let offset = self.text.rfind(&format!("<{param}>")).unwrap_or(0);
                return Err(PatternError {
                    offset,
                    reason: format!("<{param}> stands twice; give the second one its own name"),
                });
            }
        }
        Ok(())
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn segment(text: &str) -> Result<Segment, PatternError> {
    let fail = |offset: usize, reason: String| Err(PatternError { offset, reason });
    if text.is_empty() {
        return fail(0, "a segment is empty: `::` or a `:` at an end".to_owned());
    }
    if let Some((offset, bad)) = text.char_indices().find(|&(_, c)| !is_literal(c) && c != '<' && c != '>') {
        return fail(offset, format!("`{}` cannot stand in a key pattern", bad.escape_default()));
    }
    let Some(open) = text.find('<') else {
        return match text.find('>') {
            Some(offset) => fail(offset, "`>` without `<`".to_owned()),
            None => Ok(Segment { prefix: text.to_owned(), param: None, suffix: String::new() }),
        };
    };
    let Some(close) = text[open..].find('>').map(|offset| open + offset) else {
        return fail(open, "`<` is not closed".to_owned());
    };
    let (prefix, name, suffix) = (&text[..open], &text[open + 1..close], &text[close + 1..]);
    if !is_name(name) {
        return fail(
            open,
            format!("`<{name}>` is not a placeholder: names are lower-case letters, digits and `_`"),
        );
    }
    if let Some(second) = suffix.find(['<', '>']) {
        return fail(
            close + 1 + second,
            "a segment holds at most one placeholder; put a `:` between two".to_owned(),
        );
    }
    if prefix.contains('>') {
        return fail(prefix.find('>').unwrap_or(0), "`>` without `<`".to_owned());
    }
    Ok(Segment { prefix: prefix.to_owned(), param: Some(name.to_owned()), suffix: suffix.to_owned() })
}

/// Glob characters, quotes and white space are kept out, so that a pattern means the same in ACL rules and shells.
fn is_literal(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_-.#()@/+={},%~!$&|;".contains(c)
}

/// Names of keys, placeholders and operations.
pub(crate) fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(text: &str) -> (usize, String) {
        let error = Pattern::parse(text).unwrap_err();
        (error.offset, error.reason)
    }

    #[test]
    fn segments_hold_literals_around_one_placeholder() {
        let pattern = Pattern::parse("EpochValidators(<epoch>)").unwrap();
        let segment = &pattern.segments()[0];
        assert_eq!(
            (segment.prefix.as_str(), segment.param.as_deref(), segment.suffix.as_str()),
            ("EpochValidators(", Some("epoch"), ")")
        );
        assert_eq!(Pattern::parse("a:<b>:c").unwrap().params().collect::<Vec<_>>(), ["b"]);
    }

    #[test]
    fn literal_braces_are_a_hash_tag() {
        assert_eq!(
            Pattern::parse("{<protocol>:<market>}:queue").unwrap().braced(),
            Some("<protocol>:<market>")
        );
        assert!(reason("{}:x").1.contains("empty hash tag"));
        assert!(reason("{a}:{b}").1.contains("one `{`"));
    }

    #[test]
    fn errors_point_at_the_byte() {
        assert_eq!(reason("a::b").0, 2);
        assert_eq!(reason("a:<b").0, 2);
        assert_eq!(reason("a:b*").0, 3);
        assert_eq!(reason("a:<b><c>").0, 5);
        assert_eq!(reason("a:<b>:<b>").0, 6);
        assert_eq!(reason("a:<B>").0, 2);
    }
}
