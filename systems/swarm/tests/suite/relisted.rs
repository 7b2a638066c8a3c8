//! Checkpoints whose list is lost: they are listed anew from themselves.

use keyplane_swarm::keys::{CheckpointId, Keyspace};
use keyplane_swarm::state::{CheckpointOptions, From, OpError};
use keyplane_swarm::{SwarmId, Swarms};
use keyplane_testing::{Place, every_store};

use crate::recover::lose;
use crate::setup::{
    agent_id, keys_of, naming, new_agent, new_task, running, swarm_id, swarms, task_id, view,
};

const WEEK: &str = "604800";

fn keyspace(place: &Place) -> Keyspace {
    Keyspace::new(naming(place)).unwrap()
}

async fn save(swarms: &Swarms, swarm: &SwarmId) -> CheckpointId {
    let made = swarms.checkpoint(swarm, &CheckpointOptions::default(), "test").await.unwrap();
    CheckpointId::new(made.id).unwrap()
}

/// Only what the seed names is left.
fn lose_list(place: &Place, swarm: &SwarmId) {
    let list = keyspace(place).checkpoints(swarm);
    let deleted: i64 = place.raw(list.as_str(), &["DEL", list.as_str()]);
    assert_eq!(deleted, 1);
}

/// With the seed's fields, and no state.
fn write_by_hand(place: &Place, swarm: &SwarmId) -> String {
    let id = CheckpointId::from_store("checkpoint_phase1").unwrap();
    let key = keyspace(place).recovery(swarm, &id);
    let hash = "ab".repeat(32);
    let fields = ["timestamp", "2025-01-08T10:30:00Z", "phase", "phase_implement", "confidence", "0.85"];
    let words = [&["HSET", key.as_str()][..], &fields, &["stateHash", &hash]].concat();
    let _: i64 = place.raw(key.as_str(), &words);
    let _: i64 = place.raw(key.as_str(), &["EXPIRE", key.as_str(), WEEK]);
    id.to_string()
}

async fn ids(swarms: &Swarms, swarm: &SwarmId) -> Vec<String> {
    swarms.checkpoints(swarm).await.unwrap().into_iter().map(|one| one.id).collect()
}

#[every_store(except(unix, tls))]
async fn a_swarm_comes_back_from_its_checkpoints_alone(place: Place) {
    let swarms = swarms(&place).await;
    let swarm = running(&swarms, 2).await;
    let another = running(&swarms, 1).await;
    save(&swarms, &another).await;
    let first = save(&swarms, &swarm).await;
    swarms.create_task(&swarm, &new_task(1, &[]), "test").await.unwrap();
    let second = save(&swarms, &swarm).await;
    swarms.pin(&swarm, &first, true).await.unwrap();
    lose(&place, &swarm);
    lose_list(&place, &swarm);
    let by_hand = write_by_hand(&place, &swarm);

    let elsewhere = self::swarms(&place).await;
    let done = elsewhere.recover(&swarm, From::Newest, false, "test").await.unwrap();
    assert_eq!(done.checkpoint.unwrap().0, second.to_string());
    let [(passed_over, why)] = &done.passed_over[..] else { panic!("{:?}", done.passed_over) };
    assert_eq!(*passed_over, by_hand);
    assert!(why.contains("no state"), "{why}");
    let seen = view(&swarms, &swarm).await;
    assert_eq!((seen.status(), seen.agents.len(), seen.tasks.len()), ("running", 2, 1));

    assert_eq!(ids(&swarms, &swarm).await, [first.to_string(), second.to_string(), by_hand]);
    swarms.export(&swarm, &second).await.unwrap();
    let list = keyspace(&place).checkpoints(&swarm);
    let lives = || -> i64 { place.raw(list.as_str(), &["TTL", list.as_str()]) };
    assert_eq!(lives(), -1, "one is pinned");
    swarms.pin(&swarm, &first, false).await.unwrap();
    assert!(lives() > 0);
    // Numbers go on behind the last one.
    let made = swarms.checkpoint(&swarm, &CheckpointOptions::default(), "test").await.unwrap();
    assert_eq!((made.seq, made.parent), (4, None));
}

#[every_store(except(unix, tls))]
async fn a_checkpoint_without_a_state_is_listed_and_not_recovered_from(place: Place) {
    let swarms = swarms(&place).await;
    let gone = swarm_id();
    let by_hand = write_by_hand(&place, &gone);
    let listed = swarms.checkpoints(&gone).await.unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!((listed[0].confidence, listed[0].at.as_str()), (0.85, "2025-01-08T10:30:00Z"));
    let refused = swarms.recover(&gone, From::Newest, false, "test").await;
    assert!(
        matches!(&refused, Err(OpError::Damaged { checkpoint, .. }) if *checkpoint == by_hand),
        "{refused:?}"
    );

    let live = running(&swarms, 1).await;
    let by_hand = write_by_hand(&place, &live);
    let done = swarms.recover(&live, From::Newest, false, "test").await.unwrap();
    assert_eq!(done.checkpoint, None);
    assert_eq!(done.passed_over.iter().map(|(id, _)| id).collect::<Vec<_>>(), [&by_hand]);
}

#[every_store(except(unix, tls))]
async fn a_running_swarm_goes_on_saving_when_its_list_is_lost(place: Place) {
    let swarms = swarms(&place).await;
    let swarm = running(&swarms, 1).await;
    save(&swarms, &swarm).await;
    swarms.register(&swarm, &new_agent(1), "test").await.unwrap();
    save(&swarms, &swarm).await;
    lose_list(&place, &swarm);
    swarms.create_task(&swarm, &new_task(1, &[]), "test").await.unwrap();
    let made = swarms.checkpoint(&swarm, &CheckpointOptions::default(), "test").await.unwrap();
    assert_eq!((made.seq, made.records), (3, 4), "a header, two agents, a task");
    let state = swarms.load_newest(&swarm).await.unwrap().unwrap().state;
    for name in [format!("agents:{}", agent_id(1)), format!("tasks:{}", task_id(1))] {
        assert!(state.get(&name).is_some(), "{name}");
    }
    assert_eq!(ids(&swarms, &swarm).await.len(), 3);
}

/// A later increment would stand on records that never came back.
#[every_store(except(unix, tls))]
async fn the_first_checkpoint_after_all_was_lost_is_a_full_one(place: Place) {
    let swarms = swarms(&place).await;
    let swarm = running(&swarms, 1).await;
    let first = save(&swarms, &swarm).await;
    swarms.register(&swarm, &new_agent(1), "test").await.unwrap();
    save(&swarms, &swarm).await;
    lose(&place, &swarm);
    swarms.recover(&swarm, From::Checkpoint(first), false, "test").await.unwrap();
    let made = swarms.checkpoint(&swarm, &CheckpointOptions::default(), "test").await.unwrap();
    assert_eq!((made.parent, made.records), (None, 2), "a header, an agent");
    let agents = keys_of(&place, &swarm).into_iter().filter(|key| key.contains(":agents:")).count();
    assert_eq!(agents, 1);
}
