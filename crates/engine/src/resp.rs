//! What clients send: bytes in, commands out.
//!
//! The same bytes give the same commands and the same error, however they are cut. Memory grows with what has arrived and
//! never with a length that was only announced. A command costs no allocation as long as it has few arguments, and its
//! arguments are not copied.

use std::ops::Deref;

use crate::fault::Fault;
use crate::number;
use crate::reply::Reply;

/// The longest line: an inline command, or the length of something.
const LONGEST_LINE: usize = 64 * 1024;
/// The longest argument: `proto-max-bulk-len`.
const LONGEST_ARGUMENT: i64 = 512 * 1024 * 1024;
/// The most arguments that can be announced.
const MOST_ARGUMENTS: i64 = i32::MAX as i64;
/// The longest command, all together: `client-query-buffer-limit`.
const LONGEST_COMMAND: usize = 1024 * 1024 * 1024;
/// What is set aside for one read.
const READ: usize = 16 * 1024;
/// What an idle connection keeps of a buffer that was larger.
const KEPT: usize = 64 * 1024;

/// Turns the bytes of one connection into commands, arrays or lines, as Redis 7.0 reads them.
///
/// What arrives is appended ([`Decoder::input`], [`Decoder::feed`]); then [`Decoder::next_command`] gives one command after
/// the other, as slices of what arrived.
///
/// ```
/// use keyplane_engine::{Answer, Decoder, Engine, Settings, Time};
///
/// let now = Time::default();
/// let mut engine = Engine::new(Settings::default(), now);
/// let client = engine.connect(now, "127.0.0.1:7000".to_owned());
/// let mut decoder = Decoder::default();
/// let mut out = Vec::new();
///
/// decoder.feed(b"*1\r\n$4\r\nPING\r\nECHO 'two words'\r\n*1\r\n$4\r\nPI");
/// loop {
///     match decoder.next_command() {
///         Ok(Some(args)) => {
///             let outcome = engine.execute(now, client, &args);
///             if let Answer::Reply(reply) = outcome.answer {
///                 reply.encode(engine.protocol(client), &mut out);
///             }
///             // The other answers, and outcome.deliveries.
///         }
///         // More has to arrive.
///         Ok(None) => break,
///         // The connection is to be closed once this is written.
///         Err(broken) => {
///             broken.reply().iter().for_each(|reply| reply.encode(engine.protocol(client), &mut out));
///             break;
///         }
///     }
/// }
/// assert_eq!(out, b"+PONG\r\n$9\r\ntwo words\r\n");
/// ```
///
/// Limits and errors are Redis's. A line just over its limit is refused however it was cut, where Redis's own answer depends
/// on that; and a command has to fit into 1 GB as a whole, while Redis counts only what it has not understood yet.
#[derive(Debug, Default)]
pub struct Decoder {
    buffer: Vec<u8>,
    /// Where the present command begins; everything before has been given out.
    start: usize,
    /// How much of the present command has been understood.
    read: usize,
    /// Its arguments so far: places in it, or in `line`.
    found: Vec<Place>,
    /// Arguments still to come.
    missing: usize,
    /// The length of the argument that comes next, once it is known.
    length: Option<usize>,
    /// The arguments of an inline command, without quotes.
    line: Vec<u8>,
    broken: Option<Broken>,
}

/// Where an argument begins and ends.
#[derive(Debug, Clone, Copy)]
struct Place {
    from: usize,
    to: usize,
}

/// The input is no protocol: the connection is to be closed, after [`Broken::reply`] if there is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken(Option<Fault>);

impl Broken {
    const fn of(text: &'static str) -> Self {
        Self(Some(Fault::of(text)))
    }

    /// What the client is told. Nothing when it has sent more than a command may have.
    #[must_use]
    pub fn reply(&self) -> Option<Reply> {
        self.0.clone().map(Reply::Error)
    }
}

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            Some(fault) => write!(f, "{fault}"),
            None => write!(f, "a command of more than {LONGEST_COMMAND} bytes"),
        }
    }
}

