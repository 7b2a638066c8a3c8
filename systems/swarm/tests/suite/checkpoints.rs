//! Checkpoints: chains of them, verified, pinned, thinned out.

use std::time::Duration;

use keyplane_kit::blob::Codec;
use keyplane_kit::checkpoint::{Difference, Retention};
use keyplane_swarm::keys::{CheckpointId, Keyspace};
use keyplane_swarm::state::{AgentChange, CheckpointOptions, Claimed, Export, OpError};
use keyplane_swarm::{SwarmId, Swarms};
use keyplane_testing::{Place, every_store};

use crate::setup::{agent_id, naming, new_task, running, swarms};

fn full() -> CheckpointOptions {
    CheckpointOptions { full: true, ..CheckpointOptions::default() }
}

fn checkpoint(id: &str) -> CheckpointId {
    CheckpointId::new(id).unwrap()
}

async fn sure(swarms: &Swarms, swarm: &SwarmId, agent: u64, confidence: f64) {
    let change = AgentChange { confidence: Some(confidence), ..AgentChange::default() };
    swarms.update_agent(swarm, &agent_id(agent), &change, "test").await.unwrap();
}

#[every_store(except(unix, tls))]
async fn an_increment_holds_what_changed_and_says_what_the_whole_is(place: Place) {
    let swarms = swarms(&place).await;
    let swarm = running(&swarms, 20).await;
    for number in 0..10 {
        swarms.create_task(&swarm, &new_task(number, &[]), "test").await.unwrap();
    }
    let first = swarms.checkpoint(&swarm, &CheckpointOptions::default(), "test").await.unwrap();
    assert_eq!((first.id.as_str(), first.seq, first.parent.as_deref()), ("checkpoint_00000001", 1, None));
    assert_eq!(first.records, 31, "a header, twenty agents, ten tasks");
    assert!(!swarms.has_changed(&swarm).await.unwrap());

    sure(&swarms, &swarm, 3, 0.5).await;
    assert!(swarms.has_changed(&swarm).await.unwrap());
    let second = swarms.checkpoint(&swarm, &CheckpointOptions::default(), "test").await.unwrap();
    assert_eq!((second.parent.as_deref(), second.records), (Some("checkpoint_00000001"), 2));
    assert!(second.size < first.size / 5, "{} of {}", second.size, first.size);
    assert_ne!(second.hash, first.hash);

    // A process that knows nothing of the chain goes on with it.
    let elsewhere = self::swarms(&place).await;
    sure(&elsewhere, &swarm, 4, 0.25).await;
    let third = elsewhere.checkpoint(&swarm, &CheckpointOptions::default(), "test").await.unwrap();
    assert_eq!((third.parent.as_deref(), third.records), (Some("checkpoint_00000002"), 2));
    let whole = elsewhere.checkpoint(&swarm, &full(), "test").await.unwrap();
    assert_eq!((whole.parent, whole.records), (None, 31));
    assert_eq!(whole.hash, third.hash, "the same state, from a chain and at once");

    let loaded = swarms.load(&swarm, &checkpoint("checkpoint_00000003")).await.unwrap();
    assert_eq!(loaded.state.hash().to_string(), third.hash);
    assert_eq!(loaded.state.get("agents:agent_00000004").unwrap().text("confidence"), Some("0.25"));
    let seqs: Vec<u64> = swarms.checkpoints(&swarm).await.unwrap().iter().map(|one| one.seq).collect();
    assert_eq!(seqs, [1, 2, 3, 4]);
}

