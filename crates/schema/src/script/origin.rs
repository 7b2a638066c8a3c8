//! Where values come from: for every local and every expression, what it may be as far as keys and TTLs go.
//!
//! A local is everything that it gets anywhere in the script; the order of statements does not matter. That is coarse,
//! and it is what makes the answer sure: a key that is followed here cannot be something else at run time.

use std::collections::{BTreeSet, HashMap};

use super::ast::{Chunk, Expr, Kind, LocalId};
use super::facts::{Binding, Facts};
use super::header::Header;
use super::names::{Callee, Definitions};
use super::position::{At, position, whole};

/// One thing that a value may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Source {
    /// A declared key, by its number in the header. `exact` unless an index was computed.
    Key {
        key: usize,
        exact: bool,
    },
    /// The TTL that the runner fills in, by the number of the argument.
    Ttl(usize),
    /// Another argument.
    Argument,
    /// A number or a text that is written in the script.
    Number,
    Text,
    /// Put together from parts.
    Built,
    /// The reply of a command.
    Reply,
    /// Out of a table.
    Stored,
    /// Anything else.
    Computed,
    /// Nothing, which no command takes.
    Nil,
    /// Refused elsewhere already.
    Told,
}

pub(super) type Sources = BTreeSet<Source>;

/// The inputs of a script as its header declares them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Inputs<'h> {
    header: &'h Header,
    /// Keys and arguments that come once; those behind them repeat.
    pub(super) fixed_keys: usize,
    pub(super) fixed_args: usize,
}

impl<'h> Inputs<'h> {
    pub(super) fn new(header: &'h Header) -> Self {
        let fixed_keys = header.keys.iter().take_while(|key| key.repeats.is_none()).count();
        let fixed_args = header.args.iter().take_while(|arg| arg.repeats.is_none()).count();
        Self { header, fixed_keys, fixed_args }
    }

    pub(super) fn keys(&self) -> usize {
        self.header.keys.len()
    }

    pub(super) fn args(&self) -> usize {
        self.header.args.len()
    }

    pub(super) fn keys_repeat(&self) -> bool {
        self.fixed_keys < self.keys()
    }

    pub(super) fn args_repeat(&self) -> bool {
        self.fixed_args < self.args()
    }

    /// The keys that a place in KEYS may be; empty when it is none.
    pub(super) fn keys_at(&self, at: At) -> Vec<usize> {
        entries(at, self.fixed_keys, self.keys())
    }

    /// The arguments that a place in ARGV may be.
    pub(super) fn args_at(&self, at: At) -> Vec<usize> {
        match at {
            // Of arguments nobody asks which; any may be meant.
            At::Anywhere => (0..self.args()).collect(),
            at => entries(at, self.fixed_args, self.args()),
        }
    }
}

/// The declared ones of a list that an index may mean. Behind the fixed ones, any of those that repeat.
fn entries(at: At, fixed: usize, all: usize) -> Vec<usize> {
    match at {
        At::Exact(number) => match whole(number) {
            Some(number) if number <= fixed => vec![number - 1],
            Some(_) => (fixed..all).collect(),
            None => Vec::new(),
        },
        At::Between(from, to) => {
            let last = to.unwrap_or(usize::MAX);
            let once = (from.saturating_sub(1)..fixed.min(last)).collect::<Vec<_>>();
            once.into_iter().chain((fixed..all).filter(|_| last > fixed)).collect()
        }
        At::Anywhere => (fixed..all).collect(),
    }
}

/// What every local may be.
pub(super) struct Origins<'a, 'f> {
    pub(super) facts: &'f Facts<'a>,
    pub(super) known: &'f Definitions<'a>,
    pub(super) inputs: Inputs<'f>,
    locals: Vec<Sources>,
    results: HashMap<LocalId, Sources>,
}

impl<'a, 'f> Origins<'a, 'f> {
    /// Lets values flow until nothing new arrives anywhere.
    pub(super) fn new(
        chunk: &Chunk,
        facts: &'f Facts<'a>,
        known: &'f Definitions<'a>,
        inputs: Inputs<'f>,
    ) -> Self {
        let locals = vec![Sources::new(); chunk.locals.len()];
        let mut origins = Self { facts, known, inputs, locals, results: HashMap::new() };
        loop {
            let mut grown = false;
            for (local, binding) in &facts.bindings {
                let sources = origins.binding(*binding);
                grown |= add(&mut origins.locals[local.0], sources);
            }
            for (function, values) in &facts.returns {
                let sources = origins.returned(values);
                grown |= add(origins.results.entry(*function).or_default(), sources);
            }
            if !grown {
                return origins;
            }
        }
    }

    /// What a binding brings.
    pub(super) fn binding(&self, binding: Binding<'a>) -> Sources {
        match binding {
            Binding::Value(value) => self.of(value),
            Binding::Nth(value, nth) => self.nth(value, nth),
            Binding::Each(input) if input.is_global("KEYS") => self.keys(At::Between(1, None), false),
            Binding::Each(_) => [Source::Argument].into(),
            Binding::Loop => [Source::Computed].into(),
            Binding::Nil => [Source::Nil].into(),
        }
    }

    /// A function that returns several values, or a varying number, is not followed.
    fn returned(&self, values: &'a [Expr]) -> Sources {
        match values {
            [] => [Source::Nil].into(),
            [value] => {
                let sources = self.of(value);
                let key = sources.iter().any(|source| matches!(source, Source::Key { .. }));
                let passed_on = matches!(&value.kind, Kind::Call(callee, _)
                    if matches!(self.known.callee(callee), Callee::Local(..)));
                // `return unpack(KEYS)` is more than its first value.
                if key && value.is_open() && !passed_on { [Source::Computed].into() } else { sources }
            }
            _ => [Source::Computed].into(),
        }
    }

