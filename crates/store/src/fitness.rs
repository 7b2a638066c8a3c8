//! Is this server fit? Judged by INFO alone, which every user of the store may ask for.

use std::fmt;

/// The oldest server that has what the store relies on.
const OLDEST: (u32, u32) = (7, 0);

/// What INFO says, as far as it matters here.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Facts {
    /// `Redis` or `Valkey`.
    pub product: String,
    /// Its version, as the server writes it.
    pub version: String,
    /// Redis's version that it is compatible with.
    pub compatible: (u32, u32),
    /// `standalone`, `cluster`, `sentinel`.
    pub mode: String,
    /// Whether it is a replica.
    pub replica: bool,
    /// Whether a replica has lost its master.
    pub master_link_down: bool,
    /// Replicas that are connected.
    pub replicas: u32,
    /// Memory limit in bytes; 0 is none.
    pub maxmemory: u64,
    /// Memory in use.
    pub used_memory: u64,
    /// Memory that the process takes; 0 where the server does not say.
    pub rss: u64,
    /// What happens at the limit.
    pub eviction: String,
    /// Whether every write goes to a file.
    pub append_only: bool,
    /// Whether the last write to that file, or the last snapshot, failed.
    pub persistence_failing: bool,
    /// Changes since the last snapshot.
    pub unsaved_changes: u64,
    /// Whether it still reads its data.
    pub loading: bool,
    /// Seconds since it started.
    pub uptime: u64,
    /// Keys in all databases.
    pub keys: u64,
    /// Connected clients, and how many there may be.
    pub clients: (u64, u64),
    /// Keys that were dropped for want of memory.
    pub evicted: u64,
}

impl Facts {
    /// Reads an answer to INFO. What is missing stays empty.
    #[must_use]
    pub fn read(info: &str) -> Self {
        let mut facts = Self { product: "Redis".to_owned(), ..Self::default() };
        let mut save_failed = false;
        for (name, value) in info.lines().filter_map(|line| line.trim_end().split_once(':')) {
            let number = || value.parse::<u64>().unwrap_or_default();
            match name {
                "redis_version" => {
                    facts.compatible = major_minor(value);
                    if facts.version.is_empty() {
                        value.clone_into(&mut facts.version);
                    }
                }
                "valkey_version" => {
                    "Valkey".clone_into(&mut facts.product);
                    value.clone_into(&mut facts.version);
                }
                "redis_mode" | "server_mode" => value.clone_into(&mut facts.mode),
                "role" => facts.replica = value == "slave" || value == "replica",
                "master_link_status" => facts.master_link_down = value == "down",
                "connected_slaves" => facts.replicas = u32::try_from(number()).unwrap_or(u32::MAX),
                "maxmemory" => facts.maxmemory = number(),
                "used_memory" => facts.used_memory = number(),
                "used_memory_rss" => facts.rss = number(),
                "maxmemory_policy" => value.clone_into(&mut facts.eviction),
                "aof_enabled" => facts.append_only = value == "1",
                "aof_last_write_status" | "aof_last_bgrewrite_status" | "rdb_last_bgsave_status" => {
                    save_failed |= value != "ok";
                }
                "rdb_changes_since_last_save" => facts.unsaved_changes = number(),
                "loading" => facts.loading = value == "1",
                "uptime_in_seconds" => facts.uptime = number(),
                "connected_clients" => facts.clients.0 = number(),
                "maxclients" => facts.clients.1 = number(),
                "evicted_keys" => facts.evicted = number(),
                _ if name.starts_with("db") => facts.keys += keys_of_db(value),
                _ => {}
            }
        }
        facts.persistence_failing = save_failed;
        facts
    }
}

fn major_minor(version: &str) -> (u32, u32) {
    let mut parts = version.split('.').map(|part| part.parse().unwrap_or_default());
    (parts.next().unwrap_or_default(), parts.next().unwrap_or_default())
}

/// `keys=12,expires=3,avg_ttl=0`.
fn keys_of_db(value: &str) -> u64 {
    value.strip_prefix("keys=").and_then(|rest| rest.split(',').next()?.parse().ok()).unwrap_or_default()
}

/// What a finding is about. A deployment that knows better accepts it by this word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Concern {
    /// The server is too old.
    Version,
    /// Keys may be dropped for want of memory.
    Eviction,
    /// What is written may not survive a restart.
    Persistence,
    /// The server takes no writes.
    Replica,
}

impl Concern {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Version, Self::Eviction, Self::Persistence, Self::Replica];

    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Version => "version",
            Self::Eviction => "eviction",
            Self::Persistence => "persistence",
            Self::Replica => "replica",
        }
    }

    /// The concern of that word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|concern| concern.word() == word)
    }
}

/// How much it matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Data may be lost in a way that the deployment may have chosen.
    Warning,
    /// The store cannot keep its promises here.
    Refusal,
}

/// Something about a server that a store should not meet silently.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// What it is about.
    pub concern: Concern,
    /// How much it matters.
    pub severity: Severity,
    /// What was found, and why it matters.
    pub what: String,
    /// What to do about it.
    pub advice: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.concern.word(), self.what, self.advice)
    }
}

/// Everything that is to be said about a server.
#[must_use]
pub fn judge(facts: &Facts) -> Vec<Finding> {
    [version(facts), eviction(facts), persistence(facts), replica(facts)].into_iter().flatten().collect()
}

