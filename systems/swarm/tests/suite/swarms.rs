//! Swarms as a whole.

use keyplane_kit::record::CommitError;
use keyplane_swarm::keys::{Keyspace, Status, SwarmId};
use keyplane_swarm::state::{NewSwarm, OpError, SwarmChange, Swarms};
use keyplane_testing::{Place, chosen, every_store};

use crate::setup::{naming, new_swarm, new_task, run, running, swarm_id, swarms, view};

fn to(status: Status) -> SwarmChange {
    SwarmChange { status: Some(status), ..SwarmChange::default() }
}

#[every_store(except(unix, tls))]
async fn a_swarm_is_created_once_and_lives_for_an_hour(place: Place) {
    let swarms = swarms(&place).await;
    let new = new_swarm();
    assert_eq!(swarms.read(&new.id).await.unwrap(), None);
    swarms.create(&new, "test").await.unwrap();
    let seen = view(&swarms, &new.id).await;
    assert_eq!((seen.status(), seen.version()), ("initializing", 1));
    assert_eq!(seen.field("schemaVersion"), "1.0.0");
    assert_eq!(seen.field("createdAt"), seen.field("updatedAt"));
    let key = Keyspace::new(naming(&place)).unwrap().swarm(&new.id);
    let lives: i64 = place.raw(key.as_str(), &["TTL", key.as_str()]);
    assert!((3595..=3600).contains(&lives), "{lives} s");
    let again = swarms.create(&new, "test").await;
    assert!(matches!(&again, Err(OpError::Exists { id }) if *id == new.id.to_string()), "{again:?}");
}

#[every_store(except(unix, tls))]
async fn only_legal_moves_are_made(place: Place) {
    let swarms = swarms(&place).await;
    let new = new_swarm();
    swarms.create(&new, "test").await.unwrap();
    for illegal in [Status::Paused, Status::Completed] {
        let refused = swarms.update(&new.id, &to(illegal), "test").await;
        assert!(matches!(&refused, Err(OpError::Move { from, .. }) if from == "initializing"), "{refused:?}");
    }
    for legal in [Status::Running, Status::Paused, Status::Running, Status::Failed, Status::Recovering] {
        swarms.update(&new.id, &to(legal), "test").await.unwrap();
    }
    let seen = view(&swarms, &new.id).await;
    assert_eq!((seen.status(), seen.version()), ("recovering", 6));
    let gone = swarms.update(&swarm_id(), &to(Status::Running), "test").await;
    assert!(matches!(gone, Err(OpError::NoSwarm { .. })), "{gone:?}");
}

#[every_store(except(unix, tls))]
async fn a_change_for_another_version_is_refused(place: Place) {
    let swarms = swarms(&place).await;
    let swarm = running(&swarms, 0).await;
    let sure = |expected, confidence| SwarmChange {
        expected: Some(expected),
        confidence: Some(confidence),
        ..SwarmChange::default()
    };
    swarms.update(&swarm, &sure(2, 0.5), "test").await.unwrap();
    let late = swarms.update(&swarm, &sure(2, 0.9), "test").await;
    assert!(matches!(late, Err(OpError::Conflict { found: 3, .. })), "{late:?}");
    assert_eq!(view(&swarms, &swarm).await.field("confidence"), "0.5");
}

#[every_store(except(unix, tls))]
async fn what_the_contract_does_not_allow_is_refused_by_name(place: Place) {
    let swarms = swarms(&place).await;
    let bad = NewSwarm { objective: "to win".to_owned(), ..new_swarm() };
    let refused = swarms.create(&bad, "test").await;
    let is_objective =
        matches!(&refused, Err(OpError::Field(CommitError::Field { field, .. })) if field == "objective");
    assert!(is_objective, "{refused:?}");
    let swarm = running(&swarms, 0).await;
    let too_sure = SwarmChange { confidence: Some(1.5), ..SwarmChange::default() };
    let refused = swarms.update(&swarm, &too_sure, "test").await.unwrap_err().to_string();
    assert!(refused.contains("confidence"), "{refused}");
    assert_eq!(view(&swarms, &swarm).await.version(), 2);
}

