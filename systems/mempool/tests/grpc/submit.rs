//! Sending, and what is in the pool.

use keyplane_mempool::TxHash;
use keyplane_testing::Place;
use tonic::Code;
use utxorpc::spec::submit::{ReadMempoolRequest, Stage};

use crate::made::{input, plain, spending};
use crate::rig::{Refused, Rig, settings};

#[tokio::test(flavor = "multi_thread")]
async fn a_client_submits_once() {
    let rig = Rig::new().await;
    let mut client = rig.client().await;
    let spent = input();
    let tx = spending(spent, 170_000);
    let told = client.submit_tx(tx.payload.bytes.clone()).await.unwrap();
    assert_eq!(told.as_ref(), tx.hash.bytes());
    let status = client.submit_tx(tx.payload.bytes.clone()).await.refused(Code::AlreadyExists, "pending");
    assert!(status.message().contains(&tx.hash.to_string()));
    let other = spending(spent, 180_000);
    client.submit_tx(other.payload.bytes).await.refused(Code::FailedPrecondition, &tx.hash.to_string());
    assert_eq!(rig.counts().await, (1, 0, 0));
    rig.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_are_told_by_their_names() {
    let mut settings = settings();
    settings.limits.count = 2;
    settings.limits.tx_bytes = 1000;
    let rig = Rig::with(Place::embedded(), settings, None).await;
    let mut client = rig.client().await;
    let long = keyplane_mempool::ports::transaction(input(), 170_000, &[7; 1000]);
    client.submit_tx(long).await.refused(Code::InvalidArgument, "the limit is 1000");
    for _ in 0..2 {
        client.submit_tx(plain().payload.bytes).await.unwrap();
    }
    client.submit_tx(plain().payload.bytes).await.refused(Code::ResourceExhausted, "2 of 2");
    assert_eq!(rig.counts().await, (2, 0, 0));
    rig.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_mempool_is_what_is_in_no_block() {
    let rig = Rig::new().await;
    let mut client = rig.client().await;
    let mut txs = Vec::new();
    for _ in 0..5 {
        let tx = plain();
        client.submit_tx(tx.payload.bytes.clone()).await.unwrap();
        txs.push(tx);
    }
    let hashes: Vec<TxHash> = txs.iter().map(|tx| tx.hash).collect();
    rig.pool().mark_inflight(&hashes[2..]).await.unwrap();
    rig.pool().mark_acknowledged(&hashes[3..]).await.unwrap();
    rig.block(&hashes[4..]).await;
    let read = client.inner.read_mempool(ReadMempoolRequest {}).await.unwrap().into_inner();
    let mut found: Vec<(Vec<u8>, Vec<u8>, Stage)> = read
        .items
        .iter()
        .map(|item| (item.r#ref.to_vec(), item.native_bytes.to_vec(), item.stage()))
        .collect();
    assert_eq!(found.len(), 4);
    // The queue has an order; what is on its way has none.
    found[2..].sort_by_key(|(hash, ..)| hashes.iter().position(|one| one.bytes()[..] == hash[..]));
    let stages = [Stage::Mempool, Stage::Mempool, Stage::Network, Stage::Network];
    for ((found, tx), stage) in found.iter().zip(&txs).zip(stages) {
        assert_eq!(*found, (tx.hash.bytes().to_vec(), tx.payload.bytes.clone(), stage));
    }
    rig.finish().await;
}
