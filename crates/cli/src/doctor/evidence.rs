//! What is asked of a server. Nothing here judges.

use std::collections::HashMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use keyplane_config::Section;
use keyplane_store::fitness::{Concern, Facts};
use keyplane_store::{Reply, Topology};
use tokio::time::Instant;

use super::limits::{CLOCK_QUESTIONS, PINGS, PINGS_TIME};
use crate::members::{Member, NoAnswer, Reached, Way};
use crate::round_trips::RoundTrips;
use crate::settings::Target;

/// What is known about one server. What was not asked yet is `None`: an interrupted look shows the rest.
#[derive(Debug)]
pub(super) struct Evidence {
    pub(super) address: String,
    pub(super) way: Way,
    pub(super) asked: Asked,
    /// From INFO, or why there is nothing to be known.
    pub(super) facts: Result<Facts, String>,
    /// CONFIG GET of what INFO does not say about persistence.
    pub(super) saving: Option<Result<HashMap<String, String>, NoAnswer>>,
    pub(super) whoami: Option<Result<String, NoAnswer>>,
    pub(super) default_user: Option<Result<AclUser, NoAnswer>>,
    pub(super) script: Option<Result<(), NoAnswer>>,
    pub(super) clock: Option<Result<Skew, NoAnswer>>,
    pub(super) trips: Option<RoundTrips>,
    /// CLUSTER INFO, where the url is that of a cluster.
    pub(super) cluster: Option<Result<HashMap<String, String>, NoAnswer>>,
}

/// How the store was asked for.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) tls: bool,
    pub(super) cluster: bool,
    /// The user of the settings.
    pub(super) login: Option<String>,
    /// Concerns that the settings accept, and where they do.
    pub(super) accepted: Vec<Concern>,
    pub(super) accepted_by: String,
    /// The contract to make users from.
    pub(super) schema: &'static str,
    pub(super) patience: Duration,
}

impl Asked {
    pub(super) fn of(target: &Target) -> Self {
        Self {
            tls: target.url.tls,
            cluster: matches!(target.url.topology, Topology::Cluster(_)),
            login: target.options.user.clone(),
            accepted: target.options.accept.clone(),
            accepted_by: target.accept_source.to_string(),
            schema: if target.section == Section::Store { "NAME" } else { target.section.word() },
            patience: target.options.command_timeout,
        }
    }
}

/// As far as it matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AclUser {
    pub(super) on: bool,
    pub(super) without_password: bool,
    pub(super) all_commands: bool,
}

/// The server's clock against ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Skew {
    /// Positive: the server is ahead.
    pub(super) micros: i64,
    /// Half the round trip: the answer was written at some moment of it.
    pub(super) uncertainty: Duration,
}

impl Evidence {
    pub(super) fn new(member: &Member, asked: &Asked) -> Self {
        Self {
            address: member.address.clone(),
            way: member.way,
            asked: asked.clone(),
            facts: member.state.as_ref().map(|server| server.facts.clone()).map_err(Clone::clone),
            saving: None,
            whoami: None,
            default_user: None,
            script: None,
            clock: None,
            trips: None,
            cluster: None,
        }
    }

    /// Asks everything, the quick questions first.
    pub(super) async fn gather(&mut self, server: &Reached) {
        self.saving = Some(server.ask_for(&["CONFIG", "GET", "save", "appendfsync"]).await);
        self.whoami = Some(server.ask_for(&["ACL", "WHOAMI"]).await);
        self.default_user =
            Some(server.ask(&["ACL", "GETUSER", "default"]).await.and_then(|user| read_user(&user)));
        self.script = Some(server.ask_for(&["EVAL_RO", "return 1", "0"]).await);
        if self.asked.cluster {
            let info = server.ask_for::<String>(&["CLUSTER", "INFO"]).await;
            self.cluster = Some(info.map(|info| read_info(&info)));
        }
        self.clock = Some(skew(server).await);
        let start = Instant::now();
        while self.trips.as_ref().map_or(0, RoundTrips::asked) < PINGS && start.elapsed() < PINGS_TIME {
            self.trips.get_or_insert_default().ping(server).await;
        }
    }
}

