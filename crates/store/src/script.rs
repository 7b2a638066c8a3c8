//! A script call becomes what is sent: EVALSHA, or EVALSHA_RO for those that only read, so that users who may only read can
//! run them. TTLs come from the contract.

use keyplane_key::{Call, ScriptArg};

use crate::core::Core;
use crate::error::Cause;
use crate::rules::Rules;
use crate::slot::Slot;
use crate::wire::Request;

/// By its SHA; `Request::with_source` is the same for a server that does not know it.
pub(crate) fn by_sha<R>(rules: &Rules, call: &Call<R>) -> Request {
    let name = if call.script().read_only { "EVALSHA_RO" } else { "EVALSHA" };
    let script = call.script().sha;
    let (keys, args) = (call.keys(), call.args());
    let count = keys.len() + args.len() + call.script().args.len() + 2;
    let mut request = Request::sized(name, count, keys.bytes() + args.bytes() + script.len() + 16 * count);
    request.push(script.as_bytes());
    request.push_number(keys.len() as u64);
    keys.iter().for_each(|key| request.push(key));
    let mut own = args.iter();
    for arg in call.script().args {
        match arg {
            ScriptArg::Ttl(key) => request.push_number(rules.script_ttl(call, key)),
            ScriptArg::Value => {
                if let Some(value) = own.next() {
                    request.push(value);
                }
            }
        }
    }
    // The last one may repeat.
    own.for_each(|value| request.push(value));
    request
}

/// The slot of all its keys, which must agree on a cluster.
pub(crate) fn slot<R>(call: &Call<R>, core: &Core) -> Result<Slot, Cause> {
    let mut slots = call.keys().iter().map(|key| core.slot(key));
    let first = slots.next().unwrap_or_default();
    match slots.find(|slot| *slot != first) {
        Some(other) => Err(Cause::CrossSlot(first.number(), other.number())),
        None => Ok(first),
    }
}
