//! The faults of the original, each as a test that its behaviour fails.

use std::collections::HashSet;

use keyplane_kit::events::Position;
use keyplane_mempool::state::{Change, ConfirmError, Confirmed, ReceiveError, Received};
use keyplane_mempool::{ChainEvent, Stage};
use keyplane_testing::{Place, every_store};

use crate::setup::{Watcher, block_on, finished, naming, node, queue, received, settings, stage, status, tx};

/// The payload's key, as an operator would write it.
fn payload_key(place: &Place, hash: &keyplane_mempool::TxHash) -> String {
    let keys = keyplane_mempool::keys::Keyspace::new(naming(place)).unwrap();
    keys.payload(&keyplane_mempool::keys::Hash::new(hash.to_string()).unwrap()).as_str().to_owned()
}

/// F1: a second node had seen it pending, and offers it when it is confirmed already.
#[every_store(except(unix, tls))]
async fn offering_a_confirmed_one_again_changes_nothing(place: Place) {
    let watcher = Watcher::new(&place).await;
    let tx = watcher.acknowledged().await;
    for _ in 0..3 {
        watcher.sees(&[tx], &[]).await;
    }
    let marked = node(&place).await.mark_inflight(&[tx]).await.unwrap();
    assert_eq!(marked.moved, []);
    let after = status(&watcher.pool, &tx).await;
    assert_eq!((after.stage, after.confirmations), (Stage::Confirmed, 3));
}

/// F2: the same transaction, sent to two nodes at the same instant.
#[every_store(except(unix, tls))]
async fn two_nodes_accept_it_once(place: Place) {
    let (one, other) = (node(&place).await, node(&place).await);
    let mut accepted = 0;
    for _ in 0..100 {
        let tx = tx();
        let both = tokio::join!(one.receive(&tx), other.receive(&tx));
        for outcome in [both.0, both.1] {
            match outcome {
                Ok(_) => accepted += 1,
                Err(ReceiveError::Duplicate { stage: Stage::Pending, .. }) => {}
                Err(error) => panic!("{error}"),
            }
        }
    }
    let queue = queue(&one).await;
    assert_eq!((accepted, queue.len()), (100, 100));
    assert_eq!(queue.iter().collect::<HashSet<_>>().len(), 100);
}

/// F3: its bytes are gone while it waits. It was stuck: never offered, and refused when it was sent again.
#[every_store(except(unix, tls))]
async fn sending_it_again_brings_lost_bytes_back(place: Place) {
    let pool = node(&place).await;
    let tx = tx();
    pool.receive(&tx).await.unwrap();
    let key = payload_key(&place, &tx.hash);
    place.raw::<i64>(&key, &["DEL", &key]);

    let marked = pool.mark_inflight(&[tx.hash]).await.unwrap();
    assert_eq!((marked.moved, marked.without_payload), (vec![], vec![tx.hash]));
    assert_eq!(stage(&pool, &tx.hash).await, Some(Stage::Pending), "it is not thrown away");
    let shown = pool.peek_pending(10).await.unwrap();
    assert_eq!((shown[0].hash, &shown[0].payload), (tx.hash, &None));

    assert_eq!(pool.receive(&tx).await.unwrap(), Received::Restored { stage: Stage::Pending });
    assert_eq!(pool.mark_inflight(&[tx.hash]).await.unwrap().moved, [tx.hash]);
    assert_eq!(pool.find_inflight(&tx.hash).await.unwrap().unwrap().payload, tx.payload);
}

/// F3 once more: the chain has it, with its bytes or without. One that is stuck must not hold up the blocks behind it.
#[every_store(except(unix, tls))]
async fn a_block_with_one_whose_bytes_are_gone_is_applied(place: Place) {
    let watcher = Watcher::new(&place).await;
    let (waits, offered) = (received(&watcher.pool).await, watcher.acknowledged().await);
    let below = block_on(None, &[]);
    watcher.apply(&below).await;
    let key = payload_key(&place, &waits);
    place.raw::<i64>(&key, &["DEL", &key]);

    let mut tip = block_on(Some(&below), &[waits, offered]);
    watcher.apply(&tip).await;
    for tx in [waits, offered] {
        assert_eq!(status(&watcher.pool, &tx).await.confirmed_at, Some(tip.point));
    }
    let record = watcher.pool.find_inflight(&waits).await.unwrap().unwrap();
    assert!(record.payload.is_gone(), "nobody makes bytes up");

    // An undo gives it back, still without: it is offered to nobody, and whoever sends it again brings them.
    watcher.back_to(&below).await;
    assert_eq!(place.raw::<i64>(&key, &["EXISTS", &key]), 0);
    let marked = watcher.pool.mark_inflight(&[waits, offered]).await.unwrap();
    assert_eq!((marked.moved, marked.without_payload), (vec![offered], vec![waits]));

    tip = block_on(Some(&below), &[waits, offered]);
    watcher.apply(&tip).await;
    for _ in 0..5 {
        tip = block_on(Some(&tip), &[]);
        watcher.apply(&tip).await;
    }
    for tx in [waits, offered] {
        assert_eq!(stage(&watcher.pool, &tx).await, Some(Stage::Finalized));
    }
}

