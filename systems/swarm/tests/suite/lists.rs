//! Indexes, and lists through them.

use std::time::Duration;

use keyplane_swarm::keys::{Keyspace, Metric, Status, Window};
use keyplane_swarm::model::AgentKind;
use keyplane_swarm::state::{Filter, NewAgent, Sample, SwarmChange};
use keyplane_swarm::{Role, SwarmId, Swarms};
use keyplane_testing::{Place, every_store};

use crate::setup::{naming, new_agent, new_swarm, running, swarms};

async fn ids(swarms: &Swarms, filter: &Filter) -> Vec<String> {
    swarms.list(filter).await.unwrap().into_iter().map(|listed| listed.id.to_string()).collect()
}

fn of_role(role: &str) -> Filter {
    Filter { role: Some(Role::new(role).unwrap()), ..Filter::default() }
}

fn of_status(status: Status) -> Filter {
    Filter { status: Some(status), ..Filter::default() }
}

#[every_store(except(unix, tls))]
async fn swarms_are_listed_by_role_status_activity_and_performance(place: Place) {
    let swarms = swarms(&place).await;
    assert_eq!(ids(&swarms, &Filter::default()).await, [""; 0], "nothing, and not a failure");
    let (first, second) = (running(&swarms, 1).await, running(&swarms, 2).await);
    let waiting = new_swarm();
    swarms.create(&waiting, "test").await.unwrap();
    // A role that nobody has heard of before.
    let wizard = NewAgent { role: Role::new("wizard").unwrap(), kind: AgentKind::Validator, ..new_agent(7) };
    swarms.register(&first, &wizard, "test").await.unwrap();
    for (swarm, latency) in [(&first, 500.0), (&second, 20.0)] {
        swarms.record_metric(swarm, Metric::Latency, &[Sample::now(latency)]).await.unwrap();
        swarms.roll_up(swarm, &[Window::V5m]).await.unwrap();
    }
    swarms.feed_touched().await.unwrap();

    let mut all = ids(&swarms, &Filter::default()).await;
    all.sort();
    let mut known = [&first, &second, &waiting.id].map(ToString::to_string);
    known.sort();
    assert_eq!(all, known);
    assert_eq!(ids(&swarms, &of_role("wizard")).await, [first.as_str()]);
    assert_eq!(ids(&swarms, &of_role("coder")).await.len(), 2);
    assert_eq!(ids(&swarms, &of_role("tester")).await, [""; 0]);
    assert_eq!(ids(&swarms, &of_status(Status::Initializing)).await, [waiting.id.as_str()]);
    assert_eq!(ids(&swarms, &of_status(Status::Completed)).await, [""; 0]);
    let best = Filter { best_in: Some(Window::V5m), ..Filter::default() };
    let ranked = swarms.list(&best).await.unwrap();
    assert_eq!(ranked.iter().map(|listed| &listed.id).collect::<Vec<_>>(), [&second, &first]);
    assert_eq!((ranked[0].score, ranked[0].agents, ranked[0].status.as_str()), (Some(100.0), 2, "running"));
    assert_eq!(ids(&swarms, &Filter { limit: Some(1), ..best }).await, [second.as_str()]);
    let fresh = Filter { active_within: Some(Duration::from_secs(60)), ..Filter::default() };
    assert_eq!(ids(&swarms, &fresh).await.len(), 3);

    swarms.complete(&second, "test").await.unwrap();
    assert_eq!(
        ids(&swarms, &of_status(Status::Running)).await,
        [first.as_str()],
        "its header has ended already"
    );
    swarms.feed_touched().await.unwrap();
    assert_eq!(ids(&swarms, &of_status(Status::Completed)).await, [second.as_str()]);
    assert_eq!(ids(&swarms, &Filter::default()).await.len(), 2);
}

#[every_store(except(unix, tls))]
async fn a_failed_swarm_is_active_again_when_it_recovers(place: Place) {
    let swarms = swarms(&place).await;
    let swarm = running(&swarms, 1).await;
    for (status, active) in [(Status::Failed, 0), (Status::Recovering, 1)] {
        let change = SwarmChange { status: Some(status), ..SwarmChange::default() };
        swarms.update(&swarm, &change, "test").await.unwrap();
        swarms.feed_touched().await.unwrap();
        assert_eq!(ids(&swarms, &Filter::default()).await.len(), active, "{status}");
        assert_eq!(ids(&swarms, &of_status(status)).await, [swarm.as_str()]);
    }
}

/// Whatever has become of the indexes, they are what the swarms say.
#[every_store(except(unix, tls))]
async fn an_index_that_is_absent_is_rebuilt_before_it_is_read(place: Place) {
    let swarms = swarms(&place).await;
    let swarm = running(&swarms, 1).await;
    swarms.feed_touched().await.unwrap();
    let keys = Keyspace::new(naming(&place)).unwrap();
    let role = keys.index_agents(&Role::new("coder").unwrap());
    for gone in [
        vec![role.as_str().to_owned()],
        vec![keys.index_active().as_str().to_owned(), keys.index_status(Status::Running).as_str().to_owned()],
    ] {
        for key in gone.iter().flat_map(|key| [key.clone(), format!("{key}:feed")]) {
            place.raw::<i64>(&key, &["DEL", &key]);
        }
        let another = swarms.clone();
        let (one, two) = tokio::join!(async { ids(&swarms, &of_role("coder")).await }, async {
            ids(&another, &of_status(Status::Running)).await
        });
        assert_eq!((one, two), (vec![swarm.to_string()], vec![swarm.to_string()]));
    }
}

