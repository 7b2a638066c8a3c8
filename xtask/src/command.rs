//! Running other programs: never with input, never without an end.

use std::env;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// How often a running program is asked whether it has ended.
const POLL: Duration = Duration::from_millis(50);

/// How long a program that is over its limit may take to end its own children.
const GRACE: Duration = Duration::from_secs(10);

/// Cargo, the one that runs this program.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    forget_this_package(&mut command);
    command
}

/// A program of this repository that runs cargo itself.
pub(crate) fn own_program(program: PathBuf) -> Command {
    let mut command = Command::new(program);
    forget_this_package(&mut command);
    command
}

/// Cargo through rustup, for another toolchain: only rustup's cargo understands `+nightly`.
pub(crate) fn cargo_of(toolchain: &str) -> Command {
    let mut command = Command::new("cargo");
    forget_this_package(&mut command);
    command.arg(format!("+{toolchain}"));
    command
}

/// Build scripts can track these variables. Left in place they would make a build from here and one from
/// a shell rebuild each other's work.
fn forget_this_package(command: &mut Command) {
    for (name, _) in env::vars_os() {
        let package =
            name.to_str().is_some_and(|n| n.starts_with("CARGO_PKG_") || n.starts_with("CARGO_MANIFEST_"));
        if package {
            command.env_remove(name);
        }
    }
}

/// Shows the command, runs it with its output passed through, and stops it at the limit.
pub(crate) fn run(command: &mut Command, limit: Duration) -> Result<()> {
    println!("$ {}", line(command));
    run_quietly(command, limit)
}

/// Like [`run`], without showing the command.
pub(crate) fn run_quietly(command: &mut Command, limit: Duration) -> Result<()> {
    let mut child =
        command.stdin(Stdio::null()).spawn().with_context(|| format!("cannot run `{}`", line(command)))?;
    match wait(&mut child, limit)? {
        Some(status) if status.success() => Ok(()),
        Some(status) => bail!("`{}` ended with {status}", line(command)),
        None => {
            stop(&mut child)?;
            bail!("`{}` did not end within {}", line(command), duration(limit))
        }
    }
}

/// What a short-lived program prints.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output =
        command.stdin(Stdio::null()).output().with_context(|| format!("cannot run `{}`", line(command)))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("`{}` ended with {}: {}", line(command), output.status, said.trim());
    }
    String::from_utf8(output.stdout).with_context(|| format!("`{}` did not print UTF-8", line(command)))
}

/// Whether a program is there and answers.
pub(crate) fn answers(command: &mut Command) -> bool {
    output(command).is_ok()
}

/// The first program of that name on `PATH`.
pub(crate) fn on_path(name: &str) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?).map(|dir| dir.join(name)).find(|file| file.is_file())
}

/// `None` when the limit is reached first.
fn wait(child: &mut Child, limit: Duration) -> Result<Option<ExitStatus>> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if start.elapsed() >= limit {
            return Ok(None);
        }
        sleep(POLL);
    }
}

/// Asks first: a test runner that is killed outright leaves its tests and their servers behind.
fn stop(child: &mut Child) -> Result<()> {
    let asked =
        Command::new("kill").args(["-TERM", &child.id().to_string()]).status().is_ok_and(|s| s.success());
    if !asked || wait(child, GRACE)?.is_none() {
        child.kill()?;
        child.wait()?;
    }
    Ok(())
}

/// The command as one would type it.
fn line(command: &Command) -> String {
    let program = PathBuf::from(command.get_program());
    let mut words = Vec::new();
    for (name, value) in command.get_envs() {
        // Only what changes the meaning of the command; paths of this run would be noise.
        if let (Some("RUSTDOCFLAGS"), Some(value)) = (name.to_str(), value) {
            words.push(format!("RUSTDOCFLAGS={:?}", value.to_string_lossy()));
        }
    }
    words.push(program.file_name().unwrap_or(program.as_os_str()).to_string_lossy().into_owned());
    words.extend(command.get_args().map(|arg| arg.to_string_lossy().into_owned()));
    words.join(" ")
}

/// A duration for people: `0.4s`, `12s`, `3m12s`, `1h02m`.
pub(crate) fn duration(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..10 => format!("{:.1}s", time.as_secs_f64()),
        10..60 => format!("{seconds}s"),
        60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h{:02}m", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_well_at_every_size() {
        let shown = |ms| duration(Duration::from_millis(ms));
        assert_eq!(shown(420), "0.4s");
        assert_eq!(shown(12_900), "12s");
        assert_eq!(shown(192_000), "3m12s");
        assert_eq!(shown(3_720_000), "1h02m");
    }

    #[test]
    #[cfg(unix)]
    fn a_program_that_does_not_end_is_stopped() {
        let start = Instant::now();
        let result = run_quietly(Command::new("sleep").arg("60"), Duration::from_millis(100));
        assert!(result.is_err_and(|e| e.to_string() == "`sleep 60` did not end within 0.1s"));
        assert!(start.elapsed() < GRACE, "it was asked to end and did");
    }

    #[test]
    #[cfg(unix)]
    fn a_program_that_reads_input_finds_none() {
        assert!(run_quietly(&mut Command::new("cat"), Duration::from_secs(30)).is_ok());
    }
}
