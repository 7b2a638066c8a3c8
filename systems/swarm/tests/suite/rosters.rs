//! Swarms with more agents and tasks than one hash may list: whoever is listed further behind works like the others.

use std::time::Duration;

use keyplane_engine::Reply;
use keyplane_swarm::keys::{MemoryId, MemoryType, PhaseId, Tag};
use keyplane_swarm::model::{AgentStatus, LoopLevel, Priority, TaskStatus};
use keyplane_swarm::state::{CheckpointOptions, Claim, Claimed, NewMemory, NewPhase, NewTask, OpError};
use keyplane_swarm::{SwarmId, Swarms};
use keyplane_testing::VirtualEngine;

use crate::setup::{agent_id, new_agent, new_task, running, task_id, view};
use crate::timed::swarms;

/// Behind the plain roster and one more.
const AGENT: u64 = 2000;
/// Behind the plain list.
const TASK: u64 = 1001;

/// Two thousand and one agents; a first task, a thousand that nobody hurries to, and one more that waits for the first.
async fn many(swarms: &Swarms) -> SwarmId {
    let swarm = running(swarms, AGENT + 1).await;
    let urgent = NewTask { priority: Priority::Critical, ..new_task(1, &[]) };
    swarms.create_task(&swarm, &urgent, "test").await.unwrap();
    for number in 2..TASK {
        let task = NewTask { priority: Priority::Low, ..new_task(number, &[]) };
        swarms.create_task(&swarm, &task, "test").await.unwrap();
    }
    let waits = NewTask { priority: Priority::Critical, ..new_task(TASK, &[1]) };
    assert_eq!(swarms.create_task(&swarm, &waits, "test").await.unwrap(), TaskStatus::Blocked);
    swarm
}

async fn claimed(swarms: &Swarms, swarm: &SwarmId, task: u64) -> Claim {
    let Claimed::Task(claim) = swarms.claim(swarm, &agent_id(AGENT)).await.unwrap() else {
        panic!("nothing can be claimed")
    };
    assert_eq!(claim.task, task_id(task));
    assert_lists(swarms, swarm, AgentStatus::Busy, task, TaskStatus::InProgress).await;
    claim
}

/// What the rosters say; and nobody is listed among the others.
async fn assert_lists(swarms: &Swarms, swarm: &SwarmId, agent: AgentStatus, number: u64, task: TaskStatus) {
    let seen = view(swarms, swarm).await;
    assert_eq!(seen.agents[agent_id(AGENT).as_str()].status, agent);
    assert_eq!(seen.tasks[task_id(number).as_str()].status, task);
    assert_eq!((seen.agents.len() as u64, seen.tasks.len() as u64), (AGENT + 1, TASK));
}

#[tokio::test(start_paused = true)]
async fn whoever_is_listed_further_behind_works_like_the_others() {
    let engine = VirtualEngine::start(1);
    let swarms = swarms(&engine).await;
    let swarm = many(&swarms).await;

    let claim = claimed(&swarms, &swarm, 1).await;
    assert_eq!(swarms.complete_task(&claim, "{}").await.unwrap(), 1, "one waited for it");
    assert_lists(&swarms, &swarm, AgentStatus::Idle, 1, TaskStatus::Completed).await;
    assert_lists(&swarms, &swarm, AgentStatus::Idle, TASK, TaskStatus::Pending).await;

    let claim = claimed(&swarms, &swarm, TASK).await;
    swarms.progress(&claim, 50.0).await.unwrap();
    swarms.fail_task(&claim, true).await.unwrap();
    assert_lists(&swarms, &swarm, AgentStatus::Idle, TASK, TaskStatus::Pending).await;

    claimed(&swarms, &swarm, TASK).await;
    engine.advance(Duration::from_secs(91)).await;
    assert_eq!(swarms.take_back(&swarm, 10).await.unwrap(), [task_id(TASK)]);
    assert_lists(&swarms, &swarm, AgentStatus::Idle, TASK, TaskStatus::Pending).await;
}

async fn typed(engine: &VirtualEngine, words: &[&str]) -> Reply {
    let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
    engine.live().connect("test").execute(&words).await.unwrap()
}

/// The first thousand is full before a thousand were registered.
#[tokio::test(start_paused = true)]
async fn whoever_comes_behind_an_agent_that_was_typed_is_seen_and_saved() {
    let engine = VirtualEngine::start(1);
    let swarms = swarms(&engine).await;
    let swarm = running(&swarms, 999).await;
    let key = format!("swarm:{swarm}:agents:{}", agent_id(5000));
    typed(&engine, &["HSET", &key, "role", "coder", "type", "implementer", "status", "idle"]).await;
    swarms.heartbeat(&swarm, &agent_id(5000)).await.unwrap();
    assert_eq!(view(&swarms, &swarm).await.field("agentCount"), "1000", "it is counted once it is listed");
    swarms.heartbeat(&swarm, &agent_id(5000)).await.unwrap();
    swarms.register(&swarm, &new_agent(6000), "test").await.unwrap();
    // Whatever the header says.
    for count in ["1001", "3", "many", "99999999999999"] {
        typed(&engine, &["HSET", &format!("swarm:{swarm}"), "agentCount", count]).await;
        let seen = view(&swarms, &swarm).await;
        assert_eq!(seen.agents.len(), 1001, "{count}");
        assert!(seen.agents.contains_key(agent_id(6000).as_str()), "{count}");
    }
    swarms.checkpoint(&swarm, &CheckpointOptions::default(), "test").await.unwrap();
    let saved = swarms.load_newest(&swarm).await.unwrap().unwrap();
    assert!(saved.state.get(&format!("agents:{}", agent_id(6000))).is_some());
}

