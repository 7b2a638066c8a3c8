//! Values that are larger than their field may be.

use keyplane_swarm::keys::{CheckpointId, MemoryId, MemoryType};
use keyplane_swarm::state::{CheckpointOptions, Claim, Claimed, From, MOST_VALUE, OpError};
use keyplane_swarm::{SwarmId, Swarms};
use keyplane_testing::{Place, every_store};

use crate::loops::{found, memory};
use crate::recover::lose;
use crate::setup::{agent_id, keys_of, new_task, running, swarm_id, swarms};

/// The most that a result may take in its task's key.
const RESULT: usize = 400 * 1024;

/// What no codec makes much smaller.
fn noise(length: usize) -> String {
    let mut rng = fastrand::Rng::with_seed(1);
    format!("\"{}\"", (0..length).map(|_| rng.alphanumeric()).collect::<String>())
}

/// What fits only when it is packed is packed, saved and recovered so, and read as it was put in.
#[every_store(except(unix, tls))]
async fn what_is_large_is_kept_packed_and_what_is_too_large_even_so_is_refused(place: Place) {
    let swarms = swarms(&place).await;
    let swarm = running(&swarms, 1).await;
    let large = format!("[{}1]", r#""the same again","#.repeat(50_000));
    swarms.put_memory(&swarm, &memory("mem_is_large", &large, &["frontend"])).await.unwrap();
    swarms.create_task(&swarm, &new_task(1, &[]), "test").await.unwrap();
    let Claimed::Task(claim) = swarms.claim(&swarm, &agent_id(0)).await.unwrap() else { panic!("nothing") };
    let too_large = "x".repeat(MOST_VALUE + 1);
    let refused = swarms.complete_task(&claim, &too_large).await;
    assert!(matches!(refused, Err(OpError::TooLarge { most: MOST_VALUE, .. })), "{refused:?}");
    for too_large in [too_large, noise(700_000)] {
        let refused = swarms.put_memory(&swarm, &memory("mem_too_large", &too_large, &[])).await;
        assert!(matches!(refused, Err(OpError::TooLarge { .. })), "{refused:?}");
    }
    swarms.complete_task(&claim, &large).await.unwrap();
    let id = MemoryId::new("mem_too_large").unwrap();
    assert_eq!(swarms.memory(&swarm, MemoryType::Knowledge, &id).await.unwrap(), None);

    swarms.checkpoint(&swarm, &CheckpointOptions::default(), "test").await.unwrap();
    let task_key = format!("swarm:{swarm}:tasks:{}", claim.task);
    let kept: i64 = place.raw(&task_key, &["HSTRLEN", &task_key, "result"]);
    assert!(large.len() > RESULT && kept < 10_000, "{kept}");
    let _: i64 = place.raw(&task_key, &["DEL", &task_key]);
    swarms.recover(&swarm, From::Newest, false, "test").await.unwrap();
    assert_eq!(found(&swarms, &swarm, &["frontend"]).await, [large.as_str()]);
    assert_eq!(swarms.task(&swarm, &claim.task).await.unwrap()["result"], large);
}

async fn claimed(swarms: &Swarms, swarm: &SwarmId) -> Claim {
    swarms.create_task(swarm, &new_task(1, &[]), "test").await.unwrap();
    let claimed = swarms.claim(swarm, &agent_id(0)).await.unwrap();
    let Claimed::Task(claim) = claimed else { panic!("nothing to claim") };
    claim
}

/// The keys of the pieces that a swarm has.
async fn pieces(swarms: &Swarms, swarm: &SwarmId) -> Vec<String> {
    let keys = swarms.keys(swarm).await.unwrap().into_iter();
    keys.filter(|held| held.family == "blob").map(|held| held.key).collect()
}

#[every_store(except(unix, tls))]
async fn a_result_without_room_is_kept_in_pieces_that_go_wherever_its_task_goes(place: Place) {
    let swarms = swarms(&place).await;
    let swarm = running(&swarms, 1).await;
    let (claim, large) = (claimed(&swarms, &swarm).await, noise(700_000));
    // What comes after it is an increment.
    swarms.checkpoint(&swarm, &CheckpointOptions::default(), "test").await.unwrap();
    swarms.complete_task(&claim, &large).await.unwrap();
    let result = async |swarm: &SwarmId| swarms.task(swarm, &claim.task).await.unwrap()["result"].clone();
    assert_eq!(result(&swarm).await, large);
    let kept = pieces(&swarms, &swarm).await;
    assert_eq!(kept.len(), 2, "{kept:?}");
    for key in &kept {
        let held: i64 = place.raw(key, &["HSTRLEN", key, "piece"]);
        assert!(held <= RESULT as i64, "{held}");
    }

    let held = swarms.keys(&swarm).await.unwrap();
    let lives = |family: &str| held.iter().filter(|held| held.family == family).map(|held| held.lives).min();
    assert!(lives("blob") > lives("swarm"), "{held:?}");

    let made = swarms.checkpoint(&swarm, &CheckpointOptions::default(), "test").await.unwrap();
    lose(&place, &swarm);
    let recovered = swarms.recover(&swarm, From::Newest, false, "test").await.unwrap();
    assert_eq!((recovered.restored["blob"], recovered.known), (2, recovered.verified));
    assert_eq!(result(&swarm).await, large);
    let fork = swarm_id();
    swarms.fork(&swarm, &CheckpointId::new(made.id).unwrap(), &fork, "test").await.unwrap();
    assert_eq!(result(&fork).await, large);
    // Without all of its result a task is not as it should be, nor is the piece, where that is nowhere.
    let gone = pieces(&swarms, &fork).await.remove(0);
    let _: i64 = place.raw(&gone, &["DEL", &gone]);
    let planned = swarms.recover(&fork, From::Newest, true, "test").await.unwrap();
    assert_eq!(planned.known, planned.verified + 2);

    // One that is lost, or another's, is not passed over in silence.
    let reference = |shown: String| shown.starts_with("{\"blob\":") && shown.ends_with("\"size\":700002}");
    let _: i64 = place.raw(&kept[1], &["DEL", &kept[1]]);
    assert!(reference(result(&swarm).await));
    let planned = swarms.recover(&swarm, From::Newest, true, "test").await.unwrap();
    assert_eq!((planned.restored.get("blob"), planned.known), (Some(&1), planned.verified));
    swarms.recover(&swarm, From::Newest, false, "test").await.unwrap();
    assert_eq!(result(&swarm).await, large);
    let _: i64 = place.raw(&kept[1], &["HSET", &kept[1], "piece", "nothing of the kind"]);
    assert!(reference(result(&swarm).await));

    swarms.complete(&swarm, "test").await.unwrap();
    swarms.checkpoint(&swarm, &CheckpointOptions::default(), "test").await.unwrap();
    swarms.remove(&swarm).await.unwrap();
    let left = keys_of(&place, &swarm);
    assert!(!left.iter().any(|key| kept.contains(key)), "{left:?}");
}

#[every_store(except(unix, tls))]
async fn who_does_not_hold_the_task_keeps_no_pieces_for_it(place: Place) {
    let swarms = swarms(&place).await;
    let swarm = running(&swarms, 1).await;
    let claim = claimed(&swarms, &swarm).await;
    let mut late = claim.clone();
    late.fence -= 1;
    let refused = swarms.complete_task(&late, &noise(700_000)).await;
    assert!(matches!(refused, Err(OpError::Lost { .. })), "{refused:?}");
    let (none, records): (Vec<String>, String) = (Vec::new(), format!("swarm:{swarm}:records"));
    assert_eq!(pieces(&swarms, &swarm).await, none);
    assert!(!keys_of(&place, &swarm).contains(&records));
    // What refers to pieces that there are not is what somebody has put in.
    let looks = format!(r#"{{"blob":"{}","chunks":1,"size":7}}"#, "ab".repeat(32));
    swarms.complete_task(&claim, &looks).await.unwrap();
    assert_eq!(swarms.task(&swarm, &claim.task).await.unwrap()["result"], looks);
    let recovered = swarms.recover(&swarm, From::Newest, true, "test").await.unwrap();
    assert_eq!(recovered.known, recovered.verified);
}
