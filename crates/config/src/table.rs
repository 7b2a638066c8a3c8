//! All settings. One definition each; what reads, shows and documents them looks here.

use std::time::Duration;

use crate::definition::{Inert, Kind, Meaning, Older, Part, Place, Setting, Via};
use crate::section::Section;

const DAY: Duration = Duration::from_secs(86_400);
const HOUR: Duration = Duration::from_secs(3_600);
const SECOND: Duration = Duration::from_secs(1);

/// A wait for the network: at least one tick of the timer, at most what nobody waits for.
const TIMEOUT: Kind = Kind::Duration {
    least: Duration::from_millis(1),
    most: Duration::from_secs(600),
    off: false,
    bare: false,
};

/// Something repeated on an idle connection. TCP counts keepalives in whole seconds.
const fn interval(bare: bool) -> Kind {
    Kind::Duration { least: SECOND, most: DAY, off: true, bare }
}

/// How long somebody is waited for. Less than a second is no time for a sign of life on a busy machine.
const LEASE: Kind = Kind::Duration { least: SECOND, most: HOUR, off: false, bare: false };

/// How long the docket's keys live. Its windows are hours: what lives shorter forgets calls that still count.
const DOCKET_TTL: Kind =
    Kind::Duration { least: HOUR, most: Duration::from_secs(30 * 86_400), off: false, bare: false };

const fn older(section: Section, name: &'static str, via: Via, meaning: Meaning) -> Older {
    Older { section, name, via, meaning }
}

/// A setting that any section may have.
const fn everywhere(
    name: &'static str,
    kind: Kind,
    default: Option<&'static str>,
    doc: &'static str,
) -> Setting {
    Setting { name, place: Place::Everywhere, kind, default, own_defaults: &[], older: &[], doc }
}

/// A setting of one section.
const fn only(
    section: Section,
    name: &'static str,
    kind: Kind,
    default: &'static str,
    older: &'static [Older],
    doc: &'static str,
) -> Setting {
    Setting { name, place: Place::Only(section), kind, default: Some(default), own_defaults: &[], older, doc }
}

/// What callers of a system's API must bring.
const fn token(section: Section) -> Setting {
    Setting {
        name: "token",
        place: Place::Only(section),
        kind: Kind::Secret,
        default: None,
        own_defaults: &[],
        older: &[],
        doc: "What callers of the API must bring, as `Authorization: Bearer …`. Only from the environment.",
    }
}