impl std::error::Error for Broken {}

/// The arguments of a command, its name first. Never empty.
#[derive(Debug)]
pub struct Args<'d> {
    /// Those of an ordinary command, without an allocation.
    few: [&'d [u8]; FEW],
    /// All of them, when they are more than a few.
    many: Vec<&'d [u8]>,
    count: usize,
}

const FEW: usize = 8;

impl<'d> Args<'d> {
    fn new(bytes: &'d [u8], places: &[Place]) -> Self {
        let slice = |place: &Place| bytes.get(place.from..place.to).unwrap_or_default();
        let mut args = Self { few: [&[]; FEW], many: Vec::new(), count: places.len() };
        if places.len() <= FEW {
            args.few.iter_mut().zip(places).for_each(|(arg, place)| *arg = slice(place));
        } else {
            args.many = places.iter().map(slice).collect();
        }
        args
    }
}

impl<'d> Deref for Args<'d> {
    type Target = [&'d [u8]];

    fn deref(&self) -> &[&'d [u8]] {
        if self.count <= FEW { &self.few[..self.count] } else { &self.many }
    }
}

impl Decoder {
    /// Appends what has arrived.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.make_room();
        self.buffer.extend_from_slice(bytes);
    }

    /// The buffer itself, for a reader that can append to one: with room for a read, and nothing in it may be changed.
    pub fn input(&mut self) -> &mut Vec<u8> {
        self.make_room();
        self.buffer.reserve(READ);
        &mut self.buffer
    }

