//! What INFO says: version, whether it serves, eviction, memory, persistence, replication, clients.

use std::collections::HashMap;
use std::time::Duration;

use keyplane_store::fitness::{Concern, Facts, Severity, judge};
use serde_json::json;

use super::check::{Check, State};
use super::evidence::Asked;
use super::limits::{FRAGMENTATION_COUNTS_FROM, FRAGMENTED_PERCENT, NEARLY_FULL_PERCENT, SWAPPED_PERCENT};
use crate::members::NoAnswer;
use crate::words::{count, size, span};

/// A check of something that the store itself looks at before it opens, in the store's words.
fn by_store(concern: Concern, facts: &Facts) -> Option<Check> {
    let found = judge(facts).into_iter().find(|found| found.concern == concern)?;
    Some(match found.severity {
        Severity::Refusal => Check::bad(concern.word(), found.what, found.advice),
        Severity::Warning => Check::warning(concern.word(), found.what, found.advice),
    })
}

/// What is not good and stands in the settings as known.
fn unless_accepted(concern: Concern, check: Check, asked: &Asked) -> Check {
    if check.state < State::Warning || !asked.accepted.contains(&concern) {
        return check;
    }
    let fact = format!("{} (accepted by {})", check.fact, asked.accepted_by);
    Check { state: State::Accepted, fact, advice: None, ..check }
}

pub(super) fn version(facts: &Facts, asked: &Asked) -> Check {
    let check = by_store(Concern::Version, facts)
        .unwrap_or_else(|| Check::good("version", format!("{} {}", facts.product, facts.version)));
    unless_accepted(Concern::Version, check, asked)
}

/// Whether it answers questions about keys at all, at this url.
pub(super) fn serving(address: &str, facts: &Facts, asked: &Asked) -> Check {
    let name = "serving";
    if facts.loading {
        let fact = "it still reads its data from disk, and answers nothing about keys";
        return Check::bad(name, fact, "wait; INFO persistence has loading_eta_seconds");
    }
    match (facts.mode.as_str(), asked.cluster) {
        ("sentinel", _) => Check::bad(
            name,
            "this is a sentinel: it knows where the data is and has none",
            format!("use redis+sentinel://{address}/MASTER, with the master's name"),
        ),
        ("cluster", false) => Check::bad(
            name,
            "this is a node of a cluster: it sends whoever asks for other nodes' keys away",
            format!("use redis+cluster://{address}"),
        ),
        _ => Check::good(name, format!("up for {}", span(Duration::from_secs(facts.uptime)))),
    }
    .numbers(json!({ "uptime_s": facts.uptime, "keys": facts.keys }))
}

pub(super) fn eviction(facts: &Facts, asked: &Asked) -> Check {
    let dropped = match facts.evicted {
        0 => String::new(),
        1 => "; 1 key was dropped since it started".to_owned(),
        many => format!("; {many} keys were dropped since it started"),
    };
    let check = match by_store(Concern::Eviction, facts) {
        Some(check) => Check { fact: check.fact + &dropped, ..check },
        None if facts.evicted > 0 => Check::warning(
            "eviction",
            format!("noeviction now{dropped}"),
            "look for what is missing; CONFIG RESETSTAT sets the count back",
        ),
        None if facts.eviction.is_empty() => silent_about("eviction", "maxmemory_policy"),
        None => Check::good("eviction", "noeviction: a full server refuses writes and drops nothing"),
    };
    unless_accepted(Concern::Eviction, check, asked)
        .numbers(json!({ "policy": facts.eviction, "evicted": facts.evicted }))
}

/// INFO has no such line.
fn silent_about(check: &'static str, line: &str) -> Check {
    Check::unknown(check, "INFO", &NoAnswer::Otherwise(format!("it has no {line}")))
}

