//! The seed's examples, typed into redis-cli while the system runs, and what was typed read by the system.
//!
//! On a server of its own and without a namespace: the names are the seed's, letter by letter.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::{Command, Stdio};

use keyplane_key::Naming;
use keyplane_store::{Options, Store};
use keyplane_swarm::keys::{MemoryId, MemoryType, PhaseId, Round, Status, TaskId};
use keyplane_swarm::model::AgentStatus;
use keyplane_swarm::state::{CheckpointOptions, Claimed, From, NewSwarm, SwarmChange};
use keyplane_swarm::{AgentId, Settings, SwarmId, Swarms};
use keyplane_testing::{Program, Server};

use crate::setup::{new_agent, new_swarm, new_task, run, view};

/// The swarm of the seed's examples.
const SWARM: &str = "swarm_abc123def456";

/// The seed's transaction, as it stands there.
const BLOCK: &str = r#"
MULTI
HSET swarm:swarm123 status "running"
HSET swarm:swarm123 updatedAt "2025-01-08T10:30:00Z"
ZADD swarm:index:active 1704715800 "swarm123"
EXEC
"#;

struct Running {
    server: Server,
    swarms: Swarms,
}

impl Running {
    async fn start() -> Self {
        let server = Server::start(Program::Redis, &keyplane_testing::Settings::tcp());
        let store = Store::open(&server.url(), Options::default()).await.expect("a store");
        let swarms = Swarms::new(&store, Naming::new("", false).unwrap(), Settings::default()).unwrap();
        Self { server, swarms }
    }

