//! The shortest sequence that still shows a difference.

use crate::grammar::Step;
use crate::pair::Rig;

/// Leaves out ever smaller pieces as long as there is a difference.
pub(crate) fn shrink(rig: &Rig, mut steps: Vec<Step>, mut difference: String) -> (Vec<Step>, String) {
    let mut piece = steps.len() / 2;
    while piece > 0 {
        let mut at = 0;
        while at < steps.len() {
            let mut fewer = steps.clone();
            fewer.drain(at..(at + piece).min(fewer.len()));
            match rig.run(&fewer, None) {
                Err(still) => (steps, difference) = (fewer, still),
                Ok(()) => at += piece,
            }
        }
        piece /= 2;
    }
    (steps, difference)
}
