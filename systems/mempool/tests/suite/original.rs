//! A pool that takes over from the original: its data, and what it left lying about.

use std::time::Duration;

use keyplane_mempool::model::Payload;
use keyplane_mempool::ports::SimWallet;
use keyplane_mempool::{BlockHash, ChainEvent, Node, Point, Stage, Tx, TxHash};
use keyplane_testing::{Place, every_store};

use crate::setup::{Watcher, block_on, drawn, node, node_with, queue, settings, stage, status};

/// Writes as the original does, past the pool.
struct Original<'p>(&'p Place);

impl Original<'_> {
    fn run(&self, key: &str, words: &[&[u8]]) {
        self.ask::<redis::Value>(key, words);
    }

    fn ask<T: redis::FromRedisValue>(&self, key: &str, words: &[&[u8]]) -> T {
        // It knows no hash tags. On a cluster its data is brought under the names that all have one slot.
        let key = match self.0.hash_tags {
            true => format!("{{{}}}:{key}", self.0.namespace),
            false => self.0.key(key),
        };
        let mut all = vec![words[0], key.as_bytes()];
        all.extend_from_slice(&words[1..]);
        self.0.raw(&key, &all)
    }

    /// In seconds; -1 if it has no end.
    fn payload_lives(&self, tx: &Tx) -> i64 {
        self.ask(&format!("payload:{}", tx.hash), &[b"TTL"])
    }

    fn payload(&self, tx: &Tx) {
        let key = format!("payload:{}", tx.hash);
        self.run(&key, &[b"SET", &tx.payload.to_cbor(), b"EX", b"86400"]);
    }

    fn pending(&self, tx: &Tx) {
        self.payload(tx);
        self.run("pending", &[b"RPUSH", tx.hash.bytes()]);
    }

    /// `85 [stage] confirmations payload confirmed_at non_confirmations`
    fn inflight(&self, tx: &Tx, stage: Stage, confirmations: u8, misses: u8, at: Option<Point>) {
        self.payload(tx);
        let stage = match stage {
            Stage::Propagated => 0,
            Stage::Acknowledged => 1,
            _ => 2,
        };
        let mut record = vec![0x85, 0x82, stage, 0x80, confirmations];
        record.extend(tx.payload.to_cbor());
        record.extend(at.map_or(vec![0xf6], |at| written(&at)));
        record.push(misses);
        self.run("inflight", &[b"HSET", tx.hash.bytes(), &record]);
    }

    /// `86 5820<hash> [stage] confirmations non_confirmations confirmed_at payload`
    fn finished(&self, tx: &Tx, seq: u64) {
        let mut entry = vec![0x86, 0x58, 0x20];
        entry.extend(tx.hash.bytes());
        entry.extend([0x82, 0x00, 0x80, 6, 0]);
        entry.extend(written(&Point { slot: 7, hash: BlockHash::new(drawn()) }));
        entry.extend(tx.payload.to_cbor());
        let seq = seq.to_string();
        self.run("seq", &[b"SET", seq.as_bytes()]);
        self.run("finalized", &[b"ZADD", seq.as_bytes(), &entry]);
    }
}

fn written(at: &Point) -> Vec<u8> {
    [&[0x58, 0x28][..], &at.slot.to_be_bytes(), at.hash.bytes()].concat()
}

#[every_store(except(unix, tls))]
async fn what_the_original_accepted_is_not_stuck(place: Place) {
    let pool = node(&place).await;
    let original = Original(&place);
    let mut wallet = SimWallet::new(fastrand::u64(..));
    let mut pay = || wallet.pay().unwrap();
    let (waits, offered, taken, confirmed, finished) = (pay(), pay(), pay(), pay(), pay());
    let at = Point { slot: 900, hash: BlockHash::new(drawn()) };
    original.pending(&waits);
    original.inflight(&offered, Stage::Propagated, 0, 0, None);
    original.inflight(&taken, Stage::Acknowledged, 0, 1, None);
    original.inflight(&confirmed, Stage::Confirmed, 3, 0, Some(at));
    original.finished(&finished, 4);

    let lease = pool.lease().unwrap();
    let node = Node::start(pool.clone(), lease);
    while node.watch().fence().is_none() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    // The first block that this pool sees holds one that only the original knew.
    let block = block_on(None, &[waits.hash]);
    node.confirm(&ChainEvent::Forward(block.clone())).await.unwrap();
    assert_eq!(status(&pool, &waits.hash).await.confirmed_at, Some(block.point));
    assert_eq!(stage(&pool, &finished.hash).await, Some(Stage::Finalized));
    assert_eq!(queue(&pool).await, []);
    let refused = pool.receive(&taken).await.unwrap_err().to_string();
    assert!(refused.contains("in the pool already: acknowledged"), "{refused}");
    for open in [&waits, &offered, &taken] {
        assert_eq!(original.payload_lives(open), -1, "its bytes are needed until it is finished");
    }
    // The next one finds a tip, from which the height of a confirmed one follows.
    let next = block_on(Some(&block), &[]);
    node.confirm(&ChainEvent::Forward(next.clone())).await.unwrap();
    let known = status(&pool, &confirmed.hash).await;
    assert_eq!((known.stage, known.confirmations, known.confirmed_at), (Stage::Confirmed, 4, Some(at)));
    // It is one of the pool now, and becomes final.
    let mut tip = next;
    for _ in 0..2 {
        tip = block_on(Some(&tip), &[]);
        node.confirm(&ChainEvent::Forward(tip.clone())).await.unwrap();
    }
    assert_eq!(stage(&pool, &confirmed.hash).await, Some(Stage::Finalized));
    assert_eq!(stage(&pool, &offered.hash).await, Some(Stage::Dropped), "two blocks came without it");
    assert_eq!(stage(&pool, &waits.hash).await, Some(Stage::Confirmed));
    node.stop().await;
}

