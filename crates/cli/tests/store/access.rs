//! Servers that are not there, do not let us in, or let us ask little; and settings that cannot be used.

use std::time::{Duration, Instant};

use keyplane_testing::{ClientCertificates, Program, Server, Settings};

use crate::run::{Ended, Folder, check, keyplane, state};

/// Both commands in both languages.
fn each(folder: &Folder, url: Option<&str>, mut judge: impl FnMut(&Ended)) {
    for command in ["ping", "doctor"] {
        for json in [None, Some("--json")] {
            let url = url.map(|url| ["--url", url]);
            let args: Vec<&str> =
                [command].into_iter().chain(json).chain(url.into_iter().flatten()).collect();
            let ended = folder.run(&args);
            if json.is_some() {
                let error: serde_json::Value = serde_json::from_str(&ended.stderr).unwrap();
                assert!(error["error"].is_string() && error["help"].is_string(), "{ended:?}");
            } else {
                assert!(
                    ended.stderr.starts_with("error: ") && ended.stderr.contains("\n  help: "),
                    "{ended:?}"
                );
                assert_eq!(ended.stderr.lines().count(), 2, "{ended:?}");
            }
            assert_eq!(ended.stdout, "");
            judge(&ended);
        }
    }
}

#[test]
fn nobody_there_is_exit_3_within_the_timeout() {
    // A port that only root may listen on, and that nobody uses.
    let url = "redis://127.0.0.1:1";
    let folder = Folder::with("[store]\nconnect_timeout = \"500ms\"\n");
    let start = Instant::now();
    each(&folder, Some(url), |ended| {
        assert_eq!(ended.code, 3, "{ended:?}");
        assert!(ended.says("127.0.0.1:1 cannot be reached: Connection refused"), "{ended:?}");
    });
    assert!(start.elapsed() < 4 * Duration::from_millis(1500), "{:?}", start.elapsed());
}

#[test]
fn a_server_that_accepts_and_says_nothing_is_exit_3_too() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("redis://{}", silent.local_addr().unwrap());
    let folder = Folder::with("[store]\nconnect_timeout = \"300ms\"\n");
    each(&folder, Some(&url), |ended| {
        assert_eq!(ended.code, 3, "{ended:?}");
        assert!(ended.says("no answer") && ended.says("the url comes from --url"), "{ended:?}");
    });
}

#[test]
fn a_wrong_password_is_exit_3_and_nowhere_to_be_read() {
    let server = Server::start(Program::Redis, &Settings::tcp().password("the-right-one"));
    let folder = Folder::new().set("KEYPLANE_PASSWORD", "hunter2-wrong");
    each(&folder, Some(&server.url()), |ended| {
        assert_eq!(ended.code, 3, "{ended:?}");
        assert!(ended.says("WRONGPASS") && ended.says("default has another password"), "{ended:?}");
        assert!(!ended.says("hunter2"), "{ended:?}");
    });
    each(&Folder::new(), Some(&server.url()), |ended| {
        assert!(ended.code == 3 && ended.says("default needs a password"), "{ended:?}");
    });
    let right = Folder::new().set("KEYPLANE_PASSWORD", "the-right-one");
    let report = right.run(&["doctor", "--url", &server.url()]);
    assert!(report.code == 0 && !report.says("the-right-one"), "{report:?}");
}

#[test]
fn a_stranger_s_certificate_is_exit_3() {
    let server = Server::start(Program::Redis, &Settings::tls(ClientCertificates::Ignored));
    each(&Folder::new(), Some(&server.url()), |ended| {
        assert!(ended.code == 3 && ended.says("ertificate") && ended.says("tls_ca"), "{ended:?}");
    });
    let nowhere = Folder::new().set("KEYPLANE_TLS_CA", "/nowhere/ca.pem");
    each(&nowhere, Some(&server.url()), |ended| {
        assert!(ended.code == 2 && ended.says("cannot read /nowhere/ca.pem"), "{ended:?}");
    });
}

