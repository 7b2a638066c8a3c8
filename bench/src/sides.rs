//! Measuring two sides in turns, so that what else the machine does falls on both.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// One task, from the start of a round to its end; answers how many operations it did.
pub type Task = Pin<Box<dyn Future<Output = u64> + Send>>;

/// Makes the task of that number.
pub type Make<R> = fn(R, usize, Round) -> Task;

/// Whether a round still lasts.
#[derive(Debug, Clone, Default)]
pub struct Round(Arc<AtomicBool>);

impl Round {
    /// It does.
    #[must_use]
    pub fn lasts(&self) -> bool {
        !self.0.load(Ordering::Relaxed)
    }

    fn end(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The same work on two sides.
#[derive(Debug)]
pub struct Workload<R> {
    /// For the table.
    pub name: &'static str,
    /// How many tasks do it at the same time.
    pub tasks: usize,
    /// What is measured.
    pub ours: Make<R>,
    /// What it is measured against.
    pub theirs: Make<R>,
}

/// Operations per second, and microseconds of this process's CPU per operation.
#[derive(Debug, Clone, Copy)]
struct Rate {
    per_second: f64,
    cpu_micros: f64,
}

/// Does something until the round ends; each turn answers how many operations it was.
#[macro_export]
macro_rules! until_the_end {
    ($round:ident, $turn:expr) => {{
        let mut count = 0;
        while $round.lasts() {
            count += $turn;
        }
        count
    }};
}

/// `[ROUNDS] [SECONDS] [PART OF A NAME]` from the command line.
#[must_use]
pub fn arguments(rounds: usize, seconds: f64) -> (usize, Duration, String) {
    let text = |place: usize| std::env::args().nth(place);
    let rounds = text(1).and_then(|text| text.parse().ok()).unwrap_or(rounds);
    let seconds = text(2).and_then(|text| text.parse().ok()).unwrap_or(seconds);
    (rounds, Duration::from_secs_f64(seconds), text(3).unwrap_or_default())
}

/// Prints a table: medians of the rates, of the ratios of neighbouring rounds, and of CPU per operation.
pub async fn compare<R: Clone>(rig: &R, workloads: &[Workload<R>], (ours, theirs): (&str, &str)) {
    let (rounds, lasts, chosen) = arguments(21, 0.7);
    println!("{rounds} alternating rounds of {lasts:?}; medians\n");
    println!(
        "| workload | {ours} op/s | {theirs} op/s | ratio | least–most ratio | {ours} µs CPU | {theirs} µs CPU |"
    );
    println!("|---|---|---|---|---|---|---|");
    for workload in workloads.iter().filter(|workload| workload.name.contains(&chosen)) {
        // Loads scripts and warms connections up.
        measure(rig, workload.tasks, workload.ours, lasts / 5).await;
        measure(rig, workload.tasks, workload.theirs, lasts / 5).await;
        let (mut first, mut second) = (Vec::new(), Vec::new());
        for round in 0..rounds {
            // Who goes first changes too.
            if round % 2 == 0 {
                first.push(measure(rig, workload.tasks, workload.ours, lasts).await);
                second.push(measure(rig, workload.tasks, workload.theirs, lasts).await);
            } else {
                second.push(measure(rig, workload.tasks, workload.theirs, lasts).await);
                first.push(measure(rig, workload.tasks, workload.ours, lasts).await);
            }
        }
        report(workload.name, &first, &second);
    }
}

async fn measure<R: Clone>(rig: &R, tasks: usize, make: Make<R>, lasts: Duration) -> Rate {
    let round = Round::default();
    let (start, cpu) = (Instant::now(), cpu_seconds());
    let workers: Vec<_> =
        (0..tasks).map(|task| tokio::spawn(make(rig.clone(), task, round.clone()))).collect();
    tokio::time::sleep(lasts).await;
    round.end();
    let mut count = 0;
    for worker in workers {
        count += worker.await.unwrap();
    }
    let count = count as f64;
    Rate {
        per_second: count / start.elapsed().as_secs_f64(),
        cpu_micros: (cpu_seconds() - cpu) / count * 1e6,
    }
}

fn cpu_seconds() -> f64 {
    cpu_seconds_of(std::process::id())
}

/// User and system time of a process so far, in the kernel's ticks of 10 ms.
#[must_use]
pub fn cpu_seconds_of(pid: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
    let ticks =
        |index: usize| fields.get(index).and_then(|text| text.parse::<f64>().ok()).unwrap_or_default();
    (ticks(11) + ticks(12)) / 100.0
}

/// Time of a process's main thread so far, in nanoseconds where the kernel tells them: a round of a few milliseconds is less
/// than a tick. Redis runs all commands there.
#[must_use]
pub fn main_thread_seconds_of(pid: u32) -> f64 {
    scheduled(format!("/proc/{pid}/schedstat").as_ref()).unwrap_or_else(|| cpu_seconds_of(pid))
}

/// Time of all threads of this process so far, as fine. Threads that have ended are not in it.
#[must_use]
pub fn own_seconds() -> f64 {
    let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let times: Option<Vec<f64>> = threads.map(|thread| scheduled(&thread.path().join("schedstat"))).collect();
    times.filter(|times| !times.is_empty()).map_or_else(cpu_seconds, |times| times.iter().sum())
}

/// Seconds that a thread has run, as the kernel's scheduler has counted.
fn scheduled(path: &Path) -> Option<f64> {
    let told = std::fs::read_to_string(path).ok()?;
    told.split(' ').next()?.parse::<f64>().ok().map(|nanos| nanos / 1e9)
}

/// The one in the middle.
#[must_use]
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn report(name: &str, ours: &[Rate], theirs: &[Rate]) {
    let rates = |of: &[Rate]| median(of.iter().map(|rate| rate.per_second).collect());
    let cpu = |of: &[Rate]| median(of.iter().map(|rate| rate.cpu_micros).collect());
    let mut ratios: Vec<f64> =
        ours.iter().zip(theirs).map(|(ours, theirs)| ours.per_second / theirs.per_second).collect();
    ratios.sort_by(f64::total_cmp);
    println!(
        "| {name} | {:.0} | {:.0} | **{:.2}** | {:.2}–{:.2} | {:.2} | {:.2} |",
        rates(ours),
        rates(theirs),
        median(ratios.clone()),
        ratios.first().copied().unwrap_or_default(),
        ratios.last().copied().unwrap_or_default(),
        cpu(ours),
        cpu(theirs),
    );
}
