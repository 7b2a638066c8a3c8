//! Checkpoints that are pinned, unpinned and thinned out by several at once.

use std::time::Duration;

use keyplane_kit::checkpoint::Retention;
use keyplane_swarm::keys::{CheckpointId, Keyspace};
use keyplane_swarm::state::{AgentChange, CheckpointOptions, OpError};
use keyplane_swarm::{SwarmId, Swarms};
use keyplane_testing::{Place, every_store};

use crate::setup::{agent_id, naming, running, swarms};

/// Only the newest is needed, and what is pinned.
const NOTHING: Retention =
    Retention { all_for: Duration::ZERO, then_one_each: Duration::from_secs(1_000_000_000) };

fn checkpoint(number: u64) -> CheckpointId {
    CheckpointId::new(format!("checkpoint_{number:08}")).unwrap()
}

/// A full checkpoint, which stays because it is the oldest; another, and so many increments on it; and a last full one.
async fn chain(swarms: &Swarms, increments: u64) -> SwarmId {
    let swarm = running(swarms, 1).await;
    for number in 0..=increments + 2 {
        let confidence = Some(number as f64 / 100.0);
        let change = AgentChange { confidence, ..AgentChange::default() };
        swarms.update_agent(&swarm, &agent_id(0), &change, "test").await.unwrap();
        let options =
            CheckpointOptions { full: number < 2 || number > increments + 1, ..CheckpointOptions::default() };
        swarms.checkpoint(&swarm, &options, "test").await.unwrap();
    }
    swarm
}

/// Seconds that checkpoints live, and their list.
struct Lives<'p> {
    place: &'p Place,
    swarm: SwarmId,
    keyspace: Keyspace,
}

impl<'p> Lives<'p> {
    fn of(place: &'p Place, swarm: &SwarmId) -> Self {
        Self { place, swarm: swarm.clone(), keyspace: Keyspace::new(naming(place)).unwrap() }
    }

    fn key(&self, number: u64) -> String {
        self.keyspace.recovery(&self.swarm, &checkpoint(number)).as_str().to_owned()
    }

    fn ttl(&self, key: &str) -> i64 {
        self.place.raw(key, &["TTL", key])
    }

    fn one(&self, number: u64) -> i64 {
        self.ttl(&self.key(number))
    }

    fn list(&self) -> i64 {
        self.ttl(self.keyspace.checkpoints(&self.swarm).as_str())
    }
}

/// A pin takes the end from a checkpoint before anybody who has planned to remove it comes by.
#[every_store(except(unix, tls))]
async fn what_has_no_end_is_not_removed_and_keeps_no_other(place: Place) {
    let swarms = swarms(&place).await;
    let swarm = chain(&swarms, 2).await;
    let lives = Lives::of(&place, &swarm);
    let _: i64 = place.raw(&lives.key(2), &["PERSIST", &lives.key(2)]);
    assert_eq!(swarms.prune(&swarm, NOTHING).await.unwrap(), 2, "the two that stand on it");
    let left: Vec<u64> = swarms.checkpoints(&swarm).await.unwrap().iter().map(|one| one.seq).collect();
    assert_eq!(left, [1, 2, 5]);
}

#[every_store(except(unix, tls))]
async fn what_is_pinned_while_others_are_removed_can_be_loaded(place: Place) {
    let swarms = swarms(&place).await;
    for _ in 0..10 {
        let swarm = chain(&swarms, 3).await;
        let tip = checkpoint(5);
        let (pinned, pruned) = tokio::join!(swarms.pin(&swarm, &tip, true), swarms.prune(&swarm, NOTHING));
        pruned.unwrap();
        match pinned {
            Ok(()) => drop(swarms.load(&swarm, &tip).await.unwrap()),
            Err(error) => assert!(matches!(error, OpError::Unknown { .. }), "{error}"),
        }
    }
}

#[every_store(except(unix, tls))]
async fn what_a_pinned_one_stands_on_stays_whoever_is_unpinned_meanwhile(place: Place) {
    let swarms = swarms(&place).await;
    for _ in 0..10 {
        let swarm = chain(&swarms, 2).await;
        let (lives, second, third) = (Lives::of(&place, &swarm), checkpoint(3), checkpoint(4));
        swarms.pin(&swarm, &second, true).await.unwrap();
        let both = tokio::join!(swarms.pin(&swarm, &third, true), swarms.pin(&swarm, &second, false));
        both.0.unwrap();
        both.1.unwrap();
        assert_eq!([lives.one(2), lives.one(3), lives.one(4), lives.list()], [-1; 4]);
        swarms.pin(&swarm, &second, true).await.unwrap();
        let both = tokio::join!(swarms.pin(&swarm, &second, false), swarms.pin(&swarm, &third, false));
        both.0.unwrap();
        both.1.unwrap();
        let left = [lives.one(2), lives.one(3), lives.one(4), lives.list()];
        assert!(left.iter().all(|seconds| *seconds > 0), "{left:?}");
    }
}

#[every_store(except(unix, tls))]
async fn names_of_checkpoints_that_ran_out_leave_the_list(place: Place) {
    let swarms = swarms(&place).await;
    let swarm = chain(&swarms, 1).await;
    let lives = Lives::of(&place, &swarm);
    for number in [2, 3] {
        let _: i64 = place.raw(&lives.key(number), &["DEL", &lives.key(number)]);
    }
    assert_eq!(swarms.prune(&swarm, NOTHING).await.unwrap(), 0, "none that is there");
    let list = Keyspace::new(naming(&place)).unwrap().checkpoints(&swarm);
    let named: Vec<String> = place.raw(list.as_str(), &["ZRANGE", list.as_str(), "0", "-1"]);
    assert_eq!(named, [checkpoint(1).to_string(), checkpoint(4).to_string()]);
}

#[every_store(only(embedded, redis))]
async fn what_has_a_label_is_not_thinned_out(place: Place) {
    let swarms = swarms(&place).await;
    let swarm = chain(&swarms, 2).await;
    let named =
        CheckpointOptions { label: Some("before the merge".to_owned()), ..CheckpointOptions::default() };
    let made = swarms.checkpoint(&swarm, &named, "test").await.unwrap();
    let full = CheckpointOptions { full: true, ..CheckpointOptions::default() };
    swarms.checkpoint(&swarm, &full, "test").await.unwrap();
    swarms.prune(&swarm, NOTHING).await.unwrap();
    let left: Vec<String> = swarms.checkpoints(&swarm).await.unwrap().into_iter().map(|one| one.id).collect();
    assert!(left.contains(&made.id), "{left:?}");
    swarms.load(&swarm, &CheckpointId::new(made.id).unwrap()).await.unwrap();
}