#[every_store(except(unix, tls))]
async fn a_chain_is_closed_by_a_full_one_and_every_codec_is_read(place: Place) {
    let swarms = swarms(&place).await;
    let swarm = running(&swarms, 5).await;
    for number in 1..=22_u64 {
        sure(&swarms, &swarm, number % 5, number as f64 / 100.0).await;
        let codec = Codec::ALL[number as usize % 3];
        let options = CheckpointOptions { codec, label: Some(format!("number {number}")), full: false };
        let made = swarms.checkpoint(&swarm, &options, "test").await.unwrap();
        assert_eq!(made.parent.is_none(), number == 1 || number == 22, "number {number}");
    }
    for one in swarms.checkpoints(&swarm).await.unwrap() {
        let loaded = swarms.load(&swarm, &checkpoint(&one.id)).await.unwrap();
        assert_eq!(loaded.state.hash().to_string(), one.hash);
        assert_eq!(one.label, Some(format!("number {}", one.seq)));
    }
}

/// Written under load, each still is of one moment: a task in progress has its agent, and an agent its task.
#[every_store(except(unix, tls))]
async fn a_checkpoint_under_load_is_of_one_moment(place: Place) {
    let swarms = swarms(&place).await;
    let (agents, tasks) = (40, 120);
    let swarm = running(&swarms, agents).await;
    for number in 0..tasks {
        swarms.create_task(&swarm, &new_task(number, &[]), "test").await.unwrap();
    }
    let mut working = tokio::task::JoinSet::new();
    for agent in 0..agents {
        let (swarms, swarm) = (swarms.clone(), swarm.clone());
        working.spawn(async move {
            use keyplane_swarm::state::Claimed;
            while let Claimed::Task(claim) = swarms.claim(&swarm, &agent_id(agent)).await.unwrap() {
                swarms.progress(&claim, 50.0).await.unwrap();
                swarms.complete_task(&claim, "{}").await.unwrap();
            }
        });
    }
    let mut seen = 0;
    while seen < 12 {
        let options = CheckpointOptions { full: seen % 3 == 0, ..CheckpointOptions::default() };
        let made = swarms.checkpoint(&swarm, &options, "test").await.unwrap();
        let state = swarms.load(&swarm, &checkpoint(&made.id)).await.unwrap().state;
        let of = |family: &'static str| state.iter().filter(move |(name, _)| name.starts_with(family));
        let begun = of("tasks:").filter(|(_, task)| task.text("status") == Some("in_progress"));
        for (name, task) in begun {
            let agent = state.get(&format!("agents:{}", task.text("assignedAgent").unwrap())).unwrap();
            assert_eq!(agent.text("currentTask"), Some(name.trim_start_matches("tasks:")), "{name}");
        }
        for (name, agent) in of("agents:").filter(|(_, agent)| agent.text("currentTask").is_some()) {
            let task = state.get(&format!("tasks:{}", agent.text("currentTask").unwrap())).unwrap();
            assert_eq!(task.text("assignedAgent"), Some(name.trim_start_matches("agents:")), "{name}");
        }
        seen += 1;
    }
    while let Some(worked) = working.join_next().await {
        worked.unwrap();
    }
    swarms.checkpoint(&swarm, &CheckpointOptions::default(), "test").await.unwrap();
    let state = swarms.load_newest(&swarm).await.unwrap().unwrap().state;
    let done = state
        .iter()
        .filter(|(name, task)| name.starts_with("tasks:") && task.text("status") == Some("completed"));
    assert_eq!(done.count() as u64, tasks);
}

