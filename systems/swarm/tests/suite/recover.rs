//! Swarms that go on after something was lost.

use std::collections::BTreeSet;
use std::time::Duration;

use keyplane_swarm::keys::{CheckpointId, Keyspace, MemoryId, MemoryType, PhaseId, Round, Status, Tag};
use keyplane_swarm::model::{AgentKind, LoopLevel};
use keyplane_swarm::state::{
    CheckpointOptions, Claimed, From, NewAgent, NewMemory, NewPhase, OpError, SwarmChange,
};
use keyplane_swarm::{SwarmId, Swarms};
use keyplane_testing::{Place, every_store};

use crate::lost::ROUND;
use crate::setup::{
    agent_id, keys_of, naming, new_agent, new_task, running, swarm_id, swarms, task_id, view,
};

/// A swarm with something of everything: a finished task, one under way, one that waits for it, a phase, a memory, votes.
async fn busy(swarms: &Swarms) -> SwarmId {
    let swarm = running(swarms, 3).await;
    let validator = NewAgent { kind: AgentKind::Validator, ..new_agent(9) };
    swarms.register(&swarm, &validator, "test").await.unwrap();
    for (number, waits_for) in [(1, &[][..]), (2, &[]), (3, &[2])] {
        swarms.create_task(&swarm, &new_task(number, waits_for), "test").await.unwrap();
    }
    let first = claim(swarms, &swarm, 0).await;
    swarms.complete_task(&first, r#"{"ok":true}"#).await.unwrap();
    claim(swarms, &swarm, 1).await;
    let phase = NewPhase {
        id: PhaseId::new("phase_implement").unwrap(),
        name: "Implement".to_owned(),
        level: LoopLevel::new(3).unwrap(),
        tasks: vec![task_id(1)],
        entry: Vec::new(),
        exit: Vec::new(),
    };
    swarms.create_phase(&swarm, &phase, "test").await.unwrap();
    let memory = NewMemory {
        kind: MemoryType::Knowledge,
        id: MemoryId::new("mem_00000001").unwrap(),
        agent: agent_id(0),
        content: r#""the cache is cold""#.to_owned(),
        tags: BTreeSet::from([Tag::new("cache").unwrap()]),
    };
    swarms.put_memory(&swarm, &memory).await.unwrap();
    swarms.open_round(&swarm, &ROUND, "test").await.unwrap();
    swarms.vote(&swarm, &agent_id(9), Round::new(1).unwrap(), 0.95, "It reads well.").await.unwrap();
    swarm
}

async fn claim(swarms: &Swarms, swarm: &SwarmId, agent: u64) -> keyplane_swarm::state::Claim {
    match swarms.claim(swarm, &agent_id(agent)).await.unwrap() {
        Claimed::Task(claim) => claim,
        Claimed::Nothing => panic!("nothing to claim"),
    }
}

/// Removes every key of the swarm but those of its checkpoints.
pub(crate) fn lose(place: &Place, swarm: &SwarmId) {
    for key in keys_of(place, swarm) {
        if !key.contains(":recovery:") && !key.contains(":checkpoints") {
            let _: i64 = place.raw(&key, &["DEL", &key]);
        }
    }
}

#[every_store(except(unix, tls))]
async fn all_comes_back_when_only_checkpoints_are_left(place: Place) {
    let swarms = swarms(&place).await;
    let swarm = busy(&swarms).await;
    let held = view(&swarms, &swarm).await;
    swarms.checkpoint(&swarm, &CheckpointOptions::default(), "test").await.unwrap();
    let saved = swarms.load_newest(&swarm).await.unwrap().unwrap().state;
    lose(&place, &swarm);
    assert_eq!(swarms.read(&swarm).await.unwrap(), None);

    let planned = swarms.recover(&swarm, From::Newest, true, "test").await.unwrap();
    assert_eq!(swarms.read(&swarm).await.unwrap(), None, "a dry run does nothing");
    let done = swarms.recover(&swarm, From::Newest, false, "test").await.unwrap();
    assert_eq!((&done.restored, &done.requeued, done.votes), (&planned.restored, &planned.requeued, 1));
    assert_eq!(done.requeued, [task_id(2).to_string()]);
    assert_eq!(done.restored.values().sum::<u64>(), saved.len() as u64);
    assert_eq!((done.known, done.verified), (saved.len() as u64, saved.len() as u64));
    assert!(done.confidence > 0.9, "{}", done.confidence);

    let seen = view(&swarms, &swarm).await;
    assert_eq!(seen.status(), "running");
    assert_eq!(seen.field("objective"), held.field("objective"));
    assert_eq!((seen.agents.len(), seen.tasks.len()), (4, 3));
    assert!(seen.agents.values().all(|agent| agent.task.is_none()));
    assert_eq!(seen.tasks[task_id(1).as_str()].status.word(), "completed");
    assert_eq!(seen.tasks[task_id(2).as_str()].attempt, 1);
    assert_eq!(seen.tasks[task_id(3).as_str()].status.word(), "blocked");
    let memory = swarms.search_memory(&swarm, &[Tag::new("cache").unwrap()]).await.unwrap();
    assert_eq!(memory.len(), 1);
    // What was finished does not run again, what was begun does, once, and then what waited for it.
    for expected in [2, 3] {
        let claim = claim(&swarms, &swarm, 0).await;
        assert_eq!(claim.task, task_id(expected));
        swarms.complete_task(&claim, "{}").await.unwrap();
    }
    assert_eq!(swarms.claim(&swarm, &agent_id(0)).await.unwrap(), Claimed::Nothing);
    let (tally, ..) = swarms.close_round(&swarm, Round::new(1).unwrap(), 3, "test").await.unwrap();
    assert!(tally.is_achieved, "the vote was kept");
}

#[every_store(except(unix, tls))]
async fn what_is_there_stays_and_a_live_holder_goes_on(place: Place) {
    let swarms = swarms(&place).await;
    let swarm = busy(&swarms).await;
    swarms.checkpoint(&swarm, &CheckpointOptions::default(), "test").await.unwrap();
    let holder = swarms.create_task(&swarm, &new_task(4, &[]), "test").await;
    holder.unwrap();
    let under_way = claim(&swarms, &swarm, 2).await;
    let keyspace = Keyspace::new(naming(&place)).unwrap();
    let lost = keyspace.task(&swarm, &task_id(1));
    let _: i64 = place.raw(lost.as_str(), &["DEL", lost.as_str()]);
    let done = swarms.recover(&swarm, From::Newest, false, "test").await.unwrap();
    assert_eq!(done.restored.into_iter().collect::<Vec<_>>(), [("tasks".to_owned(), 1)]);
    assert_eq!(done.requeued, [""; 0], "both holders are within their time");
    swarms.complete_task(&under_way, "{}").await.unwrap();
    let seen = view(&swarms, &swarm).await;
    assert_eq!(seen.tasks[task_id(1).as_str()].status.word(), "completed");
    let recovery: serde_json::Value = serde_json::from_str(seen.field("recovery")).unwrap();
    assert_eq!(recovery["recoveryAttempts"], 1);
    assert!(recovery["lastRecovery"].is_string() && recovery["lastCheckpoint"].is_string(), "{recovery}");
}

#[every_store(except(unix, tls))]
async fn late_reports_from_before_the_loss_are_refused(place: Place) {
    let swarms = swarms(&place).await;
    let swarm = running(&swarms, 2).await;
    swarms.create_task(&swarm, &new_task(1, &[]), "test").await.unwrap();
    swarms.checkpoint(&swarm, &CheckpointOptions::default(), "test").await.unwrap();
    // After the checkpoint, so nobody knows of these claims any more, nor of the second task.
    swarms.create_task(&swarm, &new_task(2, &[]), "test").await.unwrap();
    let forgotten = [claim(&swarms, &swarm, 0).await, claim(&swarms, &swarm, 1).await];
    lose(&place, &swarm);
    swarms.recover(&swarm, From::Newest, false, "test").await.unwrap();
    swarms.create_task(&swarm, &new_task(2, &[]), "test").await.unwrap();
    for (agent, forgotten) in (0..).zip(forgotten) {
        let anew = claim(&swarms, &swarm, agent).await;
        assert_eq!(anew.task, forgotten.task);
        let late = swarms.complete_task(&forgotten, "{}").await;
        assert!(matches!(late, Err(OpError::Lost { .. })), "{late:?}");
        swarms.complete_task(&anew, "{}").await.unwrap();
    }
}

#[every_store(except(unix, tls))]
async fn a_swarm_comes_back_from_a_file_and_begins_anew_from_a_checkpoint(place: Place) {
    let swarms = swarms(&place).await;
    let swarm = busy(&swarms).await;
    let made = swarms.checkpoint(&swarm, &CheckpointOptions::default(), "test").await.unwrap();
    let id = CheckpointId::new(made.id).unwrap();
    let file = swarms.export(&swarm, &id).await.unwrap();
    let fork = swarm_id();
    let forked = swarms.fork(&swarm, &id, &fork, "test").await.unwrap();
    assert_eq!(forked.restored["agents"], 4);
    let twice = swarms.fork(&swarm, &id, &fork, "test").await;
    assert!(matches!(twice, Err(OpError::Exists { .. })), "{twice:?}");
    assert_eq!(view(&swarms, &fork).await.status(), "running");
    assert_eq!(view(&swarms, &fork).await.tasks.len(), 3);

    for key in keys_of(&place, &swarm) {
        let _: i64 = place.raw(&key, &["DEL", &key]);
    }
    let nothing = swarms.recover(&swarm, From::Newest, false, "test").await;
    assert!(matches!(nothing, Err(OpError::NoSwarm { .. })), "{nothing:?}");
    let (of, loaded) = file.load().unwrap();
    assert_eq!(of, swarm);
    swarms.recover(&swarm, From::State(Box::new(loaded)), false, "test").await.unwrap();
    assert_eq!(view(&swarms, &swarm).await.tasks.len(), 3);
}

#[every_store(except(unix, tls))]
async fn who_is_over_or_locked_is_not_recovered(place: Place) {
    let swarms = swarms(&place).await;
    let swarm = running(&swarms, 0).await;
    let elsewhere = self::swarms(&place).await;
    let both = tokio::join!(
        swarms.recover(&swarm, From::Newest, false, "one"),
        elsewhere.recover(&swarm, From::Newest, false, "other"),
    );
    // One after the other, or one at all; never both at once.
    let is_fine = |one: &Result<_, OpError>| matches!(one, Ok(_) | Err(OpError::Locked { .. }));
    assert!(is_fine(&both.0) && is_fine(&both.1) && (both.0.is_ok() || both.1.is_ok()), "{both:?}");
    swarms.complete(&swarm, "test").await.unwrap();
    let over = swarms.recover(&swarm, From::Newest, false, "test").await;
    assert!(matches!(over, Err(OpError::Over { .. })), "{over:?}");
    let failed = running(&swarms, 0).await;
    let change = SwarmChange { status: Some(Status::Failed), ..SwarmChange::default() };
    swarms.update(&failed, &change, "test").await.unwrap();
    swarms.recover(&failed, From::Newest, false, "test").await.unwrap();
    assert_eq!(view(&swarms, &failed).await.status(), "running");
}

#[every_store(except(unix, tls))]
async fn nothing_is_added_or_saved_while_the_rest_comes_back(place: Place) {
    let swarms = swarms(&place).await;
    let swarm = busy(&swarms).await;
    let change = SwarmChange { status: Some(Status::Recovering), ..SwarmChange::default() };
    swarms.update(&swarm, &change, "test").await.unwrap();
    let runs = SwarmChange { status: Some(Status::Running), ..SwarmChange::default() };
    let phase = NewPhase {
        id: PhaseId::new("phase_validate").unwrap(),
        name: "Validate".to_owned(),
        level: LoopLevel::new(2).unwrap(),
        tasks: Vec::new(),
        entry: Vec::new(),
        exit: Vec::new(),
    };
    let refused = [
        swarms.create_task(&swarm, &new_task(8, &[]), "test").await.map(|_| ()),
        swarms.register(&swarm, &new_agent(8), "test").await.map(|_| ()),
        swarms.create_phase(&swarm, &phase, "test").await.map(|_| ()),
        swarms.checkpoint(&swarm, &CheckpointOptions::default(), "test").await.map(|_| ()),
        swarms.open_round(&swarm, &ROUND, "test").await.map(|_| ()),
        // It may have gaps, which would be saved.
        swarms.update(&swarm, &runs, "test").await.map(|_| ()),
    ];
    for refused in refused {
        assert!(
            matches!(&refused, Err(OpError::Waits { status, .. }) if status == "recovering"),
            "{refused:?}"
        );
    }
    swarms.recover(&swarm, From::Newest, false, "test").await.unwrap();
    swarms.create_task(&swarm, &new_task(8, &[]), "test").await.unwrap();
}

#[every_store(except(unix, tls))]
async fn nothing_is_done_twice_while_a_swarm_that_lost_nothing_is_recovered(place: Place) {
    let swarms = swarms(&place).await;
    let (agents, tasks) = (6, 60);
    let swarm = running(&swarms, agents).await;
    for number in 0..tasks {
        swarms.create_task(&swarm, &new_task(number, &[]), "test").await.unwrap();
    }
    let mut working = tokio::task::JoinSet::new();
    for agent in 0..agents {
        let (swarms, swarm) = (self::swarms(&place).await, swarm.clone());
        working.spawn(async move {
            let mut done = 0;
            loop {
                match swarms.claim(&swarm, &agent_id(agent)).await {
                    Ok(Claimed::Task(claim)) => {
                        swarms.complete_task(&claim, "{}").await.unwrap();
                        done += 1;
                    }
                    Ok(Claimed::Nothing) => break done,
                    Err(OpError::Waits { .. }) => tokio::time::sleep(Duration::from_millis(1)).await,
                    other => panic!("{other:?}"),
                }
            }
        });
    }
    while view(&swarms, &swarm).await.tasks.values().any(|task| task.status.word() == "pending") {
        swarms.recover(&swarm, From::Newest, false, "test").await.unwrap();
    }
    let mut done = 0;
    while let Some(by_one) = working.join_next().await {
        done += by_one.unwrap();
    }
    assert_eq!(done, tasks, "each of them once");
}
