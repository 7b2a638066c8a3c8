//! Removal of finished swarms, on every store.

use keyplane_swarm::keys::{CheckpointId, Keyspace, MemoryType, Metric, Window};
use keyplane_swarm::state::{CheckpointOptions, Filter, NewMemory, NewRound, OpError, Sample};
use keyplane_testing::{Place, every_store};

use crate::setup::{agent_id, naming, new_swarm, new_task, run, running, swarms};

#[every_store(except(unix, tls))]
async fn a_finished_swarm_goes_with_all_it_has_but_its_checkpoints(place: Place) {
    let swarms = swarms(&place).await;
    let swarm = running(&swarms, 250).await;
    swarms.create_task(&swarm, &new_task(1, &[]), "test").await.unwrap();
    let memory = NewMemory {
        kind: MemoryType::Knowledge,
        id: "mem_00000001".parse().unwrap(),
        agent: agent_id(1),
        content: "{}".to_owned(),
        tags: ["api".parse().unwrap()].into(),
    };
    swarms.put_memory(&swarm, &memory).await.unwrap();
    let round = NewRound {
        required: 0.9,
        eligible: 1,
        lasts: std::time::Duration::from_secs(60),
        phase: None,
        iteration: 0,
        most_tries: 10,
    };
    swarms.open_round(&swarm, &round, "test").await.unwrap();
    swarms.record_metric(&swarm, Metric::Latency, &[Sample::now(1.0)]).await.unwrap();
    swarms.roll_up(&swarm, Window::ALL).await.unwrap();
    let early = swarms.remove(&swarm).await;
    assert!(matches!(&early, Err(OpError::Move { from, .. }) if from == "running"), "{early:?}");

    let claimed = swarms.claim(&swarm, &agent_id(1)).await.unwrap();
    let keyplane_swarm::state::Claimed::Task(claim) = claimed else { panic!("nothing") };
    swarms.complete_task(&claim, "{}").await.unwrap();
    swarms.complete(&swarm, "test").await.unwrap();
    let unsaved = swarms.remove(&swarm).await;
    assert!(matches!(unsaved, Err(OpError::Unsaved { .. })), "{unsaved:?}");

    let keys = Keyspace::new(naming(&place)).unwrap();
    let made = swarms.checkpoint(&swarm, &CheckpointOptions::default(), "test").await.unwrap();
    let checkpoint = CheckpointId::new(made.id).unwrap();
    let (list, saved) = (keys.checkpoints(&swarm), keys.recovery(&swarm, &checkpoint));
    let another = new_swarm();
    swarms.create(&another, "test").await.unwrap();
    run(&swarms, &another.id).await;
    swarms.feed_touched().await.unwrap();
    // 250 agents, a task, a memory and its tag, a round, a series; then header, rosters, leases, values, records, events.
    let removed = swarms.remove(&swarm).await.unwrap();
    assert_eq!(removed, Some(250 + 5 + 7));
    assert!(matches!(swarms.remove(&swarm).await, Err(OpError::NoSwarm { .. })), "once");

    let left: Vec<String> = place
        .masters()
        .iter_mut()
        .flat_map(|master| -> Vec<String> {
            redis::cmd("KEYS").arg(format!("*{swarm}*")).query(master).unwrap()
        })
        .filter(|key| key.starts_with(&place.namespace))
        .collect();
    let mut left: Vec<&str> = left.iter().map(String::as_str).collect();
    left.sort_unstable();
    let outbox = format!("{}:outbox", keys.swarm(&swarm).as_str());
    let mut kept = [list.as_str(), saved.as_str(), &outbox];
    kept.sort_unstable();
    assert_eq!(left, kept, "the outbox goes with the next reconcile, a second later");
    let listed = swarms.list(&Filter::default()).await.unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].id, another.id);
}
