//! The engine against a real redis-server, command by command, on the same clock.
//!
//! Random sequences of commands from the grammars of the families run on both in lock-step: the server's clock moves only
//! when the engine's does. Every answer, every delivery to a blocked client and, at the end, every key must be the same;
//! then what the engine logged is applied to an empty engine, which must come to the same keys.
//!
//! A difference is shrunk to the shortest sequence that still shows it. What was covered is counted by command, option and
//! type of the key it met.
//!
//! | variable | meaning |
//! |---|---|
//! | `KEYPLANE_DIFF_SEED` | the first seed; each sequence prints its own when it fails |
//! | `KEYPLANE_DIFF_SEQUENCES` | how many sequences per family |
//! | `KEYPLANE_DIFF_LEAST` | how often each cell has to be met where a family runs alone |
//! | `KEYPLANE_DIFF_FAMILY` | part of the name of the families to run |
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)]

mod coverage;
mod families;
mod frame;
mod grammar;
mod pair;
mod shrink;
mod valkey;

use coverage::Coverage;
use grammar::Family;
use pair::Rig;

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Runs a family, alone or with others, and says what it covered.
fn run(name: &str, families: &[Family], sequences: u64) -> Option<Coverage> {
    let rig = Rig::start_or_skip(name)?;
    let seed = number("KEYPLANE_DIFF_SEED", 1);
    let sequences = number("KEYPLANE_DIFF_SEQUENCES", sequences);
    let mut coverage = Coverage::new(families);
    for seed in seed..seed + sequences {
        let steps = grammar::sequence(seed, families, &coverage);
        if let Err(difference) = rig.run(&steps, Some(&mut coverage)) {
            let (shortest, difference) = shrink::shrink(&rig, steps, difference);
            panic!(
                "{name}: seed {seed}, shrunk to {} steps\n{}\n{difference}",
                shortest.len(),
                grammar::shown(&shortest)
            );
        }
    }
    println!("{name}: {sequences} sequences from seed {seed}, {}", coverage.summary());
    Some(coverage)
}

macro_rules! families {
    ($($name:ident: $sequences:expr;)*) => {$(
        #[test]
        fn $name() {
            if std::env::var("KEYPLANE_DIFF_FAMILY").is_ok_and(|part| !stringify!($name).contains(&part)) {
                return;
            }
            if let Some(coverage) = run(stringify!($name), &[families::$name()], $sequences) {
                coverage.check(number("KEYPLANE_DIFF_LEAST", 1));
            }
        }
    )*};
}

families! {
    hashes: 150;
    keys: 150;
    lists: 150;
    pubsub: 150;
    scripting: 150;
    server: 150;
    sets: 200;
    streams: 200;
    strings: 150;
    transactions: 150;
    zsets: 150;
}

/// All together, so that every command meets keys of every type that any other made.
#[test]
fn everything() {
    // What each of them meets is counted where it runs alone.
    run("everything", &families::all(), 150);
}
