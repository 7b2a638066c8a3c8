//! Tasks.

use std::collections::BTreeSet;

use keyplane_swarm::keys::Keyspace;
use keyplane_swarm::model::{AgentStatus, Priority, TaskStatus};
use keyplane_swarm::state::{AgentChange, Claim, Claimed, NewTask, OpError};
use keyplane_swarm::{AgentId, SwarmId, Swarms, TaskId};
use keyplane_testing::{Place, every_store};

use crate::setup::{agent_id, naming, new_swarm, new_task, run, running, swarms, task_id, view};

async fn claimed(swarms: &Swarms, swarm: &SwarmId, agent: &AgentId) -> Claim {
    match swarms.claim(swarm, agent).await.unwrap() {
        Claimed::Task(claim) => claim,
        Claimed::Nothing => panic!("nothing can be claimed"),
    }
}

async fn status(swarms: &Swarms, swarm: &SwarmId, task: &TaskId) -> TaskStatus {
    view(swarms, swarm).await.tasks[task.as_str()].status
}

#[every_store(except(unix, tls))]
async fn a_task_is_claimed_done_and_finished_once(place: Place) {
    let swarms = swarms(&place).await;
    let swarm = running(&swarms, 1).await;
    let agent = agent_id(0);
    assert_eq!(swarms.create_task(&swarm, &new_task(1, &[]), "test").await.unwrap(), TaskStatus::Pending);
    let claim = claimed(&swarms, &swarm, &agent).await;
    assert_eq!((claim.task.clone(), claim.attempt), (task_id(1), 0));
    let seen = view(&swarms, &swarm).await;
    assert_eq!(seen.tasks[task_id(1).as_str()].agent.as_deref(), Some(agent.as_str()));
    let line = &seen.agents[agent.as_str()];
    assert_eq!((line.status, line.task.as_deref()), (AgentStatus::Busy, Some(task_id(1).as_str())));

    swarms.progress(&claim, 40.0).await.unwrap();
    assert_eq!(view(&swarms, &swarm).await.tasks[task_id(1).as_str()].progress, 40.0);
    assert!(swarms.progress(&claim, 140.0).await.is_err(), "there is no more than 100 %");
    swarms.complete_task(&claim, r#"{"files":3}"#).await.unwrap();
    let seen = view(&swarms, &swarm).await;
    let task = &seen.tasks[task_id(1).as_str()];
    assert_eq!((task.status, task.progress), (TaskStatus::Completed, 100.0));
    assert_eq!(seen.agents[agent.as_str()].status, AgentStatus::Idle);
    let twice = swarms.complete_task(&claim, "{}").await;
    assert!(matches!(&twice, Err(OpError::Lost { status, .. }) if status == "completed"), "{twice:?}");
    assert_eq!(swarms.claim(&swarm, &agent).await.unwrap(), Claimed::Nothing);
}

#[every_store(except(unix, tls))]
async fn the_most_urgent_comes_first_then_the_oldest(place: Place) {
    let swarms = swarms(&place).await;
    let swarm = running(&swarms, 4).await;
    let priorities = [Priority::Low, Priority::Medium, Priority::Critical, Priority::Medium];
    for (number, priority) in (1..).zip(priorities) {
        let task = NewTask { priority, ..new_task(number, &[]) };
        swarms.create_task(&swarm, &task, "test").await.unwrap();
        // Ages are told apart by the millisecond.
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
    let mut order = Vec::new();
    for agent in 0..4 {
        order.push(claimed(&swarms, &swarm, &agent_id(agent)).await.task);
    }
    assert_eq!(order, [3, 2, 4, 1].map(task_id));
}

#[every_store(except(unix, tls))]
async fn a_task_waits_for_those_that_it_depends_on(place: Place) {
    let swarms = swarms(&place).await;
    let swarm = running(&swarms, 1).await;
    let agent = agent_id(0);
    for task in [new_task(1, &[]), new_task(2, &[]), new_task(3, &[1, 2]), new_task(4, &[3])] {
        swarms.create_task(&swarm, &task, "test").await.unwrap();
    }
    let unknown = swarms.create_task(&swarm, &new_task(5, &[9]), "test").await;
    assert!(matches!(&unknown, Err(OpError::Unknown { id }) if *id == task_id(9).to_string()), "{unknown:?}");
    for (done, ready) in [(1, 0), (2, 1), (3, 1), (4, 0)] {
        assert_eq!(status(&swarms, &swarm, &task_id(3)).await == TaskStatus::Blocked, done < 3);
        let claim = claimed(&swarms, &swarm, &agent).await;
        assert_eq!(claim.task, task_id(done));
        assert_eq!(swarms.complete_task(&claim, "{}").await.unwrap(), ready);
    }
    // What is completed is waited for no longer.
    let late = swarms.create_task(&swarm, &new_task(6, &[1, 4]), "test").await.unwrap();
    assert_eq!(late, TaskStatus::Pending);
}

#[every_store(except(unix, tls))]
async fn an_agent_holds_one_task_and_only_while_the_swarm_runs(place: Place) {
    let swarms = swarms(&place).await;
    let new = new_swarm();
    swarms.create(&new, "test").await.unwrap();
    swarms.register(&new.id, &crate::setup::new_agent(0), "test").await.unwrap();
    let agent = agent_id(0);
    for number in [1, 2] {
        swarms.create_task(&new.id, &new_task(number, &[]), "test").await.unwrap();
    }
    let early = swarms.claim(&new.id, &agent).await;
    assert!(matches!(&early, Err(OpError::Waits { status, .. }) if status == "initializing"), "{early:?}");
    run(&swarms, &new.id).await;
    let claim = claimed(&swarms, &new.id, &agent).await;
    let other = if claim.task == task_id(1) { task_id(2) } else { task_id(1) };
    let busy = swarms.claim_task(&new.id, &agent, &other).await;
    assert!(matches!(&busy, Err(OpError::Busy { task, .. }) if *task == claim.task.to_string()), "{busy:?}");
    let stranger = swarms.claim(&new.id, &agent_id(9)).await;
    assert!(matches!(stranger, Err(OpError::Unknown { .. })), "{stranger:?}");
}

#[every_store(except(unix, tls))]
async fn a_task_that_is_given_up_is_tried_again_or_not(place: Place) {
    let swarms = swarms(&place).await;
    let swarm = running(&swarms, 1).await;
    let agent = agent_id(0);
    swarms.create_task(&swarm, &new_task(1, &[]), "test").await.unwrap();
    let first = claimed(&swarms, &swarm, &agent).await;
    swarms.fail_task(&first, true).await.unwrap();
    assert_eq!(status(&swarms, &swarm, &task_id(1)).await, TaskStatus::Pending);
    let second = claimed(&swarms, &swarm, &agent).await;
    assert_eq!((second.fence, second.attempt), (first.fence + 1, 1));
    let late = swarms.progress(&first, 10.0).await;
    assert!(matches!(late, Err(OpError::Lost { .. })), "{late:?}");
    swarms.fail_task(&second, false).await.unwrap();
    assert_eq!(status(&swarms, &swarm, &task_id(1)).await, TaskStatus::Failed);
    assert_eq!(swarms.claim(&swarm, &agent).await.unwrap(), Claimed::Nothing);
    assert_eq!(view(&swarms, &swarm).await.agents[agent.as_str()].status, AgentStatus::Idle);
}

#[every_store(except(unix, tls))]
async fn a_task_that_failed_is_tried_again_or_called_off(place: Place) {
    let swarms = swarms(&place).await;
    let swarm = running(&swarms, 1).await;
    let agent = agent_id(0);
    for task in [new_task(1, &[]), new_task(2, &[1])] {
        swarms.create_task(&swarm, &task, "test").await.unwrap();
    }
    let early = swarms.retry_task(&swarm, &task_id(1), "test").await;
    assert!(matches!(&early, Err(OpError::Move { from, .. }) if from == "pending"), "{early:?}");
    let first = claimed(&swarms, &swarm, &agent).await;
    let held = swarms.cancel_task(&swarm, &task_id(1), "test").await;
    assert!(matches!(&held, Err(OpError::Held { agent: by, .. }) if *by == agent.to_string()), "{held:?}");
    swarms.fail_task(&first, false).await.unwrap();
    assert_eq!(swarms.retry_task(&swarm, &task_id(1), "test").await.unwrap(), 1);
    let seen = view(&swarms, &swarm).await.tasks[task_id(1).as_str()].clone();
    assert_eq!((seen.status, seen.attempt, seen.progress), (TaskStatus::Pending, 1, 0.0));
    let second = claimed(&swarms, &swarm, &agent).await;
    assert_eq!((second.attempt, second.fence), (1, first.fence + 1));
    assert!(matches!(swarms.complete_task(&first, "{}").await, Err(OpError::Lost { .. })));
    swarms.fail_task(&second, false).await.unwrap();

    // What waits for it is told, and waits on.
    assert_eq!(swarms.cancel_task(&swarm, &task_id(1), "test").await.unwrap(), [task_id(2)]);
    for task in [1, 2] {
        let again = swarms.retry_task(&swarm, &task_id(task), "test").await;
        assert!(matches!(again, Err(OpError::Move { .. })), "{again:?}");
    }
    assert_eq!(swarms.claim(&swarm, &agent).await.unwrap(), Claimed::Nothing);
    let twice = swarms.cancel_task(&swarm, &task_id(1), "test").await;
    assert!(matches!(&twice, Err(OpError::Move { from, .. }) if from == "cancelled"), "{twice:?}");
    let unknown = swarms.cancel_task(&swarm, &task_id(9), "test").await;
    assert!(matches!(unknown, Err(OpError::Unknown { .. })), "{unknown:?}");
}

#[every_store(except(unix, tls))]
async fn a_swarm_does_not_end_while_a_task_is_open(place: Place) {
    let swarms = swarms(&place).await;
    let swarm = running(&swarms, 1).await;
    for task in [new_task(1, &[]), new_task(2, &[1])] {
        swarms.create_task(&swarm, &task, "test").await.unwrap();
    }
    let open = async || match swarms.complete(&swarm, "test").await {
        Err(OpError::Open { waiting, under_way }) => (waiting, under_way),
        other => panic!("{other:?}"),
    };
    assert_eq!(open().await, (2, 0), "one is pending, the other blocked");
    let claim = claimed(&swarms, &swarm, &agent_id(0)).await;
    assert_eq!(open().await, (1, 1));
    swarms.fail_task(&claim, false).await.unwrap();
    assert_eq!(open().await, (1, 0), "it waits for one that has failed");
    assert_eq!(swarms.cancel_task(&swarm, &task_id(2), "test").await.unwrap(), []);
    swarms.complete(&swarm, "test").await.unwrap();
    let over = swarms.retry_task(&swarm, &task_id(1), "test").await;
    assert!(matches!(over, Err(OpError::Over { .. })), "{over:?}");
}

#[every_store(only(embedded, redis))]
async fn a_task_behind_the_first_thousand_is_open_too(place: Place) {
    let swarms = swarms(&place).await;
    let swarm = running(&swarms, 1).await;
    for number in 0..1001 {
        swarms.create_task(&swarm, &new_task(number, &[]), "test").await.unwrap();
        if number < 1000 {
            swarms.cancel_task(&swarm, &task_id(number), "test").await.unwrap();
        }
    }
    let open = swarms.complete(&swarm, "test").await;
    assert!(matches!(open, Err(OpError::Open { waiting: 1, under_way: 0 })), "{open:?}");
    swarms.cancel_task(&swarm, &task_id(1000), "test").await.unwrap();
    swarms.complete(&swarm, "test").await.unwrap();
}

#[every_store(except(unix, tls))]
async fn who_pauses_or_has_ended_is_not_idle_when_its_task_is(place: Place) {
    let swarms = swarms(&place).await;
    let statuses = [AgentStatus::Paused, AgentStatus::Completed];
    let swarm = running(&swarms, 2).await;
    for (number, status) in (0..).zip(statuses) {
        let agent = agent_id(number);
        swarms.create_task(&swarm, &new_task(number, &[]), "test").await.unwrap();
        let claim = claimed(&swarms, &swarm, &agent).await;
        let change = AgentChange { status: Some(status), ..AgentChange::default() };
        swarms.update_agent(&swarm, &agent, &change, "test").await.unwrap();
        swarms.complete_task(&claim, "{}").await.unwrap();
        let line = view(&swarms, &swarm).await.agents[agent.as_str()].clone();
        assert_eq!((line.status, line.task), (status, None));
    }
}

#[every_store(except(unix, tls))]
async fn how_far_a_task_was_is_forgotten_when_it_is_tried_again(place: Place) {
    let swarms = swarms(&place).await;
    let swarm = running(&swarms, 1).await;
    swarms.create_task(&swarm, &new_task(1, &[]), "test").await.unwrap();
    let key = Keyspace::new(naming(&place)).unwrap().task(&swarm, &task_id(1));
    // Given up to be tried again, and then for good: the list says what the record says.
    for (again, expected) in [(true, 0.0), (false, 40.0)] {
        let claim = claimed(&swarms, &swarm, &agent_id(0)).await;
        swarms.progress(&claim, 40.0).await.unwrap();
        swarms.fail_task(&claim, again).await.unwrap();
        let record: String = place.raw(key.as_str(), &["HGET", key.as_str(), "progress"]);
        let listed = view(&swarms, &swarm).await.tasks[task_id(1).as_str()].progress;
        assert_eq!((record.parse(), listed), (Ok(expected), expected));
    }
}

#[every_store(except(unix, tls))]
async fn of_many_that_claim_at_once_each_has_a_task_of_its_own(place: Place) {
    let swarms = swarms(&place).await;
    let agents = 40;
    let swarm = running(&swarms, agents).await;
    for number in 0..agents {
        swarms.create_task(&swarm, &new_task(number, &[]), "test").await.unwrap();
    }
    let mut claiming = tokio::task::JoinSet::new();
    for number in 0..agents {
        let (swarms, swarm) = (swarms.clone(), swarm.clone());
        claiming.spawn(async move { claimed(&swarms, &swarm, &agent_id(number)).await.task.to_string() });
    }
    let mut tasks = BTreeSet::new();
    while let Some(task) = claiming.join_next().await {
        assert!(tasks.insert(task.unwrap()), "claimed twice");
    }
    assert_eq!(tasks.len() as u64, agents);
}

#[every_store(except(unix, tls))]
async fn an_agent_stays_small_however_much_it_has_done(place: Place) {
    let swarms = swarms(&place).await;
    let swarm = running(&swarms, 1).await;
    let agent = agent_id(0);
    let key = Keyspace::new(naming(&place)).unwrap().agent(&swarm, &agent);
    let ids: Vec<String> = (0..10_000).map(|number| format!("\"{}\"", task_id(number))).collect();
    let long = format!("[{}]", ids.join(","));
    let _: u64 = place.raw(key.as_str(), &["HSET", key.as_str(), "completedTasks", &long]);
    swarms.create_task(&swarm, &new_task(7, &[]), "test").await.unwrap();
    let claim = claimed(&swarms, &swarm, &agent).await;
    swarms.complete_task(&claim, "{}").await.unwrap();
    let done: String = place.raw(key.as_str(), &["HGET", key.as_str(), "completedTasks"]);
    let done: Vec<String> = serde_json::from_str(&done).unwrap();
    assert_eq!(done.last(), Some(&task_id(7).to_string()));
    assert!((90..=300).contains(&done.len()), "{}", done.len());
}

/// Its answer may have been lost: whoever asks again is told the same, however many other tasks there are, and nothing is changed.
#[every_store(except(unix, tls))]
async fn an_agent_that_asks_again_is_told_the_claim_that_it_holds(place: Place) {
    let swarms = swarms(&place).await;
    let swarm = running(&swarms, 2).await;
    for number in 1..=40 {
        swarms.create_task(&swarm, &new_task(number, &[]), "test").await.unwrap();
    }
    let agent = agent_id(0);
    let claim = claimed(&swarms, &swarm, &agent).await;
    swarms.heartbeat(&swarm, &agent).await.unwrap();
    let before = view(&swarms, &swarm).await;
    assert_eq!(claimed(&swarms, &swarm, &agent).await, claim);
    assert_eq!(swarms.claim_task(&swarm, &agent, &claim.task).await.unwrap(), Claimed::Task(claim.clone()));
    let after = view(&swarms, &swarm).await;
    assert_eq!((&after.agents, &after.tasks, &after.header), (&before.agents, &before.tasks, &before.header));
    assert_ne!(claimed(&swarms, &swarm, &agent_id(1)).await.task, claim.task);
    swarms.complete_task(&claim, "{}").await.unwrap();
    assert_ne!(claimed(&swarms, &swarm, &agent).await.task, claim.task);
}

#[every_store(except(unix, tls))]
async fn a_dependency_that_is_named_twice_is_waited_for_once(place: Place) {
    let swarms = swarms(&place).await;
    let swarm = running(&swarms, 1).await;
    for task in [new_task(1, &[]), new_task(2, &[]), new_task(3, &[2, 1, 2, 1, 1])] {
        swarms.create_task(&swarm, &task, "test").await.unwrap();
    }
    let record = swarms.task(&swarm, &task_id(3)).await.unwrap();
    let expected = format!(r#"["{}","{}"]"#, task_id(2), task_id(1));
    assert_eq!((record["open"].as_str(), &record["dependencies"]), ("2", &expected));
    for ready in [0, 1] {
        let claim = claimed(&swarms, &swarm, &agent_id(0)).await;
        assert_eq!(swarms.complete_task(&claim, "{}").await.unwrap(), ready);
    }
    assert_eq!(claimed(&swarms, &swarm, &agent_id(0)).await.task, task_id(3));
}

#[every_store(except(unix, tls))]
async fn a_task_that_is_gone_or_no_longer_waits_is_given_to_nobody(place: Place) {
    let swarms = swarms(&place).await;
    let swarm = running(&swarms, 1).await;
    let keys = Keyspace::new(naming(&place)).unwrap();
    let ready = keys.ready(&swarm);
    for number in 1..=21 {
        swarms.create_task(&swarm, &new_task(number, &[]), "test").await.unwrap();
    }
    // The first twenty, so that more are gone than a claim looks at.
    for number in 1..=20 {
        let key = keys.task(&swarm, &task_id(number));
        let _: u64 = place.raw(key.as_str(), &["DEL", key.as_str()]);
        // And first they are, whatever the clock said.
        let _: u64 = place.raw(ready.as_str(), &["ZADD", ready.as_str(), "1", task_id(number).as_str()]);
    }
    let named = swarms.claim_task(&swarm, &agent_id(0), &task_id(20)).await.unwrap();
    assert_eq!(named, Claimed::Nothing);
    let claim = claimed(&swarms, &swarm, &agent_id(0)).await;
    assert_eq!(claim.task, task_id(21));
    swarms.complete_task(&claim, "{}").await.unwrap();
    // One that is finished, and somebody has put it there again.
    let _: u64 = place.raw(ready.as_str(), &["ZADD", ready.as_str(), "1", task_id(21).as_str()]);
    assert_eq!(swarms.claim(&swarm, &agent_id(0)).await.unwrap(), Claimed::Nothing);
    for number in 1..=20 {
        let key = keys.task(&swarm, &task_id(number));
        assert_eq!(place.raw::<u64>(key.as_str(), &["EXISTS", key.as_str()]), 0, "{number}");
    }
    assert_eq!(place.raw::<u64>(ready.as_str(), &["EXISTS", ready.as_str()]), 0);
}
