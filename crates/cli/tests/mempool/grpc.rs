//! The gRPC door of a node process, by the client that others wrote.

use std::time::Duration;

use keyplane_testing::{Program, Server, Settings};
use utxorpc::spec::submit::Stage;
use utxorpc::{CardanoSubmitClient, ClientBuilder, Error, TxEventStream};

use crate::node::{Node, block, keyplane, transaction};

const GRPC: (&str, &str) = ("KEYPLANE_MEMPOOL_GRPC", "127.0.0.1:0");

async fn client(node: &Node) -> CardanoSubmitClient {
    let url = node.grpc.as_ref().expect("it says where it speaks gRPC");
    ClientBuilder::new().uri(url).unwrap().build().await
}

async fn stage(stream: &mut TxEventStream) -> Stage {
    let event = tokio::time::timeout(Duration::from_secs(30), stream.event()).await.expect("an event");
    event.unwrap().expect("not the end").stage
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_is_followed_to_its_end_on_another_node() {
    let server = Server::start(Program::Redis, &Settings::tcp());
    let (one, other) = (Node::start_with(&server.url(), &[GRPC]), Node::start_with(&server.url(), &[GRPC]));
    let (hash, bytes) = transaction(1);
    let told = client(&one).await.submit_tx(bytes).await.unwrap();
    assert_eq!(hex::encode(&told), hash);
    let mut stream = client(&other).await.wait_for_tx(vec![told]).await.unwrap();
    assert_eq!(stage(&mut stream).await, Stage::Mempool);
    for height in 70..77 {
        let txs = if height == 71 { vec![hash.as_str()] } else { Vec::new() };
        let block = block(height, &txs);
        for node in [&one, &other] {
            assert_eq!(node.forward(&block).status, 200);
        }
    }
    assert_eq!(stage(&mut stream).await, Stage::Confirmed);
    assert_eq!(stage(&mut stream).await, Stage::Confirmed, "finalized");
    assert!(stream.event().await.unwrap().is_none(), "the end");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_is_ended_ends_its_streams() {
    let server = Server::start(Program::Redis, &Settings::tcp());
    let mut node = Node::start_with(&server.url(), &[GRPC]);
    let mut stream = client(&node).await.wait_for_tx(vec![vec![7; 32]]).await.unwrap();
    assert_eq!(stage(&mut stream).await, Stage::Unspecified);
    node.signal("-TERM");
    let Err(Error::GrpcError(status)) = stream.event().await else { panic!("a status") };
    assert!(status.message().contains("this node stops"), "{status:?}");
    node.wait_for("node stopped");
}

#[test]
fn a_grpc_door_for_other_machines_needs_a_token() {
    let server = Server::start(Program::Redis, &Settings::tcp());
    let run = |address: &str| {
        let args = ["mempool", "run", "--listen", "127.0.0.1:0", "--grpc", address];
        keyplane(&server.url()).args(args).output().unwrap()
    };
    for (address, words) in [("0.0.0.0:0", "token"), ("nowhere", "`nowhere` is not an address")] {
        let refused = run(address);
        assert_eq!(refused.status.code(), Some(2));
        let told = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(told.contains(words), "{told}");
    }
}
