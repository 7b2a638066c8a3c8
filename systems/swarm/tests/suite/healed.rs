//! What a recovery puts right although it is there: tasks that wait for nothing, or that nobody holds; counts.

use keyplane_swarm::keys::Keyspace;
use keyplane_swarm::state::{CheckpointOptions, Claim, Claimed, From};
use keyplane_swarm::{SwarmId, Swarms};
use keyplane_testing::{Place, every_store};

use crate::setup::{agent_id, naming, new_agent, new_task, running, swarms, task_id, view};

async fn claim(swarms: &Swarms, swarm: &SwarmId, agent: u64) -> Claim {
    match swarms.claim(swarm, &agent_id(agent)).await.unwrap() {
        Claimed::Task(claim) => claim,
        Claimed::Nothing => panic!("nothing to claim"),
    }
}

async fn save(swarms: &Swarms, swarm: &SwarmId) {
    swarms.checkpoint(swarm, &CheckpointOptions::default(), "test").await.unwrap();
}

async fn status(swarms: &Swarms, swarm: &SwarmId, task: u64) -> String {
    view(swarms, swarm).await.tasks[task_id(task).as_str()].status.word().to_owned()
}

/// Typed into a key of the swarm.
struct Typed<'p> {
    place: &'p Place,
    swarm: SwarmId,
    keyspace: Keyspace,
}

impl<'p> Typed<'p> {
    fn into(place: &'p Place, swarm: &SwarmId) -> Self {
        Self { place, swarm: swarm.clone(), keyspace: Keyspace::new(naming(place)).unwrap() }
    }

    fn run(&self, command: &str, key: &str, more: &[&str]) -> i64 {
        self.place.raw(key, &[&[command, key], more].concat())
    }

    fn task(&self, command: &str, task: u64, more: &[&str]) -> i64 {
        self.run(command, self.keyspace.task(&self.swarm, &task_id(task)).as_str(), more)
    }

    fn header(&self, command: &str, more: &[&str]) -> i64 {
        self.run(command, self.keyspace.swarm(&self.swarm).as_str(), more)
    }
}

#[every_store(except(unix, tls))]
async fn a_blocked_task_that_waits_for_nothing_can_be_claimed(place: Place) {
    let swarms = swarms(&place).await;
    let swarm = running(&swarms, 2).await;
    for (number, waits_for) in [(1, &[][..]), (2, &[1]), (3, &[]), (4, &[3])] {
        swarms.create_task(&swarm, &new_task(number, waits_for), "test").await.unwrap();
    }
    let first = claim(&swarms, &swarm, 0).await;
    swarms.complete_task(&first, "{}").await.unwrap();
    let typed = Typed::into(&place, &swarm);
    let ready = typed.keyspace.ready(&swarm);
    typed.run("ZREM", ready.as_str(), &[task_id(2).as_str()]);
    typed.task("HSET", 2, &["status", "blocked", "open", "3"]);
    // This one does wait, and for more than there is.
    typed.task("HSET", 4, &["open", "7"]);
    swarms.recover(&swarm, From::Newest, false, "test").await.unwrap();
    assert_eq!(status(&swarms, &swarm, 2).await, "pending");
    assert_eq!(status(&swarms, &swarm, 4).await, "blocked");
    for expected in [2, 3, 4] {
        let claim = claim(&swarms, &swarm, 0).await;
        assert_eq!(claim.task, task_id(expected));
        swarms.complete_task(&claim, "{}").await.unwrap();
    }
}

#[every_store(except(unix, tls))]
async fn a_lost_task_follows_the_one_that_is_being_done_meanwhile(place: Place) {
    let swarms = swarms(&place).await;
    for round in 0..10 {
        let swarm = running(&swarms, 1).await;
        for (number, waits_for) in [(1, &[][..]), (2, &[1])] {
            swarms.create_task(&swarm, &new_task(number, waits_for), "test").await.unwrap();
        }
        save(&swarms, &swarm).await;
        let held = claim(&swarms, &swarm, 0).await;
        let typed = Typed::into(&place, &swarm);
        typed.task("DEL", 2, &[]);
        if round % 2 == 0 {
            // Nothing that is there knows of the lost one.
            typed.task("HDEL", 1, &["dependants"]);
        }
        let (done, recovered) = tokio::join!(
            async {
                for _ in 0..round * 4 {
                    tokio::task::yield_now().await;
                }
                swarms.complete_task(&held, "{}").await
            },
            swarms.recover(&swarm, From::Newest, false, "test"),
        );
        done.unwrap();
        recovered.unwrap();
        assert_eq!(claim(&swarms, &swarm, 0).await.task, task_id(2), "in round {round}");
    }
}

