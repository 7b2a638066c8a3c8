//! `doctor`: what it finds on servers that are fit, nearly fit and not fit.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use keyplane_testing::{Cluster, Node, Program, Sentinel, Server, Settings, VirtualServer, until};

use crate::fake::{Fake, basics};
use crate::run::{Folder, check, keyplane, state};

fn evicting() -> Server {
    Server::start(Program::Redis, &Settings::tcp().maxmemory("8mb").line("maxmemory-policy allkeys-lru"))
}

#[test]
fn a_plain_server_is_fit_with_warnings() {
    let server = Server::start(Program::Redis, &Settings::tcp());
    let report = keyplane(&["doctor", "--url", &server.url()]);
    assert_eq!(report.code, 0, "{report:?}");
    assert!(report.says("  warning   persistence  neither append-only file nor snapshots"), "{report:?}");
    assert!(report.says("→ CONFIG SET appendonly yes"), "{report:?}");
    assert!(report.says("  warning   user         default, who may do everything"), "{report:?}");
    assert!(report.says(" is fit, with "), "{report:?}");
}

#[test]
fn a_server_with_users_and_an_append_only_file_is_fit() {
    let settings = Settings::tcp().appendonly().user("default off").user("node on >pw ~* &* +@all");
    let server = Server::start(Program::Redis, &settings);
    let folder = Folder::new().set("KEYPLANE_USER", "node").set("KEYPLANE_PASSWORD", "pw");
    let report = folder.run(&["doctor", "--json", "--url", &server.url()]);
    let document = report.json();
    assert_eq!(
        (report.code, &document["fit"], &document["warnings"]),
        (0, &true.into(), &0.into()),
        "{document:#}"
    );
    assert_eq!(check(&document, "user")["fact"], "node; `default` is off");
    assert_eq!(
        check(&document, "persistence")["fact"],
        "append-only file, fsync always; the last write went well"
    );
}

/// Numbers, sizes and what depends on the machine left out.
fn normalised(text: &str) -> String {
    let mut shown = String::new();
    for line in text.lines() {
        let fact_depends =
            ["  good      clock", "  good      latency"].iter().any(|start| line.starts_with(start));
        let line = if fact_depends { format!("{}…", line.get(..25).unwrap()) } else { line.to_owned() };
        let mut in_number = false;
        for letter in line.chars() {
            let is_part = letter.is_ascii_digit() || (in_number && letter == '.');
            if is_part && !in_number {
                shown.push('N');
            } else if !is_part {
                shown.push(letter);
            }
            in_number = is_part;
        }
        shown.push('\n');
    }
    shown.replace("N KB", "N MB")
}

const EVICTING: &str = "\
N:N  Redis N, N keys
  good      version      Redis N
  good      serving      up for N s
  bad       eviction     allkeys-lru drops keys when memory is full: locks, queues and state vanish silently
                         → CONFIG SET maxmemory-policy noeviction, and the same in the server's configuration
  good      memory       N MB of N MB used, N %
  warning   persistence  neither append-only file nor snapshots: a restart loses everything
                         → CONFIG SET appendonly yes, and the same in the server's configuration
  good      replica      no: a master with N replicas
  good      clients      N of N connected
  good      tls          not needed: the server is on this machine
  warning   user         default, who may do everything and needs no password
                         → give each component its own user: keyplane keys acl --schema NAME --print
  good      scripts      read-only scripts run
  good      clock        …
  good      latency      …

redis://N:N is not fit: N bad check, N warnings.
";

#[test]
fn a_server_that_drops_keys_is_not_fit_and_every_word_of_it_is_known() {
    let server = evicting();
    let report = keyplane(&["doctor", "--url", &server.url()]);
    assert_eq!(report.code, 1, "{report:?}");
    // 127.0.0.1 is one number here: digits and points.
    assert_eq!(normalised(&report.stdout), EVICTING);
    assert_eq!(report.stderr, "");
}

#[test]
fn quietly_only_what_is_not_good_is_told() {
    let server = evicting();
    let report = keyplane(&["doctor", "-q", "--url", &server.url()]);
    assert_eq!(report.code, 1);
    assert!(report.says("bad       eviction") && !report.says("good") && !report.says("fit"), "{report:?}");
}

#[test]
fn what_the_settings_accept_is_told_and_does_not_count() {
    let server = evicting();
    let folder = Folder::with(&format!("[store]\nurl = \"{}\"\naccept = [\"eviction\"]\n", server.url()));
    let report = folder.run(&["doctor", "--json"]);
    let document = report.json();
    assert_eq!((report.code, &document["fit"]), (0, &true.into()), "{document:#}");
    let eviction = check(&document, "eviction");
    assert_eq!((&eviction["state"], &eviction["advice"]), (&"accepted".into(), &serde_json::Value::Null));
    assert!(eviction["fact"].as_str().unwrap().ends_with("(accepted by keyplane.toml:3)"), "{eviction}");
}

