//! The cluster as one of its nodes sees it.

use std::collections::HashMap;

use serde_json::json;

use super::check::Check;
use crate::members::NoAnswer;
use crate::words::count;

const SLOTS: u64 = 16_384;

pub(super) fn cluster(address: &str, info: &Result<HashMap<String, String>, NoAnswer>) -> Check {
    let info = match info {
        Ok(info) => info,
        Err(why) => return Check::unknown("cluster", "CLUSTER INFO", why),
    };
    let number = |name: &str| info.get(name).and_then(|value| value.parse::<u64>().ok()).unwrap_or(0);
    let (slots, nodes, masters) =
        (number("cluster_slots_ok"), number("cluster_known_nodes"), number("cluster_size"));
    let state = info.get("cluster_state").map_or("unknown", String::as_str);
    let fact = format!(
        "{state}: {slots} of {SLOTS} slots served, by {}; {} in all",
        count(masters, "master"),
        count(nodes, "node")
    );
    let look = format!("redis-cli --cluster check {address}");
    let check = if state == "ok" && slots == SLOTS {
        Check::good("cluster", fact)
    } else {
        Check::bad("cluster", format!("{fact}: keys of other slots cannot be had"), look)
    };
    check.numbers(json!({ "state": state, "slots_ok": slots, "nodes": nodes, "masters": masters }))
}

/// A master that the cluster knows and we cannot reach.
pub(super) fn missing(why: &str) -> Check {
    Check::bad(
        "reached",
        why,
        "start it, or let its replica take over: CLUSTER FAILOVER TAKEOVER, sent to that replica",
    )
}

#[cfg(test)]
mod tests {
    use super::super::check::State;
    use super::*;

    #[test]
    fn a_cluster_is_good_when_it_says_so_and_has_all_slots() {
        let state = |state: &str, slots: &str| {
            let pairs = [("cluster_state", state), ("cluster_slots_ok", slots)];
            let info = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
            cluster("a:1", &Ok(info)).state
        };
        assert_eq!(state("ok", "16384"), State::Good);
        assert_eq!(state("ok", "16383"), State::Bad);
        assert_eq!(state("fail", "16384"), State::Bad);
        assert_eq!(cluster("a:1", &Err(NoAnswer::NotPermitted)).state, State::Unknown);
    }
}
