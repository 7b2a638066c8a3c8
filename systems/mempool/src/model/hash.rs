//! Names of transactions and blocks.

use std::fmt;
use std::str::FromStr;

/// A text that is no hash.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` is not a hash: {why}")]
pub struct NotAHash {
    given: String,
    why: &'static str,
}

macro_rules! hashes {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name([u8; 32]);

        impl $name {
            /// From its bytes.
            #[must_use]
            pub const fn new(bytes: [u8; 32]) -> Self {
                Self(bytes)
            }

            /// From bytes of any length.
            pub fn from_slice(bytes: &[u8]) -> Result<Self, NotAHash> {
                let why = "a hash has 32 bytes";
                bytes.try_into().map(Self).map_err(|_| NotAHash { given: shortened(&hex::encode(bytes)), why })
            }

            /// Its bytes.
            #[must_use]
            pub fn bytes(&self) -> &[u8; 32] {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let mut text = [0; 64];
                hex::encode_to_slice(self.0, &mut text).map_err(|_| fmt::Error)?;
                f.write_str(std::str::from_utf8(&text).map_err(|_| fmt::Error)?)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{self}")
            }
        }

        impl FromStr for $name {
            type Err = NotAHash;

            fn from_str(text: &str) -> Result<Self, NotAHash> {
                let mut bytes = [0; 32];
                let refuse = |why| NotAHash { given: shortened(text), why };
                if text.len() != 64 {
                    return Err(refuse("a hash has 64 hexadecimal digits"));
                }
                hex::decode_to_slice(text, &mut bytes).map_err(|_| refuse("only 0-9 and a-f belong into it"))?;
                Ok(Self(bytes))
            }
        }
    )*};
}

hashes! {
    /// The id of a transaction: BLAKE2b-256 of its body.
    TxHash;
    /// The hash of a block's header.
    BlockHash;
}

/// Whatever was given, it is not repeated at length.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(80) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
