//! Reading a log back.

use std::io::{self, BufReader, Read};

use super::frame::{Chain, FIRST_LINE, HEAD, Head};
use crate::engine::Engine;
use crate::fault::Fault;

/// What was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Loaded {
    /// Whole steps.
    pub steps: u64,
    /// Where the last of them ends: what follows is to be cut off.
    pub end: u64,
    /// Bytes of a step that was not written to its end, which nobody was told of as done.
    pub torn: u64,
    /// To go on with.
    pub chain: Chain,
}

/// Why a log is not used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It does not begin like one.
    #[error("this is not a log of this store: it does not begin with \"#keyplane log\"")]
    NotALog,
    /// It was written by a later version.
    #[error("the log has format {0}, and this version reads format 1; use the version that wrote it")]
    Version(String),
    /// Something was changed where nothing may change.
    #[error(
        "the log is damaged at byte {offset}: {why}; restore the file, or cut it there to keep what is before"
    )]
    Damaged {
        /// Where the damaged step begins.
        offset: u64,
        /// What is wrong.
        why: String,
    },
}

/// Brings an empty engine to where the log ends. Nothing ends by time while this goes on.
pub fn load(log: impl Read, engine: &mut Engine) -> Result<Loaded, LogError> {
    let mut log = BufReader::with_capacity(1 << 20, log);
    let first = read_up_to(&mut log, FIRST_LINE.len())?;
    let mut loaded = Loaded { steps: 0, end: 0, torn: 0, chain: Chain::begin(&mut Vec::new()) };
    if first != FIRST_LINE {
        // A file that was begun and not gone on with.
        if FIRST_LINE.starts_with(&first) {
            return Ok(Loaded { torn: first.len() as u64, ..loaded });
        }
        return Err(not_ours(&first));
    }
    loaded.end = FIRST_LINE.len() as u64;
    let mut loader = engine.begin_loading();
    loop {
        let offset = loaded.end;
        let damaged = |why: String| LogError::Damaged { offset, why };
        let line = read_up_to(&mut log, HEAD)?;
        if line.len() < HEAD {
            loaded.torn = line.len() as u64;
            break;
        }
        let Some(head) = Head::parse(&line) else {
            loaded.torn = rest_of_zeros(&line, &mut log)?
                .ok_or_else(|| damaged("the line before the step was changed".to_owned()))?;
            break;
        };
        let step = read_up_to(&mut log, usize::try_from(head.length).unwrap_or(usize::MAX))?;
        if (step.len() as u64) < head.length {
            loaded.torn = (line.len() + step.len()) as u64;
            break;
        }
        if loaded.chain.with(&step) != head.checksum {
            // What a file system had made room for and not written yet when the power went.
            let zeros = step.iter().rev().take_while(|byte| **byte == 0).count();
            let unwritten = if zeros > 0 { rest_of_zeros(&[], &mut log)? } else { None };
            let rest = unwritten.ok_or_else(|| damaged("the step was changed".to_owned()))?;
            loaded.torn = (line.len() + step.len()) as u64 + rest;
            break;
        }
        loader.step(engine, &step).map_err(|fault| damaged(format!("a command is refused: {fault}")))?;
        loaded.chain = Chain::after(head.checksum);
        loaded.end += (HEAD + step.len()) as u64;
        loaded.steps += 1;
    }
    loader.end(engine);
    Ok(loaded)
}

fn not_ours(first: &[u8]) -> LogError {
    match first.strip_prefix(b"#keyplane log ") {
        Some(version) => LogError::Version(String::from_utf8_lossy(version).trim().to_owned()),
        None => LogError::NotALog,
    }
}

/// Grows with what is there, not with what was announced.
fn read_up_to(from: &mut impl Read, most: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(most as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// How many bytes are left, when these and all of them are zero.
fn rest_of_zeros(begun: &[u8], rest: &mut impl Read) -> io::Result<Option<u64>> {
    if begun.iter().any(|byte| *byte != 0) {
        return Ok(None);
    }
    let mut count = begun.len() as u64;
    let mut buffer = [0; 8192];
    loop {
        match rest.read(&mut buffer)? {
            0 => return Ok(Some(count)),
            read if buffer[..read].iter().any(|byte| *byte != 0) => return Ok(None),
            read => count += read as u64,
        }
    }
}

/// The commands of a step.
pub(crate) fn commands(step: &[u8]) -> Result<Vec<Vec<&[u8]>>, Fault> {
    const BROKEN: Fault = Fault::of("ERR not a command");
    let mut all = Vec::new();
    let mut rest = step;
    while !rest.is_empty() {
        let count = number(&mut rest, b'*').ok_or(BROKEN)?;
        let mut args = Vec::new();
        for _ in 0..count {
            let length = number(&mut rest, b'$').ok_or(BROKEN)?;
            let (arg, after) = rest.split_at_checked(length).ok_or(BROKEN)?;
            rest = after.strip_prefix(b"\r\n").ok_or(BROKEN)?;
            args.push(arg);
        }
        all.push(args);
    }
    Ok(all)
}

fn number(rest: &mut &[u8], mark: u8) -> Option<usize> {
    let line = rest.iter().position(|byte| *byte == b'\r')?;
    let (head, after) = rest.split_at_checked(line)?;
    let digits = head.strip_prefix(&[mark])?;
    *rest = after.strip_prefix(b"\r\n")?;
    usize::try_from(crate::number::parse_int(digits)?).ok()
}
