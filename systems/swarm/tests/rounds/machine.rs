//! One service host: workers that claim tasks, one that adds to the plan, and one that keeps the swarm in order. When it
//! crashes, all of it begins anew.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use fastrand::Rng;
use keyplane_key::Naming;
use keyplane_store::{Dialer, Options, Store};
use keyplane_swarm::keys::Round;
use keyplane_swarm::model::AgentKind;
use keyplane_swarm::state::{Claim, Claimed, NewAgent, NewTask, OpError};
use keyplane_swarm::{AgentId, Settings, SwarmId, Swarms};
use keyplane_testing::Network;
use tokio::time::sleep;

use crate::journal::{Report, Shared, Told};
use crate::setup::{agent_id, new_agent, new_task};
use crate::upkeep::keep;
use crate::world::{HOSTS, TASKS};

/// Of each host; the last of them is a validator.
pub(crate) const WORKERS: u64 = 4;

/// After this long without a sign of life a task is given to somebody else.
const LEASE: Duration = Duration::from_millis(1200);

pub(crate) fn swarm() -> SwarmId {
    SwarmId::new("swarm_rounds00").unwrap()
}

pub(crate) async fn connect() -> Store {
    let mut options = Options::default();
    options.command_timeout = Duration::from_millis(400);
    options.connect_timeout = Duration::from_millis(250);
    let dialer = Dialer::new(Network::card());
    loop {
        let url = Network::URL.parse().unwrap();
        match Store::connect_through(url, options.clone(), dialer.clone()).await {
            Ok(store) => return store,
            Err(_) => sleep(Duration::from_millis(50)).await,
        }
    }
}

pub(crate) fn open(store: &Store) -> Swarms {
    let mut settings = Settings::default();
    settings.agent_lease = LEASE;
    settings.task_lease = LEASE;
    Swarms::new(store, Naming::new("", false).unwrap(), settings).unwrap()
}

/// The same number is the same task, whoever adds it. Most wait for one or two that come before.
pub(crate) fn planned(number: u64) -> NewTask {
    let mut rng = Rng::with_seed(number);
    let mut before: Vec<u64> = (0..rng.u64(..3))
        .filter(|_| number > 0)
        .map(|_| rng.u64(number.saturating_sub(20)..number))
        .collect();
    before.retain(|number| !is_doomed(*number));
    before.sort_unstable();
    before.dedup();
    new_task(number, &before)
}

/// Nobody can do it, and nothing waits for it.
pub(crate) fn is_doomed(number: u64) -> bool {
    number % 13 == 12
}

pub(crate) async fn work(number: usize, seed: u64, book: Shared) -> turmoil::Result {
    let start = {
        let mut book = book.lock().unwrap();
        book.starts[number] += 1;
        book.starts[number]
    };
    let rng = Mutex::new(Rng::with_seed(seed ^ (start << 40)));
    let swarms = open(&connect().await);
    let next = || Rng::with_seed(rng.lock().unwrap().u64(..));
    let worker = |at: u64| {
        let own = agent_id(number as u64 * WORKERS + at);
        let kind = if at + 1 == WORKERS { AgentKind::Validator } else { AgentKind::Implementer };
        Worker { swarms: swarms.clone(), id: own, kind, rng: next(), book: Arc::clone(&book), voted: 0 }
    };
    let [mut a, mut b, mut c, mut d] = [worker(0), worker(1), worker(2), worker(3)];
    let planning = plan(&swarms, number, next(), &book);
    let keeping = keep(&swarms, HOSTS[number], next(), &book);
    tokio::join!(a.run(), b.run(), c.run(), d.run(), planning, keeping);
    Ok(())
}

/// Adds its share of the plan, each until it is told that it is there.
async fn plan(swarms: &Swarms, number: usize, mut rng: Rng, book: &Shared) {
    loop {
        let next = book.lock().unwrap().next[number];
        if next >= TASKS {
            sleep(Duration::from_millis(100)).await;
            continue;
        }
        if next % HOSTS.len() as u64 == number as u64 {
            match swarms.create_task(&swarm(), &planned(next), HOSTS[number]).await {
                Ok(_) | Err(OpError::Exists { .. }) => {}
                // No answer; or something that it depends on is not there yet.
                Err(_) => {
                    sleep(Duration::from_millis(rng.u64(20..120))).await;
                    continue;
                }
            }
        }
        {
            let mut book = book.lock().unwrap();
            // Unless all of it has to be told again.
            if book.next[number] == next {
                book.next[number] += 1;
            }
        }
        sleep(Duration::from_millis(rng.u64(..60))).await;
    }
}

struct Worker {
    swarms: Swarms,
    id: AgentId,
    kind: AgentKind,
    rng: Rng,
    book: Shared,
    voted: u64,
}

