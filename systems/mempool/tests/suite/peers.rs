//! What is offered to whom.

use std::future::IntoFuture as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Bytes;
use axum::http::StatusCode;
use keyplane_mempool::model::Input;
use keyplane_mempool::ports::SubmitPeer;
use keyplane_mempool::run::propagate;
use keyplane_mempool::state::{Claimed, Pool, ReadError};
use keyplane_mempool::{Settings, Stage, TxHash};
use keyplane_testing::{Place, VirtualEngine, every_store};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::time::sleep;

use crate::relay::{Relay, Serving};
use crate::setup::{Watcher, block_on, naming, node, queue, received, settings, spending, stage, tx};
use crate::timed;

/// Takes everything out of the queue: what that was.
async fn taken_out(pool: &Pool) -> Vec<TxHash> {
    let waiting = queue(pool).await;
    pool.mark_inflight(&waiting).await.unwrap().moved
}

async fn claim(pool: &Pool, peer: &str, most: u64) -> Vec<TxHash> {
    claimed(pool.claim(&peer.parse().unwrap(), most, None).await)
}

async fn claim_again(pool: &Pool, peer: &str) -> Vec<TxHash> {
    claimed(pool.claim(&peer.parse().unwrap(), 100, Some(Duration::ZERO)).await)
}

fn claimed(claimed: Result<Claimed, ReadError>) -> Vec<TxHash> {
    claimed.unwrap().offers.iter().map(|offer| offer.hash).collect()
}

#[every_store(except(unix, tls))]
async fn a_peer_is_offered_everything_once_by_whichever_node(place: Place) {
    let (one, other) = (node(&place).await, node(&place).await);
    for _ in 0..10 {
        received(&one).await;
    }
    assert_eq!(claim(&one, "relay-1", 10).await, [], "what is in the queue is not yet to be offered");
    let all = taken_out(&other).await;
    assert_eq!(claim(&one, "relay-1", 6).await, all[..6]);
    assert_eq!(claim(&other, "relay-1", 6).await, all[6..], "the rest, and nothing twice");
    assert_eq!(claim(&one, "relay-1", 6).await, []);
    assert_eq!(claim(&one, "relay-2", 100).await, all, "another peer is offered all of it");
    // Answered or not: they were offered.
    one.answered(&"relay-1".parse().unwrap(), &all).await.unwrap();
    assert_eq!(claim(&other, "relay-1", 100).await, []);
}

#[every_store(except(unix, tls))]
async fn what_a_peer_has_not_answered_is_offered_by_the_next_in_its_order(place: Place) {
    let (one, other) = (node(&place).await, node(&place).await);
    for _ in 0..20 {
        received(&one).await;
    }
    let all = taken_out(&one).await;
    let relay = "relay-1".parse().unwrap();
    assert_eq!(claim(&one, "relay-1", 15).await, all[..15]);
    one.answered(&relay, &all[..3]).await.unwrap();
    one.give_back(&relay, &all[3..15]).await.unwrap();
    assert_eq!(claim(&other, "relay-1", 100).await, all[3..], "parents before their children");
}

