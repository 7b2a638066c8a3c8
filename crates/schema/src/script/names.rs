//! Names mean what they seem to mean: no globals but the library's, no functions that travel, no second `KEYS`.
//!
//! The other checks follow keys through a script. They can because a function is only ever called by its name, a
//! library function is called directly or through a local that holds nothing else, and nothing calls itself.

use std::collections::HashMap;

use super::ast::{Chunk, Expr, Function, Kind, LocalId, Stmt, Visit, walk_expr, walk_stmt};
use super::library::{self, Library};
use crate::diagnostic::{Code, Diagnostic, Span};
use crate::read::closest;

/// Locals that stand for functions.
#[derive(Debug, Default)]
pub(super) struct Definitions<'a> {
    functions: HashMap<LocalId, &'a Function>,
    aliases: HashMap<LocalId, &'static str>,
}

/// What a call calls.
#[derive(Debug, Clone, Copy)]
pub(super) enum Callee<'a> {
    Library(&'static str),
    Local(LocalId, &'a Function),
    Unknown,
}

impl<'a> Definitions<'a> {
    pub(super) fn callee(&self, expr: &Expr) -> Callee<'a> {
        match (&expr.kind, library::named(expr)) {
            (_, Some(Library::Function(path))) => Callee::Library(path),
            (Kind::Local(id), _) => match (self.aliases.get(id), self.functions.get(id)) {
                (Some(path), _) => Callee::Library(path),
                (_, Some(function)) => Callee::Local(*id, function),
                _ => Callee::Unknown,
            },
            _ => Callee::Unknown,
        }
    }

    /// The callee and its arguments, through `pcall(f, …)`.
    pub(super) fn call<'e>(&self, callee: &'e Expr, args: &'e [Expr]) -> (Callee<'a>, &'e [Expr]) {
        match (self.callee(callee), args) {
            (Callee::Library("pcall"), [inner, rest @ ..]) => (self.callee(inner), rest),
            (callee, _) => (callee, args),
        }
    }

    pub(super) fn is_function(&self, id: LocalId) -> bool {
        self.functions.contains_key(&id) || self.aliases.contains_key(&id)
    }
}

/// Checks the names of a script and finds its functions.
pub(super) fn check(chunk: &Chunk) -> (Definitions<'_>, Vec<Diagnostic>) {
    let mut names = Names { chunk, known: Definitions::default(), open: Vec::new(), found: Vec::new() };
    for local in &chunk.locals {
        names.shadow(&local.name, local.at);
    }
    names.block(&chunk.body);
    (names.known, names.found)
}

struct Names<'a> {
    chunk: &'a Chunk,
    known: Definitions<'a>,
    /// The functions that are being walked through.
    open: Vec<LocalId>,
    found: Vec<Diagnostic>,
}

/// Names that no local may have.
const INPUTS: [&str; 3] = ["redis", "KEYS", "ARGV"];

const FUNCTION_FORM: &str = "write `local function name(a, b) … end` and call it by its name";

impl<'a> Names<'a> {
    fn error(
        &mut self,
        code: Code,
        message: impl Into<String>,
        at: Span,
        label: &str,
        help: impl Into<String>,
    ) {
        self.found.push(Diagnostic::error(code, message, at, label).help(help));
    }

    fn shadow(&mut self, name: &str, at: Span) {
        if INPUTS.contains(&name) {
            let message = format!("a local called `{name}` hides the real one");
            self.error(Code::ScriptFunction, message, at, "declared here", "give the local another name");
        }
    }

    /// Whether it is a local with the name of an input.
    fn hides(&self, expr: &Expr) -> bool {
        matches!(expr.kind, Kind::Local(id) if INPUTS.contains(&self.chunk.locals[id.0].name.as_str()))
    }

