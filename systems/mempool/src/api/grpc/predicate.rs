//! Predicates: patterns put together with `not`, `all_of` and `any_of`.
//!
//! The parts of one predicate hold together: its pattern, none of `not`, all of `all_of`, and one of `any_of` if there are any.
//! A predicate without parts is true.

use pallas_traverse::MultiEraTx;
use utxorpc_spec::utxorpc::v1alpha::submit::TxPredicate;
use utxorpc_spec::utxorpc::v1alpha::submit::any_chain_tx_pattern::Chain;

use super::pattern::{Pattern, Unfit};

/// Each transaction is held against every part.
const MOST_PARTS: usize = 1000;

/// A predicate that can be decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Predicate {
    pattern: Option<Pattern>,
    not: Vec<Self>,
    all_of: Vec<Self>,
    any_of: Vec<Self>,
}

impl Predicate {
    pub(super) fn read(asked: &TxPredicate) -> Result<Self, Unfit> {
        Self::part(asked, &mut 0)
    }

    /// The depth is bounded by the reader of messages.
    fn part(asked: &TxPredicate, parts: &mut usize) -> Result<Self, Unfit> {
        *parts += 1;
        if *parts > MOST_PARTS {
            return Err(Unfit::TooMany(MOST_PARTS));
        }
        let pattern = match &asked.r#match {
            None => None,
            Some(pattern) => match &pattern.chain {
                Some(Chain::Cardano(pattern)) => Some(Pattern::read(pattern)?),
                None => return Err(Unfit::Chain),
            },
        };
        let mut all = |these: &[TxPredicate]| -> Result<Vec<Self>, Unfit> {
            these.iter().map(|one| Self::part(one, parts)).collect()
        };
        Ok(Self { pattern, not: all(&asked.not)?, all_of: all(&asked.all_of)?, any_of: all(&asked.any_of)? })
    }

    pub(super) fn matches(&self, tx: &MultiEraTx<'_>) -> bool {
        self.pattern.as_ref().is_none_or(|pattern| pattern.matches(tx))
            && !self.not.iter().any(|one| one.matches(tx))
            && self.all_of.iter().all(|one| one.matches(tx))
            && (self.any_of.is_empty() || self.any_of.iter().any(|one| one.matches(tx)))
    }
}

#[cfg(test)]
mod tests;
