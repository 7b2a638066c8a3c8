//! Which finished transactions make room when there are more than are kept.

use super::hash::TxHash;
use super::plan::Move;

/// A finished transaction that is forgotten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Trim {
    /// Which one.
    pub(crate) tx: TxHash,
    /// The number of its entry; `None`: the one that this very step gives it. One that was finished again since has another,
    /// and stays.
    pub(crate) seq: Option<u64>,
}

/// Those whose old entry, if there is one, goes with the step anyhow: what is finished gets another, what is unfinished again
/// has none. Also one that was dropped and sent again has kept the old one until then.
pub(crate) fn replaced(moves: &[Move]) -> Vec<TxHash> {
    let touches = |one: &&Move| one.from.stage.is_final() || one.to.stage.is_final();
    moves.iter().filter(touches).map(|one| one.tx).collect()
}

/// The oldest ones: those of the log, and when these are not enough, those that the step finishes.
pub(crate) fn trim(over: usize, log: &[(TxHash, u64)], moves: &[Move]) -> Vec<Trim> {
    let replaced: std::collections::HashSet<TxHash> = replaced(moves).into_iter().collect();
    let old = log.iter().filter(|(tx, _)| !replaced.contains(tx));
    let old = old.map(|(tx, seq)| Trim { tx: *tx, seq: Some(*seq) });
    let new = moves.iter().filter(|one| one.to.stage.is_final());
    let new = new.map(|one| Trim { tx: one.tx, seq: None });
    old.chain(new).take(over).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Detail, Known, Mark, Reason, Stage};

    fn tx(number: u8) -> TxHash {
        TxHash::new([number; 32])
    }

    fn moved(number: u8, from: Stage, to: Stage) -> Move {
        let known = |stage| Known { stage, mark: Mark { version: 1, height: 70, detail: Detail::None } };
        Move { tx: tx(number), from: known(from), to: known(to), due: None, reason: Reason::Depth }
    }

    #[test]
    fn the_oldest_go_but_for_those_that_the_step_takes_out_itself() {
        let log = [(tx(1), 11), (tx(2), 12), (tx(3), 13), (tx(4), 14)];
        let moves = [
            moved(1, Stage::Confirmed, Stage::Finalized),
            moved(3, Stage::Dropped, Stage::Confirmed),
            moved(5, Stage::Pending, Stage::Confirmed),
        ];
        assert_eq!(replaced(&moves), [tx(1), tx(3)]);
        let old = [Trim { tx: tx(2), seq: Some(12) }, Trim { tx: tx(4), seq: Some(14) }];
        assert_eq!(trim(1, &log, &moves), old[..1]);
        assert_eq!(trim(9, &log, &moves), [old[0], old[1], Trim { tx: tx(1), seq: None }]);
    }
}
