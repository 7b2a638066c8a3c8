//! What takes several steps is held up between any two of them, and something else happens there. On a server: the embedded
//! store answers at once, so nothing can come in between.

use std::time::Duration;

use keyplane_kit::checkpoint::Retention;
use keyplane_swarm::keys::{CheckpointId, Keyspace, Round};
use keyplane_swarm::model::{AgentKind, AgentStatus};
use keyplane_swarm::state::{
    AgentChange, CheckpointOptions, Claimed, From, NewAgent, NewRound, OpError, SwarmView,
};
use keyplane_swarm::{SwarmId, Swarms};
use keyplane_testing::{Kind, Place, VirtualServer, every_store, held_up};
use serde_json::Value;

use crate::recover::lose;
use crate::setup::{agent_id, naming, new_agent, new_task, running, swarms, task_id, view};

async fn change(swarms: &Swarms, swarm: &SwarmId, agent: u64, change: AgentChange) {
    swarms.update_agent(swarm, &agent_id(agent), &change, "test").await.unwrap();
}

fn sure(confidence: f64) -> AgentChange {
    AgentChange { confidence: Some(confidence), ..AgentChange::default() }
}

async fn save(swarms: &Swarms, swarm: &SwarmId, full: bool) -> String {
    let options = CheckpointOptions { full, ..CheckpointOptions::default() };
    swarms.checkpoint(swarm, &options, "test").await.unwrap().hash
}

/// More than the last checkpoint saw was not forgotten, if an increment comes to what a full one finds.
async fn nothing_is_forgotten(swarms: &Swarms, swarm: &SwarmId, waits: usize) {
    let chained = save(swarms, swarm, false).await;
    assert_eq!(chained, save(swarms, swarm, true).await, "held up after {waits}");
}

#[every_store(only(redis), in_turn)]
async fn what_changes_while_a_checkpoint_is_made_is_in_the_next(place: Place) {
    let swarms = swarms(&place).await;
    for full in [false, true] {
        let mut points = 0;
        for waits in 0.. {
            let swarm = running(&swarms, 3).await;
            save(&swarms, &swarm, true).await;
            change(&swarms, &swarm, 0, sure(0.25)).await;
            let options = CheckpointOptions { full, ..CheckpointOptions::default() };
            let saving = swarms.checkpoint(&swarm, &options, "test");
            let meanwhile = async {
                change(&swarms, &swarm, 0, sure(0.5)).await;
                change(&swarms, &swarm, 1, sure(0.75)).await;
            };
            let Some((saved, ())) = held_up(saving, waits, meanwhile).await else { break };
            saved.unwrap();
            nothing_is_forgotten(&swarms, &swarm, waits).await;
            points += 1;
        }
        assert!(points > 3, "{points}");
    }
}

/// Events are numbered anew after a loss: what a checkpoint of the life before has covered says nothing about these.
#[every_store(only(redis), in_turn)]
async fn a_checkpoint_of_a_life_that_is_lost_is_not_one_of_the_next(place: Place) {
    let swarms = swarms(&place).await;
    let mut points = 0;
    for waits in 0.. {
        let swarm = running(&swarms, 12).await;
        save(&swarms, &swarm, true).await;
        change(&swarms, &swarm, 0, sure(0.25)).await;
        let options = CheckpointOptions::default();
        let saving = swarms.checkpoint(&swarm, &options, "test");
        let meanwhile = async {
            lose(&place, &swarm);
            swarms.recover(&swarm, From::Newest, false, "test").await.unwrap();
            change(&swarms, &swarm, 1, sure(0.75)).await;
        };
        let Some((saved, ())) = held_up(saving, waits, meanwhile).await else { break };
        assert!(saved.is_ok(), "held up after {waits}: {saved:?}");
        nothing_is_forgotten(&swarms, &swarm, waits).await;
        points += 1;
    }
    assert!(points > 3, "{points}");
}

#[every_store(only(redis), in_turn)]
async fn what_is_pinned_while_others_are_removed_stays(place: Place) {
    let swarms = swarms(&place).await;
    let none = Retention { all_for: Duration::ZERO, then_one_each: Duration::from_secs(1_000_000_000) };
    let second = CheckpointId::new("checkpoint_00000002").unwrap();
    let mut pinned_first = 0;
    for waits in 0.. {
        let swarm = running(&swarms, 1).await;
        for full in [true, false, true] {
            save(&swarms, &swarm, full).await;
        }
        let pruning = swarms.prune(&swarm, none);
        let Some((pruned, pinned)) = held_up(pruning, waits, swarms.pin(&swarm, &second, true)).await else {
            break;
        };
        pruned.unwrap();
        let loaded = swarms.load(&swarm, &second).await;
        assert_eq!(loaded.is_ok(), pinned.is_ok(), "held up after {waits}: {pinned:?}, {loaded:?}");
        pinned_first += u64::from(pinned.is_ok());
    }
    assert!(pinned_first > 1, "{pinned_first}");
}

