//! A fleet that claims, works, votes, falls silent and is recovered: the whole system, in one process.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use fastrand::Rng;
use keyplane_kit::checkpoint::Retention;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::keys::{AgentId, Role, Round, Status, SwarmId, TaskId};
use crate::model::{AgentKind, Mode, Priority, Strategy, TaskKind};
use crate::state::{
    CheckpointOptions, Claim, Claimed, From, NewAgent, NewRound, NewSwarm, NewTask, OpError, Settings,
    SwarmChange, Swarms,
};

/// How long a silent agent is waited for: so short that it can be watched.
const LEASE: Duration = Duration::from_secs(2);

const ROLES: [&str; 6] = ["coder", "tester", "reviewer", "architect", "researcher", "planner"];
const OBJECTIVE: &str = r#"{"description":"Rebuild the checkout, with tests","type":"feature","priority":"high","complexity":"enterprise"}"#;
const KINDS: [TaskKind; 4] =
    [TaskKind::Implementation, TaskKind::Testing, TaskKind::Review, TaskKind::Documentation];

/// Validators that judge a round.
const JUDGES: u64 = 5;

/// Tasks that are made in all: what the contract lets a swarm have, less some.
const MOST_TASKS: u64 = 8000;

const MAKING: Duration = Duration::from_millis(250);
const LOOKING: Duration = Duration::from_millis(500);
const SAVING: Duration = Duration::from_secs(3);
const JUDGING: Duration = Duration::from_secs(4);
const FAILING: Duration = Duration::from_secs(11);

/// Of so many agents and tasks one is lost when the swarm fails.
const ONE_OF: usize = 20;

/// News that are kept.
const NEWS: usize = 100;

/// Something worth to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct News {
    /// Since the beginning.
    pub at: Duration,
    /// What.
    pub what: String,
}

