//! What the keeper, the lock and removal do, in virtual time.

use std::time::Duration;

use keyplane_engine::Reply;
use keyplane_key::Naming;
use keyplane_store::{Options, Store};
use keyplane_swarm::keys::{Keyspace, Round, Status};
use keyplane_swarm::run::{Counters, Keeper, Pace};
use keyplane_swarm::state::{
    CheckpointOptions, Claimed, Filter, From, Locked, NewRound, NewSwarm, OpError, SwarmChange,
};
use keyplane_swarm::{Settings, Swarms};
use keyplane_testing::{Program, Server, VirtualEngine};

use crate::setup::{agent_id, new_agent, new_swarm, new_task, running, task_id, view};
use crate::timed::swarms;

const SECOND: Duration = Duration::from_secs(1);

/// In steps, so that whoever sleeps wakes up in time.
async fn pass(engine: &VirtualEngine, lasts: Duration) {
    let mut left = lasts;
    while !left.is_zero() {
        let step = left.min(5 * SECOND);
        engine.advance(step).await;
        // A step of the keeper is many round trips.
        for _ in 0..200 {
            tokio::task::yield_now().await;
        }
        left -= step;
    }
}

async fn raw(engine: &VirtualEngine, words: &[&str]) -> Reply {
    let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
    engine.live().connect("test").execute(&words).await.unwrap()
}