/// The settings, in the order in which they are shown.
pub(crate) static SETTINGS: &[Setting] = &[
    Setting {
        older: &[
            older(Section::Docket, "REDIS_HOST", Via::Environment, Meaning::Part(Part::Host)),
            older(Section::Docket, "REDIS_PORT", Via::Environment, Meaning::Part(Part::Port)),
            older(Section::Docket, "REDIS_DB", Via::Environment, Meaning::Part(Part::Db)),
            older(Section::Docket, "REDIS_PASSWORD", Via::Environment, Meaning::Part(Part::Password)),
            older(Section::Docket, "REDIS_SSL", Via::Environment, Meaning::Part(Part::Tls)),
            older(Section::Market, "host", Via::File, Meaning::Part(Part::Host)),
            older(Section::Market, "port", Via::File, Meaning::Part(Part::Port)),
            older(Section::Market, "db", Via::File, Meaning::Part(Part::Db)),
        ],
        ..everywhere(
            "url",
            Kind::Url,
            None,
            "The server. `redis`, `rediss` (TLS), `valkey`, `valkeys`; with `+unix`, `+sentinel` or `+cluster`; or \
             `embedded:PATH`. Not set: the embedded store.",
        )
    },
    everywhere("user", Kind::Text, None, "The ACL user. Not set: the server's default user."),
    everywhere(
        "password",
        Kind::Secret,
        None,
        "Its password. Only from the environment: a file is copied and committed, a command line is seen by all users.",
    ),
    everywhere(
        "password_file",
        Kind::Path,
        None,
        "A file that holds the password and nothing else. Nobody but its owner and group may read it.",
    ),
    Setting {
        older: &[older(Section::Market, "max_connections", Via::File, Meaning::Same)],
        own_defaults: &[(Section::Market, "20")],
        ..everywhere("pool_size", Kind::Count { least: 1, most: 1_000 }, Some("10"), "Connections kept open.")
    },
    Setting {
        older: &[older(Section::Market, "socket_timeout", Via::File, Meaning::Seconds)],
        own_defaults: &[(Section::Market, "100ms")],
        ..everywhere("command_timeout", TIMEOUT, Some("1s"), "How long one command may take.")
    },
    Setting {
        older: &[older(Section::Market, "socket_connect_timeout", Via::File, Meaning::Seconds)],
        own_defaults: &[(Section::Market, "500ms")],
        ..everywhere("connect_timeout", TIMEOUT, Some("1s"), "How long a new connection may take.")
    },
    Setting {
        older: &[older(Section::Market, "socket_keepalive", Via::File, Meaning::Switch)],
        ..everywhere(
            "keepalive",
            interval(false),
            Some("30s"),
            "Idle time before TCP asks whether the server is there.",
        )
    },
    everywhere(
        "health_check_interval",
        interval(true),
        Some("30s"),
        "Idle time before a connection is tried with PING. A bare number counts seconds.",
    ),
    everywhere(
        "retry_on_timeout",
        Kind::Flag,
        Some("true"),
        "Repeat a command that timed out, where repeating cannot change its effect.",
    ),
    everywhere(
        "hash_tags",
        Kind::Choice(&["auto", "on", "off"]),
        Some("auto"),
        "Whether key names carry hash tags: `auto` writes them on a Cluster and nowhere else.",
    ),
    everywhere(
        "fsync",
        Kind::Choice(&["always", "everysec", "no"]),
        Some("everysec"),
        "When a change of the embedded store counts as kept: on the disk, within a second, or when the system likes. A server \
         has its own setting.",
    ),
    everywhere("tls_ca", Kind::Path, None, "Certificates to trust, PEM. Not set: those of the machine."),
    everywhere("tls_cert", Kind::Path, None, "Our own certificate, PEM. Needs `tls_key`."),
    everywhere("tls_key", Kind::Path, None, "The key of `tls_cert`, PEM."),
    everywhere(
        "accept",
        Kind::Words,
        None,
        "Start-up findings to live with, by name, such as `eviction`. In the environment: with commas between.",
    ),
    Setting {
        name: "namespace",
        place: Place::EachSystem,
        kind: Kind::Namespace,
        default: Some(""),
        own_defaults: &[(Section::Mempool, "dolos:mempool")],
        older: &[older(Section::Mempool, "key_prefix", Via::File, Meaning::Same)],
        doc: "Put before every key, with `:`. Processes that work together have the same.",
    },
    only(
        Section::Mempool,
        "max_finalized",
        Kind::Count { least: 1, most: 10_000_000 },
        "10000",
        &[],
        "Finalized transactions kept for queries; the oldest go first.",
    ),
    only(
        Section::Mempool,
        "watcher_lock_ttl",
        Kind::Duration { least: SECOND, most: HOUR, off: false, bare: true },
        "10s",
        &[],
        "How long the watcher's lock outlives its holder. Shorter: faster failover, more contention. A bare number \
         counts seconds.",
    ),
    only(
        Section::Mempool,
        "finalize_threshold",
        Kind::Count { least: 1, most: 2160 },
        "6",
        &[],
        "Blocks, its own counted, after which a transaction is finalized.",
    ),
    only(
        Section::Mempool,
        "drop_threshold",
        Kind::Count { least: 1, most: 100_000 },
        "30",
        &[],
        "Blocks without it, since it was offered to a peer, after which a transaction is dropped.",
    ),
    only(
        Section::Mempool,
        "max_transactions",
        Kind::Count { least: 1, most: 10_000_000 },
        "100000",
        &[],
        "Unfinished transactions in the pool. A full pool refuses; it never evicts.",
    ),
    only(
        Section::Mempool,
        "max_bytes",
        Kind::Count { least: 1, most: 1 << 40 },
        "536870912",
        &[],
        "Bytes of all unfinished transactions.",
    ),
    only(
        Section::Mempool,
        "max_tx_bytes",
        Kind::Count { least: 1, most: 1 << 20 },
        "16384",
        &[],
        "Bytes of one transaction; the default is the protocol's own limit.",
    ),
    only(
        Section::Mempool,
        "max_age",
        Kind::Duration { least: SECOND, most: Duration::from_secs(30 * 86_400), off: true, bare: false },
        "24h",
        &[],
        "How long a transaction may wait to be offered to a peer before it is dropped.",
    ),
    only(
        Section::Mempool,
        "listen",
        Kind::Text,
        "127.0.0.1:8090",
        &[],
        "Where a node serves its API. An address that other machines reach needs a `token`.",
    ),
    Setting {
        name: "grpc",
        place: Place::Only(Section::Mempool),
        kind: Kind::Text,
        default: None,
        own_defaults: &[],
        older: &[],
        doc: "Where a node serves gRPC, such as `127.0.0.1:50051`, by the same rules as `listen`. Not set: nowhere.",
    },
    Setting {
        name: "peers",
        place: Place::Only(Section::Mempool),
        kind: Kind::Text,
        default: None,
        own_defaults: &[],
        older: &[],
        doc: "Who is offered transactions: `NAME=URL`, several with commas, such as `relay-1=http://127.0.0.1:8190/api/submit/tx`. The same on every node.",
    },
    Setting {
        name: "peer_token",
        place: Place::Only(Section::Mempool),
        kind: Kind::Secret,
        default: None,
        own_defaults: &[],
        older: &[],
        doc: "Shown to every peer, as a bearer token: a node that other machines reach demands one. Only from the environment.",
    },
    token(Section::Mempool),
    only(
        Section::Docket,
        "counter_ttl",
        DOCKET_TTL,
        "2h",
        &[older(Section::Docket, "REDIS_COUNTER_TTL_HOURS", Via::Environment, Meaning::Hours)],
        "How long the counters of calls live.",
    ),
    only(
        Section::Docket,
        "state_ttl",
        DOCKET_TTL,
        "25h",
        &[older(Section::Docket, "REDIS_STATE_TTL_HOURS", Via::Environment, Meaning::Hours)],
        "How long the state of a run lives after its last change.",
    ),
    only(
        Section::Docket,
        "safety_buffer",
        Kind::Count { least: 0, most: 1_000_000 },
        "25",
        &[older(Section::Docket, "COURTLISTENER_SAFETY_BUFFER", Via::Environment, Meaning::Same)],
        "Calls of the hourly limit that are never spent. Below `call_limit_per_hour`.",
    ),
    only(
        Section::Docket,
        "call_limit_per_hour",
        Kind::Count { least: 1, most: 1_000_000 },
        "5000",
        &[older(Section::Docket, "CALL_LIMIT_PER_HOUR", Via::Environment, Meaning::Same)],
        "Calls that the API allows in an hour.",
    ),
    only(
        Section::Swarm,
        "listen",
        Kind::Text,
        "127.0.0.1:8095",
        &[],
        "Where `keyplane swarm serve` serves its API. An address that other machines reach needs a `token`.",
    ),
    token(Section::Swarm),
    only(
        Section::Swarm,
        "agent_lease",
        LEASE,
        "90s",
        &[],
        "How long an agent is waited for after its last sign of life. All that work on the same swarms have the same.",
    ),
    only(
        Section::Swarm,
        "task_lease",
        LEASE,
        "90s",
        &[],
        "How long a claimed task is waited for after the last sign of life of its holder; then another may claim it. All that work \
         on the same swarms have the same.",
    ),
    only(
        Section::Swarm,
        "checkpoint_interval",
        Kind::Duration { least: SECOND, most: HOUR, off: false, bare: false },
        "30s",
        &[],
        "Between two checkpoints of a swarm in which something happens.",
    ),
    only(
        Section::Swarm,
        "keep_finished",
        Kind::Duration { least: SECOND, most: DAY, off: false, bare: false },
        "10m",
        &[],
        "How long a swarm that has ended can still be looked at. Its last checkpoint stays for seven days.",
    ),
];