#[tokio::test(start_paused = true)]
async fn children_live_on_and_go_with_their_swarm_whatever_it_counts() {
    let engine = VirtualEngine::start(1);
    let swarms = swarms(&engine).await;
    let swarm = running(&swarms, 1001).await;
    // The first thousand is full no more, and others are listed behind it all the same.
    let gone = agent_id(500);
    typed(&engine, &["HDEL", &format!("swarm:{swarm}:agents"), gone.as_str()]).await;
    typed(&engine, &["DEL", &format!("swarm:{swarm}:agents:{gone}")]).await;
    for count in ["3", "99999999999999"] {
        typed(&engine, &["HSET", &format!("swarm:{swarm}"), "agentCount", count]).await;
        engine.advance(Duration::from_secs(600)).await;
        assert!(swarms.stretch(&swarm).await.unwrap(), "{count}");
        let end = async |number| {
            let key = format!("swarm:{swarm}:agents:{}", agent_id(number));
            typed(&engine, &["PEXPIRETIME", &key]).await
        };
        assert_eq!(end(1000).await, end(0).await, "{count}");
        swarms.reconcile().await.unwrap();
    }
    swarms.complete(&swarm, "test").await.unwrap();
    swarms.checkpoint(&swarm, &CheckpointOptions::default(), "test").await.unwrap();
    assert!(swarms.remove(&swarm).await.unwrap().is_some());
    let left = typed(&engine, &["KEYS", &format!("swarm:{swarm}:agents*")]).await;
    assert_eq!(left, Reply::Array(Vec::new()));
}

#[tokio::test(start_paused = true)]
async fn a_task_behind_the_first_thousand_is_open_whatever_the_header_counts() {
    let engine = VirtualEngine::start(1);
    let swarms = swarms(&engine).await;
    let swarm = running(&swarms, 1).await;
    for number in 1..TASK {
        swarms.create_task(&swarm, &new_task(number, &[]), "test").await.unwrap();
        swarms.cancel_task(&swarm, &task_id(number), "test").await.unwrap();
    }
    swarms.create_task(&swarm, &new_task(TASK, &[]), "test").await.unwrap();
    let claim = swarms.claim(&swarm, &agent_id(0)).await.unwrap();
    let Claimed::Task(claim) = claim else { panic!("{claim:?}") };
    swarms.create_task(&swarm, &new_task(TASK + 1, &[TASK]), "test").await.unwrap();
    swarms.fail_task(&claim, false).await.unwrap();
    typed(&engine, &["HSET", &format!("swarm:{swarm}"), "taskCount", "7"]).await;
    typed(&engine, &["HDEL", &format!("swarm:{swarm}:tasks"), task_id(500).as_str()]).await;
    let open = swarms.complete(&swarm, "test").await;
    assert!(matches!(open, Err(OpError::Open { waiting: 1, under_way: 0 })), "{open:?}");
    assert_eq!(view(&swarms, &swarm).await.tasks.len() as u64, TASK);
}

/// So many members, all with one score.
async fn fill(engine: &VirtualEngine, key: &str, is_set: bool, members: impl Iterator<Item = String>) {
    let members: Vec<String> = members.collect();
    for some in members.chunks(1000) {
        let mut words = vec![if is_set { "SADD" } else { "ZADD" }, key];
        for member in some {
            words.extend((!is_set).then_some("1"));
            words.push(member);
        }
        typed(engine, &words).await;
    }
}

fn assert_full<T: std::fmt::Debug>(refused: Result<T, OpError>, list: &str) {
    let told = refused.unwrap_err();
    let is_named = matches!(&told, OpError::Crowded { list: named, most: 10_000 } if named == list);
    assert!(is_named && told.to_string().contains(list), "{told}");
}