#[every_store(except(unix, tls))]
async fn a_damaged_checkpoint_is_named_and_the_one_before_it_is_used(place: Place) {
    let swarms = swarms(&place).await;
    let swarm = running(&swarms, 3).await;
    for number in 1..=4 {
        sure(&swarms, &swarm, 0, f64::from(number) / 10.0).await;
        let options = CheckpointOptions { full: number == 3, ..CheckpointOptions::default() };
        swarms.checkpoint(&swarm, &options, "test").await.unwrap();
    }
    let key = |id: &str| Keyspace::new(naming(&place)).unwrap().recovery(&swarm, &checkpoint(id));
    let damage = |id: &str| {
        let key = key(id);
        let _: i64 = place.raw(key.as_str(), &["HSET", key.as_str(), "blob", "nothing of the kind"]);
    };
    damage("checkpoint_00000004");
    let refused = swarms.load(&swarm, &checkpoint("checkpoint_00000004")).await;
    let is_named =
        matches!(&refused, Err(OpError::Damaged { checkpoint, .. }) if checkpoint == "checkpoint_00000004");
    assert!(is_named, "{refused:?}");
    let newest = swarms.load_newest(&swarm).await.unwrap().unwrap();
    assert_eq!(newest.from, "checkpoint_00000003");
    assert_eq!(newest.passed_over.len(), 1, "{:?}", newest.passed_over);
    damage("checkpoint_00000003");
    let newest = swarms.load_newest(&swarm).await.unwrap().unwrap();
    assert_eq!((newest.from.as_str(), newest.passed_over.len()), ("checkpoint_00000002", 1));
    // A state that is not the one that was saved, in a frame that is whole.
    let key = key("checkpoint_00000002");
    let _: i64 = place.raw(key.as_str(), &["HSET", key.as_str(), "stateHash", &"00".repeat(32)]);
    let newest = swarms.load_newest(&swarm).await.unwrap().unwrap();
    assert_eq!(newest.from, "checkpoint_00000001");
    let refused = swarms.load(&swarm, &checkpoint("checkpoint_00000002")).await.unwrap_err().to_string();
    assert!(refused.contains("checkpoint_00000002") && refused.contains("hash"), "{refused}");
    // What cannot be trusted is not built upon.
    let again = self::swarms(&place).await;
    let made = again.checkpoint(&swarm, &CheckpointOptions::default(), "test").await.unwrap();
    assert_eq!((made.seq, made.parent), (5, None));
}

#[every_store(only(embedded, redis))]
async fn when_there_is_no_room_for_marks_the_next_one_is_a_full_one(place: Place) {
    let swarms = swarms(&place).await;
    let swarm = running(&swarms, 4).await;
    swarms.checkpoint(&swarm, &full(), "test").await.unwrap();
    let dirty = Keyspace::new(naming(&place)).unwrap().dirty(&swarm);
    let members: Vec<String> = (0..9_999).map(|number| format!("tasks:task_{number:08}")).collect();
    let pairs = members.iter().flat_map(|member| ["1", member.as_str()]);
    let command: Vec<&str> = ["ZADD", dirty.as_str()].into_iter().chain(pairs).collect();
    let _: i64 = place.raw(dirty.as_str(), &command);
    let _: i64 = place.raw(dirty.as_str(), &["EXPIRE", dirty.as_str(), "3600"]);
    sure(&swarms, &swarm, 3, 0.5).await;
    let made = swarms.checkpoint(&swarm, &CheckpointOptions::default(), "test").await.unwrap();
    assert_eq!((made.parent, made.records), (None, 5), "a header, four agents");
    let state = swarms.load_newest(&swarm).await.unwrap().unwrap().state;
    assert_eq!(state.get("agents:agent_00000003").unwrap().text("confidence"), Some("0.5"));
    assert!(!swarms.has_changed(&swarm).await.unwrap());
}

#[every_store(except(unix, tls))]
async fn a_large_state_is_stored_in_chunks(place: Place) {
    use keyplane_swarm::keys::{MemoryId, MemoryType};
    use keyplane_swarm::state::NewMemory;
    let swarms = swarms(&place).await;
    let swarm = running(&swarms, 1).await;
    let mut draws = fastrand::Rng::with_seed(7);
    for number in 0..8 {
        let content: String = (0..90_000).map(|_| draws.alphanumeric()).collect();
        let memory = NewMemory {
            kind: MemoryType::Knowledge,
            id: MemoryId::new(format!("mem_{number:08}")).unwrap(),
            agent: agent_id(0),
            content: format!("\"{content}\""),
            tags: Default::default(),
        };
        swarms.put_memory(&swarm, &memory).await.unwrap();
    }
    let made = swarms.checkpoint(&swarm, &full(), "test").await.unwrap();
    assert!(made.stored > 512 * 1024, "{}", made.stored);
    let loaded = swarms.load_newest(&swarm).await.unwrap().unwrap();
    assert_eq!(loaded.state.hash().to_string(), made.hash);
    // A chunk that is missing is noticed.
    let keyspace = Keyspace::new(naming(&place)).unwrap();
    let chunk = keyspace.checkpoint_chunk(
        &swarm,
        &checkpoint(&made.id),
        keyplane_swarm::keys::Chunk::new(1).unwrap(),
    );
    let _: i64 = place.raw(chunk.as_str(), &["DEL", chunk.as_str()]);
    let refused = swarms.load(&swarm, &checkpoint(&made.id)).await.unwrap_err().to_string();
    assert!(refused.contains("missing"), "{refused}");
}

