//! Lua 5.1 read into a tree: statements, and what statements and expressions share.
//!
//! It accepts what a server's `SCRIPT LOAD` accepts, up to a depth at which neither reading the tree nor walking over it
//! can run out of stack. The first thing that is not Lua ends it: what follows a broken statement is guesswork.

use super::ast::{Block, Chunk, Expr, Function, Kind, LocalId, Stmt, Visit, walk_expr, walk_stmt};
use super::scope::{Meaning, Scopes};
use super::token::{Placed, Token, not_in_5_1, tokens};
use crate::diagnostic::{Code, Diagnostic, Span};

/// Lua stops at 200 levels of blocks and expressions; a little of that is used up before a script starts.
const MAX_LEVELS: usize = 190;

/// Long chains such as `a + b + c …` need no levels but make high trees. No script comes near this.
const MAX_HEIGHT: u16 = 250;

pub(super) type Found<T> = Result<T, Box<Diagnostic>>;

pub(super) fn parse(source: &str) -> Found<Chunk> {
    let tokens = tokens(source)?;
    let mut parser = Parser { tokens, next: 0, levels: 0, scopes: Scopes::default() };
    parser.scopes.open(true);
    let body = parser.block()?;
    if !parser.is(&Token::End) {
        return parser.unexpected(
            "the end of the script",
            "a block was closed once too often, or `return` is not last",
        );
    }
    Ok(Chunk { body, locals: parser.scopes.finish() })
}

pub(super) struct Parser<'s> {
    tokens: Vec<Placed<'s>>,
    next: usize,
    levels: usize,
    pub(super) scopes: Scopes,
}

