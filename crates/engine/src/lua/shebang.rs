//! `#!lua flags=no-writes,…`: what a script says about itself in its first line.

use crate::fault::Fault;

/// What holds for a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Flags {
    /// It has such a line.
    pub(super) declared: bool,
    pub(super) no_writes: bool,
}

/// All that there are. Those about replicas, clusters and memory make no difference here.
const KNOWN: [&[u8]; 5] =
    [b"no-writes", b"allow-oom", b"allow-stale", b"no-cluster", b"allow-cross-slot-keys"];

/// The flags, and the script without them: the line's end stays, so that lines keep their numbers.
pub(super) fn parse(script: &[u8]) -> Result<(Flags, &[u8]), Fault> {
    let mut flags = Flags::default();
    if !script.starts_with(b"#!") {
        return Ok((flags, script));
    }
    flags.declared = true;
    let end = script.iter().position(|byte| matches!(byte, b'\n' | 0)).filter(|end| script[*end] == b'\n');
    let end = end.ok_or(Fault::of("ERR Invalid script shebang"))?;
    let words = words(&script[..end]).unwrap_or_default();
    let Some((engine, options)) = words.split_first() else {
        return Err(Fault::of("ERR Invalid engine in script shebang"));
    };
    if engine != b"#!lua" {
        return Err(unexpected("Unexpected engine in script shebang: ", engine));
    }
    for option in options {
        let Some(names) = option.strip_prefix(b"flags=") else {
            return Err(unexpected("Unknown lua shebang option: ", option));
        };
        for name in names.split(|byte| *byte == b',').filter(|_| !names.is_empty()) {
            if !KNOWN.contains(&name) {
                return Err(unexpected("Unexpected flag in script shebang: ", name));
            }
            flags.no_writes |= name == b"no-writes";
        }
    }
    Ok((flags, &script[end..]))
}

fn unexpected(what: &str, word: &[u8]) -> Fault {
    Fault::new([b"ERR ", what.as_bytes(), word].concat())
}

/// Words with quotes, as a line of redis-cli has them; nothing when a quote is not closed.
fn words(line: &[u8]) -> Option<Vec<Vec<u8>>> {
    let is_blank = |byte: u8| matches!(byte, b' ' | b'\t'..=b'\r');
    let mut words = Vec::new();
    let mut rest = line;
    loop {
        rest = &rest[rest.iter().take_while(|byte| is_blank(**byte)).count()..];
        if rest.is_empty() {
            return Some(words);
        }
        let mut word = Vec::new();
        loop {
            match rest {
                [] | [b' ' | b'\n' | b'\r' | b'\t', ..] => break,
                [quote @ (b'"' | b'\''), after @ ..] => {
                    rest = quoted(after, *quote, &mut word)?;
                    if rest.first().is_some_and(|byte| !is_blank(*byte)) {
                        return None;
                    }
                    break;
                }
                [byte, after @ ..] => {
                    word.push(*byte);
                    rest = after;
                }
            }
        }
        words.push(word);
    }
}

/// Up to the closing quote; what follows it.
fn quoted<'a>(mut rest: &'a [u8], quote: u8, word: &mut Vec<u8>) -> Option<&'a [u8]> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    loop {
        let (byte, after) = match rest {
            [b'\\', b'x', high, low, after @ ..]
                if quote == b'"' && digit(*high).is_some() && digit(*low).is_some() =>
            {
                ((digit(*high)? * 16 + digit(*low)?) as u8, after)
            }
            [b'\\', escaped, after @ ..] if quote == b'"' => {
                let byte = match escaped {
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'b' => 8,
                    b'a' => 7,
                    other => *other,
                };
                (byte, after)
            }
            [b'\\', b'\'', after @ ..] if quote == b'\'' => (b'\'', after),
            [byte, after @ ..] if *byte == quote => return Some(after),
            [byte, after @ ..] => (*byte, after),
            [] => return None,
        };
        word.push(byte);
        rest = after;
    }
}
