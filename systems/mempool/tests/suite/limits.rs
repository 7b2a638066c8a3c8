//! What the pool does not take in, and what it says then.

use keyplane_mempool::model::{Input, Payload};
use keyplane_mempool::state::{Limit, ReceiveError};
use keyplane_mempool::{Block, Stage, TxHash};
use keyplane_testing::{Place, every_store};

use crate::setup::{Watcher, block_on, node_with, settings, spending, stage, tx};

#[every_store(except(unix, tls))]
async fn a_full_pool_refuses_and_evicts_nothing(place: Place) {
    let mut settings = settings();
    settings.limits.count = 3;
    settings.thresholds.finalize = 1;
    let watcher = Watcher::of(node_with(&place, settings).await).await;
    let first = tx();
    watcher.pool.receive(&first).await.unwrap();
    watcher.pool.receive(&tx()).await.unwrap();
    watcher.pool.receive(&tx()).await.unwrap();
    let refused = watcher.pool.receive(&tx()).await.unwrap_err();
    assert!(matches!(refused, ReceiveError::Full { limit: Limit::Count, used: 3, max: 3 }));
    assert_eq!(refused.to_string(), "the mempool is full: the limit of transactions reached (3 of 3)");
    assert_eq!(watcher.pool.counts().await.unwrap().pending, 3);
    // One that is finished makes room.
    watcher.sees(&[first.hash], &[]).await;
    watcher.pool.receive(&tx()).await.unwrap();
    assert!(watcher.pool.receive(&tx()).await.is_err());
}

#[every_store(except(unix, tls))]
async fn bytes_are_limited_too(place: Place) {
    let mut settings = settings();
    settings.limits.bytes = 1000;
    settings.limits.tx_bytes = 700;
    let pool = node_with(&place, settings).await;
    let sized = |size| {
        let mut tx = tx();
        tx.payload = Payload { era: 7, bytes: vec![7; size] };
        tx
    };
    let refused = pool.receive(&sized(701)).await.unwrap_err();
    assert!(matches!(refused, ReceiveError::TooLarge { size: 701, max: 700 }), "{refused}");
    pool.receive(&sized(700)).await.unwrap();
    let refused = pool.receive(&sized(301)).await.unwrap_err();
    assert!(matches!(refused, ReceiveError::Full { limit: Limit::Bytes, used: 700, max: 1000 }), "{refused}");
    pool.receive(&sized(300)).await.unwrap();
    assert_eq!(pool.counts().await.unwrap().pending, 2);
}

#[every_store(except(unix, tls))]
async fn the_second_spender_is_refused_and_told_the_first(place: Place) {
    let watcher = Watcher::new(&place).await;
    let input = Input { tx: tx().hash, index: 3 };
    let (first, second) = (spending(&[tx().inputs[0], input]), spending(&[input]));
    watcher.pool.receive(&first).await.unwrap();
    let refused = watcher.pool.receive(&second).await.unwrap_err();
    let expected = format!("the input {input} is spent by {}, which is in the pool", first.hash);
    assert_eq!(refused.to_string(), expected);
    assert_eq!(stage(&watcher.pool, &second.hash).await, None, "nothing is stored");
    // It is free when the first one is given up.
    watcher.pool.mark_inflight(&[first.hash]).await.unwrap();
    watcher.sees(&[], &[]).await;
    watcher.sees(&[], &[]).await;
    assert_eq!(stage(&watcher.pool, &first.hash).await, Some(Stage::Dropped));
    watcher.pool.receive(&second).await.unwrap();
    let refused = watcher.pool.receive(&first).await.unwrap_err();
    assert!(matches!(refused, ReceiveError::Conflict { .. }), "now it is the other way round: {refused}");
}

/// A dropped one whose input another spends by then is in a block after all. Its input is taken as long as one of the two is
/// unfinished.
#[every_store(except(unix, tls))]
async fn what_a_block_brings_back_spends_its_inputs_again(place: Place) {
    let watcher = Watcher::new(&place).await;
    let (pool, input) = (&watcher.pool, Input { tx: tx().hash, index: 3 });
    let (first, second, third) = (spending(&[input]), spending(&[input]), spending(&[input]));
    let spender = async || match pool.receive(&third).await {
        Err(ReceiveError::Conflict { by, .. }) => Some(by),
        Err(error) => panic!("{error}"),
        Ok(_) => None,
    };
    pool.receive(&first).await.unwrap();
    pool.mark_inflight(&[first.hash]).await.unwrap();
    let mut chain = vec![block_on(None, &[])];
    watcher.apply(&chain[0]).await;
    let grow = async |chain: &mut Vec<Block>, txs: &[TxHash]| {
        chain.push(block_on(chain.last(), txs));
        watcher.apply(&chain[chain.len() - 1]).await;
    };
    grow(&mut chain, &[]).await;
    grow(&mut chain, &[]).await;
    assert_eq!(stage(pool, &first.hash).await, Some(Stage::Dropped));
    pool.receive(&second).await.unwrap();
    pool.mark_inflight(&[second.hash]).await.unwrap();

    grow(&mut chain, &[first.hash]).await;
    assert_eq!(spender().await, Some(first.hash.to_string()), "the chain has decided");
    grow(&mut chain, &[]).await;
    assert_eq!(stage(pool, &second.hash).await, Some(Stage::Dropped));
    assert_eq!(
        spender().await,
        Some(first.hash.to_string()),
        "what is not its own any more it does not free"
    );
    // Both blocks are undone: the second is on its way again, and the first waits.
    watcher.back_to(&chain[2]).await;
    assert_eq!(stage(pool, &second.hash).await, Some(Stage::Propagated));
    chain.truncate(3);
    pool.mark_inflight(&[first.hash]).await.unwrap();
    grow(&mut chain, &[]).await;
    grow(&mut chain, &[second.hash]).await;
    assert_eq!(stage(pool, &first.hash).await, Some(Stage::Dropped));
    assert_eq!(spender().await, Some(second.hash.to_string()));
    for _ in 0..5 {
        grow(&mut chain, &[]).await;
    }
    assert_eq!(stage(pool, &second.hash).await, Some(Stage::Finalized));
    assert_eq!(spender().await, None, "nobody is left");
}

