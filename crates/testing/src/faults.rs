//! What goes wrong in a simulated network: drawn from a seed, and made smaller when a run fails.

use std::fmt;
use std::ops::{AddAssign, Range};
use std::process::Command;
use std::time::Duration;

use fastrand::Rng;

use crate::network::Network;

/// Chooses one seed, for a run that failed.
const SEED: &str = "KEYPLANE_SEED";

/// Another run comes first, in the same process.
const SECOND: &str = "KEYPLANE_SECOND";

/// The longest fault.
const LONGEST: Duration = Duration::from_millis(2500);

#[derive(Debug, Clone, Copy)]
enum What {
    /// Gone with all it knows, and started again.
    Crash,
    /// Nothing passes; what is sent is lost.
    Partition,
    /// Requests are lost.
    Mute,
    /// Replies are lost.
    Deaf,
    /// Nothing passes, and all of it arrives in the end: a machine, or its link, that stands still.
    HoldUp,
    /// Messages take up to so many milliseconds.
    Slow(u64),
}

/// Something that goes wrong for one host of a [`Network`], and for how long.
#[derive(Debug, Clone, Copy)]
pub struct Fault {
    host: &'static str,
    what: What,
    from: Duration,
    until: Duration,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} of {}", self.what, self.host)
    }
}

impl Fault {
    /// The longest that one of them lasts.
    pub const LONGEST: Duration = LONGEST;

    /// What goes wrong for these hosts within that time, under this seed.
    #[must_use]
    pub fn draw(seed: u64, hosts: &[&'static str], lasts: Duration) -> Vec<Self> {
        let mut rng = Rng::with_seed(seed);
        let mut from = Duration::from_millis(200);
        let mut faults = Vec::new();
        while from < lasts {
            let what = match rng.u8(..8) {
                0 | 1 => What::Crash,
                2 => What::Partition,
                3 => What::Mute,
                4 => What::Deaf,
                5 | 6 => What::HoldUp,
                _ => What::Slow(rng.u64(20..400)),
            };
            let until = from + Duration::from_millis(rng.u64(10..LONGEST.as_millis() as u64));
            faults.push(Self { host: hosts[rng.usize(..hosts.len())], what, from, until });
            from += Duration::from_millis(rng.u64(20..600));
        }
        faults
    }

    /// When the store crashes within that time, under this seed. Only a network [with a log](Network::with_log) bears it.
    #[must_use]
    pub fn draw_of_store(seed: u64, lasts: Duration) -> Vec<Self> {
        let mut rng = Rng::with_seed(seed ^ 0x570e);
        let mut faults = Vec::new();
        let mut until = Duration::ZERO;
        loop {
            let from = until + Duration::from_millis(rng.u64(300..4000));
            if from >= lasts {
                return faults;
            }
            // Mostly it is back before clients have given up.
            let most = if rng.u8(..4) == 0 { LONGEST } else { Duration::from_millis(300) };
            until = from + Duration::from_millis(rng.u64(5..most.as_millis() as u64));
            faults.push(Self { host: Network::STORE, what: What::Crash, from, until });
        }
    }

    /// The host, if it crashes.
    fn crashes(&self) -> Option<&'static str> {
        matches!(self.what, What::Crash).then_some(self.host)
    }

    fn begin(&self, network: &mut Network) {
        let (host, sim) = (self.host, &mut network.sim);
        match self.what {
            What::Crash => sim.crash(host),
            What::Partition => sim.partition(host, Network::STORE),
            What::Mute => sim.partition_oneway(host, Network::STORE),
            What::Deaf => sim.partition_oneway(Network::STORE, host),
            What::HoldUp => sim.hold(host, Network::STORE),
            What::Slow(most) => slow(sim, host, most),
        }
    }

    fn end(&self, network: &mut Network) {
        let (host, sim) = (self.host, &mut network.sim);
        match self.what {
            What::Crash if sim.is_host_running(host) => {}
            What::Crash => sim.bounce(host),
            What::Slow(_) => slow(sim, host, 20),
            _ => {
                sim.release(host, Network::STORE);
                sim.repair(host, Network::STORE);
            }
        }
    }
}

fn slow(sim: &turmoil::Sim<'_>, host: &str, most: u64) {
    sim.set_link_max_message_latency(host, Network::STORE, Duration::from_millis(most));
}

