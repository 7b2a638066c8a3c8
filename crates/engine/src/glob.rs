//! Patterns of KEYS, SCAN, PSUBSCRIBE and CONFIG GET.

/// Whether a text matches a pattern of `*`, `?`, `[a-z]`, `[^a]` and `\x`. As in Redis only the empty pattern matches the
/// empty text; where a star is to match it, the caller looks for that.
pub(crate) fn matches(pattern: &[u8], text: &[u8]) -> bool {
    if text.is_empty() {
        return pattern.is_empty();
    }
    let (mut p, mut t) = (0, 0);
    // Where to go on when what follows the last star does not match: one byte further.
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        let matched = match pattern.get(p) {
            Some(b'*') => {
                star = Some((p + 1, t));
                p += 1;
                continue;
            }
            Some(b'?') => Some(p + 1),
            Some(b'[') => {
                let (hit, next) = class(pattern, p, text[t]);
                hit.then_some(next)
            }
            Some(b'\\') if p + 1 < pattern.len() => (pattern[p + 1] == text[t]).then_some(p + 2),
            Some(byte) => (*byte == text[t]).then_some(p + 1),
            None => None,
        };
        match (matched, &mut star) {
            (Some(next), _) => (p, t) = (next, t + 1),
            (None, Some((after, from))) => {
                *from += 1;
                (p, t) = (*after, *from);
            }
            (None, None) => return false,
        }
    }
    pattern[p.min(pattern.len())..].iter().all(|byte| *byte == b'*')
}

/// Whether a byte is in the class that begins here, and where the pattern goes on.
fn class(pattern: &[u8], start: usize, byte: u8) -> (bool, usize) {
    let mut at = start + 1;
    let negated = pattern.get(at) == Some(&b'^');
    if negated {
        at += 1;
    }
    let mut hit = false;
    loop {
        match pattern.get(at) {
            Some(b'\\') if at + 1 < pattern.len() => {
                at += 1;
                hit |= pattern[at] == byte;
            }
            Some(b']') => break,
            // Redis takes the end of the pattern for the end of the class.
            None => return (hit != negated, at),
            Some(&low) if pattern.len() >= at + 3 && pattern[at + 1] == b'-' => {
                // Redis compares C's char, which is signed.
                let [low, high, byte] = [low, pattern[at + 2], byte].map(u8::cast_signed);
                hit |= (low.min(high)..=low.max(high)).contains(&byte);
                at += 2;
            }
            Some(literal) => hit |= *literal == byte,
        }
        at += 1;
    }
    (hit != negated, at + 1)
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns_match_as_in_redis() {
        for (pattern, text, expected) in [
            ("*", "", false),
            ("a*b*c", "a--b--c", true),
            ("a*b*c", "a--b--", false),
            ("h?llo", "hello", true),
            ("h[ae]llo", "hallo", true),
            ("h[^e]llo", "hello", false),
            ("h[a-c]llo", "hbllo", true),
            ("h[c-a]llo", "hbllo", true),
            ("\\*", "*", true),
            ("\\*", "a", false),
            ("a\\", "a\\", true),
            ("[a", "a", true),
            ("[", "[", false),
            ("[]", "]", false),
            ("[^", "a", true),
            ("[^]", "a", true),
            ("[\\]]", "]", true),
            ("[a-]", "_", true),
            ("[a-]", "-", false),
            ("[a-", "-", true),
            ("**", "x", true),
            ("", "", true),
            ("", "x", false),
            ("*x", "yxx", true),
            ("*a*b", "aab", true),
            ("a*", "a", true),
            ("a\\*", "a", false),
        ] {
            assert_eq!(matches(pattern.as_bytes(), text.as_bytes()), expected, "{pattern} {text}");
        }
        assert!(!matches(b"[a-\xff]", b"b"));
        assert!(matches(b"[a-\xff]", b"B"));
    }
}
