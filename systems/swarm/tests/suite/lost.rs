//! What is left of a swarm whose header is gone: it runs out first, and its children live on for a while.

use std::time::Duration;

use keyplane_swarm::keys::{CheckpointId, Keyspace};
use keyplane_swarm::state::{CheckpointOptions, Claimed, Filter, From, NewAgent, NewRound, OpError};
use keyplane_swarm::{Role, SwarmId, Swarms};
use keyplane_testing::{Place, every_store};

use crate::setup::{agent_id, naming, new_agent, new_task, running, swarm_id, swarms, task_id, view};

pub(crate) const ROUND: NewRound = NewRound {
    required: 0.9,
    eligible: 1,
    lasts: Duration::from_secs(600),
    phase: None,
    iteration: 0,
    most_tries: 10,
};

fn keyspace(place: &Place) -> Keyspace {
    Keyspace::new(naming(place)).unwrap()
}

fn delete(place: &Place, key: &str) {
    let deleted: i64 = place.raw(key, &["DEL", key]);
    assert_eq!(deleted, 1, "{key}");
}

async fn saved(swarms: &Swarms, swarm: &SwarmId) -> CheckpointId {
    let made = swarms.checkpoint(swarm, &CheckpointOptions::default(), "test").await.unwrap();
    CheckpointId::new(made.id).unwrap()
}

async fn claim(swarms: &Swarms, swarm: &SwarmId, agent: u64) -> keyplane_swarm::state::Claim {
    match swarms.claim(swarm, &agent_id(agent)).await.unwrap() {
        Claimed::Task(claim) => claim,
        Claimed::Nothing => panic!("nothing to claim"),
    }
}

#[every_store(except(unix, tls))]
async fn what_came_after_the_checkpoint_stays_when_the_header_alone_ran_out(place: Place) {
    let (swarms, keys) = (swarms(&place).await, keyspace(&place));
    let swarm = running(&swarms, 2).await;
    saved(&swarms, &swarm).await;
    let wizard = NewAgent { role: Role::new("wizard").unwrap(), ..new_agent(2) };
    swarms.register(&swarm, &wizard, "test").await.unwrap();
    for number in [1, 2] {
        swarms.create_task(&swarm, &new_task(number, &[]), "test").await.unwrap();
    }
    claim(&swarms, &swarm, 2).await;
    let held = claim(&swarms, &swarm, 0).await;
    assert_eq!(swarms.open_round(&swarm, &ROUND, "test").await.unwrap(), 1);
    // The holder of the first one fell silent, and an agent's key is near its end.
    let (leases, agent) = (keys.leases(&swarm), keys.agent(&swarm, &agent_id(1)));
    let _: i64 = place.raw(leases.as_str(), &["ZADD", leases.as_str(), "1", task_id(1).as_str()]);
    let _: i64 = place.raw(agent.as_str(), &["EXPIRE", agent.as_str(), "60"]);
    delete(&place, keys.swarm(&swarm).as_str());
    swarms.reconcile().await.unwrap();

    let planned = swarms.recover(&swarm, From::Newest, true, "test").await.unwrap();
    let done = swarms.recover(&swarm, From::Newest, false, "test").await.unwrap();
    assert_eq!((&done.requeued, &done.restored, done.known), (&planned.requeued, &planned.restored, 7));
    assert_eq!(done.requeued, [task_id(1).to_string()]);
    assert_eq!(done.restored.into_iter().collect::<Vec<_>>(), [("header".to_owned(), 1)]);
    assert_eq!(done.verified, 7, "a header, three agents, two tasks, a round");

    let seen = view(&swarms, &swarm).await;
    assert_eq!((seen.status(), seen.agents.len(), seen.tasks.len()), ("running", 3, 2));
    for (field, count) in [("agentCount", "3"), ("taskCount", "2"), ("currentRound", "1")] {
        assert_eq!(seen.field(field), count, "{field}");
    }
    assert_eq!(seen.agents[agent_id(2).as_str()].status.word(), "idle");
    assert_eq!(seen.tasks[task_id(1).as_str()].attempt, 1);
    swarms.complete_task(&held, "{}").await.unwrap();
    assert_eq!(claim(&swarms, &swarm, 1).await.task, task_id(1));
    assert_eq!(swarms.open_round(&swarm, &ROUND, "test").await.unwrap(), 2);
    let lives = |key: &str| -> i64 { place.raw(key, &["TTL", key]) };
    assert!(lives(agent.as_str()) > lives(keys.swarm(&swarm).as_str()), "no child dies before its swarm");
    swarms.feed_touched().await.unwrap();
    let wizards = Filter { role: Some(wizard.role), ..Filter::default() };
    assert_eq!(swarms.list(&wizards).await.unwrap().len(), 1, "it is found by what came later");
}