/// The fleet at one moment.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Picture {
    /// The swarm.
    pub swarm: String,
    /// What it is doing.
    pub status: String,
    /// Agents by status.
    pub agents: BTreeMap<&'static str, u64>,
    /// Tasks by status.
    pub tasks: BTreeMap<&'static str, u64>,
    /// What was counted so far, in the order in which it is shown.
    pub counts: [(&'static str, u64); 6],
    /// The newest checkpoint: its number, and the bytes that it took.
    pub checkpoint: Option<(u64, u64)>,
    /// The newest news.
    pub news: Vec<News>,
}

#[derive(Debug, Default)]
struct Counts {
    claimed: AtomicU64,
    completed: AtomicU64,
    silent: AtomicU64,
    refused: AtomicU64,
    taken_back: AtomicU64,
    votes: AtomicU64,
}

/// A running fleet. It ends when it is dropped.
#[derive(Debug)]
pub struct Sim {
    shared: Arc<Shared>,
    _tasks: JoinSet<()>,
}

#[derive(Debug)]
struct Shared {
    swarms: Swarms,
    swarm: SwarmId,
    agents: u64,
    counts: Counts,
    checkpoint: Mutex<Option<(u64, u64)>>,
    news: Mutex<VecDeque<News>>,
    begun: Instant,
}

/// Settings under which a fleet can be watched.
#[must_use]
pub fn settings() -> Settings {
    Settings { agent_lease: LEASE, task_lease: LEASE, ..Settings::default() }
}

impl Sim {
    /// Starts so many agents. Needs a tokio runtime.
    pub async fn start(swarms: Swarms, agents: u64, seed: u64) -> Result<Self, OpError> {
        let mut rng = Rng::with_seed(seed);
        let id = format!("swarm_sim_{:08x}", rng.u32(..));
        let swarm = SwarmId::new(id.clone()).map_err(|_| OpError::Unreadable(id))?;
        let new = NewSwarm {
            id: swarm.clone(),
            strategy: Strategy::Development,
            mode: if agents > 7 { Mode::Hierarchical } else { Mode::Mesh },
            objective: OBJECTIVE.to_owned(),
        };
        swarms.create(&new, "sim").await?;
        let shared = Arc::new(Shared {
            swarms,
            swarm,
            agents,
            counts: Counts::default(),
            checkpoint: Mutex::default(),
            news: Mutex::default(),
            begun: Instant::now(),
        });
        shared.gather().await?;
        let mut tasks = JoinSet::new();
        tasks.spawn(make_tasks(Arc::clone(&shared), rng.fork()));
        tasks.spawn(take_back(Arc::clone(&shared)));
        tasks.spawn(save(Arc::clone(&shared)));
        tasks.spawn(judge(Arc::clone(&shared), rng.fork()));
        tasks.spawn(fail_and_recover(Arc::clone(&shared)));
        tasks.spawn(feed(Arc::clone(&shared)));
        for number in JUDGES..agents.max(JUDGES + 1) {
            tasks.spawn(work(Arc::clone(&shared), number, rng.fork()));
        }
        Ok(Self { shared, _tasks: tasks })
    }

    /// How it looks now.
    pub async fn picture(&self) -> Result<Picture, OpError> {
        let Shared { swarms, swarm, counts, .. } = &*self.shared;
        let view = swarms.read(swarm).await?.ok_or_else(|| OpError::NoSwarm { swarm: swarm.to_string() })?;
        let (mut agents, mut tasks) = (BTreeMap::new(), BTreeMap::new());
        for agent in view.agents.values() {
            *agents.entry(agent.status.word()).or_default() += 1;
        }
        for task in view.tasks.values() {
            *tasks.entry(task.status.word()).or_default() += 1;
        }
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Ok(Picture {
            swarm: swarm.to_string(),
            status: view.status().to_owned(),
            agents,
            tasks,
            counts: [
                ("claimed", read(&counts.claimed)),
                ("completed", read(&counts.completed)),
                ("fell silent", read(&counts.silent)),
                ("taken back", read(&counts.taken_back)),
                ("late reports refused", read(&counts.refused)),
                ("votes", read(&counts.votes)),
            ],
            checkpoint: *lock(&self.shared.checkpoint),
            news: lock(&self.shared.news).iter().cloned().collect(),
        })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn agent_id(number: u64) -> Option<AgentId> {
    AgentId::new(format!("agent_{number:08}")).ok()
}

fn task_id(number: u64) -> Option<TaskId> {
    TaskId::new(format!("task_{number:08}")).ok()
}

impl Shared {
    fn tell(&self, what: String) {
        let mut news = lock(&self.news);
        if news.len() == NEWS {
            news.pop_front();
        }
        news.push_back(News { at: self.begun.elapsed(), what });
    }

    fn count(count: &AtomicU64) {
        count.fetch_add(1, Ordering::Relaxed);
    }

    /// Registers everybody, and sets the swarm running.
    async fn gather(&self) -> Result<(), OpError> {
        for number in 0..self.agents.max(JUDGES + 1) {
            let is_judge = number < JUDGES;
            let role = if is_judge { "reviewer" } else { ROLES[number as usize % ROLES.len()] };
            let Some((id, role)) = agent_id(number).zip(Role::new(role).ok()) else { continue };
            let kind = if is_judge { AgentKind::Validator } else { AgentKind::Implementer };
            self.swarms.register(&self.swarm, &NewAgent { id, role, kind, metadata: None }, "sim").await?;
        }
        self.move_to(Status::Running).await?;
        self.tell(format!("{} agents are registered, and the swarm runs", self.agents.max(JUDGES + 1)));
        Ok(())
    }

    async fn move_to(&self, status: Status) -> Result<(), OpError> {
        let change = SwarmChange { status: Some(status), ..SwarmChange::default() };
        self.swarms.update(&self.swarm, &change, "sim").await.map(|_| ())
    }
}

/// An agent's life.
async fn work(shared: Arc<Shared>, number: u64, mut rng: Rng) {
    let Some(agent) = agent_id(number) else { return };
    loop {
        sleep(millis(&mut rng, 200, 1200)).await;
        match shared.swarms.claim(&shared.swarm, &agent).await {
            Ok(Claimed::Task(claim)) => {
                Shared::count(&shared.counts.claimed);
                work_on(&shared, &claim, &mut rng).await;
            }
            Ok(Claimed::Nothing) => {}
            // While it does not run; or when what it held was taken back and it does not know yet.
            Err(_) => sleep(millis(&mut rng, 500, 1000)).await,
        }
    }
}

async fn work_on(shared: &Shared, claim: &Claim, rng: &mut Rng) {
    let is_silent = rng.u8(..100) < 3;
    for step in 1..=3_u64 {
        sleep(millis(rng, 400, 1600)).await;
        if is_silent && step == 2 {
            Shared::count(&shared.counts.silent);
            sleep(2 * LEASE).await;
        } else {
            // Refused if it was taken back meanwhile; then the last report is, too.
            let _ = shared.swarms.progress(claim, step as f64 * 30.0).await;
        }
    }
    let reported = match rng.u8(..100) {
        0..5 => shared.swarms.fail_task(claim, true).await.map(|_| false),
        _ => shared.swarms.complete_task(claim, r#"{"ok":true}"#).await.map(|_| true),
    };
    match reported {
        Ok(true) => Shared::count(&shared.counts.completed),
        Err(OpError::Lost { .. }) => Shared::count(&shared.counts.refused),
        _ => {}
    }
}

fn millis(rng: &mut Rng, least: u64, most: u64) -> Duration {
    Duration::from_millis(rng.u64(least..most))
}

/// Work for everybody, some of it behind other work.
async fn make_tasks(shared: Arc<Shared>, mut rng: Rng) {
    let mut made = 0;
    while made < MOST_TASKS {
        for _ in 0..shared.agents.div_ceil(12).max(2) {
            let waits_for =
                (rng.u8(..4) == 0).then(|| task_id(made.saturating_sub(rng.u64(1..20)))).flatten();
            let Some(id) = task_id(made) else { return };
            let new = NewTask {
                title: format!("Part {made}"),
                description: "One part of the whole.".to_owned(),
                kind: KINDS[rng.usize(..KINDS.len())],
                priority: [Priority::Low, Priority::Medium, Priority::High][rng.usize(..3)],
                dependencies: waits_for.into_iter().filter(|other| *other != id).collect(),
                id,
            };
            if shared.swarms.create_task(&shared.swarm, &new, "sim").await.is_ok() {
                made += 1;
            }
        }
        sleep(MAKING).await;
    }
}

/// What silent agents hold is given to others.
async fn take_back(shared: Arc<Shared>) {
    loop {
        sleep(LOOKING).await;
        if let Ok(tasks) = shared.swarms.take_back(&shared.swarm, 1000).await {
            shared.counts.taken_back.fetch_add(tasks.len() as u64, Ordering::Relaxed);
        }
    }
}

async fn save(shared: Arc<Shared>) {
    loop {
        sleep(SAVING).await;
        let Ok(made) = shared.swarms.checkpoint(&shared.swarm, &CheckpointOptions::default(), "sim").await
        else {
            continue;
        };
        *lock(&shared.checkpoint) = Some((made.seq, made.stored));
        if made.parent.is_none() {
            shared.tell(format!(
                "full checkpoint {}: {} records in {} KB",
                made.seq,
                made.records,
                made.stored / 1024
            ));
            let _ = shared.swarms.prune(&shared.swarm, Retention::default()).await;
        }
    }
}

/// Validators vote about how it goes.
async fn judge(shared: Arc<Shared>, mut rng: Rng) {
    loop {
        sleep(JUDGING).await;
        let new = NewRound {
            required: 0.85,
            eligible: JUDGES,
            lasts: JUDGING,
            phase: None,
            iteration: 0,
            most_tries: 10,
        };
        let Ok(number) = shared.swarms.open_round(&shared.swarm, &new, "sim").await else { continue };
        let Ok(round) = Round::new(number) else { return };
        for judge in (0..JUDGES).filter_map(agent_id) {
            let sure = f64::from(rng.u32(72..100)) / 100.0;
            if shared.swarms.vote(&shared.swarm, &judge, round, sure, "As far as I can see.").await.is_ok() {
                Shared::count(&shared.counts.votes);
            }
        }
        if let Ok((tally, decision, _)) = shared.swarms.close_round(&shared.swarm, round, 3, "sim").await {
            let word = if tally.is_achieved { "achieved" } else { "not achieved" };
            shared.tell(format!(
                "round {number}: {word} with {:.3} of 0.850, {}",
                tally.score,
                decision.word()
            ));
        }
    }
}

/// Whoever looks for it finds it, also from another process.
async fn feed(shared: Arc<Shared>) {
    loop {
        sleep(LOOKING).await;
        let _ = shared.swarms.feed_touched().await;
    }
}

/// Now and then the swarm fails as a whole, some of what is kept of it is lost, and it is recovered.
async fn fail_and_recover(shared: Arc<Shared>) {
    loop {
        sleep(FAILING).await;
        if shared.move_to(Status::Failed).await.is_err() {
            continue;
        }
        let lost = shared.swarms.lose(&shared.swarm, ONE_OF).await.unwrap_or_default();
        shared.tell(format!("the swarm fails, and {lost} of its records are lost: nobody may claim"));
        sleep(LEASE + LEASE / 2).await;
        match shared.swarms.recover(&shared.swarm, From::Newest, false, "sim").await {
            Ok(done) => shared.tell(format!(
                "recovered: {} records came back, {} were saved nowhere, {} tasks wait again, confidence {:.2}",
                done.restored.values().sum::<u64>(),
                done.lost.len(),
                done.requeued.len(),
                done.confidence
            )),
            Err(error) => shared.tell(format!("not recovered yet: {error}")),
        }
    }
}