    /// A global that is not in the library.
    fn unknown(&mut self, name: &str, member: Option<&str>, at: Span) {
        let shown = member.map_or(name.to_owned(), |member| format!("{name}.{member}"));
        if let Some((code, why, help)) = library::refusal(name, member) {
            let label = if code == Code::ScriptTime { "not the server's clock" } else { "not for scripts" };
            return self.error(code, format!("`{shown}` is refused: {why}"), at, label, help);
        }
        if let Some(member) = member.filter(|_| library::candidates().any(|own| own == name)) {
            let members = library::members(name);
            let help = match closest(member, &members) {
                Some(near) => format!("did you mean `{name}.{near}`?"),
                None => format!("`{name}` has: {}", members.join(", ")),
            };
            return self.error(
                Code::ScriptGlobal,
                format!("`{name}` has no `{member}` here"),
                at,
                "not known",
                help,
            );
        }
        let mut names: Vec<&str> = self.chunk.locals.iter().map(|local| local.name.as_str()).collect();
        library::candidates().for_each(|own| names.push(own));
        let help = match closest(name, &names) {
            Some(near) if near != name => format!("did you mean `{near}`? Else declare it with `local`"),
            _ => "declare it with `local` before it is used, in a block that reaches this far".to_owned(),
        };
        self.error(Code::ScriptGlobal, format!("`{name}` is not declared"), at, "would be a global", help);
    }

    /// A library name that is neither called nor given to a local of its own.
    fn as_value(&mut self, library: Library, expr: &Expr) {
        let (what, help) = match library {
            Library::Value => return,
            Library::Input if expr.is_global("ARGV") => return,
            Library::Input => (
                "`KEYS` as a whole cannot be followed".to_owned(),
                "use `KEYS[n]`, `#KEYS`, `ipairs(KEYS)` or `unpack(KEYS, …)`".to_owned(),
            ),
            Library::Table => {
                let name = if let Kind::Global(name) = &expr.kind { name.as_str() } else { "the library" };
                let help = format!(
                    "write `{name}.` and a name; one function may have a local: `local f = {name}.f`"
                );
                (format!("`{name}` as a whole cannot be followed"), help)
            }
            Library::Function(path) => (
                format!("`{path}` is used as a value"),
                "call it, or give it a local of its own that holds nothing else".to_owned(),
            ),
        };
        self.error(Code::ScriptFunction, what, expr.at, "used as a value", help);
    }

    fn function_value(&mut self, at: Span) {
        self.error(
            Code::ScriptFunction,
            "a function that is a value cannot be followed",
            at,
            "not a `local function`",
            FUNCTION_FORM,
        );
    }

    /// The callee of a call.
    fn callee(&mut self, callee: &'a Expr) {
        let told = self.found.len();
        let (message, label) = match &callee.kind {
            _ if matches!(library::named(callee), Some(Library::Function(_))) => return,
            Kind::Local(id) if self.open.contains(id) => {
                let message = format!("`{}` calls itself", self.chunk.locals[id.0].name);
                return self.error(
                    Code::ScriptFunction,
                    message,
                    callee.at,
                    "recursion",
                    "write it as a loop",
                );
            }
            Kind::Local(id) if self.known.is_function(*id) => return,
            Kind::Local(id) => {
                let name = &self.chunk.locals[id.0].name;
                (format!("`{name}` is not a function of this script"), "called here")
            }
            // Told where the local is declared.
            Kind::Index(table, _) if self.hides(table) => return,
            Kind::Index(..) => {
                self.expr(callee);
                ("a function that is stored in a table cannot be followed".to_owned(), "called here")
            }
            _ => {
                self.expr(callee);
                ("what is called here cannot be followed".to_owned(), "not a name")
            }
        };
        if self.found.len() == told {
            self.error(Code::ScriptFunction, message, callee.at, label, FUNCTION_FORM);
        }
    }

    fn call(&mut self, callee: &'a Expr, args: &'a [Expr]) {
        self.callee(callee);
        let (path, first) = (self.known.callee(callee), args.first());
        let skipped = match path {
            Callee::Library("ipairs" | "unpack") => first.filter(|arg| arg.is_global("KEYS")).map(|_| 0),
            Callee::Library("pcall") => first.map(|inner| {
                self.callee(inner);
                0
            }),
            // The one library function that takes a function: its arguments come from the table.
            Callee::Library("table.sort") => {
                args.get(1).filter(|less| self.is_named_function(less)).map(|_| 1)
            }
            _ => None,
        };
        for (index, arg) in args.iter().enumerate() {
            if Some(index) != skipped {
                self.expr(arg);
            }
        }
    }

    fn is_named_function(&self, expr: &Expr) -> bool {
        matches!(self.known.callee(expr), Callee::Local(..))
    }

    fn index(&mut self, expr: &'a Expr, table: &'a Expr, member: &'a Expr) {
        let Kind::Global(name) = &table.kind else { return walk_expr(self, expr) };
        match (library::named(expr), library::named(table), &member.kind) {
            (Some(library), ..) => self.as_value(library, expr),
            (None, Some(Library::Input), _) => self.expr(member),
            (None, Some(Library::Table) | None, Kind::Text(member)) => {
                self.unknown(name, Some(member), expr.at)
            }
            (None, Some(Library::Table), _) => self.as_value(Library::Table, table),
            _ => walk_expr(self, expr),
        }
    }

