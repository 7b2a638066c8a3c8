//! A Redis command as data.

use std::fmt;

use crate::KeyInfo;

/// A command and the key family it is for.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a command does nothing until it is sent"]
pub struct Command {
    name: &'static str,
    info: &'static KeyInfo,
    args: Vec<Vec<u8>>,
}

impl Command {
    pub(crate) fn new(name: &'static str, info: &'static KeyInfo) -> Self {
        Self { name, info, args: Vec::new() }
    }

    pub(crate) fn arg(mut self, arg: impl AsRef<[u8]>) -> Self {
        self.args.push(arg.as_ref().to_vec());
        self
    }

    /// The command's name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Its arguments, the key first.
    #[must_use]
    pub fn args(&self) -> &[Vec<u8>] {
        &self.args
    }

    /// What the contract says about the key.
    #[must_use]
    pub fn info(&self) -> &'static KeyInfo {
        self.info
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)?;
        for arg in &self.args {
            match std::str::from_utf8(arg) {
                Ok(text)
                    if !text.is_empty()
                        && text.bytes().all(|b| b.is_ascii_graphic() && b != b'"' && b != b'\\') =>
                {
                    write!(f, " {text}")?
                }
                _ => write!(f, " \"{}\"", arg.escape_ascii())?,
            }
        }
        Ok(())
    }
}
