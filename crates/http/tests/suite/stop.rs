//! How a server ends.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use keyplane_http::{Ended, Listen, Server};
use tokio::sync::{Notify, oneshot};
use tokio::task::{JoinHandle, spawn_blocking};

use crate::site::Site;

/// A server with one route that answers when it is told to.
struct Waiting {
    address: SocketAddr,
    arrived: Arc<Notify>,
    go: Arc<Notify>,
    stop: oneshot::Sender<()>,
    running: JoinHandle<Ended>,
}

impl Waiting {
    async fn start(grace: Duration) -> Self {
        let (arrived, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (told, until) = (Arc::clone(&arrived), Arc::clone(&go));
        let answer = move || async move {
            told.notify_one();
            until.notified().await;
            "done"
        };
        let server = Server::bind(Listen::open("127.0.0.1:0".parse().unwrap())).await.unwrap().grace(grace);
        let address = server.local_addr();
        let (stop, stopped) = oneshot::channel();
        let router = Router::new().route("/", get(answer));
        let running = tokio::spawn(server.run(router, async { stopped.await.unwrap_or(()) }));
        Self { address, arrived, go, stop, running }
    }
}

/// All that comes back until the connection ends.
fn get_root(address: SocketAddr) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut all = String::new();
    // A connection that was cut is an error or an end, by the system's mood.
    let _ = stream.read_to_string(&mut all);
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_request_is_answered_before_the_end() {
    let waiting = Waiting::start(Duration::from_secs(60)).await;
    let address = waiting.address;
    let call = spawn_blocking(move || get_root(address));
    waiting.arrived.notified().await;
    waiting.stop.send(()).unwrap();
    // Nobody is let in any more; the stop has been heard.
    spawn_blocking(move || {
        keyplane_testing::until("the port is closed", || {
            TcpStream::connect(address).map_or(Ok(()), |_| Err("still open".to_owned()))
        });
    })
    .await
    .unwrap();
    waiting.go.notify_one();
    assert!(call.await.unwrap().ends_with("done"));
    assert_eq!(waiting.running.await.unwrap().cut_off, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_outlasts_the_grace_is_cut_off() {
    let waiting = Waiting::start(Duration::ZERO).await;
    let address = waiting.address;
    let call = spawn_blocking(move || get_root(address));
    waiting.arrived.notified().await;
    waiting.stop.send(()).unwrap();
    assert_eq!(waiting.running.await.unwrap().cut_off, 1);
    assert_eq!(call.await.unwrap(), "", "its connection is closed, not left behind");
}

#[test]
fn a_connection_without_a_request_does_not_hold_up_the_end() {
    let site = Site::open();
    let mut idle = TcpStream::connect(site.address).unwrap();
    idle.write_all(b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut seen = String::new();
    while !seen.ends_with('}') {
        let mut some = [0; 512];
        let length = idle.read(&mut some).unwrap();
        seen.push_str(std::str::from_utf8(&some[..length]).unwrap());
    }
    assert_eq!(site.stop().cut_off, 0);
    assert_eq!(idle.read(&mut [0]).unwrap(), 0);
}
