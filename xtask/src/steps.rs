//! The steps of `cargo xtask test`: named, timed, in order, stopping at the first failure.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::command::{self, cargo, duration};
use crate::generated;
use crate::needs::{self, Need};
use crate::place::Place;
use crate::{clients, valkey};

/// The whole of `test` stays under this, so a single step that reaches it hangs.
const STEP_LIMIT: Duration = Duration::from_secs(30 * 60);

const BENCH_LIMIT: Duration = Duration::from_secs(60 * 60);

/// The longest, two hundred rounds, takes twenty minutes of one core.
const LONG_TEST_LIMIT: Duration = Duration::from_secs(60 * 60);

/// The crates with their targets and the folder whose files these begin with, fifteen minutes in all. The limit leaves room
/// for the build.
const FUZZ_TARGETS: [(&str, &str, &str); 11] = [
    ("crates/schema", "contract", "tests/bad"),
    ("crates/schema", "tables", "fuzz/tables"),
    ("crates/schema", "matcher", "fuzz/keys"),
    ("crates/schema", "script", "tests/bad_scripts"),
    ("crates/engine", "resp", "fuzz/requests"),
    ("crates/engine", "commands", "fuzz/sessions"),
    ("crates/engine", "log", "fuzz/logs"),
    ("systems/mempool", "tx", "fuzz/txs"),
    ("systems/mempool", "records", "fuzz/records"),
    ("systems/swarm", "saved", "fuzz/saved"),
    ("systems/swarm", "export", "fuzz/exports"),
];
const FUZZ_SECONDS: u64 = 82;
const FUZZ_LIMIT: Duration = Duration::from_secs(FUZZ_SECONDS + 15 * 60);
/// An input that takes longer than this is a blow-up, even in a slow build on a busy machine.
const FUZZ_INPUT_SECONDS: u64 = 10;

/// Test runners hide what a passing test prints, so tests also write their skips to the file named here.
const SKIPS_VARIABLE: &str = "KEYPLANE_SKIPS";

/// Everything, also what the binary has only on request. One set of features in all steps, so that they share one build.
/// The binary without it is linted and built by `clippy` and `generated`.
const ALL_OF_IT: [&str; 4] = ["--workspace", "--features", "keyplane/grpc,keyplane/mcp", "--locked"];

/// One named part of the test.
pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// Only with `--long`, or when asked for by name.
    pub(crate) long: bool,
    pub(crate) needs: &'static [Need],
    run: fn(&Setup<'_>) -> Result<Outcome>,
}

enum Outcome {
    Passed,
    /// The step could not run here; the text says why and how to change that.
    Skipped(String),
}

/// What a step works with.
struct Setup<'a> {
    place: &'a Place,
    valkey: Option<PathBuf>,
    clients: Option<PathBuf>,
    skips: PathBuf,
}

