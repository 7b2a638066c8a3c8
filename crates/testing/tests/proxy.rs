//! The proxy: every mode does what it says, on connections that are open and on new ones.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use keyplane_testing::{Mode, Program, Proxy, Server, Settings, until};

const PING: &[u8] = b"PING\r\n";
const PONG: &[u8] = b"+PONG\r\n";

fn start() -> (Server, Proxy) {
    let server = Server::start(Program::Redis, &Settings::tcp());
    let proxy = Proxy::start(server.addr());
    (server, proxy)
}

fn connect(proxy: &Proxy) -> TcpStream {
    let stream = TcpStream::connect(proxy.addr()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    stream
}

/// Sends PING and reads what comes, up to a whole PONG.
fn ping(mut stream: &TcpStream) -> std::io::Result<Vec<u8>> {
    stream.write_all(PING)?;
    let mut reply = vec![0; PONG.len()];
    let mut length = 0;
    while length < reply.len() {
        match stream.read(&mut reply[length..])? {
            0 => break,
            more => length += more,
        }
    }
    reply.truncate(length);
    Ok(reply)
}

fn is_silent(stream: &TcpStream) -> bool {
    stream.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let silent = ping(stream).is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    silent
}

#[test]
fn everything_passes_and_is_counted() {
    let (_server, proxy) = start();
    let (one, two) = (connect(&proxy), connect(&proxy));
    assert_eq!(ping(&one).unwrap(), PONG);
    assert_eq!(ping(&two).unwrap(), PONG);
    assert_eq!(ping(&two).unwrap(), PONG);
    assert_eq!(proxy.connections(), 2);
    assert_eq!(proxy.open_connections(), 2);
    assert_eq!(proxy.bytes_to_server(), 3 * PING.len() as u64);
    assert_eq!(proxy.bytes_to_client(), 3 * PONG.len() as u64);
    drop(one);
    until("the end of a connection", || {
        if proxy.open_connections() == 1 { Ok(()) } else { Err("still open".to_owned()) }
    });
    // A client of the redis crate is served as well.
    redis::Client::open(proxy.url()).unwrap().get_connection().unwrap();
}

#[test]
fn a_delay_holds_requests_and_replies() {
    let (_server, proxy) = start();
    let stream = connect(&proxy);
    proxy.set(Mode::Delay(Duration::from_millis(60)));
    let start = Instant::now();
    assert_eq!(ping(&stream).unwrap(), PONG);
    assert!(start.elapsed() >= Duration::from_millis(120));
    proxy.set(Mode::Pass);
    assert_eq!(ping(&stream).unwrap(), PONG);
}

#[test]
fn a_cut_comes_in_the_middle_of_a_reply() {
    let (_server, proxy) = start();
    let stream = connect(&proxy);
    proxy.set(Mode::CutAfter(PONG.len() as u64 + 3));
    assert_eq!(ping(&stream).unwrap(), PONG);
    assert_eq!(ping(&stream).unwrap(), b"+PO");
    assert_eq!(ping(&connect(&proxy)).unwrap(), PONG, "only once");
}

#[test]
fn a_cut_is_exact_to_the_byte() {
    let (_server, proxy) = start();
    let length = PONG.len();
    // Within the first reply, at its end, and one byte into the second.
    for passes in [0, 1, length - 1, length, length + 1] {
        let stream = connect(&proxy);
        proxy.set(Mode::CutAfter(passes as u64));
        let first = ping(&stream).unwrap();
        assert_eq!(first, PONG[..passes.min(length)]);
        // The connection may break while the second request is on its way.
        let second = if passes < length { Vec::new() } else { ping(&stream).unwrap_or_default() };
        assert_eq!(second, PONG[..passes.saturating_sub(length)]);
    }
    // The requests themselves had arrived.
    assert!(proxy.bytes_to_server() >= 5 * PING.len() as u64);
}

#[test]
fn a_reset_breaks_open_and_new_connections() {
    let (_server, proxy) = start();
    let (used, idle) = (connect(&proxy), connect(&proxy));
    assert_eq!(ping(&used).unwrap(), PONG);
    assert_eq!(ping(&idle).unwrap(), PONG);
    proxy.set(Mode::Reset);
    for mut stream in [&used, &idle] {
        let error = stream.read(&mut [0]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    }
    let mut new = connect(&proxy);
    assert_eq!(new.read(&mut [0]).unwrap_err().kind(), ErrorKind::ConnectionReset);
    proxy.set(Mode::Pass);
    assert_eq!(ping(&connect(&proxy)).unwrap(), PONG);
}

#[test]
fn half_open_connections_never_answer_again() {
    let (_server, proxy) = start();
    let (used, spared) = (connect(&proxy), connect(&proxy));
    assert_eq!(ping(&used).unwrap(), PONG);
    assert_eq!(ping(&spared).unwrap(), PONG);
    let before = proxy.bytes_to_server();
    proxy.set(Mode::HalfOpen);
    assert!(is_silent(&used));
    let new = connect(&proxy);
    assert!(is_silent(&new));
    assert_eq!(proxy.bytes_to_server(), before);
    proxy.set(Mode::Pass);
    assert!(is_silent(&used) && is_silent(&new), "they have lost bytes");
    assert_eq!(ping(&spared).unwrap(), PONG, "this one has lost none");
    assert_eq!(ping(&connect(&proxy)).unwrap(), PONG);
}

#[test]
fn half_open_hides_the_death_of_the_server() {
    let (server, proxy) = start();
    let stream = connect(&proxy);
    assert_eq!(ping(&stream).unwrap(), PONG);
    proxy.set(Mode::HalfOpen);
    server.kill();
    assert!(is_silent(&stream));
    // Elsewhere the end of the server is the end of the connection.
    proxy.close_connections();
    assert_eq!((&stream).read(&mut [0]).unwrap_or(0), 0);
}

#[test]
fn refusing_spares_open_connections() {
    let (_server, proxy) = start();
    let open = connect(&proxy);
    assert_eq!(ping(&open).unwrap(), PONG);
    proxy.set(Mode::Refuse);
    let mut refused = connect(&proxy);
    assert_eq!(refused.read(&mut [0]).unwrap(), 0);
    assert_eq!(ping(&open).unwrap(), PONG);
    assert_eq!(proxy.connections(), 2);
    proxy.close_connections();
    assert_eq!((&open).read(&mut [0]).unwrap(), 0);
}
