//! `keyplane mempool run`: a node and its API.

use std::sync::Arc;

use keyplane_config::Secret;
use keyplane_http::{Options, router};
use keyplane_mempool::Node;
use keyplane_mempool::api::Api;
use keyplane_mempool::ports::{NotASubmitPeer, Peer as _, SubmitPeer};

use serde_json::json;

use super::grpc::Door;
use super::{Site, unopened};
use crate::args::{Given, Serve};
use crate::door;
use crate::outcome::{Failure, Outcome};
use crate::output::{KEY, Output, STRONG};
use crate::session;

pub(super) async fn run(serve: &Serve, given: &Given, output: &Output) -> Result<Outcome, Failure> {
    door::log(&serve.log);
    let site = Site::open(given).await?;
    let listen = serve.listen.as_deref().unwrap_or(&site.own.listen);
    let server = door::bind(listen, site.own.token.as_ref()).await?;
    let grpc = Door::bind(serve, &site).await?;
    let peers = if serve.peers.is_empty() { &site.own.peers } else { &serve.peers };
    let peers = read_peers(peers, site.own.peer_token.as_ref())?;
    let pool = site.pool()?;
    let lease = pool.lease().map_err(|error| unopened(&error))?;
    let address = server.local_addr();
    tracing::info!(node_id = pool.node_id(), %address, "node started");
    if output.json {
        let grpc = grpc.address().map(|address| address.to_string());
        output.record(&json!({ "node_id": pool.node_id(), "address": address.to_string(), "grpc": grpc }))?;
    } else if !output.quiet {
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

fn read_peers(texts: &[String], token: Option<&Secret>) -> Result<Vec<SubmitPeer>, Failure> {
    let bad = |error: NotASubmitPeer| Failure::new(error.to_string());
    let mut peers: Vec<SubmitPeer> = Vec::with_capacity(texts.len());
    for text in texts {
        let mut peer: SubmitPeer = text.parse().map_err(bad)?;
        if let Some(token) = token {
            peer = peer.with_token(token.reveal()).map_err(bad)?;
        }
        if peers.iter().any(|other| other.name() == peer.name()) {
            return Err(Failure::new(format!("two peers are named {}", peer.name())));
        }
        peers.push(peer);
    }
    Ok(peers)
}
