//! `keys check`: is a contract sound?

use std::io::IsTerminal as _;
use std::path::Path;

use keyplane_schema::{Broken, Contract, Naming};
use serde_json::{Value, json};

use super::scripts::{self, Verdict};
use crate::contracts::{self, NoContract};
use crate::outcome::{Failure, Outcome};
use crate::output::{BAD, FAINT, NAME, Output};

pub(super) fn run(files: &[String], folder: Option<&Path>, output: &Output) -> Result<Outcome, Failure> {
    let files = if files.is_empty() { vec![contracts::named_or_here(None)?] } else { files.to_vec() };
    let mut outcome = Outcome::Fine;
    let mut reports = Vec::new();
    let mut contracts = Vec::new();
    let mut unread = None;
    for file in &files {
        match contracts::load(file) {
            Ok(contract) => {
                if output.json {
                    reports.push(sound_json(file, &contract));
                } else {
                    sound(file, &contract, output)?;
                }
                contracts.push(contract);
            }
            // The others are checked all the same; the failure comes last.
            Err(NoContract::Failure(failure)) => unread = Some(unread.unwrap_or(failure)),
            Err(NoContract::Broken(broken)) => {
                outcome = Outcome::Finding;
                if output.json {
                    reports.push(broken_json(&broken));
                } else {
                    self::broken(&broken, output)?;
                }
            }
        }
    }
    for verdict in scripts(&contracts, folder)? {
        match verdict {
            Verdict::Sound { file, .. } if output.json => {
                reports.push(json!({ "file": file, "sound": true, "findings": [] }))
            }
            Verdict::Sound { .. } if output.quiet => {}
            Verdict::Sound { file, doc } => {
                output.line(format!("{NAME}sound{NAME:#} {file} {FAINT}{doc}{FAINT:#}"))?
            }
            Verdict::Broken(broken) if output.json => {
                outcome = Outcome::Finding;
                reports.push(broken_json(&broken));
            }
            Verdict::Broken(broken) => {
                outcome = Outcome::Finding;
                self::broken(&broken, output)?;
            }
            Verdict::Missing { op, script } => {
                outcome = Outcome::Finding;
                if output.json {
                    reports.push(json!({ "file": script, "sound": false, "missing": true, "operation": op, "findings": [] }));
                } else {
                    output.line(format!("{BAD}missing{BAD:#} {script}: the operation `{op}` runs it"))?;
                }
            }
        }
    }
    let shared = shared(&contracts);
    if !shared.is_empty() {
        outcome = Outcome::Finding;
    }
    if output.json {
        let shared = shared
            .iter()
            .map(|(first, second, key)| json!({ "sound": false, "shared": [first, second], "key": key }));
        output.document(&json!(reports.into_iter().chain(shared).collect::<Vec<_>>()))?;
    } else {
        let line = |(first, second, key): &(String, String, String)| {
            output.line(format!("{BAD}shared{BAD:#} {first} and {second} both match `{key}`: on one server they would write into each other"))
        };
        shared.iter().try_for_each(line)?;
    }
    unread.map_or(Ok(outcome), Err)
}

fn scripts(contracts: &[Contract], folder: Option<&Path>) -> Result<Vec<Verdict>, Failure> {
    match (folder, contracts) {
        (None, _) | (Some(_), []) => Ok(Vec::new()),
        (Some(folder), [contract]) => scripts::check(contract, folder),
        (Some(_), _) => Err(Failure::new("--scripts is for one contract, and several are named")
            .help("check each contract with its own scripts")),
    }
}

/// Keys that two of the contracts would share on one server.
fn shared(contracts: &[Contract]) -> Vec<(String, String, String)> {
    let mut all = Vec::new();
    for (index, contract) in contracts.iter().enumerate() {
        for other in contracts[..index].iter().filter(|other| other.name != contract.name) {
            let found = keyplane_schema::shared_keys(
                (other, &Naming::plain(other)),
                (contract, &Naming::plain(contract)),
            );
            all.extend(found.into_iter().map(|(first, second, key)| {
                (format!("{}/{first}", other.name), format!("{}/{second}", contract.name), key)
            }));
        }
    }
    all
}

fn sound(file: &str, contract: &Contract, output: &Output) -> Result<(), Failure> {
    if output.quiet {
        return Ok(());
    }
    let helpers = contract.keys.iter().filter(|key| key.helper_of.is_some()).count();
    let counts = format!(
        "{} keys, {helpers} helper keys, {} operations, {} components",
        contract.keys.len() - helpers,
        contract.ops.len(),
        contract.components.len()
    );
    output.line(format!(
        "{NAME}sound{NAME:#} {file} {FAINT}{} {}: {counts}{FAINT:#}",
        contract.name, contract.version
    ))
}

fn broken(broken: &Broken, output: &Output) -> Result<(), Failure> {
    let colour = std::io::stdout().is_terminal();
    output.line(broken.render(colour))?;
    if !output.quiet {
        let count = broken.diagnostics.len();
        output.line(format!(
            "\n{BAD}not sound{BAD:#} {}: {count} {}",
            broken.file,
            if count == 1 { "finding" } else { "findings" }
        ))?;
    }
    Ok(())
}

fn sound_json(file: &str, contract: &Contract) -> Value {
    json!({ "file": file, "sound": true, "schema": contract.name, "version": contract.version.to_string(), "findings": [] })
}

fn broken_json(broken: &Broken) -> Value {
    let finding = |found: &keyplane_schema::Diagnostic| {
        let (line, column) = found.line_column(&broken.source);
        json!({ "code": found.code.word(), "line": line, "column": column, "message": found.message, "help": found.help })
    };
    json!({ "file": broken.file, "sound": false, "findings": broken.diagnostics.iter().map(finding).collect::<Vec<_>>() })
}
