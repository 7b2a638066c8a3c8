//! What the original sends, command by command, one round trip each, with the bare client.
//!
//! It is kinder to it than the original is: a checkout from its pool of connections costs no round trip here, and there is no
//! election. [`receive`] is measured with that pool, and once more with one connection that all callers share, so that
//! commands of several travel together, which the original cannot.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use keyplane_mempool::model::{FinalizedEntry, Payload};
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, Cmd, FromRedisValue, cmd};
use tokio::sync::Semaphore;

use crate::TASKS;
use crate::ours::{drawn, payload};

/// In the layout of the original: what stands before and behind the payload of an inflight record.
const BEFORE: &[u8] = &[0x85, 0x82, 0x00, 0x80, 0x00];
const BEHIND: &[u8] = &[0xf6, 0x00];

/// Connections of the original, as it is configured by default.
const CONNECTIONS: usize = 10;

pub(crate) type Hash = [u8; 32];

#[derive(Clone)]
pub(crate) struct Seed {
    connection: MultiplexedConnection,
    idle: Arc<Mutex<Vec<MultiplexedConnection>>>,
    free: Arc<Semaphore>,
    prefix: String,
}

impl Seed {
    pub(crate) async fn open(url: &str, prefix: &str) -> Self {
        // A reply of fifty megabytes takes longer than the client's own half second.
        let config = AsyncConnectionConfig::new().set_response_timeout(Some(Duration::from_secs(60)));
        let client = Client::open(url).unwrap();
        let connect = || client.get_multiplexed_async_connection_with_config(&config);
        let mut idle = Vec::new();
        for _ in 0..CONNECTIONS {
            idle.push(connect().await.unwrap());
        }
        Self {
            connection: connect().await.unwrap(),
            idle: Arc::new(Mutex::new(idle)),
            free: Arc::new(Semaphore::new(CONNECTIONS)),
            prefix: prefix.to_owned(),
        }
    }

    /// The same connection, another pool.
    pub(crate) fn at(&self, prefix: &str) -> Self {
        Self { prefix: prefix.to_owned(), ..self.clone() }
    }

    pub(crate) fn key(&self, name: &str) -> String {
        format!("{}:{name}", self.prefix)
    }

    fn payload_key(&self, hash: &Hash) -> String {
        use std::fmt::Write as _;
        hash.iter().fold(self.key("payload:"), |mut key, byte| {
            let _ = write!(key, "{byte:02x}");
            key
        })
    }

    async fn ask<T: FromRedisValue>(&self, command: &Cmd) -> T {
        command.query_async(&mut self.connection.clone()).await.unwrap()
    }

    /// With a connection that nobody else uses meanwhile.
    async fn receive_pooled(&self, hash: &Hash, payload: &Payload) -> bool {
        let _permit = self.free.acquire().await.unwrap();
        let connection = self.idle.lock().unwrap().pop().expect("as many as permits");
        let own = Self { connection, ..self.clone() };
        let is_new = own.receive(hash, payload).await;
        self.idle.lock().unwrap().push(own.connection);
        is_new
    }

    /// Whether it was new.
    async fn receive(&self, hash: &Hash, payload: &Payload) -> bool {
        let (pending, inflight) = (self.key("pending"), self.key("inflight"));
        let waits: Option<u64> = self.ask(cmd("LPOS").arg(&pending).arg(hash)).await;
        let travels: Option<Vec<u8>> = self.ask(cmd("HGET").arg(&inflight).arg(hash)).await;
        if waits.is_some() || travels.is_some() {
            return false;
        }
        let _: u64 = self.ask(cmd("RPUSH").arg(&pending).arg(hash)).await;
        let mut set = cmd("SET");
        set.arg(self.payload_key(hash)).arg(payload.to_cbor()).arg("EX").arg(86_400);
        let _: () = self.ask(&set).await;
        true
    }

    pub(crate) async fn mark_inflight(&self, hashes: &[Hash]) {
        for hash in hashes {
            let payload: Option<Vec<u8>> = self.ask(cmd("GET").arg(self.payload_key(hash))).await;
            if let Some(payload) = payload {
                let record = [BEFORE, &payload, BEHIND].concat();
                let _: u64 = self.ask(cmd("HSET").arg(self.key("inflight")).arg(hash).arg(record)).await;
            }
            let _: u64 = self.ask(cmd("LREM").arg(self.key("pending")).arg(1).arg(hash)).await;
        }
    }

