//! Properties, on a real server whose clock is the test's: whatever happens in swarms and however much time passes, every key
//! lives by the contract's policy, no child ends before its swarm, and at rest the indexes are what a rebuild would give.
//!
//! `KEYPLANE_SEED=7` repeats one run.

use std::collections::BTreeMap;
use std::time::Duration;

use fastrand::Rng;
use keyplane_kit::checkpoint::Retention;
use keyplane_swarm::keys::{
    CheckpointId, Keyspace, MemoryId, MemoryType, Metric, PhaseId, Round, Status, Tag, Window,
};
use keyplane_swarm::model::{AgentKind, AgentStatus, LoopLevel, PhaseStatus};
use keyplane_swarm::state::{
    AgentChange, CheckpointOptions, Claim, Claimed, Filter, From, Locked, NewAgent, NewMemory, NewPhase,
    NewRound, OpError, Sample, SwarmChange,
};
use keyplane_swarm::{Role, SwarmId, Swarms};
use keyplane_testing::{Kind, Place, VirtualServer, seeds};

use crate::setup::{agent_id, naming, new_agent, new_swarm, new_task, run, swarms};

const ROLES: [&str; 4] = ["coder", "tester", "reviewer", "wizard"];
const STEPS: u32 = 120;

/// Members and scores of each.
type Indexes = BTreeMap<String, Vec<(String, String)>>;

/// A fleet in which things happen.
pub(crate) struct World {
    server: VirtualServer,
    pub(crate) place: Place,
    pub(crate) swarms: Swarms,
    pub(crate) ids: Vec<SwarmId>,
    gone: Vec<SwarmId>,
    claims: Vec<Claim>,
    is_kept: bool,
    rng: Rng,
}

/// A refusal is an answer like any other; what the store did not take is a bug.
pub(crate) fn refused<T>(outcome: Result<T, OpError>) -> Option<T> {
    match outcome {
        Ok(done) => Some(done),
        Err(OpError::Store(error)) => panic!("{error}"),
        Err(OpError::Unreadable(answer)) => panic!("{answer}"),
        Err(_) => None,
    }
}

fn role(rng: &mut Rng) -> Role {
    Role::new(ROLES[rng.usize(..ROLES.len())]).unwrap()
}

impl World {
    /// An empty one, unless this machine has no server whose clock a test can set.
    pub(crate) async fn start_or_skip(test: &str) -> Option<Self> {
        let server = VirtualServer::start_or_skip(test)?;
        let place = Place::new(Kind::Redis, server.url(), None);
        let swarms = swarms(&place).await;
        let (ids, gone, claims) = (Vec::new(), Vec::new(), Vec::new());
        Some(Self { server, place, swarms, ids, gone, claims, is_kept: false, rng: Rng::with_seed(0) })
    }

    /// Three swarms that run, and nothing else.
    pub(crate) async fn begin(&mut self, seed: u64) {
        self.place.clear().unwrap();
        (self.ids, self.gone, self.claims) = (Vec::new(), Vec::new(), Vec::new());
        (self.is_kept, self.rng) = (seed.is_multiple_of(2), Rng::with_seed(seed));
        for _ in 0..3 {
            let swarm = self.create().await;
            run(&self.swarms, &swarm).await;
        }
    }

    fn some(&mut self) -> SwarmId {
        self.ids[self.rng.usize(..self.ids.len())].clone()
    }

    async fn create(&mut self) -> SwarmId {
        let new = new_swarm();
        self.swarms.create(&new, "test").await.unwrap();
        self.ids.push(new.id.clone());
        new.id
    }

    /// In half of the runs somebody reconciles meanwhile: the indexes never run out, and are what was fed to them. In the others
    /// they run out, and are rebuilt when somebody looks.
    async fn pass(&mut self, seconds: u64) {
        let mut left = seconds;
        while left > 0 {
            let some = if self.is_kept { left.min(200) } else { left };
            self.server.advance(Duration::from_secs(some));
            if self.is_kept {
                refused(self.swarms.reconcile().await);
            }
            left -= some;
        }
    }

