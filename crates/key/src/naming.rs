//! How a deployment spells keys.

use std::fmt;

/// The namespace of a deployment, and whether hash tags are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Naming {
    namespace: String,
    hash_tags: bool,
}

/// Why keys cannot be spelled that way.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum NamingError {
    /// The namespace would change the meaning of keys.
    Namespace(String),
    /// Keys are tagged by the namespace, and there is none.
    NoNamespace,
}

impl fmt::Display for NamingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Namespace(namespace) => {
                write!(
                    f,
                    "`{namespace}` cannot be a namespace: use letters, digits, `_`, `-`, `.`, with `:` between"
                )
            }
            Self::NoNamespace => {
                f.write_str("keys are tagged by the namespace, so with hash tags on they need one")
            }
        }
    }
}

impl std::error::Error for NamingError {}

impl Naming {
    /// A namespace (may be empty) and whether hash tags are written: on Cluster they must be, elsewhere names stay plain.
    pub fn new(namespace: impl Into<String>, hash_tags: bool) -> Result<Self, NamingError> {
        let namespace = namespace.into();
        let usable = |part: &str| {
            !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(&b))
        };
        if namespace.is_empty() || namespace.split(':').all(usable) {
            Ok(Self { namespace, hash_tags })
        } else {
            Err(NamingError::Namespace(namespace))
        }
    }

    /// The same, if the keys of a contract can be spelled so. Generated code calls this.
    pub fn check(self, tagged_by_namespace: bool) -> Result<Self, NamingError> {
        if tagged_by_namespace && self.hash_tags && self.namespace.is_empty() {
            Err(NamingError::NoNamespace)
        } else {
            Ok(self)
        }
    }

    /// The namespace a contract names itself. Generated code calls this with a checked constant.
    #[must_use]
    pub fn of_contract(namespace: &'static str) -> Self {
        Self { namespace: namespace.to_owned(), hash_tags: false }
    }

    /// The namespace; may be empty.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Whether hash tags are written.
    #[must_use]
    pub fn hash_tags(&self) -> bool {
        self.hash_tags
    }

    /// Starts a key: the namespace and `:`, in braces when it is the hash tag. Generated code calls this.
    #[must_use]
    pub fn start(&self, tagged: bool, capacity: usize) -> String {
        let mut key = String::with_capacity(self.namespace.len() + 3 + capacity);
        if self.namespace.is_empty() {
            return key;
        }
        let braces = tagged && self.hash_tags;
        key.push_str(if braces { "{" } else { "" });
        key.push_str(&self.namespace);
        key.push_str(if braces { "}:" } else { ":" });
        key
    }

    /// A brace of the hash tag where tags are on. Generated code calls this.
    pub fn brace(&self, key: &mut String, brace: char) {
        if self.hash_tags {
            key.push(brace);
        }
    }
}
