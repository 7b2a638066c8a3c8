//! The simulated fleet, in virtual time.

use std::time::Duration;

use keyplane_swarm::run::{Sim, sim_settings};
use keyplane_swarm::state::Filter;
use keyplane_testing::VirtualEngine;

use crate::timed::swarms_with;

#[tokio::test(start_paused = true)]
async fn a_fleet_claims_works_votes_falls_silent_loses_records_and_is_recovered() {
    let engine = VirtualEngine::start(1);
    let swarms = swarms_with(&engine, sim_settings()).await;
    let sim = Sim::start(swarms.clone(), 60, 7).await.unwrap();
    for _ in 0..40 {
        engine.advance(Duration::from_secs(1)).await;
    }
    let picture = sim.picture().await.unwrap();
    for (name, count) in picture.counts {
        assert!(count > 0, "{name}: {picture:#?}");
    }
    assert_eq!(picture.agents.values().sum::<u64>(), 60, "nobody is lost for good");
    assert!(picture.tasks["completed"] > 100 && picture.checkpoint.is_some(), "{picture:#?}");
    let told = |words: &str| picture.news.iter().filter(|news| news.what.contains(words)).count();
    assert!(told("of its records are lost") >= 2 && told("records came back") >= 2, "{picture:#?}");
    assert_eq!((told("recovered: 0 records"), told("not recovered yet")), (0, 0), "{picture:#?}");
    let listed = swarms.list(&Filter::default()).await.unwrap();
    assert_eq!(listed.len(), 1, "others find it");
}
