//! Property: as long as a record is there, so are all its children, whenever horizons are drawn and by whom, and however long
//! that takes.

use std::collections::BTreeSet;
use std::time::Duration;

use keyplane_engine::Reply;
use keyplane_key::{Hash, Key};
use keyplane_kit::record::{Change, Children, Records, Stretch};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::setup::{MachineId, east, pool};
use crate::world::{Paused, World};

const MINUTE: Duration = Duration::from_secs(60);

#[derive(Debug, Clone)]
enum Step {
    /// So many minutes pass.
    Advance(u32),
    /// The pool changes.
    Update,
    /// A machine joins, or changes.
    Join(usize),
    /// A machine changes, and the pool is renewed with it.
    Renew(usize),
    /// A stretch begins; one that was under way is forgotten, as if its process had died.
    Begin,
    /// It finds the children.
    Find,
    /// It finishes with those that it found.
    Finish,
}

fn step() -> impl Strategy<Value = Step> {
    let machine = 0..5_usize;
    prop_oneof![
        4 => prop_oneof![1..20_u32, 20..59_u32, Just(60_u32)].prop_map(Step::Advance),
        3 => Just(Step::Update),
        2 => machine.clone().prop_map(Step::Join),
        2 => machine.prop_map(Step::Renew),
        2 => Just(Step::Begin),
        3 => Just(Step::Find),
        3 => Just(Step::Finish),
    ]
}

struct Model<'w> {
    world: &'w World,
    pools: &'w Records,
    machines: &'w Records,
    pool: Key<Hash>,
    joined: BTreeSet<usize>,
    stretch: Option<(Stretch<'w>, Option<Children>)>,
    /// How often the pool was renewed beyond its first horizon.
    stretched: u64,
}

impl Model<'_> {
    fn machine(&self, number: usize) -> Key<Hash> {
        self.world.keys.machine(&east(), &MachineId::new(format!("m{number}")).unwrap())
    }

    async fn apply(&mut self, step: &Step) -> Result<(), TestCaseError> {
        match *step {
            Step::Advance(minutes) => self.world.engine.advance(minutes * MINUTE).await,
            Step::Update => drop(self.pools.commit(&self.pool, Change::update().count("updates", 1)).await),
            Step::Join(number) => self.join(number, false).await,
            Step::Renew(number) => self.join(number, true).await,
            Step::Begin => {
                self.stretch = self.pools.stretch(&self.pool).await.unwrap().map(|begun| (begun, None))
            }
            Step::Find => {
                let children = self.children();
                if let Some((_, found)) = &mut self.stretch {
                    *found = Some(children);
                }
            }
            Step::Finish => {
                if let Some((stretch, Some(children))) = self.stretch.take_if(|(_, found)| found.is_some()) {
                    self.stretched += u64::from(stretch.finish(&children).await.unwrap());
                }
            }
        }
        self.check().await
    }

    async fn join(&mut self, number: usize, renews: bool) {
        let change = Change::upsert().set("load", "0");
        let change = if renews { change.renewing(&self.pool) } else { change.under(&self.pool) };
        if self.machines.commit(&self.machine(number), change).await.is_ok() {
            self.joined.insert(number);
        }
    }

    fn children(&self) -> Children {
        let mut children = Children::default();
        children.hashes = self.joined.iter().map(|number| self.machine(*number)).collect();
        children
    }

    /// All children are there, or the pool is not.
    async fn check(&mut self) -> Result<(), TestCaseError> {
        if self.exists(&self.pool).await {
            for number in &self.joined {
                let child = self.machine(*number);
                prop_assert!(self.exists(&child).await, "{child} is gone, and its pool is there");
            }
            return Ok(());
        }
        // A new one begins without children; those that live longer are nobody's.
        self.stretch = None;
        for number in std::mem::take(&mut self.joined) {
            self.world.raw(&["DEL", self.machine(number).as_str()]).await;
        }
        self.pools.commit(&self.pool, Change::create().set("state", "open")).await.unwrap();
        Ok(())
    }

    async fn exists(&self, key: &Key<Hash>) -> bool {
        self.world.raw(&["EXISTS", key.as_str()]).await == Reply::Int(1)
    }
}

#[test]
fn no_record_outlives_its_children() {
    let paused = Paused::start();
    let handle = paused.run(paused.world.machine());
    let pools = Records::of(&handle, &pool::info::POOL).unwrap();
    let machines = Records::of(&handle, &pool::info::MACHINE).unwrap();
    let stretched = std::cell::Cell::new(0);
    let mut runner = TestRunner::new(Config { cases: 200, ..Config::with_source_file(file!()) });
    let outcome = runner.run(&prop::collection::vec(step(), 1..60), |steps| {
        paused.run(async {
            paused.world.raw(&["FLUSHALL"]).await;
            let mut model = Model {
                world: &paused.world,
                pools: &pools,
                machines: &machines,
                pool: paused.world.keys.pool(&east()),
                joined: BTreeSet::new(),
                stretch: None,
                stretched: 0,
            };
            model.check().await?;
            for step in &steps {
                model.apply(step).await?;
            }
            stretched.set(stretched.get() + model.stretched);
            Ok(())
        })
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
    // About a hundred and twenty are; so few would mean that the steps no longer reach what is tested here.
    assert!(stretched.get() > 50, "only {} horizons were moved", stretched.get());
}
