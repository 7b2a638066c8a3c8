//! The five real contracts compile to typed keys, and these spell keys as the contracts do.
#![allow(missing_docs, unreachable_pub)]

mod mempool {
    keyplane_macros::keyspace!("../../systems/mempool/keys.toml");
}
mod docket {
    keyplane_macros::keyspace!("../../systems/docket/keys.toml");
}
mod market {
    keyplane_macros::keyspace!("../../systems/market/keys.toml");
}
mod swarm {
    keyplane_macros::keyspace!("../../systems/swarm/keys.toml");
}
mod sequencer {
    keyplane_macros::keyspace!("../../systems/sequencer/keys.toml");
}

use keyplane_key::Naming;

#[test]
fn a_namespace_that_holds_colons_is_the_hash_tag_of_the_mempool() {
    assert_eq!(mempool::Keyspace::default().pending().as_str(), "dolos:mempool:pending");
    let tagged = mempool::Keyspace::new(Naming::new("dolos:mempool", true).unwrap()).unwrap();
    assert_eq!(tagged.pending().as_str(), "{dolos:mempool}:pending");
}

#[test]
fn run_ids_hold_colons_and_plus_signs() {
    let run = docket::RunId::new("manual_2024-09-17T14:30:00+00:00").unwrap();
    let task = docket::TaskId::new("process_docket").unwrap();
    let key = docket::Keyspace::default().task_start(&run, &task);
    assert_eq!(key.as_str(), "courtlistener:task_start:manual_2024-09-17T14:30:00+00:00:process_docket");
}

#[test]
fn a_swarm_and_its_agents_share_a_slot_on_cluster() {
    let keys = swarm::Keyspace::new(Naming::new("", true).unwrap()).unwrap();
    let (swarm, agent) =
        (swarm::SwarmId::new("swarm_abc123def456").unwrap(), swarm::AgentId::new("agent_dev00001").unwrap());
    assert_eq!(keys.swarm(&swarm).as_str(), "swarm:{swarm_abc123def456}");
    assert_eq!(keys.agent(&swarm, &agent).as_str(), "swarm:{swarm_abc123def456}:agents:agent_dev00001");
}

#[test]
fn a_hash_tag_spans_two_segments_in_the_sequencer() {
    let protocol = sequencer::Protocol::new("0xE88E5f64AEB483d7057645326AdDFA24A3B312DF").unwrap();
    let market = sequencer::Market::new("0x21cb57C1f2352ad215a463DD867b838749CD3b8f").unwrap();
    let keys = sequencer::Keyspace::new(Naming::new("", true).unwrap()).unwrap();
    assert_eq!(
        keys.submission_queue(&protocol, &market).as_str(),
        "{0xE88E5f64AEB483d7057645326AdDFA24A3B312DF:0x21cb57C1f2352ad215a463DD867b838749CD3b8f}:submissionQueue"
    );
}

#[test]
fn the_temporary_book_is_beside_the_book() {
    let symbol = market::Symbol::new("BTCUSDT").unwrap();
    let keys = market::Keyspace::default();
    assert_eq!((keys.ob(&symbol).as_str(), keys.ob_new(&symbol).as_str()), ("ob:BTCUSDT", "ob:new:BTCUSDT"));
    assert!(market::Symbol::new("new").is_err());
}