#[tokio::test(start_paused = true)]
async fn a_list_of_tasks_or_of_deadlines_that_is_full_takes_no_more() {
    let engine = VirtualEngine::start(1);
    let swarms = swarms(&engine).await;
    let swarm = running(&swarms, 2).await;
    for number in 1..=2 {
        swarms.create_task(&swarm, &new_task(number, &[]), "test").await.unwrap();
    }
    let Claimed::Task(claim) = swarms.claim(&swarm, &agent_id(0)).await.unwrap() else { panic!("nothing") };
    swarms.fail_task(&claim, false).await.unwrap();
    let (ready, leases) = (format!("swarm:{swarm}:ready"), format!("swarm:{swarm}:leases"));
    fill(&engine, &ready, false, (10_000..19_999).map(|number| task_id(number).to_string())).await;
    let before = view(&swarms, &swarm).await;
    assert_full(swarms.create_task(&swarm, &new_task(3, &[]), "test").await, "ready");
    assert_full(swarms.create_task(&swarm, &new_task(3, &[2]), "test").await, "ready");
    assert_full(swarms.retry_task(&swarm, &claim.task, "test").await, "ready");
    assert_eq!(view(&swarms, &swarm).await, before, "nothing was changed");
    typed(&engine, &["ZREM", &ready, task_id(10_000).as_str()]).await;
    swarms.create_task(&swarm, &new_task(3, &[]), "test").await.unwrap();
    assert_full(swarms.create_task(&swarm, &new_task(4, &[]), "test").await, "ready");
    typed(&engine, &["ZREMRANGEBYSCORE", &ready, "1", "1"]).await;

    fill(&engine, &leases, false, (10_000..19_998).map(|number| agent_id(number).to_string())).await;
    let before = view(&swarms, &swarm).await;
    assert_full(swarms.register(&swarm, &new_agent(2), "test").await, "leases");
    assert_full(swarms.claim(&swarm, &agent_id(0)).await, "leases");
    assert_eq!(view(&swarms, &swarm).await, before, "nothing was changed");
    typed(&engine, &["ZREM", &leases, agent_id(10_000).as_str()]).await;
    swarms.claim(&swarm, &agent_id(0)).await.unwrap();
    assert_full(swarms.register(&swarm, &new_agent(2), "test").await, "leases");
}

#[tokio::test(start_paused = true)]
async fn lists_of_memories_that_are_full_take_no_more() {
    let engine = VirtualEngine::start(1);
    let swarms = swarms(&engine).await;
    let swarm = running(&swarms, 1).await;
    let put = async |number: u64, tag: Option<&str>| {
        let memory = NewMemory {
            kind: MemoryType::Knowledge,
            id: MemoryId::new(format!("mem_{number:08}")).unwrap(),
            agent: agent_id(0),
            content: "1".to_owned(),
            tags: tag.map(|tag| Tag::new(tag).unwrap()).into_iter().collect(),
        };
        swarms.put_memory(&swarm, &memory).await
    };
    let name = |number: u64| format!("knowledge:mem_{number:08}");
    let (records, tag) = (format!("swarm:{swarm}:records"), format!("swarm:{swarm}:tag#cache"));
    fill(&engine, &records, true, (10_000..19_999).map(|number| format!("memory:{}", name(number)))).await;
    assert_full(put(1, Some("cache")).await, "records");
    put(1, None).await.unwrap();
    assert_full(put(2, None).await, "records");
    put(1, None).await.unwrap();
    assert_full(put(1, Some("cache")).await, "records");
    let phase = NewPhase {
        id: PhaseId::new("phase_implement").unwrap(),
        name: "Implement".to_owned(),
        level: LoopLevel::new(3).unwrap(),
        tasks: Vec::new(),
        entry: Vec::new(),
        exit: Vec::new(),
    };
    assert_full(swarms.create_phase(&swarm, &phase, "test").await, "records");

    typed(&engine, &["DEL", &records]).await;
    put(1, Some("cache")).await.unwrap();
    fill(&engine, &tag, true, (10_000..19_999).map(name)).await;
    put(1, Some("cache")).await.unwrap();
    assert_full(put(2, Some("cache")).await, "tag#cache");
    put(2, Some("store")).await.unwrap();
}

/// Each of them is made ready in the script that completes the one they wait for.
#[tokio::test(start_paused = true)]
async fn as_many_tasks_may_wait_for_one_as_its_end_makes_ready_at_once() {
    let engine = VirtualEngine::start(1);
    let swarms = swarms(&engine).await;
    let swarm = running(&swarms, 1).await;
    swarms.create_task(&swarm, &new_task(1, &[]), "test").await.unwrap();
    for number in 2..=1001 {
        swarms.create_task(&swarm, &new_task(number, &[1]), "test").await.unwrap();
    }
    let refused = swarms.create_task(&swarm, &new_task(1002, &[1]), "test").await.unwrap_err();
    let list = format!("dependants of {}", task_id(1));
    assert!(matches!(&refused, OpError::Crowded { list: named, most: 1000 } if *named == list), "{refused}");
    let Claimed::Task(claim) = swarms.claim(&swarm, &agent_id(0)).await.unwrap() else { panic!("nothing") };
    assert_eq!(swarms.complete_task(&claim, "{}").await.unwrap(), 1000);
    assert_eq!(view(&swarms, &swarm).await.tasks.len(), 1001);
    swarms.create_task(&swarm, &new_task(1002, &[1]), "test").await.unwrap();
}