#[every_store(except(unix, tls))]
async fn what_is_pinned_stays_with_what_it_stands_on(place: Place) {
    let swarms = swarms(&place).await;
    let swarm = running(&swarms, 1).await;
    for number in 1..=4 {
        sure(&swarms, &swarm, 0, f64::from(number) / 10.0).await;
        let options = CheckpointOptions { full: number == 4, ..CheckpointOptions::default() };
        swarms.checkpoint(&swarm, &options, "test").await.unwrap();
    }
    let lives = |number: u64| -> i64 {
        let id = checkpoint(&format!("checkpoint_{number:08}"));
        let key = Keyspace::new(naming(&place)).unwrap().recovery(&swarm, &id);
        place.raw(key.as_str(), &["TTL", key.as_str()])
    };
    let week = 7 * 24 * 3600;
    assert!((week - 60..=week).contains(&lives(1)));
    swarms.pin(&swarm, &checkpoint("checkpoint_00000002"), true).await.unwrap();
    assert_eq!((lives(1), lives(2)), (-1, -1));
    assert!(lives(3) > 0);
    let list = Keyspace::new(naming(&place)).unwrap().checkpoints(&swarm);
    let list_lives = || -> i64 { place.raw(list.as_str(), &["TTL", list.as_str()]) };
    assert_eq!(list_lives(), -1, "what is pinned is listed");
    let none = Retention { all_for: Duration::ZERO, then_one_each: Duration::from_secs(1_000_000_000) };
    assert_eq!(swarms.prune(&swarm, none).await.unwrap(), 1);
    let left: Vec<u64> = swarms.checkpoints(&swarm).await.unwrap().iter().map(|one| one.seq).collect();
    assert_eq!(left, [1, 2, 4]);
    swarms.pin(&swarm, &checkpoint("checkpoint_00000002"), false).await.unwrap();
    assert!(lives(1) > 0 && lives(2) > 0 && list_lives() > 0);
    assert_eq!(swarms.prune(&swarm, none).await.unwrap(), 1, "full ones that are far apart stay");
    let unknown = swarms.pin(&swarm, &checkpoint("checkpoint_00000002"), true).await;
    assert!(matches!(unknown, Err(OpError::Unknown { .. })), "{unknown:?}");
}

#[every_store(except(unix, tls))]
async fn differences_are_told_and_a_file_is_read_or_refused(place: Place) {
    let swarms = swarms(&place).await;
    let swarm = running(&swarms, 2).await;
    swarms.checkpoint(&swarm, &full(), "test").await.unwrap();
    sure(&swarms, &swarm, 1, 0.75).await;
    swarms.create_task(&swarm, &new_task(1, &[]), "test").await.unwrap();
    let made = swarms.checkpoint(&swarm, &CheckpointOptions::default(), "test").await.unwrap();
    let ids = [checkpoint("checkpoint_00000001"), checkpoint("checkpoint_00000002")];
    let found = swarms.diff(&swarm, &ids[0], &ids[1]).await.unwrap();
    assert_eq!(found.keys().collect::<Vec<_>>(), ["agents:agent_00000001", "header", "tasks:task_00000001"]);
    assert_eq!(found["tasks:task_00000001"], Difference::Added);
    let Difference::Changed(fields) = &found["agents:agent_00000001"] else { panic!("{found:?}") };
    assert!(fields.iter().any(|(field, ..)| field == "confidence"), "{fields:?}");

    let file = serde_json::to_string(&swarms.export(&swarm, &ids[1]).await.unwrap()).unwrap();
    let import = |text: &str| Export::read(text).and_then(|export| export.load());
    let (of, loaded) = import(&file).unwrap();
    assert_eq!((of, loaded.state.hash().to_string()), (swarm.clone(), made.hash));
    for at in 0..file.len() {
        let mut turned = file.clone().into_bytes();
        turned[at] = if turned[at] == b'7' { b'8' } else { b'7' };
        let turned = String::from_utf8(turned).unwrap();
        if let Ok((_, other)) = import(&turned) {
            assert_eq!(other.state, loaded.state, "letter {at} changed the state");
        }
        assert!(import(&file[..at]).is_err(), "cut at {at}");
    }
}