/// Words of older descriptions that are accepted and change nothing.
pub(crate) static INERT: &[Inert] = &[
    Inert {
        section: Section::Mempool,
        name: "backend",
        kind: Some(Kind::Choice(&["redis"])),
        help: Some("a mempool of one node alone is the embedded store: leave `backend` and `url` out"),
        doc: "There is one backend; `url` says which server.",
    },
    Inert {
        section: Section::Market,
        name: "decode_responses",
        kind: Some(Kind::Flag),
        help: None,
        doc: "The contract says what is text and what is bytes.",
    },
    Inert {
        section: Section::Market,
        name: "socket_keepalive_options",
        kind: None,
        help: None,
        doc: "`keepalive` says it in a way that every operating system has.",
    },
];

/// Variables that begin like ours and belong to tests and tools.
pub(crate) fn is_for_tools(variable: &str) -> bool {
    const NAMES: [&str; 4] =
        ["KEYPLANE_CONFIG", "KEYPLANE_VALKEY_SERVER", "KEYPLANE_SKIPS", "KEYPLANE_BLESS"];
    variable.starts_with("KEYPLANE_TEST_") || NAMES.contains(&variable)
}

/// The setting of that name in that section.
pub(crate) fn setting(section: Section, name: &str) -> Option<&'static Setting> {
    SETTINGS.iter().find(|setting| setting.name == name && setting.stands_in(section))
}

