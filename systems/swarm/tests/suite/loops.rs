//! Phases, memories and consensus.

use std::collections::BTreeSet;
use std::time::Duration;

use keyplane_swarm::keys::{Keyspace, MemoryId, MemoryType, PhaseId, Round, Tag};
use keyplane_swarm::model::{AgentKind, AgentStatus, LoopLevel, PhaseStatus};
use keyplane_swarm::state::{
    AgentChange, Claimed, Decision, NewAgent, NewMemory, NewPhase, NewRound, OpError,
};
use keyplane_swarm::{SwarmId, Swarms};
use keyplane_testing::{Place, every_store};

use crate::setup::{agent_id, naming, new_agent, new_task, running, swarms, task_id, view};

fn phase(level: u64) -> NewPhase {
    NewPhase {
        id: PhaseId::new("phase_implement").unwrap(),
        name: "Implementation".to_owned(),
        level: LoopLevel::new(level).unwrap(),
        tasks: Vec::new(),
        entry: vec!["the design is agreed".to_owned()],
        exit: vec!["all tests pass".to_owned()],
    }
}

#[every_store(except(unix, tls))]
async fn a_phase_is_entered_and_left_when_its_criteria_hold(place: Place) {
    let swarms = swarms(&place).await;
    let swarm = running(&swarms, 1).await;
    for number in [1, 2] {
        swarms.create_task(&swarm, &new_task(number, &[]), "test").await.unwrap();
    }
    let new = NewPhase { tasks: vec![task_id(1), task_id(2)], ..phase(1) };
    swarms.create_phase(&swarm, &new, "test").await.unwrap();
    let twice = swarms.create_phase(&swarm, &new, "test").await;
    assert!(matches!(twice, Err(OpError::Exists { .. })), "{twice:?}");
    let early = swarms.move_phase(&swarm, &new.id, PhaseStatus::Active, &[], "test").await;
    assert!(matches!(&early, Err(OpError::Unmet { criteria, .. }) if *criteria == new.entry), "{early:?}");
    swarms.move_phase(&swarm, &new.id, PhaseStatus::Active, &new.entry, "test").await.unwrap();
    assert_eq!(view(&swarms, &swarm).await.field("currentPhase"), new.id.as_str());
    let Claimed::Task(claim) = swarms.claim(&swarm, &agent_id(0)).await.unwrap() else { panic!("nothing") };
    swarms.complete_task(&claim, "{}").await.unwrap();
    let untested = swarms.move_phase(&swarm, &new.id, PhaseStatus::Completed, &new.entry, "test").await;
    assert!(matches!(untested, Err(OpError::Unmet { .. })), "{untested:?}");
    swarms.move_phase(&swarm, &new.id, PhaseStatus::Completed, &new.exit, "test").await.unwrap();
    let ended = swarms.phase(&swarm, &new.id).await.unwrap();
    let metrics: serde_json::Value = serde_json::from_str(&ended["metrics"]).unwrap();
    assert_eq!((&metrics["taskCount"], &metrics["successRate"]), (&2.into(), &0.5.into()), "{metrics}");
    assert!(metrics["duration"].as_u64().is_some_and(|seconds| seconds < 60), "{metrics}");
    let back = swarms.move_phase(&swarm, &new.id, PhaseStatus::Active, &new.entry, "test").await;
    assert!(matches!(back, Err(OpError::Move { .. })), "{back:?}");
}

#[every_store(only(embedded, redis))]
async fn levels_two_and_three_run_ten_times(place: Place) {
    let swarms = swarms(&place).await;
    let swarm = running(&swarms, 0).await;
    let new = phase(3);
    swarms.create_phase(&swarm, &new, "test").await.unwrap();
    for _ in 0..10 {
        swarms.move_phase(&swarm, &new.id, PhaseStatus::Active, &new.entry, "test").await.unwrap();
        swarms.move_phase(&swarm, &new.id, PhaseStatus::Failed, &[], "test").await.unwrap();
    }
    let more = swarms.move_phase(&swarm, &new.id, PhaseStatus::Active, &new.entry, "test").await;
    assert!(matches!(more, Err(OpError::Runs { runs: 10, .. })), "{more:?}");
}

fn tags(names: &[&str]) -> BTreeSet<Tag> {
    names.iter().map(|name| Tag::new(*name).unwrap()).collect()
}

