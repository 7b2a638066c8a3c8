//! The rules of a family's fields, for scripts of one's own.

use keyplane_key::KeyInfo;
use keyplane_store::Handle;

use super::error::CommitError;
use super::rules::Rules;
use crate::error::SetupError;

/// What the contract says about the fields of a family: names, types, limits, owners, moves.
#[derive(Debug)]
pub struct Fields(Rules);

impl Fields {
    /// Of that family, as the component that the handle was opened as.
    pub fn of(handle: &Handle, family: &'static KeyInfo) -> Result<Self, SetupError> {
        Rules::new(handle, family).map(Self)
    }

    /// Whether a field may be given this value. `version` and `horizon` are nobody's to give.
    pub fn check(&self, field: &str, value: &[u8]) -> Result<(), CommitError> {
        self.0.check_field(field, Some(value))
    }

    /// The fields that every record has.
    pub fn required(&self) -> impl Iterator<Item = &str> {
        self.0.required()
    }

    /// The states from which a field may move to this one, between commas; nothing where the contract names no moves.
    #[must_use]
    pub fn leading_to(&self, field: &str, value: &str) -> &str {
        self.0.moves_to(field, value.as_bytes()).unwrap_or_default()
    }
}