    /// What an expression may be.
    pub(super) fn of(&self, expr: &Expr) -> Sources {
        match &expr.kind {
            Kind::Nil | Kind::False => [Source::Nil].into(),
            Kind::Number(_) => [Source::Number].into(),
            Kind::Text(_) => [Source::Text].into(),
            Kind::Local(id) if self.known.is_function(*id) => [Source::Told].into(),
            Kind::Local(id) => self.locals[id.0].clone(),
            Kind::Global(_) | Kind::Vararg | Kind::Function(_) => [Source::Told].into(),
            Kind::Index(table, index) if table.is_global("KEYS") => {
                let at = position(self.facts, index);
                self.keys(at, matches!(at, At::Exact(_)))
            }
            Kind::Index(table, index) if table.is_global("ARGV") => self.arg(position(self.facts, index)),
            Kind::Index(table, _) if matches!(table.kind, Kind::Global(_)) => [Source::Computed].into(),
            Kind::Index(table, _) if self.of(table).contains(&Source::Told) => [Source::Told].into(),
            Kind::Index(..) | Kind::Table(_) => [Source::Stored].into(),
            Kind::Call(..) => self.nth(expr, 0),
            Kind::Method(..) => [Source::Built].into(),
            Kind::Paren(inner) => self.of(inner),
            Kind::Binary("..", ..) => [Source::Built].into(),
            // A key is never false, so `test and KEYS[1] or KEYS[2]` is one of the two.
            Kind::Binary("and", _, right) => self.of(right),
            Kind::Binary("or", left, right) => &self.of(left) | &self.of(right),
            Kind::Binary(_, left, right) => arithmetic(&self.of(left) | &self.of(right)),
            Kind::Unary("-", operand) => arithmetic(self.of(operand)),
            Kind::Unary(..) | Kind::True => [Source::Computed].into(),
        }
    }

    /// What the n-th value of a call may be.
    fn nth(&self, expr: &Expr, nth: usize) -> Sources {
        let Kind::Call(callee, args) = &expr.kind else {
            return if nth == 0 { self.of(expr) } else { [Source::Computed].into() };
        };
        match self.known.callee(callee) {
            Callee::Library("redis.call" | "redis.pcall") => [Source::Reply].into(),
            Callee::Library("tonumber") if nth == 0 => {
                let kept = |source: Source| match source {
                    Source::Ttl(_) | Source::Number | Source::Nil | Source::Told => source,
                    Source::Text => Source::Number,
                    _ => Source::Computed,
                };
                args.first().map(|arg| self.of(arg).into_iter().map(kept).collect()).unwrap_or_default()
            }
            Callee::Library("unpack") => self.unpacked(args, nth),
            Callee::Library(path) if path.starts_with("string.") => [Source::Built].into(),
            Callee::Library("table.concat") => [Source::Built].into(),
            Callee::Library("table.remove") => [Source::Stored].into(),
            Callee::Library("pcall") => match self.known.call(callee, args) {
                (Callee::Library("redis.call"), _) => [Source::Reply].into(),
                _ => [Source::Computed].into(),
            },
            Callee::Local(id, _) if nth == 0 => self.results.get(&id).cloned().unwrap_or_default(),
            _ => [Source::Computed].into(),
        }
    }

    fn unpacked(&self, args: &[Expr], nth: usize) -> Sources {
        let Some(list) = args.first() else { return [Source::Computed].into() };
        let from = args.get(1).map_or(At::Exact(1.0), |from| position(self.facts, from));
        let at = match from {
            At::Exact(from) => At::Exact(from + nth as f64),
            At::Between(from, _) => At::Between(from + nth, None),
            At::Anywhere => At::Anywhere,
        };
        if list.is_global("KEYS") {
            self.keys(at, matches!(at, At::Exact(_)))
        } else if list.is_global("ARGV") {
            self.arg(at)
        } else {
            [Source::Stored].into()
        }
    }

    fn keys(&self, at: At, exact: bool) -> Sources {
        let keys = self.inputs.keys_at(at);
        if keys.is_empty() {
            // The index itself is refused.
            return [Source::Told].into();
        }
        // Of several families that repeat, even a constant index does not say which it is.
        let exact = exact && keys.len() == 1;
        keys.into_iter().map(|key| Source::Key { key, exact }).collect()
    }

    fn arg(&self, at: At) -> Sources {
        let args = self.inputs.args_at(at);
        let exact = matches!(at, At::Exact(_));
        let source = |index: usize| match self.inputs.header.args[index].ttl {
            true if exact => Source::Ttl(index),
            _ => Source::Argument,
        };
        if args.is_empty() { [Source::Told].into() } else { args.into_iter().map(source).collect() }
    }
}

/// Numbers stay constants when computed with; anything else becomes something else.
fn arithmetic(operands: Sources) -> Sources {
    if operands.is_empty() {
        return operands;
    }
    let constant = |source: &Source| matches!(source, Source::Number | Source::Text);
    if operands.iter().all(constant) { [Source::Number].into() } else { [Source::Computed].into() }
}

fn add(to: &mut Sources, sources: Sources) -> bool {
    let before = to.len();
    to.extend(sources);
    to.len() > before
}
