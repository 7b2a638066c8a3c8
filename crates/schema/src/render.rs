//! A concrete key from typed parameters.

use crate::model::{Contract, Key, Param};
use crate::naming::Naming;

/// Why a key could not be rendered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RenderError {
    /// A placeholder has no value.
    #[error("key {key} needs <{param}> ({hint})")]
    Missing {
        /// The key.
        key: String,
        /// The placeholder.
        param: String,
        /// What it takes.
        hint: String,
    },
    /// A value does not pass its check.
    #[error("{value:?} is not a <{param}>: {hint}")]
    Refused {
        /// The placeholder.
        param: String,
        /// The value.
        value: String,
        /// What would pass.
        hint: String,
    },
    /// The key has no such placeholder.
    #[error("key {key} has no <{param}>; it takes {takes}")]
    Unknown {
        /// The key.
        key: String,
        /// The name given.
        param: String,
        /// The names it has.
        takes: String,
    },
}

/// What a key is rendered for: legacy ids may be read, never written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// To read: legacy ids pass.
    Read,
    /// To write: only ids of the current shape.
    Write,
}

impl Key {
    /// The key with these values. The result matches this key's pattern and no other of the contract.
    ///
    /// ```
    /// # let contract = keyplane_schema::parse("keys.toml", r#"
    /// # [contract]
    /// # name = "demo"
    /// # version = "1.0"
    /// # doc = "Demo."
    /// # [param]
    /// # symbol = { text = true }
    /// # [component]
    /// # app = "App."
    /// # [key.book]
    /// # pattern = "ob:<symbol>"
    /// # type = "hash"
    /// # ttl = { policy = "none" }
    /// # doc = "Book."
    /// # writes = ["app"]
    /// # "#).unwrap();
    /// use keyplane_schema::{Naming, Purpose};
    /// let key = contract.key("book").unwrap();
    /// let text = key.render(&contract, &Naming::plain(&contract), Purpose::Write, &[("symbol", "BTCUSDT")]).unwrap();
    /// assert_eq!(text, "ob:BTCUSDT");
    /// ```
    pub fn render(
        &self,
        contract: &Contract,
        naming: &Naming,
        purpose: Purpose,
        values: &[(&str, &str)],
    ) -> Result<String, RenderError> {
        if let Some((param, _)) =
            values.iter().find(|(name, _)| !self.pattern.params().any(|param| param == *name))
        {
            let takes: Vec<String> = self.pattern.params().map(|name| format!("<{name}>")).collect();
            let takes = if takes.is_empty() { "no placeholders".to_owned() } else { takes.join(", ") };
            return Err(RenderError::Unknown { key: self.name.clone(), param: (*param).to_owned(), takes });
        }
        naming.pattern(self).fill(|name| {
            let hint = || contract.param(name).map(Param::describe).unwrap_or_default();
            let value = values.iter().find(|(param, _)| *param == name).map(|(_, value)| *value);
            let value = value.ok_or_else(|| RenderError::Missing {
                key: self.name.clone(),
                param: name.to_owned(),
                hint: hint(),
            })?;
            let passes = contract.param(name).is_some_and(|param| match purpose {
                Purpose::Read => param.accepts_for_reading(value),
                Purpose::Write => param.accepts(value),
            });
            if passes {
                Ok(value)
            } else {
                Err(RenderError::Refused { param: name.to_owned(), value: value.to_owned(), hint: hint() })
            }
        })
    }
}

impl Param {
    /// What it accepts, in words.
    #[must_use]
    pub fn describe(&self) -> String {
        use crate::model::ParamKind;
        let mut text = match &self.kind {
            ParamKind::Text => "any text".to_owned(),
            ParamKind::Like(regex) => format!("like `{regex}`"),
            ParamKind::OneOf { words, open: false } => format!("one of {}", words.join(", ")),
            ParamKind::OneOf { words, open: true } => format!("text, such as {}", words.join(", ")),
            ParamKind::Int(range) => format!("a whole number, {range}"),
            ParamKind::Bytes(bytes) => format!("{bytes} raw bytes"),
            ParamKind::Hex(bytes) => format!("{bytes} bytes as {} lowercase hex digits", bytes * 2),
        };
        if !self.except.is_empty() {
            text.push_str(&format!(", but not {}", self.except.join(", ")));
        }
        if self.colons {
            text.push_str("; may hold `:`");
        }
        if let Some(legacy) = &self.legacy {
            text.push_str(&format!("; on reading also like `{legacy}`"));
        }
        text
    }
}