    /// What redis-cli answers, line by line.
    fn typed(&self, lines: &str) -> Vec<String> {
        let mut cli = Command::new("redis-cli")
            .args(["-p", &self.server.port().to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("redis-cli, which comes with redis-server");
        cli.stdin.take().unwrap().write_all(format!("{}\n", lines.trim()).as_bytes()).unwrap();
        let output = cli.wait_with_output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().lines().map(str::to_owned).collect()
    }

    /// Of HGETALL.
    fn fields(&self, key: &str) -> BTreeMap<String, String> {
        let lines = self.typed(&format!("HGETALL {key}"));
        lines.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect()
    }

    /// The seed's swarm, with two agents and two tasks.
    async fn example(&self) -> SwarmId {
        let new = NewSwarm { id: SwarmId::new(SWARM).unwrap(), ..new_swarm() };
        self.swarms.create(&new, "test").await.unwrap();
        for number in 1..=2 {
            self.swarms.register(&new.id, &new_agent(number), "test").await.unwrap();
            self.swarms.create_task(&new.id, &new_task(number, &[]), "test").await.unwrap();
        }
        run(&self.swarms, &new.id).await;
        new.id
    }
}

/// A pause of what is at that version.
fn pause(version: u64) -> SwarmChange {
    SwarmChange { status: Some(Status::Paused), expected: Some(version), ..SwarmChange::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_seeds_questions_are_answered_on_a_running_system() {
    let running = Running::start().await;
    let swarm = running.example().await;
    let mut agents = running.typed(&format!("KEYS swarm:{SWARM}:agents:*"));
    agents.sort();
    let key = |number: u64| format!("swarm:{SWARM}:agents:agent_{number:08}");
    assert_eq!(agents, [key(1), key(2)], "agents, and nothing of ours beside them");
    let agent = running.fields(&key(1));
    for (field, value) in
        [("role", "coder"), ("type", "implementer"), ("status", "idle"), ("confidence", "0")]
    {
        assert_eq!(agent.get(field).map(String::as_str), Some(value), "{agent:?}");
    }
    let task = running.fields(&format!("swarm:{SWARM}:tasks:task_00000001"));
    assert_eq!((task["title"].as_str(), task["status"].as_str()), ("Task 1", "pending"));
    assert_eq!(running.fields(&format!("swarm:{SWARM}"))["status"], "running");

    let made = running.swarms.checkpoint(&swarm, &CheckpointOptions::default(), "test").await.unwrap();
    let key = format!("swarm:{SWARM}:recovery:{}", made.id);
    let told = running.typed(&format!("HMGET {key} timestamp confidence stateHash"));
    assert_eq!(told, [made.at.as_str(), "0", made.hash.as_str()]);
    let lives: u64 = running.typed(&format!("TTL {key}"))[0].parse().unwrap();
    assert!((604_790..=604_800).contains(&lives), "seven days, not {lives} s");
}

/// `swarm123` is shorter than the seed's own pattern asks for: such ids are read, and nothing is written under them.
#[tokio::test(flavor = "multi_thread")]
async fn a_swarm_typed_under_the_seeds_short_id_is_read_and_not_written() {
    let running = Running::start().await;
    assert_eq!(running.typed(BLOCK), ["OK", "QUEUED", "QUEUED", "QUEUED", "1", "1", "1"]);
    let short = SwarmId::from_store("swarm123").unwrap();
    let seen = view(&running.swarms, &short).await;
    assert_eq!((seen.status(), seen.version()), ("running", 0));
    assert_eq!(seen.field("updatedAt"), "2025-01-08T10:30:00Z");
    assert_eq!((seen.agents.len(), seen.tasks.len()), (0, 0));
    let refused = running.swarms.update(&short, &pause(0), "test").await.unwrap_err().to_string();
    assert!(refused.contains("an id of an old shape, which may only be read"), "{refused}");
    assert_eq!(running.fields("swarm:swarm123").len(), 2, "as it was typed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_swarm_typed_with_the_seeds_transaction_goes_on_like_others() {
    let running = Running::start().await;
    assert_eq!(running.typed(&BLOCK.replace("swarm123", SWARM)).len(), 7);
    let swarm = SwarmId::new(SWARM).unwrap();
    assert_eq!(view(&running.swarms, &swarm).await.status(), "running");
    // From its first change on it has what they have: a version, and an end.
    running.swarms.update(&swarm, &pause(0), "test").await.unwrap();
    let seen = view(&running.swarms, &swarm).await;
    assert_eq!((seen.status(), seen.version()), ("paused", 1));
    let lives: i64 = running.typed(&format!("TTL swarm:{SWARM}"))[0].parse().unwrap();
    assert!((3595..=3600).contains(&lives), "{lives} s");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_seeds_transaction_on_a_running_swarm_is_an_update_like_others() {
    let running = Running::start().await;
    let swarm = running.example().await;
    assert_eq!(running.typed(&BLOCK.replace("swarm123", SWARM)).len(), 7);
    let seen = view(&running.swarms, &swarm).await;
    assert_eq!((seen.status(), seen.field("updatedAt")), ("running", "2025-01-08T10:30:00Z"));
    assert_eq!((seen.agents.len(), seen.tasks.len()), (2, 2), "what it says nothing of is as it was");
    running.swarms.heartbeat(&swarm, &new_agent(1).id).await.unwrap();
    // It names no version, so a change that does still meets the one it was made for.
    running.swarms.update(&swarm, &pause(seen.version()), "test").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_typed_agent_is_listed_once_it_says_something_and_works() {
    let running = Running::start().await;
    let swarm = running.example().await;
    let fields = "role coder type implementer status idle confidence 0.4";
    assert_eq!(running.typed(&format!("HSET swarm:{SWARM}:agents:agent_dev00001 {fields}")), ["4"]);
    let agent = AgentId::new("agent_dev00001").unwrap();
    running.swarms.heartbeat(&swarm, &agent).await.unwrap();
    let seen = view(&running.swarms, &swarm).await;
    let line = &seen.agents[agent.as_str()];
    assert_eq!((line.status, line.confidence, line.role.as_str()), (AgentStatus::Idle, 0.4, "coder"));
    let claimed = running.swarms.claim(&swarm, &agent).await.unwrap();
    let Claimed::Task(claim) = claimed else { panic!("{claimed:?}") };
    running.swarms.complete_task(&claim, "{}").await.unwrap();
    let seen = view(&running.swarms, &swarm).await;
    assert_eq!(seen.tasks[claim.task.as_str()].agent.as_deref(), Some(agent.as_str()));
}

/// The contract has no word for the first one's status; the second one's role has the sign that parts a line.
#[tokio::test(flavor = "multi_thread")]
async fn agents_typed_with_words_of_their_own_are_listed_as_far_as_they_can_be_read() {
    let running = Running::start().await;
    let swarm = running.example().await;
    for (agent, role, status) in [("agent_typed001", "coder", "working"), ("agent_typed002", "a|b", "idle")] {
        let fields = format!("role {role} type implementer status {status} confidence high");
        assert_eq!(running.typed(&format!("HSET swarm:{SWARM}:agents:{agent} {fields}")), ["4"]);
        running.swarms.heartbeat(&swarm, &AgentId::new(agent).unwrap()).await.unwrap();
    }
    let seen = view(&running.swarms, &swarm).await;
    let line = |agent: &str| {
        let line = &seen.agents[agent];
        (line.status, line.confidence, line.role.clone())
    };
    assert_eq!(line("agent_typed001"), (AgentStatus::Active, 0.0, "coder".to_owned()));
    assert_eq!(line("agent_typed002"), (AgentStatus::Idle, 0.0, "a_b".to_owned()));
    assert_eq!((seen.agents.len(), seen.field("agentCount"), seen.damaged.len()), (4, "4", 0));
    let typed = running.fields(&format!("swarm:{SWARM}:agents:agent_typed001"));
    assert_eq!(typed["status"], "working", "what was typed stays");
    assert_saved(&running, &swarm, &["agents:agent_typed001", "agents:agent_typed002"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_that_nobody_can_read_is_told_by_name_and_hides_nothing_else() {
    let running = Running::start().await;
    let swarm = running.example().await;
    let lines = [("agents", "agent_00000001", "working|0.4|||coder"), ("tasks", "task_00000001", "what")];
    for (roster, id, line) in lines {
        assert_eq!(running.typed(&format!("HSET swarm:{SWARM}:{roster} {id} {line}")), ["0"]);
    }
    let seen = view(&running.swarms, &swarm).await;
    let names = ["agents:agent_00000001", "tasks:task_00000001"];
    assert!(seen.damaged.keys().eq(names.iter()), "{:?}", seen.damaged);
    assert!(seen.damaged[names[0]].to_string().contains("working"), "{:?}", seen.damaged);
    assert_eq!((seen.agents.len(), seen.tasks.len()), (1, 1));
    assert_saved(&running, &swarm, &names).await;
    // Its next sign of life mends the line.
    running.swarms.heartbeat(&swarm, &new_agent(1).id).await.unwrap();
    let seen = view(&running.swarms, &swarm).await;
    assert_eq!((seen.agents.len(), seen.damaged.len()), (2, 1));
}

/// A checkpoint has records of these names, and the swarm can be recovered from it.
async fn assert_saved(running: &Running, swarm: &SwarmId, names: &[&str]) {
    running.swarms.checkpoint(swarm, &CheckpointOptions::default(), "test").await.unwrap();
    let saved = running.swarms.load_newest(swarm).await.unwrap().unwrap();
    for name in names {
        assert!(saved.state.get(name).is_some(), "{name}");
    }
    running.swarms.recover(swarm, From::Newest, true, "test").await.unwrap();
}

/// Under the ids of the seed's own examples, which are shorter than its patterns ask for.
const EXAMPLES: &str = r#"
HSET swarm:swarm_abc123def456:agents:agent_dev001 role coder type implementer status busy confidence 0.8 currentTask task_api_002
HSET swarm:swarm_abc123def456:agents:agent_test002 role tester type validator status idle confidence 0.5
HSET swarm:swarm_abc123def456:tasks:task_api_002 title API description "An interface" type implementation status in_progress priority high assignedAgent agent_dev001 progress 40
HSET swarm:swarm_abc123def456:phases:phase_1 name Build status active loopLevel 3
HSET swarm:swarm_abc123def456:memory:knowledge:mem_jquery agentId agent_dev001 content '{"version":3}' timestamp 2025-01-08T10:30:00Z
HSET swarm:swarm_abc123def456:consensus:1 requiredConfidence 0.9 currentConfidence 0.5 status pending
HSET swarm:swarm_abc123def456:recovery:checkpoint_phase1 timestamp 2025-01-08T10:30:00Z phase phase_1 confidence 0.85 stateHash ab
ZADD swarm:swarm_abc123def456:performance:latency 1736332200000 1736332200000:42
"#;

#[tokio::test(flavor = "multi_thread")]
async fn what_was_typed_under_the_seeds_own_examples_is_read() {
    let running = Running::start().await;
    let swarm = running.example().await;
    assert_eq!(running.typed(EXAMPLES).len(), 8);
    let swarms = &running.swarms;
    let agent = swarms.agent(&swarm, &AgentId::from_store("agent_dev001").unwrap()).await.unwrap();
    assert_eq!((agent["role"].as_str(), agent["currentTask"].as_str()), ("coder", "task_api_002"));
    let task = swarms.task(&swarm, &TaskId::from_store("task_api_002").unwrap()).await.unwrap();
    assert_eq!((task["status"].as_str(), task["progress"].as_str()), ("in_progress", "40"));
    let phase = swarms.phase(&swarm, &PhaseId::from_store("phase_1").unwrap()).await.unwrap();
    assert_eq!(phase["loopLevel"], "3");
    let memory = MemoryId::from_store("mem_jquery").unwrap();
    let memory = swarms.memory(&swarm, MemoryType::Knowledge, &memory).await.unwrap().unwrap();
    assert_eq!(memory.content, r#"{"version":3}"#);
    let round = swarms.round(&swarm, Round::new(1).unwrap()).await.unwrap();
    assert_eq!(round["requiredConfidence"], "0.9");
    let listed = swarms.checkpoints(&swarm).await.unwrap();
    assert_eq!(listed.iter().map(|one| one.id.as_str()).collect::<Vec<_>>(), ["checkpoint_phase1"]);
    let typed = running.typed(&format!("ZRANGE swarm:{SWARM}:performance:latency 0 -1 WITHSCORES"));
    assert_eq!(typed, ["1736332200000:42", "1736332200000"]);
}
