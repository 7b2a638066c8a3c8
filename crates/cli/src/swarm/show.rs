//! What an operation answers, for people: a line for each value, a table for each list of records.

use serde_json::{Map, Value};

use crate::outcome::Failure;
use crate::output::{FAINT, KEY, NAME, Output, WARN};

/// Fields that say how many are what.
const COUNTS: [&str; 2] = ["agentsByStatus", "tasksByStatus"];

/// Fields that hold any JSON that somebody gave: a list there is shown as one.
const GIVEN: [&str; 2] = ["content", "result"];

pub(super) fn answer(told: &Value, output: &Output) -> Result<(), Failure> {
    if output.json {
        return output.document(told);
    }
    let empty = Map::new();
    let fields = told.as_object().unwrap_or(&empty);
    let (lists, values): (Vec<_>, Vec<_>) = fields.iter().partition(|(_, value)| is_list(value));
    let values: Vec<_> = values.into_iter().filter(|(_, value)| !value.is_null()).collect();
    let width = values.iter().map(|(name, _)| name.chars().count()).max().unwrap_or_default();
    for (name, value) in values {
        output.line(format!("{FAINT}{name:<width$}{FAINT:#}  {}", field(name, value)))?;
    }
    for (name, list) in lists {
        output.line("")?;
        output.line(format!("{NAME}{name}{NAME:#}"))?;
        table(list.as_array().map_or(&[], Vec::as_slice), output)?;
    }
    Ok(())
}

/// Records, and so a table of its own.
fn is_list(value: &Value) -> bool {
    value.as_array().is_some_and(|items| !items.is_empty() && items.iter().all(Value::is_object))
}

fn table(records: &[Value], output: &Output) -> Result<(), Failure> {
    let mut heads: Vec<&str> = Vec::new();
    for name in records.iter().filter_map(Value::as_object).flat_map(Map::keys) {
        if !heads.contains(&name.as_str()) {
            heads.push(name);
        }
    }
    let row = |record: &Value| heads.iter().map(|head| field(head, &record[*head])).collect();
    let rows: Vec<Vec<String>> = records.iter().map(row).collect();
    let shown: Vec<String> = heads.iter().map(|head| head.to_uppercase()).collect();
    output.table(&shown.iter().map(String::as_str).collect::<Vec<_>>(), &rows)
}

/// Counts are told in words, and what somebody has put there as it is.
fn field(name: &str, value: &Value) -> String {
    match value {
        Value::Object(counts) if COUNTS.contains(&name) => {
            counts.iter().map(|(name, count)| format!("{count} {name}")).collect::<Vec<_>>().join(", ")
        }
        Value::Array(_) if GIVEN.contains(&name) => value.to_string(),
        value => text(value),
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) if !items.is_empty() && items.iter().all(Value::is_string) => {
            items.iter().map(text).collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}

/// Events as they come, a line for each.
pub(super) fn events(told: &Value, output: &Output) -> Result<(), Failure> {
    for event in told.as_array().into_iter().flatten() {
        if output.json {
            output.record(event)?;
            continue;
        }
        let of = |name: &str| text(&event[name]);
        if event["gap"].is_string() {
            output.line(format!("{WARN}gap{WARN:#}  {} {}", of("gap"), of("events")))?;
            continue;
        }
        let to = of("to");
        output.line(format!(
            "{FAINT}{:>8}{FAINT:#}  {KEY}{}{KEY:#}  {} {NAME}{to}{NAME:#} {FAINT}by {}{FAINT:#}",
            of("id"),
            of("subject"),
            of("kind"),
            of("by"),
        ))?;
    }
    Ok(())
}