#[every_store(except(unix, tls))]
async fn payloads_without_a_transaction_are_swept(place: Place) {
    let watcher = Watcher::new(&place).await;
    let original = Original(&place);
    let mut wallet = SimWallet::new(fastrand::u64(..));
    let kept = wallet.pay().unwrap();
    watcher.pool.receive(&kept).await.unwrap();
    let strays: Vec<Tx> = (0..1200)
        .map(|_| Tx {
            hash: TxHash::new(drawn()),
            payload: Payload { era: 7, bytes: vec![1, 2, 3] },
            inputs: Vec::new(),
        })
        .collect();
    strays.iter().for_each(|tx| original.payload(tx));
    assert_eq!(watcher.pool.sweep(watcher.fence()).await.unwrap(), 1200);
    assert_eq!(watcher.pool.sweep(watcher.fence()).await.unwrap(), 0);
    let pending = watcher.pool.peek_pending(10).await.unwrap();
    assert_eq!(pending[0].payload.as_ref(), Some(&kept.payload), "what is known stays");
}

/// F2: an entry that was pushed again, one that is not pending any more, and one that is nothing at all.
#[every_store(except(unix, tls))]
async fn what_stands_in_the_queue_in_vain_holds_up_nobody(place: Place) {
    let pool = node(&place).await;
    let original = Original(&place);
    let mut wallet = SimWallet::new(fastrand::u64(..));
    let txs: Vec<Tx> = (0..40).map(|_| wallet.pay().unwrap()).collect();
    for tx in txs.iter().chain(&txs) {
        original.pending(tx);
    }
    original.run("pending", &[b"RPUSH", b"not a hash"]);
    assert_eq!(original.ask::<u64>("pending", &[b"LLEN"]), 81);

    let watcher = Watcher::of(pool.clone()).await;
    let adopted = pool.adopt(watcher.fence()).await.unwrap();
    assert_eq!((adopted.txs, adopted.weeds), (40, 41));
    assert_eq!(queue(&pool).await, txs.iter().map(|tx| tx.hash).collect::<Vec<_>>());

    // And if one comes after that: it goes when it has reached the head.
    pool.mark_inflight(&[txs[0].hash]).await.unwrap();
    original.run("pending", &[b"LPUSH", txs[0].hash.bytes()]);
    pool.mark_inflight(&[txs[0].hash, txs[1].hash]).await.unwrap();
    assert_eq!(queue(&pool).await, txs[2..].iter().map(|tx| tx.hash).collect::<Vec<_>>());
    assert_eq!(stage(&pool, &txs[0].hash).await, Some(Stage::Propagated));
}

/// Whatever somebody has pushed there: nobody stops for it, and the watcher takes it out when it meets it.
#[every_store(except(unix, tls))]
async fn what_is_no_hash_stops_neither_readers_nor_the_watcher(place: Place) {
    let mut settings = settings();
    settings.limits.age = Duration::from_secs(3600);
    let pool = node_with(&place, settings).await;
    let watcher = Watcher::of(pool.clone()).await;
    let original = Original(&place);
    let mut wallet = SimWallet::new(fastrand::u64(..));
    let txs: Vec<Tx> = (0..3).map(|_| wallet.pay().unwrap()).collect();
    for tx in &txs {
        pool.receive(tx).await.unwrap();
    }
    pool.mark_inflight(&[txs[0].hash]).await.unwrap();
    // The second was received long ago.
    let entry = format!("pending 1 0 - 1000 100 {}#1", txs[1].hash);
    original.run("stage", &[b"HSET", txs[1].hash.to_string().as_bytes(), entry.as_bytes()]);
    original.run("pending", &[b"LPUSH", txs[0].hash.bytes()]);
    for _ in 0..40 {
        original.run("pending", &[b"LPUSH", b"x", b"y", &drawn()[..31]]);
    }
    let shown = pool.peek_pending(3).await.unwrap();
    let hashes: Vec<TxHash> = shown.iter().map(|pending| pending.hash).collect();
    assert_eq!(hashes, [txs[0].hash, txs[1].hash, txs[2].hash], "as many as there are behind it");

    assert_eq!(pool.expire(watcher.fence()).await.unwrap(), 1);
    assert_eq!(stage(&pool, &txs[1].hash).await, Some(Stage::Dropped));
    assert_eq!(queue(&pool).await, [txs[2].hash]);
    assert_eq!(original.ask::<u64>("pending", &[b"LLEN"]), 1);
}