/// More than a hundred times what it takes in the store: what has much in common is packed tight.
#[every_store(only(embedded, redis))]
async fn whatever_is_acknowledged_can_be_loaded_and_given_back(place: Place) {
    let swarms = swarms(&place).await;
    let swarm = running(&swarms, 1).await;
    let result = format!("\"{}\"", "as before ".repeat(38_700));
    for number in 0..180 {
        swarms.create_task(&swarm, &new_task(number, &[]), "test").await.unwrap();
        let claimed = swarms.claim(&swarm, &agent_id(0)).await.unwrap();
        let Claimed::Task(claim) = claimed else { panic!("nothing to claim") };
        swarms.complete_task(&claim, &result).await.unwrap();
    }
    let made = swarms.checkpoint(&swarm, &full(), "test").await.unwrap();
    assert!(made.size > 64 << 20, "{} bytes", made.size);
    let loaded = swarms.load(&swarm, &checkpoint(&made.id)).await.unwrap();
    assert_eq!(loaded.state.hash().to_string(), made.hash);
    let export = swarms.export(&swarm, &checkpoint(&made.id)).await.unwrap();
    assert_eq!(export.load().unwrap().1.state, loaded.state);
}

#[every_store(except(unix, tls))]
async fn a_checkpoint_that_nobody_listed_keeps_nobody_from_saving(place: Place) {
    let swarms = swarms(&place).await;
    let swarm = running(&swarms, 1).await;
    swarms.checkpoint(&swarm, &CheckpointOptions::default(), "test").await.unwrap();
    let key = |number: u64| {
        let id = checkpoint(&format!("checkpoint_{number:08}"));
        Keyspace::new(naming(&place)).unwrap().recovery(&swarm, &id)
    };
    for number in [2, 3] {
        let key = key(number);
        let _: i64 = place.raw(key.as_str(), &["HSET", key.as_str(), "timestamp", "2025-01-08T10:30:00Z"]);
    }
    let _: String = place.raw(key(4).as_str(), &["SET", key(4).as_str(), "something else"]);
    sure(&swarms, &swarm, 0, 0.5).await;
    let made = swarms.checkpoint(&swarm, &CheckpointOptions::default(), "test").await.unwrap();
    assert_eq!((made.id.as_str(), made.seq), ("checkpoint_00000005", 5));
    assert_eq!(made.parent.as_deref(), Some("checkpoint_00000001"), "it goes on where the last one ended");
    let elsewhere = self::swarms(&place).await;
    let loaded = elsewhere.load_newest(&swarm).await.unwrap().unwrap();
    assert_eq!((loaded.from, loaded.state.hash().to_string()), (made.id, made.hash));
    sure(&swarms, &swarm, 0, 0.25).await;
    let next = elsewhere.checkpoint(&swarm, &CheckpointOptions::default(), "test").await.unwrap();
    assert_eq!((next.seq, next.parent.as_deref()), (6, Some("checkpoint_00000005")));
    // No contract has that.
    let _: i64 = place.raw(key(4).as_str(), &["DEL", key(4).as_str()]);
}