/// As the seed's transaction does it: past all indexes.
#[every_store(except(unix, tls))]
async fn a_status_that_is_typed_is_listed_after_the_next_reconcile(place: Place) {
    let swarms = swarms(&place).await;
    let keys = Keyspace::new(naming(&place)).unwrap();
    let new = new_swarm();
    swarms.create(&new, "test").await.unwrap();
    swarms.feed_touched().await.unwrap();
    assert_eq!(ids(&swarms, &of_status(Status::Initializing)).await, [new.id.as_str()]);
    let key = keys.swarm(&new.id);
    let typed = |status: &str| place.raw::<i64>(key.as_str(), &["HSET", key.as_str(), "status", status]);
    let indexed = |status: Status| {
        let index = keys.index_status(status);
        let words = ["SISMEMBER", index.as_str(), new.id.as_str()];
        place.raw::<i64>(index.as_str(), &words) == 1
    };
    typed("running");
    assert_eq!(swarms.reconcile().await.unwrap().corrected, 1);
    assert_eq!(ids(&swarms, &of_status(Status::Running)).await, [new.id.as_str()]);
    assert!(indexed(Status::Running) && !indexed(Status::Initializing));
    // What has ended by hand is active no longer, and nobody is paged for it.
    typed("completed");
    swarms.reconcile().await.unwrap();
    assert_eq!(ids(&swarms, &Filter::default()).await, [""; 0]);
    assert!(indexed(Status::Completed) && !indexed(Status::Running));
    typed("running");
    swarms.reconcile().await.unwrap();
    assert_eq!(ids(&swarms, &Filter::default()).await, [new.id.as_str()]);
    let done = swarms.reconcile().await.unwrap();
    assert_eq!((done.corrected, done.removed, done.expired), (0, 0, 0), "at rest");
}

#[every_store(except(unix, tls))]
async fn roles_that_are_typed_are_listed_after_the_next_reconcile(place: Place) {
    let swarms = swarms(&place).await;
    let keys = Keyspace::new(naming(&place)).unwrap();
    let swarm = running(&swarms, 1).await;
    swarms.feed_touched().await.unwrap();
    let roster = keys.roster(&swarm);
    let line = "idle|0|||wizard";
    place.raw::<i64>(roster.as_str(), &["HSET", roster.as_str(), "agent_00000000", line]);
    assert_eq!(swarms.reconcile().await.unwrap().corrected, 1);
    assert_eq!(ids(&swarms, &of_role("wizard")).await, [swarm.as_str()]);
    assert_eq!(ids(&swarms, &of_role("coder")).await, [""; 0]);
}

#[every_store(except(unix, tls))]
async fn what_is_not_told_yet_is_not_corrected(place: Place) {
    let swarms = swarms(&place).await;
    let new = new_swarm();
    swarms.create(&new, "test").await.unwrap();
    swarms.feed_touched().await.unwrap();
    let change = SwarmChange { status: Some(Status::Running), ..SwarmChange::default() };
    swarms.update(&new.id, &change, "test").await.unwrap();
    swarms.register(&new.id, &new_agent(0), "test").await.unwrap();
    assert_eq!(swarms.reconcile().await.unwrap().corrected, 0);
    assert_eq!(ids(&swarms, &of_status(Status::Running)).await, [new.id.as_str()]);
}

#[every_store(except(unix, tls))]
async fn what_is_written_by_hand_is_listed(place: Place) {
    let swarms = swarms(&place).await;
    let keys = Keyspace::new(naming(&place)).unwrap();
    let id = SwarmId::from_store("swarm123").unwrap();
    let (key, index) = (keys.swarm(&id), keys.index_active());
    let words = ["HSET", key.as_str(), "status", "running", "updatedAt", "2025-01-08T10:30:00Z"];
    place.raw::<i64>(key.as_str(), &words);
    place.raw::<i64>(key.as_str(), &["EXPIRE", key.as_str(), "3600"]);
    let listed = swarms.list(&Filter::default()).await.unwrap();
    assert_eq!(listed.iter().map(|listed| listed.id.as_str()).collect::<Vec<_>>(), ["swarm123"]);
    // Written again, once all indexes are there.
    place.raw::<i64>(key.as_str(), &["HSET", key.as_str(), "status", "paused"]);
    assert_eq!(swarms.reconcile().await.unwrap().corrected, 1);
    assert_eq!(ids(&swarms, &of_status(Status::Paused)).await, ["swarm123"]);
    assert_eq!(ids(&swarms, &of_status(Status::Running)).await, [""; 0]);
    assert_eq!(swarms.reconcile().await.unwrap().corrected, 0);
    let score: f64 = place.raw(index.as_str(), &["ZSCORE", index.as_str(), "swarm123"]);
    assert_eq!(score, 1_736_332_200.0, "the second of its last activity");
    place.raw::<i64>(key.as_str(), &["DEL", key.as_str()]);
    assert!(swarms.reconcile().await.unwrap().removed >= 2);
    assert!(swarms.list(&Filter::default()).await.unwrap().is_empty());
}
