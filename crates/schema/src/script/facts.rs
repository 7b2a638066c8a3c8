//! What a script does with its locals and inputs, collected in one walk: who gets which value, what is called, which
//! entries of KEYS and ARGV are read.

use std::collections::HashMap;

use super::ast::{Chunk, Expr, Function, Kind, LocalId, Stmt, Visit, walk_expr, walk_stmt};
use super::names::{Callee, Definitions};
use crate::diagnostic::Span;

/// A value that a local gets somewhere.
#[derive(Debug, Clone, Copy)]
pub(super) enum Binding<'a> {
    /// This one.
    Value(&'a Expr),
    /// Of the several values of a call, the one behind so many others.
    Nth(&'a Expr, usize),
    /// An element of KEYS or of ARGV.
    Each(&'a Expr),
    /// Something that a loop counts or finds.
    Loop,
    /// Nothing.
    Nil,
}

impl Binding<'_> {
    /// The place of the value.
    pub(super) fn at(&self) -> Option<Span> {
        match self {
            Self::Value(value) | Self::Nth(value, _) | Self::Each(value) => Some(value.at),
            Self::Loop | Self::Nil => None,
        }
    }
}

/// The values of a loop's variable.
#[derive(Debug, Clone, Copy)]
pub(super) enum Range<'a> {
    /// `for i = from, to, step`.
    Counted { from: &'a Expr, to: &'a Expr, step: Option<&'a Expr> },
    /// `for i in ipairs(…)`.
    All,
}

/// A call of a library function.
#[derive(Debug)]
pub(super) struct LibraryCall<'a> {
    pub(super) path: &'static str,
    pub(super) args: &'a [Expr],
    /// The call as a whole.
    pub(super) whole: &'a Expr,
}

/// An entry of KEYS or ARGV.
#[derive(Debug)]
pub(super) struct Entry<'a> {
    pub(super) of_keys: bool,
    pub(super) index: &'a Expr,
    pub(super) whole: &'a Expr,
}

#[derive(Debug, Default)]
pub(super) struct Facts<'a> {
    /// In the order of the script.
    pub(super) calls: Vec<LibraryCall<'a>>,
    pub(super) entries: Vec<Entry<'a>>,
    pub(super) bindings: Vec<(LocalId, Binding<'a>)>,
    /// What each function returns, one list per `return`.
    pub(super) returns: Vec<(LocalId, &'a [Expr])>,
    pub(super) ranges: HashMap<LocalId, Range<'a>>,
    /// `ARGV` as a value, or all of it in a loop: nobody can say which entries are read.
    pub(super) all_args: bool,
    by_local: HashMap<LocalId, Vec<usize>>,
    /// How often a local is named other than to read an entry, its length or its elements.
    escapes: HashMap<LocalId, usize>,
}

impl<'a> Facts<'a> {
    pub(super) fn bindings_of(&self, id: LocalId) -> impl Iterator<Item = Binding<'a>> {
        self.by_local.get(&id).into_iter().flatten().map(|index| self.bindings[*index].1)
    }

    /// The only value a local ever gets.
    pub(super) fn only_value(&self, id: LocalId) -> Option<&'a Expr> {
        match self.by_local.get(&id)?.as_slice() {
            [index] => match self.bindings[*index].1 {
                Binding::Value(value) => Some(value),
                _ => None,
            },
            _ => None,
        }
    }

    /// The only expression a local ever gets its value from, also when that is a call.
    pub(super) fn only_expr(&self, id: LocalId) -> Option<&'a Expr> {
        match self.by_local.get(&id)?.as_slice() {
            [index] => match self.bindings[*index].1 {
                Binding::Value(value) | Binding::Nth(value, 0) => Some(value),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether a table in this local stays as it was made: only read, never handed on.
    pub(super) fn stays(&self, id: LocalId) -> bool {
        !self.escapes.contains_key(&id)
    }
}

pub(super) fn collect<'a>(chunk: &'a Chunk, known: &Definitions<'a>) -> Facts<'a> {
    let mut collector = Collector { known, facts: Facts::default(), open: Vec::new() };
    collector.block(&chunk.body);
    let mut facts = collector.facts;
    for (index, (local, _)) in facts.bindings.iter().enumerate() {
        facts.by_local.entry(*local).or_default().push(index);
    }
    facts
}

struct Collector<'a, 'd> {
    known: &'d Definitions<'a>,
    facts: Facts<'a>,
    open: Vec<Option<LocalId>>,
}

impl<'a> Collector<'a, '_> {
    fn bind(&mut self, local: LocalId, binding: Binding<'a>) {
        self.facts.bindings.push((local, binding));
    }

    /// Gives values to locals by position, as assignments and calls do.
    fn bind_all(&mut self, locals: impl Iterator<Item = Option<LocalId>>, values: &'a [Expr]) {
        for (index, local) in locals.enumerate() {
            let Some(local) = local else { continue };
            let binding = match values.get(index) {
                Some(value) if index + 1 < values.len() || !value.is_open() => Binding::Value(value),
                Some(value) => Binding::Nth(value, 0),
                None => match values.last().filter(|last| last.is_open()) {
                    Some(last) => Binding::Nth(last, index + 1 - values.len()),
                    None => Binding::Nil,
                },
            };
            self.bind(local, binding);
        }
    }

    fn define(&mut self, name: Option<LocalId>, function: &'a Function) {
        self.open.push(name);
        self.block(&function.body);
        self.open.pop();
    }

    fn call(&mut self, whole: &'a Expr, callee: &'a Expr, args: &'a [Expr]) {
        match self.known.call(callee, args) {
            (Callee::Library(path), args) => {
                self.facts.calls.push(LibraryCall { path, args, whole });
                let less = args.get(1).map(|less| self.known.callee(less));
                if let (Callee::Local(_, less), "table.sort") = (less.unwrap_or(Callee::Unknown), path) {
                    for param in &less.params {
                        self.bind(*param, Binding::Loop);
                    }
                }
            }
            (Callee::Local(_, function), args) => {
                self.bind_all(function.params.iter().copied().map(Some), args);
            }
            (Callee::Unknown, _) => {}
        }
    }

    fn for_in(&mut self, vars: &[LocalId], values: &'a [Expr]) {
        let over = match values {
            [Expr { kind: Kind::Call(callee, args), .. }] => match self.known.callee(callee) {
                Callee::Library("ipairs") => args.first(),
                _ => None,
            },
            _ => None,
        };
        for (index, var) in vars.iter().enumerate() {
            match over.filter(|over| over.is_global("KEYS") || over.is_global("ARGV")) {
                Some(over) if index == 1 => self.bind(*var, Binding::Each(over)),
                Some(_) if index == 0 => {
                    self.facts.ranges.insert(*var, Range::All);
                    self.bind(*var, Binding::Loop);
                }
                _ => self.bind(*var, Binding::Loop),
            }
        }
    }

    /// A read of a table that leaves it as it is.
    fn reads(&mut self, table: &'a Expr) {
        if !matches!(table.kind, Kind::Local(_)) {
            self.expr(table);
        }
    }
}

