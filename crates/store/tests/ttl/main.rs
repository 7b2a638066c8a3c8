//! Property: after any sequence of typed operations, scripts and steps of time, every key's TTL is what its policy says, to
//! the millisecond. On a real server whose clock is ours, and on the embedded store in virtual time.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../suite/setup.rs"]
#[allow(dead_code)]
mod setup;
mod timed;

use std::time::Duration;

use keyplane_key::End::{Left, Right};
use keyplane_store::{Error, Handle};
use keyplane_testing::VirtualServer;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use setup::{Bin, Keyspace, Order, scripts};
use timed::{Ends, Timed};

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;

#[derive(Debug, Clone)]
enum Step {
    Advance(i64),
    Order(usize, usize),
    OrderCount(usize),
    Line(usize, usize),
    PopLine(usize),
    Receipt(usize),
    ReceiptAtEvent(usize),
    AddStock(usize),
    SetStock(usize),
    Label(usize),
    LabelFor(usize, i64),
    DropLabel(usize),
    Bins(usize),
    DropBin(usize),
    Move(usize, usize),
    Prune(usize),
    Journal,
    Ticket(usize),
    Take(usize),
    Close(usize),
    Restock(usize),
    /// Several of them in one pipeline.
    Together(usize, usize),
}

fn step() -> impl Strategy<Value = Step> {
    let (o, b) = (0..2_usize, 0..2_usize);
    prop_oneof![
        4 => prop_oneof![1..5_i64, 1..20 * MINUTE, 1..2 * HOUR, Just(10 * MINUTE), Just(HOUR), Just(2 * HOUR)]
            .prop_map(Step::Advance),
        2 => (o.clone(), 0..7_usize).prop_map(|(o, f)| Step::Order(o, f)),
        1 => o.clone().prop_map(Step::OrderCount),
        2 => (o.clone(), 1..3_usize).prop_map(|(o, n)| Step::Line(o, n)),
        1 => o.clone().prop_map(Step::PopLine),
        1 => o.clone().prop_map(Step::Receipt),
        1 => o.clone().prop_map(Step::ReceiptAtEvent),
        1 => b.clone().prop_map(Step::AddStock),
        1 => b.clone().prop_map(Step::SetStock),
        1 => b.clone().prop_map(Step::Label),
        1 => (b.clone(), 1..26 * HOUR).prop_map(|(b, ttl)| Step::LabelFor(b, ttl)),
        1 => b.clone().prop_map(Step::DropLabel),
        1 => (0..5_usize).prop_map(Step::Bins),
        1 => (0..5_usize).prop_map(Step::DropBin),
        1 => (b.clone(), 0..5_usize).prop_map(|(b, m)| Step::Move(b, m)),
        1 => b.clone().prop_map(Step::Prune),
        1 => Just(Step::Journal),
        1 => b.clone().prop_map(Step::Ticket),
        1 => b.clone().prop_map(Step::Take),
        1 => o.clone().prop_map(Step::Close),
        1 => b.clone().prop_map(Step::Restock),
        1 => (o, b).prop_map(|(o, b)| Step::Together(o, b)),
    ]
}

struct World {
    timed: Timed,
    runtime: tokio::runtime::Runtime,
    handle: Handle,
    keys: Keyspace,
    orders: [Order; 2],
    bins: [Bin; 2],
    ends: Ends,
    refused: usize,
}

impl World {
    fn start((timed, runtime): (Timed, tokio::runtime::Runtime)) -> Self {
        let contract = keyplane_store::contract(Keyspace::SOURCE).unwrap();
        let handle = runtime.block_on(async { timed.open().await.handle(&contract) });
        let orders = ["o1", "o2"].map(|id| Order::new(id).unwrap());
        let bins = ["b1", "b2"].map(|id| Bin::new(id).unwrap());
        let keys = Keyspace::default();
        Self { timed, runtime, handle, keys, orders, bins, ends: Ends::new(), refused: 0 }
    }

    fn now(&self) -> i64 {
        // The engine's time is the runtime's.
        let _within = self.runtime.enter();
        self.timed.now()
    }

    fn reset(&mut self) {
        self.runtime.block_on(self.timed.flush());
        self.ends.clear();
    }

    /// What is said about every key there is.
    fn seen(&self) -> Ends {
        self.runtime.block_on(self.timed.ends())
    }

    fn renew(&mut self, key: &str, lasts: i64) {
        self.ends.insert(key.to_owned(), Some(self.now() + lasts));
    }

    fn once(&mut self, key: &str, lasts: i64) {
        let end = self.now() + lasts;
        self.ends.entry(key.to_owned()).or_insert(Some(end));
    }