/// All steps, in order.
pub(crate) const ALL: &[Step] = &[
    Step {
        name: "fmt",
        about: "the code is formatted",
        long: false,
        needs: &[Need::Component("rustfmt")],
        run: |setup| setup.cargo(&["fmt", "--all", "--check"]),
    },
    Step {
        name: "clippy",
        about: "no lint speaks up; warnings are errors",
        long: false,
        needs: &[Need::Component("clippy")],
        run: |setup| {
            let strict = ["--all-targets", "--", "-D", "warnings"];
            setup.cargo(&[&["clippy"][..], &ALL_OF_IT, &strict].concat())?;
            // The contracts alone, which need no C compiler; and each system without its heavier doors.
            let least = ["clippy", "-p", "keyplane", "--no-default-features", "--locked"];
            setup.cargo(&[&least[..], &["--", "-D", "warnings"]].concat())?;
            setup.cargo(&[&least[..], &["--features", "mempool", "--", "-D", "warnings"]].concat())?;
            setup.cargo(&[&least[..], &["--features", "swarm", "--", "-D", "warnings"]].concat())
        },
    },
    Step {
        name: "tests",
        about: "all tests, with nextest where it is installed",
        long: false,
        needs: &[Need::Redis],
        run: tests,
    },
    Step {
        name: "doctests",
        about: "the examples in the documentation run",
        long: false,
        needs: &[],
        run: |setup| setup.cargo(&[&["test", "--doc"][..], &ALL_OF_IT].concat()),
    },
    Step {
        name: "docs",
        about: "the documentation builds without a warning",
        long: false,
        needs: &[],
        run: |setup| {
            let mut command = cargo();
            command.args(["doc", "--no-deps"]).args(ALL_OF_IT).env("RUSTDOCFLAGS", "-D warnings");
            setup.run(&mut command, STEP_LIMIT)
        },
    },
    Step {
        name: "generated",
        about: "generated files are current; `cargo xtask generate` makes them so",
        long: false,
        needs: &[],
        run: |setup| generated::check(setup.place).map(|()| Outcome::Passed),
    },
    Step {
        name: "bench",
        about: "the benchmarks",
        long: true,
        needs: &[Need::Redis],
        run: |setup| {
            setup.run(cargo().args(["bench", "-p", "keyplane-bench", "--locked"]), BENCH_LIMIT)?;
            for program in ["store", "listener", "engine", "record", "lease", "mempool", "swarm"] {
                let run = ["run", "--release", "-p", "keyplane-bench", "--locked", "--bin", program];
                setup.run(cargo().args(run), BENCH_LIMIT)?;
            }
            Ok(Outcome::Passed)
        },
    },
    Step {
        name: "engine",
        about: "the engine against a real server: each command, option and type fifty times",
        long: true,
        needs: &[Need::Redis],
        run: |setup| {
            let often = [("KEYPLANE_DIFF_SEQUENCES", "1500"), ("KEYPLANE_DIFF_LEAST", "50")];
            setup.one_test("keyplane-engine", "differential", &[], &often)
        },
    },
    Step {
        name: "kill",
        about: "a hundred times kill -9 of an embedded store under load",
        long: true,
        needs: &[],
        run: |setup| setup.one_test("keyplane", "embedded", &["killed"], &[("KEYPLANE_KILL_ROUNDS", "100")]),
    },
    Step {
        name: "soak",
        about: "five minutes of random faults on a store under load",
        long: true,
        needs: &[Need::Redis],
        run: |setup| {
            setup.one_test("keyplane-store", "soak", &["--ignored"], &[("KEYPLANE_SOAK_SECONDS", "300")])
        },
    },
    Step {
        name: "churn",
        about: "ten minutes of all kit primitives under churn: keys and memory stay flat",
        long: true,
        needs: &[Need::Redis],
        run: |setup| {
            setup.one_test("keyplane-kit", "soak", &["--ignored"], &[("KEYPLANE_SOAK_SECONDS", "600")])
        },
    },
    Step {
        name: "rounds",
        about: "three mempool nodes through crashes and forks: two hundred rounds in simulated time, five with processes; \
                and a store that is away for half a minute",
        long: true,
        needs: &[Need::Redis],
        run: |setup| {
            let processes = [("KEYPLANE_TEST_ROUNDS", "5"), ("KEYPLANE_TEST_TRANSACTIONS", "2000")];
            setup.one_test("keyplane", "mempool", &["killed_nodes"], &processes)?;
            setup.one_test("keyplane", "mempool", &["away_for"], &[("KEYPLANE_TEST_AWAY", "30")])?;
            setup.one_test("keyplane-mempool", "rounds", &["every"], &[("KEYPLANE_TEST_ROUNDS", "200")])
        },
    },
    Step {
        name: "swarm",
        about: "a swarm through crashes, fifty rounds in simulated time, ten with processes; half as many in which all is lost but \
                the checkpoints; a thousand writers on one swarm",
        long: true,
        needs: &[Need::Redis],
        run: |setup| {
            let many = [("KEYPLANE_TEST_WRITERS", "1000"), ("KEYPLANE_TEST_UPDATES", "100")];
            setup.one_test("keyplane-swarm", "suite", &["of_many_writers"], &many)?;
            setup.one_test("keyplane", "swarm", &["killed"], &[("KEYPLANE_TEST_ROUNDS", "10")])?;
            setup.one_test("keyplane-swarm", "rounds", &[], &[("KEYPLANE_TEST_ROUNDS", "50")])
        },
    },
    Step {
        name: "fuzz",
        about: "fifteen minutes of fuzzing on everything that reads what others write",
        long: true,
        needs: &[],
        run: fuzz,
    },
];

/// Whether there is a step of that name.
pub(crate) fn exists(name: &str) -> bool {
    ALL.iter().any(|step| step.name == name)
}

/// The steps to run. Naming a long step is enough to get it.
pub(crate) fn choose(long: bool, only: Option<&str>) -> Result<Vec<&'static Step>> {
    let chosen: Vec<_> = match only {
        Some(name) => ALL.iter().filter(|step| step.name == name).collect(),
        None => ALL.iter().filter(|step| long || !step.long).collect(),
    };
    if chosen.is_empty() {
        bail!("no step to run");
    }
    Ok(chosen)
}

