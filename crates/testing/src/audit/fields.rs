//! Fields of hashes that a contract does not name.

use keyplane_schema::{Contract, Key};

/// The fields that none of the key's declared ones covers. A hash without declared fields may have any.
pub(super) fn unknown(contract: &Contract, key: &Key, present: &[Vec<u8>]) -> Vec<String> {
    if contract.fields_of(key).next().is_none() {
        return Vec::new();
    }
    let strange = present.iter().filter(|field| contract.field(key, field).is_none());
    strange.map(|field| String::from_utf8_lossy(field).into_owned()).collect()
}
