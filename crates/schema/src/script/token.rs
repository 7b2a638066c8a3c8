//! Lua 5.1 as tokens with their places.
//!
//! The rules are those of the reference implementation (`llex.c` of 5.1.5, which Redis embeds), oddities included: a
//! numeral takes every letter that touches it, `[[` inside `[[…]]` is an error, `\x` is just an x.

use crate::diagnostic::{Code, Diagnostic, Span};

/// A token.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token<'s> {
    Name(&'s str),
    Number(f64),
    /// A string, as far as it is text: bytes that are not UTF-8 become U+FFFD, which no name or command contains.
    Text(String),
    Keyword(&'static str),
    Symbol(&'static str),
    End,
}

/// A token, where it stands, and the line in which it ends: the arguments of a call may not start on a new one.
#[derive(Debug, Clone)]
pub(super) struct Placed<'s> {
    pub(super) token: Token<'s>,
    pub(super) at: Span,
    pub(super) line: usize,
}

const KEYWORDS: [&str; 21] = [
    "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "if", "in", "local", "nil",
    "not", "or", "repeat", "return", "then", "true", "until", "while",
];

/// Longest first. Those in the second and the last row do not exist in 5.1: they are read to be refused by name.
const SYMBOLS: &[&str] = &[
    "...", "..", "==", "~=", "<=", ">=", //
    "<<", ">>", "//", "::", "!=", "+=", "-=", //
    "+", "-", "*", "/", "%", "^", "#", "<", ">", "=", "(", ")", "{", "}", "[", "]", ";", ":", ",",
    ".", //
    "&", "|", "~", "!",
];

/// What people write who come from another Lua or another language.
pub(super) fn not_in_5_1(symbol: &str) -> Option<(&'static str, &'static str)> {
    match symbol {
        "<<" | ">>" | "&" | "|" | "~" => Some((
            "Lua 5.1 has no bit operators",
            "compute with `%`, `*` and `math.floor`, or outside the script",
        )),
        "//" => Some(("Lua 5.1 has no integer division", "write `math.floor(a / b)`")),
        "::" => {
            Some(("Lua 5.1 has no labels and no goto", "use a loop with a condition, or a local function"))
        }
        "!=" | "!" => Some(("Lua has no `!`", "write `~=` for unequal and `not` for negation")),
        "+=" | "-=" => Some(("Lua has no compound assignment", "write `x = x + 1`")),
        _ => None,
    }
}

/// All tokens, the last one [`Token::End`]; or the first thing that is none.
pub(super) fn tokens(source: &str) -> Result<Vec<Placed<'_>>, Box<Diagnostic>> {
    let mut lexer = Lexer { source, bytes: source.as_bytes(), at: 0, line: 1 };
    let mut tokens = Vec::new();
    loop {
        let placed = lexer.next()?;
        let end = placed.token == Token::End;
        tokens.push(placed);
        if end {
            return Ok(tokens);
        }
    }
}

struct Lexer<'s> {
    source: &'s str,
    bytes: &'s [u8],
    at: usize,
    line: usize,
}

type Found<T> = Result<T, Box<Diagnostic>>;

impl<'s> Lexer<'s> {
    fn next(&mut self) -> Found<Placed<'s>> {
        self.skip_blanks()?;
        let start = self.at;
        let token = match self.peek(0) {
            None => Token::End,
            Some(b'"' | b'\'') => self.quoted()?,
            Some(b'[') if matches!(self.peek(1), Some(b'[' | b'=')) => self.long_string()?,
            Some(b'0'..=b'9') => self.number()?,
            Some(b'.') if self.peek(1).is_some_and(|next| next.is_ascii_digit()) => self.number()?,
            Some(first) if first == b'_' || first.is_ascii_alphabetic() => self.word(),
            Some(_) => self.symbol()?,
        };
        Ok(Placed { token, at: Span::new(start, self.at), line: self.line })
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    fn error<T>(&self, from: usize, message: &str, label: &str, help: &str) -> Found<T> {
        let to = if from < self.bytes.len() { from + 1 } else { from };
        let found = Diagnostic::error(Code::Syntax, message, Span::new(from, to), label);
        Err(Box::new(found.help(help)))
    }

