//! What an operation costs the server with a thousand transactions in the pool and with fifty thousand.

use keyplane_bench::rig::{Cost, Rig, verdict};
use keyplane_bench::sides::median;
use keyplane_mempool::{Pool, TxHash};

use crate::ours::{self, Chain};
use crate::{LARGE, SMALL, TASKS};

/// Operations per round. The small pool grows by half while it receives them.
const RECEIPTS: usize = 500;
const QUESTIONS: usize = 4_000;
const BLOCKS: usize = 200;

/// Hashes in one call of `mark_inflight`.
const OFFER: usize = 10;

const BAR: f64 = 1.2;

const NAMES: [&str; 4] = [
    "receive, 32 tasks",
    "check_status, 32 tasks",
    "mark_inflight in queue order by 10, per transaction",
    "confirm of an empty block",
];

pub(crate) async fn measure(rig: &Rig, rounds: usize) {
    eprintln!("growth: filling");
    let many = ours::pool(&rig.store, "bench:large");
    let mut known = ours::fill(&many, LARGE).await;
    let mut chains = Vec::new();
    for (name, size) in [("bench:small_chain", SMALL), ("bench:large_chain", LARGE)] {
        let pool = ours::pool(&rig.store, name);
        ours::fill(&pool, size).await;
        ours::propagate(&pool).await;
        chains.push(Chain::new(pool).await);
    }

    let mut measured: [[Vec<Cost>; 2]; 4] = Default::default();
    for round in 0..=rounds {
        eprintln!("growth: round {round} of {rounds}");
        for turn in 0..2 {
            let side = (round + turn) % 2;
            let costs = if side == 0 {
                // A new one each time: what was received stays.
                let few = ours::pool(&rig.store, &format!("bench:small{round}"));
                let mut known = ours::fill(&few, SMALL).await;
                steps(rig, &few, &mut known, &mut chains[0]).await
            } else {
                steps(rig, &many, &mut known, &mut chains[1]).await
            };
            // The first round warms up.
            if round > 0 {
                for (operation, cost) in costs.into_iter().enumerate() {
                    measured[operation][side].push(cost);
                }
            }
        }
    }
    tell(&measured);
}

async fn steps(rig: &Rig, pool: &Pool, known: &mut Vec<TxHash>, chain: &mut Chain) -> [Cost; 4] {
    let asked = rig.cost(QUESTIONS, ask(pool, known)).await;
    let txs = ours::txs(RECEIPTS);
    known.extend(txs.iter().map(|tx| tx.hash));
    let received = rig.cost(RECEIPTS, ours::receive(pool, txs)).await;
    let queue = ours::waiting(pool, RECEIPTS as u64).await;
    let offered = rig.cost(RECEIPTS, async {
        for hashes in queue.chunks(OFFER) {
            pool.mark_inflight(hashes).await.unwrap();
        }
    });
    let offered = offered.await;
    let confirmed = rig.cost(BLOCKS, chain.grow_empty(BLOCKS)).await;
    [received, asked, offered, confirmed]
}

/// Asks for the status of transactions all over the pool.
async fn ask(pool: &Pool, known: &[TxHash]) {
    let mut tasks = Vec::new();
    for _ in 0..TASKS {
        let asked: Vec<TxHash> =
            (0..QUESTIONS / TASKS).map(|_| known[fastrand::usize(..known.len())]).collect();
        let pool = pool.clone();
        tasks.push(tokio::spawn(async move {
            for hash in &asked {
                pool.check_status(hash).await.unwrap().expect("it is known");
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
}

fn tell(measured: &[[Vec<Cost>; 2]; 4]) {
    println!("### Growth: the server's CPU per operation\n");
    println!(
        "| operation | µs CPU at 1k | at 50k | ratio | bar ≤ {BAR} | script µs at 1k | at 50k | ratio |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for (name, sides) in NAMES.iter().zip(measured) {
        let of = |side: usize, which: fn(&Cost) -> f64| median(sides[side].iter().map(which).collect());
        let (few, many) = (of(0, |c| c.cpu), of(1, |c| c.cpu));
        let (few_script, many_script) = (of(0, |c| c.script), of(1, |c| c.script));
        let ratio = many / few;
        println!(
            "| {name} | {few:.1} | {many:.1} | **{ratio:.2}** | {} | {few_script:.1} | {many_script:.1} | {:.2} |",
            verdict(ratio <= BAR),
            many_script / few_script,
        );
    }
    println!();
}
