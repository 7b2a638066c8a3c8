//! What must hold of a journal, whatever happened while it was written.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::AddAssign;

/// What machines know of what they did.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// Lines whose answer said that they are in the journal.
    pub(crate) acknowledged: BTreeSet<String>,
    /// Lines that were refused, or never sent.
    pub(crate) refused: BTreeSet<String>,
    /// Nobody knows: no answer, or the writer is dead.
    pub(crate) unknown: BTreeSet<String>,
    /// Fences that machines were given, in that order, each with whose it is.
    pub(crate) fences: Vec<(String, String)>,
    /// Fences whose release was answered.
    pub(crate) given_back: BTreeSet<String>,
    /// Lines that were let in although their fence had been given back before.
    pub(crate) after_the_end: Vec<String>,
    pub(crate) lapsed: usize,
    pub(crate) crashed: usize,
}

/// What was seen, so that a test can tell whether it was anything.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Tally {
    pub(crate) runs: usize,
    pub(crate) written: usize,
    pub(crate) fenced: usize,
    pub(crate) unknown: usize,
    pub(crate) terms: usize,
    /// Terms of another machine than the term before, both with lines.
    pub(crate) handovers: usize,
    pub(crate) lapsed: usize,
    pub(crate) crashed: usize,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.runs += other.runs;
        self.written += other.written;
        self.fenced += other.fenced;
        self.unknown += other.unknown;
        self.terms += other.terms;
        self.handovers += other.handovers;
        self.lapsed += other.lapsed;
        self.crashed += other.crashed;
    }
}

/// A line: `TERM:TOKEN MACHINE NUMBER`.
fn read(line: &str) -> Result<(u64, &str, &str), String> {
    let wrong = || format!("`{line}` was written by nobody");
    let mut words = line.split(' ');
    let (fence, machine) = words.next().zip(words.next()).ok_or_else(wrong)?;
    let (term, token) = fence.split_once(':').ok_or_else(wrong)?;
    Ok((term.parse().map_err(|_| wrong())?, token, machine))
}

/// Holds a journal against what machines know.
pub(crate) fn check(journal: &[String], known: &Known) -> Result<Tally, String> {
    let mut writers: BTreeMap<u64, (&str, &str)> = BTreeMap::new();
    let (mut last, mut last_machine, mut handovers) = (0, "", 0);
    for line in journal {
        let (term, token, machine) = read(line)?;
        if term < last {
            return Err(format!("`{line}` was let in after a line of term {last}"));
        }
        let writer = writers.entry(term).or_insert((token, machine));
        if *writer != (token, machine) {
            return Err(format!("`{line}`: term {term} is also that of {writer:?}"));
        }
        handovers += usize::from(!last_machine.is_empty() && machine != last_machine);
        (last, last_machine) = (term, machine);
    }
    let there: BTreeSet<&String> = journal.iter().collect();
    if there.len() != journal.len() {
        return Err("a line is there twice".to_owned());
    }
    if let Some(lost) = known.acknowledged.iter().find(|line| !there.contains(line)) {
        return Err(format!("`{lost}` was acknowledged and is not there"));
    }
    if let Some(line) = there.iter().find(|line| known.refused.contains(**line)) {
        return Err(format!("`{line}` was refused and is there"));
    }
    let told = |line: &&&String| known.acknowledged.contains(**line) || known.unknown.contains(**line);
    if let Some(line) = there.iter().find(|line| !told(line)) {
        return Err(format!("`{line}` is there and nobody has written it"));
    }
    if let Some(line) = known.after_the_end.first() {
        return Err(format!("`{line}` was let in after its term was given back"));
    }
    let mut terms: BTreeMap<u64, &str> = BTreeMap::new();
    for (fence, machine) in &known.fences {
        let (term, ..) = read(&format!("{fence} {machine}"))?;
        if let Some(other) = terms.insert(term, fence) {
            return Err(format!("term {term} was given twice: `{other}` and `{fence}`"));
        }
    }
    Ok(Tally {
        runs: 1,
        written: journal.len(),
        fenced: known.refused.len(),
        unknown: known.unknown.len(),
        terms: known.fences.len(),
        handovers,
        lapsed: known.lapsed,
        crashed: known.crashed,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(journal: &[&str], acknowledged: &[&str]) -> Result<Tally, String> {
        let lines = |lines: &[&str]| lines.iter().map(ToString::to_string).collect::<Vec<_>>();
        let known = Known {
            acknowledged: lines(acknowledged).into_iter().collect(),
            unknown: lines(journal)
                .into_iter()
                .filter(|line| !acknowledged.contains(&line.as_str()))
                .collect(),
            ..Known::default()
        };
        check(&lines(journal), &known)
    }

    #[test]
    fn the_model_finds_what_must_not_be() {
        assert_eq!(of(&["1:x a 1", "1:x a 2", "3:y b 1"], &["3:y b 1"]).unwrap().handovers, 1);
        assert_eq!(
            of(&["3:y b 1", "1:x a 1"], &[]).unwrap_err(),
            "`1:x a 1` was let in after a line of term 3"
        );
        assert_eq!(
            of(&["1:x a 1", "1:y b 1"], &[]).unwrap_err(),
            "`1:y b 1`: term 1 is also that of (\"x\", \"a\")"
        );
        assert_eq!(
            of(&["1:x a 1"], &["1:x a 2"]).unwrap_err(),
            "`1:x a 2` was acknowledged and is not there"
        );
        assert_eq!(of(&["1:x a 1", "1:x a 1"], &[]).unwrap_err(), "a line is there twice");
    }
}