    /// A block without any of ours: every record has missed one more, and is written again.
    pub(crate) async fn confirm_empty(&self) -> u64 {
        let inflight = self.key("inflight");
        let records: Vec<(Vec<u8>, Vec<u8>)> = self.ask(cmd("HGETALL").arg(&inflight)).await;
        for (hash, mut record) in records {
            // The misses stand last, in one byte here.
            if let Some(misses) = record.last_mut() {
                *misses = (*misses + 1) % 23;
            }
            let _: u64 = self.ask(cmd("HSET").arg(&inflight).arg(hash).arg(record)).await;
        }
        self.ask(cmd("ZCARD").arg(self.key("finalized"))).await
    }

    /// Whether it is among the finished ones.
    pub(crate) async fn check_status(&self, hash: &Hash) -> bool {
        let travels: Option<Vec<u8>> = self.ask(cmd("HGET").arg(self.key("inflight")).arg(hash)).await;
        let waits: Option<u64> = self.ask(cmd("LPOS").arg(self.key("pending")).arg(hash)).await;
        if waits.is_some() || travels.is_some() {
            return false;
        }
        let log: Vec<Vec<u8>> = self.ask(cmd("ZRANGE").arg(self.key("finalized")).arg(0).arg(-1)).await;
        log.iter().any(|entry| FinalizedEntry::from_cbor(entry).unwrap().hash.bytes() == hash)
    }

    // ── Set-up: many commands at a time ──

    /// The head of the queue.
    pub(crate) async fn head(&self, count: usize) -> Vec<Hash> {
        let head: Vec<Vec<u8>> = self.ask(cmd("LRANGE").arg(self.key("pending")).arg(0).arg(count - 1)).await;
        head.iter().map(|hash| hash.as_slice().try_into().unwrap()).collect()
    }

    async fn all(&self, count: usize, mut add: impl FnMut(&mut redis::Pipeline, usize)) {
        let numbers: Vec<usize> = (0..count).collect();
        for portion in numbers.chunks(1_000) {
            let mut pipeline = redis::pipe();
            for number in portion {
                add(&mut pipeline, *number);
            }
            pipeline.exec_async(&mut self.connection.clone()).await.unwrap();
        }
    }

    pub(crate) async fn fill_pending(&self, count: usize) {
        let hashes: Vec<Hash> = (0..count).map(|_| drawn()).collect();
        self.all(count, |pipeline, at| {
            pipeline.cmd("RPUSH").arg(self.key("pending")).arg(&hashes[at]).ignore();
            let key = self.payload_key(&hashes[at]);
            pipeline.cmd("SET").arg(key).arg(payload().to_cbor()).arg("EX").arg(86_400).ignore();
        })
        .await;
    }

    pub(crate) async fn fill_inflight(&self, count: usize) {
        self.all(count, |pipeline, _| {
            let record = [BEFORE, &payload().to_cbor(), BEHIND].concat();
            pipeline.cmd("HSET").arg(self.key("inflight")).arg(&drawn()).arg(record).ignore();
        })
        .await;
    }

    pub(crate) async fn fill_finalized(&self, count: usize) -> Vec<Hash> {
        let hashes: Vec<Hash> = (0..count).map(|_| drawn()).collect();
        self.all(count, |pipeline, at| {
            // [hash, finalized, 6 confirmations, 0 misses, point, payload]
            let mut entry = vec![0x86, 0x58, 0x20];
            entry.extend_from_slice(&hashes[at]);
            entry.extend_from_slice(&[0x82, 0x00, 0x80, 0x06, 0x00, 0x58, 0x28]);
            entry.extend_from_slice(&[7; 40]);
            entry.extend_from_slice(&payload().to_cbor());
            pipeline.cmd("ZADD").arg(self.key("finalized")).arg(at + 1).arg(entry).ignore();
        })
        .await;
        hashes
    }
}

/// Receives them, many at a time, with the pool of connections or all with one.
pub(crate) async fn receive(seed: &Seed, txs: Vec<(Hash, Payload)>, pooled: bool) {
    let mut tasks = Vec::new();
    let mut txs = txs.into_iter();
    let share = txs.len().div_ceil(TASKS);
    for _ in 0..TASKS {
        let (seed, share) = (seed.clone(), txs.by_ref().take(share).collect::<Vec<_>>());
        tasks.push(tokio::spawn(async move {
            for (hash, payload) in &share {
                let is_new = match pooled {
                    true => seed.receive_pooled(hash, payload).await,
                    false => seed.receive(hash, payload).await,
                };
                assert!(is_new, "it is new");
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
}
