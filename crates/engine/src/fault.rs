//! Errors that a command is answered with, in Redis's own words.

use std::borrow::Cow;

/// An error reply: a code in capitals, a space, a text. Bytes, because it may quote what a client sent.
#[derive(Clone, PartialEq, Eq)]
pub struct Fault(Cow<'static, [u8]>);

pub(crate) const SYNTAX: Fault = Fault::of("ERR syntax error");
pub(crate) const WRONG_TYPE: Fault =
    Fault::of("WRONGTYPE Operation against a key holding the wrong kind of value");
pub(crate) const NOT_AN_INTEGER: Fault = Fault::of("ERR value is not an integer or out of range");
pub(crate) const NOT_A_FLOAT: Fault = Fault::of("ERR value is not a valid float");
pub(crate) const NO_SUCH_KEY: Fault = Fault::of("ERR no such key");
pub(crate) const OUT_OF_RANGE: Fault = Fault::of("ERR index out of range");
pub(crate) const OVERFLOW: Fault = Fault::of("ERR increment or decrement would overflow");
pub(crate) const TOO_LONG: Fault = Fault::of("ERR string exceeds maximum allowed size (proto-max-bulk-len)");

impl Fault {
    /// With a fixed text.
    #[must_use]
    pub const fn of(text: &'static str) -> Self {
        Self(Cow::Borrowed(text.as_bytes()))
    }

    /// With a text made for the occasion.
    pub(crate) fn new(text: impl Into<Vec<u8>>) -> Self {
        Self(Cow::Owned(text.into()))
    }

    /// Without line ends, which would end the reply.
    pub(crate) fn line(&self) -> impl Iterator<Item = u8> + '_ {
        self.0.iter().map(|byte| if matches!(byte, b'\r' | b'\n') { b' ' } else { *byte })
    }

    /// The whole text.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The first word.
    #[must_use]
    pub fn code(&self) -> &[u8] {
        self.0.split(|byte| *byte == b' ').next().unwrap_or_default()
    }

    pub(crate) fn arity(command: &str) -> Self {
        Self::new(format!("ERR wrong number of arguments for '{command}' command"))
    }
}

impl std::fmt::Debug for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0.escape_ascii())
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", String::from_utf8_lossy(&self.0))
    }
}
