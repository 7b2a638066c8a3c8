//! `unpack` puts a list on Lua's stack, which takes about 8,000 values: lists that may be longer go in slices.

use super::Lint;
use super::ast::{Expr, Item, Kind};
use super::facts::LibraryCall;
use super::names::Callee;
use super::position::constant;
use crate::diagnostic::{Code, Diagnostic};

/// The most values that may be unpacked at once.
const SLICE: f64 = 1000.0;

const HELP: &str = "over about 8,000 values Lua fails; take slices: `unpack(list, i, math.min(i + 999, #list))` in \
                    `for i = 1, #list, 1000`; also fine: constant bounds, a list written out in one constructor";

pub(super) fn check(lint: &mut Lint<'_, '_>) {
    let facts = lint.origins.facts;
    let unpacks = facts.calls.iter().filter(|call| call.path == "unpack");
    let found: Vec<Diagnostic> = unpacks.filter(|call| !is_bounded(lint, call)).map(report).collect();
    lint.found.extend(found);
}

fn report(call: &LibraryCall<'_>) -> Diagnostic {
    let (message, label) = match call.args.len() {
        3 => ("unpack of a slice that may be longer than 1,000", "how many?"),
        _ => ("unpack of a list without a bound", "as long as the list is"),
    };
    Diagnostic::error(Code::ScriptUnpack, message, call.whole.at, label).help(HELP)
}

fn is_bounded(lint: &Lint<'_, '_>, call: &LibraryCall<'_>) -> bool {
    let Some(list) = call.args.first() else { return true };
    match call.args.get(2) {
        Some(to) => is_slice(lint, call.args.get(1), to) || is_short(lint, list),
        None => is_short(lint, list),
    }
}

/// From `from` to `to` there are at most a thousand.
fn is_slice(lint: &Lint<'_, '_>, from: Option<&Expr>, to: &Expr) -> bool {
    let facts = lint.origins.facts;
    let from = from.unwrap_or(to);
    if let (Some(from), Some(to)) = (constant(facts, from), constant(facts, to)) {
        return to - from < SLICE;
    }
    // `local last = math.min(…)` reads better than one long line.
    let to = match to.bare().kind {
        Kind::Local(id) => facts.only_expr(id).unwrap_or(to),
        _ => to,
    };
    let Kind::Call(callee, args) = &to.bare().kind else { return is_ahead(lint, from, to) };
    let smallest = matches!(lint.origins.known.callee(callee), Callee::Library("math.min"));
    smallest && args.iter().any(|arg| is_ahead(lint, from, arg))
}

/// Whether an expression is less than a thousand above `from`: `from + N`, or a constant above a constant.
fn is_ahead(lint: &Lint<'_, '_>, from: &Expr, expr: &Expr) -> bool {
    let facts = lint.origins.facts;
    if let (Some(from), Some(to)) = (constant(facts, from), constant(facts, expr)) {
        return to - from < SLICE;
    }
    let Kind::Binary(operator @ ("+" | "-"), left, right) = &expr.bare().kind else { return false };
    let steps = |base: &Expr, by: &Expr| {
        let by = constant(facts, by).filter(|_| is_same(from, base));
        by.is_some_and(|by| (if *operator == "-" { -by } else { by }) < SLICE)
    };
    steps(left, right)
        || (*operator == "+" && steps(right, left))
        || is_ahead_by_parts(lint, from, left, right, operator)
}

/// `i + size - 1`, where `size` is a constant.
fn is_ahead_by_parts(lint: &Lint<'_, '_>, from: &Expr, left: &Expr, right: &Expr, operator: &str) -> bool {
    let facts = lint.origins.facts;
    let Kind::Binary("+", base, more) = &left.bare().kind else { return false };
    let (Some(more), Some(by)) = (constant(facts, more), constant(facts, right)) else { return false };
    is_same(from, base) && (if operator == "-" { more - by } else { more + by }) < SLICE
}

fn is_same(one: &Expr, other: &Expr) -> bool {
    match (&one.bare().kind, &other.bare().kind) {
        (Kind::Local(one), Kind::Local(other)) => one == other,
        (Kind::Number(one), Kind::Number(other)) => one == other,
        _ => false,
    }
}

/// Whether the list as a whole has at most a thousand entries.
fn is_short(lint: &Lint<'_, '_>, list: &Expr) -> bool {
    let facts = lint.origins.facts;
    let inputs = &lint.origins.inputs;
    let list = list.bare();
    match &list.kind {
        Kind::Global(name) if name == "KEYS" => !inputs.keys_repeat(),
        Kind::Global(name) if name == "ARGV" => !inputs.args_repeat(),
        Kind::Table(items) => is_short_table(items),
        Kind::Local(id) => match facts.only_value(*id).map(|value| &value.bare().kind) {
            Some(Kind::Table(items)) => facts.stays(*id) && is_short_table(items),
            _ => false,
        },
        _ => false,
    }
}

fn is_short_table(items: &[Item]) -> bool {
    let open = matches!(items.last(), Some(Item::Next(last)) if last.is_open());
    items.len() <= 1000 && !open
}
