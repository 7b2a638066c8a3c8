//! Property: a timer fires once per term until it is acknowledged, never before its time, and none is lost.

use std::collections::BTreeMap;
use std::time::Duration;

use keyplane_kit::Fence;
use keyplane_kit::deadline::{DeadlineError, Deadlines, Due, Fired, UnixMillis};
use keyplane_kit::lease::Held;
use keyplane_store::Handle;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::setup::east;
use crate::world::{Paused, World};

const IDS: [&str; 4] = ["a", "b", "a:0", "0:0:a"];

#[derive(Debug, Clone)]
enum Step {
    In(usize, u64),
    /// So many milliseconds before now.
    Past(usize, u64),
    Cancel(usize),
    Advance(u64),
    Due(usize),
    /// The first so many that this term has, and in which order does not matter.
    Done(usize),
    /// The holder dies or gives up; another process begins a term.
    NewTerm,
    /// One whose term is over asks and acknowledges.
    Stale,
}

fn step() -> impl Strategy<Value = Step> {
    let id = 0..IDS.len();
    prop_oneof![
        4 => (id.clone(), 0..6_u64).prop_map(|(id, after)| Step::In(id, after)),
        2 => (id.clone(), 0..3_u64).prop_map(|(id, before)| Step::Past(id, before)),
        1 => id.prop_map(Step::Cancel),
        3 => (0..5_u64).prop_map(Step::Advance),
        4 => (1..5_usize).prop_map(Step::Due),
        2 => (0..4_usize).prop_map(Step::Done),
        1 => Just(Step::NewTerm),
        1 => Just(Step::Stale),
    ]
}

/// What there must be.
struct Model<'w> {
    world: &'w World,
    handle: Handle,
    alarms: Deadlines,
    held: Option<Held>,
    fence: Fence,
    over: Vec<Fence>,
    waiting: BTreeMap<&'static str, u64>,
    /// Handed out and not acknowledged, by the number of the term that has it.
    firing: Vec<(usize, Fired)>,
}

impl<'w> Model<'w> {
    async fn new(world: &'w World) -> Self {
        world.raw(&["FLUSHALL"]).await;
        let handle = world.machine().await;
        let alarms = Deadlines::new(&handle, world.keys.alarms(&east())).unwrap();
        let (held, fence) = world.lead(&handle).await;
        let (over, waiting, firing) = (Vec::new(), BTreeMap::new(), Vec::new());
        Self { world, handle, alarms, held: Some(held), fence, over, waiting, firing }
    }

    fn term(&self) -> usize {
        self.over.len()
    }

    async fn apply(&mut self, step: &Step) -> Result<(), TestCaseError> {
        match *step {
            Step::In(id, after) => {
                self.schedule(IDS[id], Due::In(Duration::from_millis(after)), self.world.now() + after).await
            }
            Step::Past(id, before) => {
                let at = self.world.now() - before;
                self.schedule(IDS[id], Due::At(UnixMillis(at)), at).await
            }
            Step::Cancel(id) => {
                let waited = self.waiting.remove(IDS[id]).is_some();
                prop_assert_eq!(self.alarms.cancel(IDS[id]).await.unwrap(), waited);
                Ok(())
            }
            Step::Advance(millis) => {
                self.world.engine.advance(Duration::from_millis(millis)).await;
                Ok(())
            }
            Step::Due(limit) => self.due(limit).await.map(drop),
            Step::Done(many) => self.done(many).await,
            Step::NewTerm => {
                self.new_term().await;
                Ok(())
            }
            Step::Stale => self.stale().await,
        }
    }

    async fn schedule(&mut self, id: &'static str, due: Due, at: u64) -> Result<(), TestCaseError> {
        let set = self.alarms.schedule(id, due).await.unwrap();
        let moved = self.waiting.insert(id, at).is_some();
        prop_assert_eq!((set.due, set.moved), (UnixMillis(at), moved));
        Ok(())
    }