pub(crate) fn memory(id: &str, content: &str, names: &[&str]) -> NewMemory {
    NewMemory {
        kind: MemoryType::Knowledge,
        id: MemoryId::new(id).unwrap(),
        agent: agent_id(0),
        content: content.to_owned(),
        tags: tags(names),
    }
}

pub(crate) async fn found(swarms: &Swarms, swarm: &SwarmId, names: &[&str]) -> Vec<String> {
    let tags: Vec<Tag> = tags(names).into_iter().collect();
    let memories = swarms.search_memory(swarm, &tags).await.unwrap();
    memories.into_iter().map(|memory| memory.content).collect()
}

#[every_store(except(unix, tls))]
async fn a_memory_is_found_by_its_tags_and_no_others(place: Place) {
    let swarms = swarms(&place).await;
    let swarm = running(&swarms, 1).await;
    swarms
        .put_memory(&swarm, &memory("mem_jquery_old", r#""it is old""#, &["frontend", "legacy"]))
        .await
        .unwrap();
    swarms.put_memory(&swarm, &memory("mem_react_new", r#""it is new""#, &["frontend"])).await.unwrap();
    assert_eq!(found(&swarms, &swarm, &["frontend"]).await.len(), 2);
    assert_eq!(found(&swarms, &swarm, &["frontend", "legacy"]).await, [r#""it is old""#]);
    swarms.put_memory(&swarm, &memory("mem_jquery_old", r#""it is gone""#, &["history"])).await.unwrap();
    assert_eq!(found(&swarms, &swarm, &["legacy"]).await, [""; 0]);
    assert_eq!(found(&swarms, &swarm, &["history"]).await, [r#""it is gone""#]);
}

/// A swarm with so many validators, and one that implements.
async fn validators(swarms: &Swarms, count: u64) -> SwarmId {
    let swarm = running(swarms, 1).await;
    for number in 1..=count {
        let validator = NewAgent { kind: AgentKind::Validator, ..new_agent(number) };
        swarms.register(&swarm, &validator, "test").await.unwrap();
    }
    swarm
}

fn round(eligible: u64, iteration: u64) -> NewRound {
    NewRound {
        required: 0.9,
        eligible,
        lasts: Duration::from_secs(600),
        phase: None,
        iteration,
        most_tries: 10,
    }
}

#[every_store(except(unix, tls))]
async fn a_round_is_closed_by_the_rule_when_all_have_voted(place: Place) {
    let swarms = swarms(&place).await;
    let swarm = validators(&swarms, 3).await;
    let first = Round::new(swarms.open_round(&swarm, &round(3, 0), "test").await.unwrap()).unwrap();
    for (number, confidence) in [(1, 0.6), (2, 0.95)] {
        swarms.vote(&swarm, &agent_id(number), first, confidence, "I \"read\" it").await.unwrap();
    }
    let early = swarms.close_round(&swarm, first, 10, "test").await;
    assert!(matches!(early, Err(OpError::Early { .. })), "{early:?}");
    let outsider = swarms.vote(&swarm, &agent_id(0), first, 1.0, "").await;
    assert!(
        matches!(&outsider, Err(OpError::NoValidator { kind, .. }) if kind == "implementer"),
        "{outsider:?}"
    );
    let stranger = swarms.vote(&swarm, &agent_id(77), first, 1.0, "").await;
    assert!(matches!(stranger, Err(OpError::NoValidator { .. })), "{stranger:?}");
    // The last vote of an agent counts.
    assert_eq!(swarms.vote(&swarm, &agent_id(1), first, 0.9, "I read it again").await.unwrap(), 2);
    assert_eq!(swarms.vote(&swarm, &agent_id(3), first, 0.85, "").await.unwrap(), 3);
    let (tally, decision, _) = swarms.close_round(&swarm, first, 10, "test").await.unwrap();
    assert!(tally.is_achieved && (tally.score - 0.9).abs() < 1e-9, "{tally:?}");
    assert_eq!(decision, Decision::Proceed);
    let late = swarms.vote(&swarm, &agent_id(1), first, 0.1, "").await;
    assert!(matches!(&late, Err(OpError::Closed { status, .. }) if status == "achieved"), "{late:?}");
    let twice = swarms.close_round(&swarm, first, 10, "test").await;
    assert!(matches!(twice, Err(OpError::Closed { .. })), "{twice:?}");
}

#[every_store(except(unix, tls))]
async fn no_more_vote_than_are_eligible(place: Place) {
    let swarms = swarms(&place).await;
    let swarm = validators(&swarms, 3).await;
    let only = Round::new(swarms.open_round(&swarm, &round(1, 0), "test").await.unwrap()).unwrap();
    assert_eq!(swarms.vote(&swarm, &agent_id(1), only, 0.5, "").await.unwrap(), 1);
    for number in [2, 3] {
        let more = swarms.vote(&swarm, &agent_id(number), only, 0.95, "").await;
        assert!(matches!(&more, Err(OpError::Full { votes: 1, .. })), "{more:?}");
    }
    // Who is among them may still change its mind.
    assert_eq!(swarms.vote(&swarm, &agent_id(1), only, 0.95, "").await.unwrap(), 1);
    assert_eq!(swarms.round(&swarm, only).await.unwrap()["currentConfidence"], "0.95");
    let (tally, ..) = swarms.close_round(&swarm, only, 10, "test").await.unwrap();
    assert_eq!((tally.score, tally.is_achieved), (0.95, true));
}

#[every_store(except(unix, tls))]
async fn validators_that_have_left_do_not_vote(place: Place) {
    let swarms = swarms(&place).await;
    let swarm = validators(&swarms, 2).await;
    let number = Round::new(swarms.open_round(&swarm, &round(2, 0), "test").await.unwrap()).unwrap();
    for (agent, status) in [(1, AgentStatus::Failed), (2, AgentStatus::Completed)] {
        let change = AgentChange { status: Some(status), ..AgentChange::default() };
        swarms.update_agent(&swarm, &agent_id(agent), &change, "test").await.unwrap();
        let vote = swarms.vote(&swarm, &agent_id(agent), number, 0.9, "").await;
        assert!(matches!(&vote, Err(OpError::LeftVoter { .. })), "{vote:?}");
    }
    assert_eq!(swarms.round(&swarm, number).await.unwrap()["currentConfidence"], "0");
}

#[every_store(only(embedded, redis))]
async fn votes_fill_a_round_no_further_than_it_can_be_closed(place: Place) {
    let swarms = swarms(&place).await;
    let swarm = validators(&swarms, 40).await;
    let number = Round::new(swarms.open_round(&swarm, &round(40, 0), "test").await.unwrap()).unwrap();
    let (long, mut refused) = ("x".repeat(20_000), 0);
    for agent in 1..=40 {
        match swarms.vote(&swarm, &agent_id(agent), number, 0.9, &long).await {
            Ok(voted) => assert_eq!(voted, agent),
            Err(error) => {
                assert!(matches!(error, OpError::TooLarge { most: 524_288, .. }), "{error:?}");
                refused += 1;
            }
        }
    }
    assert!(refused > 20, "each is stored twice once the round is closed: {refused}");
    let bytes: usize = swarms.round(&swarm, number).await.unwrap().values().map(String::len).sum();
    assert!(bytes > 200_000 && 2 * bytes < 524_288, "{bytes}");
}

#[every_store(only(embedded, redis))]
async fn a_round_has_no_more_fields_than_the_contract_allows(place: Place) {
    let swarms = swarms(&place).await;
    let swarm = validators(&swarms, 1).await;
    let number = Round::new(swarms.open_round(&swarm, &round(2000, 0), "test").await.unwrap()).unwrap();
    let key = Keyspace::new(naming(&place)).unwrap().consensus(&swarm, number);
    // The round has eight of its own.
    for agent in 100..1091_u64 {
        let field = format!("vote:{}", agent_id(agent));
        place.raw::<i64>(key.as_str(), &["HSET", key.as_str(), &field, "{}"]);
    }
    let more = swarms.vote(&swarm, &agent_id(1), number, 0.9, "").await;
    assert!(matches!(&more, Err(OpError::Full { votes: 991, .. })), "{more:?}");
}

#[every_store(except(unix, tls))]
async fn a_failed_round_is_tried_again_until_a_person_is_asked(place: Place) {
    let swarms = swarms(&place).await;
    let swarm = validators(&swarms, 2).await;
    for (iteration, expected) in [(0, Decision::Retry), (1, Decision::Escalate)] {
        let number = swarms.open_round(&swarm, &round(2, iteration), "test").await.unwrap();
        assert_eq!(number, iteration + 1);
        let number = Round::new(number).unwrap();
        for agent in [1, 2] {
            swarms.vote(&swarm, &agent_id(agent), number, 0.5, "not yet").await.unwrap();
        }
        let (tally, decision, _) = swarms.close_round(&swarm, number, 2, "test").await.unwrap();
        assert_eq!((tally.score, tally.is_achieved, decision), (0.0, false, expected));
    }
}

#[every_store(only(embedded, redis, cluster))]
async fn votes_that_come_at_once_are_all_kept(place: Place) {
    let swarms = swarms(&place).await;
    let swarm = validators(&swarms, 30).await;
    let number = Round::new(swarms.open_round(&swarm, &round(30, 0), "test").await.unwrap()).unwrap();
    let mut voting = tokio::task::JoinSet::new();
    for agent in 1..=30 {
        let (swarms, swarm) = (swarms.clone(), swarm.clone());
        voting.spawn(async move { swarms.vote(&swarm, &agent_id(agent), number, 0.95, "").await.unwrap() });
    }
    let mut counts = BTreeSet::new();
    while let Some(count) = voting.join_next().await {
        counts.insert(count.unwrap());
    }
    assert_eq!(counts, (1..=30).collect::<BTreeSet<_>>());
    let (tally, ..) = swarms.close_round(&swarm, number, 10, "test").await.unwrap();
    assert!(tally.is_complete && tally.is_achieved, "{tally:?}");
}

/// As the seed has it: all votes in one field.
#[every_store(except(unix, tls))]
async fn votes_that_were_typed_into_one_field_count_when_the_round_is_closed(place: Place) {
    let swarms = swarms(&place).await;
    let swarm = validators(&swarms, 3).await;
    let key =
        |round: u64| Keyspace::new(naming(&place)).unwrap().consensus(&swarm, Round::new(round).unwrap());
    let typed = |round: u64, votes: &str| {
        let key = key(round);
        let open = [
            "HSET",
            key.as_str(),
            "requiredConfidence",
            "0.9",
            "currentConfidence",
            "0",
            "status",
            "pending",
        ];
        let _: i64 = place.raw(key.as_str(), &[&open[..], &["votes", votes]].concat());
        let _: i64 = place.raw(key.as_str(), &["EXPIRE", key.as_str(), "3600"]);
    };
    let vote = |agent: u64, confidence: f64| {
        format!(r#"{{"agentId":"{}","confidence":{confidence},"vote":"PASS"}}"#, agent_id(agent))
    };
    typed(1, &format!("[{},{}]", vote(1, 0.95), vote(2, 0.9)));
    let (tally, decision, _) = swarms.close_round(&swarm, Round::new(1).unwrap(), 3, "test").await.unwrap();
    assert!(tally.is_achieved && decision == Decision::Proceed, "{tally:?}");
    let closed = swarms.round(&swarm, Round::new(1).unwrap()).await.unwrap();
    let votes: serde_json::Value = serde_json::from_str(&closed["votes"]).unwrap();
    assert_eq!(votes.as_array().map(Vec::len), Some(2), "{votes}");

    // Of an agent that has voted as others do, that vote counts, beside those that were typed.
    typed(2, &format!("[{},{}]", vote(1, 0.1), vote(2, 0.9)));
    swarms.vote(&swarm, &agent_id(1), Round::new(2).unwrap(), 0.95, "I have looked").await.unwrap();
    let (tally, ..) = swarms.close_round(&swarm, Round::new(2).unwrap(), 3, "test").await.unwrap();
    assert!((tally.score - 0.925).abs() < 1e-9, "{tally:?}");

    // What cannot be read is not thrown away.
    typed(3, "three of four agreed");
    let refused = swarms.close_round(&swarm, Round::new(3).unwrap(), 3, "test").await;
    assert!(matches!(&refused, Err(OpError::Unreadable(what)) if what.contains("round 3")), "{refused:?}");
    let kept = swarms.round(&swarm, Round::new(3).unwrap()).await.unwrap();
    assert_eq!((kept["status"].as_str(), kept["votes"].as_str()), ("pending", "three of four agreed"));
}
