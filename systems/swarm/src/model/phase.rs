//! Phases of the loop, and what they ask for.

use std::fmt;

use serde_json::{Value, json};

use super::PhaseStatus;

/// Which level of the loop runs in a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LoopLevel(u8);

/// A number that is no level of the loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0} is no level of the loop: 0 epic, 1 phase execution, 2 consensus validation, 3 implementation, 4 product-owner decision"
)]
pub struct NoLevel(pub u64);

impl LoopLevel {
    /// The level with that number.
    pub fn new(number: u64) -> Result<Self, NoLevel> {
        match u8::try_from(number) {
            Ok(level @ 0..=4) => Ok(Self(level)),
            _ => Err(NoLevel(number)),
        }
    }

    /// Its number.
    #[must_use]
    pub fn number(self) -> u8 {
        self.0
    }
}

impl fmt::Display for LoopLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The criteria of a move that are not met: those of entry to become active, those of exit to be completed.
#[must_use]
pub fn unmet(to: PhaseStatus, entry: &[String], exit: &[String], met: &[String]) -> Vec<String> {
    let asked = match to {
        PhaseStatus::Active => entry,
        PhaseStatus::Completed => exit,
        _ => &[],
    };
    asked.iter().filter(|criterion| !met.contains(criterion)).cloned().collect()
}

/// How the tasks of a phase went, of each its status and how sure its agent was: the contract's `PhaseMetrics`, but for how long it
/// took. Of none there is no rate and no mean.
#[must_use]
pub fn metrics<'t>(tasks: impl IntoIterator<Item = (Option<&'t str>, Option<f64>)>) -> Value {
    let (statuses, sure): (Vec<_>, Vec<_>) = tasks.into_iter().unzip();
    let sure: Vec<f64> = sure.into_iter().flatten().collect();
    let completed = statuses.iter().filter(|status| **status == Some("completed")).count();
    let mut metrics = json!({ "taskCount": statuses.len() });
    if !statuses.is_empty() {
        metrics["successRate"] = json!(completed as f64 / statuses.len() as f64);
    }
    if !sure.is_empty() {
        metrics["averageConfidence"] = json!(sure.iter().sum::<f64>() / sure.len() as f64);
    }
    metrics
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_go_from_0_to_4() {
        assert_eq!(LoopLevel::new(4).map(LoopLevel::number), Ok(4));
        for number in [5, 256, u64::MAX] {
            assert_eq!(LoopLevel::new(number), Err(NoLevel(number)));
        }
    }

    #[test]
    fn a_phase_went_as_its_tasks_did() {
        assert_eq!(metrics([]), json!({ "taskCount": 0 }));
        let tasks = [
            (Some("completed"), Some(0.5)),
            (Some("failed"), Some(1.0)),
            (None, None),
            (Some("completed"), None),
        ];
        let expected = json!({ "taskCount": 4, "successRate": 0.5, "averageConfidence": 0.75 });
        assert_eq!(metrics(tasks), expected);
    }

    #[test]
    fn each_move_asks_for_its_own_criteria() {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let (entry, exit) = (texts(&["designed", "staffed"]), texts(&["tested"]));
        let open = |to, met: &[&str]| unmet(to, &entry, &exit, &texts(met));
        assert_eq!(open(PhaseStatus::Active, &["staffed"]), ["designed"]);
        assert_eq!(open(PhaseStatus::Active, &["staffed", "designed"]), [""; 0]);
        assert_eq!(open(PhaseStatus::Completed, &["designed"]), ["tested"]);
        assert_eq!(open(PhaseStatus::Failed, &[]), [""; 0]);
    }
}
