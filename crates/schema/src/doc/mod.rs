//! A contract as a page for people: what is there, for how long, who touches it.

mod key;
mod tree;

use std::fmt::Write as _;

use crate::acl;
use crate::model::{Contract, Field, FieldMax, Layout, Shape};
use crate::naming::Naming;
use crate::units::show_size;

/// The page, in Markdown.
#[must_use]
pub fn markdown(contract: &Contract) -> String {
    let mut page = Page::default();
    head(&mut page, contract);
    tree::section(&mut page, contract);
    examples(&mut page, contract);
    overview(&mut page, contract);
    components(&mut page, contract);
    params(&mut page, contract);
    page.line("## Every key");
    page.gap();
    for key in contract.keys.iter().filter(|key| key.helper_of.is_none()) {
        key::section(&mut page, contract, key);
    }
    operations(&mut page, contract);
    values(&mut page, contract);
    page.text
}

/// Text in the making.
#[derive(Default)]
struct Page {
    text: String,
}

impl Page {
    fn line(&mut self, line: impl AsRef<str>) {
        self.text.push_str(line.as_ref().trim_end());
        self.text.push('\n');
    }

    fn gap(&mut self) {
        if !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    /// A table, without columns that are empty in every row.
    fn table(&mut self, heads: &[&str], rows: &[Vec<String>]) {
        let used: Vec<usize> =
            (0..heads.len()).filter(|&column| rows.iter().any(|row| !row[column].is_empty())).collect();
        let line = |cells: Vec<&str>| format!("| {} |", cells.join(" | "));
        self.line(line(used.iter().map(|&column| heads[column]).collect()));
        self.line(line(used.iter().map(|_| "---").collect()));
        for row in rows {
            self.line(line(used.iter().map(|&column| row[column].as_str()).collect()));
        }
        self.gap();
    }
}

fn head(page: &mut Page, contract: &Contract) {
    let helpers = contract.keys.iter().filter(|key| key.helper_of.is_some()).count();
    let own = contract.keys.len() - helpers;
    page.line(format!("# The {} keyspace", contract.name));
    page.gap();
    page.line(cell(&contract.doc));
    page.gap();
    let mut facts = format!("Contract version {}: {own} keys", contract.version);
    if helpers > 0 {
        let _ = write!(facts, " and {helpers} helper keys");
    }
    let _ = write!(facts, ", {} operations, {} components.", contract.ops.len(), contract.components.len());
    if !contract.namespace.is_empty() {
        let _ = write!(
            facts,
            " Keys live under the namespace `{}`, which a deployment may change.",
            contract.namespace
        );
    }
    page.line(facts);
    page.line("Generated from `keys.toml`; do not edit.");
    page.gap();
}

/// One concrete key of every family that gives an example, so that the shape of the whole can be seen.
fn examples(page: &mut Page, contract: &Contract) {
    let examples: Vec<(&str, &str)> = contract
        .keys
        .iter()
        .filter_map(|key| Some((key.examples.first()?.as_str(), key.name.as_str())))
        .collect();
    if examples.is_empty() {
        return;
    }
    page.line("## What it looks like");
    page.gap();
    page.line("```text");
    examples.iter().for_each(|(example, _)| page.line(example));
    page.line("```");
    page.gap();
}

fn overview(page: &mut Page, contract: &Contract) {
    let naming = Naming::plain(contract);
    let row = |key: &crate::model::Key| {
        let name = link(contract, &key.name);
        vec![name, code(naming.pattern(key).as_str()), key.type_words(), key.ttl.policy.to_string()]
    };
    let rows: Vec<Vec<String>> =
        contract.keys.iter().filter(|key| key.helper_of.is_none()).map(row).collect();
    page.line("## How long things live");
    page.gap();
    page.table(&["key", "pattern", "type", "time to live"], &rows);
    let limits = &contract.limits;
    let parts: Vec<String> = [
        limits.bytes.map(|bytes| format!("{} per key", show_size(bytes))),
        limits.fields.map(|fields| format!("{fields} fields per hash")),
        limits.members.map(|members| format!("{members} members per collection")),
    ]
    .into_iter()
    .flatten()
    .collect();
    if !parts.is_empty() {
        page.line(format!("Nothing exceeds {}.", parts.join(", ")));
        page.gap();
    }
}

fn components(page: &mut Page, contract: &Contract) {
    if contract.components.is_empty() {
        return;
    }
    page.line("## Who touches what");
    page.gap();
    let row = |component: &crate::model::Component| {
        let grants = acl::grants(contract, &component.name);
        let own = |name: &&String| contract.key(name).is_some_and(|key| key.helper_of.is_none());
        let writes: Vec<&str> = grants
            .iter()
            .filter(|(name, verbs)| own(name) && verbs.iter().any(|verb| verb.writes()))
            .map(|(name, _)| name.as_str())
            .collect();
        let reads: Vec<&str> = grants
            .iter()
            .filter(|(name, verbs)| own(name) && !verbs.iter().any(|verb| verb.writes()))
            .map(|(name, _)| name.as_str())
            .collect();
        let all = |names: Vec<&str>| if names.is_empty() { "nothing".to_owned() } else { names.join(", ") };
        vec![format!("**{}**", component.name), cell(&component.doc), all(writes), all(reads)]
    };
    let rows: Vec<Vec<String>> = contract.components.iter().map(row).collect();
    page.table(&["component", "does", "writes", "only reads"], &rows);
}

fn params(page: &mut Page, contract: &Contract) {
    if contract.params.is_empty() {
        return;
    }
    page.line("## Placeholders");
    page.gap();
    let row = |param: &crate::model::Param| {
        let example = param.example.as_deref().map(code).unwrap_or_default();
        vec![code(&format!("<{}>", param.name)), cell(&param.describe()), example, cell(&param.doc)]
    };
    let rows: Vec<Vec<String>> = contract.params.iter().map(row).collect();
    page.table(&["placeholder", "takes", "example", ""], &rows);
}

fn operations(page: &mut Page, contract: &Contract) {
    if contract.ops.is_empty() {
        return;
    }
    page.line("## Every operation");
    page.gap();
    page.line("Each is one atomic step, unless it says otherwise.");
    page.gap();
    let row = |op: &crate::model::Op| {
        let by: Vec<&str> = op.by.iter().map(|(by, _)| by.as_str()).collect();
        let touch = |key: &crate::model::OpKey| {
            format!(
                "{} {}",
                key.verbs.iter().map(|verb| verb.word()).collect::<Vec<_>>().join(" and "),
                link(contract, &key.key)
            )
        };
        let keys: Vec<String> = op.keys.iter().map(touch).collect();
        let how = match (&op.script, &op.kit, op.atomic) {
            (Some(script), _, _) => code(script),
            (None, Some((kit, _)), _) => format!("kit {kit}"),
            (None, None, true) => "one command".to_owned(),
            (None, None, false) => "not atomic".to_owned(),
        };
        vec![format!("**{}**", op.name), cell(&op.doc), by.join(", "), keys.join("; "), how]
    };
    let rows: Vec<Vec<String>> = contract.ops.iter().map(row).collect();
    page.table(&["operation", "does", "by", "keys", "how"], &rows);
}

fn values(page: &mut Page, contract: &Contract) {
    if contract.values.is_empty() {
        return;
    }
    page.line("## Every layout");
    page.gap();
    for layout in &contract.values {
        self::layout(page, layout);
    }
}

fn layout(page: &mut Page, layout: &Layout) {
    let encoding = match layout.encoding {
        crate::model::Encoding::Json => "JSON",
        crate::model::Encoding::Cbor => "CBOR",
    };
    page.line(format!("### {}", layout.name));
    page.gap();
    let shape = match (layout.shape, &layout.of) {
        (Shape::Object, _) => "object".to_owned(),
        (Shape::Array, _) => "array, by position".to_owned(),
        (Shape::List, Some(of)) => format!("list of {of}"),
        (Shape::Map, Some(of)) => format!("map of {of}"),
        (Shape::List | Shape::Map, None) => "collection".to_owned(),
    };
    page.line(cell(&format!("{encoding} {shape}. {}", layout.doc)));
    page.gap();
    fields(page, &layout.fields);
}

/// The fields of a hash, stream or layout.
fn fields(page: &mut Page, fields: &[Field]) {
    if fields.is_empty() {
        return;
    }
    let row = |field: &Field| {
        let mut notes = vec![sentence(&field.doc)];
        if let Some(unit) = &field.unit {
            notes.push(format!("In {unit}."));
        }
        match field.max {
            Some(FieldMax::Chars(chars)) => notes.push(format!("At most {chars} characters.")),
            Some(FieldMax::Bytes(bytes)) => notes.push(format!("At most {}.", show_size(bytes))),
            None => {}
        }
        if !field.writes.is_empty() {
            notes.push(format!("Written by {}.", field.writes.join(", ")));
        }
        if let Some(default) = &field.default {
            notes.push(format!("Absent means {}.", code(default)));
        }
        notes.extend(key::life_words(&field.life));
        notes.retain(|note| !note.is_empty());
        let kind = if field.nullable { format!("{}, or null", field.kind) } else { field.kind.to_string() };
        let required = if field.required { "yes" } else { "" };
        vec![
            code(field.name.as_str()),
            cell(&kind),
            required.to_owned(),
            field.example.as_deref().map(code).unwrap_or_default(),
            cell(&notes.join(" ")),
        ]
    };
    let rows: Vec<Vec<String>> = fields.iter().map(row).collect();
    page.table(&["field", "holds", "always there", "example", ""], &rows);
    transitions(page, fields);
}

fn transitions(page: &mut Page, fields: &[Field]) {
    for field in fields {
        if let crate::model::ValueType::OneOf { moves, words, .. } = &field.kind
            && !moves.is_empty()
        {
            let mut steps = Vec::new();
            for word in words {
                match moves.get(word) {
                    Some(to) => steps.push(format!("{word} → {}", to.join(" or "))),
                    None => steps.push(format!("{word} is final")),
                }
            }
            page.line(format!("`{}` moves: {}.", field.name, steps.join("; ")));
            page.gap();
        }
    }
}

/// A key's name, linked to its section; helper keys have none.
fn link(contract: &Contract, name: &str) -> String {
    match contract.key(name) {
        Some(key) if key.helper_of.is_none() => format!("[{name}](#{name})"),
        _ => name.to_owned(),
    }
}

/// Text in backticks.
fn code(text: &str) -> String {
    let text = text.replace('|', "\\|");
    if text.contains('`') { format!("`` {text} ``") } else { format!("`{text}`") }
}

/// Text inside a table cell. What stands in backticks is literal already.
fn cell(text: &str) -> String {
    let text = text.replace('\n', " ").replace('|', "\\|");
    let part = |(index, part): (usize, &str)| {
        if index % 2 == 0 { part.replace('<', "&lt;") } else { format!("`{part}`") }
    };
    text.split('`').enumerate().map(part).collect()
}

fn sentence(text: &str) -> String {
    let text = text.trim();
    if text.is_empty() || text.ends_with(['.', '!', '?']) { text.to_owned() } else { format!("{text}.") }
}
