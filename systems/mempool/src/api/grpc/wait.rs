//! `WaitForTx`: where these transactions are, and every change until all are final.
//!
//! - The place in the log is taken before the first look, so nothing falls between them.
//! - A transaction that the pool does not know is told as `UNSPECIFIED` and waited for: it may be sent yet.
//! - A dropped one is told as `UNSPECIFIED` too. The stream goes on for the others, and ends as `ABORTED` with the ids of those
//!   that stayed dropped; as `OK` when all are finalized.
//! - After a gap in the log, and whenever it was quiet for a while, the stages are read anew. Stages in between are not made up.

use std::collections::HashMap;

use keyplane_http::Stopping;
use keyplane_kit::events::Position;
use tonic::Status;
use utxorpc_spec::utxorpc::v1alpha::submit::{WaitForTxRequest, WaitForTxResponse};

use super::errors::{away, unread};
use super::follow::{Change, Teller, answered, next, stream};
use super::{Messages, named};
use crate::model::{Stage, Status as TxStatus, TxHash};
use crate::state::Pool;

/// References of one request: they are looked up at one moment.
const MOST: usize = 1000;

/// Ids in one message. A header has to carry it.
const MOST_NAMED: usize = 20;

pub(super) async fn wait(
    pool: &Pool,
    request: &WaitForTxRequest,
    stopping: Option<Stopping>,
) -> Result<Messages<WaitForTxResponse>, Status> {
    let txs = references(request)?;
    let position = pool.events().end().await.map_err(|error| away(&error))?;
    let first = pool.check_all(&txs).await.map_err(|error| unread(&error))?;
    let pool = pool.clone();
    Ok(stream(stopping, |teller| follow(pool, position, txs, first, teller)))
}

/// Each once, in their order.
fn references(request: &WaitForTxRequest) -> Result<Vec<TxHash>, Status> {
    let mut txs = Vec::with_capacity(request.r#ref.len().min(MOST));
    let mut seen = std::collections::HashSet::new();
    for bytes in &request.r#ref {
        let tx = TxHash::from_slice(bytes)
            .map_err(|error| Status::invalid_argument(format!("a reference of a transaction: {error}")))?;
        if seen.insert(tx) {
            txs.push(tx);
        }
    }
    match txs.len() {
        0 => Err(Status::invalid_argument("there is no reference to wait for")),
        many if many > MOST => {
            Err(Status::invalid_argument(format!("{many} references, and one request may have {MOST}")))
        }
        _ => Ok(txs),
    }
}

async fn follow(
    pool: Pool,
    position: Position,
    txs: Vec<TxHash>,
    first: Vec<Option<TxStatus>>,
    teller: Teller<WaitForTxResponse>,
) -> Result<(), Status> {
    let mut waiting = Waiting::default();
    for (tx, status) in txs.iter().zip(first) {
        waiting.begin(*tx, status);
        teller.tell(response(*tx, status.map(|status| status.stage))).await;
    }
    let events = pool.events();
    let mut tail = events.tail(position);
    while !waiting.is_over() {
        let batch = next(&mut tail).await;
        if batch.events.is_empty() || !batch.gaps.is_empty() {
            let statuses = answered(|| pool.check_all(&txs)).await?;
            for (tx, status) in txs.iter().zip(statuses) {
                if waiting.look(*tx, status) {
                    teller.tell(response(*tx, status.map(|status| status.stage))).await;
                }
            }
        }
        for change in batch.events.iter().filter_map(Change::read) {
            if waiting.hear(&change) {
                teller.tell(response(change.tx, Some(change.stage))).await;
            }
        }
    }
    ended(&txs, &waiting)
}

fn response(tx: TxHash, stage: Option<Stage>) -> WaitForTxResponse {
    WaitForTxResponse { r#ref: tx.bytes().to_vec().into(), stage: named(stage) }
}

fn ended(txs: &[TxHash], waiting: &Waiting) -> Result<(), Status> {
    let dropped: Vec<String> =
        txs.iter().filter(|tx| waiting.is_dropped(tx)).map(ToString::to_string).collect();
    match dropped.len() {
        0 => Ok(()),
        1..=MOST_NAMED => Err(Status::aborted(format!("dropped: {}", dropped.join(", ")))),
        many => Err(Status::aborted(format!("dropped: {} and others, {many} in all", dropped[0]))),
    }
}

/// What was told last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Seen {
    stage: Stage,
    version: u64,
}

