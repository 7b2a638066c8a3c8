//! The swarms that everything is measured on: running, with agents of all roles, and tasks that wait, are worked on, and are
//! done.

use keyplane_bench::rig::Rig;
use keyplane_key::Naming;
use keyplane_swarm::keys::{Keyspace, Status};
use keyplane_swarm::model::{AgentKind, Mode, Priority, Strategy, TaskKind};
use keyplane_swarm::state::{Claimed, NewAgent, NewSwarm, NewTask, SwarmChange};
use keyplane_swarm::{AgentId, Role, Settings, SwarmId, Swarms, TaskId};
use serde_json::json;

use crate::Size;
use crate::words::Texts;

/// Swarms that are filled at the same time.
const AT_ONCE: usize = 16;

/// As the bench signs what it does.
pub(crate) const BY: &str = "bench";

const ROLES: [&str; 6] = ["coder", "tester", "reviewer", "architect", "researcher", "backend-dev"];
const EXPERIENCE: [&str; 4] = ["junior", "mid", "senior", "expert"];

pub(crate) struct Fleet {
    pub(crate) swarms: Swarms,
    pub(crate) keyspace: Keyspace,
    pub(crate) ids: Vec<SwarmId>,
    pub(crate) size: Size,
}

impl Fleet {
    pub(crate) async fn fill(rig: &Rig, size: Size) -> Self {
        // Names as the seed has them.
        let naming = Naming::new("", false).unwrap();
        let swarms = Swarms::new(&rig.store, naming.clone(), Settings::default()).unwrap();
        let ids: Vec<SwarmId> =
            (0..size.swarms).map(|number| SwarmId::new(format!("swarm_{number:08}")).unwrap()).collect();
        let mut filling = Vec::new();
        for first in 0..AT_ONCE.min(ids.len()) {
            let (swarms, ids) = (swarms.clone(), ids.clone());
            filling.push(tokio::spawn(async move {
                for number in (first..ids.len()).step_by(AT_ONCE) {
                    fill(&swarms, &ids[number], size, &mut Texts::new(number as u64)).await;
                }
            }));
        }
        for filled in filling {
            filled.await.unwrap();
        }
        Self { swarms, keyspace: Keyspace::new(naming).unwrap(), ids, size }
    }
}

pub(crate) fn agent_id(number: u64) -> AgentId {
    AgentId::new(format!("agent_{number:08}")).unwrap()
}

pub(crate) fn task_id(number: u64) -> TaskId {
    TaskId::new(format!("task_{number:08}")).unwrap()
}

/// What an agent says about itself.
pub(crate) fn metadata(texts: &mut Texts) -> String {
    let capabilities: Vec<String> = (0..3).map(|_| texts.sentence(1)).collect();
    let second = texts.below(60);
    json!({
        "specialization": texts.sentence(4),
        "experience": texts.one_of(&EXPERIENCE),
        "capabilities": capabilities,
        "lastActive": format!("2025-01-08T10:{:02}:{second:02}Z", texts.below(60)),
        "responseTime": texts.below(5000),
    })
    .to_string()
}

async fn fill(swarms: &Swarms, swarm: &SwarmId, size: Size, texts: &mut Texts) {
    let objective = json!({ "description": texts.sentence(20), "type": "feature", "priority": "high" });
    let new = NewSwarm {
        id: swarm.clone(),
        strategy: Strategy::Development,
        mode: Mode::Hierarchical,
        objective: objective.to_string(),
    };
    swarms.create(&new, BY).await.unwrap();
    let run = SwarmChange { status: Some(Status::Running), ..SwarmChange::default() };
    swarms.update(swarm, &run, BY).await.unwrap();
    for number in 0..size.agents {
        let new = NewAgent {
            id: agent_id(number),
            role: Role::new(texts.one_of(&ROLES)).unwrap(),
            kind: texts.one_of(AgentKind::ALL),
            metadata: Some(metadata(texts)),
        };
        swarms.register(swarm, &new, BY).await.unwrap();
    }
    for number in 0..size.tasks {
        let new = NewTask {
            id: task_id(number),
            title: texts.sentence(6),
            description: format!("{}, see {} and #{}", texts.sentence(24), texts.path(), texts.below(9000)),
            kind: texts.one_of(TaskKind::ALL),
            priority: texts.one_of(Priority::ALL),
            dependencies: Vec::new(),
        };
        swarms.create_task(swarm, &new, BY).await.unwrap();
    }
    // A third waits, a third is under way, a third is done.
    for number in 0..(size.tasks * 2 / 3).min(size.agents) {
        let Claimed::Task(claim) = swarms.claim(swarm, &agent_id(number)).await.unwrap() else { return };
        if number % 2 == 0 {
            swarms.progress(&claim, texts.below(100) as f64).await.unwrap();
            continue;
        }
        let result = json!({ "commit": texts.commit(), "files": [texts.path(), texts.path()], "summary": texts.sentence(12) });
        swarms.complete_task(&claim, &result.to_string()).await.unwrap();
    }
}