#[test]
fn an_old_server_is_not_fit_by_its_version_and_its_silence_is_no_crash() {
    let fake = Fake::start(|command| Some(basics("6.2.14", command)));
    let report = keyplane(&["doctor", "--json", "--url", &fake.url()]);
    let document = report.json();
    assert_eq!((report.code, &document["fit"]), (1, &false.into()));
    let version = check(&document, "version");
    assert_eq!(version["state"], "bad");
    assert!(
        version["fact"].as_str().unwrap().starts_with("Redis 6.2.14 has no read-only scripts"),
        "{version}"
    );
    assert_eq!(version["advice"], "use Redis 7.0 or later, or Valkey");
    assert_eq!(state(&document, "scripts"), "bad");
    assert_eq!((state(&document, "user"), state(&document, "clock")), ("unknown".into(), "unknown".into()));
}

fn time_answer(offset_seconds: i64) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let seconds = (i64::try_from(now.as_secs()).unwrap() + offset_seconds).to_string();
    let micros = now.subsec_micros().to_string();
    format!("*2\r\n${}\r\n{seconds}\r\n${}\r\n{micros}\r\n", seconds.len(), micros.len())
}

#[test]
fn a_clock_that_is_behind_is_as_bad_as_one_that_is_ahead() {
    for (fake, direction) in [
        (
            Fake::start(|command| {
                Some(if command == "TIME" { time_answer(-300) } else { basics("7.0.15", command) })
            }),
            "behind",
        ),
        (
            Fake::start(|command| {
                Some(if command == "TIME" { time_answer(301) } else { basics("7.0.15", command) })
            }),
            "ahead of",
        ),
    ] {
        let report = keyplane(&["doctor", "--json", "--url", &fake.url()]);
        let clock = check(&report.json(), "clock");
        assert_eq!((report.code, &clock["state"]), (1, &"bad".into()), "{clock}");
        let fact = clock["fact"].as_str().unwrap();
        assert!(fact.contains(&format!("min {direction} this machine, ± ")), "{fact}");
        assert_eq!(clock["numbers"]["skew_us"].as_i64().unwrap() < 0, direction == "behind");
    }
}

#[test]
fn a_real_clock_that_is_years_ahead_is_bad() {
    let Some(server) = VirtualServer::start_or_skip("doctor::a_real_clock_that_is_years_ahead_is_bad") else {
        return;
    };
    let report = keyplane(&["doctor", "--json", "--url", &server.url()]);
    assert_eq!((report.code, state(&report.json(), "clock")), (1, "bad".into()));
}

#[test]
fn a_replica_is_a_warning_until_it_loses_its_master() {
    let master = Server::start(Program::Redis, &Settings::tcp().line("repl-diskless-sync-delay 0"));
    let replica = Server::start(
        Program::Redis,
        &Settings::tcp().line(&format!("replicaof 127.0.0.1 {}", master.port())),
    );
    let wait_for_link = |status: &str| {
        until("the link to the master", || {
            let info: String = redis::cmd("INFO").arg("replication").query(&mut replica.admin()).unwrap();
            if info.contains(&format!("master_link_status:{status}")) { Ok(()) } else { Err(info) }
        });
    };
    wait_for_link("up");
    let report = keyplane(&["doctor", "--url", &replica.url()]);
    assert_eq!(report.code, 0, "{report:?}");
    assert!(report.says("  warning   replica      the server is a replica"), "{report:?}");
    assert!(keyplane(&["doctor", "--url", &master.url()]).says("no: a master with 1 replica\n"));
    master.kill();
    wait_for_link("down");
    let report = keyplane(&["doctor", "--url", &replica.url()]);
    assert_eq!(report.code, 1, "{report:?}");
    assert!(
        report.says("  bad       replica      the server is a replica that has lost its master"),
        "{report:?}"
    );
}

#[test]
fn all_masters_of_a_cluster_are_looked_at_also_when_one_is_down() {
    let cluster = Cluster::start(Program::Redis, 3, 0);
    let report = keyplane(&["doctor", "--json", "--url", &cluster.url()]);
    let document = report.json();
    assert_eq!(report.code, 0, "{document:#}");
    assert_eq!(document["servers"].as_array().unwrap().len(), 3);
    for server in document["servers"].as_array().unwrap() {
        let health =
            server["checks"].as_array().unwrap().iter().find(|check| check["check"] == "cluster").unwrap();
        assert_eq!(health["state"], "good");
        assert_eq!(health["fact"], "ok: 16384 of 16384 slots served, by 3 masters; 3 nodes in all");
    }

    // Through one of the nodes alone.
    let one = cluster.server(Node(0)).url();
    let report = keyplane(&["doctor", "--url", &one]);
    assert_eq!(report.code, 1);
    assert!(report.says(&format!("→ use redis+cluster://{}", cluster.server(Node(0)).addr())), "{report:?}");
    assert_eq!(
        keyplane(&["ping", "--json", "--url", &one.replace("redis:", "redis+cluster:")]).json()["servers"][2]
            ["answered"],
        5
    );

    cluster.kill(Node(1));
    let report = keyplane(&["doctor", "--url", &cluster.url()]);
    assert_eq!(report.code, 1, "{report:?}");
    let gone = cluster.server(Node(1)).addr();
    assert!(
        report.says(&format!("{gone}  not reached\n  bad       reached      {gone} cannot be reached: ")),
        "{report:?}"
    );
    assert!(report.says(&format!("{}  Redis ", cluster.server(Node(2)).addr())), "{report:?}");
    let report = keyplane(&["ping", "--url", &cluster.url()]);
    assert_eq!(report.code, 3, "{report:?}");
    assert_eq!(report.stdout.lines().count(), 3);
    assert!(report.stderr.contains("1 of 3 servers did not answer: "), "{report:?}");
}