/// ACL GETUSER. The passwords in it are left alone.
fn read_user(user: &Reply) -> Result<AclUser, NoAnswer> {
    let strange = || NoAnswer::Otherwise("the answer has another shape".to_owned());
    let Reply::Map(parts) = user else { return Err(strange()) };
    let part = |name: &str| {
        parts
            .iter()
            .find(|(key, _)| matches!(key, Reply::Bytes(key) if key == name.as_bytes()))
            .map(|(_, part)| part)
    };
    let (Some(Reply::Array(flags)), Some(Reply::Bytes(commands))) = (part("flags"), part("commands")) else {
        return Err(strange());
    };
    let has =
        |flag: &str| flags.iter().any(|word| matches!(word, Reply::Bytes(word) if word == flag.as_bytes()));
    Ok(AclUser {
        on: has("on"),
        without_password: has("nopass"),
        all_commands: commands.split(|byte| *byte == b' ').any(|rule| rule == b"+@all"),
    })
}

/// `name:value` lines.
fn read_info(info: &str) -> HashMap<String, String> {
    let pairs = info.lines().filter_map(|line| line.trim_end().split_once(':'));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

async fn skew(server: &Reached) -> Result<Skew, NoAnswer> {
    let mut best: Option<Skew> = None;
    for _ in 0..CLOCK_QUESTIONS {
        let (before, start) = (SystemTime::now(), Instant::now());
        let (seconds, micros): (u64, u64) = server.ask_for(&["TIME"]).await?;
        let half = start.elapsed() / 2;
        let theirs = Duration::from_secs(seconds) + Duration::from_micros(micros);
        let ours = before.duration_since(UNIX_EPOCH).unwrap_or_default() + half;
        let one = Skew { micros: whole_micros(theirs) - whole_micros(ours), uncertainty: half };
        if best.is_none_or(|best| one.uncertainty < best.uncertainty) {
            best = Some(one);
        }
    }
    best.ok_or_else(|| NoAnswer::Nothing("nobody asked".to_owned()))
}

fn whole_micros(time: Duration) -> i64 {
    // A server may answer anything; half of the range leaves room for the difference.
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX).min(i64::MAX / 2)
}

/// A store at `redis://…` with default settings.
#[cfg(test)]
pub(super) fn asked() -> Asked {
    Asked {
        tls: false,
        cluster: false,
        login: None,
        accepted: Vec::new(),
        accepted_by: "keyplane.toml:1".to_owned(),
        schema: "market",
        patience: Duration::from_secs(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(text: &str) -> Reply {
        Reply::Bytes(text.into())
    }

    fn user(flags: &[&str], commands: &str) -> Reply {
        Reply::Map(vec![
            (bytes("flags"), Reply::Array(flags.iter().map(|flag| bytes(flag)).collect())),
            (bytes("passwords"), Reply::Array(vec![])),
            (bytes("commands"), bytes(commands)),
        ])
    }

    #[test]
    fn a_user_is_read_by_its_flags_and_commands() {
        let open = AclUser { on: true, without_password: true, all_commands: true };
        assert_eq!(read_user(&user(&["on", "nopass", "sanitize-payload"], "+@all")), Ok(open));
        let closed = AclUser { on: false, without_password: false, all_commands: false };
        assert_eq!(read_user(&user(&["off"], "-@all +get")), Ok(closed));
        assert!(read_user(&Reply::Nil).is_err());
    }

    #[test]
    fn lines_of_info_are_read() {
        let info = read_info("cluster_state:ok\r\ncluster_slots_ok:16384\r\n");
        assert_eq!(info["cluster_state"], "ok");
        assert_eq!(info["cluster_slots_ok"], "16384");
    }
}
