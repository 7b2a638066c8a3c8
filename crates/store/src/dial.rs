//! Another way to a server than TCP or a Unix socket of this machine: a tunnel, or the network of a simulation.

use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};

/// Bytes in both directions.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

type Dialing = Pin<Box<dyn Future<Output = io::Result<Box<dyn Stream>>> + Send>>;

/// Makes a connection to a host and port.
#[derive(Clone)]
pub struct Dialer(Arc<dyn Fn(String, u16) -> Dialing + Send + Sync>);

impl Dialer {
    /// One that connects like this.
    pub fn new<F, S>(dial: impl Fn(String, u16) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = io::Result<S>> + Send + 'static,
        S: Stream + 'static,
    {
        let boxed = move |host, port| -> Dialing {
            let dialing = dial(host, port);
            Box::pin(async move { dialing.await.map(|stream| Box::new(stream) as Box<dyn Stream>) })
        };
        Self(Arc::new(boxed))
    }

    pub(crate) async fn dial(&self, host: &str, port: u16) -> io::Result<Box<dyn Stream>> {
        (self.0)(host.to_owned(), port).await
    }
}

impl fmt::Debug for Dialer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Dialer")
    }
}
