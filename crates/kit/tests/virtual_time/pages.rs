//! Property: each page is the members behind its cursor, whatever comes and goes between pages.

use std::time::{Duration, UNIX_EPOCH};

use keyplane_kit::timeline::{Cursor, Order, Timeline};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::setup::east;
use crate::world::{DAY, Paused};

/// Few scores and members that begin alike, so that ties are the rule.
const MEMBERS: [&str; 8] = ["", "a", "a\0", "aa", "ab", "b", "Z", "é"];

#[derive(Debug, Clone)]
enum Step {
    /// So many milliseconds after what is about to be too old.
    Add(usize, u64),
    Remove(usize),
    Prune,
    Advance(u64),
    Turn(usize),
    Next(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let member = 0..MEMBERS.len();
    prop_oneof![
        6 => (member.clone(), 0..4_u64).prop_map(|(member, score)| Step::Add(member, score)),
        2 => member.prop_map(Step::Remove),
        1 => Just(Step::Prune),
        1 => (0..3_u64).prop_map(Step::Advance),
        1 => (0..2_usize).prop_map(Step::Turn),
        6 => (0..5_usize).prop_map(Step::Next),
    ]
}

/// Members as a list, which is what a timeline is to its reader.
#[derive(Default)]
struct Model(Vec<(u64, &'static [u8])>);

impl Model {
    fn add(&mut self, score: u64, member: &'static [u8]) {
        self.remove(member);
        self.0.push((score, member));
        self.0.sort_unstable();
    }

    fn remove(&mut self, member: &[u8]) {
        self.0.retain(|(_, known)| *known != member);
    }

    /// All that is behind a place, from the end that the order starts at.
    fn behind(&self, after: Option<&(u64, Vec<u8>)>, order: Order) -> Vec<(u64, &'static [u8])> {
        let after = after.map(|(score, member)| (*score, member.as_slice()));
        let mut rest = self.0.clone();
        match order {
            Order::OldestFirst => rest.retain(|entry| after.is_none_or(|after| *entry > after)),
            Order::NewestFirst => {
                rest.retain(|entry| after.is_none_or(|after| *entry < after));
                rest.reverse();
            }
        }
        rest
    }
}

async fn holds(paused: &Paused, steps: &[Step]) -> Result<(), TestCaseError> {
    let (world, key) = (&paused.world, paused.world.keys.sightings(&east()));
    world.raw(&["FLUSHALL"]).await;
    let seen = Timeline::new(&world.machine().await, key.clone()).unwrap();
    let day = u64::try_from(DAY.as_millis()).unwrap();
    let (mut model, mut order) = (Model::default(), Order::OldestFirst);
    let mut after: Option<(u64, Vec<u8>)> = None;
    for (number, step) in steps.iter().enumerate() {
        match *step {
            Step::Add(member, score) => {
                let score = world.now() - day + score;
                seen.record_at(MEMBERS[member], UNIX_EPOCH + Duration::from_millis(score)).await.unwrap();
                model.add(score, MEMBERS[member].as_bytes());
            }
            Step::Remove(member) => {
                world.raw(&["ZREM", key.as_str(), MEMBERS[member]]).await;
                model.remove(MEMBERS[member].as_bytes());
            }
            Step::Prune => drop(seen.prune().await.unwrap()),
            Step::Advance(millis) => world.engine.advance(Duration::from_millis(millis)).await,
            Step::Turn(to) => {
                order = [Order::OldestFirst, Order::NewestFirst][to];
                after = None;
            }
            Step::Next(limit) => {
                let cursor =
                    after.as_ref().map(|(score, member)| Cursor::behind(member.as_slice(), *score as f64));
                let page = seen.page(cursor.as_ref(), limit, order).await.unwrap();
                let oldest = world.now() - day;
                model.0.retain(|(score, _)| *score >= oldest);
                let mut wanted = model.behind(after.as_ref(), order);
                let more = wanted.len() > limit.max(1);
                wanted.truncate(limit.max(1));
                let found: Vec<_> =
                    page.items.iter().map(|(member, score)| (*score as u64, member.as_slice())).collect();
                prop_assert_eq!(&found, &wanted, "step {}, {:?} behind {:?}", number, order, after);
                prop_assert_eq!(page.next.is_some(), more, "step {}", number);
                after = found.last().map(|(score, member)| (*score, member.to_vec())).or(after);
                if let (Some(next), Some((score, member))) = (page.next, &after) {
                    prop_assert_eq!(next, Cursor::behind(member.as_slice(), *score as f64));
                }
            }
        }
    }
    Ok(())
}

#[test]
fn every_page_is_what_is_behind_its_cursor() {
    let paused = Paused::start();
    let mut runner = TestRunner::new(Config { cases: 200, source_file: Some(file!()), ..Config::default() });
    let outcome =
        runner.run(&prop::collection::vec(step(), 1..50), |steps| paused.run(holds(&paused, &steps)));
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
}
