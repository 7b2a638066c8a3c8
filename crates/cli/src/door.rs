//! The door of a command that serves: its address, and what it says on stderr.

use std::net::SocketAddr;

use keyplane_config::Secret;
use keyplane_http::{Listen, Server, Token};
use tracing_subscriber::filter::LevelFilter;

use crate::outcome::Failure;

/// One rule for every door: loopback, or a token.
pub(crate) async fn bind(text: &str, token: Option<&Secret>) -> Result<Server, Failure> {
    let address: SocketAddr = text.parse().map_err(|_| {
        Failure::new(format!("`{text}` is not an address"))
            .help("an address and a port, such as 127.0.0.1:8090")
    })?;
    let token = token.map(|token| Token::new(token.reveal())).transpose();
    let token = token.map_err(|error| Failure::new(error.to_string()))?;
    let listen = match token {
        Some(token) => Listen::guarded(address, token),
        None => Listen::open(address),
    };
    Server::bind(listen).await.map_err(|error| Failure::new(error.to_string()))
}

/// Says on stderr what happens, from that level on.
pub(crate) fn log(level: &str) {
    let level: LevelFilter = level.parse().unwrap_or(LevelFilter::INFO);
    tracing_subscriber::fmt().with_max_level(level).with_writer(std::io::stderr).with_ansi(false).init();
}