impl Network {
    /// Runs until all clients are done, with these faults. `note` is told of each, before it is made and before it ends: a line
    /// for people, and the host that crashes now.
    pub fn run(&mut self, faults: &[Fault], mut note: impl FnMut(String, Option<&'static str>)) {
        let mut before = Duration::ZERO;
        while !self.sim.step().unwrap_or_else(|error| panic!("the simulation failed: {error}")) {
            let now = self.sim.elapsed();
            let is_due = |moment: Duration| (before..now).contains(&moment);
            for fault in faults.iter().filter(|fault| is_due(fault.until)) {
                note(format!("{:>7} ms  ---- end of {fault}", now.as_millis()), None);
                fault.end(self);
            }
            for fault in faults.iter().filter(|fault| is_due(fault.from)) {
                note(format!("{:>7} ms  ---- {fault}", now.as_millis()), fault.crashes());
                fault.begin(self);
            }
            before = now;
        }
    }
}

/// The seeds to run: the one that `KEYPLANE_SEED` names, or all of these.
#[must_use]
pub fn seeds(all: Range<u64>) -> Range<u64> {
    chosen_seed().map_or(all, |seed| seed..seed + 1)
}

/// The seed that `KEYPLANE_SEED` names.
#[must_use]
pub fn chosen_seed() -> Option<u64> {
    std::env::var(SEED).ok().and_then(|text| text.parse().ok())
}

/// The number that a variable of the environment names, such as `KEYPLANE_TEST_ROUNDS`: longer runs are chosen from outside.
#[must_use]
pub fn chosen(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// What a run came to: its tally or what is wrong, and its steps.
pub type Judged<T> = (Result<T, String>, Vec<String>);

/// Runs under each of these seeds and adds up the tallies. A run that fails is made small: faults are left out, one after
/// the other, as long as it still fails. Panics with those that are left, with what is wrong and with the steps.
pub fn over_seeds<T: Default + AddAssign>(
    seeds: Range<u64>,
    faults: impl Fn(u64) -> Vec<Fault>,
    run: impl Fn(u64, &[Fault]) -> Judged<T>,
) -> T {
    let mut tally = T::default();
    for seed in seeds {
        let faults = faults(seed);
        match run(seed, &faults).0 {
            Ok(of_this) => tally += of_this,
            Err(why) => {
                println!("{SEED}={seed}: {why}");
                told_small(seed, faults, &run);
            }
        }
    }
    tally
}

fn told_small<T>(seed: u64, mut faults: Vec<Fault>, run: impl Fn(u64, &[Fault]) -> Judged<T>) -> ! {
    let mut place = faults.len();
    while place > 0 {
        place -= 1;
        let mut fewer = faults.clone();
        fewer.remove(place);
        if run(seed, &fewer).0.is_err() {
            faults = fewer;
        }
    }
    let (outcome, steps) = run(seed, &faults);
    let why =
        outcome.err().unwrap_or_else(|| "it fails no longer: the same seed is not the same run".to_owned());
    let steps = steps.join("\n");
    panic!("{SEED}={seed}: {why}\nfaults that are needed: {faults:#?}\nsteps:\n{steps}");
}

/// For an ignored test that is a part of [`same_seed_same_trace`]: prints what a run under the chosen seed shows.
pub fn tell_trace(run: impl Fn(u64) -> String) {
    let seed = chosen_seed().expect("a seed to be told of");
    if std::env::var_os(SECOND).is_some() {
        drop(run(seed + 1));
    }
    println!("TRACE {}", run(seed));
}

/// What that test tells in a process of its own: nothing that a process has for itself may have an influence.
fn trace_elsewhere(test: &str, seed: u64, is_second: bool) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--ignored", "--nocapture"]).env(SEED, seed.to_string());
    if is_second {
        command.env(SECOND, "1");
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8(output.stdout).unwrap();
    let told = said.lines().find_map(|line| line.split_once("TRACE "));
    told.unwrap_or_else(|| panic!("no trace in: {said}")).1.to_owned()
}

/// Holds the promise that a seed is a run: two processes print the same, though it is the second run of one of them, and
/// another seed is something else.
pub fn same_seed_same_trace(test: &str, seed: u64) {
    let first = trace_elsewhere(test, seed, false);
    println!("seed {seed}: {first}");
    assert_eq!(trace_elsewhere(test, seed, true), first, "seed {seed}");
    assert_ne!(trace_elsewhere(test, seed + 1, false), first, "another seed is another run");
}
