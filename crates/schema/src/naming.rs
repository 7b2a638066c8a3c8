//! How a deployment spells keys: its namespace, and whether hash tags are on.

use crate::language::{Language, Part};
use crate::model::{Contract, Key, Param, Tag};
use crate::pattern::{Pattern, Segment};
use crate::read::is_namespace_part;

/// How keys are spelled. The contract's own namespace and plain names are the default.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Naming {
    /// Put before every key with `:`; may be empty.
    pub namespace: String,
    /// Whether hash tags are written: on Cluster they must be, elsewhere names stay plain.
    pub hash_tags: bool,
}

/// Why a naming cannot be used with a contract.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NamingError {
    /// The namespace has characters that would change the meaning of keys.
    #[error("`{0}` cannot be a namespace: use letters, digits, `_`, `-`, `.`, with `:` between")]
    Namespace(String),
    /// Keys are tagged by the namespace, and there is none.
    #[error("contract {contract} tags its keys by the namespace, so with hash tags on it needs one")]
    NoNamespace {
        /// The contract.
        contract: String,
    },
}

impl Naming {
    /// The contract's own namespace, plain names.
    #[must_use]
    pub fn plain(contract: &Contract) -> Self {
        Self { namespace: contract.namespace.clone(), hash_tags: false }
    }

    /// The contract's own namespace, hash tags written.
    #[must_use]
    pub fn tagged(contract: &Contract) -> Self {
        Self { hash_tags: true, ..Self::plain(contract) }
    }

    /// The same with another namespace.
    #[must_use]
    pub fn in_namespace(self, namespace: impl Into<String>) -> Self {
        Self { namespace: namespace.into(), ..self }
    }

    /// Whether the contract's keys can be spelled this way.
    pub fn check(&self, contract: &Contract) -> Result<(), NamingError> {
        if !self.namespace.is_empty() && !self.namespace.split(':').all(is_namespace_part) {
            return Err(NamingError::Namespace(self.namespace.clone()));
        }
        let by_namespace = contract.keys.iter().any(|key| key.tag == Some(Tag::Namespace));
        if self.hash_tags && self.namespace.is_empty() && by_namespace {
            return Err(NamingError::NoNamespace { contract: contract.name.clone() });
        }
        Ok(())
    }

    /// The whole pattern of a key on the wire, with namespace and hash tag.
    #[must_use]
    pub fn pattern(&self, key: &Key) -> Pattern {
        let own = key.pattern.as_str();
        let text = match (&key.tag, self.hash_tags) {
            (Some(Tag::Part { text, start }), true) => {
                let (before, after) = (&own[..*start], &own[start + text.len()..]);
                self.prefixed(&format!("{before}{{{text}}}{after}"))
            }
            (Some(Tag::Namespace), true) if !self.namespace.is_empty() => {
                format!("{{{}}}:{own}", self.namespace)
            }
            _ => self.prefixed(own),
        };
        Pattern::assembled(text)
    }

    fn prefixed(&self, pattern: &str) -> String {
        if self.namespace.is_empty() { pattern.to_owned() } else { format!("{}:{pattern}", self.namespace) }
    }
}

/// All texts that a run of segments can have, for reading or for writing.
pub(crate) fn language(contract: &Contract, segments: &[Segment], reading: bool) -> Language {
    let mut language = Language::default();
    for (index, segment) in segments.iter().enumerate() {
        if index > 0 {
            language.literal(":");
        }
        language.literal(&segment.prefix);
        if let Some(param) = segment.param.as_deref().and_then(|name| contract.param(name)) {
            language.push(Part::Value(check(param, reading)));
        }
        language.literal(&segment.suffix);
    }
    language
}

fn check(param: &Param, reading: bool) -> std::sync::Arc<crate::dfa::Dfa> {
    if reading { param.read_check.clone() } else { param.check.clone() }
}
