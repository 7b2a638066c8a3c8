//! The shape of a script: statements and expressions with their places, names already resolved.

use crate::diagnostic::Span;

/// A local variable, by its number in [`Chunk::locals`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct LocalId(pub(super) usize);

/// A whole script.
#[derive(Debug)]
pub(super) struct Chunk {
    pub(super) body: Block,
    pub(super) locals: Vec<Local>,
}

#[derive(Debug)]
pub(super) struct Local {
    pub(super) name: String,
    pub(super) at: Span,
}

/// Statements. `height` is that of the tree below, so that no walk over it can run out of stack.
#[derive(Debug, Default)]
pub(super) struct Block {
    pub(super) stmts: Vec<Stmt>,
    pub(super) height: u16,
}

#[derive(Debug)]
pub(super) enum Stmt {
    Local {
        names: Vec<LocalId>,
        values: Vec<Expr>,
    },
    Assign {
        targets: Vec<Expr>,
        values: Vec<Expr>,
    },
    Call(Expr),
    Do(Block),
    While {
        test: Expr,
        body: Block,
    },
    Repeat {
        body: Block,
        test: Expr,
    },
    If {
        arms: Vec<(Expr, Block)>,
        otherwise: Block,
    },
    ForRange {
        var: LocalId,
        from: Expr,
        to: Expr,
        step: Option<Expr>,
        body: Block,
    },
    ForIn {
        vars: Vec<LocalId>,
        values: Vec<Expr>,
        body: Block,
    },
    LocalFunction {
        name: LocalId,
        function: Function,
    },
    /// `function a.b:c() … end`: assigns to a global, a field or an existing local.
    NamedFunction {
        target: Expr,
        function: Function,
    },
    Return(Vec<Expr>),
    Break,
}

#[derive(Debug)]
pub(super) struct Function {
    pub(super) params: Vec<LocalId>,
    pub(super) vararg: Option<Span>,
    pub(super) body: Block,
    /// The word `function`.
    pub(super) at: Span,
}

#[derive(Debug)]
pub(super) struct Expr {
    pub(super) kind: Kind,
    pub(super) at: Span,
    pub(super) height: u16,
}

#[derive(Debug)]
pub(super) enum Kind {
    Nil,
    True,
    False,
    Number(f64),
    Text(String),
    Vararg,
    Local(LocalId),
    Global(String),
    /// `a[b]`, and `a.b` with the name as text.
    Index(Box<Expr>, Box<Expr>),
    Call(Box<Expr>, Vec<Expr>),
    Method(Box<Expr>, String, Vec<Expr>),
    Function(Box<Function>),
    Table(Vec<Item>),
    /// Parentheses cut several values down to one.
    Paren(Box<Expr>),
    Binary(&'static str, Box<Expr>, Box<Expr>),
    Unary(&'static str, Box<Expr>),
}

/// An entry of a table constructor.
#[derive(Debug)]
pub(super) enum Item {
    Next(Expr),
    Keyed(Expr, Expr),
}

impl Expr {
    /// The expression inside parentheses.
    pub(super) fn bare(&self) -> &Self {
        let mut expr = self;
        while let Kind::Paren(inner) = &expr.kind {
            expr = inner;
        }
        expr
    }

    /// Whether it is this global.
    pub(super) fn is_global(&self, name: &str) -> bool {
        matches!(&self.kind, Kind::Global(own) if own == name)
    }

    /// Whether it may stand for several values at the end of a list.
    pub(super) fn is_open(&self) -> bool {
        matches!(self.kind, Kind::Call(..) | Kind::Method(..) | Kind::Vararg)
    }
}

/// Whoever walks over a script says what to do at statements and expressions; going on is up to `walk_…`.
pub(super) trait Visit<'a> {
    fn stmt(&mut self, stmt: &'a Stmt) {
        walk_stmt(self, stmt);
    }

    fn expr(&mut self, expr: &'a Expr) {
        walk_expr(self, expr);
    }

    fn function(&mut self, function: &'a Function) {
        self.block(&function.body);
    }

    fn block(&mut self, block: &'a Block) {
        for stmt in &block.stmts {
            self.stmt(stmt);
        }
    }

    fn exprs(&mut self, exprs: &'a [Expr]) {
        for expr in exprs {
            self.expr(expr);
        }
    }
}

pub(super) fn walk_stmt<'a>(visit: &mut (impl Visit<'a> + ?Sized), stmt: &'a Stmt) {
    match stmt {
        Stmt::Local { values, .. } | Stmt::Return(values) => visit.exprs(values),
        Stmt::Assign { targets, values } => {
            visit.exprs(targets);
            visit.exprs(values);
        }
        Stmt::Call(call) => visit.expr(call),
        Stmt::Do(body) => visit.block(body),
        Stmt::While { test, body } => {
            visit.expr(test);
            visit.block(body);
        }
        Stmt::Repeat { body, test } => {
            visit.block(body);
            visit.expr(test);
        }
        Stmt::If { arms, otherwise } => {
            for (test, body) in arms {
                visit.expr(test);
                visit.block(body);
            }
            visit.block(otherwise);
        }
        Stmt::ForRange { from, to, step, body, .. } => {
            visit.expr(from);
            visit.expr(to);
            step.iter().for_each(|step| visit.expr(step));
            visit.block(body);
        }
        Stmt::ForIn { values, body, .. } => {
            visit.exprs(values);
            visit.block(body);
        }
        Stmt::LocalFunction { function, .. } => visit.function(function),
        Stmt::NamedFunction { target, function } => {
            visit.expr(target);
            visit.function(function);
        }
        Stmt::Break => {}
    }
}

pub(super) fn walk_expr<'a>(visit: &mut (impl Visit<'a> + ?Sized), expr: &'a Expr) {
    match &expr.kind {
        Kind::Nil
        | Kind::True
        | Kind::False
        | Kind::Number(_)
        | Kind::Text(_)
        | Kind::Vararg
        | Kind::Local(_)
        | Kind::Global(_) => {}
        Kind::Index(left, right) | Kind::Binary(_, left, right) => {
            visit.expr(left);
            visit.expr(right);
        }
        Kind::Call(callee, args) | Kind::Method(callee, _, args) => {
            visit.expr(callee);
            visit.exprs(args);
        }
        Kind::Function(function) => visit.function(function),
        Kind::Table(items) => {
            for item in items {
                match item {
                    Item::Next(value) => visit.expr(value),
                    Item::Keyed(key, value) => {
                        visit.expr(key);
                        visit.expr(value);
                    }
                }
            }
        }
        Kind::Paren(inner) | Kind::Unary(_, inner) => visit.expr(inner),
    }
}
