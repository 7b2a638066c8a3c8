//! What time does, in virtual time.

use std::time::Duration;

use keyplane_key::Naming;
use keyplane_store::{Options, Store};
use keyplane_swarm::keys::Round;
use keyplane_swarm::model::AgentKind;
use keyplane_swarm::state::{Claimed, NewAgent, NewRound, OpError};
use keyplane_swarm::{Settings, Swarms};
use keyplane_testing::VirtualEngine;

use crate::setup::{agent_id, new_agent, new_task, running, task_id};

pub(crate) async fn swarms(engine: &VirtualEngine) -> Swarms {
    swarms_with(engine, Settings::default()).await
}

pub(crate) async fn swarms_with(engine: &VirtualEngine, settings: Settings) -> Swarms {
    let store = Store::on_engine(engine.live().clone(), Options::default()).await.unwrap();
    Swarms::new(&store, Naming::new("", false).unwrap(), settings).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_task_whose_lease_runs_out_is_given_to_another_and_its_first_holder_is_refused() {
    let engine = VirtualEngine::start(1);
    let swarms = swarms(&engine).await;
    let swarm = running(&swarms, 2).await;
    swarms.create_task(&swarm, &new_task(1, &[]), "test").await.unwrap();
    let Claimed::Task(first) = swarms.claim(&swarm, &agent_id(0)).await.unwrap() else { panic!("nothing") };
    engine.advance(Duration::from_secs(60)).await;
    swarms.heartbeat(&swarm, &agent_id(0)).await.unwrap();
    engine.advance(Duration::from_secs(60)).await;
    assert_eq!(swarms.take_back(&swarm, 100).await.unwrap(), [], "a beat of its holder has kept it");
    engine.advance(Duration::from_secs(31)).await;
    assert_eq!(swarms.take_back(&swarm, 100).await.unwrap(), [task_id(1)]);
    assert_eq!(swarms.take_back(&swarm, 100).await.unwrap(), [], "once");

    let Claimed::Task(second) = swarms.claim(&swarm, &agent_id(1)).await.unwrap() else { panic!("nothing") };
    assert_eq!((second.task.clone(), second.attempt), (task_id(1), 1));
    for late in [
        swarms.progress(&first, 50.0).await.map(|_| ()),
        swarms.complete_task(&first, "{}").await.map(|_| ()),
    ] {
        assert!(
            matches!(&late, Err(OpError::Lost { agent, .. }) if *agent == agent_id(1).to_string()),
            "{late:?}"
        );
    }
    swarms.complete_task(&second, "{}").await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn where_nobody_keeps_a_swarm_whoever_asks_takes_back_what_is_due() {
    let engine = VirtualEngine::start(1);
    let swarms = swarms(&engine).await;
    let swarm = running(&swarms, 3).await;
    let claimed = async |agent| match swarms.claim(&swarm, &agent_id(agent)).await.unwrap() {
        Claimed::Task(claim) => Some((claim.task, claim.attempt)),
        Claimed::Nothing => None,
    };
    for number in [1, 2] {
        swarms.create_task(&swarm, &new_task(number, &[]), "test").await.unwrap();
    }
    assert_eq!((claimed(0).await, claimed(1).await), (Some((task_id(1), 0)), Some((task_id(2), 0))));
    engine.advance(Duration::from_secs(89)).await;
    assert_eq!(claimed(2).await, None, "both are held");
    let held = swarms.claim_task(&swarm, &agent_id(2), &task_id(2)).await.unwrap();
    assert_eq!(held, Claimed::Nothing);
    engine.advance(Duration::from_secs(2)).await;
    // One by its name, one by whoever comes: the silent holder itself, which is told its own again otherwise.
    let Claimed::Task(taken) = swarms.claim_task(&swarm, &agent_id(2), &task_id(2)).await.unwrap() else {
        panic!("nothing")
    };
    assert_eq!((taken.task, taken.attempt), (task_id(2), 1));
    assert_eq!(claimed(0).await, Some((task_id(1), 1)));
    assert_eq!(claimed(1).await, None);
}

#[tokio::test(start_paused = true)]
async fn activity_keeps_a_swarm_alive_and_a_look_does_not() {
    let engine = VirtualEngine::start(1);
    let swarms = swarms(&engine).await;
    let (active, looked_at) = (running(&swarms, 1).await, running(&swarms, 1).await);
    for _ in 0..2 {
        engine.advance(Duration::from_secs(1900)).await;
        swarms.heartbeat(&active, &agent_id(0)).await.unwrap();
        let seen = swarms.read(&looked_at).await.unwrap();
        if let Some(seen) = seen {
            assert_eq!(seen.status(), "running");
        }
    }
    assert_eq!(swarms.read(&looked_at).await.unwrap(), None, "3800 s without activity");
    let seen = swarms.read(&active).await.unwrap().unwrap();
    assert_eq!(seen.agents.len(), 1);
}

/// Nobody keeps it: each change that is late in the life of the children lets them live on.
#[tokio::test(start_paused = true)]
async fn a_swarm_that_only_operations_keep_alive_outlives_three_horizons_with_all_its_children() {
    let engine = VirtualEngine::start(1);
    let swarms = swarms(&engine).await;
    let swarm = running(&swarms, 3).await;
    swarms.create_task(&swarm, &new_task(1, &[]), "test").await.unwrap();
    let round = NewRound {
        required: 0.9,
        eligible: 3,
        lasts: Duration::from_secs(60),
        phase: None,
        iteration: 0,
        most_tries: 10,
    };
    swarms.open_round(&swarm, &round, "test").await.unwrap();
    let held = || async {
        let keys = swarms.keys(&swarm).await.unwrap();
        // Notes for the indexes go as soon as they are applied.
        keys.into_iter().map(|held| held.key).filter(|key| !key.contains("outbox")).collect::<Vec<_>>()
    };
    let before = held().await;
    for minutes in [29, 59, 55, 58, 31, 29, 59, 59, 59] {
        engine.advance(Duration::from_secs(60 * minutes)).await;
        // Several at once, of one agent: the others say nothing for seven hours.
        let (zero, one, two) = (agent_id(0), agent_id(0), agent_id(0));
        let beats = tokio::join!(
            swarms.heartbeat(&swarm, &zero),
            swarms.heartbeat(&swarm, &one),
            swarms.heartbeat(&swarm, &two),
        );
        beats.0.unwrap();
        beats.1.unwrap();
        beats.2.unwrap();
    }
    assert_eq!(held().await, before);
    let seen = swarms.read(&swarm).await.unwrap().unwrap();
    assert_eq!((seen.agents.len(), seen.tasks.len()), (3, 1));
}

#[tokio::test(start_paused = true)]
async fn a_vote_after_the_time_of_its_round_does_not_count() {
    let engine = VirtualEngine::start(1);
    let swarms = swarms(&engine).await;
    let swarm = running(&swarms, 0).await;
    for number in 0..3 {
        let validator = NewAgent { kind: AgentKind::Validator, ..new_agent(number) };
        swarms.register(&swarm, &validator, "test").await.unwrap();
    }
    let lasts = Duration::from_secs(60);
    let new = NewRound { required: 0.6, eligible: 3, lasts, phase: None, iteration: 0, most_tries: 10 };
    let round = Round::new(swarms.open_round(&swarm, &new, "test").await.unwrap()).unwrap();
    for number in 0..2 {
        swarms.vote(&swarm, &agent_id(number), round, 0.9, "in time").await.unwrap();
    }
    let early = swarms.close_round(&swarm, round, 3, "test").await;
    assert!(matches!(early, Err(OpError::Early { .. })), "{early:?}");
    engine.advance(Duration::from_secs(61)).await;
    let late = swarms.vote(&swarm, &agent_id(2), round, 0.9, "too late").await;
    assert!(matches!(&late, Err(OpError::Late { .. })), "{late:?}");
    assert!(late.unwrap_err().to_string().contains("its time was over"));
    let (tally, ..) = swarms.close_round(&swarm, round, 3, "test").await.unwrap();
    assert!((tally.score - 0.6).abs() < 1e-9 && tally.is_achieved, "an absent one counts as 0: {tally:?}");
}
