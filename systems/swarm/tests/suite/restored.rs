//! Property: a swarm of which nothing is left but its checkpoints comes back as it was, but for what a recovery changes on
//! purpose. Both are read by plain commands, past the code that makes checkpoints.
//!
//! `KEYPLANE_SEED=7` repeats one run.

use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;
use keyplane_swarm::state::{CheckpointOptions, Claimed, From};
use keyplane_swarm::{SwarmId, Swarms};
use keyplane_testing::{Place, chosen_seed, seeds};

use crate::properties::{World, refused};
use crate::recover::lose;
use crate::setup::{agent_id, keys_of, new_agent, new_task};

const STEPS: u32 = 80;

type Fields = BTreeMap<String, String>;

/// All records of a swarm, by what is behind its id in their keys.
fn records(place: &Place, swarm: &SwarmId) -> BTreeMap<String, Fields> {
    let mut found = BTreeMap::new();
    for key in keys_of(place, swarm) {
        let (_, name) = key.split_once(swarm.as_str()).unwrap();
        let family = name.trim_start_matches(':').split_once(':').map_or("", |(family, _)| family);
        let is_record = ["agents", "tasks", "phases", "memory", "consensus"].contains(&family);
        if name.is_empty() && !key.contains(":lock:") || is_record {
            found.insert(name.to_owned(), place.raw(&key, &["HGETALL", &key]));
        }
    }
    found
}

type Lists = BTreeMap<String, BTreeSet<String>>;

/// What lists the records of a swarm: rosters, what can be claimed, tags, and the list of all that no roster lists.
fn lists(place: &Place, swarm: &SwarmId) -> Lists {
    let mut found = Lists::new();
    for key in keys_of(place, swarm) {
        let (_, name) = key.split_once(swarm.as_str()).unwrap();
        let name = name.trim_start_matches(':');
        let (family, read) = match name.split(['#', ':']).next().unwrap_or_default() {
            family @ ("agents" | "tasks") if !name.contains(':') => (family, "HKEYS"),
            "tag" => (name, "SMEMBERS"),
            "records" => ("records", "SMEMBERS"),
            "ready" => ("ready", "ZRANGE"),
            _ => continue,
        };
        let range: &[&str] = if read == "ZRANGE" { &["0", "-1"] } else { &[] };
        let members: Vec<String> = place.raw(&key, &[&[read, &key], range].concat());
        found.entry(family.to_owned()).or_default().extend(members);
    }
    found
}

/// The same, as the records themselves demand it.
fn demanded(records: &BTreeMap<String, Fields>) -> Lists {
    let mut lists = Lists::new();
    let mut list = |name: String, member: &str| {
        lists.entry(name).or_default().insert(member.to_owned());
    };
    for (name, fields) in records {
        let name = name.trim_start_matches(':');
        let Some((family, id)) = name.split_once(':') else { continue };
        match family {
            "agents" => list(family.to_owned(), id),
            "tasks" => {
                list(family.to_owned(), id);
                if fields["status"] == "pending" {
                    list("ready".to_owned(), id);
                }
            }
            _ => list("records".to_owned(), name),
        }
        if family == "memory" {
            let metadata = fields.get("metadata").map_or("{}", String::as_str);
            let metadata: serde_json::Value = serde_json::from_str(metadata).unwrap();
            for tag in metadata["tags"].as_array().into_iter().flatten() {
                let tag = format!("tag#{}", tag.as_str().unwrap());
                list("records".to_owned(), &tag);
                list(tag, id);
            }
        }
    }
    lists
}

/// What is of the moment, or counts changes: that grows, and is not compared.
fn without_passing(mut records: BTreeMap<String, Fields>) -> BTreeMap<String, Fields> {
    for fields in records.values_mut() {
        for name in
            ["horizon", "updatedAt", "expiresAt", "recovery", "fence", "leaseUntil", "lease", "version"]
        {
            fields.remove(name);
        }
    }
    records
}

