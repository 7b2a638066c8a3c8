//! `ping`: every kind of store answers.

use keyplane_testing::{ClientCertificates, Cluster, Program, Sentinel, Server, Settings, skip};

use crate::run::{Folder, keyplane};

/// Pings and gives the rows.
fn rows(folder: &Folder, args: &[&str]) -> Vec<Vec<String>> {
    let ended = folder.run(&[&["ping"], args].concat());
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""), "{ended:?}");
    ended.stdout.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect()
}

#[test]
fn a_server_answers_on_tcp_and_on_a_socket() {
    for settings in [Settings::tcp(), Settings::unix()] {
        let server = Server::start(Program::Redis, &settings);
        let rows = rows(&Folder::new(), &["--url", &server.url()]);
        let [row] = rows.as_slice() else { panic!("{rows:?}") };
        assert!(server.url().ends_with(&row[0]), "{row:?}");
        assert!(row[1].starts_with("Redis ") && row[2] == "master" && row[3] == "5", "{row:?}");
        assert!(row[4..].iter().all(|time| time.ends_with(" ms")), "{row:?}");
    }
}

#[test]
fn valkey_is_called_by_its_name() {
    if Program::Valkey.file().is_none() {
        return skip("ping::valkey_is_called_by_its_name: no valkey-server");
    }
    let server = Server::start(Program::Valkey, &Settings::tcp());
    assert!(rows(&Folder::new(), &["--url", &server.url()])[0][1].starts_with("Valkey "));
}

#[test]
fn tls_is_set_up_by_the_file() {
    for clients in [ClientCertificates::Ignored, ClientCertificates::Required] {
        let server = Server::start(Program::Redis, &Settings::tls(clients));
        let files = server.tls().unwrap();
        let own = format!("tls_cert = {:?}\ntls_key = {:?}\n", files.cert, files.key);
        let own = if clients == ClientCertificates::Required { own } else { String::new() };
        let settings = format!("[store]\nurl = {:?}\ntls_ca = {:?}\n{own}", server.url(), files.ca);
        let folder = Folder::with(&settings);
        assert_eq!(rows(&folder, &[])[0][2], "master");
        let report = folder.run(&["doctor"]);
        assert!(report.code == 0 && report.says("  good      tls          in use"), "{report:?}");
        if clients == ClientCertificates::Required {
            let without = Folder::with(&settings.replace(&own, "")).run(&["ping"]);
            assert_eq!(without.code, 3, "{without:?}");
        }
    }
}

#[test]
fn every_master_of_a_cluster_has_its_line() {
    let cluster = Cluster::start(Program::Redis, 3, 1);
    let rows = rows(&Folder::new(), &["-c", "3", "--url", &cluster.url()]);
    let mut found: Vec<&str> = rows.iter().map(|row| row[0].as_str()).collect();
    let mut masters: Vec<String> = cluster.nodes().take(3).map(|node| cluster.server(node).addr()).collect();
    found.sort_unstable();
    masters.sort_unstable();
    assert_eq!(found, masters);
    assert!(rows.iter().all(|row| row[2] == "master" && row[3] == "3"), "{rows:?}");
}

#[test]
fn sentinels_lead_to_the_master() {
    let sentinel = Sentinel::start();
    let rows = rows(&Folder::new(), &["--url", &sentinel.url()]);
    assert_eq!(rows[0][0], sentinel.server(sentinel.master()).addr());
}

#[test]
fn the_document_has_what_it_promises() {
    let server = Server::start(Program::Redis, &Settings::tcp());
    let document = keyplane(&["ping", "--json", "--count", "7", "--url", &server.url()]).json();
    assert_eq!((&document["url"], &document["count"]), (&server.url().into(), &7.into()));
    assert_eq!(document["interrupted"], false);
    let one = &document["servers"][0];
    assert_eq!((&one["address"], &one["product"]), (&server.addr().into(), &"Redis".into()));
    assert_eq!((&one["role"], &one["answered"]), (&"master".into(), &7.into()));
    assert!(one["version"].is_string() && one["error"].is_null());
    let time = |name: &str| one["round_trip_us"][name].as_u64().unwrap();
    assert!(time("least") <= time("median") && time("median") <= time("worst"));
}

#[test]
fn a_count_is_between_one_and_a_million() {
    for count in ["0", "1000001", "many"] {
        assert_eq!(keyplane(&["ping", "--count", count, "--url", "redis://127.0.0.1:1"]).code, 2);
    }
}
