//! Where the stores of the original differ from each other, and what is decided here.

use keyplane_kit::events::Position;
use keyplane_mempool::state::{Change, ReceiveError};
use keyplane_mempool::{Pool, Stage, TxHash};
use keyplane_testing::{Place, every_store};

use crate::setup::{
    Watcher, block_on, finished, node, node_with, queue, received, settings, stage, status, tx,
};

/// Stages and reasons that events told of a transaction.
async fn told(pool: &Pool, tx: &TxHash) -> Vec<(String, String)> {
    let batch = pool.events().read(Position::Beginning, 10_000).await.unwrap();
    let changes = batch.events.iter().map(|event| Change::read(event).unwrap());
    let own = changes.filter(|change| change.hash == *tx);
    own.map(|change| (change.stage.to_string(), change.reason)).collect()
}

/// 1: known is known, in every stage but one: a dropped transaction may be tried again.
#[every_store(except(unix, tls))]
async fn a_transaction_is_a_duplicate_in_every_stage_but_dropped(place: Place) {
    let watcher = Watcher::new(&place).await;
    let tx = tx();
    let pool = &watcher.pool;
    pool.receive(&tx).await.unwrap();
    let refused = |expected: Stage| {
        let tx = &tx;
        async move {
            let again = pool.receive(tx).await;
            assert!(
                matches!(again, Err(ReceiveError::Duplicate { stage, .. }) if stage == expected),
                "{again:?}"
            );
        }
    };
    refused(Stage::Pending).await;
    pool.mark_inflight(&[tx.hash]).await.unwrap();
    refused(Stage::Propagated).await;
    pool.mark_acknowledged(&[tx.hash]).await.unwrap();
    refused(Stage::Acknowledged).await;
    watcher.sees(&[tx.hash], &[]).await;
    refused(Stage::Confirmed).await;
    assert_eq!(queue(pool).await, []);
}

/// 3: an undo tells that the transaction is pending, and why.
#[every_store(except(unix, tls))]
async fn an_undo_is_told_as_pending_with_its_reason(place: Place) {
    let watcher = Watcher::new(&place).await;
    let tx = received(&watcher.pool).await;
    watcher.sees(&[tx], &[]).await;
    watcher.sees(&[], &[tx]).await;
    let told = told(&watcher.pool, &tx).await;
    let told: Vec<(&str, &str)> =
        told.iter().map(|(stage, reason)| (stage.as_str(), reason.as_str())).collect();
    assert_eq!(told, [("pending", "received"), ("confirmed", "block"), ("pending", "undo")]);
}

/// 4 and 5: a finished transaction keeps its status; pages go by number, and the last one says so.
#[every_store(except(unix, tls))]
async fn finished_ones_are_read_in_pages(place: Place) {
    let watcher = Watcher::new(&place).await;
    let mut txs = Vec::new();
    for _ in 0..3 {
        txs.push(watcher.acknowledged().await);
    }
    for _ in 0..6 {
        watcher.sees(&txs, &[]).await;
    }
    let pool = &watcher.pool;
    assert_eq!(stage(pool, &txs[0]).await, Some(Stage::Finalized));
    let first = pool.dump_finalized(0, 2).await.unwrap();
    assert_eq!((first.items.len(), first.next_cursor, first.trimmed_to), (2, Some(3), None));
    assert_eq!(first.items.iter().map(|item| item.seq).collect::<Vec<_>>(), [1, 2]);
    let last = pool.dump_finalized(3, 2).await.unwrap();
    assert_eq!((last.items.len(), last.next_cursor), (1, None));
    assert_eq!(pool.dump_finalized(4, 2).await.unwrap().items, []);
    assert_eq!(pool.dump_finalized(0, u32::MAX).await.unwrap().items.len(), 3);
    let entry = &last.items[0].entry;
    assert_eq!((entry.confirmations, entry.non_confirmations), (6, 0));
}