/// Sees to the needs, runs the steps and sums up. The last line says how it went.
pub(crate) fn run(place: &Place, steps: &[&Step]) -> Result<()> {
    let start = Instant::now();
    heading("needs");
    needs::provide(steps)?;
    let with_servers = steps.iter().any(|step| step.needs.contains(&Need::Redis));
    let wanted = |what, finds| with_servers.then(|| find(what, place, finds)).flatten();
    let setup = Setup {
        place,
        valkey: wanted("valkey", valkey::find),
        clients: wanted("clients", clients::find),
        skips: clear_skips(place)?,
    };

    let mut times = Vec::new();
    let mut skipped_steps = Vec::new();
    let mut skips = Vec::new();
    for step in steps {
        heading(step.name);
        let step_start = Instant::now();
        let outcome = (step.run)(&setup);
        let time = duration(step_start.elapsed());
        match outcome {
            Ok(Outcome::Passed) => {
                println!("{} passed in {time}", step.name);
                times.push((step.name, time));
            }
            Ok(Outcome::Skipped(why)) => {
                let line = format!("SKIP {}: {why}", step.name);
                println!("{line}");
                times.push((step.name, "skipped".to_owned()));
                skipped_steps.push(step.name);
                skips.push(line);
            }
            Err(problem) => {
                print_skips(&setup, &skips);
                bail!("step {} failed after {time}: {problem:#}", step.name);
            }
        }
    }

    heading("summary");
    for (name, time) in &times {
        println!("  {name:<10} {time}");
    }
    println!("  (test counts: the runner's own summary, under `tests`)");
    print_skips(&setup, &skips);
    println!("{}", closing(steps, &skipped_steps, start.elapsed()));
    Ok(())
}

fn closing(steps: &[&Step], skipped: &[&str], time: Duration) -> String {
    let time = duration(time);
    match (steps, skipped) {
        ([only], []) => format!("step {} passed in {time}", only.name),
        ([only], _) => format!("step {} was skipped", only.name),
        (_, []) => format!("all steps passed in {time}"),
        (_, skipped) => format!("all steps passed in {time}, except skipped: {}", skipped.join(", ")),
    }
}

fn heading(name: &str) {
    println!("\n== {name}");
}

impl Setup<'_> {
    fn cargo(&self, args: &[&str]) -> Result<Outcome> {
        self.run(cargo().args(args), STEP_LIMIT)
    }

    /// One test program of one crate, with these words and variables.
    fn one_test(
        &self,
        package: &str,
        test: &str,
        words: &[&str],
        variables: &[(&str, &str)],
    ) -> Result<Outcome> {
        let mut command = cargo();
        command.args(["test", "-p", package, "--test", test, "--locked", "--", "--nocapture"]).args(words);
        self.run(command.envs(variables.iter().copied()), LONG_TEST_LIMIT)
    }

    fn run(&self, command: &mut Command, limit: Duration) -> Result<Outcome> {
        if command.get_current_dir().is_none() {
            command.current_dir(&self.place.root);
        }
        command.env(SKIPS_VARIABLE, &self.skips);
        for (variable, path) in [(valkey::VARIABLE, &self.valkey), (clients::VARIABLE, &self.clients)] {
            match path {
                Some(path) => command.env(variable, path),
                // A value that does not work was reported; the tests should not stumble over it.
                None => command.env_remove(variable),
            };
        }
        command::run(command, limit)?;
        Ok(Outcome::Passed)
    }
}

/// Something that the tests can do without.
fn find(what: &str, place: &Place, find: fn(&Place) -> Result<PathBuf>) -> Option<PathBuf> {
    match find(place) {
        Ok(path) => {
            println!("{what}: {}", path.display());
            Some(path)
        }
        Err(why) => {
            println!("{what}: not available ({why:#}): its tests report a skip");
            None
        }
    }
}

/// Inside `keyplane-test-servers`: a runner with a process per test would start a cluster for each.
fn tests(setup: &Setup<'_>) -> Result<Outcome> {
    // Everything with one set of features; `cargo run` of one package would build its dependencies a second time.
    setup.cargo(&[&["test", "--no-run", "--quiet"][..], &ALL_OF_IT].concat())?;
    let with_nextest = command::answers(cargo().args(["nextest", "--version"]));
    let runner: &[&str] =
        if with_nextest { &["nextest", "run"] } else { &["test", "--tests", "--bins", "--lib"] };
    let mut servers = command::own_program(setup.place.target.join("debug/keyplane-test-servers"));
    servers.arg("--").arg(cargo().get_program()).args(runner).args(ALL_OF_IT);
    setup.run(&mut servers, STEP_LIMIT)
}

