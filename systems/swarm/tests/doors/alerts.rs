//! Each alert, brought about on a real server.

use std::collections::HashMap;
use std::time::Duration;

use keyplane_http::{Alert, Panel as _};
use keyplane_key::Naming;
use keyplane_store::{Options, Store};
use keyplane_swarm::api::{Api, Desk};
use keyplane_swarm::keys::{Keyspace, MemoryId, MemoryType};
use keyplane_swarm::model::{Mode, Strategy};
use keyplane_swarm::run::{Keeper, Pace};
use keyplane_swarm::state::{NewMemory, NewSwarm, SwarmChange};
use keyplane_swarm::{AgentId, Settings, SwarmId, Swarms};
use keyplane_testing::{Program, Server, VirtualServer, until};

const SECOND: Duration = Duration::from_secs(1);

async fn swarms(url: &str, options: Options) -> Swarms {
    swarms_on(&Store::open(url, options).await.unwrap())
}

fn swarms_on(store: &Store) -> Swarms {
    Swarms::new(store, Naming::new("", false).unwrap(), Settings::default()).unwrap()
}

async fn created(swarms: &Swarms) -> SwarmId {
    let objective = r#"{"description":"Log people in","type":"feature","priority":"high"}"#.to_owned();
    let id = SwarmId::new("swarm_abc123def456").unwrap();
    let (strategy, mode) = (Strategy::Development, Mode::Hierarchical);
    swarms.create(&NewSwarm { id: id.clone(), strategy, mode, objective }, "test").await.unwrap();
    id
}

/// Names of those that fire.
async fn firing(api: &Api) -> Vec<String> {
    let firing = api.alerts().await.into_iter().filter(|alert: &Alert| alert.firing);
    firing.map(|alert| alert.name).collect()
}

/// On the clocks of this process alone.
async fn pass(lasts: Duration) {
    tokio::time::pause();
    tokio::time::advance(lasts).await;
    tokio::time::resume();
}

fn redis() -> Server {
    Server::start(Program::Redis, &keyplane_testing::Settings::tcp())
}

#[tokio::test]
async fn memory_expirations_and_absence_are_told() {
    let server = redis();
    let api = Api::new(Desk::new(swarms(&server.url(), Options::default()).await));
    assert_eq!(firing(&api).await, [""; 0]);
    let mut admin = server.admin();
    for number in 0..5000 {
        let key = format!("passing:{number}");
        redis::cmd("SET").arg(key).arg(1).arg("PX").arg(1).exec(&mut admin).unwrap();
    }
    until("they have run out", || {
        let left: u64 = redis::cmd("DBSIZE").query(&mut admin).unwrap();
        if left == 0 { Ok(()) } else { Err(left.to_string()) }
    });
    assert_eq!(firing(&api).await, ["expirations_high"]);
    assert_eq!(firing(&api).await, [""; 0], "no more since");

    let info: String = redis::cmd("INFO").arg("memory").query(&mut admin).unwrap();
    let used = info.lines().find_map(|line| line.strip_prefix("used_memory:")).unwrap();
    let most = used.trim().parse::<u64>().unwrap() * 11 / 10;
    redis::cmd("CONFIG").arg("SET").arg("maxmemory").arg(most).exec(&mut admin).unwrap();
    assert_eq!(firing(&api).await, ["memory_high"]);
    server.kill();
    assert_eq!(firing(&api).await, ["store_away"]);
}