#[every_store(only(redis), in_turn)]
async fn a_round_is_closed_over_the_votes_that_it_shows(place: Place) {
    let swarms = swarms(&place).await;
    let mut voted = 0;
    for waits in 0.. {
        let swarm = running(&swarms, 0).await;
        for number in 0..2 {
            let validator = NewAgent { kind: AgentKind::Validator, ..new_agent(number) };
            swarms.register(&swarm, &validator, "test").await.unwrap();
        }
        let new = NewRound {
            required: 0.9,
            eligible: 2,
            lasts: Duration::from_secs(600),
            phase: None,
            iteration: 0,
            most_tries: 10,
        };
        let round = Round::new(swarms.open_round(&swarm, &new, "test").await.unwrap()).unwrap();
        for number in 0..2 {
            swarms.vote(&swarm, &agent_id(number), round, 0.95, "").await.unwrap();
        }
        let closing = swarms.close_round(&swarm, round, 3, "test");
        let other = agent_id(1);
        let voting = swarms.vote(&swarm, &other, round, 0.125, "On second thoughts.");
        let Some((closed, vote)) = held_up(closing, waits, voting).await else { break };
        let (tally, ..) = closed.unwrap();
        assert_eq!(tally.is_achieved, vote.is_err(), "held up after {waits}: {vote:?}");
        let shown = swarms.round(&swarm, round).await.unwrap();
        let own = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        let each: Vec<Value> =
            shown.iter().filter(|(field, _)| field.starts_with("vote:")).map(|(_, vote)| own(vote)).collect();
        assert_eq!(own(&shown["votes"]), Value::from(each), "held up after {waits}");
        voted += u64::from(vote.is_ok());
    }
    assert!(voted > 1, "{voted}");
}

#[tokio::test]
async fn a_task_whose_holder_is_back_in_time_stays_with_it() {
    let name = "held_up::a_task_whose_holder_is_back_in_time_stays_with_it";
    let Some(server) = VirtualServer::start_or_skip(name) else { return };
    let place = Place::new(Kind::Redis, server.url(), None);
    let swarms = swarms(&place).await;
    let mut kept = 0;
    for waits in 0.. {
        let swarm = running(&swarms, 1).await;
        swarms.create_task(&swarm, &new_task(1, &[]), "test").await.unwrap();
        let Claimed::Task(claim) = swarms.claim(&swarm, &agent_id(0)).await.unwrap() else {
            panic!("nothing")
        };
        server.advance(Duration::from_secs(91));
        let coming_back = async {
            swarms.heartbeat(&swarm, &agent_id(0)).await.unwrap();
            swarms.task(&swarm, &task_id(1)).await.unwrap()["status"] == "in_progress"
        };
        let Some((back, is_held)) = held_up(swarms.take_back(&swarm, 10), waits, coming_back).await else {
            break;
        };
        assert_eq!(back.unwrap().is_empty(), is_held, "held up after {waits}");
        let completed = swarms.complete_task(&claim, "{}").await;
        assert_eq!(completed.is_ok(), is_held, "held up after {waits}: {completed:?}");
        kept += u64::from(is_held);
    }
    assert!(kept > 1, "{kept}");
}

#[every_store(only(redis), in_turn)]
async fn what_is_claimed_while_a_swarm_is_recovered_is_not_given_twice(place: Place) {
    let swarms = swarms(&place).await;
    let mut claimed = 0;
    for waits in 0.. {
        let swarm = running(&swarms, 3).await;
        for number in 0..2 {
            swarms.create_task(&swarm, &new_task(number, &[]), "test").await.unwrap();
        }
        let recovering = swarms.recover(&swarm, From::Newest, false, "test");
        let agent = agent_id(0);
        let Some((recovered, claim)) = held_up(recovering, waits, swarms.claim(&swarm, &agent)).await else {
            break;
        };
        recovered.unwrap();
        let mut given = match claim {
            Ok(Claimed::Task(claim)) => vec![claim],
            Err(OpError::Waits { .. }) => Vec::new(),
            other => panic!("held up after {waits}: {other:?}"),
        };
        claimed += given.len();
        for number in 1..3 {
            if let Claimed::Task(claim) = swarms.claim(&swarm, &agent_id(number)).await.unwrap() {
                given.push(claim);
            }
        }
        for claim in &given {
            swarms.complete_task(claim, "{}").await.unwrap();
        }
        assert_eq!(given.len(), 2, "held up after {waits}: {given:?}");
    }
    assert!(claimed > 1, "{claimed}");
}

/// What a recovery may change.
fn seen(view: SwarmView) -> impl PartialEq + std::fmt::Debug {
    (view.status().to_owned(), view.agents, view.tasks)
}

#[every_store(only(redis), in_turn)]
async fn a_recovery_that_has_lost_its_lock_changes_nothing_more(place: Place) {
    let (swarms, elsewhere) = (swarms(&place).await, swarms(&place).await);
    let (mut lost, mut refused) = (0, 0);
    for waits in 0.. {
        let swarm = running(&swarms, 2).await;
        swarms.create_task(&swarm, &new_task(1, &[]), "test").await.unwrap();
        let lock = Keyspace::new(naming(&place)).unwrap().lock(&swarm);
        let recovering = swarms.recover(&swarm, From::Newest, false, "first");
        let meanwhile = async {
            let was_held = swarms.lock_status(&swarm).await.unwrap().holder.is_some();
            // As if it had run out.
            let _: i64 = place.raw(lock.as_str(), &["DEL", lock.as_str()]);
            elsewhere.recover(&swarm, From::Newest, false, "second").await.unwrap();
            // One that is at work, whatever the first recovery knows.
            let busy = AgentChange { status: Some(AgentStatus::Busy), ..AgentChange::default() };
            change(&elsewhere, &swarm, 0, busy).await;
            was_held.then_some(seen(view(&elsewhere, &swarm).await))
        };
        let Some((outcome, before)) = held_up(recovering, waits, meanwhile).await else { break };
        let Some(before) = before else { continue };
        assert_eq!(seen(view(&swarms, &swarm).await), before, "held up after {waits}: {outcome:?}");
        lost += 1;
        refused += u64::from(matches!(outcome, Err(OpError::Fenced { .. })));
    }
    assert!(lost > 3 && refused > 3, "{lost}, {refused}");
}
