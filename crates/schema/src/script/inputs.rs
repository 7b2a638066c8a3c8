//! What the header declares is used, and what is used is declared.

use std::collections::BTreeSet;

use super::Lint;
use super::ast::Expr;
use super::calls::Touch;
use super::position::{At, position, whole};
use crate::diagnostic::{Code, Diagnostic};

pub(super) fn check(lint: &mut Lint<'_, '_>, touches: &[Touch<'_>]) {
    let mut found = beyond(lint);
    // What was refused may be the very use that is missing here.
    if lint.found.is_empty() && found.is_empty() {
        found = unused_keys(lint, touches);
        found.extend(unused_args(lint));
    }
    lint.found.extend(found);
}

/// Indexes that point at nothing the header declares.
fn beyond(lint: &Lint<'_, '_>) -> Vec<Diagnostic> {
    let facts = lint.origins.facts;
    let entries =
        facts.entries.iter().map(|entry| (entry.of_keys, entry.whole, position(facts, entry.index)));
    let slices = facts.calls.iter().filter(|call| call.path == "unpack").filter_map(|call| {
        let list = call.args.first()?;
        let of_keys = list.is_global("KEYS");
        (of_keys || list.is_global("ARGV")).then(|| (of_keys, call.whole, lint.slice_at(call.args)))
    });
    entries.chain(slices).filter_map(|(of_keys, whole, at)| misses(lint, of_keys, whole, at)).collect()
}

fn misses(lint: &Lint<'_, '_>, of_keys: bool, expr: &Expr, at: At) -> Option<Diagnostic> {
    let inputs = &lint.origins.inputs;
    let (name, fixed, repeat) = if of_keys {
        ("KEYS", inputs.fixed_keys, inputs.keys_repeat())
    } else {
        ("ARGV", inputs.fixed_args, inputs.args_repeat())
    };
    let code = if of_keys { Code::KeyOrigin } else { Code::UnknownName };
    let error = |message: String, label: String, help: &str| {
        Some(Diagnostic::error(code, message, expr.at, label).help(help))
    };
    let word = if of_keys { "keys:" } else { "args:" };
    match at {
        At::Exact(number) if whole(number).is_none() => {
            error(format!("`{name}` has no entry {number}"), "no such place".to_owned(), "Lua counts from 1")
        }
        At::Exact(number) if number > fixed as f64 && !repeat => {
            let message = format!("the header declares {}, and this is {name}[{number}]", count(word, fixed));
            error(message, "not declared".to_owned(), "add it to the header, or correct the index")
        }
        At::Between(from, to) if !repeat && (from > fixed || to.is_some_and(|to| to > fixed)) => {
            let message = format!("the header declares {}, and this reaches further", count(word, fixed));
            error(
                message,
                "not declared".to_owned(),
                "add what is missing to the header, or correct the range",
            )
        }
        At::Anywhere if of_keys && !repeat => error(
            "which key this is cannot be told".to_owned(),
            "the index is computed".to_owned(),
            "write the number, or mark the keys that repeat with `...` in the header",
        ),
        _ => None,
    }
}

fn count(word: &str, number: usize) -> String {
    let word = if word == "keys:" { "key" } else { "argument" };
    match number {
        0 => format!("no {word}s"),
        1 => format!("1 {word}"),
        _ => format!("{number} {word}s"),
    }
}

fn unused_keys(lint: &Lint<'_, '_>, touches: &[Touch<'_>]) -> Vec<Diagnostic> {
    let touched: BTreeSet<usize> = touches.iter().map(|touch| touch.key).collect();
    let unused = lint.header.keys.iter().enumerate().filter(|(index, _)| !touched.contains(index));
    let report = |(index, key): (usize, &super::header::HeaderKey)| {
        let message = format!("no command touches `{}`", key.name.text);
        let label = format!("KEYS[{}]", index + 1);
        let help = "use it, or take it out of the header and of the operation";
        Diagnostic::error(Code::ScriptUnused, message, key.name.at, label).help(help)
    };
    unused.map(report).collect()
}

fn unused_args(lint: &Lint<'_, '_>) -> Vec<Diagnostic> {
    let (facts, inputs) = (lint.origins.facts, &lint.origins.inputs);
    let entries = facts.entries.iter().filter(|entry| !entry.of_keys);
    let read = entries.map(|entry| position(facts, entry.index));
    let slices = facts.calls.iter().filter(|call| call.path == "unpack");
    let slices = slices.filter(|call| call.args.first().is_some_and(|list| list.is_global("ARGV")));
    let ranges = read.chain(slices.map(|call| lint.slice_at(call.args)));
    let used: BTreeSet<usize> = ranges.flat_map(|at| inputs.args_at(at)).collect();
    let unused = lint.header.args.iter().enumerate();
    let unused = unused.filter(|(index, _)| !facts.all_args && !used.contains(index));
    let report = |(index, arg): (usize, &super::header::HeaderArg)| {
        let name = &arg.name.text;
        let shown = if arg.ttl { format!("ttl({name})") } else { name.clone() };
        let message = format!("the argument `{shown}` is never read");
        let label = format!("ARGV[{}]", index + 1);
        let help = if arg.ttl {
            format!("PEXPIRE `{name}` with it, or take it out of the header")
        } else {
            "use it, or take it out of the header".to_owned()
        };
        Diagnostic::error(Code::ScriptUnused, message, arg.name.at, label).help(help)
    };
    unused.map(report).collect()
}
