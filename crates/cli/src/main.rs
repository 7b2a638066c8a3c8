//! The `keyplane` binary: thin, one file per command.

mod args;
mod config;
mod contracts;
#[cfg(feature = "embedded")]
mod demo;
mod doctor;
#[cfg(any(feature = "mempool", feature = "swarm"))]
mod door;
mod keys;
#[cfg(any(feature = "mempool", feature = "swarm"))]
mod live;
mod members;
#[cfg(feature = "mempool")]
mod mempool;
mod outcome;
mod output;
mod ping;
mod progress;
mod round_trips;
mod session;
mod settings;
mod shell;
#[cfg(any(feature = "mempool", feature = "swarm"))]
mod site;
mod state;
#[cfg(feature = "embedded")]
mod store;
#[cfg(feature = "swarm")]
mod swarm;
mod words;

use clap::Parser as _;

use args::{Args, Command};
use outcome::{Failure, Outcome};
use output::Output;

fn main() -> std::process::ExitCode {
    let args = Args::parse();
    let output = Output::new(args.json, args.quiet);
    let outcome = match &args.command {
        Command::Keys(command) => keys::run(command, &output),
        #[cfg(feature = "embedded")]
        Command::Demo(command) => demo::run(command, &output),
        #[cfg(feature = "embedded")]
        Command::Store(command) => store::run(command, &args.given, &output),
        #[cfg(feature = "mempool")]
        Command::Mempool(command) => mempool::run(command, &args.given, &output),
        #[cfg(feature = "swarm")]
        Command::Swarm(command) => swarm::run(command, &args.given, &output),
        Command::Ping { whose, count } => ping::run(*count, whose, &args.given, &output),
        Command::Doctor { whose } => doctor::run(whose, &args.given, &output),
        Command::Config(command) => config::run(command, &args.given, &output),
        Command::Completions { shell } => shell::completions(*shell, &output),
        Command::Man { dir } => shell::man(dir.as_deref(), &output),
    };
    finish(outcome, &output)
}

fn finish(outcome: Result<Outcome, Failure>, output: &Output) -> std::process::ExitCode {
    match outcome {
        Ok(outcome) => outcome.code(),
        // Whoever reads our output has seen enough, as `head` does: not a failure.
        Err(failure) if failure.is_broken_pipe() => Outcome::Fine.code(),
        Err(failure) => {
            output.failure(&failure);
            failure.exit_code()
        }
    }
}
