//! Swarms for one test, and names that nobody else has.

use keyplane_key::Naming;
use keyplane_store::{Options, Store};
use keyplane_swarm::keys::Keyspace;
use keyplane_swarm::model::{AgentKind, Mode, Priority, Strategy, TaskKind};
use keyplane_swarm::state::{NewAgent, NewSwarm, NewTask, SwarmChange, SwarmView};
use keyplane_swarm::{AgentId, Role, Settings, SwarmId, Swarms, TaskId};
use keyplane_testing::Place;

pub(crate) const OBJECTIVE: &str = r#"{"description":"Log people in","type":"feature","priority":"high"}"#;

pub(crate) fn naming(place: &Place) -> Naming {
    Naming::new(place.namespace.clone(), place.hash_tags).unwrap()
}

/// As one process sees them: its own connection.
pub(crate) async fn swarms(place: &Place) -> Swarms {
    place.contract(Keyspace::SOURCE);
    let store = Store::open(&place.url, Options::default()).await.expect("a store");
    Swarms::new(&store, naming(place), Settings::default()).unwrap()
}

pub(crate) fn swarm_id() -> SwarmId {
    SwarmId::new(format!("swarm_{:016x}", fastrand::u64(..))).unwrap()
}

pub(crate) fn agent_id(number: u64) -> AgentId {
    AgentId::new(format!("agent_{number:08}")).unwrap()
}

pub(crate) fn task_id(number: u64) -> TaskId {
    TaskId::new(format!("task_{number:08}")).unwrap()
}

pub(crate) fn new_swarm() -> NewSwarm {
    NewSwarm {
        id: swarm_id(),
        strategy: Strategy::Development,
        mode: Mode::Hierarchical,
        objective: OBJECTIVE.to_owned(),
    }
}

pub(crate) fn new_agent(number: u64) -> NewAgent {
    NewAgent {
        id: agent_id(number),
        role: Role::new("coder").unwrap(),
        kind: AgentKind::Implementer,
        metadata: None,
    }
}

pub(crate) fn new_task(number: u64, dependencies: &[u64]) -> NewTask {
    NewTask {
        id: task_id(number),
        title: format!("Task {number}"),
        description: "Something to do.".to_owned(),
        kind: TaskKind::Implementation,
        priority: Priority::Medium,
        dependencies: dependencies.iter().map(|number| task_id(*number)).collect(),
    }
}

/// A swarm that runs, with so many agents.
pub(crate) async fn running(swarms: &Swarms, agents: u64) -> SwarmId {
    let new = new_swarm();
    swarms.create(&new, "test").await.unwrap();
    for number in 0..agents {
        swarms.register(&new.id, &new_agent(number), "test").await.unwrap();
    }
    run(swarms, &new.id).await;
    new.id
}

pub(crate) async fn run(swarms: &Swarms, swarm: &SwarmId) {
    let change = SwarmChange { status: Some("running".parse().unwrap()), ..SwarmChange::default() };
    swarms.update(swarm, &change, "test").await.unwrap();
}

pub(crate) async fn view(swarms: &Swarms, swarm: &SwarmId) -> SwarmView {
    swarms.read(swarm).await.unwrap().expect("it is there")
}

/// All keys that the store has of a swarm.
pub(crate) fn keys_of(place: &Place, swarm: &SwarmId) -> Vec<String> {
    let pattern = format!("{}*{swarm}*", place.namespace);
    let of_one = |mut master: redis::Connection| -> Vec<String> {
        redis::cmd("KEYS").arg(&pattern).query(&mut master).unwrap()
    };
    place.masters().into_iter().flat_map(of_one).collect()
}