pub(super) fn memory(facts: &Facts) -> Check {
    let used = size(facts.used_memory);
    let (percent, shown) = match facts.maxmemory {
        0 => (0, format!("{used} used, no limit")),
        limit => {
            let percent = percent(facts.used_memory, limit);
            (percent, format!("{used} of {} used, {percent} %", size(limit)))
        }
    };
    let resident = percent_of_use(facts);
    let check = if percent > NEARLY_FULL_PERCENT {
        let what = if facts.eviction == "noeviction" { "writes are refused" } else { "keys are dropped" };
        Check::warning(
            "memory",
            format!("{shown}: at the limit {what}"),
            format!("CONFIG SET maxmemory {}, or store less", facts.maxmemory.saturating_mul(2)),
        )
    } else if resident.is_some_and(|percent| percent > FRAGMENTED_PERCENT) {
        let fact = format!("{shown}, but {} taken: fragmented", size(facts.rss));
        Check::warning("memory", fact, "CONFIG SET activedefrag yes")
    } else if resident.is_some_and(|percent| percent < SWAPPED_PERCENT) {
        let fact = format!("{shown}, but only {} in memory: the rest is swapped out", size(facts.rss));
        Check::warning("memory", fact, "give the machine more memory, or lower maxmemory")
    } else {
        Check::good("memory", shown)
    };
    check.numbers(json!({ "used": facts.used_memory, "limit": facts.maxmemory, "resident": facts.rss }))
}

/// Memory of the process for what it stores; `None` where that says nothing.
fn percent_of_use(facts: &Facts) -> Option<u64> {
    let counts = facts.used_memory >= FRAGMENTATION_COUNTS_FROM && facts.rss > 0;
    counts.then(|| percent(facts.rss, facts.used_memory))
}

fn percent(part: u64, whole: u64) -> u64 {
    let percent = u128::from(part) * 100 / u128::from(whole.max(1));
    u64::try_from(percent).unwrap_or(u64::MAX)
}

type Saving = Option<Result<HashMap<String, String>, NoAnswer>>;

pub(super) fn persistence(facts: &Facts, saving: &Saving, asked: &Asked) -> Check {
    let setting = |name: &str| saving.as_ref()?.as_ref().ok()?.get(name).map(String::as_str);
    let check = match by_store(Concern::Persistence, facts) {
        Some(check) if facts.persistence_failing => check,
        Some(check) => Check { fact: without_file(facts, setting("save")).unwrap_or(check.fact), ..check },
        None if setting("appendfsync") == Some("no") => Check::warning(
            "persistence",
            "the append-only file reaches the disk when the system likes: a power cut may lose half a minute",
            "CONFIG SET appendfsync everysec, and the same in the server's configuration",
        ),
        None => {
            let sync = setting("appendfsync").map(|when| format!(", fsync {when}")).unwrap_or_default();
            Check::good("persistence", format!("append-only file{sync}; the last write went well"))
        }
    };
    unless_accepted(Concern::Persistence, check, asked)
        .numbers(json!({ "append_only": facts.append_only, "unsaved_changes": facts.unsaved_changes }))
}

/// What a server without append-only file can lose, where it says when it takes snapshots.
fn without_file(facts: &Facts, save: Option<&str>) -> Option<String> {
    Some(match save? {
        "" => "neither append-only file nor snapshots: a restart loses everything".to_owned(),
        points => format!(
            "the append-only file is off: a crash loses everything since the last snapshot, {} by now (save {points})",
            count(facts.unsaved_changes, "change")
        ),
    })
}

pub(super) fn replica(facts: &Facts, asked: &Asked) -> Check {
    let check = match by_store(Concern::Replica, facts) {
        // Not what anybody meant who accepts a replica.
        Some(_) if facts.master_link_down => Check::bad(
            "replica",
            "the server is a replica that has lost its master: what it answers grows older",
            "look at the master and the network between them; INFO replication names it",
        ),
        Some(check) => unless_accepted(Concern::Replica, check, asked),
        None => {
            let replicas = count(facts.replicas.into(), "replica");
            Check::good("replica", format!("no: a master with {replicas}"))
        }
    };
    check.numbers(json!({ "replica": facts.replica, "replicas": facts.replicas }))
}

pub(super) fn clients(facts: &Facts) -> Check {
    let (connected, most) = facts.clients;
    let shown = format!("{connected} of {most} connected");
    let check = if most == 0 {
        silent_about("clients", "maxclients")
    } else if percent(connected, most) > NEARLY_FULL_PERCENT {
        Check::warning(
            "clients",
            format!("{shown}: further ones are turned away"),
            format!(
                "CONFIG SET maxclients {}, or look for who leaves connections open: CLIENT LIST",
                most * 2
            ),
        )
    } else {
        Check::good("clients", shown)
    };
    check.numbers(json!({ "connected": connected, "limit": most }))
}

