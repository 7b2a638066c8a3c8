//! Waiting for transactions.

use keyplane_mempool::TxHash;
use keyplane_testing::Place;
use tonic::Code;
use utxorpc::spec::submit::Stage;

use crate::made::plain;
use crate::rig::{Refused, Rig, event, soon};

/// As a client asks.
fn refs(txs: &[TxHash]) -> Vec<Vec<u8>> {
    txs.iter().map(|tx| tx.bytes().to_vec()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_stage_is_told_and_the_end_is_the_end() {
    let rig = Rig::new().await;
    let mut client = rig.client().await;
    let tx = plain();
    let hash = tx.hash;
    client.submit_tx(tx.payload.bytes).await.unwrap();
    let mut stream = client.wait_for_tx(refs(&[hash, hash])).await.unwrap();
    assert_eq!(event(&mut stream).await, (hash, Stage::Mempool));
    rig.pool().mark_inflight(&[hash]).await.unwrap();
    assert_eq!(event(&mut stream).await, (hash, Stage::Network));
    rig.pool().mark_acknowledged(&[hash]).await.unwrap();
    assert_eq!(event(&mut stream).await, (hash, Stage::Network));
    rig.block(&[hash]).await;
    assert_eq!(event(&mut stream).await, (hash, Stage::Confirmed));
    rig.block(&[]).await;
    rig.block(&[]).await;
    assert_eq!(event(&mut stream).await, (hash, Stage::Confirmed), "finalized");
    assert!(soon("the end", stream.event()).await.unwrap().is_none());

    let mut after = client.wait_for_tx(refs(&[hash])).await.unwrap();
    assert_eq!(event(&mut after).await, (hash, Stage::Confirmed));
    assert!(soon("the end", after.event()).await.unwrap().is_none(), "it is final already");
    rig.finish().await;
}

/// Whenever the question comes, what was not told first comes behind it.
#[tokio::test(flavor = "multi_thread")]
async fn no_change_falls_between_the_first_look_and_the_log() {
    let rig = Rig::new().await;
    let mut client = rig.client().await;
    let (mut early, mut late) = (0, 0);
    for round in 0..200 {
        let tx = plain();
        let hash = tx.hash;
        client.submit_tx(tx.payload.bytes).await.unwrap();
        let pool = rig.pool().clone();
        let moving = tokio::spawn(async move {
            // At another place of the question in every round.
            for _ in 0..round {
                tokio::task::yield_now().await;
            }
            pool.mark_inflight(&[hash]).await.unwrap();
            pool.mark_acknowledged(&[hash]).await.unwrap();
        });
        let mut stream = client.wait_for_tx(refs(&[hash])).await.unwrap();
        let (_, first) = event(&mut stream).await;
        moving.await.unwrap();
        rig.block(&[hash]).await;
        let mut told = vec![first];
        while told.last() != Some(&Stage::Confirmed) {
            told.push(event(&mut stream).await.1);
        }
        match told[..] {
            [Stage::Mempool, Stage::Network, Stage::Network, Stage::Confirmed] => early += 1,
            [Stage::Network, Stage::Network, Stage::Confirmed] | [Stage::Network, Stage::Confirmed] => {
                late += 1;
            }
            _ => panic!("round {round}: {told:?}"),
        }
    }
    println!("{early} looks came before the first move, {late} after it");
    rig.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_drop_is_told_and_the_others_are_waited_for() {
    let rig = Rig::new().await;
    let mut client = rig.client().await;
    let (lost, kept) = (plain(), plain());
    for tx in [&lost, &kept] {
        client.submit_tx(tx.payload.bytes.clone()).await.unwrap();
    }
    rig.block(&[]).await;
    rig.pool().mark_inflight(&[lost.hash]).await.unwrap();
    let mut stream = client.wait_for_tx(refs(&[lost.hash, kept.hash])).await.unwrap();
    assert_eq!(event(&mut stream).await, (lost.hash, Stage::Network));
    assert_eq!(event(&mut stream).await, (kept.hash, Stage::Mempool));
    rig.block(&[]).await;
    rig.block(&[]).await;
    assert_eq!(event(&mut stream).await, (lost.hash, Stage::Unspecified), "dropped");
    rig.block(&[kept.hash]).await;
    assert_eq!(event(&mut stream).await, (kept.hash, Stage::Confirmed));
    rig.block(&[]).await;
    rig.block(&[]).await;
    assert_eq!(event(&mut stream).await, (kept.hash, Stage::Confirmed));
    let end = soon("the end", stream.event()).await.refused(Code::Aborted, &lost.hash.to_string());
    assert!(!end.message().contains(&kept.hash.to_string()), "{end:?}");
    rig.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_is_not_known_yet_is_waited_for() {
    let rig = Rig::new().await;
    let mut client = rig.client().await;
    let tx = plain();
    let mut stream = client.wait_for_tx(refs(&[tx.hash])).await.unwrap();
    assert_eq!(event(&mut stream).await, (tx.hash, Stage::Unspecified));
    client.submit_tx(tx.payload.bytes).await.unwrap();
    assert_eq!(event(&mut stream).await, (tx.hash, Stage::Mempool));
    rig.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_undone_block_is_told() {
    let rig = Rig::new().await;
    let mut client = rig.client().await;
    let tx = plain();
    client.submit_tx(tx.payload.bytes).await.unwrap();
    let below = rig.block(&[]).await;
    let mut stream = client.wait_for_tx(refs(&[tx.hash])).await.unwrap();
    assert_eq!(event(&mut stream).await, (tx.hash, Stage::Mempool));
    rig.block(&[tx.hash]).await;
    assert_eq!(event(&mut stream).await, (tx.hash, Stage::Confirmed));
    rig.back_to(&below).await;
    assert_eq!(event(&mut stream).await, (tx.hash, Stage::Mempool));
    rig.finish().await;
}

/// Changes of the first one are lost from the log; the next one of the second shows it.
#[tokio::test(flavor = "multi_thread")]
async fn after_a_gap_the_stages_are_read_anew() {
    let rig = Rig::new().await;
    let mut client = rig.client().await;
    let (first, second) = (plain(), plain());
    for tx in [&first, &second] {
        client.submit_tx(tx.payload.bytes.clone()).await.unwrap();
    }
    let mut stream = client.wait_for_tx(refs(&[first.hash, second.hash])).await.unwrap();
    assert_eq!(event(&mut stream).await, (first.hash, Stage::Mempool));
    assert_eq!(event(&mut stream).await, (second.hash, Stage::Mempool));
    lose_changes(&rig.place, 3);
    let (key, hash) = (rig.place.key("stage"), first.hash.to_string());
    let entry: String = rig.place.raw(&key, &["HGET", &key, &hash]);
    let entry = entry.replace("pending 1 ", "propagated 2 ");
    rig.place.raw::<i64>(&key, &["HSET", &key, &hash, &entry]);
    rig.pool().mark_inflight(&[second.hash]).await.unwrap();
    assert_eq!(event(&mut stream).await, (first.hash, Stage::Network), "found by the look");
    assert_eq!(event(&mut stream).await, (second.hash, Stage::Network));
}

/// So many numbers of the log are never seen.
pub(crate) fn lose_changes(place: &Place, many: u64) {
    let key = place.key("events");
    let newest: Vec<(String, Vec<String>)> = place.raw(&key, &["XREVRANGE", &key, "+", "-", "COUNT", "1"]);
    let (name, number) = newest[0].0.split_once('-').unwrap();
    let skipped = format!("{name}-{}", number.parse::<u64>().unwrap() + many);
    place.raw::<String>(&key, &["XSETID", &key, &skipped]);
}