    fn skip_blanks(&mut self) -> Found<()> {
        loop {
            match self.peek(0) {
                Some(b'\n') => {
                    self.line += 1;
                    self.at += 1;
                }
                Some(b' ' | b'\t' | b'\r' | 0x0b | 0x0c) => self.at += 1,
                Some(b'-') if self.peek(1) == Some(b'-') => self.comment()?,
                _ => return Ok(()),
            }
        }
    }

    fn comment(&mut self) -> Found<()> {
        let start = self.at;
        self.at += 2;
        if self.peek(0) == Some(b'[')
            && let Some(level) = self.bracket_level()
        {
            self.long_bracket(start, level, "comment")?;
            return Ok(());
        }
        // A carriage return alone ends a line too.
        while self.peek(0).is_some_and(|byte| byte != b'\n' && byte != b'\r') {
            self.at += 1;
        }
        Ok(())
    }

    /// The number of `=` between two opening brackets, if there are two.
    fn bracket_level(&self) -> Option<usize> {
        let level = self.bytes[self.at + 1..].iter().take_while(|byte| **byte == b'=').count();
        (self.peek(level + 1) == Some(b'[')).then_some(level)
    }

    fn long_string(&mut self) -> Found<Token<'s>> {
        match self.bracket_level() {
            Some(level) => self.long_bracket(self.at, level, "string").map(Token::Text),
            None => self.error(
                self.at,
                "a long string opens with `[[` or `[=[`",
                "the second bracket is missing",
                "write the string in quotes, or `[==[ … ]==]`",
            ),
        }
    }

    fn long_bracket(&mut self, start: usize, level: usize, what: &str) -> Found<String> {
        self.at += level + 2;
        let inside = self.at;
        let equals = "=".repeat(level);
        let close = format!("]{equals}]");
        let Some(length) = self.source[inside..].find(&close) else {
            return self.error(
                start,
                &format!("this {what} has no end"),
                "opened here",
                &format!("close it with `{close}`"),
            );
        };
        let text = &self.source[inside..inside + length];
        if let Some(nested) = text.find("[[").filter(|_| level == 0) {
            return self.error(
                inside + nested,
                "Lua 5.1 refuses `[[` inside `[[ … ]]`",
                "opened a second time",
                "give the outer brackets a level: `[=[ … ]=]`",
            );
        }
        self.line += text.matches('\n').count();
        self.at = inside + length + close.len();
        // The line break right behind the brackets is not part of the string.
        let text = text.strip_prefix("\r\n").or_else(|| text.strip_prefix('\n')).unwrap_or(text);
        Ok(text.to_owned())
    }

    fn quoted(&mut self) -> Found<Token<'s>> {
        let start = self.at;
        let quote = self.bytes[start];
        self.at += 1;
        let mut text = Vec::new();
        loop {
            match self.peek(0) {
                Some(byte) if byte == quote => break,
                None | Some(b'\n' | b'\r') => {
                    let help = "close it with the quote that opened it; a line break inside is written `\\n`";
                    return self.error(start, "this string has no end", "opened here", help);
                }
                Some(b'\\') => {
                    self.at += 1;
                    self.escape(start, &mut text)?;
                }
                Some(byte) => {
                    text.push(byte);
                    self.at += 1;
                }
            }
        }
        self.at += 1;
        Ok(Token::Text(String::from_utf8_lossy(&text).into_owned()))
    }

    fn escape(&mut self, start: usize, text: &mut Vec<u8>) -> Found<()> {
        let Some(byte) = self.peek(0) else {
            return self.error(start, "this string has no end", "opened here", "close it");
        };
        if byte.is_ascii_digit() {
            let digits =
                self.bytes[self.at..].iter().take(3).take_while(|byte| byte.is_ascii_digit()).count();
            let code = self.source[self.at..self.at + digits].parse::<u16>().unwrap_or(u16::MAX);
            let Ok(byte) = u8::try_from(code) else {
                let help = "`\\ddd` is one byte in decimal, 255 at most";
                return self.error(self.at, "this escape is too large", "above 255", help);
            };
            text.push(byte);
            self.at += digits;
            return Ok(());
        }
        if byte == b'\n' {
            self.line += 1;
        }
        text.push(match byte {
            b'a' => 0x07,
            b'b' => 0x08,
            b'f' => 0x0c,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'v' => 0x0b,
            other => other,
        });
        self.at += 1;
        // `\` before CR LF escapes both.
        if byte == b'\r' && self.peek(0) == Some(b'\n') {
            self.line += 1;
            self.at += 1;
        }
        Ok(())
    }

    fn word(&mut self) -> Token<'s> {
        let start = self.at;
        while self.peek(0).is_some_and(|byte| byte == b'_' || byte.is_ascii_alphanumeric()) {
            self.at += 1;
        }
        let word = &self.source[start..self.at];
        match KEYWORDS.iter().find(|keyword| **keyword == word) {
            Some(keyword) => Token::Keyword(keyword),
            None => Token::Name(word),
        }
    }

    fn number(&mut self) -> Found<Token<'s>> {
        let start = self.at;
        let rest = |lexer: &mut Self, takes: fn(u8) -> bool| {
            while lexer.peek(0).is_some_and(takes) {
                lexer.at += 1;
            }
        };
        rest(self, |byte| byte.is_ascii_digit() || byte == b'.');
        if matches!(self.peek(0), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(0), Some(b'+' | b'-')) {
                self.at += 1;
            }
        }
        rest(self, |byte| byte.is_ascii_alphanumeric() || byte == b'_');
        match value(&self.source[start..self.at]) {
            Some(value) => Ok(Token::Number(value)),
            None => {
                let help = "a number is written `1000`, `0.5`, `1e3` or `0xff`";
                self.error(start, "this is not a number", "starts like one", help)
            }
        }
    }

    fn symbol(&mut self) -> Found<Token<'s>> {
        let rest = &self.source[self.at..];
        match SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
            Some(symbol) => {
                self.at += symbol.len();
                Ok(Token::Symbol(symbol))
            }
            None => {
                let shown = rest.chars().next().unwrap_or(' ').escape_debug().to_string();
                let message = format!("`{shown}` means nothing in Lua");
                self.error(self.at, &message, "outside a string", "put text in quotes, or remove it")
            }
        }
    }
}

