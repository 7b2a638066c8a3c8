//! A report on the screen, and for machines.

use anstyle::Style;
use serde_json::{Value, json};

use super::Report;
use super::check::{Check, State};
use super::evidence::Evidence;
use crate::outcome::Failure;
use crate::output::{BAD, FAINT, KEY, NAME, Output, STRONG, WARN, wrapped};
use crate::words::count;

/// Columns: two blanks, the state, the name. The longest words are `accepted` and `persistence`.
const STATE: usize = 8;
const CHECK: usize = 11;
const INDENT: usize = 2 + STATE + 2 + CHECK + 2;

pub(super) fn text(report: &Report, output: &Output) -> Result<(), Failure> {
    for (evidence, checks) in &report.servers {
        let shown: Vec<&Check> =
            checks.iter().filter(|check| !output.quiet || check.state != State::Good).collect();
        if output.quiet && shown.is_empty() {
            continue;
        }
        output.line(heading(evidence))?;
        shown.into_iter().try_for_each(|check| line(check, output))?;
        if !output.quiet {
            output.line("")?;
        }
    }
    if output.quiet { Ok(()) } else { output.line(verdict(report)) }
}

fn heading(evidence: &Evidence) -> String {
    let about = match &evidence.facts {
        Ok(facts) => {
            let keys = count(facts.keys, "key");
            format!("{} {}, {keys}", facts.product, facts.version)
        }
        Err(_) => "not reached".to_owned(),
    };
    format!("{KEY}{}{KEY:#}  {FAINT}{about}{FAINT:#}", evidence.address)
}

fn line(check: &Check, output: &Output) -> Result<(), Failure> {
    let style = style(check.state);
    output.line(format!(
        "  {style}{:STATE$}{style:#}  {:CHECK$}  {}",
        check.state.word(),
        check.name,
        wrapped(&check.fact, INDENT)
    ))?;
    match &check.advice {
        Some(advice) => {
            output.line(format!("{:INDENT$}{STRONG}→{STRONG:#} {}", "", wrapped(advice, INDENT + 2)))
        }
        None => Ok(()),
    }
}

fn style(state: State) -> Style {
    match state {
        State::Good => NAME,
        State::Accepted | State::Unknown => FAINT,
        State::Warning => WARN,
        State::Bad => BAD,
    }
}

fn verdict(report: &Report) -> String {
    let url = &report.url;
    if report.interrupted {
        return format!("{WARN}interrupted{WARN:#}: this is what {url} has said so far.");
    }
    let said = |state: State, one: &str| {
        Some(report.count(state)).filter(|some| *some > 0).map(|some| count(some as u64, one))
    };
    let found = [
        said(State::Bad, "bad check"),
        said(State::Warning, "warning"),
        said(State::Unknown, "unanswered check"),
    ];
    let found: Vec<String> = found.into_iter().flatten().collect();
    let found = found.join(", ");
    match (report.is_fit(), found.as_str()) {
        (true, "") => format!("{url} is {NAME}fit{NAME:#}."),
        (true, found) => format!("{url} is {NAME}fit{NAME:#}, with {found}."),
        (false, found) => format!("{url} is {BAD}not fit{BAD:#}: {found}."),
    }
}

pub(super) fn json(report: &Report) -> Value {
    let server = |(evidence, checks): &(Evidence, Vec<Check>)| {
        let facts = evidence.facts.as_ref().ok();
        json!({
            "address": evidence.address,
            "product": facts.map(|facts| &facts.product),
            "version": facts.map(|facts| &facts.version),
            "checks": checks.iter().map(check_json).collect::<Vec<_>>(),
        })
    };
    json!({
        "url": report.url,
        "fit": if report.interrupted { Value::Null } else { json!(report.is_fit()) },
        "interrupted": report.interrupted,
        "bad": report.count(State::Bad),
        "warnings": report.count(State::Warning),
        "unknown": report.count(State::Unknown),
        "servers": report.servers.iter().map(server).collect::<Vec<_>>(),
    })
}

fn check_json(check: &Check) -> Value {
    json!({
        "check": check.name,
        "state": check.state.word(),
        "fact": check.fact,
        "advice": check.advice,
        "numbers": check.numbers,
    })
}
