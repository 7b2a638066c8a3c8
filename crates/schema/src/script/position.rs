//! Where an index points: constants, and the ranges of loop variables.

use super::ast::{Expr, Kind, LocalId};
use super::facts::{Facts, Range};

/// Where an index into KEYS or ARGV points, from 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum At {
    /// At this number, which may be none that a list has.
    Exact(f64),
    /// Somewhere from the first to the last, or to the end.
    Between(usize, Option<usize>),
    /// Nobody knows.
    Anywhere,
}

/// Locals that hold constants may be made of each other; no script goes deeper than this.
const STEPS: usize = 16;

/// The number that an expression always is.
pub(super) fn constant(facts: &Facts<'_>, expr: &Expr) -> Option<f64> {
    number(facts, expr, STEPS)
}

fn number(facts: &Facts<'_>, expr: &Expr, steps: usize) -> Option<f64> {
    let steps = steps.checked_sub(1)?;
    match &expr.bare().kind {
        Kind::Number(number) => Some(*number),
        Kind::Local(id) => number(facts, facts.only_value(*id)?, steps),
        Kind::Unary("-", operand) => Some(-number(facts, operand, steps)?),
        Kind::Binary(operator, left, right) => {
            let (left, right) = (number(facts, left, steps)?, number(facts, right, steps)?);
            match *operator {
                "+" => Some(left + right),
                "-" => Some(left - right),
                "*" => Some(left * right),
                "/" => Some(left / right),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Where an index points.
pub(super) fn position(facts: &Facts<'_>, index: &Expr) -> At {
    if let Some(number) = constant(facts, index) {
        return At::Exact(number);
    }
    match &index.bare().kind {
        Kind::Local(id) => range(facts, *id).map_or(At::Anywhere, |(from, to)| At::Between(from, to)),
        Kind::Binary(operator @ ("+" | "-"), left, right) => {
            let shifted = |var: &Expr, by: f64| {
                let Kind::Local(id) = var.bare().kind else { return None };
                let (from, to) = range(facts, id)?;
                let shift = |at: usize| whole(at as f64 + by);
                Some(At::Between(shift(from)?, to.and_then(shift)))
            };
            let found = match (constant(facts, left), constant(facts, right)) {
                (None, Some(by)) => shifted(left, if *operator == "-" { -by } else { by }),
                (Some(by), None) if *operator == "+" => shifted(right, by),
                _ => None,
            };
            found.unwrap_or(At::Anywhere)
        }
        _ => At::Anywhere,
    }
}

/// The first and the last value of a loop's variable, when the first is a constant.
fn range(facts: &Facts<'_>, var: LocalId) -> Option<(usize, Option<usize>)> {
    // A variable that the body changes says nothing.
    if facts.bindings_of(var).count() != 1 {
        return None;
    }
    match *facts.ranges.get(&var)? {
        Range::All => Some((1, None)),
        Range::Counted { from, to, step } => {
            let step = step.map_or(Some(1.0), |step| constant(facts, step))?;
            let (low, high) = if step > 0.0 { (from, to) } else { (to, from) };
            let high = constant(facts, high).and_then(whole);
            Some((whole(constant(facts, low)?)?, high))
        }
    }
}

/// A number as a position.
pub(super) fn whole(number: f64) -> Option<usize> {
    // Far beyond any list; above it a float no longer counts one by one.
    (number.fract() == 0.0 && (1.0..1e9).contains(&number)).then_some(number as usize)
}
