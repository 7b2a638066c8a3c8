//! Who comes in, by which name, and how it ends.

use keyplane_http::Ended;
use keyplane_testing::Place;
use tonic::Code;
use tonic::transport::Endpoint;
use utxorpc::spec::submit::ReadMempoolRequest;
use utxorpc::{CardanoSubmitClient, CardanoSyncClient, ClientBuilder};
use utxorpc_spec::utxorpc::v1beta::submit as beta;

use crate::made::plain;
use crate::rig::{Refused, Rig, event, settings, soon};

const TOKEN: &str = "a-token-of-thirty-two-characters";

#[tokio::test(flavor = "multi_thread")]
async fn a_guarded_door_asks_for_its_token() {
    let rig = Rig::with(Place::embedded(), settings(), Some(TOKEN)).await;
    let client = |header: Option<String>| {
        let builder = ClientBuilder::new().uri(&rig.url).unwrap();
        match header {
            Some(header) => builder.metadata("authorization", header).unwrap(),
            None => builder,
        }
    };
    for wrong in [None, Some("Bearer another-token-of-that-length".to_owned()), Some(TOKEN.to_owned())] {
        let mut client: CardanoSubmitClient = client(wrong).build().await;
        client.submit_tx(plain().payload.bytes).await.refused(Code::Unauthenticated, "token");
        client.wait_for_tx(vec![vec![7; 32]]).await.refused(Code::Unauthenticated, "token");
    }
    assert_eq!(rig.counts().await, (0, 0, 0));
    let mut client: CardanoSubmitClient = client(Some(format!("Bearer {TOKEN}"))).build().await;
    client.submit_tx(plain().payload.bytes).await.unwrap();
    rig.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_anyone_can_point_here_is_refused() {
    let rig = Rig::new().await;
    let origin = "http://evil.example".parse().unwrap();
    let channel = Endpoint::from_shared(rig.url.clone()).unwrap().origin(origin).connect_lazy();
    let mut client = utxorpc::spec::submit::submit_service_client::SubmitServiceClient::new(channel);
    let refused = client.read_mempool(ReadMempoolRequest {}).await;
    refused.refused(Code::PermissionDenied, "evil.example");
    rig.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_newer_package_is_the_same_service() {
    let rig = Rig::new().await;
    let channel = Endpoint::from_shared(rig.url.clone()).unwrap().connect_lazy();
    let mut client = beta::submit_service_client::SubmitServiceClient::new(channel);
    let tx = plain();
    let raw = beta::any_chain_tx::Type::Raw(tx.payload.bytes.clone().into());
    let request = beta::SubmitTxRequest { tx: Some(beta::AnyChainTx { r#type: Some(raw) }) };
    let told = client.submit_tx(request).await.unwrap().into_inner();
    assert_eq!(told.r#ref.as_ref(), tx.hash.bytes());
    let read = client.read_mempool(beta::ReadMempoolRequest {}).await.unwrap().into_inner();
    assert_eq!((read.items.len(), read.items[0].stage()), (1, beta::Stage::Mempool));
    rig.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn other_services_are_not_here() {
    let rig = Rig::new().await;
    let mut client: CardanoSyncClient = ClientBuilder::new().uri(&rig.url).unwrap().build().await;
    client.read_tip().await.refused(Code::Unimplemented, "SubmitService");
    rig.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_ends_streams_and_cuts_nothing_off() {
    let rig = Rig::new().await;
    let mut client = rig.client().await;
    let tx = plain();
    client.submit_tx(tx.payload.bytes).await.unwrap();
    let mut waiting = client.wait_for_tx(vec![tx.hash.bytes().to_vec()]).await.unwrap();
    let mut watching = client.watch_mempool(None).await.unwrap();
    event(&mut waiting).await;
    let (node, running) = rig.stop_serving();
    soon("the end", waiting.event()).await.refused(Code::Unavailable, "this node stops");
    soon("the end", watching.tx()).await.refused(Code::Unavailable, "this node stops");
    let Ended { cut_off, .. } = soon("the end", running).await.unwrap();
    assert_eq!(cut_off, 0);
    node.stop().await;
}
