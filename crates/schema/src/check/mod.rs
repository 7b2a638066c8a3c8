//! Is a contract sound? Every rule that needs more than one line of the file.

mod life;
mod limits;
mod names;
pub(crate) mod overlap;
mod owners;
mod reach;
mod slots;
mod ttl;

use crate::diagnostic::Diagnostic;
use crate::model::Contract;

/// All findings about a contract that could be read. Later rules rely on earlier ones, so they run only on a contract
/// whose names are all known.
pub(crate) fn all(contract: &Contract) -> Vec<Diagnostic> {
    let mut found = names::check(contract);
    if !found.is_empty() {
        return found;
    }
    found.extend(overlap::check(contract));
    found.extend(slots::check(contract));
    found.extend(ttl::check(contract));
    found.extend(limits::check(contract));
    found.extend(owners::check(contract));
    found.extend(life::check(contract));
    if found.is_empty() {
        found.extend(reach::check(contract));
    }
    found
}