/// 5 once more: what is listed is as deep as it is now, not as it was when it became final.
#[every_store(except(unix, tls))]
async fn the_log_shows_the_depth_of_now(place: Place) {
    let watcher = Watcher::new(&place).await;
    let (kept, missed) = (watcher.acknowledged().await, watcher.acknowledged().await);
    for _ in 0..11 {
        watcher.sees(&[kept], &[]).await;
    }
    let pool = &watcher.pool;
    assert_eq!(status(pool, &kept).await.confirmations, 11);
    let mut pages =
        [pool.dump_finalized(0, 10).await.unwrap().items, pool.newest_finished(0, 10).await.unwrap()];
    pages[1].reverse();
    for items in pages {
        let shown: Vec<_> = items.iter().map(|item| (item.entry.hash, item.confirmations)).collect();
        assert_eq!(shown, [(missed, 0), (kept, 11)]);
        assert_eq!(items[1].entry.confirmations, 6, "the record is as of then");
    }
}

/// 6: the newest are kept, with all that belongs to them; a cursor that is too old is told so.
#[every_store(except(unix, tls))]
async fn the_log_is_trimmed_and_says_so(place: Place) {
    let mut settings = settings();
    settings.max_finalized = 4;
    settings.thresholds.finalize = 1;
    let watcher = Watcher::of(node_with(&place, settings).await).await;
    let mut txs = Vec::new();
    for _ in 0..7 {
        let tx = watcher.acknowledged().await;
        watcher.sees(&[tx], &[]).await;
        txs.push(tx);
    }
    let pool = &watcher.pool;
    assert_eq!(finished(pool).await, txs[3..].iter().map(|tx| (*tx, Stage::Finalized)).collect::<Vec<_>>());
    assert_eq!(pool.dump_finalized(2, 10).await.unwrap().trimmed_to, Some(3));
    assert_eq!(pool.dump_finalized(4, 10).await.unwrap().trimmed_to, None);
    assert_eq!(
        pool.dump_finalized(0, 10).await.unwrap().trimmed_to,
        None,
        "the beginning is whatever is there"
    );
    assert_eq!(stage(pool, &txs[0]).await, None, "nothing is left of it");
    assert_eq!(stage(pool, &txs[6]).await, Some(Stage::Finalized));
}

/// 7: a late acknowledgement counts, also after a block without it.
#[every_store(except(unix, tls))]
async fn a_late_acknowledgement_counts(place: Place) {
    let watcher = Watcher::new(&place).await;
    let tx = received(&watcher.pool).await;
    watcher.pool.mark_inflight(&[tx]).await.unwrap();
    watcher.sees(&[], &[]).await;
    assert_eq!(watcher.pool.mark_acknowledged(&[tx]).await.unwrap().moved, [tx]);
    let after = status(&watcher.pool, &tx).await;
    assert_eq!((after.stage, after.non_confirmations), (Stage::Acknowledged, 1));
    watcher.sees(&[], &[]).await;
    assert_eq!(stage(&watcher.pool, &tx).await, Some(Stage::Dropped));
}

/// 8: parents go back before their children, and before whatever was received after them.
#[every_store(except(unix, tls))]
async fn parents_go_back_before_their_children(place: Place) {
    let watcher = Watcher::new(&place).await;
    let mut txs = Vec::new();
    for _ in 0..6 {
        txs.push(received(&watcher.pool).await);
    }
    watcher.pool.mark_inflight(&txs).await.unwrap();
    let below = block_on(None, &[]);
    let parents = block_on(Some(&below), &txs[0..3]);
    let children = block_on(Some(&parents), &txs[3..6]);
    for block in [&below, &parents, &children] {
        watcher.apply(block).await;
    }
    let grandchild = received(&watcher.pool).await;
    watcher.back_to(&below).await;
    let mut expected = txs.clone();
    expected.push(grandchild);
    assert_eq!(queue(&watcher.pool).await, expected);
}

/// 9: what is offered is told in the order in which it was offered.
#[every_store(except(unix, tls))]
async fn offers_are_told_in_their_order(place: Place) {
    let pool = node(&place).await;
    let mut txs = Vec::new();
    for _ in 0..50 {
        txs.push(received(&pool).await);
    }
    fastrand::shuffle(&mut txs);
    assert_eq!(pool.mark_inflight(&txs).await.unwrap().moved, txs);
    let batch = pool.events().read(Position::Beginning, 1000).await.unwrap();
    let offered = batch.events.iter().filter(|event| event.text("stage") == Some("propagated"));
    let told: Vec<TxHash> = offered.map(|event| event.text("hash").unwrap().parse().unwrap()).collect();
    assert_eq!(told, txs);
    assert_eq!(queue(&pool).await, []);
}

