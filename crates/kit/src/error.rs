//! What is wrong with a contract that a primitive is asked to work on.

use keyplane_key::{Key, KeyInfo, Kind};
use keyplane_schema::ValueType;
use keyplane_store::Handle;

/// A primitive cannot work on this key. Mend the contract or the program; nothing was sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SetupError {
    /// The key has no helper keys of this primitive.
    #[error("`{key}` has no {kit}: say `use = {{ kit = \"{kit}\" }}` on it in the contract")]
    NoHelper {
        /// The key's name in the contract.
        key: &'static str,
        /// The primitive.
        kit: &'static str,
    },
    /// The key's TTL is of no use to this primitive.
    #[error("`{key}` lives by `{policy}`, and the {kit} needs {needs}")]
    Ttl {
        /// The key's name in the contract.
        key: &'static str,
        /// The primitive.
        kit: &'static str,
        /// Its policy.
        policy: String,
        /// What would do.
        needs: &'static str,
    },
    /// The scores of the key are not what this primitive keeps in them.
    #[error("the score of `{key}` is {score}, and the {kit} needs {needs}")]
    Score {
        /// The key's name in the contract.
        key: &'static str,
        /// The primitive.
        kit: &'static str,
        /// What the contract says.
        score: String,
        /// What would do.
        needs: &'static str,
    },
    /// The key is not in the contract of the handle.
    #[error("`{key}` is not in the contract `{contract}` of this handle")]
    Foreign {
        /// The key's name.
        key: &'static str,
        /// The contract of the handle.
        contract: String,
    },
    /// The contract says nothing of a field that the primitive keeps.
    #[error("`{key}` has no field `{field}` of the right type, and the {kit} needs {needs}")]
    Field {
        /// The key's name in the contract.
        key: &'static str,
        /// The primitive.
        kit: &'static str,
        /// The field.
        field: String,
        /// What it would be for.
        needs: &'static str,
    },
}

/// The key that a primitive keeps beside another.
pub(crate) fn helper<K: Kind, H: Kind>(
    key: &Key<K>,
    kit: &'static str,
    role: &str,
) -> Result<Key<H>, SetupError> {
    key.helper(kit, role).ok_or(SetupError::NoHelper { key: key.info().name, kit })
}

/// What the contract of the handle says about a key.
pub(crate) fn known<'h>(
    handle: &'h Handle,
    info: &'static KeyInfo,
) -> Result<&'h keyplane_schema::Key, SetupError> {
    let contract = handle.contract();
    let key = contract.key(info.name).filter(|_| contract.name == info.contract);
    key.ok_or_else(|| SetupError::Foreign { key: info.name, contract: contract.name.clone() })
}

/// The score is of no use to a primitive.
pub(crate) fn score(
    key: &'static KeyInfo,
    kit: &'static str,
    score: Option<&ValueType>,
    needs: &'static str,
) -> SetupError {
    let score = score.map_or_else(|| "not said".to_owned(), ToString::to_string);
    SetupError::Score { key: key.name, kit, score, needs }
}

/// The TTL is of no use to a primitive.
pub(crate) fn ttl(
    key: &'static KeyInfo,
    kit: &'static str,
    found: &keyplane_schema::Policy,
    needs: &'static str,
) -> SetupError {
    SetupError::Ttl { key: key.name, kit, policy: found.word().to_owned(), needs }
}
