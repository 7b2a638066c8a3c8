//! All orders of a few steps around a promotion, each in a pool of its own, over one real cut and one real promotion.
//!
//! The model of a server is the fence of the last acquire in its own history; a replica's history is its primary's up to
//! the cut. Whatever else was ever handed out must be refused.

use std::collections::BTreeSet;

use keyplane_kit::Fence;
use keyplane_kit::lease::Held;
use keyplane_testing::run;

use crate::pair::{Pair, Side, end_lock};
use crate::setup::PoolId;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    /// The lock has run out, and another takes it.
    TakeOld,
    TakeNew,
    /// The last who took it gives it back.
    ReleaseOld,
    ReleaseNew,
}

use Step::{ReleaseNew, ReleaseOld, TakeNew, TakeOld};

/// All sequences of these steps up to that length.
fn sequences(steps: &[Step], longest: usize) -> Vec<Vec<Step>> {
    let mut all = vec![Vec::new()];
    let mut last = all.clone();
    for _ in 0..longest {
        let longer = |sequence: &Vec<Step>, step| [sequence.as_slice(), &[step]].concat();
        last = last
            .iter()
            .flat_map(|sequence| steps.iter().map(|step| longer(sequence, *step)).collect::<Vec<_>>())
            .collect();
        all.extend(last.iter().cloned());
    }
    all
}

/// Whether nobody gives back what he does not have.
fn is_legal([synced, unsynced, apart]: [&[Step]; 3]) -> bool {
    let (mut old, mut new) = (false, false);
    for step in synced.iter().chain(unsynced).chain(apart) {
        let (side, takes) = match step {
            TakeOld => (&mut old, true),
            ReleaseOld => (&mut old, false),
            TakeNew => (&mut new, true),
            ReleaseNew => (&mut new, false),
        };
        if !takes && !*side {
            return false;
        }
        *side = takes;
    }
    true
}

/// One order of steps: before the cut, between cut and promotion, and after.
struct Order {
    pool: PoolId,
    phases: [Vec<Step>; 3],
    /// All that were ever handed out.
    fences: Vec<Fence>,
    /// The last acquire in each server's own history, unless it was given back.
    current: [Option<Fence>; 2],
    held: [Option<Held>; 2],
    /// Others that nobody gave back: they go on believing.
    believers: Vec<Held>,
}

impl Order {
    async fn go(
        &mut self,
        phase: usize,
        sides: &[Side],
        servers: &mut [redis::Connection],
    ) -> (usize, usize) {
        let (mut let_in, mut refused) = (0, 0);
        for step in self.phases[phase].clone() {
            let side = usize::from(matches!(step, TakeNew | ReleaseNew));
            if matches!(step, TakeOld | TakeNew) {
                end_lock(&mut servers[side], &self.pool);
                // All have the same name: names must not matter.
                let held = sides[side].take(&self.pool, "m").await;
                let fence = held.fence().unwrap().clone();
                self.fences.push(fence.clone());
                self.current[side] = Some(fence);
                self.believers.extend(self.held[side].replace(held));
            } else {
                let held = self.held[side].take().expect("legal");
                assert!(held.release().await.unwrap(), "{:?}", self.phases);
                self.current[side] = None;
            }
            // The replica takes no writes before it is promoted.
            for (number, side) in sides.iter().enumerate().take(if phase == 2 { 2 } else { 1 }) {
                for fence in &self.fences {
                    let may = self.current[number].as_ref() == Some(fence);
                    let was = side.write(&self.pool, fence).await;
                    let about =
                        format!("{:?} after {step:?}: {} on server {number}", self.phases, fence.as_str());
                    assert_eq!(was, may, "{about}");
                    *if was { &mut let_in } else { &mut refused } += 1;
                }
            }
        }
        (let_in, refused)
    }
}

#[test]
fn in_every_order_a_server_lets_in_only_the_last_who_took_it_there() {
    let (on_old, on_both) =
        (sequences(&[TakeOld, ReleaseOld], 2), [TakeOld, TakeNew, ReleaseOld, ReleaseNew]);
    let mut orders = Vec::new();
    for synced in &on_old {
        for unsynced in &on_old {
            for apart in sequences(&on_both, 3) {
                if is_legal([synced, unsynced, &apart]) && !apart.is_empty() {
                    orders.push([synced.clone(), unsynced.clone(), apart]);
                }
            }
        }
    }
    assert_eq!(orders.iter().collect::<BTreeSet<_>>().len(), orders.len());
    let pair = Pair::start();
    run(async move {
        let sides = [Side::of(&pair.primary).await, Side::of(&pair.replica).await];
        let mut servers = [pair.primary.admin(), pair.replica.admin()];
        let name = |number| PoolId::new(format!("p{number}")).unwrap();
        let mut orders: Vec<Order> = orders
            .into_iter()
            .enumerate()
            .map(|(number, phases)| Order {
                pool: name(number),
                phases,
                fences: Vec::new(),
                current: [None, None],
                held: [None, None],
                believers: Vec::new(),
            })
            .collect();
        let (mut let_in, mut refused) = (0, 0);
        for phase in 0..3 {
            for order in &mut orders {
                if phase == 1 {
                    order.current[1] = order.current[0].clone();
                }
                let counts = order.go(phase, &sides, &mut servers).await;
                let_in += counts.0;
                refused += counts.1;
            }
            match phase {
                0 => {
                    pair.catch_up();
                    pair.cut();
                }
                1 => pair.promote(),
                _ => {}
            }
        }
        println!("{} orders, {let_in} writes let in, {refused} refused", orders.len());
        assert!(orders.len() > 300 && let_in > 1000 && refused > 1000);
    });
}