/// Whatever is taken out of the queue, and wherever it stands: the rest keeps its order.
#[every_store(except(unix, tls))]
async fn the_queue_keeps_its_order(place: Place) {
    let pool = node(&place).await;
    let mut expected = Vec::new();
    for _ in 0..200 {
        expected.push(received(&pool).await);
    }
    // From the head; some from the middle; many from everywhere, which is done in another way; with strangers among them.
    for count in [10, 5, 31, 40, 3] {
        let mut out: Vec<TxHash> = match count {
            10 => expected[..10].to_vec(),
            _ => fastrand::choose_multiple(expected.iter().copied(), count),
        };
        out.push(TxHash::new(crate::setup::drawn()));
        let marked = pool.mark_inflight(&out).await.unwrap();
        assert_eq!(marked.moved.len(), count);
        expected.retain(|tx| !out.contains(tx));
        assert_eq!(queue(&pool).await, expected, "{count}");
        assert_eq!(pool.counts().await.unwrap().pending, expected.len() as u64);
    }
}

/// A dropped transaction that a late block holds: the record is corrected.
#[every_store(except(unix, tls))]
async fn a_late_block_corrects_what_was_dropped(place: Place) {
    let watcher = Watcher::new(&place).await;
    let tx = watcher.acknowledged().await;
    for _ in 0..3 {
        watcher.sees(&[], &[]).await;
    }
    assert_eq!(finished(&watcher.pool).await, [(tx, Stage::Dropped)]);
    watcher.sees(&[tx], &[]).await;
    assert_eq!(finished(&watcher.pool).await, []);
    let after = status(&watcher.pool, &tx).await;
    assert_eq!((after.stage, after.confirmations), (Stage::Confirmed, 1));
    for _ in 0..5 {
        watcher.sees(&[], &[]).await;
    }
    assert_eq!(finished(&watcher.pool).await, [(tx, Stage::Finalized)]);
    let told = told(&watcher.pool, &tx).await;
    assert_eq!(told[4], ("confirmed".to_owned(), "corrected".to_owned()));
}

/// A deep undo: what was finalized is confirmed again, then pending; the misses of others are taken back.
#[every_store(except(unix, tls))]
async fn a_deep_undo_is_exact(place: Place) {
    let watcher = Watcher::new(&place).await;
    let (tx, missed) = (watcher.acknowledged().await, watcher.acknowledged().await);
    let mut blocks = vec![block_on(None, &[])];
    watcher.apply(&blocks[0]).await;
    let first_miss = status(&watcher.pool, &missed).await;
    assert_eq!((first_miss.stage, first_miss.non_confirmations), (Stage::Acknowledged, 1));
    for height in 1..8 {
        let block = block_on(blocks.last(), if height == 1 { std::slice::from_ref(&tx) } else { &[] });
        watcher.apply(&block).await;
        blocks.push(block);
    }
    assert_eq!(finished(&watcher.pool).await, [(missed, Stage::Dropped), (tx, Stage::Finalized)]);
    // Depth 6 came with block 6.
    watcher.back_to(&blocks[5]).await;
    let after = status(&watcher.pool, &tx).await;
    assert_eq!((after.stage, after.confirmations), (Stage::Confirmed, 5));
    assert_eq!(finished(&watcher.pool).await, [(missed, Stage::Dropped)]);
    watcher.back_to(&blocks[0]).await;
    assert_eq!(stage(&watcher.pool, &tx).await, Some(Stage::Pending));
    let after = status(&watcher.pool, &missed).await;
    assert_eq!((after.stage, after.non_confirmations), (Stage::Acknowledged, 1));
    assert_eq!(finished(&watcher.pool).await, []);
    // The same chain once more.
    for block in &blocks[1..] {
        watcher.apply(block).await;
    }
    assert_eq!(finished(&watcher.pool).await, [(missed, Stage::Dropped), (tx, Stage::Finalized)]);
}
