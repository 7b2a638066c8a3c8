//! The pool for callers that do not know async.

use keyplane_mempool::{ChainEvent, Config, Stage, blocking};
use keyplane_testing::{Place, every_store};

use crate::setup::{block_on, tx};

#[every_store(except(unix, tls))]
async fn every_call_waits_for_its_answer_on_any_thread(place: Place) {
    let config = Config { url: place.url.clone(), key_prefix: place.namespace.clone(), ..Config::default() };
    if place.hash_tags {
        // A cluster's keys are named with a hash tag; whoever opens by settings has them too.
        place.contract(keyplane_mempool::keys::Keyspace::SOURCE);
    }
    // On a thread that runs async code: there the original panics.
    let pool = blocking::Mempool::open(&config).unwrap();
    use_it(&pool);
    // And on one that does not.
    std::thread::spawn(move || {
        assert!(!pool.has_pending().unwrap());
        pool.stop();
    })
    .join()
    .unwrap();
}

fn use_it(pool: &blocking::Mempool) {
    let tx = tx();
    pool.receive(&tx).unwrap();
    assert!(pool.receive(&tx).is_err());
    assert!(pool.has_pending().unwrap());
    assert_eq!(pool.peek_pending(10).unwrap()[0].hash, tx.hash);
    assert_eq!(pool.mark_inflight(&[tx.hash]).unwrap().moved, [tx.hash]);
    assert_eq!(pool.mark_acknowledged(&[tx.hash]).unwrap().moved, [tx.hash]);
    assert_eq!(pool.find_inflight(&tx.hash).unwrap().unwrap().status.stage, Stage::Acknowledged);
    assert_eq!(pool.peek_inflight(10).unwrap().len(), 1);
    let mut tip = block_on(None, &[tx.hash]);
    for _ in 0..6 {
        // It may be that it is not the watcher yet; then the block is kept, and applied when it is.
        pool.confirm(&ChainEvent::Forward(tip.clone())).unwrap();
        tip = block_on(Some(&tip), &[]);
    }
    while pool.check_status(&tx.hash).unwrap().unwrap().stage != Stage::Finalized {
        std::thread::yield_now();
    }
    assert_eq!(pool.dump_finalized(0, 10).unwrap().items[0].entry.hash, tx.hash);
    let events =
        pool.events(keyplane_kit::events::Position::Beginning, 10, std::time::Duration::ZERO).unwrap();
    let stages: Vec<_> = events.events.iter().map(|event| event.text("stage").unwrap()).collect();
    assert_eq!(stages, ["pending", "propagated", "acknowledged", "confirmed", "finalized"]);
}