    /// Whether it was done; a refusal is counted and changes nothing.
    fn done<T>(&mut self, result: Result<T, Error>) -> bool {
        match result {
            Ok(_) => true,
            Err(error) => {
                assert!(!error.maybe_applied() && !error.is_retryable(), "{error}");
                self.refused += 1;
                false
            }
        }
    }

    fn forget_if_gone(&mut self, key: &str) {
        if !self.seen().contains_key(key) {
            self.ends.remove(key);
        }
    }

    fn apply(&mut self, step: &Step) {
        match *step {
            Step::Advance(millis) => {
                self.runtime.block_on(self.timed.advance(millis as u64));
                let now = self.now();
                self.ends.retain(|_, end| end.is_none_or(|end| end >= now));
            }
            Step::Order(o, fields) => self.order(o, fields),
            Step::OrderCount(o) => {
                let key = self.keys.order(&self.orders[o]);
                let result = self.runtime.block_on(self.handle.run(key.hincrby("n", 1)));
                if self.done(result) {
                    self.renew(key.as_str(), HOUR);
                }
            }
            Step::Line(o, count) => self.line(o, count),
            Step::PopLine(o) => {
                let key = self.keys.lines(&self.orders[o]);
                self.runtime.block_on(self.handle.run(key.lpop())).unwrap();
                self.forget_if_gone(key.as_str());
            }
            Step::Receipt(o) => {
                let key = self.keys.receipt(&self.orders[o]);
                self.runtime.block_on(self.handle.run(key.set("draft"))).unwrap();
                self.once(key.as_str(), 2 * HOUR);
            }
            Step::ReceiptAtEvent(o) => {
                let key = self.keys.receipt(&self.orders[o]);
                self.runtime.block_on(self.handle.run(key.set("final").at_event())).unwrap();
                self.renew(key.as_str(), HOUR / 2);
            }
            Step::AddStock(b) => {
                let key = self.keys.stock(&self.bins[b]);
                self.runtime.block_on(self.handle.run(key.incrby(1))).unwrap();
                self.once(key.as_str(), 2 * HOUR);
            }
            Step::SetStock(b) => {
                let key = self.keys.stock(&self.bins[b]);
                self.runtime.block_on(self.handle.run(key.set("7"))).unwrap();
                self.once(key.as_str(), 2 * HOUR);
            }
            Step::Journal => {
                let key = self.keys.journal();
                self.runtime.block_on(self.handle.run(key.xadd([("what", "x")]))).unwrap();
                self.ends.insert(key.as_str().to_owned(), None);
            }
            _ => self.apply_more(step),
        }
    }

    fn apply_more(&mut self, step: &Step) {
        match *step {
            Step::Label(b) => {
                let key = self.keys.label(&self.bins[b]);
                self.runtime.block_on(self.handle.run(key.set("x"))).unwrap();
                self.renew(key.as_str(), 24 * HOUR);
            }
            Step::LabelFor(b, ttl) => {
                let key = self.keys.label(&self.bins[b]);
                let lasting = Duration::from_millis(ttl as u64);
                let result = self.runtime.block_on(self.handle.run(key.set("x").lasting(lasting)));
                let done = self.done(result);
                assert_eq!(done, ttl <= 24 * HOUR);
                if done {
                    self.renew(key.as_str(), ttl);
                }
            }
            Step::DropLabel(b) => {
                let key = self.keys.label(&self.bins[b]);
                self.runtime.block_on(self.handle.run(key.del())).unwrap();
                self.ends.remove(key.as_str());
            }
            Step::Bins(n) => {
                let key = self.keys.bins();
                let result = self.runtime.block_on(self.handle.run(key.sadd([format!("b{n}")])));
                if self.done(result) {
                    self.renew(key.as_str(), 5 * MINUTE);
                }
            }
            Step::DropBin(n) => {
                let key = self.keys.bins();
                self.runtime.block_on(self.handle.run(key.srem([format!("b{n}")]))).unwrap();
                self.forget_if_gone(key.as_str());
            }
            Step::Move(b, who) => {
                let key = self.keys.moves(&self.bins[b]);
                let result = self
                    .runtime
                    .block_on(self.handle.run(key.zadd([(self.now() as f64, format!("w{who}"))])));
                if self.done(result) {
                    self.renew(key.as_str(), 3 * HOUR);
                }
            }
            Step::Prune(b) => {
                let key = self.keys.moves(&self.bins[b]);
                let old = (self.now() - HOUR).to_string();
                self.runtime.block_on(self.handle.run(key.zremrangebyscore("-inf", &old))).unwrap();
                self.forget_if_gone(key.as_str());
            }
            Step::Ticket(b) => {
                let key = self.keys.tickets(&self.bins[b]);
                self.runtime.block_on(self.handle.run(key.rpush("t"))).unwrap();
                self.ends.insert(key.as_str().to_owned(), None);
            }
            Step::Take(b) => {
                let (from, to) = (self.keys.tickets(&self.bins[b]), self.keys.taken(&self.bins[b]));
                let moved = self.runtime.block_on(self.handle.run(from.lmove(Left, &to, Right))).unwrap();
                // An empty queue moves nothing, and what is there is not renewed.
                if moved.is_some() {
                    self.renew(to.as_str(), 20 * MINUTE);
                }
                self.forget_if_gone(from.as_str());
            }
            Step::Close(o) => self.close(o),
            Step::Restock(b) => self.restock(b),
            Step::Together(o, b) => self.together(o, b),
            _ => unreachable!("in apply"),
        }
    }