#[every_store(except(unix, tls))]
async fn a_header_that_comes_back_counts_what_was_saved_and_what_is_there(place: Place) {
    let (swarms, keys) = (swarms(&place).await, keyspace(&place));
    let swarm = running(&swarms, 3).await;
    for number in 0..3 {
        swarms.create_task(&swarm, &new_task(number, &[]), "test").await.unwrap();
    }
    swarms.open_round(&swarm, &ROUND, "test").await.unwrap();
    saved(&swarms, &swarm).await;
    swarms.register(&swarm, &new_agent(3), "test").await.unwrap();
    // One that was saved is gone as well.
    delete(&place, keys.swarm(&swarm).as_str());
    delete(&place, keys.agent(&swarm, &agent_id(0)).as_str());
    delete(&place, keys.task(&swarm, &task_id(0)).as_str());
    swarms.recover(&swarm, From::Newest, false, "test").await.unwrap();
    let seen = view(&swarms, &swarm).await;
    let counts = ["agentCount", "taskCount", "currentRound"].map(|field| seen.field(field).to_owned());
    assert_eq!(counts, ["4", "3", "1"]);
    assert_eq!((seen.agents.len(), seen.tasks.len()), (4, 3));
}

#[every_store(except(unix, tls))]
async fn the_next_round_comes_behind_those_that_are_there(place: Place) {
    let (swarms, keys) = (swarms(&place).await, keyspace(&place));
    let swarm = running(&swarms, 1).await;
    for expected in 1..=3 {
        assert_eq!(swarms.open_round(&swarm, &ROUND, "test").await.unwrap(), expected);
    }
    let header = keys.swarm(&swarm);
    let _: i64 = place.raw(header.as_str(), &["HSET", header.as_str(), "currentRound", "1"]);
    assert_eq!(swarms.open_round(&swarm, &ROUND, "test").await.unwrap(), 4);
    assert_eq!(view(&swarms, &swarm).await.field("currentRound"), "4");
}

/// What it was to be recovered from may be older than its end.
#[every_store(except(unix, tls))]
async fn a_completed_swarm_that_was_removed_does_not_run_again(place: Place) {
    let swarms = swarms(&place).await;
    let swarm = running(&swarms, 1).await;
    let earlier = saved(&swarms, &swarm).await;
    let file = swarms.export(&swarm, &earlier).await.unwrap();
    swarms.complete(&swarm, "test").await.unwrap();
    let last = saved(&swarms, &swarm).await;
    swarms.remove(&swarm).await.unwrap();
    let exported = || From::State(Box::new(file.load().unwrap().1));
    for from in [From::Newest, From::Checkpoint(last.clone()), From::Checkpoint(earlier.clone()), exported()]
    {
        for is_dry_run in [true, false] {
            let refused = swarms.recover(&swarm, from.clone(), is_dry_run, "test").await;
            assert!(
                matches!(&refused, Err(OpError::Over { status, .. }) if status == "completed"),
                "{refused:?}"
            );
        }
    }
    assert_eq!(swarms.read(&swarm).await.unwrap(), None);
    // Another swarm may begin where it ended.
    let fork = swarm_id();
    swarms.fork(&swarm, &last, &fork, "test").await.unwrap();
    assert_eq!(view(&swarms, &fork).await.status(), "running");
}

#[every_store(except(unix, tls))]
async fn a_fork_takes_nothing_over_from_one_that_had_its_id(place: Place) {
    let (swarms, keys) = (swarms(&place).await, keyspace(&place));
    let (swarm, other) = (running(&swarms, 1).await, running(&swarms, 3).await);
    let checkpoint = saved(&swarms, &swarm).await;
    delete(&place, keys.swarm(&other).as_str());
    let refused = swarms.fork(&swarm, &checkpoint, &other, "test").await;
    assert!(matches!(refused, Err(OpError::Remains { .. })), "{refused:?}");
    assert_eq!(swarms.read(&other).await.unwrap(), None);
}

/// Whoever forked it died: some of it is there, and it does not run.
#[every_store(except(unix, tls))]
async fn a_fork_that_was_broken_off_is_taken_up_again(place: Place) {
    let (swarms, keys) = (swarms(&place).await, keyspace(&place));
    let swarm = running(&swarms, 3).await;
    swarms.create_task(&swarm, &new_task(1, &[]), "test").await.unwrap();
    let (checkpoint, other) = (saved(&swarms, &swarm).await, saved(&swarms, &swarm).await);
    for with_recover in [true, false] {
        let fork = swarm_id();
        swarms.fork(&swarm, &checkpoint, &fork, "test").await.unwrap();
        let header = keys.swarm(&fork);
        let _: i64 = place.raw(header.as_str(), &["HSET", header.as_str(), "status", "recovering"]);
        for agent in [1, 2] {
            delete(&place, keys.agent(&fork, &agent_id(agent)).as_str());
        }
        let roster = keys.roster(&fork);
        let _: i64 = place.raw(roster.as_str(), &["HDEL", roster.as_str(), agent_id(1).as_str()]);
        let another = swarms.fork(&swarm, &other, &fork, "test").await;
        assert!(matches!(another, Err(OpError::Exists { .. })), "{another:?}");
        let done = match with_recover {
            true => swarms.recover(&fork, From::Newest, false, "test").await.unwrap(),
            false => swarms.fork(&swarm, &checkpoint, &fork, "test").await.unwrap(),
        };
        assert_eq!((done.restored["agents"], done.known, done.verified), (2, 5, 5));
        let seen = view(&swarms, &fork).await;
        assert_eq!((seen.status(), seen.agents.len(), seen.tasks.len()), ("running", 3, 1));
        let again = swarms.fork(&swarm, &checkpoint, &fork, "test").await;
        assert!(matches!(again, Err(OpError::Exists { .. })), "{again:?}");
    }
}
