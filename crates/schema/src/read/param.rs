//! Placeholders: their words, and the automaton that checks values.

use std::sync::Arc;

use super::Reader;
use super::words::PARAM_KINDS;
use crate::dfa::Dfa;
use crate::diagnostic::{Code, Span};
use crate::model::{Param, ParamKind};
use crate::node::{Kind, Name, Node, Table};
use crate::units::IntRange;

/// Any text that can stand between two `:`.
const TEXT: &str = r#"[^:{}"'`\\\x00-\x20\x7f]+"#;
/// The same, with `:`.
const TEXT_WITH_COLONS: &str = r#"[^{}"'`\\\x00-\x20\x7f]+"#;

/// What no value may hold: a brace would move the key to another slot, the others would break command lines and rules.
fn is_forbidden(byte: u8) -> bool {
    byte <= b' ' || byte == 0x7f || b"{}\"'`\\".contains(&byte)
}

impl Reader<'_> {
    pub(super) fn param(&mut self, name: &Name, node: &Node) -> Option<Param> {
        let table = node.table()?;
        let kind = self.param_kind(name, table)?;
        let colons = table.flag("colons");
        let except: Vec<Name> = table.get("except").map(Node::texts).unwrap_or_default();
        let check = self.check(name, table, &kind, colons, &except)?;
        let read_check = match table.get("legacy") {
            None => check.clone(),
            Some(legacy) => {
                let shape = self.shape_check(legacy, colons)?;
                let words =
                    self.automaton(legacy.at, Dfa::words(except.iter().map(|word| word.text.as_str())))?;
                let shape = self.automaton(legacy.at, shape.minus(&words))?;
                self.automaton(legacy.at, shape.or(&check))?
            }
        };
        let param = Param {
            name: name.text.clone(),
            kind,
            colons,
            except: except.into_iter().map(|word| word.text).collect(),
            legacy: table.text("legacy").map(str::to_owned),
            doc: table.text("doc").unwrap_or_default().to_owned(),
            example: table.text("example").map(str::to_owned),
            check: Arc::new(check),
            read_check: Arc::new(read_check),
        };
        if let Some(example) = table.get("example")
            && !param.accepts(example.text().unwrap_or_default())
        {
            let message = format!("the example of <{}> does not pass its own check", param.name);
            self.error(Code::Example, message, example.at, "refused by the check");
        }
        Some(param)
    }

    fn param_kind(&mut self, name: &Name, table: &Table) -> Option<ParamKind> {
        let given: Vec<&str> = PARAM_KINDS.iter().copied().filter(|kind| table.get(kind).is_some()).collect();
        let [kind] = given.as_slice() else {
            let (code, message, label) = match given.as_slice() {
                [] => (Code::Missing, format!("placeholder <{}> has no type", name.text), "untyped"),
                _ => (
                    Code::BadValue,
                    format!("placeholder <{}> has several types: {}", name.text, given.join(", ")),
                    "one too many",
                ),
            };
            let help =
                format!("say exactly one of: {}; `text = true` takes any text", PARAM_KINDS.join(", "));
            self.error(code, message, name.at, label).help = Some(help);
            return None;
        };
        let node = table.get(kind)?;
        match (*kind, &node.kind) {
            ("text", _) => Some(ParamKind::Text),
            ("like", Kind::Text(regex)) => Some(ParamKind::Like(regex.clone())),
            ("one_of", _) => Some(ParamKind::OneOf {
                words: node.texts().into_iter().map(|word| word.text).collect(),
                open: table.flag("open"),
            }),
            ("int", Kind::Text(range)) => match IntRange::parse(range) {
                Ok(range)
                    if range.low.is_some_and(|low| low < 0) || range.high.is_some_and(|high| high < 0) =>
                {
                    self.error(Code::BadValue, "a number in a key has no sign", node.at, "starts below 0");
                    None
                }
                Ok(range) => Some(ParamKind::Int(range)),
                Err(reason) => {
                    self.error(Code::BadValue, reason, node.at, "here");
                    None
                }
            },
            ("hex", Kind::Int(bytes @ 1..=256)) => Some(ParamKind::Hex(*bytes as u32)),
            ("bytes", Kind::Int(bytes @ 1..=256)) => Some(ParamKind::Bytes(*bytes as u32)),
            ("hex" | "bytes", Kind::Int(_)) => {
                self.error(Code::BadValue, format!("`{kind}` counts bytes, from 1 to 256"), node.at, "here");
                None
            }
            _ => None,
        }
    }

    fn check(
        &mut self,
        name: &Name,
        table: &Table,
        kind: &ParamKind,
        colons: bool,
        except: &[Name],
    ) -> Option<Dfa> {
        let at = PARAM_KINDS.iter().find_map(|kind| table.get(kind)).map_or(name.at, |node| node.at);
        let text = if colons { TEXT_WITH_COLONS } else { TEXT };
        let check = match kind {
            ParamKind::Text => self.automaton(at, Dfa::regex(text))?,
            ParamKind::OneOf { words, open: true } => {
                let check = self.automaton(at, Dfa::regex(text))?;
                if let Some(word) = words.iter().find(|word| !check.accepts(word.as_bytes())) {
                    self.error(
                        Code::LooseCheck,
                        format!("`{word}` can never be a <{}>", name.text),
                        at,
                        "holds what no key may hold",
                    );
                    return None;
                }
                check
            }
            ParamKind::Like(_) => self.shape_check(table.get("like")?, colons)?,
            ParamKind::OneOf { words, open: false } => {
                let check = self.automaton(at, Dfa::words(words.iter().map(String::as_str)))?;
                self.safe(at, &check, colons)?;
                check
            }
            ParamKind::Int(range) => {
                let end = |end: Option<i64>, open: i64| end.unwrap_or(open).max(0) as u64;
                self.automaton(at, Dfa::numbers(end(range.low, 0), end(range.high, i64::MAX)))?
            }
            ParamKind::Bytes(bytes) => {
                self.automaton(at, Dfa::regex(&format!("[\\x00-\\xff]{{{bytes}}}")))?
            }
            ParamKind::Hex(bytes) => self.automaton(at, Dfa::regex(&format!("[0-9a-f]{{{}}}", bytes * 2)))?,
        };
        if except.is_empty() {
            return Some(check);
        }
        let words = self.automaton(at, Dfa::words(except.iter().map(|word| word.text.as_str())))?;
        let rest = self.automaton(at, check.minus(&words))?;
        if rest.shortest().is_none() {
            let at = table.get("except").map_or(at, |node| node.at);
            self.error(
                Code::LooseCheck,
                format!("`except` leaves no value for <{}>", name.text),
                at,
                "takes all of them away",
            );
            return None;
        }
        Some(rest)
    }

    /// The automaton of a regular expression that is safe inside a key.
    fn shape_check(&mut self, node: &Node, colons: bool) -> Option<Dfa> {
        let regex = node.text()?;
        let check = self.automaton(node.at, Dfa::regex(regex))?;
        self.safe(node.at, &check, colons)?;
        Some(check)
    }

    fn safe(&mut self, at: Span, check: &Dfa, colons: bool) -> Option<()> {
        if let Some(value) =
            check.shortest_with(|byte| b"{}".contains(&byte)).or_else(|| check.shortest_with(is_forbidden))
        {
            let message = "the check lets through braces, quotes, white space or control characters";
            let label = format!("accepts {:?}", String::from_utf8_lossy(&value));
            let help = "a brace would move the key to another slot, a space would break a command line; use a class such as [A-Za-z0-9_.-]";
            self.error(Code::LooseCheck, message, at, label).help = Some(help.to_owned());
            return None;
        }
        if !colons && let Some(value) = check.shortest_with(|byte| byte == b':') {
            let label = format!("accepts {:?}", String::from_utf8_lossy(&value));
            self.error(Code::LooseCheck, "the check lets `:` through", at, label).help =
                Some("exclude it, or say `colons = true` if values really hold `:`".to_owned());
            return None;
        }
        match check.shortest() {
            Some(value) if value.is_empty() => {
                self.error(
                    Code::LooseCheck,
                    "the check accepts the empty text",
                    at,
                    "would make an empty segment",
                );
                None
            }
            None => {
                self.error(Code::LooseCheck, "the check accepts nothing", at, "no value can pass");
                None
            }
            Some(_) => Some(()),
        }
    }

    fn automaton(&mut self, at: Span, built: Result<Dfa, String>) -> Option<Dfa> {
        match built {
            Ok(dfa) => Some(dfa),
            Err(reason) => {
                self.error(Code::BadValue, format!("this check cannot be used: {reason}"), at, "here");
                None
            }
        }
    }
}