    /// One thing that happens, and its name.
    pub(crate) async fn step(&mut self) -> String {
        if self.rng.u8(..8) == 0 {
            let seconds = [1, 1, 30, 30, 300, 300, 1200, 3599, 4000][self.rng.usize(..9)];
            self.pass(seconds).await;
            return format!("{seconds} s pass");
        }
        let mut swarm = self.some();
        // What has run out is nobody's; the fleet goes on with a new one.
        if self.swarms.read(&swarm).await.unwrap().is_none() {
            self.ids.retain(|id| *id != swarm);
            self.gone.push(swarm);
            swarm = self.create().await;
            run(&self.swarms, &swarm).await;
        }
        let Self { swarms, rng, claims, .. } = self;
        let (agent, number) = (agent_id(rng.u64(..3)), rng.u64(..3));
        match rng.u8(..28) {
            0 => drop(self.create().await),
            1 => {
                let status =
                    [Status::Running, Status::Paused, Status::Recovering, Status::Failed][rng.usize(..4)];
                let change = SwarmChange { status: Some(status), ..SwarmChange::default() };
                refused(swarms.update(&swarm, &change, "test").await);
            }
            2 => {
                let change = SwarmChange { confidence: Some(rng.f64()), ..SwarmChange::default() };
                refused(swarms.update(&swarm, &change, "test").await);
            }
            3 | 4 => {
                let kind = [AgentKind::Implementer, AgentKind::Validator][rng.usize(..2)];
                let new = NewAgent { role: role(rng), kind, ..new_agent(number) };
                refused(swarms.register(&swarm, &new, "test").await);
            }
            5 => {
                let change = AgentChange { confidence: Some(rng.f64()), ..AgentChange::default() };
                refused(swarms.update_agent(&swarm, &agent, &change, "test").await);
            }
            6 => {
                let status = AgentStatus::ALL[rng.usize(..AgentStatus::ALL.len())];
                let change = AgentChange { status: Some(status), ..AgentChange::default() };
                refused(swarms.update_agent(&swarm, &agent, &change, "test").await);
            }
            7 | 8 => drop(refused(swarms.heartbeat(&swarm, &agent).await)),
            9 => {
                let waits: &[u64] = if rng.bool() { &[] } else { &[1] };
                refused(swarms.create_task(&swarm, &new_task(rng.u64(1..20), waits), "test").await);
            }
            10 => {
                if let Some(Claimed::Task(claim)) = refused(swarms.claim(&swarm, &agent).await) {
                    claims.push(claim);
                }
            }
            11 if !claims.is_empty() => {
                let claim = claims.swap_remove(rng.usize(..claims.len()));
                match rng.u8(..3) {
                    0 => drop(refused(swarms.progress(&claim, 50.0).await)),
                    1 => drop(refused(swarms.fail_task(&claim, rng.bool()).await)),
                    _ => drop(refused(swarms.complete_task(&claim, "{}").await)),
                }
            }
            12 => drop(refused(swarms.take_back(&swarm, 100).await)),
            13 => {
                let tags = [Tag::new("api"), Tag::new("ui")].into_iter().filter(|_| rng.bool());
                let memory = NewMemory {
                    kind: MemoryType::Knowledge,
                    id: MemoryId::new(format!("mem_{number:08}")).unwrap(),
                    agent,
                    content: "{}".to_owned(),
                    tags: tags.map(Result::unwrap).collect(),
                };
                refused(swarms.put_memory(&swarm, &memory).await);
            }
            14 => {
                let id = PhaseId::new(format!("phase_{number:08}")).unwrap();
                let phase = NewPhase {
                    id: id.clone(),
                    name: "build".to_owned(),
                    level: LoopLevel::new(3).unwrap(),
                    tasks: Vec::new(),
                    entry: Vec::new(),
                    exit: Vec::new(),
                };
                refused(swarms.create_phase(&swarm, &phase, "test").await);
                refused(swarms.move_phase(&swarm, &id, PhaseStatus::Active, &[], "test").await);
            }
            15 => {
                let lasts = Duration::from_secs(60);
                let round =
                    NewRound { required: 0.5, eligible: 2, lasts, phase: None, iteration: 0, most_tries: 10 };
                if let Some(number) = refused(swarms.open_round(&swarm, &round, "test").await) {
                    let round = Round::new(number).unwrap();
                    refused(swarms.vote(&swarm, &agent, round, 0.9, "it works").await);
                    refused(swarms.close_round(&swarm, round, 2, "test").await);
                }
            }
            16 => {
                let metric = Metric::ALL[rng.usize(..Metric::ALL.len())];
                refused(swarms.record_metric(&swarm, metric, &[Sample::now(rng.f64() * 200.0)]).await);
            }
            17 => drop(refused(swarms.roll_up(&swarm, Window::ALL).await)),
            18 => {
                // Agents are born while the children are being found.
                let (one, two) = (new_agent(rng.u64(..3)), new_agent(rng.u64(..3)));
                let (stretched, first, second) = tokio::join!(
                    swarms.stretch(&swarm),
                    swarms.register(&swarm, &one, "test"),
                    swarms.register(&swarm, &two, "test")
                );
                refused(stretched);
                refused(first);
                refused(second);
            }
            19 => drop(refused(swarms.feed_touched().await)),
            20 => drop(refused(swarms.reconcile().await)),
            21 => {
                if let Some(Locked::Taken { fence }) = refused(swarms.lock(&swarm, "test").await)
                    && rng.bool()
                {
                    refused(swarms.unlock(&swarm, "test", &fence).await);
                }
            }
            22 => drop(refused(swarms.complete(&swarm, "test").await)),
            _ => self.save(&swarm).await,
        }
        format!("{swarm}")
    }