    /// How many bytes wait for the rest of their command.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.buffer.len().saturating_sub(self.start)
    }

    /// The next command, if all of it has arrived. Lines and arrays without a word are passed over.
    ///
    /// # Errors
    /// The input is no protocol. It stays so: every further call says the same.
    pub fn next_command(&mut self) -> Result<Option<Args<'_>>, Broken> {
        match self.advance() {
            Ok(Some(Complete::Array { start })) => {
                Ok(Some(Args::new(self.buffer.get(start..).unwrap_or_default(), &self.found)))
            }
            Ok(Some(Complete::Line)) => Ok(Some(Args::new(&self.line, &self.found))),
            Ok(None) => Ok(None),
            Err(broken) => {
                self.broken = Some(broken.clone());
                Err(broken)
            }
        }
    }

    /// Forgets what has been given out. Bytes move only when at least as many are forgotten.
    fn make_room(&mut self) {
        if self.start == self.buffer.len() {
            self.buffer.clear();
            self.buffer.shrink_to(KEPT);
            self.found.clear();
            self.found.shrink_to(KEPT / size_of::<Place>());
            self.start = 0;
        } else if self.start >= self.waiting() {
            self.buffer.drain(..self.start);
            self.start = 0;
        }
    }

    fn advance(&mut self) -> Result<Option<Complete>, Broken> {
        if let Some(broken) = &self.broken {
            return Err(broken.clone());
        }
        loop {
            if self.missing == 0 {
                self.found.clear();
            }
            let complete = match self.buffer.get(self.start) {
                None => return Ok(None),
                Some(b'*') => self.array()?,
                Some(_) => self.line()?,
            };
            match complete {
                Some(_) if self.found.is_empty() => {}
                None if self.waiting() > LONGEST_COMMAND => return Err(Broken(None)),
                complete => return Ok(complete),
            }
        }
    }

    /// The command is understood; the next one begins behind it.
    fn complete(&mut self) -> usize {
        let start = self.start;
        self.start += std::mem::take(&mut self.read);
        start
    }

    fn line(&mut self) -> Result<Option<Complete>, Broken> {
        let rest = self.buffer.get(self.start..).unwrap_or_default();
        let Some(end) = find(rest, b'\n') else {
            return if rest.len() > LONGEST_LINE {
                Err(Broken::of("ERR Protocol error: too big inline request"))
            } else {
                Ok(None)
            };
        };
        let text = rest[..end].strip_suffix(b"\r").unwrap_or(&rest[..end]);
        self.line.clear();
        split(text, &mut self.line, &mut self.found)
            .ok_or(Broken::of("ERR Protocol error: unbalanced quotes in request"))?;
        self.read = end + 1;
        self.complete();
        Ok(Some(Complete::Line))
    }

    fn array(&mut self) -> Result<Option<Complete>, Broken> {
        if self.read == 0 {
            let too_long = Broken::of("ERR Protocol error: too big mbulk count string");
            let Some((_, count)) = self.header(too_long)? else { return Ok(None) };
            let count = count
                .filter(|count| *count <= MOST_ARGUMENTS)
                .ok_or(Broken::of("ERR Protocol error: invalid multibulk length"))?;
            self.missing = usize::try_from(count).unwrap_or(0);
        }
        while self.missing > 0 {
            let length = match self.length {
                Some(length) => length,
                None => {
                    let Some(length) = self.argument_length()? else { return Ok(None) };
                    length
                }
            };
            // Redis takes any two bytes for the end of the line.
            if self.waiting() - self.read < length + 2 {
                self.length = Some(length);
                return Ok(None);
            }
            self.found.push(Place { from: self.read, to: self.read + length });
            self.read += length + 2;
            self.length = None;
            self.missing -= 1;
        }
        Ok(Some(Complete::Array { start: self.complete() }))
    }

    fn argument_length(&mut self) -> Result<Option<usize>, Broken> {
        let too_long = Broken::of("ERR Protocol error: too big bulk count string");
        let Some((mark, length)) = self.header(too_long)? else { return Ok(None) };
        if mark != b'$' {
            let text = [b"ERR Protocol error: expected '$', got '".as_slice(), &[mark], b"'"].concat();
            return Err(Broken(Some(Fault::new(text))));
        }
        length
            .filter(|length| *length <= LONGEST_ARGUMENT)
            .and_then(|length| usize::try_from(length).ok())
            .map(Some)
            .ok_or(Broken::of("ERR Protocol error: invalid bulk length"))
    }

    /// The first byte of a line and the number that follows it; nothing as long as the line is not whole.
    fn header(&mut self, too_long: Broken) -> Result<Option<(u8, Option<i64>)>, Broken> {
        let rest = self.buffer.get(self.start + self.read..).unwrap_or_default();
        let Some(end) = find(rest, b'\r') else {
            return if rest.len() > LONGEST_LINE { Err(too_long) } else { Ok(None) };
        };
        // As with arguments, whatever follows counts as the line feed.
        if rest.len() < end + 2 {
            return Ok(None);
        }
        let number = rest.get(1..end).and_then(number::parse_int);
        let mark = rest.first().copied().unwrap_or_default();
        self.read += end + 2;
        Ok(Some((mark, number)))
    }
}

/// Where the arguments of a whole command are.
enum Complete {
    Array { start: usize },
    Line,
}

/// Where a line ends. Like C's string functions, it does not see past a zero byte.
fn find(rest: &[u8], end: u8) -> Option<usize> {
    let line = &rest[..rest.len().min(LONGEST_LINE + 1)];
    line.iter().position(|byte| *byte == end || *byte == 0).filter(|at| line[*at] == end)
}