/// All that are waited for.
#[derive(Debug, Default)]
struct Waiting(HashMap<TxHash, Option<Seen>>);

impl Waiting {
    fn begin(&mut self, tx: TxHash, status: Option<TxStatus>) {
        self.0.insert(tx, status.map(|status| Seen { stage: status.stage, version: status.version }));
    }

    /// Whether a look at the store has news.
    fn look(&mut self, tx: TxHash, status: Option<TxStatus>) -> bool {
        let found = status.map(|status| Seen { stage: status.stage, version: status.version });
        let Some(seen) = self.0.get_mut(&tx) else { return false };
        // Finished ones are trimmed after a while; that changes nothing about them.
        let trimmed = found.is_none() && seen.is_some_and(|seen| seen.stage.is_final());
        if trimmed || *seen == found {
            return false;
        }
        *seen = found;
        true
    }

    /// Whether a change is news. Those from before the last look are not.
    fn hear(&mut self, change: &Change) -> bool {
        let Some(seen) = self.0.get_mut(&change.tx) else { return false };
        let old = seen.is_some_and(|seen| {
            // One that was trimmed and is sent again begins with its first version.
            let anew = change.is_new && seen.stage.is_final();
            change.version <= seen.version && !anew
        });
        if !old {
            *seen = Some(Seen { stage: change.stage, version: change.version });
        }
        !old
    }

    fn is_over(&self) -> bool {
        self.0.values().all(|seen| seen.is_some_and(|seen| seen.stage.is_final()))
    }

    fn is_dropped(&self, tx: &TxHash) -> bool {
        self.0.get(tx).is_some_and(|seen| seen.is_some_and(|seen| seen.stage == Stage::Dropped))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Detail, Mark};

    const TX: TxHash = TxHash::new([7; 32]);

    fn status(stage: Stage, version: u64) -> Option<TxStatus> {
        Some(TxStatus::derive(stage, &Mark { version, height: 0, detail: Detail::None }, None))
    }

    fn change(stage: Stage, version: u64) -> Change {
        Change { tx: TX, stage, version, is_new: version == 1 }
    }

    fn waiting(status: Option<TxStatus>) -> Waiting {
        let mut waiting = Waiting::default();
        waiting.begin(TX, status);
        waiting
    }

    #[test]
    fn what_a_look_has_told_is_not_told_again() {
        let mut waiting = waiting(status(Stage::Propagated, 2));
        assert!(!waiting.hear(&change(Stage::Pending, 1)), "from before the look");
        assert!(!waiting.hear(&change(Stage::Propagated, 2)), "the look itself");
        assert!(waiting.hear(&change(Stage::Acknowledged, 3)));
        assert!(!waiting.look(TX, status(Stage::Acknowledged, 3)));
        assert!(waiting.look(TX, status(Stage::Pending, 5)), "a gap: two changes are not known");
    }

    #[test]
    fn final_is_the_end_and_trimming_does_not_take_it_back() {
        let mut waiting = waiting(None);
        assert!(!waiting.is_over(), "it may be sent yet");
        assert!(waiting.hear(&change(Stage::Pending, 1)));
        assert!(waiting.hear(&change(Stage::Dropped, 2)));
        assert!(waiting.is_over() && waiting.is_dropped(&TX));
        assert!(!waiting.look(TX, None));
        assert!(waiting.is_over());
        assert!(waiting.hear(&change(Stage::Pending, 1)), "sent again after it was trimmed");
        assert!(!waiting.is_over());
    }

    #[test]
    fn of_strangers_nothing_is_told() {
        let mut waiting = waiting(None);
        assert!(!waiting.hear(&Change { tx: TxHash::new([8; 32]), ..change(Stage::Pending, 1) }));
    }
}
