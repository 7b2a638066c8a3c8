//! How long keys that a primitive writes live.

use std::time::Duration;

use keyplane_key::{KeyInfo, Policy};
use keyplane_store::Handle;

/// How long a key lives after a write. One that is linked to another lives twice that one's life: until the next horizon,
/// whenever that is drawn ([`record`](crate::record)).
pub(crate) fn lifetime(handle: &Handle, info: &KeyInfo) -> Option<Duration> {
    let own = handle.lifetime(info.name);
    match info.ttl.policy {
        Policy::Linked { to } => handle.lifetime(to).map(|parent| own.unwrap_or_default().max(2 * parent)),
        Policy::None | Policy::After { .. } => None,
        _ => own,
    }
}

/// The same in milliseconds; 0 is for ever.
pub(crate) fn millis(handle: &Handle, info: &KeyInfo) -> u64 {
    lifetime(handle, info).map_or(0, |lasts| u64::try_from(lasts.as_millis()).unwrap_or(u64::MAX))
}

/// How many members the contract lets a key have; 0 is any number.
pub(crate) fn most_members(handle: &Handle, info: &KeyInfo) -> u64 {
    handle.most_members(info.name).unwrap_or(0)
}