#[every_store(except(unix, tls))]
async fn a_lost_task_is_waited_for_and_waits(place: Place) {
    let swarms = swarms(&place).await;
    let swarm = running(&swarms, 1).await;
    for (number, waits_for) in [(1, &[][..]), (2, &[1]), (3, &[2])] {
        swarms.create_task(&swarm, &new_task(number, waits_for), "test").await.unwrap();
    }
    save(&swarms, &swarm).await;
    let held = claim(&swarms, &swarm, 0).await;
    let typed = Typed::into(&place, &swarm);
    typed.task("DEL", 2, &[]);
    typed.task("HDEL", 1, &["dependants"]);
    swarms.recover(&swarm, From::Newest, false, "test").await.unwrap();
    swarms.complete_task(&held, "{}").await.unwrap();
    for expected in [2, 3] {
        let claim = claim(&swarms, &swarm, 0).await;
        assert_eq!(claim.task, task_id(expected));
        swarms.complete_task(&claim, "{}").await.unwrap();
    }
}

#[every_store(except(unix, tls))]
async fn a_task_under_way_that_nobody_holds_waits_for_somebody_again(place: Place) {
    let swarms = swarms(&place).await;
    let swarm = running(&swarms, 1).await;
    swarms.create_task(&swarm, &new_task(1, &[]), "test").await.unwrap();
    let typed = Typed::into(&place, &swarm);
    typed.task("HSET", 1, &["status", "in_progress"]);
    typed.run("ZREM", typed.keyspace.ready(&swarm).as_str(), &[task_id(1).as_str()]);
    let done = swarms.recover(&swarm, From::Newest, false, "test").await.unwrap();
    assert_eq!(done.requeued, [task_id(1).to_string()]);
    assert_eq!(status(&swarms, &swarm, 1).await, "pending");
    let again = swarms.recover(&swarm, From::Newest, false, "test").await.unwrap();
    assert_eq!(again.requeued, [""; 0], "it was not done again, and is not told again");
    let claim = claim(&swarms, &swarm, 0).await;
    assert_eq!((claim.task, claim.attempt), (task_id(1), 1));
}

#[every_store(except(unix, tls))]
async fn after_a_recovery_the_header_counts_what_is_listed(place: Place) {
    let swarms = swarms(&place).await;
    let swarm = running(&swarms, 3).await;
    for number in 0..2 {
        swarms.create_task(&swarm, &new_task(number, &[]), "test").await.unwrap();
    }
    save(&swarms, &swarm).await;
    swarms.register(&swarm, &new_agent(3), "test").await.unwrap();
    let typed = Typed::into(&place, &swarm);
    for wrong in ["0", "900"] {
        typed.header("HSET", &["agentCount", wrong, "taskCount", wrong]);
        typed.task("DEL", 1, &[]);
        swarms.recover(&swarm, From::Newest, false, "test").await.unwrap();
        let seen = view(&swarms, &swarm).await;
        assert_eq!((seen.field("agentCount"), seen.field("taskCount")), ("4", "2"));
        assert_eq!((seen.agents.len(), seen.tasks.len()), (4, 2));
    }
}

#[every_store(except(unix, tls))]
async fn a_record_without_what_it_must_have_is_not_trusted(place: Place) {
    let swarms = swarms(&place).await;
    let swarm = running(&swarms, 1).await;
    swarms.create_task(&swarm, &new_task(1, &[]), "test").await.unwrap();
    let found = |done: keyplane_swarm::state::Recovered| (done.known, done.verified, done.confidence);
    let sound = found(swarms.recover(&swarm, From::Newest, false, "test").await.unwrap());
    assert_eq!(sound, (3, 3, 1.0));
    let typed = Typed::into(&place, &swarm);
    typed.header("HDEL", &["strategy", "mode", "objective", "createdAt", "schemaVersion"]);
    let (known, verified, confidence) =
        found(swarms.recover(&swarm, From::Newest, true, "test").await.unwrap());
    assert_eq!((known, verified), (3, 2));
    assert!(confidence < 0.7, "{confidence}");
    typed.task("HDEL", 1, &["title"]);
    let done = found(swarms.recover(&swarm, From::Newest, false, "test").await.unwrap());
    assert_eq!((done.0, done.1), (3, 1));
}