    async fn due(&mut self, limit: usize) -> Result<usize, TestCaseError> {
        let fired = self.alarms.due(&self.fence, limit).await.unwrap();
        let (term, now) = (self.term(), self.world.now());
        let (again, new): (Vec<Fired>, Vec<Fired>) = fired.iter().cloned().partition(|fired| fired.again);
        prop_assert!(
            fired.iter().take(again.len()).all(|fired| fired.again),
            "those of other terms come first"
        );

        // What other terms have left, each once.
        let left = self.firing.iter().filter(|(of, _)| *of != term).count();
        prop_assert_eq!(again.len(), left.min(limit));
        for fired in again {
            let same = |(of, known): &&mut (usize, Fired)| {
                let mut known = known.clone();
                known.again = true;
                *of != term && known == fired
            };
            let Some(known) = self.firing.iter_mut().find(same) else {
                return Err(TestCaseError::fail(format!("{fired:?} is no other term's")));
            };
            *known = (term, fired);
        }

        // What is due, the earliest first.
        let mut wanted: Vec<(u64, &str)> = self.waiting.iter().map(|(id, due)| (*due, *id)).collect();
        wanted.retain(|(due, _)| *due <= now);
        wanted.sort_unstable();
        wanted.truncate(limit - left.min(limit));
        let found: Vec<(u64, &str)> = new.iter().map(|fired| (fired.due.0, fired.id.as_str())).collect();
        prop_assert_eq!(&found, &wanted);
        self.waiting.retain(|id, _| !wanted.iter().any(|(_, taken)| taken == id));
        self.firing.extend(new.into_iter().map(|fired| (term, fired)));
        Ok(fired.len())
    }

    async fn done(&mut self, many: usize) -> Result<(), TestCaseError> {
        let term = self.term();
        // Those of other terms may be named too, and stay.
        let (own, others): (Vec<_>, Vec<_>) = self.firing.drain(..).partition(|(of, _)| *of == term);
        let named = own.iter().take(many).chain(&others).map(|(_, fired)| fired);
        let done = self.alarms.done(&self.fence, named).await.unwrap();
        prop_assert_eq!(done, own.len().min(many) as u64);
        self.firing = own.into_iter().skip(many).chain(others).collect();
        Ok(())
    }

    async fn new_term(&mut self) {
        if let Some(held) = self.held.take() {
            held.release().await.unwrap();
        }
        self.handle = self.world.machine().await;
        self.alarms = Deadlines::new(&self.handle, self.world.keys.alarms(&east())).unwrap();
        let (held, fence) = self.world.lead(&self.handle).await;
        self.held = Some(held);
        self.over.push(std::mem::replace(&mut self.fence, fence));
    }

    async fn stale(&self) -> Result<(), TestCaseError> {
        for fence in &self.over {
            prop_assert!(matches!(self.alarms.due(fence, 9).await, Err(DeadlineError::Fenced)));
            let all = self.firing.iter().map(|(_, fired)| fired);
            prop_assert!(matches!(self.alarms.done(fence, all).await, Err(DeadlineError::Fenced)));
        }
        Ok(())
    }

    /// What the store would tell whoever looks.
    async fn check(&self) -> Result<(), TestCaseError> {
        let now = self.world.now();
        let next = self.waiting.values().min().map(|due| Duration::from_millis(due.saturating_sub(now)));
        prop_assert_eq!(self.alarms.next().await.unwrap(), next);
        let mut has: Vec<_> = self.alarms.firing(&self.fence, 1000).await.unwrap();
        let mut own: Vec<_> =
            self.firing.iter().filter(|(of, _)| *of == self.term()).map(|(_, fired)| fired).collect();
        let order = |fired: &Fired| (fired.due, fired.id.clone());
        has.sort_by_key(order);
        own.sort_by_key(|fired| order(fired));
        prop_assert_eq!(
            has.iter().map(order).collect::<Vec<_>>(),
            own.into_iter().map(order).collect::<Vec<_>>()
        );
        Ok(())
    }

    /// In the end everything that was not acknowledged comes, and nothing else.
    async fn drain(&mut self) -> Result<(), TestCaseError> {
        self.world.engine.advance(Duration::from_secs(1)).await;
        self.new_term().await;
        let (all, mut came) = (self.waiting.len() + self.firing.len(), 0);
        loop {
            match self.due(3).await? {
                0 => break,
                more => came += more,
            }
        }
        prop_assert_eq!(came, all);
        self.done(usize::MAX).await?;
        prop_assert!(self.waiting.is_empty() && self.firing.is_empty());
        self.new_term().await;
        prop_assert_eq!(self.due(9).await?, 0);
        Ok(())
    }
}

async fn holds(paused: &Paused, steps: &[Step]) -> Result<(), TestCaseError> {
    let mut model = Model::new(&paused.world).await;
    for step in steps {
        model.apply(step).await?;
        model.check().await?;
    }
    model.drain().await
}

#[test]
fn a_timer_fires_once_per_term_until_it_is_acknowledged() {
    let paused = Paused::start();
    let mut runner = TestRunner::new(Config { cases: 64, source_file: Some(file!()), ..Config::default() });
    let outcome =
        runner.run(&prop::collection::vec(step(), 1..40), |steps| paused.run(holds(&paused, &steps)));
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
}