impl<'a> Visit<'a> for Collector<'a, '_> {
    fn stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Local { names, values } => {
                self.bind_all(names.iter().copied().map(Some), values);
                for (index, value) in values.iter().enumerate() {
                    match &value.kind {
                        Kind::Function(function) => self.define(names.get(index).copied(), function),
                        _ => self.expr(value),
                    }
                }
            }
            Stmt::Assign { targets, values } => {
                let local = |target: &Expr| if let Kind::Local(id) = target.kind { Some(id) } else { None };
                self.bind_all(targets.iter().map(local), values);
                for target in targets {
                    match &target.kind {
                        // An entry that is written changes the table.
                        Kind::Index(table, index) => {
                            self.expr(table);
                            self.expr(index);
                        }
                        Kind::Local(_) => {}
                        _ => self.expr(target),
                    }
                }
                self.exprs(values);
            }
            Stmt::ForRange { var, from, to, step, .. } => {
                self.bind(*var, Binding::Loop);
                self.facts.ranges.insert(*var, Range::Counted { from, to, step: step.as_ref() });
                walk_stmt(self, stmt);
            }
            Stmt::ForIn { vars, values, .. } => {
                self.for_in(vars, values);
                walk_stmt(self, stmt);
            }
            Stmt::LocalFunction { name, function } => self.define(Some(*name), function),
            Stmt::Return(values) => {
                if let Some(Some(function)) = self.open.last() {
                    self.facts.returns.push((*function, values));
                }
                self.exprs(values);
            }
            _ => walk_stmt(self, stmt),
        }
    }

    fn expr(&mut self, expr: &'a Expr) {
        match &expr.kind {
            Kind::Index(table, index) => {
                for (name, of_keys) in [("KEYS", true), ("ARGV", false)] {
                    if table.is_global(name) {
                        self.facts.entries.push(Entry { of_keys, index, whole: expr });
                        return self.expr(index);
                    }
                }
                self.reads(table);
                self.expr(index);
            }
            Kind::Call(callee, args) => {
                self.call(expr, callee, args);
                // Loops and slices of ARGV are looked at where it matters, and a read leaves a table alone.
                let reading = matches!(self.known.callee(callee), Callee::Library("ipairs" | "unpack"));
                let skipped = match args.first() {
                    Some(first) if reading => {
                        let each = matches!(self.known.callee(callee), Callee::Library("ipairs"));
                        self.facts.all_args |= each && first.is_global("ARGV");
                        usize::from(matches!(first.kind, Kind::Local(_) | Kind::Global(_)))
                    }
                    _ => 0,
                };
                self.expr(callee);
                self.exprs(&args[skipped..]);
            }
            Kind::Unary("#", operand) => {
                if !operand.is_global("ARGV") {
                    self.reads(operand);
                }
            }
            Kind::Global(name) => self.facts.all_args |= name == "ARGV",
            Kind::Local(id) => *self.facts.escapes.entry(*id).or_default() += 1,
            Kind::Function(function) => self.define(None, function),
            _ => walk_expr(self, expr),
        }
    }

    fn function(&mut self, function: &'a Function) {
        self.define(None, function);
    }
}
