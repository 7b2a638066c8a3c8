//! What is said before a pool is used at all.

use keyplane_mempool::{Config, Mempool};
use keyplane_store::fitness::Concern;
use keyplane_store::{Options, Store};
use keyplane_testing::{Program, Server, Settings};

use crate::setup::settings;

type Change = fn(&mut Config);

#[tokio::test]
async fn what_no_pool_can_work_by_is_refused() {
    let none: [(Change, &str); 4] = [
        (|config| config.watcher_lock_ttl = 0, "watcher_lock_ttl is 0: nobody could hold the lock"),
        (
            |config| config.thresholds.finalize = 0,
            "thresholds.finalize is 0: a transaction would be final before a block holds it",
        ),
        (
            |config| config.thresholds.drop = 0,
            "thresholds.drop is 0: a transaction would be given up as soon as it is offered",
        ),
        (
            |config| config.max_finalized = 0,
            "max_finalized is 0: what is final would be forgotten, and accepted again",
        ),
    ];
    for (change, told) in none {
        let mut config = Config::default();
        change(&mut config);
        assert_eq!(Mempool::open(&config).await.unwrap_err().to_string(), told);
    }
    Mempool::open(&Config::default()).await.unwrap().stop().await;
}

/// Of a server that drops keys when its memory is full: which policy, what is lost, and what to do.
#[tokio::test]
async fn a_server_that_drops_keys_is_told_of() {
    let policy = |name: &str| Settings::tcp().line(&format!("maxmemory-policy {name}"));
    let cases = [
        (policy("allkeys-lru"), "the policy is allkeys-lru, and only because maxmemory is 0"),
        (policy("volatile-ttl").maxmemory("100mb"), "volatile-ttl drops keys when memory is full"),
    ];
    let mut options = Options::default();
    options.accept = vec![Concern::Eviction];
    for (settings_of_server, told) in cases {
        let server = Server::start(Program::Redis, &settings_of_server);
        let store = Store::open(&server.url(), options.clone()).await.unwrap();
        let naming = keyplane_key::Naming::new("dolos:mempool", false).unwrap();
        let id = "00000000-0000-4000-8000-000000000001";
        let pool = keyplane_mempool::Pool::new(&store, naming, id, settings()).unwrap();
        let [server] = pool.evicting() else { panic!("{:?}", pool.evicting()) };
        let text = server.to_string();
        assert!(text.contains(told) && text.contains("CONFIG SET maxmemory-policy noeviction"), "{text}");
    }
    let server = Server::start(Program::Redis, &Settings::tcp());
    let store = Store::open(&server.url(), options).await.unwrap();
    let naming = keyplane_key::Naming::new("dolos:mempool", false).unwrap();
    let id = "00000000-0000-4000-8000-000000000001";
    assert_eq!(keyplane_mempool::Pool::new(&store, naming, id, settings()).unwrap().evicting(), []);
}
