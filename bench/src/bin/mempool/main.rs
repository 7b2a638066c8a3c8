//! The shared mempool: what its operations cost the server as the pool grows, how far a receipt is from the least that a script
//! can cost, and how it compares with the command sequences of the original, all on one redis-server in the same run:
//! `cargo run --release -p keyplane-bench --bin mempool [ROUNDS] [PART OF A NAME]`
//!
//! The parts are `growth`, `floor` and `seed`. Transactions have 1,024 bytes and spend one input. Persistence is off. Sides take
//! turns, and figures are medians over the rounds; where a bar is missed, the table says so.
#![allow(clippy::print_stdout, clippy::print_stderr, clippy::unwrap_used, clippy::expect_used)]

mod floor;
mod growth;
mod ours;
mod seed;
mod versus;

use std::time::Instant;

use keyplane_bench::rig::Rig;

/// Both sizes that everything is measured at.
const SMALL: usize = 1_000;
const LARGE: usize = 50_000;

/// Callers at the same time.
const TASKS: usize = 32;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let rounds = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(9);
    let chosen = std::env::args().nth(2).unwrap_or_default();
    let start = Instant::now();
    println!("{rounds} alternating rounds; medians\n");
    for part in ["growth", "floor", "seed"].into_iter().filter(|part| part.contains(&chosen)) {
        // A server of its own for each part: what one leaves behind does not weigh on the next.
        let rig = Rig::start().await;
        match part {
            // Its rounds are short, and what they differ by is less than the noise of one.
            "growth" => growth::measure(&rig, rounds * 3).await,
            "floor" => floor::measure(&rig, rounds).await,
            _ => versus::measure(&rig, rounds).await,
        }
        eprintln!("{part}: done after {:.0?}", start.elapsed());
    }
}