    fn define(&mut self, name: LocalId, function: &'a Function) {
        self.known.functions.insert(name, function);
        self.open.push(name);
        self.function(function);
        self.open.pop();
    }

    fn target(&mut self, target: &'a Expr) {
        match &target.kind {
            Kind::Global(name) => {
                let known = library::named(target).is_some();
                let message = format!("`{name}` is assigned without `local`: it would be a global");
                let help = if known {
                    "leave the library as it is".to_owned()
                } else {
                    format!("declare it: `local {name} = …`")
                };
                self.error(Code::ScriptGlobal, message, target.at, "no globals in scripts", help);
            }
            Kind::Local(id) if self.known.is_function(*id) => {
                let message =
                    format!("`{}` is a function and gets another value", self.chunk.locals[id.0].name);
                self.error(Code::ScriptFunction, message, target.at, "assigned here", "use another name");
            }
            Kind::Local(_) => {}
            Kind::Index(table, member) if matches!(&table.kind, Kind::Global(_)) => {
                let Kind::Global(name) = &table.kind else { return };
                self.expr(member);
                let message = format!("`{name}` is changed");
                self.error(
                    Code::ScriptGlobal,
                    message,
                    target.at,
                    "not the script's own",
                    "copy it to a local table",
                );
            }
            _ => walk_expr(self, target),
        }
    }
}

impl<'a> Visit<'a> for Names<'a> {
    fn stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Local { names, values } => {
                for (index, value) in values.iter().enumerate() {
                    match (&value.kind, library::named(value), names.get(index)) {
                        (Kind::Function(function), _, Some(name)) => self.define(*name, function),
                        (_, Some(Library::Function(path)), Some(name)) => {
                            self.known.aliases.insert(*name, path);
                        }
                        // `local redis = redis`: told by its name.
                        (Kind::Global(own), _, Some(name))
                            if INPUTS.contains(&own.as_str()) && *own == self.chunk.locals[name.0].name => {}
                        _ => self.expr(value),
                    }
                }
            }
            Stmt::LocalFunction { name, function } => self.define(*name, function),
            Stmt::NamedFunction { target, function } => {
                match &target.kind {
                    Kind::Global(name) => {
                        let message = format!("the function `{name}` would be a global");
                        self.error(Code::ScriptGlobal, message, function.at, "no `local`", FUNCTION_FORM);
                    }
                    _ => self.function_value(function.at),
                }
                self.function(function);
            }
            Stmt::Assign { targets, values } => {
                for target in targets {
                    self.target(target);
                }
                self.exprs(values);
            }
            _ => walk_stmt(self, stmt),
        }
    }

    fn expr(&mut self, expr: &'a Expr) {
        match &expr.kind {
            Kind::Global(name) => match library::named(expr) {
                Some(library) => self.as_value(library, expr),
                None => self.unknown(name, None, expr.at),
            },
            Kind::Local(id) if self.known.is_function(*id) => self.function_value(expr.at),
            Kind::Index(table, member) => self.index(expr, table, member),
            Kind::Call(callee, args) => self.call(callee, args),
            Kind::Method(receiver, name, args) => {
                self.expr(receiver);
                self.exprs(args);
                if !library::is_string_method(name) {
                    let message =
                        format!("strings have no method `{name}`, and nothing else has methods here");
                    let help = format!("string methods: {}", library::members("string").join(", "));
                    self.error(Code::ScriptFunction, message, expr.at, "called here", help);
                }
            }
            Kind::Unary("#", operand) if operand.is_global("KEYS") => {}
            Kind::Function(function) => {
                self.function_value(function.at);
                self.function(function);
            }
            Kind::Vararg => self.vararg(expr.at),
            _ => walk_expr(self, expr),
        }
    }

    fn function(&mut self, function: &'a Function) {
        if let Some(at) = function.vararg {
            self.vararg(at);
        }
        self.block(&function.body);
    }
}

impl Names<'_> {
    fn vararg(&mut self, at: Span) {
        let help = "name the parameters, or pass a table";
        self.error(Code::ScriptFunction, "`...` cannot be followed", at, "any number of values", help);
    }
}
