//! Starts the shared servers once, runs a command that tests on them, and stops them.
//!
//! `keyplane-test-servers [--stores redis,cluster] -- cargo nextest run`
//!
//! Runners with a process per test would otherwise start servers for each test. Without `--stores` the kinds of
//! `KEYPLANE_TEST_STORES` are started, else all. The command finds them through `KEYPLANE_TEST_SERVERS`. Ends with the
//! command's exit code; the servers end with this program, however it ends.
#![allow(
    clippy::expect_used,
    clippy::print_stderr,
    reason = "a tool for tests, which speaks to whoever runs them"
)]

use std::env;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command as Plain, ExitCode, ExitStatus};
use std::time::Instant;

use keyplane_testing::{Kind, SERVERS_VARIABLE, Servers};
use tokio::process::Command;
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};

const USAGE: &str = "usage: keyplane-test-servers [--stores redis,cluster] -- command [arguments]";

fn main() -> ExitCode {
    let (kinds, command) = match arguments(env::args().skip(1).collect()) {
        Ok(arguments) => arguments,
        Err(problem) => {
            eprintln!("{problem}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let start = Instant::now();
    let servers = Servers::start(&kinds);
    let list = servers.write_list();
    tell(&servers, start);
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    match runtime.block_on(run(&command, &list)) {
        Ok(status) => ExitCode::from(code(status)),
        Err(error) => {
            eprintln!("cannot run {}: {error}", command[0]);
            ExitCode::from(127)
        }
    }
}

/// The kinds to start, and the command to run.
fn arguments(words: Vec<String>) -> Result<(Vec<Kind>, Vec<String>), String> {
    let mut words = words.into_iter();
    let mut kinds = None;
    loop {
        match words.next().as_deref() {
            Some("--stores") => {
                let list = words.next().ok_or("--stores needs a list of kinds")?;
                kinds = Some(Kind::parse_list(&list)?);
            }
            Some("--") => break,
            Some(other) => return Err(format!("`{other}` is not known")),
            None => return Err("no command to run".to_owned()),
        }
    }
    let command: Vec<String> = words.collect();
    if command.is_empty() {
        return Err("no command to run".to_owned());
    }
    Ok((kinds.unwrap_or_else(Kind::chosen), command))
}

fn tell(servers: &Servers, start: Instant) {
    for (kind, address) in servers.addresses() {
        match address {
            Ok(address) => eprintln!("{kind:<9} {}", address.url),
            Err(why) => eprintln!("{kind:<9} none: {why}"),
        }
    }
    eprintln!("started in {} ms", start.elapsed().as_millis());
}

async fn run(command: &[String], list: &Path) -> std::io::Result<ExitStatus> {
    // Before the command starts, so that no signal finds us unprepared.
    let mut interrupt = signal(SignalKind::interrupt())?;
    let requests = [(signal(SignalKind::terminate())?, "-TERM"), (signal(SignalKind::hangup())?, "-HUP")];
    let mut child = Command::new(&command[0]).args(&command[1..]).env(SERVERS_VARIABLE, list).spawn()?;
    // Ctrl-C goes to the command too, which ends in its own way: here it only must not end us first.
    tokio::spawn(async move { while interrupt.recv().await.is_some() {} });
    // The other requests to end come to us alone.
    for (mut request, name) in requests {
        let pid = child.id();
        tokio::spawn(async move {
            while request.recv().await.is_some() {
                if let Some(pid) = pid {
                    let _ = Plain::new("kill").args([name, &pid.to_string()]).status();
                }
            }
        });
    }
    child.wait().await
}

/// As a shell has it: 128 and the signal, where a signal ended the command.
fn code(status: ExitStatus) -> u8 {
    let signal = status.signal().map(|signal| 128 + signal);
    status.code().or(signal).and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}
