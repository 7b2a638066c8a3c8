//! `keyplane config …`: the settings, where they come from, and what there is to set.

use std::io::IsTerminal as _;

use keyplane_config::{Row, Section, Source};
use serde_json::{Value, json};

use crate::args::{Config, Given};
use crate::outcome::{Failure, Outcome};
use crate::output::{FAINT, KEY, Output, STRONG, terminal_width};
use crate::settings;

pub(crate) fn run(command: &Config, given: &Given, output: &Output) -> Result<Outcome, Failure> {
    match command {
        Config::Show { changed } => show(*changed, given, output)?,
        Config::Doc => output.text(&keyplane_config::markdown())?,
    }
    Ok(Outcome::Fine)
}

fn show(changed: bool, given: &Given, output: &Output) -> Result<(), Failure> {
    let config =
        settings::load(given).map_err(|error| settings::all_of(&error, std::io::stderr().is_terminal()))?;
    let mut rows = config.rows();
    rows.retain(|row| !changed || row.source != Source::Default);
    if output.json {
        return output.document(&json!(rows.iter().map(json).collect::<Vec<_>>()));
    }
    if rows.is_empty() {
        output.remark("nothing is set: every setting has its default");
    }
    if terminal_width().is_some() { groups(&rows, output) } else { columns(&rows, output) }
}

/// For people: one block per section, defaults faint, so that the eye finds what was set.
fn groups(rows: &[Row], output: &Output) -> Result<(), Failure> {
    let widest = |cell: fn(&Row) -> usize| rows.iter().map(cell).max().unwrap_or(0);
    // A long url pushes its own source aside, not those of all.
    let (name, value) = (widest(|row| row.name.len()), widest(|row| row.value.chars().count()).min(32));
    let mut before = "";
    for section in Section::ALL {
        let own: Vec<&Row> = rows.iter().filter(|row| row.section == section).collect();
        if own.is_empty() {
            continue;
        }
        output.line(format!("{before}{STRONG}{section}{STRONG:#}"))?;
        before = "\n";
        for row in own {
            let cells = format!("{:value$}  {}", row.value, row.source);
            output.line(match row.source {
                Source::Default => format!("  {:name$}  {FAINT}{cells}{FAINT:#}", row.name),
                _ => format!("  {KEY}{:name$}{KEY:#}  {cells}", row.name),
            })?;
        }
    }
    Ok(())
}

/// For pipes: name, value and source with tabs between.
fn columns(rows: &[Row], output: &Output) -> Result<(), Failure> {
    rows.iter().try_for_each(|row| {
        output.line(format!("{}.{}\t{}\t{}", row.section.word(), row.name, row.value, row.source))
    })
}

fn json(row: &Row) -> Value {
    let (kind, line) = match &row.source {
        Source::File { line, .. } => ("file", Some(*line)),
        Source::Variable(_) => ("environment", None),
        Source::Flag(_) => ("flag", None),
        _ => ("default", None),
    };
    let name = match &row.source {
        Source::File { name, .. } | Source::Variable(name) | Source::Flag(name) => Some(name),
        _ => None,
    };
    json!({
        "section": row.section.word(),
        "setting": row.name,
        "value": row.value,
        "source": { "kind": kind, "name": name, "line": line },
        "doc": row.doc,
    })
}
