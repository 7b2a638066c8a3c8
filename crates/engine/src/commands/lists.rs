//! To come.

use super::Command;

pub(crate) const COMMANDS: &[Command] = &[];
