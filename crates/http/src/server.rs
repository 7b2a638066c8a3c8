//! From a bound address to the last answer.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::time::Duration;

use axum::{Extension, Router, middleware};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::door::{self, Door};
use crate::linger::linger;
use crate::listen::{Listen, ListenError};

/// Open requests get this long to finish; supervisors commonly kill after ten seconds.
const GRACE: Duration = Duration::from_secs(5);

/// A client that sends its head a byte at a time, or nothing more, does not keep its connection longer.
const HEAD_WITHIN: Duration = Duration::from_secs(30);

/// Out of file descriptors, most likely: asking again at once would only spin.
const AFTER_FAILED_ACCEPT: Duration = Duration::from_millis(100);

/// A client that does not answer a ping is gone, and its streams end. Asked when it was quiet for as long.
#[cfg(feature = "http2")]
const PING: Duration = Duration::from_secs(20);

/// A bound address that will serve a router.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    door: Door,
    grace: Duration,
    speaks: Speaks,
}

#[derive(Debug, Clone, Copy)]
enum Speaks {
    Http1,
    #[cfg(feature = "http2")]
    Http2,
}

/// How a server ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ended {
    /// Connections that were cut because their requests took longer than the grace.
    pub cut_off: usize,
}

impl Server {
    /// Binds the address. Refused, before anything is bound, when other machines could call without a token.
    pub async fn bind(listen: Listen) -> Result<Self, ListenError> {
        listen.check()?;
        let asked = listen.address;
        let failed = |source| ListenError::Bind { address: asked, source };
        let listener = TcpListener::bind(asked).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self { listener, address, door: Door::new(listen.token), grace: GRACE, speaks: Speaks::Http1 })
    }

    /// The address, with the port that was found where 0 was asked for.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// How long open requests may go on after the shutdown. 5 s unless set.
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Speaks HTTP/2 and nothing else, without TLS, as gRPC does.
    #[cfg(feature = "http2")]
    #[must_use]
    pub fn http2(mut self) -> Self {
        self.speaks = Speaks::Http2;
        self
    }

    /// Serves until `shutdown` resolves, then takes no more requests, ends live streams, and waits for open requests for
    /// as long as the grace allows.
    pub async fn run(self, router: Router, shutdown: impl Future<Output = ()>) -> Ended {
        let Self { listener, door, grace, speaks, .. } = self;
        let (stop, stopping) = watch::channel(false);
        let stopping = Stopping(stopping);
        let router = router
            .layer(Extension(stopping.clone()))
            .layer(middleware::from_fn_with_state(door, door::guard))
            .layer(middleware::from_fn(linger));
        let mut connections = JoinSet::new();
        let mut shutdown = pin!(shutdown);
        loop {
            tokio::select! {
                () = &mut shutdown => break,
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) => {
                        connections.spawn(serve(stream, speaks, router.clone(), stopping.clone()));
                    }
                    Err(error) => rest_after(&error).await,
                },
                Some(_) = connections.join_next() => {}
            }
        }
        drop(listener);
        // Whoever does not hear it is gone.
        let _ = stop.send(true);
        let all = async { while connections.join_next().await.is_some() {} };
        if timeout(grace, all).await.is_ok() {
            return Ended { cut_off: 0 };
        }
        let cut_off = connections.len();
        tracing::warn!(cut_off, ?grace, "requests were still open at the end");
        connections.shutdown().await;
        Ended { cut_off }
    }
}

async fn serve(stream: TcpStream, speaks: Speaks, router: Router, mut stopping: Stopping) {
    // Events are small and should leave at once. A socket that refuses this is about to fail anyway.
    let _ = stream.set_nodelay(true);
    // hyper would wait for ever.
    #[cfg(feature = "http2")]
    if matches!(speaks, Speaks::Http2) && timeout(HEAD_WITHIN, greeting(&stream)).await.is_err() {
        return;
    }
    let builder = builder(speaks);
    let connection = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    let mut connection = pin!(connection);
    // Connections fail all the time, by their clients' doing; there is nobody to tell.
    tokio::select! {
        _ = connection.as_mut() => return,
        () = stopping.wait() => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

fn builder(speaks: Speaks) -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    match speaks {
        Speaks::Http1 => {
            builder.http1().timer(TokioTimer::new()).header_read_timeout(HEAD_WITHIN);
            builder.http1_only()
        }
        #[cfg(feature = "http2")]
        Speaks::Http2 => {
            builder.http2().timer(TokioTimer::new()).keep_alive_interval(PING).keep_alive_timeout(PING);
            builder.http2_only()
        }
    }
}

/// Until the 24 bytes are there with which every HTTP/2 client begins. Whether they are the right ones, hyper will see.
#[cfg(feature = "http2")]
async fn greeting(stream: &TcpStream) {
    let mut bytes = [0; 24];
    while let Ok(some @ 1..) = stream.peek(&mut bytes).await {
        if some == bytes.len() {
            return;
        }
        // What was seen is still there and would be seen again at once.
        sleep(AFTER_FAILED_ACCEPT).await;
    }
}

async fn rest_after(error: &io::Error) {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    // The client's doing: it went away before it was let in.
    if matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset) {
        return;
    }
    tracing::warn!(%error, "cannot take connections");
    sleep(AFTER_FAILED_ACCEPT).await;
}

/// Tells what outlives its request that the server stops. Every request has it among its extensions.
#[derive(Debug, Clone)]
pub struct Stopping(watch::Receiver<bool>);

impl Stopping {
    /// Until the server stops, or is gone.
    pub async fn wait(&mut self) {
        let _ = self.0.wait_for(|stopped| *stopped).await;
    }

    #[cfg(test)]
    pub(crate) fn pair() -> (watch::Sender<bool>, Self) {
        let (stop, stopping) = watch::channel(false);
        (stop, Self(stopping))
    }
}