/// Records that lists name and that are nowhere: nothing brings them back, and they keep nothing from its end.
#[every_store(except(unix, tls))]
async fn what_is_listed_and_nowhere_is_told_and_nobody_waits_for_it(place: Place) {
    let swarms = swarms(&place).await;
    let swarm = running(&swarms, 2).await;
    for number in 1..=4 {
        swarms.create_task(&swarm, &new_task(number, &[]), "test").await.unwrap();
    }
    let typed = Typed::into(&place, &swarm);
    for number in [2, 3] {
        assert_eq!(typed.task("DEL", number, &[]), 1);
    }
    let agent = typed.keyspace.agent(&swarm, &agent_id(1));
    typed.run("DEL", agent.as_str(), &[]);
    let planned = swarms.recover(&swarm, From::Newest, true, "test").await.unwrap();
    assert_eq!(view(&swarms, &swarm).await.tasks.len(), 4, "a dry run does nothing");
    let done = swarms.recover(&swarm, From::Newest, false, "test").await.unwrap();
    assert_eq!((&planned.lost, planned.known, planned.verified), (&done.lost, 7, 4));
    let lost: Vec<String> = vec![
        format!("agents:{}", agent_id(1)),
        format!("tasks:{}", task_id(2)),
        format!("tasks:{}", task_id(3)),
    ];
    assert_eq!(done.lost.into_iter().collect::<Vec<_>>(), lost);
    assert!(done.confidence < 0.6, "{}", done.confidence);
    let seen = view(&swarms, &swarm).await;
    assert_eq!((seen.field("agentCount"), seen.field("taskCount")), ("1", "2"));
    let again = swarms.recover(&swarm, From::Newest, false, "test").await.unwrap();
    assert_eq!((again.lost.len(), again.known, again.verified), (0, 4, 4));
    for _ in 0..2 {
        let claim = claim(&swarms, &swarm, 0).await;
        swarms.complete_task(&claim, "{}").await.unwrap();
    }
    swarms.complete(&swarm, "test").await.unwrap();
}

/// One that is lost when the newest checkpoint is made is in none but those before it.
#[every_store(except(unix, tls))]
async fn what_the_newest_checkpoint_misses_is_taken_from_one_before_it(place: Place) {
    let swarms = swarms(&place).await;
    let swarm = running(&swarms, 2).await;
    for number in 1..=2 {
        swarms.create_task(&swarm, &new_task(number, &[]), "test").await.unwrap();
    }
    save(&swarms, &swarm).await;
    assert_eq!(Typed::into(&place, &swarm).task("DEL", 2, &[]), 1);
    for full in [false, true] {
        swarms.heartbeat(&swarm, &agent_id(0)).await.unwrap();
        let options = CheckpointOptions { full, ..CheckpointOptions::default() };
        swarms.checkpoint(&swarm, &options, "test").await.unwrap();
    }
    let name = format!("tasks:{}", task_id(2));
    assert!(swarms.load_newest(&swarm).await.unwrap().unwrap().state.get(&name).is_none());
    let done = swarms.recover(&swarm, From::Newest, false, "test").await.unwrap();
    assert_eq!((done.lost.len(), done.restored["tasks"], done.known), (0, 1, done.verified));
    for expected in [1, 2] {
        assert_eq!(claim(&swarms, &swarm, 0).await.task, task_id(expected));
        let again = claim(&swarms, &swarm, 0).await;
        swarms.complete_task(&again, "{}").await.unwrap();
    }
}

#[every_store(except(unix, tls))]
async fn what_was_begun_waits_for_nothing_though_its_dependency_comes_back(place: Place) {
    let swarms = swarms(&place).await;
    let swarm = running(&swarms, 2).await;
    swarms.create_task(&swarm, &new_task(1, &[]), "test").await.unwrap();
    swarms.create_task(&swarm, &new_task(2, &[1]), "test").await.unwrap();
    save(&swarms, &swarm).await;
    swarms.complete_task(&claim(&swarms, &swarm, 0).await, "{}").await.unwrap();
    assert_eq!(Typed::into(&place, &swarm).task("DEL", 1, &[]), 1);
    swarms.recover(&swarm, From::Newest, false, "test").await.unwrap();
    let first = swarms.claim_task(&swarm, &agent_id(0), &task_id(1)).await.unwrap();
    let Claimed::Task(first) = first else { panic!("it is there again") };
    swarms.complete_task(&first, "{}").await.unwrap();
    assert_eq!(swarms.task(&swarm, &task_id(2)).await.unwrap()["open"], "0");
    let sound = swarms.recover(&swarm, From::Newest, true, "test").await.unwrap();
    assert_eq!(sound.known, sound.verified);
}
