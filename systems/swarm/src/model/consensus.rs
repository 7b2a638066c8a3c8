//! One rule for consensus.
//!
//! A round closes when every eligible validator has voted or when its time is up. It needs two thirds of the votes, rounded up.
//! A vote passes at a confidence of 0.75. The score is the sum of the confidences that passed, divided by all eligible
//! validators: who is absent, and who fails, counts as 0. It is achieved with the quorum and the required score. No more may
//! vote than are eligible.

/// From this confidence on a vote passes.
pub const PASSING: f64 = 0.75;

/// Tries of a round before a person is asked, if nothing else is said: as often as a phase of its level may run.
pub const MOST_TRIES: u64 = 10;

/// A vote's word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Good enough.
    Pass,
    /// Not good enough.
    Fail,
}

impl Verdict {
    /// What a confidence says.
    #[must_use]
    pub fn of(confidence: f64) -> Self {
        if confidence >= PASSING { Self::Pass } else { Self::Fail }
    }

    /// As votes spell it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::Fail => "FAIL",
        }
    }
}

/// A round to be judged.
#[derive(Debug, Clone, PartialEq)]
pub struct Ballot {
    /// Validators that may vote.
    pub eligible: u64,
    /// The score that it needs.
    pub required: f64,
    /// Confidences of those that voted, one for each.
    pub votes: Vec<f64>,
}

/// What came out.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Tally {
    /// 0 to 1.
    pub score: f64,
    /// Votes that it needs.
    pub quorum: u64,
    /// Enough voted.
    pub has_quorum: bool,
    /// Nobody is missing.
    pub is_complete: bool,
    /// Enough voted, and the score is reached.
    pub is_achieved: bool,
}

impl Ballot {
    /// Counts.
    #[must_use]
    pub fn tally(&self) -> Tally {
        let voted = self.votes.len() as u64;
        // Votes beyond that were written by hand: whoever votes is eligible, and no score is above 1.
        let eligible = self.eligible.max(voted).max(1);
        let passed = self.votes.iter().filter(|confidence| Verdict::of(**confidence) == Verdict::Pass);
        // Not `sum`, whose zero has a sign.
        let score = passed.fold(0.0, |sum, confidence| sum + confidence) / eligible as f64;
        let quorum = (2 * eligible).div_ceil(3);
        let has_quorum = voted >= quorum;
        // Sums of decimal fractions are off by less than this.
        let is_reached = score + 1e-9 >= self.required;
        Tally {
            score,
            quorum,
            has_quorum,
            is_complete: voted >= eligible,
            is_achieved: has_quorum && is_reached,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(eligible: u64, votes: &[f64]) -> Tally {
        Ballot { eligible, required: 0.9, votes: votes.to_vec() }.tally()
    }

    #[test]
    fn all_must_be_sure() {
        assert!(tally(3, &[0.9, 0.9, 0.9]).is_achieved);
        assert!(tally(4, &[0.95, 0.92, 0.88, 0.85]).is_achieved, "0.9 is the mean of these");
        assert!(!tally(3, &[0.95, 0.95, 0.74]).is_achieved, "a vote that fails counts as 0");
    }

    #[test]
    fn the_absent_count_as_nothing() {
        let two_of_three = tally(3, &[1.0, 1.0]);
        assert!(two_of_three.has_quorum && !two_of_three.is_complete);
        assert!(!two_of_three.is_achieved, "two thirds are not nine tenths");
        let lenient = Ballot { eligible: 3, required: 0.6, votes: vec![1.0, 1.0] }.tally();
        assert!(lenient.is_achieved);
        let one = Ballot { eligible: 3, required: 0.3, votes: vec![1.0] }.tally();
        assert!(!one.is_achieved, "the score is reached, and the quorum is not");
    }

    #[test]
    fn a_score_is_never_above_one_nor_a_zero_below_it() {
        let score = tally(1, &[0.95, 0.95, 0.95]).score;
        assert!((score - 0.95).abs() < 1e-9, "{score}");
        assert_eq!(tally(3, &[]).score.to_string(), "0");
        assert_eq!(tally(3, &[0.1]).score.to_string(), "0");
    }

    #[test]
    fn quorums_are_two_thirds_rounded_up() {
        let quorums: Vec<u64> = (1..=7).map(|eligible| tally(eligible, &[]).quorum).collect();
        assert_eq!(quorums, [1, 2, 2, 3, 4, 4, 5]);
    }
}