fn fuzz(setup: &Setup<'_>) -> Result<Outcome> {
    if !command::answers(command::cargo_of("nightly").args(["fuzz", "--version"])) {
        return Ok(Outcome::Skipped(
            "needs a nightly toolchain and cargo-fuzz: \
             `rustup toolchain install nightly` and `cargo install cargo-fuzz`"
                .to_owned(),
        ));
    }
    for (folder, target, seeds) in FUZZ_TARGETS {
        let folder = setup.place.root.join(folder);
        let corpus = format!("fuzz/corpus/{target}");
        fs::create_dir_all(folder.join(&corpus)).with_context(|| format!("cannot make {corpus}"))?;
        let mut command = command::cargo_of("nightly");
        command
            // The code has no unsafe block of its own, so speed is worth more than a sanitizer.
            .args(["fuzz", "run", "-s", "none", target, &corpus, seeds])
            .args(["--", "-max_len=8192", "-dict=fuzz/words.dict"])
            .arg(format!("-max_total_time={FUZZ_SECONDS}"))
            .arg(format!("-timeout={FUZZ_INPUT_SECONDS}"))
            .current_dir(&folder);
        setup.run(&mut command, FUZZ_LIMIT)?;
    }
    Ok(Outcome::Passed)
}

/// An empty file for this run, so that no skip of an earlier one is told again.
fn clear_skips(place: &Place) -> Result<PathBuf> {
    let dir = place.own_dir();
    fs::create_dir_all(&dir).with_context(|| format!("cannot make {}", dir.display()))?;
    let file = dir.join("skips.txt");
    fs::write(&file, "").with_context(|| format!("cannot write {}", file.display()))?;
    Ok(file)
}

fn print_skips(setup: &Setup<'_>, of_steps: &[String]) {
    let written = fs::read_to_string(&setup.skips).unwrap_or_default();
    let skips = collect_skips(&written, of_steps);
    if skips.is_empty() {
        println!("skipped: none");
        return;
    }
    println!("skipped:");
    for skip in skips {
        println!("  {skip}");
    }
}

/// Sorted, and each once: a test that is tried twice skips twice.
fn collect_skips(written: &str, of_steps: &[String]) -> Vec<String> {
    let from_tests = written.lines().filter(|line| line.starts_with("SKIP ")).map(str::to_owned);
    let mut skips: Vec<String> = from_tests.chain(of_steps.iter().cloned()).collect();
    skips.sort();
    skips.dedup();
    skips
}

#[cfg(test)]
mod tests_of_steps {
    use super::*;

    fn names(chosen: Result<Vec<&Step>>) -> Vec<&str> {
        chosen.into_iter().flatten().map(|step| step.name).collect()
    }

    #[test]
    fn long_steps_run_when_asked_for() {
        let short = ["fmt", "clippy", "tests", "doctests", "docs", "generated"];
        assert_eq!(names(choose(false, None)), short);
        assert_eq!(
            names(choose(true, None)),
            [&short[..], &["bench", "engine", "kill", "soak", "churn", "rounds", "swarm", "fuzz"]].concat()
        );
        assert_eq!(names(choose(false, Some("fuzz"))), ["fuzz"]);
    }

    #[test]
    fn each_skip_is_told_once() {
        let written = "SKIP b: no data\nnot a skip\nSKIP a: no valkey\nSKIP b: no data\n";
        let told = collect_skips(written, &["SKIP fuzz: no nightly".to_owned()]);
        assert_eq!(told, ["SKIP a: no valkey", "SKIP b: no data", "SKIP fuzz: no nightly"]);
    }

    #[test]
    fn the_closing_line_does_not_hide_a_skipped_step() {
        let time = Duration::from_secs(192);
        let all: Vec<&Step> = ALL.iter().collect();
        assert_eq!(closing(&all, &[], time), "all steps passed in 3m12s");
        assert_eq!(closing(&all, &["fuzz"], time), "all steps passed in 3m12s, except skipped: fuzz");
        assert_eq!(closing(&all[..1], &[], time), "step fmt passed in 3m12s");
    }
}