/// The rules of a recovery, in plain words once more.
fn recovered(mut records: BTreeMap<String, Fields>) -> BTreeMap<String, Fields> {
    for (name, fields) in &mut records {
        let status = fields.get("status").cloned().unwrap_or_default();
        let mut set = |field: &str, value: &str| drop(fields.insert(field.to_owned(), value.to_owned()));
        if name.is_empty() {
            set("status", "running");
        } else if name.starts_with(":agents:") {
            if status != "completed" && status != "paused" {
                set("status", "idle");
            }
            fields.retain(|field, _| field != "currentTask" && field != "assignedTasks");
        } else if name.starts_with(":tasks:") && status == "in_progress" {
            set("status", "pending");
            set("progress", "0");
            let attempt = fields.get("attempt").map_or(0, |text| text.parse().unwrap());
            fields.insert("attempt".to_owned(), (attempt + 1_u64).to_string());
            fields.remove("assignedAgent");
        }
    }
    records
}

/// Work in all its stages: what is random alone has little of it.
async fn work(swarms: &Swarms, swarm: &SwarmId, rng: &mut Rng) {
    for number in 0..rng.u64(1..8) {
        let waits_for: &[u64] = if number > 0 && rng.bool() { &[100 + rng.u64(..number)] } else { &[] };
        refused(swarms.create_task(swarm, &new_task(100 + number, waits_for), "test").await);
    }
    for number in 0..3 {
        refused(swarms.register(swarm, &new_agent(number), "test").await);
        let Some(Claimed::Task(claim)) = refused(swarms.claim(swarm, &agent_id(number)).await) else {
            continue;
        };
        // What is reported from here on is only in the next one.
        if rng.bool() {
            refused(swarms.checkpoint(swarm, &CheckpointOptions::default(), "test").await);
        }
        match rng.u8(..4) {
            0 => drop(refused(swarms.complete_task(&claim, r#"{"files":3}"#).await)),
            1 => drop(refused(swarms.fail_task(&claim, rng.bool()).await)),
            2 => drop(refused(swarms.progress(&claim, 50.0).await)),
            _ => {}
        }
    }
}

#[tokio::test]
async fn what_was_saved_comes_back_as_it_was() {
    let name = "restored::what_was_saved_comes_back_as_it_was";
    let Some(mut world) = World::start_or_skip(name).await else { return };
    let mut compared = BTreeMap::<String, u64>::new();
    for seed in seeds(100..140) {
        world.begin(seed).await;
        let mut rng = Rng::with_seed(seed);
        for number in 0..STEPS {
            world.step().await;
            // So that some of the last ones say only what has changed since.
            if number == STEPS / 2 || number == STEPS * 3 / 4 {
                for swarm in &world.ids {
                    refused(world.swarms.checkpoint(swarm, &CheckpointOptions::default(), "test").await);
                }
            }
        }
        for swarm in &world.ids {
            let (swarms, place) = (&world.swarms, &world.place);
            work(swarms, swarm, &mut rng).await;
            // One that is over is not recovered, and one that is being recovered not saved.
            let before = records(place, swarm);
            let status = before.get("").and_then(|header| header.get("status")).map(String::as_str);
            if !matches!(status, Some("running" | "paused" | "initializing" | "failed")) {
                continue;
            }
            swarms.checkpoint(swarm, &CheckpointOptions::default(), "test").await.unwrap();
            lose(place, swarm);
            swarms.recover(swarm, From::Newest, false, "test").await.unwrap();
            let after = records(place, swarm);
            assert_eq!(lists(place, swarm), demanded(&after), "KEYPLANE_SEED={seed} {swarm}");
            let after = without_passing(after);
            let expected = recovered(without_passing(before));
            assert_eq!(after, expected, "KEYPLANE_SEED={seed} {swarm}");
            for (name, fields) in expected {
                let family = name.split(':').nth(1).unwrap_or("header");
                let is_again =
                    family == "tasks" && fields.get("attempt").is_some_and(|attempt| attempt == "1");
                *compared.entry(if is_again { "again" } else { family }.to_owned()).or_default() += 1;
            }
        }
    }
    // Otherwise too little happened to show anything.
    let families = ["header", "agents", "tasks", "again", "phases", "memory", "consensus"];
    let enough = families.iter().all(|family| compared.get(*family) > Some(&5));
    assert!(chosen_seed().is_some() || enough, "{compared:?}");
}