/// The same with all of them, as after an eviction: at any stage, and the bytes of those that are on their way are in the records.
#[every_store(except(unix, tls))]
async fn a_pool_whose_payloads_are_all_gone_goes_on(place: Place) {
    let watcher = Watcher::new(&place).await;
    let mut txs = Vec::new();
    for _ in 0..300 {
        txs.push(received(&watcher.pool).await);
    }
    watcher.pool.mark_inflight(&txs[200..]).await.unwrap();
    let one = block_on(None, &txs[250..]);
    watcher.apply(&one).await;
    for tx in &txs {
        let key = payload_key(&place, tx);
        place.raw::<i64>(&key, &["DEL", &key]);
    }
    let mut tip = block_on(Some(&one), &txs[..250]);
    watcher.apply(&tip).await;
    for _ in 0..5 {
        tip = block_on(Some(&tip), &[]);
        watcher.apply(&tip).await;
    }
    let page = watcher.pool.dump_finalized(0, 1000).await.unwrap();
    let gone = page.items.iter().filter(|item| item.entry.payload.is_gone()).count();
    assert_eq!((page.items.len(), gone), (300, 200));
}

/// What is too old is given up also without its bytes, and holds up nobody behind it. The event says what was missing.
#[every_store(except(unix, tls))]
async fn one_whose_bytes_are_gone_is_given_up_in_its_turn(place: Place) {
    let mut settings = settings();
    settings.limits.age = std::time::Duration::from_secs(3600);
    let watcher = Watcher::of(crate::setup::node_with(&place, settings).await).await;
    let stages = keyplane_mempool::keys::Keyspace::new(naming(&place)).unwrap().stage();
    let mut txs = Vec::new();
    for _ in 0..3 {
        let tx = received(&watcher.pool).await;
        // Received long ago.
        let old = format!("pending 1 0 - 1000 100 {tx}#1");
        place.raw::<i64>(stages.as_str(), &["HSET", stages.as_str(), &tx.to_string(), &old]);
        txs.push(tx);
    }
    let key = payload_key(&place, &txs[1]);
    place.raw::<i64>(&key, &["DEL", &key]);
    assert_eq!(watcher.pool.expire(watcher.fence()).await.unwrap(), 3);
    assert_eq!(finished(&watcher.pool).await, txs.iter().map(|tx| (*tx, Stage::Dropped)).collect::<Vec<_>>());
    let events = watcher.pool.events().read(Position::Beginning, 100).await.unwrap().events;
    let reasons: Vec<String> = events[3..].iter().map(|event| Change::read(event).unwrap().reason).collect();
    assert_eq!(reasons, ["age", "lost", "age"]);
    assert_eq!(queue(&watcher.pool).await, []);
}

/// F4: the payload is gone when its block is undone; the record still has it.
#[every_store(except(unix, tls))]
async fn an_undo_brings_lost_bytes_back(place: Place) {
    let watcher = Watcher::new(&place).await;
    let tx = tx();
    watcher.pool.receive(&tx).await.unwrap();
    let below = block_on(None, &[]);
    watcher.apply(&below).await;
    watcher.apply(&block_on(Some(&below), &[tx.hash])).await;
    let key = payload_key(&place, &tx.hash);
    place.raw::<i64>(&key, &["DEL", &key]);
    watcher.back_to(&below).await;
    let shown = watcher.pool.peek_pending(10).await.unwrap();
    assert_eq!((shown[0].hash, shown[0].payload.clone()), (tx.hash, Some(tx.payload)));
}

