//! Expressions of Lua 5.1, by precedence.

use super::ast::{Expr, Item, Kind};
use super::parse::{Found, Parser, error};
use super::token::{Placed, Token};
use crate::diagnostic::Span;

/// How strongly a prefix operator binds.
const PREFIX: u8 = 8;

/// How strongly a binary operator binds to its left and to its right.
fn binary(token: &Token<'_>) -> Option<(&'static str, u8, u8)> {
    let (Token::Symbol(symbol) | Token::Keyword(symbol)) = token else { return None };
    let (left, right) = match *symbol {
        "or" => (1, 1),
        "and" => (2, 2),
        "<" | ">" | "<=" | ">=" | "~=" | "==" => (3, 3),
        ".." => (5, 4),
        "+" | "-" => (6, 6),
        "*" | "/" | "%" => (7, 7),
        "^" => (10, 9),
        _ => return None,
    };
    Some((symbol, left, right))
}

impl Parser<'_> {
    pub(super) fn expressions(&mut self) -> Found<Vec<Expr>> {
        let mut list = vec![self.expression()?];
        while self.accept(&Token::Symbol(",")).is_some() {
            list.push(self.expression()?);
        }
        Ok(list)
    }

    pub(super) fn expression(&mut self) -> Found<Expr> {
        self.operation(0)
    }

    /// An expression whose operators all bind more strongly than `limit`.
    fn operation(&mut self, limit: u8) -> Found<Expr> {
        self.enter()?;
        let Placed { token, at, .. } = self.peek().clone();
        let mut left = match token {
            Token::Keyword(operator @ "not") | Token::Symbol(operator @ ("-" | "#")) => {
                self.take();
                let operand = self.operation(PREFIX)?;
                let whole = Span::new(at.start, operand.at.end);
                self.expr(Kind::Unary(operator, Box::new(operand)), whole)?
            }
            _ => self.simple()?,
        };
        while let Some((operator, _, next)) = binary(&self.peek().token).filter(|(_, own, _)| *own > limit) {
            self.take();
            let right = self.operation(next)?;
            let whole = Span::new(left.at.start, right.at.end);
            left = self.expr(Kind::Binary(operator, Box::new(left), Box::new(right)), whole)?;
        }
        self.leave();
        Ok(left)
    }

    fn simple(&mut self) -> Found<Expr> {
        let Placed { token, at, .. } = self.peek().clone();
        let kind = match token {
            Token::Number(number) => Kind::Number(number),
            Token::Text(text) => Kind::Text(text),
            Token::Keyword("nil") => Kind::Nil,
            Token::Keyword("true") => Kind::True,
            Token::Keyword("false") => Kind::False,
            Token::Symbol("...") if self.scopes.takes_varargs() => Kind::Vararg,
            Token::Symbol("...") => {
                let help = "only a function declared with `...` has them; name the parameters";
                return error(
                    "`...` outside a function that takes them",
                    at,
                    "no such parameters here",
                    help,
                );
            }
            Token::Symbol("{") => return self.table(),
            Token::Keyword("function") => {
                self.take();
                let function = self.function(at, false)?;
                return self.expr(Kind::Function(Box::new(function)), self.since(at));
            }
            _ => return self.primary(),
        };
        self.take();
        self.expr(kind, at)
    }

    /// From a place to the end of the last token that was taken.
    fn since(&self, from: Span) -> Span {
        Span::new(from.start, self.taken().map_or(from.end, |placed| placed.at.end))
    }

    /// A name or parentheses with what hangs on them: fields, indexes, calls.
    pub(super) fn primary(&mut self) -> Found<Expr> {
        let mut expr = self.prefix()?;
        loop {
            let start = expr.at;
            expr = match self.peek().token {
                Token::Symbol(".") => {
                    self.take();
                    self.field(expr)?
                }
                Token::Symbol("[") => {
                    let opened = self.take().at;
                    let index = self.expression()?;
                    self.close(&Token::Symbol("]"), opened)?;
                    self.expr(Kind::Index(Box::new(expr), Box::new(index)), self.since(start))?
                }
                Token::Symbol(":") => {
                    self.take();
                    let (name, _) = self.name()?;
                    let args = self.arguments()?;
                    self.expr(Kind::Method(Box::new(expr), name.to_owned(), args), self.since(start))?
                }
                Token::Symbol("(" | "{") | Token::Text(_) => {
                    let args = self.arguments()?;
                    self.expr(Kind::Call(Box::new(expr), args), self.since(start))?
                }
                _ => return Ok(expr),
            };
        }
    }

    fn prefix(&mut self) -> Found<Expr> {
        let Placed { token, at, .. } = self.peek().clone();
        match token {
            Token::Name(name) => {
                self.take();
                self.resolve(name, at)
            }
            Token::Symbol("(") => {
                self.take();
                let inner = self.expression()?;
                self.close(&Token::Symbol(")"), at)?;
                self.expr(Kind::Paren(Box::new(inner)), self.since(at))
            }
            _ => self.unexpected("an expression", ""),
        }
    }

    /// The name behind a dot.
    pub(super) fn field(&mut self, of: Expr) -> Found<Expr> {
        let (name, at) = self.name()?;
        let whole = Span::new(of.at.start, at.end);
        let name = self.expr(Kind::Text(name.to_owned()), at)?;
        self.expr(Kind::Index(Box::new(of), Box::new(name)), whole)
    }

    fn arguments(&mut self) -> Found<Vec<Expr>> {
        let Placed { token, at, line } = self.peek().clone();
        match token {
            Token::Text(text) => {
                self.take();
                Ok(vec![self.expr(Kind::Text(text), at)?])
            }
            Token::Symbol("{") => Ok(vec![self.table()?]),
            Token::Symbol("(") if self.taken().is_some_and(|last| last.line != line) => error(
                "Lua 5.1 cannot tell whether this goes on with a call or starts a statement",
                at,
                "on a new line",
                "put the parenthesis behind the function's name, or a `;` before it",
            ),
            Token::Symbol("(") => {
                self.take();
                if self.accept(&Token::Symbol(")")).is_some() {
                    return Ok(Vec::new());
                }
                let args = self.expressions()?;
                self.close(&Token::Symbol(")"), at)?;
                Ok(args)
            }
            _ => self.unexpected("the arguments of a call", ""),
        }
    }

    fn table(&mut self) -> Found<Expr> {
        let opened = self.take().at;
        let mut items = Vec::new();
        while !self.is_symbol("}") {
            items.push(self.item()?);
            if self.accept(&Token::Symbol(",")).or_else(|| self.accept(&Token::Symbol(";"))).is_none() {
                break;
            }
        }
        self.close(&Token::Symbol("}"), opened)?;
        self.expr(Kind::Table(items), self.since(opened))
    }

    fn item(&mut self) -> Found<Item> {
        if let Some(opened) = self.accept(&Token::Symbol("[")) {
            let key = self.expression()?;
            self.close(&Token::Symbol("]"), opened)?;
            self.expect(&Token::Symbol("="))?;
            return Ok(Item::Keyed(key, self.expression()?));
        }
        if self.names_an_entry() {
            let (name, at) = self.name()?;
            self.take();
            let key = self.expr(Kind::Text(name.to_owned()), at)?;
            return Ok(Item::Keyed(key, self.expression()?));
        }
        Ok(Item::Next(self.expression()?))
    }
}
