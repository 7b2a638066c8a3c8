//! The pool against the command sequences of the original.

use keyplane_bench::rig::{Rig, spread, verdict};
use keyplane_mempool::{Pool, TxHash};

use crate::ours::{self, Chain};
use crate::seed::{self, Hash, Seed};
use crate::{LARGE, SMALL};

/// Operations per round: enough to time, few enough that the pools keep their size.
const RECEIPTS: usize = 512;
const OFFER: usize = 10;
const OFFERS: usize = 20;

/// Finished transactions beside the small pool and the large one.
const LOGS: [usize; 2] = [1_400, 10_000];

/// One line of the table.
struct Row {
    name: String,
    bar: Option<f64>,
    ours: Vec<f64>,
    theirs: Vec<f64>,
}

/// Both sides at one size.
struct Sides {
    size: usize,
    pool: Pool,
    seed: Seed,
    chain: Chain,
    seed_chain: Seed,
    finished: Vec<TxHash>,
    seed_finished: Vec<Hash>,
}

impl Sides {
    async fn new(rig: &Rig, seed: &Seed, size: usize, log: usize) -> Self {
        let name = |what: &str| format!("bench:{what}{size}");
        let pool = ours::pool(&rig.store, &name("pool"));
        ours::fill(&pool, size).await;
        let mut chain = Chain::new(ours::pool(&rig.store, &name("chain"))).await;
        let finished = chain.finish(log).await;
        ours::fill(&chain.pool, size).await;
        ours::propagate(&chain.pool).await;
        let (seed, seed_chain) = (seed.at(&name("seed")), seed.at(&name("seed_chain")));
        seed.fill_pending(size).await;
        seed_chain.fill_inflight(size).await;
        let seed_finished = seed_chain.fill_finalized(log).await;
        Self { size, pool, seed, chain, seed_chain, finished, seed_finished }
    }

    /// The small pools are new in every round, as they would soon not be small.
    async fn renew(&mut self, rig: &Rig, round: usize) {
        self.pool = ours::pool(&rig.store, &format!("bench:pool{}_{round}", self.size));
        self.seed = self.seed.at(&format!("bench:seed{}_{round}", self.size));
        ours::fill(&self.pool, self.size).await;
        self.seed.fill_pending(self.size).await;
    }

    /// Rates. A receipt stands twice, as there are two to compare it with.
    async fn ours(&mut self, rig: &Rig) -> [f64; 5] {
        let txs = ours::txs(RECEIPTS);
        let receive = rig.cost(RECEIPTS, ours::receive(&self.pool, txs)).await;
        let queue = ours::waiting(&self.pool, (OFFER * OFFERS) as u64).await;
        let pool = &self.pool;
        let offer = rig.cost(OFFER * OFFERS, async {
            for hashes in queue.chunks(OFFER) {
                pool.mark_inflight(hashes).await.unwrap();
            }
        });
        let offer = offer.await;
        let confirm = rig.cost(200, self.chain.grow_empty(200)).await;
        let asked: Vec<TxHash> =
            (0..1_000).map(|_| self.finished[fastrand::usize(..self.finished.len())]).collect();
        let pool = &self.chain.pool;
        let status = rig.cost(asked.len(), async {
            for hash in &asked {
                let status = pool.check_status(hash).await.unwrap().expect("it is known");
                assert!(status.stage.is_final(), "it is finished");
            }
        });
        [receive, receive, offer, confirm, status.await].map(|cost| cost.rate)
    }

    async fn theirs(&self, rig: &Rig, queue: &mut Vec<Hash>) -> [f64; 5] {
        let txs = || (0..RECEIPTS).map(|_| (ours::drawn(), ours::payload())).collect();
        // The second time on another pool of this size, unless that is so large that it makes no difference.
        let other =
            if self.size == SMALL { self.seed.at(&self.seed.key("other")) } else { self.seed.clone() };
        if self.size == SMALL {
            other.fill_pending(SMALL).await;
        }
        let receive = rig.cost(RECEIPTS, seed::receive(&self.seed, txs(), true)).await;
        let shared = rig.cost(RECEIPTS, seed::receive(&other, txs(), false)).await;
        let offered: Vec<Hash> = queue.drain(..OFFER * OFFERS).collect();
        let offer = rig.cost(offered.len(), self.seed.mark_inflight(&offered)).await;
        let blocks = if self.size == LARGE { 1 } else { 5 };
        let confirm = rig.cost(blocks, async {
            for _ in 0..blocks {
                self.seed_chain.confirm_empty().await;
            }
        });
        let confirm = confirm.await;
        let asked: Vec<Hash> =
            (0..20).map(|_| self.seed_finished[fastrand::usize(..self.seed_finished.len())]).collect();
        let status = rig.cost(asked.len(), async {
            for hash in &asked {
                assert!(self.seed_chain.check_status(hash).await, "it is finished");
            }
        });
        [receive, shared, offer, confirm, status.await].map(|cost| cost.rate)
    }
}

pub(crate) async fn measure(rig: &Rig, rounds: usize) {
    eprintln!("seed: filling");
    let seed = Seed::open(&rig.server.url(), "bench:seed").await;
    let mut rows = Vec::new();
    for (size, log, bars) in [
        (LARGE, LOGS[1], [Some(50.0), None, None, Some(500.0), Some(100.0)]),
        (SMALL, LOGS[0], [Some(2.0), None, None, Some(2.0), Some(2.0)]),
    ] {
        let mut sides = Sides::new(rig, &seed, size, log).await;
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for round in 0..=rounds {
            eprintln!("seed: {size}, round {round} of {rounds}");
            if size == SMALL {
                sides.renew(rig, round).await;
            }
            let mut queue = sides.seed.head(OFFER * OFFERS).await;
            let (own, other);
            // Who goes first changes.
            if round % 2 == 0 {
                own = sides.ours(rig).await;
                other = sides.theirs(rig, &mut queue).await;
            } else {
                other = sides.theirs(rig, &mut queue).await;
                own = sides.ours(rig).await;
            }
            // The first round warms up.
            if round > 0 {
                ours.push(own);
                theirs.push(other);
            }
        }
        let names = [
            format!("receive, 32 tasks, {size} pending"),
            "the same, the original with one shared connection instead of its ten".to_owned(),
            format!("mark_inflight in queue order by 10, per transaction, {size} pending"),
            format!("confirm of an empty block, {size} inflight"),
            format!("check_status of a finished one, one caller, log of {log}"),
        ];
        for (at, (name, bar)) in names.into_iter().zip(bars).enumerate() {
            let of = |rates: &[[f64; 5]]| rates.iter().map(|rates| rates[at]).collect();
            rows.push(Row { name, bar, ours: of(&ours), theirs: of(&theirs) });
        }
    }
    tell(&rows);
}

fn tell(rows: &[Row]) {
    println!("### Against the command sequences of the original\n");
    println!("| operation | pool op/s | original op/s | ratio | least–most ratio | bar |");
    println!("|---|---|---|---|---|---|");
    for Row { name, bar, ours, theirs } in rows {
        let (ratio, least, most) = spread(ours.iter().zip(theirs).map(|(own, other)| own / other).collect());
        let (own, _, _) = spread(ours.clone());
        let (other, _, _) = spread(theirs.clone());
        let bar = bar.map_or_else(String::new, |bar| format!("≥ {bar:.0}x: {}", verdict(ratio >= bar)));
        println!("| {name} | {own:.0} | {other:.1} | **{ratio:.1}** | {least:.1}–{most:.1} | {bar} |");
    }
    println!();
}