#[tokio::test]
async fn slow_writes_and_an_exhausted_pool_are_told() {
    let server = redis();
    let mut options = Options::default();
    (options.pool_size, options.command_timeout) = (2, 2 * SECOND);
    let store = Store::open(&server.url(), options).await.unwrap();
    let swarms = swarms_on(&store);
    let api = Api::new(Desk::new(swarms.clone()));
    let swarm = created(&swarms).await;
    let surely = SwarmChange { confidence: Some(0.5), ..SwarmChange::default() };
    swarms.update(&swarm, &surely, "test").await.unwrap();
    assert_eq!(firing(&api).await, [""; 0]);
    server.freeze();
    let thawing = async {
        tokio::time::sleep(SECOND / 5).await;
        server.thaw();
    };
    let (slow, ()) = tokio::join!(swarms.update(&swarm, &surely, "test"), thawing);
    slow.unwrap();
    assert_eq!(firing(&api).await, ["writes_slow"]);
    // It is told for a minute or two, and then no more.
    for _ in 0..2 {
        assert_eq!(firing(&api).await, ["writes_slow"]);
        pass(61 * SECOND).await;
        firing(&api).await;
    }
    assert_eq!(firing(&api).await, [""; 0]);
    // A read is no write, however long it takes.
    server.freeze();
    let thawing = async {
        tokio::time::sleep(SECOND / 5).await;
        server.thaw();
    };
    let (slow, ()) = tokio::join!(swarms.read(&swarm), thawing);
    slow.unwrap();
    assert_eq!(firing(&api).await, [""; 0]);

    // One connection for those that cannot share, and two that cannot.
    let contract = keyplane_store::contract(Keyspace::SOURCE).unwrap();
    let handle = store.as_component(&contract, "monitor", &HashMap::new()).unwrap();
    let events = Keyspace::default().events(&swarm);
    let held = handle.dedicated(&events).await.unwrap();
    assert!(handle.dedicated(&events).await.is_err());
    drop(held);
    assert!(firing(&api).await.contains(&"pool_exhausted".to_owned()));
}

#[tokio::test]
async fn a_large_swarm_is_told() {
    let server = redis();
    let swarms = swarms(&server.url(), Options::default()).await;
    let swarm = created(&swarms).await;
    for number in 0..15 {
        // Nothing that gets much smaller.
        let content: String = (0..90_000).map(|_| fastrand::alphanumeric()).collect();
        let memory = NewMemory {
            kind: MemoryType::Knowledge,
            id: MemoryId::new(format!("mem_{number:08}")).unwrap(),
            agent: AgentId::new("agent_dev00001").unwrap(),
            content: format!("\"{content}\""),
            tags: [].into(),
        };
        swarms.put_memory(&swarm, &memory).await.unwrap();
    }
    let keeper = Keeper::start(swarms.clone(), Pace::default());
    let api = Api::beside(Desk::new(swarms), &keeper);
    while keeper.counters().saved.get() == 0 {
        tokio::time::sleep(SECOND / 50).await;
    }
    assert_eq!(firing(&api).await, ["state_large"]);
    keeper.stop().await;
}

#[tokio::test]
async fn a_swarm_that_runs_out_before_its_end_pages() {
    let Some(server) = VirtualServer::start_or_skip("alerts::a_swarm_that_runs_out_before_its_end_pages")
    else {
        return;
    };
    let swarms = swarms(&server.url(), Options::default()).await;
    created(&swarms).await;
    let mut pace = Pace::default();
    pace.reconcile = SECOND / 20;
    let keeper = Keeper::start(swarms.clone(), pace);
    let api = Api::beside(Desk::new(swarms.clone()), &keeper);
    while swarms.counts().await.unwrap().is_empty() {
        tokio::time::sleep(SECOND / 50).await;
    }
    assert_eq!(firing(&api).await, [""; 0]);
    server.advance(Duration::from_secs(3601));
    while keeper.counters().expired.get() == 0 {
        tokio::time::sleep(SECOND / 50).await;
    }
    let alerts = api.alerts().await;
    let paged = alerts.iter().find(|alert| alert.name == "swarm_expired").unwrap();
    assert!(paged.firing && paged.message.starts_with("1 swarms ran out"), "{paged:?}");
    assert_eq!(paged.severity, keyplane_http::Severity::Page);
    keeper.stop().await;
    // A process that was not there then, and one that keeps nothing, page as well, for an hour.
    drop(api);
    let api = Api::new(Desk::new(self::swarms(&server.url(), Options::default()).await));
    assert_eq!(firing(&api).await, ["swarm_expired"]);
    server.advance(Duration::from_secs(3500));
    assert_eq!(firing(&api).await, ["swarm_expired"]);
    server.advance(Duration::from_secs(101));
    assert_eq!(firing(&api).await, [""; 0]);
    assert_eq!(swarms.lost().await.unwrap().count, 1);
}