impl<'s> Parser<'s> {
    /// The next token. The last one is never taken, so there always is one.
    pub(super) fn peek(&self) -> &Placed<'s> {
        &self.tokens[self.next.min(self.tokens.len() - 1)]
    }

    /// Where the last token that was taken ends.
    pub(super) fn taken(&self) -> Option<&Placed<'s>> {
        self.tokens.get(self.next.checked_sub(1)?)
    }

    pub(super) fn take(&mut self) -> Placed<'s> {
        let placed = self.peek().clone();
        self.next = (self.next + 1).min(self.tokens.len() - 1);
        placed
    }

    pub(super) fn is(&self, token: &Token<'_>) -> bool {
        self.peek().token == *token
    }

    pub(super) fn is_symbol(&self, symbol: &'static str) -> bool {
        self.is(&Token::Symbol(symbol))
    }

    pub(super) fn is_keyword(&self, keyword: &'static str) -> bool {
        self.is(&Token::Keyword(keyword))
    }

    pub(super) fn accept(&mut self, token: &Token<'static>) -> Option<Span> {
        self.is(token).then(|| self.take().at)
    }

    pub(super) fn expect(&mut self, token: &Token<'static>) -> Found<Span> {
        match self.accept(token) {
            Some(at) => Ok(at),
            None => self.unexpected(&describe(token), ""),
        }
    }

    /// Takes the token that closes what was opened at `opened`.
    pub(super) fn close(&mut self, token: &Token<'static>, opened: Span) -> Found<Span> {
        match self.accept(token) {
            Some(at) => Ok(at),
            // What is not Lua at all has nothing to do with what is open.
            None if self.foreign().is_some() => self.unexpected("", ""),
            None => {
                let found: Found<Span> = self.unexpected(&describe(token), "");
                found.map_err(|error| Box::new(error.also(opened, "to close this")))
            }
        }
    }

    pub(super) fn name(&mut self) -> Found<(&'s str, Span)> {
        match self.peek() {
            Placed { token: Token::Name(name), at, .. } => {
                let found = (*name, *at);
                self.take();
                Ok(found)
            }
            _ => self.unexpected("a name", ""),
        }
    }

    /// Why the next token is not Lua 5.1, and what to write instead.
    fn foreign(&self) -> Option<(&'static str, &'static str)> {
        match self.peek().token {
            Token::Symbol(symbol) => not_in_5_1(symbol),
            _ => None,
        }
    }

    /// The next token cannot stand here.
    pub(super) fn unexpected<T>(&self, expected: &str, help: &str) -> Found<T> {
        let Placed { token, at, .. } = self.peek();
        if let Some((message, help)) = self.foreign() {
            return error(message, *at, "not Lua 5.1", help);
        }
        let label = match token {
            Token::End => "the script ends here".to_owned(),
            token => format!("{} cannot stand here", describe(token)),
        };
        error(&format!("expected {expected}"), *at, &label, help)
    }

    /// One level deeper; the caller leaves it.
    pub(super) fn enter(&mut self) -> Found<()> {
        self.levels += 1;
        if self.levels > MAX_LEVELS { self.too_deep() } else { Ok(()) }
    }

    pub(super) fn leave(&mut self) {
        self.levels -= 1;
    }

    fn too_deep<T>(&self) -> Found<T> {
        let help = "name inner parts with locals; Lua itself refuses scripts that are much deeper";
        error("this is nested too deeply", self.peek().at, "too deep from here on", help)
    }

    pub(super) fn expr(&self, kind: Kind, at: Span) -> Found<Expr> {
        let mut expr = Expr { kind, at, height: 0 };
        let mut tallest = Tallest(0);
        walk_expr(&mut tallest, &expr);
        expr.height = tallest.0 + 1;
        if expr.height > MAX_HEIGHT { self.too_deep() } else { Ok(expr) }
    }

    pub(super) fn resolve(&mut self, name: &str, at: Span) -> Found<Expr> {
        match self.scopes.resolve(name) {
            Meaning::Local(id) => self.expr(Kind::Local(id), at),
            Meaning::Global => self.expr(Kind::Global(name.to_owned()), at),
            Meaning::TooManyOuter => error(
                "a function may use at most 60 variables from outside",
                at,
                "one too many",
                "pass some of them as parameters",
            ),
        }
    }

    fn room(&self, enough: bool, at: Span) -> Found<()> {
        if enough {
            return Ok(());
        }
        error(
            "a function has at most 200 locals",
            at,
            "one too many",
            "put parts into `do … end` or functions",
        )
    }

    pub(super) fn declare(&mut self, name: &str, at: Span) -> Found<LocalId> {
        match self.scopes.declare(name, at) {
            Some(id) => Ok(id),
            None => self.room(false, at).map(|()| LocalId(0)),
        }
    }

    fn scoped_block(&mut self) -> Found<Block> {
        let mark = self.scopes.mark();
        let block = self.block()?;
        self.scopes.forget(mark);
        Ok(block)
    }

    /// Statements up to a word that ends a block.
    pub(super) fn block(&mut self) -> Found<Block> {
        self.enter()?;
        let mut block = Block::default();
        while !self.at_end_of_block() {
            let last = self.is_keyword("return") || self.is_keyword("break");
            let stmt = self.stmt()?;
            let mut tallest = Tallest(0);
            walk_stmt(&mut tallest, &stmt);
            block.height = block.height.max(tallest.0 + 1);
            block.stmts.push(stmt);
            if block.height > MAX_HEIGHT {
                return self.too_deep();
            }
            self.accept(&Token::Symbol(";"));
            if last && !self.at_end_of_block() {
                let expected = "the end of the block: in Lua 5.1 `return` and `break` are its last statement";
                return self.unexpected(expected, "write `do return end` to leave in the middle");
            }
        }
        self.leave();
        Ok(block)
    }

    fn at_end_of_block(&self) -> bool {
        matches!(self.peek().token, Token::End | Token::Keyword("end" | "else" | "elseif" | "until"))
    }

    fn stmt(&mut self) -> Found<Stmt> {
        let Placed { token, at, .. } = self.peek().clone();
        match token {
            Token::Keyword("if") => self.if_stmt(at),
            Token::Keyword("while") => {
                self.take();
                let test = self.expression()?;
                self.expect(&Token::Keyword("do"))?;
                let body = self.loop_body(0)?;
                self.close(&Token::Keyword("end"), at)?;
                Ok(Stmt::While { test, body })
            }
            Token::Keyword("do") => {
                self.take();
                let body = self.scoped_block()?;
                self.close(&Token::Keyword("end"), at)?;
                Ok(Stmt::Do(body))
            }
            Token::Keyword("for") => self.for_stmt(at),
            Token::Keyword("repeat") => self.repeat_stmt(at),
            Token::Keyword("function") => self.named_function(at),
            Token::Keyword("local") => {
                self.take();
                if self.is_keyword("function") { self.local_function() } else { self.local_stmt() }
            }
            Token::Keyword("return") => {
                self.take();
                let ends = self.at_end_of_block() || self.is_symbol(";");
                Ok(Stmt::Return(if ends { Vec::new() } else { self.expressions()? }))
            }
            Token::Keyword("break") => {
                self.take();
                if self.scopes.in_loop() {
                    return Ok(Stmt::Break);
                }
                error("there is no loop to break here", at, "outside every loop", "use `return`")
            }
            Token::Name("goto") if self.name_follows() => {
                let help = "use a loop with a condition, or a local function";
                error("Lua 5.1 has no goto", at, "not Lua 5.1", help)
            }
            _ => self.call_or_assignment(),
        }
    }

    fn name_follows(&self) -> bool {
        self.tokens.get(self.next + 1).is_some_and(|placed| matches!(placed.token, Token::Name(_)))
    }

    /// Whether a table's entry starts here that has a name: `name = value`.
    pub(super) fn names_an_entry(&self) -> bool {
        matches!(self.peek().token, Token::Name(_))
            && self.tokens.get(self.next + 1).is_some_and(|placed| placed.token == Token::Symbol("="))
    }

    fn loop_body(&mut self, hidden: usize) -> Found<Block> {
        let mark = self.scopes.mark();
        self.scopes.enter_loop(hidden);
        let body = self.block()?;
        self.scopes.leave_loop();
        self.scopes.forget(mark);
        Ok(body)
    }

    fn if_stmt(&mut self, opened: Span) -> Found<Stmt> {
        let mut arms = Vec::new();
        loop {
            self.take();
            let test = self.expression()?;
            self.expect(&Token::Keyword("then"))?;
            arms.push((test, self.scoped_block()?));
            if !self.is_keyword("elseif") {
                break;
            }
        }
        let otherwise = match self.accept(&Token::Keyword("else")) {
            Some(_) => self.scoped_block()?,
            None => Block::default(),
        };
        self.close(&Token::Keyword("end"), opened)?;
        Ok(Stmt::If { arms, otherwise })
    }

    fn for_stmt(&mut self, opened: Span) -> Found<Stmt> {
        self.take();
        let mut names = vec![self.name()?];
        let range = self.accept(&Token::Symbol("=")).is_some();
        if !range {
            while self.accept(&Token::Symbol(",")).is_some() {
                names.push(self.name()?);
            }
            self.expect(&Token::Keyword("in"))?;
        }
        let mut values = self.expressions()?;
        if range && !(2..=3).contains(&values.len()) {
            let expected = "`for i = first, last` or `for i = first, last, step`";
            return self.unexpected(expected, "a range has two or three values");
        }
        self.expect(&Token::Keyword("do"))?;
        let mark = self.scopes.mark();
        self.scopes.enter_loop(3);
        let mut vars = Vec::new();
        for (name, at) in names {
            vars.push(self.declare(name, at)?);
        }
        let body = self.block()?;
        self.scopes.leave_loop();
        self.scopes.forget(mark);
        self.close(&Token::Keyword("end"), opened)?;
        if !range {
            return Ok(Stmt::ForIn { vars, values, body });
        }
        let step = if values.len() == 3 { values.pop() } else { None };
        match (values.pop(), values.pop()) {
            (Some(to), Some(from)) => Ok(Stmt::ForRange { var: vars[0], from, to, step, body }),
            _ => self.unexpected("a range", ""),
        }
    }

    fn repeat_stmt(&mut self, opened: Span) -> Found<Stmt> {
        self.take();
        let mark = self.scopes.mark();
        self.scopes.enter_loop(0);
        let body = self.block()?;
        self.close(&Token::Keyword("until"), opened)?;
        // The condition sees the locals of the body.
        let test = self.expression()?;
        self.scopes.leave_loop();
        self.scopes.forget(mark);
        Ok(Stmt::Repeat { body, test })
    }

    fn named_function(&mut self, at: Span) -> Found<Stmt> {
        self.take();
        let (name, place) = self.name()?;
        let mut target = self.resolve(name, place)?;
        let mut method = false;
        while !method && (self.is_symbol(".") || self.is_symbol(":")) {
            method = self.is_symbol(":");
            self.take();
            target = self.field(target)?;
        }
        let function = self.function(at, method)?;
        Ok(Stmt::NamedFunction { target, function })
    }

    fn local_function(&mut self) -> Found<Stmt> {
        let at = self.take().at;
        let (name, place) = self.name()?;
        // It is visible in its own body; recursion is refused later, with a better word than "unknown".
        let name = self.declare(name, place)?;
        Ok(Stmt::LocalFunction { name, function: self.function(at, false)? })
    }

    fn local_stmt(&mut self) -> Found<Stmt> {
        let mut names = Vec::new();
        loop {
            let (name, at) = self.name()?;
            names.push(self.scopes.reserve(name, at));
            if self.accept(&Token::Symbol(",")).is_none() {
                break;
            }
        }
        let values =
            if self.accept(&Token::Symbol("=")).is_some() { self.expressions()? } else { Vec::new() };
        let enough = self.scopes.activate(&names);
        self.room(enough, self.taken().map(|placed| placed.at).unwrap_or_default())?;
        Ok(Stmt::Local { names, values })
    }

    fn call_or_assignment(&mut self) -> Found<Stmt> {
        let first = self.primary()?;
        if matches!(first.kind, Kind::Call(..) | Kind::Method(..)) {
            return Ok(Stmt::Call(first));
        }
        let mut targets = vec![first];
        while self.accept(&Token::Symbol(",")).is_some() {
            targets.push(self.primary()?);
        }
        let assignable =
            |target: &Expr| matches!(target.kind, Kind::Local(_) | Kind::Global(_) | Kind::Index(..));
        if let Some(target) = targets.iter().find(|target| !assignable(target)) {
            return error(
                "this cannot be assigned to",
                target.at,
                "not a variable",
                "name a variable or a field",
            );
        }
        if self.accept(&Token::Symbol("=")).is_none() {
            return self.unexpected("`=` or a call", "a statement is a call or an assignment");
        }
        Ok(Stmt::Assign { targets, values: self.expressions()? })
    }

    /// Parameters and body, behind `function` and its name.
    pub(super) fn function(&mut self, at: Span, method: bool) -> Found<Function> {
        let opened = self.expect(&Token::Symbol("("))?;
        let (mut names, mut vararg) = (Vec::new(), None);
        if method {
            names.push(("self", at));
        }
        while !self.is_symbol(")") {
            if let Some(dots) = self.accept(&Token::Symbol("...")) {
                vararg = Some(dots);
                break;
            }
            names.push(self.name()?);
            if self.accept(&Token::Symbol(",")).is_none() {
                break;
            }
            if self.is_symbol(")") {
                return self.unexpected("a name", "");
            }
        }
        self.close(&Token::Symbol(")"), opened)?;
        self.scopes.open(vararg.is_some());
        let mut params = Vec::new();
        for (name, at) in names {
            params.push(self.declare(name, at)?);
        }
        let body = self.block()?;
        self.scopes.close();
        self.close(&Token::Keyword("end"), at)?;
        Ok(Function { params, vararg, body, at })
    }
}

/// The height of the tallest tree among direct children.
struct Tallest(u16);

impl<'a> Visit<'a> for Tallest {
    fn stmt(&mut self, stmt: &'a Stmt) {
        walk_stmt(self, stmt);
    }

    fn expr(&mut self, expr: &'a Expr) {
        self.0 = self.0.max(expr.height);
    }

    fn block(&mut self, block: &'a Block) {
        self.0 = self.0.max(block.height);
    }
}

pub(super) fn error<T>(message: &str, at: Span, label: &str, help: &str) -> Found<T> {
    let found = Diagnostic::error(Code::Syntax, message, at, label);
    Err(Box::new(if help.is_empty() { found } else { found.help(help) }))
}

fn describe(token: &Token<'_>) -> String {
    match token {
        Token::Name(name) => format!("the name `{name}`"),
        Token::Number(number) => format!("the number {number}"),
        Token::Text(_) => "a string".to_owned(),
        Token::Keyword(word) => format!("`{word}`"),
        Token::Symbol(symbol) => format!("`{symbol}`"),
        Token::End => "the end of the script".to_owned(),
    }
}