impl Worker {
    async fn run(&mut self) {
        self.register().await;
        while !self.book.lock().unwrap().is_over {
            self.vote().await;
            match self.swarms.claim(&swarm(), &self.id).await {
                Ok(Claimed::Task(claim)) => {
                    self.book.lock().unwrap().claimed(&claim);
                    self.report_late(&claim).await;
                    self.work_on(&claim).await;
                }
                // The lease of the one that it has is over. Without a sign of life it is taken back.
                Err(OpError::Busy { .. }) => self.pause(200).await,
                Err(OpError::Unknown { .. }) => self.register().await,
                Ok(Claimed::Nothing) => {
                    drop(self.swarms.heartbeat(&swarm(), &self.id).await);
                    self.pause(150).await;
                }
                Err(_) => self.pause(150).await,
            }
        }
    }

    async fn pause(&mut self, most: u64) {
        sleep(Duration::from_millis(self.rng.u64(10..most))).await;
    }

    async fn register(&mut self) {
        let number = self.id.as_str().trim_start_matches("agent_").parse().unwrap();
        let own = NewAgent { kind: self.kind, ..new_agent(number) };
        while !matches!(
            self.swarms.register(&swarm(), &own, "itself").await,
            Ok(_) | Err(OpError::Exists { .. })
        ) {
            self.pause(150).await;
        }
    }

    async fn work_on(&mut self, claim: &Claim) {
        for done in 0..self.rng.u64(..4) {
            self.pause(250).await;
            // Now and then it stalls for longer than it is waited for.
            if self.rng.u8(..20) == 0 {
                self.pause(2 * LEASE.as_millis() as u64).await;
            }
            if self.rng.bool() {
                drop(self.swarms.heartbeat(&swarm(), &self.id).await);
                continue;
            }
            let told = told(self.swarms.progress(claim, (done * 30) as f64).await);
            self.book.lock().unwrap().progressed(claim, told);
            if told == Told::Refused {
                return self.insist(claim).await;
            }
        }
        let number: u64 = claim.task.as_str().trim_start_matches("task_").parse().unwrap();
        let report = match self.rng.u8(..10) {
            0 => Report::GivenUp,
            _ if is_doomed(number) => Report::FailedForGood,
            _ => Report::Completed,
        };
        for _ in 0..12 {
            match self.report(claim, report).await {
                Told::Ok => return,
                Told::Refused => return self.insist(claim).await,
                Told::Unknown => self.pause(300).await,
            }
        }
    }

    /// As a twin that was held up since it had the same task under an earlier number: it is heard no more.
    async fn report_late(&mut self, claim: &Claim) {
        let earlier = self.book.lock().unwrap().earlier(claim);
        for claim in earlier {
            if self.report(&claim, Report::Completed).await == Told::Ok {
                self.book.lock().unwrap().wrong(format!("a claim that is over was heard: {claim:?}"));
            }
        }
    }

    /// Who was refused once is refused always.
    async fn insist(&mut self, claim: &Claim) {
        let told = told(self.swarms.progress(claim, 99.0).await);
        self.book.lock().unwrap().progressed(claim, told);
        self.report(claim, Report::Completed).await;
    }

    async fn report(&mut self, claim: &Claim, report: Report) -> Told {
        self.book.lock().unwrap().asks(claim, report);
        let told = match report {
            Report::Completed => {
                let result = format!(r#"{{"by":"{}","fence":{}}}"#, claim.agent, claim.fence);
                told(self.swarms.complete_task(claim, &result).await)
            }
            Report::GivenUp => told(self.swarms.fail_task(claim, true).await),
            Report::FailedForGood => told(self.swarms.fail_task(claim, false).await),
        };
        self.book.lock().unwrap().told(claim, told);
        told
    }

    /// Once in each round, until it is taken or too late.
    async fn vote(&mut self) {
        let round = self.book.lock().unwrap().round;
        if self.kind != AgentKind::Validator || round <= self.voted {
            return;
        }
        match self.swarms.vote(&swarm(), &self.id, Round::new(round).unwrap(), 0.9, "It is fine.").await {
            Ok(_) => {
                self.voted = round;
                self.book.lock().unwrap().votes.insert((round, self.id.to_string()));
            }
            Err(OpError::Closed { .. } | OpError::Unknown { .. }) => self.voted = round,
            Err(_) => {}
        }
    }
}

fn told<T>(answer: Result<T, OpError>) -> Told {
    match answer {
        Ok(_) => Told::Ok,
        Err(OpError::Lost { .. }) => Told::Refused,
        // The swarm, or the task, is lost: what was done on it may count or not, and is asked for again.
        Err(OpError::NoSwarm { .. } | OpError::Unknown { .. } | OpError::Store(_)) => Told::Unknown,
        Err(error) => panic!("nobody expects this: {error}"),
    }
}
