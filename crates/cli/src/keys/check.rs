//! `keys check`: is a contract sound?

use std::io::IsTerminal as _;

use keyplane_schema::{Broken, Contract};
use serde_json::{Value, json};

use crate::contracts::{self, NoContract};
use crate::outcome::{Failure, Outcome};
use crate::output::{BAD, FAINT, NAME, Output};

pub(super) fn run(files: &[String], output: &Output) -> Result<Outcome, Failure> {
    let mut outcome = Outcome::Fine;
    let mut reports = Vec::new();
    for file in files {
        match contracts::load(file) {
            Ok(contract) if output.json => reports.push(sound_json(file, &contract)),
            Ok(contract) => sound(file, &contract, output)?,
            Err(NoContract::Failure(failure)) => return Err(failure),
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
    if output.json {
        output.document(&json!(reports))?;
    }
    Ok(outcome)
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