fn version(facts: &Facts) -> Option<Finding> {
    if facts.compatible >= OLDEST {
        return None;
    }
    let shown = if facts.version.is_empty() { "no version" } else { &facts.version };
    Some(Finding {
        concern: Concern::Version,
        severity: Severity::Refusal,
        what: format!(
            "{} {shown} has no read-only scripts (EVALSHA_RO), no read and write permissions of keys, and no conditional expiry",
            facts.product
        ),
        advice: "use Redis 7.0 or later, or Valkey".to_owned(),
    })
}

fn eviction(facts: &Facts) -> Option<Finding> {
    if facts.eviction == "noeviction" || facts.eviction.is_empty() {
        return None;
    }
    let (severity, what) = if facts.maxmemory == 0 {
        let what =
            format!("the policy is {}, and only because maxmemory is 0 nothing is dropped", facts.eviction);
        (Severity::Warning, what)
    } else {
        let what = format!(
            "{} drops keys when memory is full: locks, queues and state vanish silently",
            facts.eviction
        );
        (Severity::Refusal, what)
    };
    let advice =
        "CONFIG SET maxmemory-policy noeviction, and the same in the server's configuration".to_owned();
    Some(Finding { concern: Concern::Eviction, severity, what, advice })
}

fn persistence(facts: &Facts) -> Option<Finding> {
    if facts.persistence_failing {
        return Some(Finding {
            concern: Concern::Persistence,
            severity: Severity::Warning,
            what: "the last write to disk failed: what is written now may be lost".to_owned(),
            advice: "look at the server's log and its disk".to_owned(),
        });
    }
    if facts.append_only {
        return None;
    }
    Some(Finding {
        concern: Concern::Persistence,
        severity: Severity::Warning,
        what:
            "the append-only file is off: a crash loses everything since the last snapshot, if there is one"
                .to_owned(),
        advice: "CONFIG SET appendonly yes, and the same in the server's configuration".to_owned(),
    })
}

fn replica(facts: &Facts) -> Option<Finding> {
    facts.replica.then(|| Finding {
        concern: Concern::Replica,
        severity: Severity::Warning,
        what: "the server is a replica: it answers reads, perhaps old ones, and refuses writes".to_owned(),
        advice: "connect to its master, or through redis+sentinel:// or redis+cluster://".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FINE: &str = "# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\nuptime_in_seconds:77\r\n\
        # Memory\r\nused_memory:1000\r\nmaxmemory:0\r\nmaxmemory_policy:noeviction\r\n\
        # Persistence\r\nloading:0\r\naof_enabled:1\r\naof_last_write_status:ok\r\nrdb_last_bgsave_status:ok\r\n\
        # Replication\r\nrole:master\r\nconnected_slaves:2\r\n\
        # Keyspace\r\ndb0:keys=12,expires=3,avg_ttl=0\r\ndb3:keys=1,expires=0,avg_ttl=0\r\n";

    fn concerns(info: &str) -> Vec<(Concern, Severity)> {
        judge(&Facts::read(info)).into_iter().map(|found| (found.concern, found.severity)).collect()
    }

    #[test]
    fn a_fit_server_raises_no_finding() {
        assert_eq!(concerns(FINE), []);
        let facts = Facts::read(FINE);
        assert_eq!((facts.keys, facts.replicas, facts.uptime), (13, 2, 77));
    }

    #[test]
    fn each_concern_is_found_by_itself() {
        use Concern::{Eviction, Persistence, Replica, Version};
        use Severity::{Refusal, Warning};
        let with = |from: &str, to: &str| concerns(&FINE.replace(from, to));
        assert_eq!(with("7.0.15", "6.2.14"), [(Version, Refusal)]);
        assert_eq!(with("redis_version:7.0.15\r\n", ""), [(Version, Refusal)]);
        assert_eq!(with("noeviction", "allkeys-lru"), [(Eviction, Warning)]);
        assert_eq!(with("aof_enabled:1", "aof_enabled:0"), [(Persistence, Warning)]);
        assert_eq!(with("aof_last_write_status:ok", "aof_last_write_status:err"), [(Persistence, Warning)]);
        assert_eq!(with("role:master", "role:slave"), [(Replica, Warning)]);
        let limited = FINE.replace("maxmemory:0", "maxmemory:100").replace("noeviction", "volatile-ttl");
        assert_eq!(concerns(&limited), [(Eviction, Refusal)]);
    }

    #[test]
    fn valkey_is_judged_by_what_it_is_compatible_with() {
        let info = "redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:9.1.2\r\naof_enabled:1\r\n";
        let facts = Facts::read(info);
        assert_eq!((facts.product.as_str(), facts.version.as_str()), ("Valkey", "9.1.2"));
        assert_eq!(judge(&facts), []);
    }

    #[test]
    fn an_old_server_is_refused_by_name_with_the_reason() {
        let found = judge(&Facts::read(&FINE.replace("7.0.15", "6.2.14")));
        assert_eq!(
            found[0].to_string(),
            "version: Redis 6.2.14 has no read-only scripts (EVALSHA_RO), no read and write permissions of keys, and no \
             conditional expiry; use Redis 7.0 or later, or Valkey"
        );
    }

    proptest::proptest! {
        #[test]
        fn any_answer_to_info_is_judged(info in "(redis_version|maxmemory|maxmemory_policy|role|db0|[a-z]{1,8}|:|,|\\.|[0-9]{1,25}|\r?\n|é){0,40}") {
            let facts = Facts::read(&info);
            let refused = judge(&facts).iter().any(|found| found.concern == Concern::Version);
            proptest::prop_assert_eq!(refused, facts.compatible < OLDEST);
        }
    }
}