/// The original lost half of the updates that came at the same time.
#[every_store(except(unix, tls))]
async fn of_many_writers_no_update_is_lost(place: Place) {
    let swarms = swarms(&place).await;
    let swarm = running(&swarms, 0).await;
    let (writers, updates) = (chosen("KEYPLANE_TEST_WRITERS", 100), chosen("KEYPLANE_TEST_UPDATES", 20));
    let versions = written(&swarms, &swarm, writers, updates).await;
    assert_eq!(versions, (3..3 + writers * updates).collect::<Vec<_>>(), "each has a version of its own");
    assert_eq!(view(&swarms, &swarm).await.version(), 2 + writers * updates);
}

#[every_store(except(unix, tls, sentinel, cluster))]
async fn the_log_of_events_is_full_and_no_longer_than_the_contract_allows(place: Place) {
    let swarms = swarms(&place).await;
    let swarm = running(&swarms, 0).await;
    written(&swarms, &swarm, 100, 102).await;
    let key = Keyspace::new(naming(&place)).unwrap().events(&swarm);
    let kept: u64 = place.raw(key.as_str(), &["XLEN", key.as_str()]);
    assert!((9_900..=10_000).contains(&kept), "{kept} events");
}

/// The versions that so many updates of so many writers have made, in order.
async fn written(swarms: &Swarms, swarm: &SwarmId, writers: u64, updates: u64) -> Vec<u64> {
    let mut writing = tokio::task::JoinSet::new();
    for writer in 0..writers {
        let (swarms, swarm) = (swarms.clone(), swarm.clone());
        writing.spawn(async move {
            let mut versions = Vec::new();
            for update in 0..updates {
                let confidence = Some((writer * updates + update) as f64 / (writers * updates) as f64);
                let change = SwarmChange { confidence, ..SwarmChange::default() };
                versions.push(swarms.update(&swarm, &change, "test").await.unwrap().version);
            }
            versions
        });
    }
    let mut versions = Vec::new();
    while let Some(written) = writing.join_next().await {
        versions.extend(written.unwrap());
    }
    versions.sort_unstable();
    versions
}

#[every_store(except(unix, tls))]
async fn a_swarm_with_open_tasks_is_not_completed(place: Place) {
    let swarms = swarms(&place).await;
    let swarm = running(&swarms, 1).await;
    swarms.create_task(&swarm, &new_task(1, &[]), "test").await.unwrap();
    let open = swarms.complete(&swarm, "test").await;
    assert!(matches!(open, Err(OpError::Open { waiting: 1, under_way: 0 })), "{open:?}");
    let empty = new_swarm();
    swarms.create(&empty, "test").await.unwrap();
    let early = swarms.complete(&empty.id, "test").await;
    assert!(matches!(early, Err(OpError::Move { .. })), "{early:?}");
    run(&swarms, &empty.id).await;
    swarms.complete(&empty.id, "test").await.unwrap();
    assert_eq!(view(&swarms, &empty.id).await.status(), "completed");
    let over = swarms.create_task(&empty.id, &new_task(1, &[]), "test").await;
    assert!(matches!(over, Err(OpError::Over { .. })), "{over:?}");
    let before = view(&swarms, &empty.id).await;
    let sure = SwarmChange { confidence: Some(0.9), ..SwarmChange::default() };
    for change in [sure, to(Status::Completed)] {
        let over = swarms.update(&empty.id, &change, "test").await;
        assert!(matches!(&over, Err(OpError::Over { status, .. }) if status == "completed"), "{over:?}");
    }
    assert_eq!(view(&swarms, &empty.id).await.header, before.header, "nor does it live on");
}
