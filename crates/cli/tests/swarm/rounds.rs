//! Two services and a Redis with an append-only file, killed at random points while a swarm works. When all is quiet every task
//! has been finished once, none was given to anybody after that, and what workers were told is what the store says.
//!
//! `KEYPLANE_TEST_ROUNDS` says how many; the seed of each round is printed.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use fastrand::Rng;
use keyplane_testing::{Program, Server, Settings, ask, chosen, until};
use serde_json::{Value, json};

use crate::serving::{SWARM, Serving, objective, told};

const SETTINGS: [(&str, &str); 3] = [
    ("KEYPLANE_SWARM_TASK_LEASE", "1s"),
    ("KEYPLANE_SWARM_AGENT_LEASE", "1s"),
    ("KEYPLANE_SWARM_CHECKPOINT_INTERVAL", "1s"),
];

const WORKERS: u64 = 12;
const TASKS: u64 = 400;
const LEAST_KILLS: usize = 12;

/// What all threads share.
#[derive(Default)]
struct World {
    /// Where the services are; none while one is dead.
    services: [Mutex<Option<String>>; 2],
    journal: Mutex<Journal>,
    created: AtomicU64,
    over: AtomicBool,
}

/// What workers were told.
#[derive(Debug, Default)]
struct Journal {
    /// Tasks that were given out, with the numbers of the claims, and to whom. Who asks again is told the same.
    claimed: HashMap<(String, u64), String>,
    /// Tasks that a worker was told to have finished, and under which claim.
    finished: HashMap<String, u64>,
    /// Reports that were refused, and those that nobody answered.
    refused: u64,
    unanswered: u64,
}

#[test]
fn killed_services_and_stores_lose_no_task_and_repeat_none() {
    for round in 0..chosen("KEYPLANE_TEST_ROUNDS", 1) {
        let seed = fastrand::u64(..) ^ round;
        println!("round {round}, seed {seed}");
        play(seed);
    }
}

fn play(seed: u64) {
    let server = Server::start(Program::Redis, &Settings::tcp().appendonly());
    let world = Arc::new(World::default());
    let mut services: Vec<Option<Serving>> =
        (0..2).map(|place| Some(start(&server, &world, place))).collect();
    begin(&server.url());
    let mut threads = Vec::new();
    for number in 0..WORKERS {
        let world = Arc::clone(&world);
        threads.push(thread::spawn(move || work(&world, &agent(number), Rng::with_seed(seed ^ number))));
    }
    let sleeper = Arc::clone(&world);
    threads.push(thread::spawn(move || oversleep(&sleeper)));
    let coordinator = Arc::clone(&world);
    threads.push(thread::spawn(move || create(&coordinator, Rng::with_seed(seed ^ 0xC0))));
    let kills = disturb(&server, &world, &mut services, Rng::with_seed(seed ^ 0xD1));
    until("every task is finished", || {
        let status = told(&server.url(), &["status", SWARM, "--brief"]);
        let by_status = &status["tasksByStatus"];
        if by_status["completed"] == TASKS { Ok(()) } else { Err(by_status.to_string()) }
    });
    world.over.store(true, Ordering::Relaxed);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    judge(&services[0].take().unwrap(), &world.journal.lock().unwrap(), kills);
}

fn agent(number: u64) -> String {
    format!("agent_worker{number:03}")
}

fn start(server: &Server, world: &World, place: usize) -> Serving {
    let serving = Serving::keeping(&server.url(), &SETTINGS);
    *world.services[place].lock().unwrap() = Some(serving.address.trim_start_matches("http://").to_owned());
    serving
}

fn begin(url: &str) {
    told(url, &["create", SWARM, "--objective", &objective().to_string()]);
    for number in 0..=WORKERS {
        told(url, &["agent", "register", SWARM, &agent(number), "--role", "coder"]);
    }
    told(url, &["update", SWARM, "--status", "running"]);
}

