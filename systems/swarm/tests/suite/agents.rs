//! Agents.

use keyplane_swarm::keys::Keyspace;
use keyplane_swarm::model::AgentStatus;
use keyplane_swarm::state::{AgentChange, OpError};
use keyplane_testing::{Place, every_store};

use crate::setup::{agent_id, naming, new_agent, new_swarm, running, swarm_id, swarms, view};

#[every_store(except(unix, tls))]
async fn an_agent_is_registered_once_and_listed(place: Place) {
    let swarms = swarms(&place).await;
    let swarm = running(&swarms, 2).await;
    let seen = view(&swarms, &swarm).await;
    assert_eq!(seen.field("agentCount"), "2");
    let line = &seen.agents[agent_id(1).as_str()];
    assert_eq!((line.status, line.confidence, line.role.as_str()), (AgentStatus::Idle, 0.0, "coder"));
    assert_eq!(line.task, None);
    let twice = swarms.register(&swarm, &new_agent(1), "test").await;
    assert!(matches!(twice, Err(OpError::Exists { .. })), "{twice:?}");
    let nowhere = swarms.register(&swarm_id(), &new_agent(1), "test").await;
    assert!(matches!(nowhere, Err(OpError::NoSwarm { .. })), "{nowhere:?}");
}

#[every_store(except(unix, tls))]
async fn an_agent_is_changed_by_legal_moves_and_versions(place: Place) {
    let swarms = swarms(&place).await;
    let swarm = running(&swarms, 1).await;
    let agent = agent_id(0);
    let change = AgentChange {
        status: Some(AgentStatus::Active),
        confidence: Some(0.8),
        expected: Some(1),
        ..AgentChange::default()
    };
    assert_eq!(swarms.update_agent(&swarm, &agent, &change, "test").await.unwrap().version, 2);
    let late = swarms.update_agent(&swarm, &agent, &change, "test").await;
    assert!(matches!(late, Err(OpError::Conflict { found: 2, .. })), "{late:?}");
    let done = AgentChange { status: Some(AgentStatus::Completed), ..AgentChange::default() };
    swarms.update_agent(&swarm, &agent, &done, "test").await.unwrap();
    let back = AgentChange { status: Some(AgentStatus::Idle), ..AgentChange::default() };
    let refused = swarms.update_agent(&swarm, &agent, &back, "test").await;
    assert!(matches!(&refused, Err(OpError::Move { from, .. }) if from == "completed"), "{refused:?}");
    let line = &view(&swarms, &swarm).await.agents[agent.as_str()];
    assert_eq!((line.status, line.confidence), (AgentStatus::Completed, 0.8));
    let stranger = swarms.heartbeat(&swarm, &agent_id(7)).await;
    assert!(matches!(stranger, Err(OpError::Unknown { .. })), "{stranger:?}");
}

/// The last deadline takes its key with it; one that comes back ends with the swarm again. The audit at the end would tell.
#[every_store(except(unix, tls))]
async fn a_deadline_that_comes_back_has_an_end(place: Place) {
    let swarms = swarms(&place).await;
    let swarm = running(&swarms, 1).await;
    let done = AgentChange { status: Some(AgentStatus::Completed), ..AgentChange::default() };
    let failed = AgentChange { status: Some(AgentStatus::Failed), ..AgentChange::default() };
    let idle = AgentChange { status: Some(AgentStatus::Idle), ..AgentChange::default() };
    let leases = Keyspace::new(naming(&place)).unwrap().leases(&swarm);
    for (change, is_waited_for) in [(&failed, false), (&idle, true), (&done, false)] {
        swarms.update_agent(&swarm, &agent_id(0), change, "test").await.unwrap();
        let waits: Option<f64> =
            place.raw(leases.as_str(), &["ZSCORE", leases.as_str(), agent_id(0).as_str()]);
        assert_eq!(waits.is_some(), is_waited_for);
        swarms.heartbeat(&swarm, &agent_id(0)).await.unwrap();
    }
}

#[every_store(except(unix, tls))]
async fn whoever_has_ended_is_waited_for_no_more_whatever_it_says(place: Place) {
    let swarms = swarms(&place).await;
    let swarm = running(&swarms, 2).await;
    let leases = Keyspace::new(naming(&place)).unwrap().leases(&swarm);
    for (number, status) in (0..).zip([AgentStatus::Completed, AgentStatus::Failed]) {
        let agent = agent_id(number);
        let change = AgentChange { status: Some(status), ..AgentChange::default() };
        let done = swarms.update_agent(&swarm, &agent, &change, "test").await.unwrap();
        let beat = swarms.heartbeat(&swarm, &agent).await.unwrap();
        assert_eq!(
            (done.version, beat.version),
            (2, 2),
            "a beat makes no version, and tells the one there is"
        );
        let waits: Option<f64> = place.raw(leases.as_str(), &["ZSCORE", leases.as_str(), agent.as_str()]);
        assert_eq!(waits, None);
        let line = &view(&swarms, &swarm).await.agents[agent.as_str()];
        assert_eq!((line.status, line.lease_end), (status, None));
    }
}

/// A hash holds a thousand fields, and a swarm may have more agents.
#[every_store(only(embedded, redis, cluster))]
async fn the_next_thousand_has_a_roster_of_its_own(place: Place) {
    let swarms = swarms(&place).await;
    let new = new_swarm();
    swarms.create(&new, "test").await.unwrap();
    let mut registering = tokio::task::JoinSet::new();
    for number in 0..1010 {
        let (swarms, swarm) = (swarms.clone(), new.id.clone());
        registering.spawn(async move { swarms.register(&swarm, &new_agent(number), "test").await });
    }
    while let Some(registered) = registering.join_next().await {
        registered.unwrap().unwrap();
    }
    let seen = view(&swarms, &new.id).await;
    assert_eq!((seen.agents.len(), seen.field("agentCount")), (1010, "1010"));
    // Whoever is listed there can be reached like the others.
    for number in [0, 500, 1009] {
        let change = AgentChange { confidence: Some(0.25), ..AgentChange::default() };
        swarms.update_agent(&new.id, &agent_id(number), &change, "test").await.unwrap();
        swarms.heartbeat(&new.id, &agent_id(number)).await.unwrap();
    }
    let seen = view(&swarms, &new.id).await;
    assert_eq!(seen.agents.values().filter(|line| line.confidence == 0.25).count(), 3);
}