#[cfg(test)]
mod tests {
    use super::super::evidence::asked;
    use super::*;

    /// A fit server with these differences.
    fn facts(info: &str) -> Facts {
        let fine = "redis_version:7.0.15\nmaxmemory_policy:noeviction\naof_enabled:1\nrole:master\n\
                    connected_clients:1\nmaxclients:10\nused_memory:1024\n";
        Facts::read(&format!("{fine}{info}"))
    }

    #[test]
    fn memory_counts_the_limit_fragmentation_and_swap() {
        let judged = |info: &str| {
            let check = memory(&facts(info));
            (check.state, check.fact)
        };
        assert_eq!(judged(""), (State::Good, "1 KB used, no limit".into()));
        assert_eq!(judged("maxmemory:2048\n"), (State::Good, "1 KB of 2 KB used, 50 %".into()));
        let (state, fact) = judged("maxmemory:1200\n");
        assert_eq!(
            (state, fact.as_str()),
            (State::Warning, "1 KB of 1.2 KB used, 85 %: at the limit writes are refused")
        );
        let big = |rss: u64| judged(&format!("used_memory:{}\nused_memory_rss:{rss}\n", 100 << 20)).0;
        assert_eq!(
            (big(110 << 20), big(160 << 20), big(80 << 20)),
            (State::Good, State::Warning, State::Warning)
        );
        // A small server is mostly its own overhead.
        assert_eq!(judged("used_memory_rss:9000000\n").0, State::Good);
    }

    #[test]
    fn clients_are_a_warning_before_there_is_no_room() {
        let state = |connected: u64| clients(&facts(&format!("connected_clients:{connected}\n"))).state;
        assert_eq!((state(8), state(9)), (State::Good, State::Warning));
        assert_eq!(clients(&Facts::default()).state, State::Unknown);
    }

    #[test]
    fn dropped_keys_are_told_even_when_the_policy_is_good_now() {
        let check = eviction(&facts("evicted_keys:3\n"), &asked());
        assert_eq!(check.state, State::Warning);
        assert_eq!(check.fact, "noeviction now; 3 keys were dropped since it started");
    }

    #[test]
    fn what_is_lost_depends_on_what_is_written_when() {
        let set = |pairs: &[(&str, &str)]| -> Saving {
            Some(Ok(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()))
        };
        let fact = |info: &str, saving: &Saving| persistence(&facts(info), saving, &asked()).fact;
        let off = "aof_enabled:0\nrdb_changes_since_last_save:7\n";
        assert_eq!(
            fact(off, &set(&[("save", "")])),
            "neither append-only file nor snapshots: a restart loses everything"
        );
        assert!(fact(off, &set(&[("save", "60 100")])).ends_with("7 changes by now (save 60 100)"));
        assert!(fact(off, &None).ends_with("since the last snapshot, if there is one"));
        assert!(fact("", &set(&[("appendfsync", "always")])).contains("fsync always"));
        let lazy = persistence(&facts(""), &set(&[("appendfsync", "no")]), &asked());
        assert_eq!(lazy.state, State::Warning);
    }

    #[test]
    fn a_replica_without_its_master_is_bad_even_where_replicas_are_accepted() {
        let accepting = Asked { accepted: vec![Concern::Replica], ..asked() };
        let state = |info: &str, asked: &Asked| replica(&facts(info), asked).state;
        assert_eq!(state("role:slave\n", &asked()), State::Warning);
        assert_eq!(state("role:slave\n", &accepting), State::Accepted);
        assert_eq!(state("role:slave\nmaster_link_status:down\n", &accepting), State::Bad);
    }

    #[test]
    fn only_a_server_that_answers_about_keys_serves() {
        let state = |info: &str| serving("a:1", &facts(info), &asked()).state;
        assert_eq!(state("redis_mode:standalone\n"), State::Good);
        for info in ["loading:1\n", "redis_mode:sentinel\n", "redis_mode:cluster\n"] {
            assert_eq!(state(info), State::Bad, "{info}");
        }
        let of_cluster = Asked { cluster: true, ..asked() };
        assert_eq!(serving("a:1", &facts("redis_mode:cluster\n"), &of_cluster).state, State::Good);
    }
}