/// F5: the watcher dies before a block, and the next one comes after it.
#[every_store(except(unix, tls))]
async fn a_block_that_nobody_applied_is_not_skipped(place: Place) {
    let first = Watcher::new(&place).await;
    let tx = first.acknowledged().await;
    let one = block_on(None, &[]);
    first.apply(&one).await;
    let two = block_on(Some(&one), &[tx]);
    let three = block_on(Some(&two), &[]);
    // It dies, and another begins with the third block.
    let lock = keyplane_mempool::keys::Keyspace::new(naming(&place)).unwrap().watcher_lock();
    place.raw::<i64>(lock.as_str(), &["DEL", lock.as_str()]);
    let second = Watcher::of(node(&place).await).await;
    let refused = second.pool.confirm(second.fence(), &ChainEvent::Forward(three.clone())).await;
    let Err(ConfirmError::NotNext { tip, height, .. }) = refused else { panic!("{refused:?}") };
    assert_eq!((tip, height), (one.point, one.height), "it is told where to begin");
    second.apply(&two).await;
    second.apply(&three).await;
    let after = status(&second.pool, &tx).await;
    assert_eq!(
        (after.stage, after.confirmations, after.confirmed_at),
        (Stage::Confirmed, 2, Some(two.point))
    );
}

/// F6: the same block again and again, by one node and by another.
#[every_store(except(unix, tls))]
async fn a_block_counts_once(place: Place) {
    let first = Watcher::new(&place).await;
    let tx = first.acknowledged().await;
    let below = block_on(None, &[]);
    first.apply(&below).await;
    let block = block_on(Some(&below), &[tx]);
    first.apply(&block).await;
    for event in [&block, &below] {
        for _ in 0..6 {
            let again = first.pool.confirm(first.fence(), &ChainEvent::Forward(event.clone())).await.unwrap();
            assert_eq!(again, Confirmed::Repeated);
        }
    }
    let lock = keyplane_mempool::keys::Keyspace::new(naming(&place)).unwrap().watcher_lock();
    place.raw::<i64>(lock.as_str(), &["DEL", lock.as_str()]);
    let second = Watcher::of(node(&place).await).await;
    second.apply(&block).await;
    let after = status(&second.pool, &tx).await;
    assert_eq!((after.stage, after.confirmations), (Stage::Confirmed, 1));
}

/// F7: undoing the tip made the transactions below it deeper.
#[every_store(except(unix, tls))]
async fn an_undo_makes_no_transaction_deeper(place: Place) {
    let watcher = Watcher::new(&place).await;
    let tx = watcher.acknowledged().await;
    let one = block_on(None, &[tx]);
    let two = block_on(Some(&one), &[]);
    let three = block_on(Some(&two), &[]);
    for block in [&one, &two, &three] {
        watcher.apply(block).await;
    }
    assert_eq!(status(&watcher.pool, &tx).await.confirmations, 3);
    watcher.back_to(&two).await;
    assert_eq!(status(&watcher.pool, &tx).await.confirmations, 2);
    watcher.back_to(&one).await;
    watcher.back_to(&one).await;
    let after = status(&watcher.pool, &tx).await;
    assert_eq!((after.stage, after.confirmations), (Stage::Confirmed, 1));
}

/// F8: a watcher that was paused goes on with a block that another one applies.
#[every_store(except(unix, tls))]
async fn a_woken_watcher_is_refused(place: Place) {
    let paused = Watcher::new(&place).await;
    let mut txs = Vec::new();
    for _ in 0..20 {
        txs.push(paused.acknowledged().await);
    }
    let mut settings = settings();
    settings.thresholds.finalize = 1;
    let lock = keyplane_mempool::keys::Keyspace::new(naming(&place)).unwrap().watcher_lock();
    place.raw::<i64>(lock.as_str(), &["DEL", lock.as_str()]);
    let other = Watcher::of(crate::setup::node_with(&place, settings).await).await;
    let block = block_on(None, &txs);
    let event = ChainEvent::Forward(block.clone());
    let (mine, stale) =
        tokio::join!(other.pool.confirm(other.fence(), &event), paused.pool.confirm(paused.fence(), &event));
    mine.unwrap();
    // Refused; or so late that it found the work done. It has written nothing in either case.
    assert!(matches!(stale, Err(ConfirmError::Fenced) | Ok(Confirmed::Repeated)), "{stale:?}");
    let next = ChainEvent::Forward(block_on(Some(&block), &[]));
    assert!(matches!(paused.pool.confirm(paused.fence(), &next).await, Err(ConfirmError::Fenced)));
    let mut finished = finished(&other.pool).await;
    finished.sort_unstable();
    txs.sort_unstable();
    assert_eq!(finished, txs.iter().map(|tx| (*tx, Stage::Finalized)).collect::<Vec<_>>());
}

