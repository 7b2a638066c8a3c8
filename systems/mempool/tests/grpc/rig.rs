//! A node with its gRPC door, and the client.

use std::future::Future;
use std::time::Duration;

use keyplane_http::{Ended, Listen, Server, Token};
use keyplane_key::Naming;
use keyplane_mempool::api::Grpc;
use keyplane_mempool::keys::Keyspace;
use keyplane_mempool::model::Thresholds;
use keyplane_mempool::{Block, BlockHash, ChainEvent, Node, Point, Pool, Settings, TxHash};
use keyplane_store::{Options, Store};
use keyplane_testing::{Place, until};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tonic::{Code, Status};
use utxorpc::spec::submit::Stage;
use utxorpc::{CardanoSubmitClient, ClientBuilder, Error, TxEvent, TxEventStream};

/// What has not come by then does not come.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct Rig {
    pub(crate) place: Place,
    pub(crate) node: Node,
    pub(crate) url: String,
    stop: oneshot::Sender<()>,
    running: JoinHandle<Ended>,
    chain: std::sync::Mutex<Option<Block>>,
}

pub(crate) fn settings() -> Settings {
    let mut settings = Settings::default();
    settings.thresholds = Thresholds { finalize: 3, drop: 2 };
    settings
}

impl Rig {
    /// On an embedded store, which is held against the contract at the end.
    pub(crate) async fn new() -> Self {
        Self::with(Place::embedded(), settings(), None).await
    }

    pub(crate) async fn with(place: Place, settings: Settings, token: Option<&str>) -> Self {
        let store = Store::open(&place.url, Options::default()).await.expect("a store");
        let naming = Naming::new(place.namespace.clone(), place.hash_tags).unwrap();
        let pool = Pool::new(&store, naming, "00000000-0000-4000-8000-000000000001", settings).unwrap();
        let lease = pool.lease().unwrap();
        let node = Node::start(pool.clone(), lease);
        let address = "127.0.0.1:0".parse().unwrap();
        let listen = match token {
            Some(token) => Listen::guarded(address, Token::new(token).unwrap()),
            None => Listen::open(address),
        };
        let server = Server::bind(listen).await.unwrap().http2();
        let url = format!("http://{}", server.local_addr());
        let (stop, stopped) = oneshot::channel::<()>();
        let running = tokio::spawn(server.run(Grpc::new(pool).routes(), async { drop(stopped.await) }));
        until("a watcher", || node.watch().fence().map(drop).ok_or_else(|| "none yet".to_owned()));
        Self { place, node, url, stop, running, chain: std::sync::Mutex::default() }
    }

    pub(crate) fn pool(&self) -> &Pool {
        self.node.pool()
    }

    pub(crate) async fn client(&self) -> CardanoSubmitClient {
        ClientBuilder::new().uri(&self.url).unwrap().build().await
    }

    /// The chain grows by a block with these.
    pub(crate) async fn block(&self, txs: &[TxHash]) -> Block {
        let below = self.chain.lock().unwrap().clone();
        let drawn: [u8; 32] = std::array::from_fn(|_| fastrand::u8(..));
        let block = Block {
            point: Point {
                slot: below.as_ref().map_or(1000, |below| below.point.slot + 20),
                hash: BlockHash::new(drawn),
            },
            height: below.as_ref().map_or(70, |below| below.height + 1),
            prev: below.map_or(BlockHash::new([1; 32]), |below| below.point.hash),
            txs: txs.to_vec(),
        };
        self.node.confirm(&ChainEvent::Forward(block.clone())).await.unwrap();
        *self.chain.lock().unwrap() = Some(block.clone());
        block
    }

    pub(crate) async fn back_to(&self, block: &Block) {
        self.node.confirm(&ChainEvent::Back { to: block.point }).await.unwrap();
        *self.chain.lock().unwrap() = Some(block.clone());
    }

    /// Pending, inflight and finished.
    pub(crate) async fn counts(&self) -> (u64, u64, u64) {
        let counts = self.pool().counts().await.unwrap();
        (counts.pending, counts.inflight, counts.finalized)
    }

    pub(crate) fn stop_serving(self) -> (Node, JoinHandle<Ended>) {
        self.stop.send(()).unwrap();
        (self.node, self.running)
    }

    /// Stops all, and holds the store against the contract.
    pub(crate) async fn finish(self) {
        let place = self.place.clone();
        place.contract(Keyspace::SOURCE);
        let (node, running) = self.stop_serving();
        running.await.unwrap();
        node.stop().await;
        tokio::task::spawn_blocking(move || place.finish()).await.unwrap();
    }
}

/// Of the kind that waits for other processes.
pub(crate) async fn soon<T>(what: &str, work: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, work).await.unwrap_or_else(|_| panic!("{what}: not within {PATIENCE:?}"))
}

/// The next message: its reference and stage.
pub(crate) async fn event(stream: &mut TxEventStream) -> (TxHash, Stage) {
    let event = soon("an event", stream.event()).await;
    let TxEvent { r#ref, stage } = event.expect("no status").expect("not the end");
    (TxHash::from_slice(&r#ref).unwrap(), stage)
}

pub(crate) fn status(error: Error) -> Status {
    match error {
        Error::GrpcError(status) => status,
        other => panic!("{other:?}"),
    }
}

pub(crate) trait Refused {
    /// The status, which has to have this code and say this.
    fn refused(self, code: Code, words: &str) -> Status;
}

impl<T> Refused for Result<T, Error> {
    fn refused(self, code: Code, words: &str) -> Status {
        self.map_err(status).refused(code, words)
    }
}

impl<T> Refused for Result<T, Status> {
    fn refused(self, code: Code, words: &str) -> Status {
        let Err(status) = self else { panic!("not refused") };
        assert_eq!(status.code(), code, "{status:?}");
        assert!(status.message().contains(words), "{words} in {status:?}");
        status
    }
}
