//! Matches every key of the benchmark a number of times, so that callgrind can count instructions per match:
//!
//! `valgrind --tool=callgrind --callgrind-out-file=/dev/null target/release/instructions 100`
#![allow(clippy::print_stdout)]

use std::hint::black_box;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rounds: usize = std::env::args().nth(1).unwrap_or_default().parse().unwrap_or(1);
    let contracts = keyplane_bench::contracts()?;
    let (matcher, keys) = (keyplane_bench::matcher(&contracts), keyplane_bench::keys(&contracts));
    let mut found = 0;
    for _ in 0..rounds {
        found += keys.iter().filter(|key| matcher.find(black_box(key)).is_some()).count();
    }
    println!("{} keys, {rounds} rounds, {found} found", keys.len());
    Ok(())
}
