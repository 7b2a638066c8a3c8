//! Whatever is named exists, once.

use std::collections::HashMap;

use crate::diagnostic::{Code, Diagnostic, Span};
use crate::matcher::MAX_PARAMS;
use crate::model::{Contract, Field, Key, ParamKind, Policy, ValueType};
use crate::pattern::Pattern;
use crate::read::closest;

/// The label on the name itself, and on what holds it.
const NOT_DECLARED: &str = "not declared";
const NAMED_HERE: &str = "named here";

pub(super) fn check(contract: &Contract) -> Vec<Diagnostic> {
    let mut names = Names { contract, found: Vec::new() };
    names.keys();
    names.ops();
    for layout in &contract.values {
        names.fields(&layout.fields);
        if let Some(of) = &layout.of {
            names.value_type(of, layout.at);
        }
    }
    names.found
}

struct Names<'c> {
    contract: &'c Contract,
    found: Vec<Diagnostic>,
}

impl Names<'_> {
    fn keys(&mut self) {
        let contract = self.contract;
        let mut seen: HashMap<&str, Span> = HashMap::new();
        for key in &contract.keys {
            if let Some(first) = seen.insert(&key.name, key.at.name) {
                let message = format!("a helper key is called `{}` like another key", key.name);
                let (own, host) =
                    if key.helper_of.is_some() { (first, key.at.name) } else { (key.at.name, first) };
                let host_label = "its kit primitive brings the helper key";
                self.found.push(
                    Diagnostic::error(Code::BadName, message, own, "this name is taken")
                        .also(host, host_label)
                        .help("rename the key"),
                );
            }
            if key.helper_of.is_some() {
                continue;
            }
            self.pattern(&key.pattern, key.at.pattern);
            self.no_raw_bytes(&key.pattern, key.at.pattern);
            self.fields(&key.fields);
            for kind in key.element.iter().chain(&key.score) {
                self.value_type(kind, key.at.name);
            }
            for owner in &key.owners {
                self.component(&owner.component, owner.at, NOT_DECLARED);
            }
            self.references(key, &[&key.member_of, &key.index_of, &key.fields_of], key.at.refers);
            self.references(key, &[&key.life.alias_of, &key.life.replaced_by], key.at.life);
            self.policy(&key.ttl.policy, key.at.ttl);
        }
    }

    /// Names of other keys, of which one place is known: it is told only where it cannot be the wrong one.
    fn references(&mut self, key: &Key, names: &[&Option<String>], at: Span) {
        let names: Vec<&String> = names.iter().copied().flatten().collect();
        let (at, label) = if names.len() == 1 { (at, NOT_DECLARED) } else { (key.at.name, NAMED_HERE) };
        for name in names {
            self.key(name, at, label);
        }
    }

    fn ops(&mut self) {
        for op in &self.contract.ops {
            for (component, at) in &op.by {
                self.component(component, *at, NOT_DECLARED);
            }
            for key in &op.keys {
                self.key(&key.key, key.at, NOT_DECLARED);
            }
            if let Some((event, at)) = &op.event {
                self.event(event, *at, NOT_DECLARED);
            }
        }
    }

    fn pattern(&mut self, pattern: &Pattern, at: Span) {
        let contract = self.contract;
        let mut with_colons = Vec::new();
        for name in pattern.params() {
            match contract.param(name) {
                Some(param) if param.colons => with_colons.push(name),
                Some(_) => {}
                None => {
                    let names: Vec<&str> = contract.params.iter().map(|param| param.name.as_str()).collect();
                    let help = suggestion(name, &names)
                        .unwrap_or_else(|| format!("declare it: [param] {name} = {{ text = true }}"));
                    self.found.push(
                        Diagnostic::error(
                            Code::UnknownName,
                            format!("placeholder <{name}> is not declared"),
                            within(pattern, name, at),
                            NOT_DECLARED,
                        )
                        .help(help),
                    );
                }
            }
        }
        if let [first, second, ..] = with_colons.as_slice() {
            let message = format!(
                "<{first}> and <{second}> may both hold `:`, so a key could be split in more than one way"
            );
            let found =
                Diagnostic::error(Code::BadPattern, message, within(pattern, second, at), "may hold `:`");
            self.found.push(
                found
                    .also(within(pattern, first, at), "may hold `:` too")
                    .help("at most one placeholder with `colons = true` per pattern"),
            );
        }
        if pattern.params().count() > MAX_PARAMS {
            let message = format!("a pattern holds at most {MAX_PARAMS} placeholders");
            self.found.push(Diagnostic::error(Code::BadPattern, message, at, "too many"));
        }
    }

    fn no_raw_bytes(&mut self, pattern: &Pattern, at: Span) {
        let raw = |name: &&str| {
            self.contract.param(name).is_some_and(|param| matches!(param.kind, ParamKind::Bytes(_)))
        };
        if let Some(name) = pattern.params().find(raw) {
            let message = format!("<{name}> is raw bytes, which cannot stand in a key");
            self.found.push(
                Diagnostic::error(Code::BadPattern, message, within(pattern, name, at), "raw bytes")
                    .help("use `hex`; raw bytes are for names of hash fields"),
            );
        }
    }

    fn fields(&mut self, fields: &[Field]) {
        for field in fields {
            self.pattern(&field.name, field.at);
            self.value_type(&field.kind, field.at);
            for component in &field.writes {
                self.component(component, field.at, NAMED_HERE);
            }
            for name in field.life.alias_of.iter().chain(&field.life.replaced_by) {
                let names: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
                if !names.contains(&name.as_str()) {
                    self.unknown("field", name, &names, field.at, NAMED_HERE);
                }
            }
        }
    }

    fn value_type(&mut self, kind: &ValueType, at: Span) {
        match kind {
            ValueType::Param(name) if self.contract.param(name).is_none() => {
                let names: Vec<&str> = self.contract.params.iter().map(|param| param.name.as_str()).collect();
                self.unknown("placeholder", name, &names, at, NAMED_HERE);
            }
            ValueType::Template(patterns) => patterns.iter().for_each(|pattern| self.pattern(pattern, at)),
            ValueType::Json(Some(layout)) | ValueType::Cbor(Some(layout))
                if self.contract.value(layout).is_none() =>
            {
                let names: Vec<&str> = self.contract.values.iter().map(|value| value.name.as_str()).collect();
                self.unknown("layout", layout, &names, at, NAMED_HERE);
            }
            ValueType::List(inner) | ValueType::Map(inner) => self.value_type(inner, at),
            ValueType::AnyOf(kinds) => kinds.iter().for_each(|kind| self.value_type(kind, at)),
            _ => {}
        }
    }

    fn policy(&mut self, policy: &Policy, at: Span) {
        match policy {
            Policy::Linked { to, .. } if self.contract.key(to).is_none() => {
                let names: Vec<&str> = self.contract.keys.iter().map(|key| key.name.as_str()).collect();
                let help =
                    suggestion(to, &names).unwrap_or_else(|| "`to` names a key of this contract".to_owned());
                self.found.push(
                    Diagnostic::error(
                        Code::TtlLink,
                        format!("the TTL is linked to `{to}`, which does not exist"),
                        at,
                        "links to nothing",
                    )
                    .help(help),
                );
            }
            Policy::After { event, .. } => self.event(event, at, NAMED_HERE),
            Policy::Pruned { by: Some(component), .. } => self.component(component, at, NAMED_HERE),
            _ => {}
        }
    }

    fn component(&mut self, name: &str, at: Span, label: &str) {
        if self.contract.component(name).is_none() {
            let names: Vec<&str> =
                self.contract.components.iter().map(|component| component.name.as_str()).collect();
            self.unknown("component", name, &names, at, label);
        }
    }

    fn key(&mut self, name: &str, at: Span, label: &str) {
        if self.contract.key(name).is_none() {
            let names: Vec<&str> = self.contract.keys.iter().map(|key| key.name.as_str()).collect();
            self.unknown("key", name, &names, at, label);
        }
    }

    fn event(&mut self, name: &str, at: Span, label: &str) {
        if !self.contract.events.iter().any(|event| event.name == name) {
            let names: Vec<&str> = self.contract.events.iter().map(|event| event.name.as_str()).collect();
            self.unknown("event", name, &names, at, label);
        }
    }

    fn unknown(&mut self, what: &str, name: &str, known: &[&str], at: Span, label: &str) {
        let help = suggestion(name, known).unwrap_or_else(|| match known {
            [] => format!("this contract declares no {what}: put it into [{}]", section(what)),
            _ => format!("known: {}", known.join(", ")),
        });
        self.found.push(
            Diagnostic::error(Code::UnknownName, format!("there is no {what} `{name}`"), at, label)
                .help(help),
        );
    }
}

/// Where a thing is declared.
fn section(what: &str) -> &str {
    match what {
        "placeholder" => "param",
        "layout" => "value",
        other => other,
    }
}

/// The place of a placeholder inside its pattern, where the pattern is written plainly; else the whole pattern.
fn within(pattern: &Pattern, param: &str, at: Span) -> Span {
    let text = pattern.as_str();
    let quotes = match (at.end - at.start).checked_sub(text.len()) {
        Some(0) => 0,
        Some(2) => 1,
        _ => return at,
    };
    let part = format!("<{param}>");
    text.find(&part)
        .map_or(at, |offset| Span::new(at.start + quotes + offset, at.start + quotes + offset + part.len()))
}

fn suggestion(name: &str, known: &[&str]) -> Option<String> {
    closest(name, known).map(|near| format!("did you mean `{near}`?"))
}