/// What comes at the same time goes to the store together. Each is judged as if it had come alone.
#[every_store(except(unix, tls))]
async fn many_at_once_are_taken_one_by_one(place: Place) {
    let mut settings = settings();
    settings.limits.count = 20;
    let pool = node_with(&place, settings).await;
    let known = tx();
    pool.receive(&known).await.unwrap();
    let input = tx().inputs[0];
    let twice = tx();
    // Sent in this order: two that spend the same, one that comes twice, one that is known, and more than there is room for.
    let mut sent = vec![spending(&[input]), spending(&[tx().inputs[0], input]), twice.clone(), twice, known];
    sent.extend((0..40).map(|_| tx()));
    let mut tasks = Vec::new();
    for tx in sent.clone() {
        let pool = pool.clone();
        tasks.push(tokio::spawn(async move { pool.receive(&tx).await }));
    }
    let (mut accepted, mut full) = (vec![sent[4].hash], 0);
    for (place, (task, tx)) in tasks.into_iter().zip(&sent).enumerate() {
        match (place, task.await.unwrap()) {
            (_, Ok(_)) => accepted.push(tx.hash),
            (0 | 1, Err(ReceiveError::Conflict { by, .. })) => {
                assert_eq!(by, sent[1 - place].hash.to_string())
            }
            (2..=4, Err(ReceiveError::Duplicate { stage, .. })) => assert_eq!(stage, Stage::Pending),
            (_, Err(ReceiveError::Full { limit: Limit::Count, used: 20, max: 20 })) => full += 1,
            (place, Err(error)) => panic!("{place}: {error}"),
        }
    }
    assert_eq!((accepted.len(), full), (20, 23));
    let mut waiting = crate::setup::queue(&pool).await;
    waiting.sort();
    accepted.sort();
    assert_eq!(waiting, accepted);
    let totals = pool.pulse().await.unwrap().totals;
    assert_eq!((totals.received, totals.conflicts, totals.duplicates, totals.full), (20, 1, 2, 23));
}

/// A refusal leaves nothing behind: neither for a conflict nor for want of room does it keep an input.
#[every_store(except(unix, tls))]
async fn what_is_refused_keeps_no_input(place: Place) {
    let mut settings = settings();
    settings.limits.count = 2;
    let pool = node_with(&place, settings).await;
    let (taken, free, other) = (tx().inputs[0], tx().inputs[0], tx().inputs[0]);
    pool.receive(&spending(&[taken])).await.unwrap();
    let refused = pool.receive(&spending(&[free, taken])).await.unwrap_err();
    assert!(matches!(refused, ReceiveError::Conflict { .. }), "{refused}");
    let second = spending(&[free]);
    pool.receive(&second).await.unwrap();
    let refused = pool.receive(&spending(&[other])).await.unwrap_err();
    assert!(matches!(refused, ReceiveError::Full { .. }), "{refused}");
    // There is room again, and what nobody spends can be spent.
    settings.limits.count = 3;
    let roomier = node_with(&place, settings).await;
    roomier.receive(&spending(&[other])).await.unwrap();
}

/// What would stand in its way had come at the same time, and found no room either.
#[every_store(except(unix, tls))]
async fn nobody_is_told_of_one_that_found_no_room(place: Place) {
    let mut settings = settings();
    settings.limits.count = 1;
    let pool = node_with(&place, settings).await;
    let known = tx();
    pool.receive(&known).await.unwrap();
    let input = tx().inputs[0];
    let first = spending(&[input]);
    // The first one goes alone, and the others meanwhile wait to go together.
    let sent = [known, first.clone(), first, spending(&[tx().inputs[0], input])];
    let tasks = sent.map(|tx| {
        let pool = pool.clone();
        tokio::spawn(async move { pool.receive(&tx).await })
    });
    for (place, task) in tasks.into_iter().enumerate() {
        match (place, task.await.unwrap()) {
            (0, Err(ReceiveError::Duplicate { .. })) => {}
            (1..=3, Err(ReceiveError::Full { limit: Limit::Count, used: 1, max: 1 })) => {}
            (place, told) => panic!("{place}: {told:?}"),
        }
    }
    let totals = pool.pulse().await.unwrap().totals;
    assert_eq!((totals.received, totals.conflicts, totals.duplicates, totals.full), (1, 0, 1, 3));
}