/// Kills services and the store, until all tasks are there and enough was killed. How often each.
fn disturb(server: &Server, world: &World, services: &mut [Option<Serving>], mut rng: Rng) -> [usize; 3] {
    let [mut of_services, mut of_stores, mut recoveries] = [0; 3];
    while world.created.load(Ordering::Relaxed) < TASKS || of_services + of_stores < LEAST_KILLS {
        assert!(of_services + of_stores < 20 * LEAST_KILLS, "somebody has given up");
        thread::sleep(Duration::from_millis(rng.u64(50..300)));
        if rng.bool() {
            let place = rng.usize(..2);
            *world.services[place].lock().unwrap() = None;
            // Dropped, it is killed.
            services[place] = None;
            services[place] = Some(start(server, world, place));
            of_services += 1;
            continue;
        }
        server.kill();
        thread::sleep(Duration::from_millis(rng.u64(..300)));
        server.restart();
        of_stores += 1;
        if rng.bool() {
            told(&server.url(), &["recover", SWARM]);
            recoveries += 1;
        }
    }
    [of_services, of_stores, recoveries]
}

/// A request to whichever service is there, until there is an answer that does not say that somebody is away. Whether there was
/// one that nobody answered, and the answer.
fn send(world: &World, rng: &mut Rng, method: &str, rest: &str, body: &Value) -> Option<(bool, u16, Value)> {
    let (path, body) = (format!("/api/swarms/{SWARM}{rest}"), body.to_string());
    let mut unanswered = false;
    while !world.over.load(Ordering::Relaxed) {
        let address = world.services[rng.usize(..2)].lock().unwrap().clone();
        let Some(address) = address else { continue };
        match ask(&address, method, &path, "application/json", body.as_bytes()) {
            // While it is put together again, others wait.
            Some((409, answer)) if answer["error"]["code"] == "not_running" => {}
            Some((status @ ..500, answer)) => return Some((unanswered, status, answer)),
            Some(_) | None => unanswered = true,
        }
        thread::sleep(Duration::from_millis(20));
    }
    None
}

/// Adds tasks, some of which wait for others.
fn create(world: &World, mut rng: Rng) {
    for number in 0..TASKS {
        let waits_for =
            if number > 0 && rng.u8(..3) == 0 { vec![task(rng.u64(..number))] } else { Vec::new() };
        let body = json!({
            "task": task(number), "title": "One of many", "description": "To be done.", "dependencies": waits_for
        });
        match send(world, &mut rng, "POST", "/tasks", &body).unwrap() {
            (_, 200, _) | (true, 409, _) => {}
            other => panic!("{other:?}"),
        }
        world.created.fetch_add(1, Ordering::Relaxed);
        // Not so fast that all is over before somebody dies.
        thread::sleep(Duration::from_millis(5));
    }
}

fn task(number: u64) -> String {
    format!("task_number_{number:04}")
}

/// Claims and finishes tasks until the round is over.
fn work(world: &World, agent: &str, mut rng: Rng) {
    while let Some((_, status, claim)) =
        send(world, &mut rng, "POST", "/tasks/claim", &json!({ "agent": agent }))
    {
        let Some((task, fence)) = held(world, agent, status, &claim) else {
            // Nothing to do, or the lease of what it has is over and nobody has taken that back yet.
            thread::sleep(Duration::from_millis(20));
            continue;
        };
        // Now and then longer than it is waited for.
        thread::sleep(Duration::from_millis(if rng.u8(..40) == 0 { 1500 } else { rng.u64(..20) }));
        let report = json!({ "agent": agent, "fence": fence, "progress": 50 });
        send(world, &mut rng, "POST", &format!("/tasks/{task}/progress"), &report);
        let report = json!({ "agent": agent, "fence": fence, "result": { "fence": fence } });
        let path = format!("/tasks/{task}/complete");
        let Some((unanswered, status, answer)) = send(world, &mut rng, "POST", &path, &report) else {
            return;
        };
        let mut journal = world.journal.lock().unwrap();
        match status {
            200 => {
                let earlier = journal.finished.insert(task.clone(), fence);
                assert_eq!(earlier, None, "{task} was finished twice");
            }
            // Another has it, or had it; or an answer was lost and it is this very claim that finished it.
            409 => {
                (journal.refused, journal.unanswered) =
                    (journal.refused + 1, journal.unanswered + u64::from(unanswered))
            }
            other => panic!("{other}: {answer}"),
        }
    }
}

