//! `cargo xtask`: the chores of this repository.
//!
//! `test` brings what the tests need, then runs every step in order and stops at the first that fails.
//! `generate` rewrites the files that are made from the contracts. `planted` shows that the engine's differential tests
//! notice bugs. Nothing here starts a server; tests start their own.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "this program talks to a person at a terminal or to a CI log"
)]

mod args;
mod clients;
mod command;
mod generated;
mod needs;
mod place;
mod planted;
mod steps;
mod valkey;

use std::process::ExitCode;

use args::Task;
use place::Place;

fn main() -> ExitCode {
    let task = match args::parse(std::env::args().skip(1)) {
        Ok(task) => task,
        Err(problem) => {
            eprintln!("error: {problem}\n       `cargo xtask help` lists commands and steps");
            return ExitCode::from(2);
        }
    };
    match run(&task) {
        Ok(()) => ExitCode::SUCCESS,
        // The alternate form prints the whole chain of causes on one line, so the last line of a log says it all.
        Err(problem) => {
            eprintln!("{problem:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: &Task) -> anyhow::Result<()> {
    match task {
        Task::Help => {
            print!("{}", help());
            Ok(())
        }
        Task::Generate => generated::write(&Place::find()?),
        Task::Planted { part } => planted::run(&Place::find()?, part.as_deref()),
        Task::Test { long, only } => {
            let place = Place::find()?;
            let chosen = steps::choose(*long, only.as_deref())?;
            steps::run(&place, &chosen)
        }
    }
}

fn help() -> String {
    let mut text = String::from(
        "The chores of this repository.

cargo xtask test                 check everything; under 30 minutes on two cores
cargo xtask test --long          also what takes longer
cargo xtask test --only STEP     one step, with what it needs
cargo xtask generate             rewrite the generated files
cargo xtask planted [NAME PART]  plant bugs in a copy of the engine, one at a time; its differential tests must find each
cargo xtask help                 this page

On Debian and Ubuntu, as root, `test` installs what is missing; elsewhere it says what to install.
Test counts are in the test runner's own summary; this program adds times and the tests that were skipped.

Steps, in order:
",
    );
    for step in steps::ALL {
        let long = if step.long { " (--long)" } else { "" };
        text.push_str(&format!("  {:<10} {}{long}\n", step.name, step.about));
    }
    text.push_str(
        "
Environment:
  KEYPLANE_VALKEY_SERVER   a valkey-server to test against; empty: do without
  KEYPLANE_TEST_CLIENTS    a folder with redis-py in python/ and ioredis in node/; empty: do without
  CARGO_TARGET_DIR         where builds, what was fetched and the list of skips go

Exit codes: 0 all passed, 1 something failed or is missing, 2 usage.
",
    );
    text
}