#[test]
fn a_user_who_may_ask_little_gets_unknowns_and_no_crash() {
    let settings = Settings::tcp().user("default off").user("little on >pw ~none +info +ping");
    let server = Server::start(Program::Redis, &settings);
    let folder = Folder::new().set("KEYPLANE_USER", "little").set("KEYPLANE_PASSWORD", "pw");
    let report = folder.run(&["doctor", "--json", "--url", &server.url()]);
    let document = report.json();
    assert_eq!((report.code, &document["fit"]), (0, &true.into()), "{document:#}");
    for name in ["user", "scripts", "clock"] {
        assert_eq!(state(&document, name), "unknown", "{name}");
    }
    // Without CONFIG the store's own words remain.
    assert_eq!(state(&document, "persistence"), "warning");
    let user = check(&document, "user");
    assert_eq!(
        user["fact"],
        "little; whether `default` is open is not known: this user may not ask ACL GETUSER"
    );
    assert_eq!(user["advice"], "run doctor as a user with +acl|getuser");
    assert_eq!(user["numbers"]["user"], "little");
    let report = folder.run(&["doctor", "--url", &server.url()]);
    assert!(report.says(" is fit, with 1 warning, 3 unanswered checks."), "{report:?}");
}

#[test]
fn a_user_who_may_not_even_ask_for_info_is_told_what_is_missing() {
    let settings = Settings::tcp().user("default off").user("none on >pw +ping");
    let server = Server::start(Program::Redis, &settings);
    let folder = Folder::new().set("KEYPLANE_USER", "none").set("KEYPLANE_PASSWORD", "pw");
    each(&folder, Some(&server.url()), |ended| {
        assert!(ended.code == 3 && ended.says("NOPERM") && ended.says("+info"), "{ended:?}");
    });
}

#[test]
fn without_a_url_it_is_the_embedded_store_in_the_state_directory() {
    let folder = Folder::new();
    let ended = folder.run(&["ping"]);
    assert!(ended.code == 0 && ended.says("embedded:") && ended.says("7.0.15"), "{ended:?}");
    assert!(folder.path().join(".local/state/keyplane/keyplane.aof").exists());
}

#[test]
fn a_url_that_is_none_is_exit_2_and_so_is_no_place_for_the_default() {
    for (url, said) in [
        ("localhost:6379", "--url: `url` does not begin with a scheme"),
        ("http://localhost", "scheme that is not known"),
        ("redis://localhost:0", "port"),
        ("redis+sentinel://localhost", "name of the master"),
        ("redis+cluster://localhost/1", "database 0 only"),
        ("redis://node:hunter2@localhost", "--url carries a password"),
    ] {
        each(&Folder::new(), Some(url), |ended| {
            assert!(ended.code == 2 && ended.says(said) && !ended.says("hunter2"), "{url}: {ended:?}");
        });
    }
    each(&Folder::new().set("HOME", ""), None, |ended| {
        assert!(ended.code == 2 && ended.says("neither XDG_STATE_HOME nor HOME names one"), "{ended:?}");
    });
    let server = Server::start(Program::Redis, &Settings::tcp());
    let report = keyplane(&["ping", "--url", &server.url().replace("redis:", "redis+cluster:")]);
    assert!(
        report.code == 2 && report.says("is not part of a cluster") && report.says("use redis://"),
        "{report:?}"
    );
}

#[test]
fn broken_settings_are_exit_2_with_the_line() {
    let folder = Folder::with("[store]\nurl = \"redis://a\"\npool_sise = 3\n");
    each(&folder, None, |ended| {
        assert!(ended.code == 2 && ended.says("keyplane.toml:3:1: ") && ended.says("pool_size"), "{ended:?}");
    });
    each(&Folder::with("[store]\naccept = [\"evicton\"]\nurl = \"redis://a\"\n"), None, |ended| {
        assert!(
            ended.code == 2 && ended.says("accept (keyplane.toml:2): no finding is called `evicton`"),
            "{ended:?}"
        );
    });
    let missing = keyplane(&["ping", "--config", "nowhere.toml"]);
    assert!(
        missing.code == 2 && missing.says("there is no file nowhere.toml, which --config names"),
        "{missing:?}"
    );
    let unreadable = Folder::with("[store]\nurl = \"redis://a\"\npassword_file = \"nowhere\"\n");
    each(&unreadable, None, |ended| assert!(ended.code == 2 && ended.says("nowhere"), "{ended:?}"));
}