/// The setting that goes by an older name.
pub(crate) fn by_older_name(via: Via, name: &str) -> Option<(&'static Setting, &'static Older)> {
    SETTINGS.iter().find_map(|setting| {
        let older = setting.older.iter().find(|older| older.via == via && older.name == name)?;
        Some((setting, older))
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::unknown::variables;
    use crate::{Sources, read};

    #[test]
    fn every_default_can_be_read() {
        read(&Sources::default()).unwrap();
    }

    #[test]
    fn what_always_has_a_value_has_a_default() {
        // Numbers, durations and flags are handed out without `Option`.
        for setting in SETTINGS {
            let always = matches!(setting.kind, Kind::Count { .. } | Kind::Duration { .. } | Kind::Flag);
            assert!(!always || setting.default.is_some(), "{}", setting.name);
        }
    }

    #[test]
    fn no_name_means_two_things() {
        for section in Section::ALL {
            let own =
                SETTINGS.iter().filter(|setting| setting.stands_in(section)).map(|setting| setting.name);
            let older = SETTINGS.iter().flat_map(|setting| setting.older);
            let older = older.filter(|older| older.section == section && older.via == Via::File);
            let inert = INERT.iter().filter(|inert| inert.section == section).map(|inert| inert.name);
            let all: Vec<&str> = own.chain(older.map(|older| older.name)).chain(inert).collect();
            assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len(), "{section}: {all:?}");
        }
        let older =
            SETTINGS.iter().flat_map(|setting| setting.older).filter(|older| older.via == Via::Environment);
        let all: Vec<String> =
            variables().into_iter().chain(older.map(|older| older.name.to_owned())).collect();
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
    }

    #[test]
    fn no_setting_is_named_like_a_variable_of_tests_and_tools() {
        assert!(variables().iter().all(|name| !is_for_tools(name)));
    }
}