#[every_store(except(unix, tls))]
async fn a_peer_that_was_away_is_offered_again_what_no_block_holds(place: Place) {
    let watcher = Watcher::new(&place).await;
    let other = node(&place).await;
    for _ in 0..4 {
        received(&watcher.pool).await;
    }
    let all = taken_out(&watcher.pool).await;
    let relay = "relay-1".parse().unwrap();
    assert_eq!(claim(&watcher.pool, "relay-1", 100).await, all);
    watcher.pool.mark_acknowledged(&all).await.unwrap();
    watcher.pool.answered(&relay, &all).await.unwrap();
    let block = block_on(None, &all[..2]);
    watcher.apply(&block).await;
    assert_eq!(claim_again(&watcher.pool, "relay-1").await, all[2..]);
    watcher.pool.answered(&relay, &all).await.unwrap();
    assert_eq!(claim_again(&other, "relay-1").await, [], "the other node finds it back too; once is enough");
    // An undone block gives its transactions back to the queue; then every peer is offered them once more.
    let below = keyplane_mempool::Point { slot: 0, hash: block.prev };
    let event = keyplane_mempool::ChainEvent::Back { to: below };
    watcher.pool.confirm(watcher.fence(), &event).await.unwrap();
    assert_eq!(stage(&watcher.pool, &all[0]).await, Some(Stage::Pending));
    assert_eq!(taken_out(&other).await, all[..2]);
    assert_eq!(claim(&other, "relay-1", 100).await, all[..2]);
    // The second peer has not been offered anything yet: in the order in which they were taken out of the queue.
    assert_eq!(claim(&other, "relay-2", 100).await, [all[2], all[3], all[0], all[1]]);
}

#[every_store(except(unix, tls))]
async fn what_is_being_offered_to_a_peer_is_not_offered_to_it_by_another_that_finds_it_back(place: Place) {
    let (one, other) = (node(&place).await, node(&place).await);
    for _ in 0..4 {
        received(&one).await;
    }
    let all = taken_out(&one).await;
    assert_eq!(claim(&one, "relay-1", 3).await, all[..3]);
    assert_eq!(claim_again(&other, "relay-1").await, all[3..], "the first three are on their way to it");
    // What is answered meanwhile is not offered again either: the peer had come back before it answered.
    one.answered(&"relay-1".parse().unwrap(), &all[..3]).await.unwrap();
    assert_eq!(claim(&other, "relay-1", 100).await, []);
}

#[every_store(except(unix, tls))]
async fn a_child_waits_while_another_node_offers_its_parent(place: Place) {
    let (one, other) = (node(&place).await, node(&place).await);
    let parent = tx();
    let child = spending(&[Input { tx: parent.hash, index: 0 }]);
    let grandchild = spending(&[Input { tx: child.hash, index: 1 }]);
    let stranger = tx();
    for tx in [&parent, &child, &grandchild, &stranger] {
        one.receive(tx).await.unwrap();
    }
    taken_out(&one).await;
    let relay = "relay-1".parse().unwrap();
    assert_eq!(claim(&one, "relay-1", 1).await, [parent.hash]);
    assert_eq!(claim(&other, "relay-1", 100).await, [stranger.hash]);
    one.give_back(&relay, &[parent.hash]).await.unwrap();
    assert_eq!(claim(&one, "relay-1", 2).await, [parent.hash, child.hash], "together they are in order");
    assert_eq!(claim(&other, "relay-1", 100).await, []);
    one.answered(&relay, &[parent.hash, child.hash]).await.unwrap();
    assert_eq!(claim(&other, "relay-1", 100).await, [grandchild.hash]);
}

/// The payload's key, as an operator would write it.
fn payload_key(place: &Place, hash: &TxHash) -> String {
    let keys = keyplane_mempool::keys::Keyspace::new(naming(place)).unwrap();
    keys.payload(&keyplane_mempool::keys::Hash::new(hash.to_string()).unwrap()).as_str().to_owned()
}

#[every_store(except(unix, tls))]
async fn what_has_lost_its_bytes_does_not_stand_in_the_way_of_what_has_not(place: Place) {
    let pool = node(&place).await;
    for _ in 0..70 {
        let key = payload_key(&place, &received(&pool).await);
        place.raw::<i64>(&key, &["DEL", &key]);
    }
    let mut whole = Vec::new();
    for _ in 0..40 {
        whole.push(received(&pool).await);
    }
    let relay = Relay::new();
    let serving = relay.served_by(&pool);
    relay.wait_for(40, Duration::from_secs(10)).await;
    serving.end().await;
    assert_eq!(relay.has(), whole);
    assert_eq!(queue(&pool).await.len(), 70, "they wait for somebody who sends them again");
}