    fn order(&mut self, o: usize, fields: usize) {
        let key = self.keys.order(&self.orders[o]);
        let names = ["state", "note", "n", "part_a", "part_b", "part_c", "part_d"];
        let values = names.iter().take(fields + 1).map(|name| (*name, "1"));
        let result = self.runtime.block_on(self.handle.run(key.hset(values)));
        if self.done(result) {
            self.renew(key.as_str(), HOUR);
        }
    }

    fn line(&mut self, o: usize, count: usize) {
        let (parent, key) = (self.keys.order(&self.orders[o]), self.keys.lines(&self.orders[o]));
        let command = key.rpush_all(vec!["x"; count]).linked_to(&parent);
        let result = self.runtime.block_on(self.handle.run(command));
        if self.done(result) {
            let parent_ends = self.ends[parent.as_str()].unwrap();
            let end = parent_ends.max(self.now() + 10 * MINUTE);
            self.ends.insert(key.as_str().to_owned(), Some(end));
        }
    }

    fn close(&mut self, o: usize) {
        let (book, receipt) = (self.keys.order(&self.orders[o]), self.keys.receipt(&self.orders[o]));
        let call = scripts::Close { order: &book, receipt: &receipt, text: "paid".into() };
        let answer = self.runtime.block_on(self.handle.call::<String>(call)).unwrap();
        if answer == "closed" {
            self.renew(book.as_str(), HOUR);
            self.renew(receipt.as_str(), HOUR / 2);
        }
    }

    fn restock(&mut self, b: usize) {
        let (stock, moves) = (self.keys.stock(&self.bins[b]), self.keys.moves(&self.bins[b]));
        let call = scripts::Restock { stock: &stock, moves: &moves, parts: 1_u64.into(), who: "w0".into() };
        self.runtime.block_on(self.handle.call::<i64>(call)).unwrap();
        self.once(stock.as_str(), 2 * HOUR);
        self.renew(moves.as_str(), 3 * HOUR);
    }

    fn together(&mut self, o: usize, b: usize) {
        let (book, label) = (self.keys.order(&self.orders[o]), self.keys.label(&self.bins[b]));
        let stock = self.keys.stock(&self.bins[b]);
        let pipeline = self.handle.pipeline();
        let pipeline = pipeline.run(book.hset([("state", "open")])).run(label.set("x")).run(stock.incrby(1));
        let results = self.runtime.block_on(pipeline.send());
        for (result, (key, lasts, fixed)) in results.into_iter().zip([
            (book.as_str(), HOUR, false),
            (label.as_str(), 24 * HOUR, false),
            (stock.as_str(), 2 * HOUR, true),
        ]) {
            match (self.done(result), fixed) {
                (true, true) => self.once(key, lasts),
                (true, false) => self.renew(key, lasts),
                (false, _) => {}
            }
        }
    }
}

fn holds(world: World) {
    let world = std::sync::Mutex::new(world);
    let mut runner = TestRunner::new(Config { cases: 300, source_file: Some(file!()), ..Config::default() });
    let outcome = runner.run(&prop::collection::vec(step(), 1..40), |steps| {
        let mut world = world.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        world.reset();
        for (number, step) in steps.iter().enumerate() {
            world.apply(step);
            prop_assert_eq!(&world.seen(), &world.ends, "after step {} ({:?})", number, step);
        }
        Ok(())
    });
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
    let world = world.into_inner().unwrap();
    assert!(world.refused > 50, "limits were hardly met: {}", world.refused);
}

#[test]
fn every_ttl_is_what_the_policy_says_after_any_sequence() {
    let name = "ttl::every_ttl_is_what_the_policy_says_after_any_sequence";
    if let Some(server) = VirtualServer::start_or_skip(name) {
        holds(World::start(Timed::server(server)));
    }
}

#[test]
fn every_ttl_is_what_the_policy_says_after_any_sequence_embedded() {
    holds(World::start(Timed::engine()));
}
