//! What the steps need beyond cargo, and how to get it.
//!
//! On Debian and Ubuntu, as root, what is missing is installed. Everywhere else the machine belongs to somebody,
//! so this only says what is missing and which command brings it.

use std::fmt;
use std::fs;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, bail};

use crate::command::{self, output};
use crate::steps::Step;

/// The generated ACL users rely on selectors, which Redis has since 7.0.
const REDIS: Version = Version(7, 0);

/// Package mirrors can be slow; a mirror that hangs must not hang the test.
const INSTALL_LIMIT: Duration = Duration::from_secs(600);

/// Something outside this repository that a step cannot do without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// `redis-server` and `redis-cli`.
    Redis,
    /// A component of the Rust toolchain, by its name in rustup.
    Component(&'static str),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Version(u32, u32);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

/// Sees to everything that the chosen steps need, or says what is missing.
pub(crate) fn provide(steps: &[&Step]) -> Result<()> {
    let mut needs: Vec<Need> = Vec::new();
    for need in steps.iter().flat_map(|step| step.needs) {
        if !needs.contains(need) {
            needs.push(*need);
        }
    }
    provide_these(&needs)
}

/// The same for what a task needs that has no steps.
pub(crate) fn provide_these(needs: &[Need]) -> Result<()> {
    let system = System::find();
    let mut missing = missing(needs);
    if !missing.is_empty() && system == System::Debian && is_root() {
        install(&missing)?;
        missing = self::missing(needs);
    }
    if missing.is_empty() {
        return Ok(());
    }
    bail!(explain(&missing, system))
}

/// A need that is not met, and why.
type Missing = (Need, String);

fn missing(needs: &[Need]) -> Vec<Missing> {
    needs.iter().filter_map(|need| look(*need).err().map(|why| (*need, why))).collect()
}

fn look(need: Need) -> Result<(), String> {
    match need {
        Need::Redis => {
            let said = output(Command::new("redis-server").arg("--version"))
                .map_err(|_| format!("redis-server {REDIS} or newer is missing"))?;
            let version = server_version(&said).ok_or_else(|| {
                format!("redis-server does not tell its version, but says: {}", said.trim())
            })?;
            if version < REDIS {
                return Err(format!("redis-server is {version}, and {REDIS} or newer is needed"));
            }
            if !command::answers(Command::new("redis-cli").arg("--version")) {
                return Err("redis-cli is missing".to_owned());
            }
            println!("redis: redis-server {version}");
            Ok(())
        }
        Need::Component(name) => {
            let subcommand = if name == "rustfmt" { "fmt" } else { name };
            if command::answers(command::cargo().args([subcommand, "--version"])) {
                return Ok(());
            }
            Err(format!("{name} is missing from this Rust toolchain"))
        }
    }
}

/// Reads `Redis server v=7.0.15 sha=…`, and `Valkey server v=…` where Valkey stands in for Redis.
fn server_version(said: &str) -> Option<Version> {
    let (_, rest) = said.split_once(" v=")?;
    let mut parts = rest.split(|c: char| !c.is_ascii_digit());
    Some(Version(parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

fn install(missing: &[Missing]) -> Result<()> {
    if missing.iter().any(|(need, _)| *need == Need::Redis) {
        apt_get(&["update"])?;
        apt_get(&["install", "-y", "--no-install-recommends", "redis-server", "redis-tools"])?;
    }
    let components = components(missing);
    if !components.is_empty() && command::on_path("rustup").is_some() {
        command::run(Command::new("rustup").args(["component", "add"]).args(components), INSTALL_LIMIT)?;
    }
    Ok(())
}

fn apt_get(args: &[&str]) -> Result<()> {
    let mut command = Command::new("apt-get");
    // A fresh machine often updates itself in the background and holds the lock for a moment.
    command.args(["-o", "DPkg::Lock::Timeout=120"]).args(args).env("DEBIAN_FRONTEND", "noninteractive");
    command::run(&mut command, INSTALL_LIMIT)
}

fn components(missing: &[Missing]) -> Vec<&'static str> {
    missing
        .iter()
        .filter_map(|(need, _)| match need {
            Need::Component(name) => Some(*name),
            Need::Redis => None,
        })
        .collect()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum System {
    Debian,
    Fedora,
    Mac,
    Other,
}

impl System {
    fn find() -> Self {
        if cfg!(target_os = "macos") {
            return Self::Mac;
        }
        Self::from_os_release(&fs::read_to_string("/etc/os-release").unwrap_or_default())
    }

    /// `ID` names the system, `ID_LIKE` its relatives.
    fn from_os_release(text: &str) -> Self {
        let ids = text
            .lines()
            .filter_map(|line| line.strip_prefix("ID=").or_else(|| line.strip_prefix("ID_LIKE=")))
            .flat_map(|value| value.trim_matches('"').split_whitespace());
        for id in ids {
            match id {
                "debian" | "ubuntu" => return Self::Debian,
                "fedora" | "rhel" => return Self::Fedora,
                _ => {}
            }
        }
        Self::Other
    }

    fn how_to_get_redis(self) -> &'static str {
        match self {
            Self::Debian => {
                "sudo apt-get update && sudo apt-get install -y --no-install-recommends redis-server redis-tools\n  \
                 (Debian 12, Ubuntu 24.04 and newer have Redis 7; on older ones put a newer redis-server on PATH)"
            }
            Self::Fedora => "sudo dnf install redis",
            Self::Mac => "brew install redis",
            Self::Other => {
                "macOS:           brew install redis\n  \
                 Fedora, RHEL:    sudo dnf install redis\n  \
                 Debian, Ubuntu:  sudo apt-get install -y --no-install-recommends redis-server redis-tools\n  \
                 elsewhere:       put redis-server and redis-cli on PATH"
            }
        }
    }
}

fn is_root() -> bool {
    output(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0")
}

fn explain(missing: &[Missing], system: System) -> String {
    let mut text = String::from("missing:\n");
    for (_, why) in missing {
        text.push_str(&format!("  {why}\n"));
    }
    text.push_str("to get it:\n");
    if missing.iter().any(|(need, _)| *need == Need::Redis) {
        text.push_str(&format!("  {}\n", system.how_to_get_redis()));
    }
    let components = components(missing);
    if !components.is_empty() {
        text.push_str(&format!(
            "  rustup component add {}   (without rustup: from where your Rust came)\n",
            components.join(" ")
        ));
    }
    text.push_str("then run the same command again");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_read_from_redis_and_from_its_stand_in() {
        let redis = "Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64";
        assert_eq!(server_version(redis), Some(Version(7, 0)));
        assert_eq!(server_version("Valkey server v=8.1.4 sha=0"), Some(Version(8, 1)));
        assert_eq!(server_version("Redis server"), None);
        assert!(Version(6, 2) < REDIS && Version(10, 0) > REDIS);
    }

    #[test]
    fn relatives_of_debian_and_fedora_are_known() {
        assert_eq!(System::from_os_release("NAME=x\nID=debian\n"), System::Debian);
        assert_eq!(System::from_os_release("ID=linuxmint\nID_LIKE=\"ubuntu debian\"\n"), System::Debian);
        assert_eq!(System::from_os_release("ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n"), System::Fedora);
        assert_eq!(System::from_os_release("ID=arch\n"), System::Other);
        assert_eq!(System::from_os_release("VERSION_ID=debian\n"), System::Other);
    }

    #[test]
    fn the_explanation_names_each_thing_and_the_command_for_it() {
        let missing = [
            (Need::Redis, "redis-cli is missing".to_owned()),
            (Need::Component("clippy"), "clippy is missing from this Rust toolchain".to_owned()),
        ];
        let text = explain(&missing, System::Mac);
        assert_eq!(
            text,
            "missing:\n  redis-cli is missing\n  clippy is missing from this Rust toolchain\nto get it:\n  \
             brew install redis\n  rustup component add clippy   (without rustup: from where your Rust came)\n\
             then run the same command again"
        );
    }
}