#[every_store(except(unix, tls))]
async fn what_is_no_hash_does_not_stand_in_the_way_either(place: Place) {
    let pool = node(&place).await;
    let keys = keyplane_mempool::keys::Keyspace::new(naming(&place)).unwrap();
    let pending = keys.pending().as_str().to_owned();
    // As text, which an operator may have pushed by hand.
    place.raw::<i64>(&pending, &["RPUSH", &pending, &"ab".repeat(32)]);
    let tx = received(&pool).await;
    let relay = Relay::new();
    let serving = relay.served_by(&pool);
    relay.wait_for(1, Duration::from_secs(10)).await;
    serving.end().await;
    assert_eq!(relay.has(), [tx]);
}

/// A pool in virtual time, and a peer that has taken five of its transactions.
async fn known_to_a_peer(engine: &VirtualEngine) -> (Pool, Relay, Serving) {
    let pool = timed::pool(engine, settings()).await;
    let relay = Relay::new();
    let serving = relay.served_by(&pool);
    for _ in 0..5 {
        received(&pool).await;
    }
    relay.wait_for(5, Duration::from_secs(1)).await;
    (pool, relay, serving)
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_goes_away_twice_within_seconds_is_offered_everything_twice() {
    let engine = VirtualEngine::start(1);
    let (pool, relay, serving) = known_to_a_peer(&engine).await;
    for count in [6, 7] {
        relay.desk().is_down = true;
        received(&pool).await;
        // It is offered the new one, and does not answer.
        sleep(Duration::from_secs(1)).await;
        relay.forget();
        relay.wait_for(count, Duration::from_secs(30)).await;
        sleep(Duration::from_secs(5)).await;
    }
    serving.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_forgot_everything_while_nobody_offered_it_anything_is_told_again_in_time() {
    let engine = VirtualEngine::start(1);
    let (pool, relay, serving) = known_to_a_peer(&engine).await;
    let other = relay.served_by(&timed::pool(&engine, settings()).await);
    relay.forget();
    received(&pool).await;
    relay.wait_for(6, Duration::from_secs(180)).await;
    // What it has is repeated now and then, by one of the nodes.
    let before = relay.desk().heard.len();
    sleep(Duration::from_secs(600)).await;
    let repeated = relay.desk().heard.len() - before;
    assert!((6..=600).contains(&repeated), "{repeated}");
    serving.end().await;
    other.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_child_comes_after_its_parent_whichever_nodes_offer_them() {
    let engine = VirtualEngine::start(1);
    let nodes = [timed::pool(&engine, settings()).await, timed::pool(&engine, settings()).await];
    let relay = Relay::new();
    let mut all: Vec<TxHash> = Vec::new();
    for at in 0..96 {
        let tx = all.last().map_or_else(tx, |parent| spending(&[Input { tx: *parent, index: 0 }]));
        nodes[at % 2].receive(&tx).await.unwrap();
        all.push(tx.hash);
    }
    relay.desk().takes = Duration::from_millis(20);
    relay.desk().parents = all.windows(2).map(|pair| (pair[1], pair[0])).collect();
    let serving = [relay.served_by(&nodes[0]), relay.served_by(&nodes[1])];
    relay.wait_for(96, Duration::from_secs(30)).await;
    for serving in serving {
        serving.end().await;
    }
    assert_eq!(relay.desk().heard, all, "each once");
}

#[tokio::test(start_paused = true)]
async fn what_a_peer_refused_for_want_of_its_parent_it_is_offered_again() {
    let engine = VirtualEngine::start(1);
    let pool = timed::pool(&engine, Settings::default()).await;
    let relay = Relay::new();
    let [parent, child, never] = [received(&pool).await, received(&pool).await, received(&pool).await];
    relay.desk().parents = [(child, parent)].into();
    relay.desk().dislikes = [parent, never].into();
    let serving = relay.served_by(&pool);
    sleep(Duration::from_secs(5)).await;
    assert_eq!(relay.desk().heard, [parent, child, never]);
    // It comes to the peer in another way.
    relay.desk().has.push(parent);
    relay.wait_for(2, Duration::from_secs(10)).await;
    // What is refused for good is offered a few times, and then seldom.
    sleep(Duration::from_secs(3600)).await;
    let heard = relay.desk().heard.iter().filter(|heard| **heard == never).count();
    assert!((4..=70).contains(&heard), "{heard}");
    serving.end().await;
}

#[tokio::test(start_paused = true)]
async fn what_a_peer_fails_on_does_not_keep_the_others_from_it() {
    let engine = VirtualEngine::start(1);
    let pool = timed::pool(&engine, Settings::default()).await;
    let relay = Relay::new();
    let mut all = Vec::new();
    for _ in 0..40 {
        all.push(received(&pool).await);
    }
    relay.desk().chokes_on = [all[0], all[1], all[35]].into();
    let serving = relay.served_by(&pool);
    relay.wait_for(37, Duration::from_secs(60)).await;
    // Later ones do not wait for it either.
    for count in 38..=48 {
        sleep(Duration::from_secs(7)).await;
        received(&pool).await;
        relay.wait_for(count, Duration::from_secs(1)).await;
    }
    // It was not about the transaction.
    relay.desk().chokes_on.clear();
    relay.wait_for(51, Duration::from_secs(180)).await;
    serving.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_fails_on_all_of_them_gets_all_as_soon_as_it_is_well() {
    let engine = VirtualEngine::start(1);
    let pool = timed::pool(&engine, Settings::default()).await;
    let relay = Relay::new();
    let mut all = Vec::new();
    for _ in 0..20 {
        all.push(received(&pool).await);
    }
    relay.desk().chokes_on = all.iter().copied().collect();
    let serving = relay.served_by(&pool);
    sleep(Duration::from_secs(600)).await;
    assert!(relay.desk().heard.len() < 600, "{}", relay.desk().heard.len());
    relay.desk().chokes_on.clear();
    relay.wait_for(20, Duration::from_secs(11)).await;
    serving.end().await;
}

/// A submit endpoint that answers 500 for one transaction, and what it has taken.
async fn endpoint(bad: Vec<u8>) -> (SubmitPeer, Arc<Mutex<Vec<Vec<u8>>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let peer = format!("relay-1=http://{}/api/submit/tx", listener.local_addr().unwrap());
    let taken: Arc<Mutex<Vec<Vec<u8>>>> = Arc::default();
    let book = Arc::clone(&taken);
    let take = move |body: Bytes| async move {
        if body == bad {
            return StatusCode::INTERNAL_SERVER_ERROR;
        }
        book.lock().unwrap().push(body.to_vec());
        StatusCode::ACCEPTED
    };
    let app = axum::Router::new().route("/api/submit/tx", axum::routing::post(take));
    tokio::spawn(axum::serve(listener, app).into_future());
    (peer.parse().unwrap(), taken)
}

#[every_store(except(unix, tls))]
async fn an_endpoint_that_answers_500_for_one_takes_the_others(place: Place) {
    let pool = node(&place).await;
    let txs = [tx(), tx(), tx()];
    for tx in &txs {
        pool.receive(tx).await.unwrap();
    }
    let (peer, taken) = endpoint(txs[0].payload.bytes.clone()).await;
    let (stop, stopped) = watch::channel(false);
    let offering = tokio::spawn(propagate(pool.clone(), peer, stopped));
    while stage(&pool, &txs[2].hash).await != Some(Stage::Acknowledged) {
        sleep(Duration::from_millis(20)).await;
    }
    stop.send(true).unwrap();
    offering.await.unwrap();
    assert_eq!(*taken.lock().unwrap(), [txs[1].payload.bytes.clone(), txs[2].payload.bytes.clone()]);
    assert_eq!(stage(&pool, &txs[0].hash).await, Some(Stage::Propagated));
}
