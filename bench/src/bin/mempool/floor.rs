//! A receipt against the least that a script can cost: one that gets the same keys and arguments and answers 1.
//!
//! Once as callers see it: as many tasks as everywhere here, each of which waits for its answer. What they send at the same time
//! the pool sends together; the script that does nothing is called by the bare client, on one connection too.
//!
//! And once each request alone: redis-benchmark sends both. It puts another number into the hash, the names and the input of every
//! request, so each is a new transaction; the numbers of one request differ from each other, which the script cannot see.

use keyplane_bench::rig::{Cost, Rig, redis_benchmark, spread, verdict};

use crate::TASKS;
use crate::ours;

const REQUESTS: usize = 32_000;

/// What redis-benchmark replaces: as long as the number that it puts there.
const NUMBER: &str = "__rand_int__";

const BAR: f64 = 0.5;

pub(crate) async fn measure(rig: &Rig, rounds: usize) {
    let receive = request(rig).await;
    let mut load = redis::cmd("SCRIPT");
    let nothing: String = load.arg("LOAD").arg("return 1").query(&mut rig.server.admin()).unwrap();
    let mut noop = receive.clone();
    noop[1] = nothing;

    let mut called: [Vec<Cost>; 2] = Default::default();
    let mut alone: [Vec<Cost>; 2] = Default::default();
    for round in 0..=rounds {
        eprintln!("floor: round {round} of {rounds}");
        for turn in 0..2 {
            let side = (round + turn) % 2;
            let shared = match side {
                0 => receipts(rig).await,
                _ => nothings(rig, &noop).await,
            };
            let lone = benchmark(rig, [&receive, &noop][side], &receive[1]);
            // The first round warms up.
            if round > 0 {
                called[side].push(shared);
                alone[side].push(lone);
            }
        }
    }
    println!("### The floor: a receipt against a script that does nothing with the same words\n");
    println!("{TASKS} tasks, {REQUESTS} calls, {rounds} rounds, an empty pool before each\n");
    tell(&called, Some(BAR));
    println!("Each request alone: redis-benchmark -c 50 -P 1 -n {REQUESTS} -r\n");
    tell(&alone, None);
}

/// Through the pool.
async fn receipts(rig: &Rig) -> Cost {
    empty(rig);
    let pool = ours::pool(&rig.store, "dolos:mempool");
    let txs = ours::txs(REQUESTS);
    let cost = rig.cost(REQUESTS, ours::receive(&pool, txs)).await;
    assert_eq!(pool.counts().await.unwrap().pending, REQUESTS as u64);
    cost
}

/// The same words through the bare client.
async fn nothings(rig: &Rig, words: &[String]) -> Cost {
    empty(rig);
    let client = redis::Client::open(rig.server.url()).unwrap();
    let connection = client.get_multiplexed_async_connection().await.unwrap();
    rig.cost(REQUESTS, async {
        let mut tasks = Vec::new();
        for _ in 0..TASKS {
            let (mut connection, words) = (connection.clone(), words.to_vec());
            tasks.push(tokio::spawn(async move {
                for _ in 0..REQUESTS / TASKS {
                    let mut command = redis::cmd(&words[0]);
                    command.arg(&words[1..]);
                    let _: u64 = command.query_async(&mut connection).await.unwrap();
                }
            }));
        }
        for task in tasks {
            task.await.unwrap();
        }
    })
    .await
}

fn empty(rig: &Rig) {
    let _: () = redis::cmd("FLUSHALL").arg("SYNC").query(&mut rig.server.admin()).unwrap();
}

/// What the pool sends for a receipt, with the parts that are different for each transaction left open.
async fn request(rig: &Rig) -> Vec<String> {
    let pool = ours::pool(&rig.store, "dolos:mempool");
    let tx = ours::txs(1).remove(0);
    // Loads the script.
    ours::fill(&pool, 1).await;
    rig.set_slowlog(0);
    pool.receive(&tx).await.unwrap();
    rig.set_slowlog(-1);
    type Entry = (u64, u64, u64, Vec<Vec<u8>>, String, String);
    let log: Vec<Entry> = redis::cmd("SLOWLOG").arg("GET").arg(20).query(&mut rig.server.admin()).unwrap();
    let words = log
        .into_iter()
        .map(|entry| entry.3)
        .find(|words| words[0].eq_ignore_ascii_case(b"EVALSHA"))
        .expect("a script was called");

    let open = |length: usize| format!("{NUMBER:a<length$}");
    let (hash, input) = (tx.hash.to_string(), tx.inputs[0].tx.to_string());
    let payload = tx.payload.to_cbor();
    let word = |word: Vec<u8>| {
        if word == tx.hash.bytes() {
            return open(32);
        }
        // The server's log cuts long words. redis-benchmark takes no zero bytes: letters, as many.
        if payload.starts_with(&word[..word.len().min(64)]) {
            return "x".repeat(payload.len());
        }
        let text = String::from_utf8(word).expect("text");
        text.replace(&hash, &open(64)).replace(&input, &open(64))
    };
    let words: Vec<String> = words.into_iter().map(word).collect();
    assert_eq!(words.iter().filter(|word| word.contains(NUMBER)).count(), 5, "{words:?}");
    words
}

/// `accepted` is the script that takes every transaction in.
fn benchmark(rig: &Rig, words: &[String], accepted: &str) -> Cost {
    let mut admin = rig.server.admin();
    empty(rig);
    rig.reset_counts();
    let before = rig.cpu();
    let options = ["-c", "50", "-P", "1", "-r", "2000000000"];
    let rate = redis_benchmark(rig.server.port(), REQUESTS, &options, words).rate;
    let cpu = rig.cpu() - before;
    let each = REQUESTS as f64;
    if words[1] == accepted {
        // Numbers are drawn, so a few come twice.
        let waits: usize = redis::cmd("LLEN").arg(&words[3]).query(&mut admin).unwrap();
        assert!(waits * 1000 > REQUESTS * 999, "{waits} of {REQUESTS} were new");
    }
    Cost { rate, cpu: cpu / each * 1e6, script: rig.counted("evalsha") / each }
}

fn tell([receive, noop]: &[Vec<Cost>; 2], bar: Option<f64>) {
    println!("| request | op/s | server µs CPU | script µs |");
    println!("|---|---|---|---|");
    for (name, side) in [("receive", receive), ("`return 1`", noop)] {
        let of = |which: fn(&Cost) -> f64| spread(side.iter().map(which).collect()).0;
        println!("| {name} | {:.0} | {:.1} | {:.1} |", of(|c| c.rate), of(|c| c.cpu), of(|c| c.script));
    }
    let ratios = |of: fn(&Cost, &Cost) -> f64| {
        spread(receive.iter().zip(noop).map(|(own, least)| of(own, least)).collect())
    };
    let (rate, least, most) = ratios(|own, least| own.rate / least.rate);
    let (cpu, lightest, heaviest) = ratios(|own, least| least.cpu / own.cpu);
    let judged =
        |ratio: f64| bar.map_or_else(String::new, |bar| format!("; bar ≥ {bar}: {}", verdict(ratio >= bar)));
    println!("\nRates: **{rate:.2}** ({least:.2}–{most:.2}){}.", judged(rate));
    println!(
        "Server CPU, nothing over receipt: **{cpu:.2}** ({lightest:.2}–{heaviest:.2}){}.\n",
        judged(cpu)
    );
}
