//! Checks of placeholders, as tables that the macro wrote.

use std::fmt;

/// A deterministic automaton over bytes: state 0 is dead, state 1 is the start.
#[derive(Debug, Clone, Copy)]
pub struct Check {
    /// The class of every byte.
    pub classes: &'static [u8; 256],
    /// How many classes there are: the width of a row in `next`.
    pub width: usize,
    /// The next state by state and class.
    pub next: &'static [u16],
    /// Which states accept.
    pub accept: &'static [bool],
}

impl Check {
    /// Whether the whole value passes.
    #[must_use]
    pub fn accepts(&self, value: &str) -> bool {
        let mut state = 1;
        for byte in value.bytes() {
            let class = usize::from(self.classes[usize::from(byte)]);
            state = self.next.get(state * self.width + class).map_or(0, |&next| usize::from(next));
            if state == 0 {
                return false;
            }
        }
        self.accept.get(state).copied().unwrap_or(false)
    }
}

/// A value that is not one of its placeholder's. Nothing was built from it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParamError {
    /// The placeholder.
    pub param: &'static str,
    /// The value that was refused.
    pub value: String,
    /// What would pass.
    pub expected: &'static str,
}

impl ParamError {
    /// A refusal. Generated code calls this.
    #[must_use]
    pub fn new(param: &'static str, value: impl Into<String>, expected: &'static str) -> Self {
        Self { param, value: value.into(), expected }
    }
}

impl fmt::Display for ParamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is not a <{}>: {}", self.value, self.param, self.expected)
    }
}

impl std::error::Error for ParamError {}
