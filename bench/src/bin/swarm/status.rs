//! One look at a swarm, against the seed's way to find its agents.

use keyplane_bench::rig::{Cost, Rig, spread, verdict};

use crate::fleet::Fleet;
use crate::seed::Seed;

/// Looks in a round: as many as take about the same time.
const READS: usize = 100;
const SEED_READS: usize = 2;

const BAR: f64 = 100.0;

const NAMES: [&str; 3] = [
    "read: header, agents and tasks",
    "the seed's KEYS and HGETALL of each agent",
    "the same, all HGETALL in one pipeline",
];

pub(crate) async fn measure(rig: &Rig, fleet: &Fleet) {
    let mut seed = Seed::open(rig).await;
    let mut measured: [Vec<Cost>; 3] = Default::default();
    for round in 0..=fleet.size.rounds {
        eprintln!("status: round {round} of {}", fleet.size.rounds);
        for turn in 0..measured.len() {
            let side = (round + turn) % measured.len();
            let swarm = &fleet.ids[(round * measured.len() + side) % fleet.ids.len()];
            let key = fleet.keyspace.swarm(swarm);
            let cost = match side {
                0 => {
                    let reads = async {
                        for _ in 0..READS {
                            let seen = fleet.swarms.read(swarm).await.unwrap().expect("it is there");
                            assert_eq!(seen.agents.len() as u64, fleet.size.agents);
                        }
                    };
                    rig.cost(READS, reads).await
                }
                _ => {
                    let reads = async {
                        for _ in 0..SEED_READS {
                            let agents = match side {
                                1 => seed.read(key.as_str()).await,
                                _ => seed.read_together(key.as_str()).await,
                            };
                            assert_eq!(agents.len() as u64, fleet.size.agents);
                        }
                    };
                    rig.cost(SEED_READS, reads).await
                }
            };
            // The first round warms up.
            if round > 0 {
                measured[side].push(cost);
            }
        }
    }
    tell(&measured);
}

fn tell(measured: &[Vec<Cost>; 3]) {
    println!("### Status: one look at one swarm\n");
    println!("| look | ms | server ms CPU | ratio of server CPU | least–most ratio | bar |");
    println!("|---|---|---|---|---|---|");
    for (name, side) in NAMES.iter().zip(measured) {
        let of = |which: fn(&Cost) -> f64| spread(side.iter().map(which).collect()).0;
        let (took, cpu) = (1000.0 / of(|c| c.rate), of(|c| c.cpu) / 1000.0);
        let ratios = side.iter().zip(&measured[0]).map(|(own, ours)| own.cpu / ours.cpu).collect();
        let (ratio, least, most) = spread(ratios);
        let judged = if *name == NAMES[0] {
            String::from("| | |")
        } else {
            format!("**{ratio:.0}** | {least:.0}–{most:.0} | ≥ {BAR:.0}: {} |", verdict(ratio >= BAR))
        };
        println!("| {name} | {took:.2} | {cpu:.3} | {judged}");
    }
    println!();
}