#[test]
fn the_master_is_found_through_sentinels_and_a_sentinel_itself_is_no_store() {
    let sentinel = Sentinel::start();
    let report = keyplane(&["doctor", "--json", "--url", &sentinel.url()]);
    let document = report.json();
    assert_eq!(report.code, 0, "{document:#}");
    assert_eq!(document["servers"][0]["address"], sentinel.server(sentinel.master()).addr());
    let report = keyplane(&["doctor", "--json", "--url", &sentinel.sentinels()[0].url()]);
    let document = report.json();
    assert_eq!((report.code, state(&document, "serving")), (1, "bad".into()), "{document:#}");
}

#[test]
fn the_document_has_what_it_promises() {
    let server = Server::start(Program::Redis, &Settings::tcp());
    let document = keyplane(&["doctor", "--json", "--url", &server.url()]).json();
    assert_eq!(document["url"], server.url());
    for number in ["bad", "warnings", "unknown"] {
        assert!(document[number].is_u64(), "{number}");
    }
    assert_eq!((&document["fit"], &document["interrupted"]), (&true.into(), &false.into()));
    let one = &document["servers"][0];
    assert_eq!((&one["address"], &one["product"]), (&server.addr().into(), &"Redis".into()));
    assert!(one["version"].is_string());
    let names: Vec<&str> =
        one["checks"].as_array().unwrap().iter().map(|check| check["check"].as_str().unwrap()).collect();
    let expected =
        "version serving eviction memory persistence replica clients tls user scripts clock latency";
    assert_eq!(names.join(" "), expected);
    for check in one["checks"].as_array().unwrap() {
        assert!(check["fact"].is_string() && check["numbers"].is_object(), "{check}");
        assert_eq!(check["advice"].is_null(), check["state"] == "good", "{check}");
    }
    let latency = &check(&document, "latency")["numbers"];
    assert!(latency["median_us"].as_u64().unwrap() >= latency["least_us"].as_u64().unwrap());
    assert_eq!(latency["pings"], 100);
}

#[test]
fn a_system_is_looked_at_with_its_own_settings() {
    let (all, own) =
        (Server::start(Program::Redis, &Settings::tcp()), Server::start(Program::Redis, &Settings::tcp()));
    let folder =
        Folder::with(&format!("[store]\nurl = \"{}\"\n[market]\nurl = \"{}\"\n", all.url(), own.url()));
    let market = folder.run(&["doctor", "--system", "market"]);
    assert!(market.code == 0 && market.says(&own.addr()) && !market.says(&all.addr()), "{market:?}");
    assert!(market.says("keyplane keys acl --schema market --print"), "{market:?}");
    assert!(folder.run(&["ping"]).says(&all.addr()));
    assert!(folder.run(&["ping", "--system", "swarm"]).says(&all.addr()));
    assert_eq!(folder.run(&["ping", "--system", "nosuch"]).code, 2);
}

#[test]
fn a_slow_server_is_a_warning_and_a_silent_one_is_bad() {
    let slow = Fake::start(|command| {
        std::thread::sleep(Duration::from_millis(if command == "PING" { 15 } else { 0 }));
        Some(basics("7.0.15", command))
    });
    let latency = check(&keyplane(&["doctor", "--json", "--url", &slow.url()]).json(), "latency");
    assert_eq!(latency["state"], "warning", "{latency}");
    assert!(latency["numbers"]["pings"].as_u64().unwrap() < 100, "a far server gets fewer: {latency}");
    let silent = Fake::start(|command| (command != "PING").then(|| basics("7.0.15", command)));
    let folder = Folder::new().set("KEYPLANE_COMMAND_TIMEOUT", "300ms");
    let report = folder.run(&["doctor", "--json", "--url", &silent.url()]);
    let latency = check(&report.json(), "latency");
    assert_eq!((report.code, &latency["state"]), (1, &"bad".into()), "{latency}");
}