fn text(reply: &Reply) -> String {
    match reply {
        Reply::Bulk(bytes) | Reply::Text(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        other => panic!("{other:?} is no text"),
    }
}

async fn listed(swarms: &Swarms, filter: &Filter) -> Vec<String> {
    swarms.list(filter).await.unwrap().iter().map(|listed| listed.id.to_string()).collect()
}

#[tokio::test(start_paused = true)]
async fn after_ten_idle_minutes_the_active_index_still_lists_every_live_swarm() {
    let engine = VirtualEngine::start(1);
    let swarms = swarms(&engine).await;
    let keeper = Keeper::start(swarms.clone(), Pace::default());
    let mut made = Vec::new();
    for _ in 0..5 {
        made.push(running(&swarms, 2).await.to_string());
    }
    pass(&engine, SECOND).await;
    let rebuilt = swarms.rebuilt();
    pass(&engine, 600 * SECOND).await;
    // Not through a list, which would rebuild it: the seed's own command.
    let Reply::Array(found) = raw(&engine, &["ZRANGE", "swarm:index:active", "0", "-1", "REV"]).await else {
        panic!("no list")
    };
    assert_eq!(found.len(), 5);
    made.sort();
    let mut all = listed(&swarms, &Filter { status: Some(Status::Running), ..Filter::default() }).await;
    all.sort();
    assert_eq!(all, made);
    assert_eq!(swarms.rebuilt(), rebuilt, "none has run out");
    keeper.stop().await;
    // Without a keeper the index runs out; nobody takes that for "none".
    engine.advance(301 * SECOND).await;
    assert_eq!(raw(&engine, &["EXISTS", "swarm:index:active"]).await, Reply::Int(0));
    assert_eq!(listed(&swarms, &Filter::default()).await.len(), 5);
}

#[tokio::test(start_paused = true)]
async fn a_keeper_gives_tasks_back_whose_holders_fell_silent() {
    let engine = VirtualEngine::start(1);
    let swarms = swarms(&engine).await;
    let keeper = Keeper::start(swarms.clone(), Pace::default());
    let swarm = running(&swarms, 2).await;
    swarms.create_task(&swarm, &new_task(1, &[]), "test").await.unwrap();
    // Many that never came back must not hide the task.
    for number in 100..150 {
        swarms.register(&swarm, &new_agent(number), "test").await.unwrap();
    }
    pass(&engine, 30 * SECOND).await;
    let Claimed::Task(claim) = swarms.claim(&swarm, &agent_id(0)).await.unwrap() else { panic!("nothing") };
    pass(&engine, 100 * SECOND).await;
    assert_eq!(keeper.counters().taken_back.get(), 1);
    let Claimed::Task(second) = swarms.claim(&swarm, &agent_id(1)).await.unwrap() else { panic!("nothing") };
    assert_eq!((second.task.clone(), second.attempt), (task_id(1), 1));
    assert!(matches!(swarms.complete_task(&claim, "{}").await, Err(OpError::Lost { .. })));
    keeper.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_keeper_closes_rounds_whose_time_is_over() {
    let engine = VirtualEngine::start(1);
    let swarms = swarms(&engine).await;
    let keeper = Keeper::start(swarms.clone(), Pace::default());
    let swarm = running(&swarms, 0).await;
    let mut opened = Vec::new();
    for minutes in [10, 1] {
        let lasts = Duration::from_secs(60 * minutes);
        // The second try of two.
        let new = NewRound { required: 0.9, eligible: 3, lasts, phase: None, iteration: 1, most_tries: 2 };
        opened.push(Round::new(swarms.open_round(&swarm, &new, "test").await.unwrap()).unwrap());
    }
    let statuses = async || {
        let mut found = Vec::new();
        for round in &opened {
            found.push(swarms.round(&swarm, *round).await.unwrap()["status"].clone());
        }
        found
    };
    pass(&engine, 50 * SECOND).await;
    assert_eq!(statuses().await, ["pending", "pending"]);
    pass(&engine, 20 * SECOND).await;
    assert_eq!(statuses().await, ["pending", "failed"]);
    pass(&engine, 540 * SECOND).await;
    assert_eq!(statuses().await, ["failed", "failed"], "one that is not the newest too");
    let round = swarms.round(&swarm, opened[0]).await.unwrap();
    assert_eq!((round["currentConfidence"].as_str(), round["votes"].as_str()), ("0", "[]"));
    assert!(round["decision"].contains("ESCALATE"), "{round:?}");
    assert_eq!((keeper.counters().closed.get(), keeper.counters().failed.get()), (2, 0));
    keeper.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_swarm_that_stays_active_outlives_its_first_horizon_with_all_its_children() {
    let engine = VirtualEngine::start(1);
    let swarms = swarms(&engine).await;
    let keeper = Keeper::start(swarms.clone(), Pace::default());
    let swarm = running(&swarms, 3).await;
    swarms.create_task(&swarm, &new_task(1, &[]), "test").await.unwrap();
    for _ in 0..30 {
        pass(&engine, 600 * SECOND).await;
        // One beats; the others say nothing for five hours.
        swarms.heartbeat(&swarm, &agent_id(0)).await.unwrap();
    }
    let keys = Keyspace::new(Naming::new("", false).unwrap()).unwrap();
    for number in 0..3 {
        let key = keys.agent(&swarm, &agent_id(number));
        assert_eq!(raw(&engine, &["EXISTS", key.as_str()]).await, Reply::Int(1), "{key}");
    }
    assert_eq!(view(&swarms, &swarm).await.tasks.len(), 1);
    let moved = keeper.counters().stretched.get();
    assert!((25..=61).contains(&moved), "{moved} times in five hours, and at most every five minutes");
    keeper.stop().await;
}

/// Whoever draws a horizon may have found the children before this one was born.
#[tokio::test(start_paused = true)]
async fn what_is_born_while_a_horizon_is_drawn_lives_until_that() {
    let engine = VirtualEngine::start(1);
    let swarms = swarms(&engine).await;
    let swarm = running(&swarms, 1).await;
    engine.advance(1000 * SECOND).await;
    swarms.register(&swarm, &new_agent(1), "test").await.unwrap();
    let keys = Keyspace::new(Naming::new("", false).unwrap()).unwrap();
    for key in [keys.agent(&swarm, &agent_id(1)), keys.roster(&swarm)] {
        assert_eq!(raw(&engine, &["TTL", key.as_str()]).await, Reply::Int(7200), "{key}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_paused_lock_holders_late_write_is_refused() {
    let engine = VirtualEngine::start(1);
    let swarms = swarms(&engine).await;
    let swarm = running(&swarms, 1).await;
    let take = async |owner: &str| swarms.lock(&swarm, owner).await.unwrap();
    let Locked::Taken { fence: first } = take("one").await else { panic!("it is free") };
    assert_eq!(take("two").await, Locked::Held { by: "one".to_owned() });
    let guarded = |fence: &str, confidence| SwarmChange {
        confidence: Some(confidence),
        fence: Some(fence.to_owned()),
        ..SwarmChange::default()
    };
    swarms.update(&swarm, &guarded(&first, 0.25), "one").await.unwrap();
    // Renewed, it outlives the thirty seconds.
    engine.advance(20 * SECOND).await;
    swarms.renew_lock(&swarm, "one", &first).await.unwrap();
    engine.advance(20 * SECOND).await;
    assert!(matches!(take("two").await, Locked::Held { .. }));

    // The first is paused, and another takes over.
    engine.advance(31 * SECOND).await;
    let Locked::Taken { fence: second } = take("two").await else { panic!("it ran out") };
    let before = view(&swarms, &swarm).await;
    for late in [
        swarms.update(&swarm, &guarded(&first, 0.75), "one").await.map(|_| ()),
        swarms.renew_lock(&swarm, "one", &first).await,
        swarms.unlock(&swarm, "one", &first).await,
        swarms.unlock(&swarm, "one", "nonsense").await,
    ] {
        assert!(matches!(&late, Err(OpError::Fenced { .. })), "{late:?}");
    }
    assert_eq!(view(&swarms, &swarm).await, before, "nothing was changed");
    swarms.update(&swarm, &guarded(&second, 0.5), "two").await.unwrap();
    assert_eq!(view(&swarms, &swarm).await.field("fence"), second);
    assert_eq!(swarms.lock_status(&swarm).await.unwrap().holder.as_deref(), Some("two"));
    swarms.unlock(&swarm, "two", &second).await.unwrap();
    // Given back, it guards nothing any more.
    let spent = swarms.update(&swarm, &guarded(&second, 1.0), "two").await;
    assert!(matches!(&spent, Err(OpError::Fenced { .. })), "{spent:?}");
    let nowhere = swarms.lock(&crate::setup::swarm_id(), "one").await;
    assert!(matches!(nowhere, Err(OpError::NoSwarm { .. })), "{nowhere:?}");
}

#[tokio::test(start_paused = true)]
async fn several_keepers_do_what_is_to_be_done_once() {
    let engine = VirtualEngine::start(1);
    let (swarms, others) = (swarms(&engine).await, swarms(&engine).await);
    let keepers = [&swarms, &others, &swarms].map(|swarms| Keeper::start(swarms.clone(), Pace::default()));
    let (silent, done) = (running(&swarms, 1).await, running(&others, 1).await);
    swarms.create_task(&silent, &new_task(1, &[]), "test").await.unwrap();
    let Claimed::Task(_) = swarms.claim(&silent, &agent_id(0)).await.unwrap() else { panic!("nothing") };
    others.complete(&done, "test").await.unwrap();
    pass(&engine, 900 * SECOND).await;
    let sum =
        |count: fn(&Counters) -> u64| keepers.iter().map(|keeper| count(&keeper.counters())).sum::<u64>();
    assert_eq!(sum(|counters| counters.taken_back.get()), 1);
    assert_eq!(sum(|counters| counters.removed.get()), 1);
    assert_eq!(sum(|counters| counters.failed.get()), 0);
    assert_eq!(view(&swarms, &silent).await.tasks[task_id(1).as_str()].attempt, 1);
    assert_eq!(listed(&swarms, &Filter::default()).await, [silent.as_str()]);
    for keeper in keepers {
        keeper.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_finished_swarm_is_saved_and_removed_and_none_of_its_keys_runs_out() {
    let engine = VirtualEngine::start(1);
    let swarms = swarms(&engine).await;
    let keeper = Keeper::start(swarms.clone(), Pace::default());
    let swarm = running(&swarms, 300).await;
    swarms.complete(&swarm, "test").await.unwrap();
    pass(&engine, 500 * SECOND).await;
    assert_eq!(view(&swarms, &swarm).await.status(), "completed", "it stays for a while");
    pass(&engine, 240 * SECOND).await;
    assert_eq!(keeper.counters().removed.get(), 1);
    let saved = swarms.load_newest(&swarm).await.unwrap().expect("it was saved before");
    assert_eq!(saved.state.get("header").unwrap().text("status"), Some("completed"));
    assert_eq!(swarms.read(&swarm).await.unwrap(), None);
    // Reconciled: the outbox, and what the indexes kept about it, are gone too.
    pass(&engine, 240 * SECOND).await;
    let Reply::Array(left) = raw(&engine, &["KEYS", &format!("*{swarm}*")]).await else { panic!("no list") };
    let mut left: Vec<String> = left.iter().map(text).collect();
    left.retain(|key| !key.contains(":checkpoints") && !key.contains(":recovery:"));
    assert_eq!(left, [""; 0]);
    let stats = text(&raw(&engine, &["INFO", "stats"]).await);
    assert!(stats.contains("expired_keys:0\r\n"), "{stats}");
    assert_eq!(keeper.counters().failed.get(), 0);
    keeper.stop().await;
    // Its checkpoints are there, and would bring back another swarm than the one that is meant.
    let again = swarms.create(&NewSwarm { id: swarm, ..new_swarm() }, "test").await;
    assert!(matches!(&again, Err(OpError::Remains { .. })), "{again:?}");
}

#[tokio::test(start_paused = true)]
async fn a_swarm_that_ran_out_hands_nothing_on_to_another_with_its_id() {
    let engine = VirtualEngine::start(1);
    let swarms = swarms(&engine).await;
    let swarm = running(&swarms, 1).await;
    engine.advance(3601 * SECOND).await;
    let again = NewSwarm { id: swarm.clone(), ..new_swarm() };
    let refused = swarms.create(&again, "test").await;
    assert!(matches!(&refused, Err(OpError::Remains { .. })), "{refused:?}");
    assert_eq!(swarms.read(&swarm).await.unwrap(), None);
    engine.advance(3601 * SECOND).await;
    swarms.create(&again, "test").await.unwrap();
    assert_eq!(view(&swarms, &swarm).await.agents.len(), 0);
}

/// Somebody has put something else under the key of each one's marks.
#[tokio::test(start_paused = true)]
async fn swarms_that_cannot_be_kept_keep_no_other_from_being_saved_or_removed() {
    let engine = VirtualEngine::start(1);
    let swarms = swarms(&engine).await;
    let (mut made, mut ended) = (Vec::new(), Vec::new());
    for number in 0..10 {
        let swarm = running(&swarms, 1).await;
        if number >= 5 {
            swarms.complete(&swarm, "test").await.unwrap();
        }
        if number % 5 > 0 {
            let key = format!("swarm:{swarm}:dirty");
            raw(&engine, &["DEL", &key]).await;
            raw(&engine, &["SET", &key, "mine", "PX", "7200000"]).await;
        } else if number >= 5 {
            ended.push(swarm);
        } else {
            made.push(swarm);
        }
    }
    let keeper = Keeper::start(swarms.clone(), Pace::default());
    pass(&engine, 40 * SECOND).await;
    for swarm in &made {
        assert!(swarms.load_newest(swarm).await.unwrap().is_some(), "{swarm} is saved");
    }
    pass(&engine, 800 * SECOND).await;
    for swarm in &ended {
        assert_eq!(swarms.read(swarm).await.unwrap(), None, "{swarm} is removed");
    }
    assert!(keeper.counters().failed.get() >= 8, "each is counted");
    keeper.stop().await;
}

#[tokio::test(start_paused = true)]
async fn notes_that_cannot_be_read_keep_no_others_from_the_indexes() {
    let engine = VirtualEngine::start(1);
    let swarms = swarms(&engine).await;
    // There is an index, which is not made anew from what swarms say.
    let first = running(&swarms, 1).await;
    swarms.feed_touched().await.unwrap();
    let mut healthy = vec![first.to_string()];
    for number in 0..12 {
        let swarm = running(&swarms, 1).await;
        if number % 2 == 0 {
            let key = format!("swarm:{swarm}:outbox");
            raw(&engine, &["DEL", &key]).await;
            raw(&engine, &["SET", &key, "mine", "PX", "7200000"]).await;
        } else {
            healthy.push(swarm.to_string());
        }
    }
    assert!(swarms.feed_touched().await.is_err(), "it is told");
    for swarm in healthy {
        let is_listed = raw(&engine, &["SISMEMBER", "swarm:index:status:running", &swarm]).await;
        assert_eq!(is_listed, Reply::Int(1), "{swarm}");
    }
}

/// A real server that is killed and comes back, with all it had: the keeper goes on.
#[tokio::test]
async fn a_keeper_lives_through_a_store_that_is_away() {
    let server = Server::start(Program::Redis, &keyplane_testing::Settings::tcp().line("appendonly yes"));
    let store = Store::open(&server.url(), Options::default()).await.unwrap();
    let swarms = Swarms::new(&store, Naming::new("", false).unwrap(), Settings::default()).unwrap();
    let mut pace = Pace::default();
    (pace.look, pace.reconcile) = (SECOND / 5, SECOND / 5);
    let keeper = Keeper::start(swarms.clone(), pace);
    let first = running(&swarms, 1).await;
    let until = async |what: &str, is_so: &dyn Fn(&Counters) -> bool| {
        for _ in 0..600 {
            if is_so(&keeper.counters()) {
                return;
            }
            tokio::time::sleep(SECOND / 20).await;
        }
        panic!("{what}: {:?}", keeper.counters());
    };
    until("it feeds", &|counters| counters.notes.get() > 0).await;
    server.kill();
    until("it meets the absence", &|counters| counters.failed.get() > 0).await;
    server.restart();
    let second = loop {
        let new = new_swarm();
        if swarms.create(&new, "test").await.is_ok() {
            break new.id;
        }
    };
    let notes = keeper.counters().notes.get();
    until("it goes on", &|counters| counters.notes.get() > notes).await;
    keeper.stop().await;
    let mut found = listed(&swarms, &Filter::default()).await;
    found.sort();
    let mut made = [first.to_string(), second.to_string()];
    made.sort();
    assert_eq!(found, made);
}

#[tokio::test(start_paused = true)]
async fn a_keeper_closes_old_rounds_behind_many_newer_ones() {
    let engine = VirtualEngine::start(1);
    let swarms = swarms(&engine).await;
    let swarm = running(&swarms, 0).await;
    let open = async |minutes: u64| {
        let lasts = Duration::from_secs(60 * minutes);
        let new = NewRound { required: 0.9, eligible: 3, lasts, phase: None, iteration: 0, most_tries: 10 };
        swarms.open_round(&swarm, &new, "test").await.unwrap()
    };
    // The first is open for long, and those behind it are over long before.
    open(15).await;
    for _ in 0..24 {
        open(1).await;
    }
    engine.advance(61 * SECOND).await;
    let keeper = Keeper::start(swarms.clone(), Pace::default());
    let pending = async || {
        let mut pending = Vec::new();
        for number in 1..=25 {
            let round = swarms.round(&swarm, Round::new(number).unwrap()).await.unwrap();
            pending.extend((round["status"] == "pending").then_some(number));
        }
        pending
    };
    pass(&engine, 10 * SECOND).await;
    assert_eq!(pending().await, [1]);
    pass(&engine, 900 * SECOND).await;
    assert_eq!(pending().await, [0; 0]);
    assert_eq!((keeper.counters().closed.get(), keeper.counters().failed.get()), (25, 0));
    keeper.stop().await;
}

/// Nobody comes until every index is gone, and all that is kept of a swarm but its checkpoints. How many are lost then.
async fn outage(engine: &VirtualEngine) -> keyplane_swarm::state::Lost {
    engine.advance(7300 * SECOND).await;
    let elsewhere = swarms(engine).await;
    let keeper = Keeper::start(elsewhere.clone(), Pace::default());
    pass(engine, 130 * SECOND).await;
    keeper.stop().await;
    elsewhere.lost().await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_swarm_that_ran_out_while_nobody_kept_anything_is_told_once() {
    let engine = VirtualEngine::start(1);
    let swarms = swarms(&engine).await;
    let keeper = Keeper::start(swarms.clone(), Pace::default());
    let (lost, done) = (running(&swarms, 2).await, running(&swarms, 1).await);
    swarms.complete(&done, "test").await.unwrap();
    pass(&engine, 60 * SECOND).await;
    keeper.stop().await;
    assert_eq!(swarms.lost().await.unwrap().count, 0);
    let found = outage(&engine).await;
    assert_eq!((found.count, found.last.as_deref()), (1, Some(lost.as_str())));
    assert!(found.ago.unwrap() < 200 * SECOND, "{found:?}");
    // It is the same loss the next time.
    assert_eq!(outage(&engine).await.count, 1);
    // Recovered, saved, and lost again it is another.
    let keeper = Keeper::start(swarms.clone(), Pace::default());
    swarms.recover(&lost, From::Newest, false, "test").await.unwrap();
    pass(&engine, 60 * SECOND).await;
    keeper.stop().await;
    assert_eq!(outage(&engine).await.count, 2);
}

#[tokio::test(start_paused = true)]
async fn how_a_swarm_ended_where_nobody_kept_it_is_known_by_its_newest_checkpoint() {
    let engine = VirtualEngine::start(1);
    let swarms = swarms(&engine).await;
    let moved = |status| SwarmChange { status: Some(status), ..SwarmChange::default() };
    let saved = async || {
        let swarm = running(&swarms, 1).await;
        let made = swarms.checkpoint(&swarm, &CheckpointOptions::default(), "test").await.unwrap();
        (format!("swarm:{swarm}:recovery:{}", made.id), swarm)
    };
    let ((completed_at, completed), (_, failed), (_, goes_on)) =
        (saved().await, saved().await, saved().await);
    for swarm in [&failed, &goes_on] {
        swarms.update(swarm, &moved(Status::Failed), "test").await.unwrap();
    }
    swarms.recover(&goes_on, From::Newest, false, "test").await.unwrap();
    swarms.complete(&completed, "test").await.unwrap();
    // Whoever completed it died before it could say so; who does it again is refused, and says so.
    assert_eq!(raw(&engine, &["HDEL", &completed_at, "ended"]).await, Reply::Int(1));
    let again = swarms.complete(&completed, "test").await;
    assert!(matches!(again, Err(OpError::Move { .. })), "{again:?}");
    assert_eq!(outage(&engine).await.count, 1, "the one that went on");

    let is_over = async || {
        let refused = swarms.recover(&completed, From::Newest, false, "test").await;
        assert!(
            matches!(&refused, Err(OpError::Over { status, .. }) if status == "completed"),
            "{refused:?}"
        );
    };
    is_over().await;
    raw(&engine, &["DEL", &format!("swarm:{completed}:checkpoints")]).await;
    is_over().await;
    for swarm in [&failed, &goes_on] {
        swarms.recover(swarm, From::Newest, false, "test").await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn what_somebody_typed_into_the_index_of_the_active_is_no_lost_swarm() {
    let engine = VirtualEngine::start(1);
    let swarms = swarms(&engine).await;
    let keeper = Keeper::start(swarms.clone(), Pace::default());
    let swarm = running(&swarms, 1).await;
    pass(&engine, SECOND).await;
    raw(&engine, &["ZADD", "swarm:index:active", "1704715800", "foo", "1704715800", "swarm_nobodyhasit"])
        .await;
    pass(&engine, 250 * SECOND).await;
    assert_eq!((keeper.counters().expired.get(), swarms.lost().await.unwrap().count), (0, 0));
    assert_eq!(listed(&swarms, &Filter::default()).await, [swarm.as_str()]);
    // One that was there is.
    pass(&engine, 3700 * SECOND).await;
    assert_eq!((keeper.counters().expired.get(), swarms.lost().await.unwrap().count), (1, 1));
    keeper.stop().await;
}

#[tokio::test(start_paused = true)]
async fn what_happens_is_saved_within_half_a_minute_and_nothing_else_is() {
    let engine = VirtualEngine::start(1);
    let swarms = swarms(&engine).await;
    let (busy, late) = (running(&swarms, 1).await, running(&swarms, 1).await);
    // Nobody kept them: what happened last is long ago, and was not saved.
    pass(&engine, 1200 * SECOND).await;
    let keeper = Keeper::start(swarms.clone(), Pace::default());
    let made = async |swarm| swarms.checkpoints(swarm).await.unwrap().len();
    pass(&engine, 5 * SECOND).await;
    assert_eq!((made(&busy).await, made(&late).await), (1, 1));
    for number in 1..=30 {
        swarms.create_task(&busy, &new_task(number, &[]), "test").await.unwrap();
        pass(&engine, 10 * SECOND).await;
    }
    let saved = made(&busy).await;
    assert!((10..=12).contains(&saved), "{saved} in 300 s");
    pass(&engine, 300 * SECOND).await;
    assert!(made(&busy).await <= saved + 1);
    assert_eq!(made(&late).await, 1, "nothing has happened in it");
    keeper.stop().await;
}
