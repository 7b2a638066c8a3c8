//! Values that are larger than their field may be.

use keyplane_swarm::keys::{MemoryId, MemoryType};
use keyplane_swarm::state::{CheckpointOptions, Claimed, From, MOST_VALUE, OpError};
use keyplane_testing::{Place, every_store};

use crate::loops::{found, memory};
use crate::setup::{agent_id, new_task, running, swarms};

/// The most that a result may take.
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
    for (large, measured) in [(noise(700_000), RESULT), ("x".repeat(MOST_VALUE + 1), MOST_VALUE)] {
        let refused = swarms.complete_task(&claim, &large).await;
        assert!(matches!(refused, Err(OpError::TooLarge { most, .. }) if most == measured), "{refused:?}");
        let refused = swarms.put_memory(&swarm, &memory("mem_too_large", &large, &[])).await;
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