/// The words of an inline command. `None` is a quote without an end, or one that something follows.
fn split(text: &[u8], words: &mut Vec<u8>, places: &mut Vec<Place>) -> Option<()> {
    let mut rest = text;
    loop {
        let blank = |byte: &u8| byte.is_ascii_whitespace() || *byte == b'\x0b';
        rest = &rest[rest.iter().position(|byte| !blank(byte)).unwrap_or(rest.len())..];
        if rest.is_empty() {
            return Some(());
        }
        let from = words.len();
        loop {
            rest = match rest {
                [] => break,
                [b' ' | b'\n' | b'\r' | b'\t', more @ ..] => {
                    rest = more;
                    break;
                }
                [b'"', more @ ..] => {
                    rest = quoted(more, words)?;
                    break;
                }
                [b'\'', more @ ..] => {
                    rest = literal(more, words)?;
                    break;
                }
                [byte, more @ ..] => {
                    words.push(*byte);
                    more
                }
            };
        }
        places.push(Place { from, to: words.len() });
    }
}

/// Up to the closing double quote, with escapes.
fn quoted<'t>(mut rest: &'t [u8], words: &mut Vec<u8>) -> Option<&'t [u8]> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    loop {
        rest = match rest {
            [b'"', more @ ..] => return closed(more),
            [b'\\', b'x', high, low, more @ ..] if digit(*high).is_some() && digit(*low).is_some() => {
                words.push(digit(*high)? * 16 + digit(*low)?);
                more
            }
            [b'\\', escaped, more @ ..] => {
                words.push(match escaped {
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'b' => b'\x08',
                    b'a' => b'\x07',
                    other => *other,
                });
                more
            }
            [byte, more @ ..] => {
                words.push(*byte);
                more
            }
            [] => return None,
        };
    }
}

/// Up to the closing single quote; only that quote can be escaped.
fn literal<'t>(mut rest: &'t [u8], words: &mut Vec<u8>) -> Option<&'t [u8]> {
    loop {
        rest = match rest {
            [b'\\', b'\'', more @ ..] => {
                words.push(b'\'');
                more
            }
            [b'\'', more @ ..] => return closed(more),
            [byte, more @ ..] => {
                words.push(*byte);
                more
            }
            [] => return None,
        };
    }
}