/// The claim, written down.
fn held(world: &World, agent: &str, status: u16, claim: &Value) -> Option<(String, u64)> {
    assert!(matches!(status, 200 | 409), "{status}: {claim}");
    let (task, fence) = (claim["task"].as_str()?, claim["fence"].as_u64()?);
    let mut journal = world.journal.lock().unwrap();
    let holder = journal.claimed.entry((task.to_owned(), fence)).or_insert_with(|| agent.to_owned());
    assert_eq!(holder, agent, "one claim was given to two: {task} under {fence}");
    Some((task.to_owned(), fence))
}

/// Holds a task, sleeps until it has been taken back, and reports as if nothing had happened.
fn oversleep(world: &World) {
    let (agent, mut rng) = (agent(WORKERS), Rng::new());
    let (task, fence) = loop {
        let (_, status, claim) =
            send(world, &mut rng, "POST", "/tasks/claim", &json!({ "agent": agent })).unwrap();
        if let Some(held) = held(world, &agent, status, &claim) {
            break held;
        }
        thread::sleep(Duration::from_millis(20));
    };
    until("a task whose holder sleeps is taken back", || {
        let shown = send(world, &mut rng, "GET", &format!("/tasks/{task}"), &Value::Null);
        let now = shown.and_then(|(_, _, shown)| shown["fence"].as_u64());
        if now > Some(fence) { Ok(()) } else { Err(format!("{now:?}")) }
    });
    let report = json!({ "agent": agent, "fence": fence, "result": "late" });
    let (_, status, answer) =
        send(world, &mut rng, "POST", &format!("/tasks/{task}/complete"), &report).unwrap();
    assert_eq!((status, &answer["error"]["code"]), (409, &json!("lost")), "{answer}");
}

/// What the store says when all is quiet, against what workers were told.
fn judge(service: &Serving, journal: &Journal, kills: [usize; 3]) {
    let events = events(service);
    let mut taken_back = 0;
    for number in 0..TASKS {
        let task = task(number);
        let shown = service.get(&format!("/api/swarms/{SWARM}/tasks/{task}")).json();
        let by = shown["result"]["fence"].as_u64().unwrap();
        if let Some(finished) = journal.finished.get(&task) {
            assert_eq!(*finished, by, "{task} was finished under another claim than its worker was told");
        }
        let last = journal.claimed.keys().filter(|claim| claim.0 == task).map(|claim| claim.1).max().unwrap();
        assert!(last <= by, "{task} was given out under claim {last}, after claim {by} had finished it");
        let history = &events[&format!("tasks:{task}")];
        let ends = history.iter().filter(|kind| *kind == "complete_task").count();
        assert_eq!(
            (ends, history.last().map(String::as_str)),
            (1, Some("complete_task")),
            "{task}: {history:?}"
        );
        let again = history.iter().filter(|kind| *kind == "requeue_task").count() as u64;
        assert_eq!(shown["attempt"].as_u64().unwrap_or_default(), again, "{task}: {history:?}");
        taken_back += again;
    }
    let [of_services, of_stores, recoveries] = kills;
    println!(
        "{TASKS} tasks, {} claims, {taken_back} taken back, {} reports refused, {} of them after one without an answer, \
         kills: {of_services} of services, {of_stores} of stores, {recoveries} recoveries",
        journal.claimed.len(),
        journal.refused,
        journal.unanswered,
    );
    assert!(taken_back > 0, "not even the one that slept");
}

/// What happened with each subject, in order; for tasks without what only made them ready.
fn events(service: &Serving) -> BTreeMap<String, Vec<String>> {
    let (mut all, mut after) = (BTreeMap::<String, Vec<String>>::new(), "0-0".to_owned());
    loop {
        let batch = service.get(&format!("/api/swarms/{SWARM}/events?most=1000&after={after}")).json();
        let events = batch["events"].as_array().unwrap();
        if events.is_empty() {
            return all;
        }
        for event in events {
            let word = |name: &str| event[name].as_str().unwrap_or_default().to_owned();
            if word("kind") != "complete_task" || word("to") == "completed" {
                all.entry(word("subject")).or_default().push(word("kind"));
            }
        }
        after = batch["next"].as_str().unwrap().to_owned();
    }
}
