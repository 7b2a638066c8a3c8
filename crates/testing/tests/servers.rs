//! One server: start, settings, kill, restart, freeze, TLS.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::process::{Command, Stdio};
use std::time::Duration;

use keyplane_testing::{ClientCertificates, Program, Server, Settings, TlsFiles, skip};
use redis::{Commands as _, Connection, ErrorKind, RedisResult};

fn info(connection: &mut Connection, name: &str) -> String {
    let info: String = redis::cmd("INFO").query(connection).unwrap();
    let line = info.lines().find_map(|line| line.strip_prefix(&format!("{name}:")));
    line.unwrap_or_else(|| panic!("INFO has no {name}")).to_owned()
}

#[test]
fn a_server_answers_at_its_url() {
    for settings in [Settings::tcp(), Settings::unix()] {
        let server = Server::start(Program::Redis, &settings);
        let client = redis::Client::open(server.url()).unwrap();
        let mut connection = client.get_connection().unwrap();
        let _: () = connection.set("k", "v").unwrap();
        assert_eq!(server.admin().get::<_, String>("k").unwrap(), "v");
        assert!(server.log().contains("Ready to accept") || server.log().contains("ready to accept"));
    }
}

#[test]
fn valkey_starts_the_same_way() {
    if Program::Valkey.file().is_none() {
        return skip("servers::valkey_starts_the_same_way: no valkey-server");
    }
    let server = Server::start(Program::Valkey, &Settings::tcp());
    assert_eq!(info(&mut server.admin(), "server_name"), "valkey");
}

#[test]
fn settings_reach_the_server() {
    let settings = Settings::tcp().maxmemory("8mb").line("maxmemory-policy noeviction").password("secret");
    let server = Server::start(Program::Redis, &settings);
    assert_eq!(info(&mut server.admin(), "maxmemory"), (8 << 20).to_string());
    let stranger = redis::Client::open(server.url()).unwrap().get_connection();
    let refused = stranger.and_then(|mut connection| connection.get::<_, ()>("k")).unwrap_err();
    assert_eq!(refused.code(), Some("NOAUTH"));
}

#[test]
fn users_enter_by_their_rules_and_the_tests_always() {
    let settings = Settings::unix().user("default off").user("clerk on >pw ~shop:* +get");
    let server = Server::start(Program::Redis, &settings);
    let _: () = server.admin().set("shop:1", "v").unwrap();
    let mut clerk = server.login("clerk", "pw").unwrap();
    assert_eq!(clerk.get::<_, String>("shop:1").unwrap(), "v");
    assert_eq!(clerk.get::<_, String>("other").unwrap_err().code(), Some("NOPERM"));
    assert_eq!(
        server.login("clerk", "wrong").err().map(|error| error.kind()),
        Some(ErrorKind::AuthenticationFailed)
    );
}

#[test]
fn a_killed_server_comes_back_with_what_it_had_on_disk() {
    let server = Server::start(Program::Redis, &Settings::tcp().appendonly());
    let (port, pid) = (server.port(), server.pid());
    let _: () = server.admin().set("k", "v").unwrap();
    server.kill();
    assert!(!server.is_running() && server.try_admin().is_err());
    assert!(!is_there(pid));
    server.restart();
    assert_eq!(server.port(), port);
    assert_ne!(server.pid(), pid);
    assert_eq!(server.admin().get::<_, String>("k").unwrap(), "v");
}

#[test]
fn a_server_on_a_socket_comes_back_too() {
    let server = Server::start(Program::Redis, &Settings::unix());
    server.restart();
    let _: () = server.admin().set("k", "v").unwrap();
}

#[test]
fn a_frozen_server_says_nothing_until_it_thaws() {
    let server = Server::start(Program::Redis, &Settings::tcp());
    let mut connection = server.admin();
    connection.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    server.freeze();
    let silent: RedisResult<()> = connection.ping();
    assert!(silent.unwrap_err().is_timeout());
    server.thaw();
    server.admin().ping::<()>().unwrap();
}

#[test]
fn what_keeps_a_server_from_starting_is_shown() {
    let started = std::panic::catch_unwind(|| {
        Server::start(Program::Redis, &Settings::tcp().line("no-such-setting 1"))
    });
    let problem = started.expect_err("it cannot start");
    let text = problem.downcast_ref::<String>().unwrap();
    assert!(text.contains("no-such-setting"), "{text}");
}

#[test]
fn tls_asks_for_the_client_certificate() {
    let server = Server::start(Program::Redis, &Settings::tls(ClientCertificates::Required));
    let (url, files) = (server.url(), server.tls().unwrap());
    let ping = |client: RedisResult<redis::Client>| -> RedisResult<()> { client?.get_connection()?.ping() };
    ping(files.client(&url)).unwrap();
    assert!(ping(files.client_without_certificate(&url)).is_err());
    let stranger = TlsFiles::of_a_stranger(server.dir());
    assert!(ping(stranger.client(&url)).is_err(), "a server of another authority");
    let plain = url.replace("rediss", "redis");
    assert!(ping(redis::Client::open(plain)).is_err());
}

#[test]
fn tls_without_client_certificates() {
    let server = Server::start(Program::Redis, &Settings::tls(ClientCertificates::Ignored));
    let client = server.tls().unwrap().client_without_certificate(&server.url()).unwrap();
    client.get_connection().unwrap().ping::<()>().unwrap();
}

fn is_there(pid: u32) -> bool {
    let asked = Command::new("kill").args(["-0", &pid.to_string()]).stderr(Stdio::null()).status();
    asked.unwrap().success()
}
