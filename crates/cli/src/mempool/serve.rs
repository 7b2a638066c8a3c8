//! `keyplane mempool run`: a node and its API.

use std::net::SocketAddr;
use std::sync::Arc;

use keyplane_http::{Listen, Options, Server, Token, router};
use keyplane_mempool::Node;
use keyplane_mempool::api::Api;
use keyplane_mempool::ports::{NotASubmitPeer, Peer as _, SubmitPeer};
use tracing_subscriber::filter::LevelFilter;

use super::grpc::Door;
use super::{Site, unopened};
use crate::args::{Given, Serve};
use crate::outcome::{Failure, Outcome};
use crate::output::{KEY, Output, STRONG};
use crate::session;

pub(super) async fn run(serve: &Serve, given: &Given, output: &Output) -> Result<Outcome, Failure> {
    let level: LevelFilter = serve.log.parse().unwrap_or(LevelFilter::INFO);
    tracing_subscriber::fmt().with_max_level(level).with_writer(std::io::stderr).with_ansi(false).init();
    let site = Site::open(given).await?;
    let server = bind(serve.listen.as_deref().unwrap_or(&site.own.listen), &site).await?;
    let grpc = Door::bind(serve, &site).await?;
    let peers = peers(if serve.peers.is_empty() { &site.own.peers } else { &serve.peers })?;
    let pool = site.pool()?;
    let lease = pool.lease().map_err(|error| unopened(&error))?;
    let address = server.local_addr();
    tracing::info!(node_id = pool.node_id(), %address, "node started");
    if !output.quiet {
        let id = pool.node_id();
        let grpc = grpc.address().map(|address| format!(" and gRPC at {KEY}http://{address}{KEY:#}"));
        let grpc = grpc.unwrap_or_default();
        output.line(format!("{STRONG}node {id}{STRONG:#} serves {KEY}http://{address}{KEY:#}{grpc}"))?;
    }
    let node = Arc::new(Node::start(pool, lease));
    for peer in peers {
        node.propagate_to(peer);
    }
    let api = router(vec![Arc::new(Api::new(Arc::clone(&node)))], Options::default())
        .map_err(|error| Failure::new(error.to_string()))?;
    tokio::join!(server.run(api, session::asked_to_stop()), grpc.serve(node.pool().clone()));
    // Requests are done, so nobody else has it.
    if let Some(node) = Arc::into_inner(node) {
        node.stop().await;
    }
    tracing::info!("node stopped");
    Ok(Outcome::Fine)
}

fn peers(texts: &[String]) -> Result<Vec<SubmitPeer>, Failure> {
    let mut peers: Vec<SubmitPeer> = Vec::with_capacity(texts.len());
    for text in texts {
        let peer: SubmitPeer =
            text.parse().map_err(|error: NotASubmitPeer| Failure::new(error.to_string()))?;
        if peers.iter().any(|other| other.name() == peer.name()) {
            return Err(Failure::new(format!("two peers are named {}", peer.name())));
        }
        peers.push(peer);
    }
    Ok(peers)
}

/// One rule for every door of a node: loopback, or a token.
pub(super) async fn bind(text: &str, site: &Site) -> Result<Server, Failure> {
    let address: SocketAddr = text.parse().map_err(|_| {
        Failure::new(format!("`{text}` is not an address"))
            .help("an address and a port, such as 127.0.0.1:8090")
    })?;
    let token = site.own.token.as_ref().map(|token| Token::new(token.reveal())).transpose();
    let token = token.map_err(|error| Failure::new(error.to_string()))?;
    let listen = match token {
        Some(token) => Listen::guarded(address, token),
        None => Listen::open(address),
    };
    Server::bind(listen).await.map_err(|error| Failure::new(error.to_string()))
}
