//! Ctrl-C: what was measured by then, and exit code 4.

use std::process::{Child, Command};

use keyplane_testing::{Program, Server, Settings, until};

use crate::fake::{Fake, basics};
use crate::run::{Ended, Folder, ended};

fn interrupted(child: Child) -> Ended {
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    ended(child.wait_with_output().unwrap())
}

fn wait_for_pings(server: &Server) {
    let mut admin = server.admin();
    until("a hundred pings", || {
        let info: String = redis::cmd("INFO").arg("commandstats").query(&mut admin).unwrap();
        let calls = info.lines().find_map(|line| line.strip_prefix("cmdstat_ping:calls=")?.split(',').next());
        let calls: u64 = calls.and_then(|calls| calls.parse().ok()).unwrap_or(0);
        if calls > 100 { Ok(()) } else { Err(format!("{calls} pings")) }
    });
}

#[test]
fn ping_shows_what_it_has() {
    let server = Server::start(Program::Redis, &Settings::tcp());
    let (folder, url) = (Folder::new(), server.url());
    for json in [&[][..], &["--json"]] {
        let mut admin = server.admin();
        redis::cmd("CONFIG").arg("RESETSTAT").exec(&mut admin).unwrap();
        let args = [&["ping", "--count", "1000000", "--url", &url], json].concat();
        let child = folder.command(&args).spawn().unwrap();
        wait_for_pings(&server);
        let ended = interrupted(child);
        assert_eq!((ended.code, ended.stderr.as_str()), (4, ""), "{ended:?}");
        if json.is_empty() {
            let pings: u64 = ended.stdout.split('\t').nth(3).unwrap().parse().unwrap();
            assert!(pings >= 100, "{ended:?}");
        } else {
            let document = ended.json();
            assert_eq!(document["interrupted"], true);
            assert!(document["servers"][0]["round_trip_us"]["median"].is_u64(), "{document:#}");
        }
    }
}

/// Answers who it is, and nothing else.
fn secretive() -> Fake {
    Fake::start(|command| ["HELLO", "INFO"].contains(&command).then(|| basics("7.0.15", command)))
}

#[test]
fn doctor_shows_what_it_has() {
    let (folder, fake) = (Folder::new(), secretive());
    let child = folder.command(&["doctor", "--url", &fake.url()]).spawn().unwrap();
    fake.wait_for("CONFIG");
    let ended = interrupted(child);
    assert_eq!(ended.code, 4, "{ended:?}");
    assert!(ended.says("good      version      Redis 7.0.15") && !ended.says("latency"), "{ended:?}");
    assert!(ended.says(&format!("interrupted: this is what {} has said so far.", fake.url())), "{ended:?}");

    let child = folder.command(&["doctor", "--json", "--url", &fake.url()]).spawn().unwrap();
    fake.wait_for("CONFIG");
    let document = interrupted(child).json();
    assert_eq!((&document["fit"], &document["interrupted"]), (&serde_json::Value::Null, &true.into()));
}

#[test]
fn before_the_first_answer_there_is_nothing_to_show() {
    for command in ["ping", "doctor"] {
        let fake = Fake::start(|_| None);
        let folder = Folder::new().set("KEYPLANE_CONNECT_TIMEOUT", "1m");
        let child = folder.command(&[command, "--url", &fake.url()]).spawn().unwrap();
        fake.wait_for("HELLO");
        let ended = interrupted(child);
        assert_eq!((ended.code, ended.stdout.as_str()), (4, ""), "{ended:?}");
        assert!(ended.says(&format!("error: interrupted before {} answered", fake.url())), "{ended:?}");
    }
}