/// A closing quote ends its word.
fn closed(rest: &[u8]) -> Option<&[u8]> {
    let ends = rest.first().is_none_or(|byte| byte.is_ascii_whitespace() || *byte == b'\x0b');
    ends.then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Commands and the error, if there is one, of bytes that arrive in these pieces.
    fn decode<'b>(pieces: impl IntoIterator<Item = &'b [u8]>) -> (Vec<Vec<Vec<u8>>>, Option<Broken>) {
        let (mut decoder, mut commands) = (Decoder::default(), Vec::new());
        for piece in pieces {
            // Both ways of handing bytes over are the same.
            if piece.len() % 2 == 0 {
                decoder.feed(piece);
            } else {
                decoder.input().extend_from_slice(piece);
            }
            loop {
                match decoder.next_command() {
                    Ok(Some(args)) => commands.push(args.iter().map(|arg| arg.to_vec()).collect()),
                    Ok(None) => break,
                    Err(broken) => return (commands, Some(broken)),
                }
            }
        }
        (commands, None)
    }

    /// Sound and broken requests, and bytes without a sense.
    fn stream(rng: &mut fastrand::Rng) -> Vec<u8> {
        const SENSELESS: &[u8] = b"*$0123\r\n\"' \\x-a\0";
        let mut sent = Vec::new();
        for _ in 0..rng.usize(1..8) {
            match rng.u8(..8) {
                0 => sent.extend_from_slice(b"PING 'a b' \"\\x41\\\"\"\r\n"),
                1 => sent.extend((0..rng.usize(..20)).map(|_| SENSELESS[rng.usize(..SENSELESS.len())])),
                2 => sent.extend_from_slice(b"*0\r\n\r\n*-1\r\n"),
                _ => {
                    let arg = vec![b'v'; rng.usize(..40)];
                    crate::reply::command(&mut sent, &vec![arg.as_slice(); rng.usize(1..12)]);
                }
            }
        }
        sent
    }

    #[test]
    fn however_the_bytes_are_cut_the_commands_are_the_same() {
        let mut rng = fastrand::Rng::with_seed(3);
        for _ in 0..3000 {
            let sent = stream(&mut rng);
            let whole = decode([sent.as_slice()]);
            assert_eq!(decode(sent.chunks(1)), whole, "{}", sent.escape_ascii());
            let mut pieces = Vec::new();
            let mut rest = sent.as_slice();
            while !rest.is_empty() {
                let (piece, later) = rest.split_at(rng.usize(1..=rest.len().min(30)));
                pieces.push(piece);
                rest = later;
            }
            assert_eq!(decode(pieces), whole, "{}", sent.escape_ascii());
        }
    }

    #[test]
    fn lines_are_as_long_as_they_may_be_however_they_are_cut() {
        for (before, error) in [
            ("", "ERR Protocol error: too big inline request"),
            ("*", "ERR Protocol error: too big mbulk count string"),
            ("*1\r\n$", "ERR Protocol error: too big bulk count string"),
        ] {
            let start = before.rfind('$').or(before.rfind('*')).unwrap_or(0);
            let line = |length: usize| {
                let mut sent = before.as_bytes().to_vec();
                sent.resize(start + length, b'1');
                sent.extend_from_slice(b"\r\n");
                sent
            };
            for (length, is_too_long) in [(LONGEST_LINE - 1, false), (LONGEST_LINE + 1, true)] {
                let sent = line(length);
                for pieces in [sent.chunks(sent.len()), sent.chunks(1000)] {
                    let (_, broken) = decode(pieces);
                    let told = broken.map(|broken| broken.to_string());
                    assert_eq!(told.as_deref() == Some(error), is_too_long, "{before} {length}: {told:?}");
                }
            }
        }
    }

    #[test]
    fn what_was_only_announced_takes_no_memory() {
        let mut decoder = Decoder::default();
        for announced in ["*2147483647\r\n", "$536870912\r\n"] {
            decoder.feed(announced.as_bytes());
            assert!(matches!(decoder.next_command(), Ok(None)));
        }
        assert!(decoder.buffer.capacity() < 100 && decoder.found.capacity() == 0);
    }

    #[test]
    fn a_buffer_does_not_stay_large() {
        let mut decoder = Decoder::default();
        let mut sent = Vec::new();
        crate::reply::command(&mut sent, &[b"SET", b"k", &vec![0; 4 << 20]]);
        for piece in sent.chunks(READ) {
            decoder.feed(piece);
        }
        assert_eq!(decoder.next_command().map(|args| args.map(|args| args.len())), Ok(Some(3)));
        decoder.feed(b"PING\n");
        assert!(decoder.buffer.capacity() <= KEPT);
        assert_eq!(
            decoder.next_command().map(|args| args.map(|args| args[0].to_vec())),
            Ok(Some(b"PING".to_vec()))
        );
    }

    #[test]
    fn a_pipeline_moves_each_byte_no_more_than_once() {
        let mut decoder = Decoder::default();
        let mut sent = Vec::new();
        (0..1000).for_each(|_| crate::reply::command(&mut sent, &[b"GET", b"key"]));
        let mut commands = 0;
        for piece in sent.chunks(100) {
            decoder.feed(piece);
            while let Ok(Some(_)) = decoder.next_command() {
                commands += 1;
            }
            assert!(decoder.buffer.len() <= 2 * 100 + 30);
        }
        assert_eq!((commands, decoder.waiting()), (1000, 0));
    }

    #[test]
    fn what_is_broken_stays_broken() {
        let mut decoder = Decoder::default();
        decoder.feed(b"*1\r\n:1\r\n");
        let broken = Broken(Some(Fault::of("ERR Protocol error: expected '$', got ':'")));
        assert_eq!(decoder.next_command().err(), Some(broken.clone()));
        decoder.feed(b"PING\r\n");
        assert_eq!(decoder.next_command().err(), Some(broken));
    }
}