/// F9: a slow reader lost events, and a reader on another node saw none.
#[every_store(except(unix, tls))]
async fn events_reach_slow_readers_on_every_node(place: Place) {
    let watcher = Watcher::new(&place).await;
    let elsewhere = node(&place).await;
    let tx = watcher.acknowledged().await;
    for _ in 0..40 {
        received(&watcher.pool).await;
    }
    for _ in 0..6 {
        watcher.sees(&[tx], &[]).await;
    }
    let mut position = Position::Beginning;
    let mut stages = Vec::new();
    loop {
        let batch = elsewhere.events().read(position, 7).await.unwrap();
        assert_eq!(batch.gaps, []);
        let own = batch.events.iter().filter(|event| event.text("hash") == Some(&tx.to_string()));
        stages.extend(own.map(|event| event.text("stage").unwrap().to_owned()));
        if batch.events.is_empty() {
            break;
        }
        position = batch.next;
    }
    assert_eq!(stages, ["pending", "propagated", "acknowledged", "confirmed", "finalized"]);
}

/// F9 once more: what is received together shares an entry of the log, and is still told one by one.
#[every_store(except(unix, tls))]
async fn a_reader_may_stop_between_any_two_of_those_that_came_together(place: Place) {
    let pool = node(&place).await;
    let log = keyplane_mempool::keys::Keyspace::new(naming(&place)).unwrap().events();
    let mut sent = HashSet::from([received(&pool).await.to_string()]);
    // Whether any two of twenty meet is for the scheduler to say.
    for again in 0.. {
        assert!(again < 100, "each has an entry of its own, so nothing is shown here");
        let txs: Vec<_> = (0..20).map(|_| tx()).collect();
        sent.extend(txs.iter().map(|tx| tx.hash.to_string()));
        let mut sending = tokio::task::JoinSet::new();
        for tx in txs {
            let pool = pool.clone();
            sending.spawn(async move { pool.receive(&tx).await });
        }
        while let Some(done) = sending.join_next().await {
            done.unwrap().unwrap();
        }
        if place.raw::<usize>(log.as_str(), &["XLEN", log.as_str()]) < sent.len() {
            break;
        }
    }

    let all = pool.events().read(Position::Beginning, 3000).await.unwrap();
    assert_eq!(all.gaps, []);
    let numbers: Vec<u64> = all.events.iter().map(|event| event.id.number).collect();
    assert_eq!(numbers, (1..=sent.len() as u64).collect::<Vec<_>>());
    let told: HashSet<_> = all.events.iter().map(|event| event.text("hash").unwrap().to_owned()).collect();
    assert_eq!(told, sent);
    for (at, event) in all.events.iter().enumerate() {
        let rest = pool.events().read(Position::After(event.id), 3000).await.unwrap();
        assert_eq!((rest.events, rest.gaps), (all.events[at + 1..].to_vec(), vec![]));
    }
}

/// F10: a finished transaction was accepted again, and the log then said two things about it.
#[every_store(except(unix, tls))]
async fn a_finished_one_has_one_entry(place: Place) {
    let watcher = Watcher::new(&place).await;
    let tx = tx();
    watcher.pool.receive(&tx).await.unwrap();
    for _ in 0..6 {
        watcher.sees(&[tx.hash], &[]).await;
    }
    let again = watcher.pool.receive(&tx).await;
    assert!(matches!(again, Err(ReceiveError::Duplicate { stage: Stage::Finalized, .. })), "{again:?}");

    // A dropped one may be tried again; what it becomes then replaces what was said.
    let second = crate::setup::tx();
    watcher.pool.receive(&second).await.unwrap();
    watcher.pool.mark_inflight(&[second.hash]).await.unwrap();
    watcher.sees(&[], &[]).await;
    watcher.sees(&[], &[]).await;
    assert_eq!(finished(&watcher.pool).await, [(tx.hash, Stage::Finalized), (second.hash, Stage::Dropped)]);
    assert_eq!(watcher.pool.receive(&second).await.unwrap(), Received::Accepted);
    for _ in 0..6 {
        watcher.sees(&[second.hash], &[]).await;
    }
    assert_eq!(finished(&watcher.pool).await, [(tx.hash, Stage::Finalized), (second.hash, Stage::Finalized)]);
    assert_eq!(stage(&watcher.pool, &second.hash).await, Some(Stage::Finalized));
}

/// F11: a transaction that is on the chain while it is still pending here.
#[every_store(except(unix, tls))]
async fn seen_while_pending_it_is_confirmed(place: Place) {
    let watcher = Watcher::new(&place).await;
    let (before, tx, after) =
        (received(&watcher.pool).await, received(&watcher.pool).await, received(&watcher.pool).await);
    watcher.sees(&[tx], &[]).await;
    assert_eq!(stage(&watcher.pool, &tx).await, Some(Stage::Confirmed));
    assert_eq!(queue(&watcher.pool).await, [before, after]);
    for _ in 0..5 {
        watcher.sees(&[], &[]).await;
    }
    assert_eq!(finished(&watcher.pool).await, [(tx, Stage::Finalized)]);
}
