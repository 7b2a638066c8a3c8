//! `keys diff A B`: what changed, and who still works.

use keyplane_schema::{Change, Diff, Effect};
use serde_json::{Value, json};

use crate::contracts;
use crate::outcome::{Failure, Outcome};
use crate::output::{BAD, FAINT, NAME, Output, STRONG};

pub(super) fn run(old: &str, new: &str, output: &Output) -> Result<Outcome, Failure> {
    let diff = keyplane_schema::diff(&contracts::load(old)?, &contracts::load(new)?);
    if output.json {
        output.document(&json(&diff))?;
    } else {
        show(&diff, output)?;
    }
    let breaks = diff.readers() == Effect::Breaks || diff.writers() == Effect::Breaks;
    Ok(if breaks { Outcome::Finding } else { Outcome::Fine })
}

fn show(diff: &Diff, output: &Output) -> Result<(), Failure> {
    for change in &diff.changes {
        output.line(format!(
            "{STRONG}{}{STRONG:#}: {}  {FAINT}readers{FAINT:#} {}  {FAINT}writers{FAINT:#} {}",
            change.place,
            change.what,
            coloured(change.readers),
            coloured(change.writers)
        ))?;
    }
    if output.quiet {
        return Ok(());
    }
    let verdict = |effect: Effect, who: &str| match effect {
        Effect::Fine => format!("{who} built on the old contract go on working"),
        Effect::Look => {
            format!("{who} built on the old contract go on working; look at the changes marked so")
        }
        Effect::Breaks => format!("{who} built on the old contract break"),
    };
    if diff.changes.is_empty() {
        return output.line("no difference");
    }
    output.line(format!("\n{} {}", coloured(diff.readers()), verdict(diff.readers(), "readers")))?;
    output.line(format!("{} {}", coloured(diff.writers()), verdict(diff.writers(), "writers")))
}

fn coloured(effect: Effect) -> String {
    match effect {
        Effect::Fine => format!("{NAME}{effect}{NAME:#}"),
        Effect::Look => format!("{STRONG}{effect}{STRONG:#}"),
        Effect::Breaks => format!("{BAD}{effect}{BAD:#}"),
    }
}

fn json(diff: &Diff) -> Value {
    let change = |change: &Change| json!({ "place": change.place, "what": change.what, "readers": change.readers.word(), "writers": change.writers.word() });
    json!({
        "readers": diff.readers().word(),
        "writers": diff.writers().word(),
        "changes": diff.changes.iter().map(change).collect::<Vec<_>>(),
    })
}