/// A numeral as `strtod` of the C library reads it, which is what 5.1 uses; hexadecimal exponents included.
fn value(text: &str) -> Option<f64> {
    let Some(hex) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) else {
        let decimal = text.bytes().all(|byte| byte.is_ascii_digit() || b".eE+-".contains(&byte));
        return decimal.then(|| text.parse().ok()).flatten();
    };
    let (digits, power) = hex.split_once(['p', 'P']).unwrap_or((hex, "0"));
    let power: i32 = power.bytes().all(|byte| byte.is_ascii_digit()).then(|| power.parse().ok()).flatten()?;
    let digit = |sum: Option<f64>, digit: char| Some(sum? * 16.0 + f64::from(digit.to_digit(16)?));
    let value = digits.chars().fold(Some(0.0), digit)?;
    (!digits.is_empty()).then(|| value * 2f64.powi(power))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(source: &str) -> Vec<Token<'_>> {
        tokens(source).unwrap().into_iter().map(|placed| placed.token).collect()
    }

    #[test]
    fn numerals_are_read_as_c_reads_them() {
        for (text, expected) in [
            ("3", Some(3.0)),
            ("3.", Some(3.0)),
            (".5", Some(0.5)),
            ("1e3", Some(1000.0)),
            ("1E-2", Some(0.01)),
            ("0xff", Some(255.0)),
            ("0x1p4", Some(16.0)),
            ("3e", None),
            ("1..2", None),
            ("0x", None),
            ("0xg", None),
            ("12ab", None),
        ] {
            assert_eq!(value(text), expected, "{text}");
        }
    }

    #[test]
    fn strings_lose_their_quotes_and_escapes() {
        let text = |text: &str| vec![Token::Text(text.to_owned()), Token::End];
        assert_eq!(kinds(r#""a\n\65\x""#), text("a\nAx"));
        assert_eq!(kinds("[==[\na]]b]==]"), text("a]]b"));
        assert_eq!(kinds("'it''s'").len(), 3);
    }

    #[test]
    fn comments_are_not_tokens() {
        assert_eq!(kinds("--[[ a\n b ]] --[ c\n--[==[ d ]] ]==]"), [Token::End]);
    }
}