    /// One of the things that happen to checkpoints, or with them.
    async fn save(&mut self, swarm: &SwarmId) {
        let Self { swarms, rng, ids, .. } = self;
        let saved = refused(swarms.checkpoints(swarm).await).unwrap_or_default();
        let one = saved.get(rng.usize(..saved.len().max(1))).map(|one| CheckpointId::new(&one.id).unwrap());
        match (rng.u8(..8), one) {
            (0, Some(one)) => drop(refused(swarms.pin(swarm, &one, rng.bool()).await)),
            (1, Some(one)) => {
                let fork = new_swarm().id;
                if refused(swarms.fork(swarm, &one, &fork, "test").await).is_some() {
                    ids.push(fork);
                }
            }
            (2, Some(one)) => {
                refused(swarms.recover(swarm, From::Checkpoint(one), rng.bool(), "test").await);
            }
            (3, _) => drop(refused(swarms.recover(swarm, From::Newest, rng.bool(), "test").await)),
            (4, _) => {
                let keep = Duration::from_secs(rng.u64(..3) * 600);
                let retention = Retention { all_for: keep, then_one_each: keep * 2 };
                refused(swarms.prune(swarm, retention).await);
            }
            (5, _) => drop(refused(swarms.remove(swarm).await)),
            _ => {
                let full = rng.u8(..4) == 0;
                let options = CheckpointOptions { full, ..CheckpointOptions::default() };
                refused(swarms.checkpoint(swarm, &options, "test").await);
            }
        }
    }

    /// At rest every note is applied, and who is gone is removed. What the indexes hold then, and after a rebuild from nothing.
    async fn rest(&self) -> (Indexes, Indexes) {
        for swarm in self.ids.iter().chain(&self.gone) {
            self.swarms.feed(swarm).await.unwrap();
        }
        if !self.is_kept {
            self.look().await;
        }
        self.swarms.reconcile().await.unwrap();
        let fed = self.indexes();
        for key in fed.keys().flat_map(|key| [key.clone(), format!("{key}:feed")]) {
            self.place.raw::<i64>(&key, &["DEL", &key]);
        }
        self.look().await;
        (fed, self.indexes())
    }

    /// What all indexes hold, by the plain commands.
    fn indexes(&self) -> Indexes {
        let keys = Keyspace::new(naming(&self.place)).unwrap();
        let mut sorted = vec![keys.index_active()];
        sorted.extend(Window::ALL.iter().map(|window| keys.index_performance(*window)));
        let mut plain: Vec<_> = Status::ALL.iter().map(|status| keys.index_status(*status)).collect();
        plain.extend(ROLES.iter().map(|role| keys.index_agents(&Role::new(*role).unwrap())));
        let mut found = BTreeMap::new();
        for key in sorted {
            let members = self.place.raw(key.as_str(), &["ZRANGE", key.as_str(), "0", "-1", "WITHSCORES"]);
            found.insert(key.as_str().to_owned(), members);
        }
        for key in plain {
            let mut members: Vec<String> = self.place.raw(key.as_str(), &["SMEMBERS", key.as_str()]);
            members.sort();
            let members = members.into_iter().map(|member| (member, String::new())).collect();
            found.insert(key.as_str().to_owned(), members);
        }
        found
    }

    /// Looks at all of them, so that none is absent.
    async fn look(&self) {
        for role in ROLES {
            let filter = Filter { role: Some(Role::new(role).unwrap()), ..Filter::default() };
            self.swarms.list(&filter).await.unwrap();
        }
        for window in Window::ALL {
            self.swarms.list(&Filter { best_in: Some(*window), ..Filter::default() }).await.unwrap();
        }
        for status in Status::ALL {
            self.swarms.list(&Filter { status: Some(*status), ..Filter::default() }).await.unwrap();
        }
    }
}

#[tokio::test]
async fn every_key_lives_by_its_policy_and_at_rest_an_index_is_what_a_rebuild_gives() {
    let name = "properties::every_key_lives_by_its_policy_and_at_rest_an_index_is_what_a_rebuild_gives";
    let Some(mut world) = World::start_or_skip(name).await else { return };
    let mut members = 0;
    for seed in seeds(0..12) {
        world.begin(seed).await;
        for number in 0..STEPS {
            let step = world.step().await;
            let findings = world.place.findings();
            assert!(
                findings.is_empty(),
                "KEYPLANE_SEED={seed}, step {number}, {step}:\n{}",
                lines(&findings)
            );
            if number % 10 == 9 {
                let (fed, rebuilt) = world.rest().await;
                assert_eq!(fed, rebuilt, "KEYPLANE_SEED={seed}, step {number}");
                members += fed.values().map(Vec::len).sum::<usize>();
            }
        }
    }
    assert!(members > 1000, "only {members} members in all indexes of all runs");
}

fn lines(findings: &[keyplane_testing::Finding]) -> String {
    findings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}
