//! Machines that change the same records in a simulated network, while they crash, are held up and cut off. Then what they
//! know is held against what is there: no update is lost, versions are contiguous, events are neither lost nor reordered,
//! and indexes are what a rebuild would give.
//!
//! `KEYPLANE_SEED` chooses one seed, for a run that failed: it is made smaller until every fault that is left is needed, and
//! its steps are told.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod machine;
mod model;
#[path = "../suite/setup.rs"]
#[allow(dead_code)]
mod setup;
mod world;

use keyplane_testing::{chosen_seed, over_seeds, seeds};
use model::Tally;
use world::{faults, run};

#[test]
fn no_update_is_lost_and_indexes_follow() {
    let tally: Tally = over_seeds(seeds(1..25), faults, |seed, faults| {
        let outcome = run(seed, faults);
        (outcome.check(), outcome.steps)
    });
    println!("{tally:?}");
    // Otherwise the world was too kind to show anything.
    let Tally { changed, conflicts, unknown, removed, crashed, watched, .. } = tally;
    let enough = changed > 1000 && conflicts > 100 && unknown > 20 && removed > 20 && watched > 500;
    assert!(chosen_seed().is_some() || (enough && crashed > 30), "{tally:?}");
}

#[test]
#[ignore = "a part of same_seed_same_trace"]
fn tell_the_trace() {
    keyplane_testing::tell_trace(|seed| {
        let outcome = run(seed, &faults(seed));
        outcome.check().unwrap();
        outcome.trace.with(outcome.steps.len(), outcome.digest())
    });
}

#[test]
fn same_seed_same_trace() {
    keyplane_testing::same_seed_same_trace("tell_the_trace", chosen_seed().unwrap_or(7));
}
