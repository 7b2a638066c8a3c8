//! Propagation: what waits is offered to a peer, in the order of the queue.
//!
//! - A transaction leaves the queue when a node takes it out for a peer that can be reached. From then on every peer is to be
//!   offered it, by whichever node claims it.
//! - A peer that does not answer is asked less and less often. What was claimed for it is given back at once. When it answers
//!   again it is offered all that is in no block: it may have forgotten everything. Once in a while it is without having been away,
//!   for one that forgets between two offers does not say so.
//! - What it fails on time and again, while it takes others, it is offered behind the others and later.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use super::head::Head;
use crate::model::TxHash;
use crate::ports::{Answer, Away, Peer};
use crate::state::{CLAIM, Claimed, Offer, Pool, ReadError};

/// Claimed at once. Small: what a node that dies has claimed is late.
const BATCH: u64 = 32;

/// Offered for so long at once, well below what a claim stands for. What is left is given back, to be claimed anew.
const SPAN: Duration = Duration::from_secs(4);

/// So often a peer fails on a transaction before it may be for the transaction.
const MANY: u32 = 3;

/// Of so many it is counted. Who forgets begins to count anew.
const MOST_COUNTED: usize = 10_000;

/// Between looks at an empty queue.
const IDLE: Duration = Duration::from_millis(100);

/// Between attempts to reach a peer: at first, and at most.
const AGAIN: Duration = Duration::from_millis(200);
const SELDOM: Duration = Duration::from_secs(10);

/// Offers what waits to a peer, until it is told to stop. What it has begun it brings to an end.
pub async fn propagate<P: Peer>(pool: Pool, peer: P, mut stop: watch::Receiver<bool>) {
    let mut link = Link {
        pool,
        peer,
        head: Head::default(),
        failures: Failures::default(),
        is_up: false,
        lost: None,
        pause: AGAIN,
    };
    while !*stop.borrow() {
        let pause = link.step().await;
        tokio::select! {
            biased;
            // Who can stop it is gone.
            told = stop.changed() => if told.is_err() { return },
            () = sleep(pause) => {}
        }
        link.lost = link.lost.map(|lost| lost.saturating_add(pause));
    }
}

/// A peer as this node sees it.
struct Link<P> {
    pool: Pool,
    peer: P,
    head: Head,
    failures: Failures,
    is_up: bool,
    /// For how long, at least, since it last did not answer; until it was begun with anew. Only pauses count.
    lost: Option<Duration>,
    /// Before the next attempt to reach it.
    pause: Duration,
}

impl<P: Peer> Link<P> {
    /// One attempt, or one round: how long to wait for the next.
    async fn step(&mut self) -> Duration {
        let (node_id, peer) = (self.pool.node_id().to_owned(), self.peer.name().to_string());
        if !self.is_up {
            if let Err(error) = self.peer.reach().await {
                tracing::debug!(node_id, peer, %error, "the peer cannot be reached");
                self.lost = Some(Duration::ZERO);
                let pause = self.pause;
                self.pause = (pause * 2).min(SELDOM);
                return pause;
            }
            tracing::info!(node_id, peer, "the peer is reached");
        }
        match self.round().await {
            Ok(offered) => {
                (self.is_up, self.pause) = (true, AGAIN);
                if offered == 0 { IDLE } else { Duration::ZERO }
            }
            Err(Broken::Peer(error)) => {
                tracing::warn!(node_id, peer, %error, "the peer is away");
                (self.is_up, self.lost) = (false, Some(Duration::ZERO));
                let pause = self.pause;
                self.pause = (pause * 2).min(SELDOM);
                pause
            }
            Err(Broken::Store(error)) => {
                tracing::debug!(node_id, peer, %error, "cannot offer");
                AGAIN
            }
        }
    }

    /// Offers some: how many.
    async fn round(&mut self) -> Result<usize, Broken> {
        self.head.take_out(&self.pool).await?;
        // On the first connection of this node the others may have offered everything already.
        let begun = Instant::now();
        let Claimed { offers, is_anew } = self.pool.claim(self.peer.name(), BATCH, self.lost).await?;
        if is_anew {
            self.lost = None;
        }
        let all: Vec<TxHash> = offers.iter().map(|offer| offer.hash).collect();
        let mut said = self.offer(offers, begun).await;
        let is_well = self.is_up || !said.taken.is_empty() || !said.refused.is_empty();
        // A peer that is well has only stumbled over these. So it has over a whole batch, or nothing else would ever be offered.
        if is_well || said.stumbled.len() as u64 == BATCH {
            said.refused.append(&mut said.stumbled);
        }
        let (pool, peer) = (&self.pool, self.peer.name());
        // Acknowledged first: a claim that is left runs out, and the peer is asked once more.
        pool.mark_acknowledged(&said.taken).await?;
        // By then they are not this node's any more.
        if begun.elapsed() < CLAIM {
            let is_open = |tx: &TxHash| !said.taken.contains(tx) && !said.refused.contains(tx);
            let open: Vec<TxHash> = all.iter().copied().filter(is_open).collect();
            pool.answered(peer, &said.taken).await?;
            pool.refused(peer, &said.refused).await?;
            pool.give_back(peer, &open).await?;
        }
        match said.away {
            Some(error) if !(is_well && said.is_there) => Err(Broken::Peer(error)),
            _ => Ok(all.len()),
        }
    }

    /// Offers these, those on which the peer has failed several times behind all others.
    async fn offer(&mut self, mut offers: Vec<Offer>, begun: Instant) -> Said {
        let (node_id, peer) = (self.pool.node_id(), self.peer.name());
        let mut said = Said::default();
        offers.sort_by_key(|offer| self.failures.are_many(&offer.hash));
        for offer in offers.iter().take_while(|_| begun.elapsed() < SPAN) {
            let tx = offer.hash;
            let answer = self.peer.offer(offer).await;
            said.is_there = answer.is_ok();
            match answer {
                Ok(Answer::Taken) => {
                    self.failures.forget(&tx);
                    said.taken.push(tx);
                }
                Ok(Answer::Refused(why)) => {
                    tracing::warn!(node_id, %peer, %tx, why, "refused by the peer");
                    self.failures.forget(&tx);
                    said.refused.push(tx);
                }
                Ok(Answer::Failed(why)) | Err(Away(why)) => {
                    tracing::debug!(node_id, %peer, %tx, why, "the peer fails");
                    let are_many = self.failures.are_many(&tx);
                    self.failures.count(tx);
                    said.away = Some(Away(why));
                    if are_many {
                        said.stumbled.push(tx);
                    }
                    if !(are_many && said.is_there) {
                        said.is_there = false;
                        break;
                    }
                }
            }
        }
        said
    }
}

/// What a peer said to a batch.
#[derive(Default)]
struct Said {
    taken: Vec<TxHash>,
    refused: Vec<TxHash>,
    /// It failed on these, as it had before.
    stumbled: Vec<TxHash>,
    /// How it failed last.
    away: Option<Away>,
    /// It may be offered more.
    is_there: bool,
}

/// How often a peer has failed on a transaction, in a row.
#[derive(Default)]
struct Failures(BTreeMap<TxHash, u32>);

impl Failures {
    fn are_many(&self, tx: &TxHash) -> bool {
        self.0.get(tx).is_some_and(|times| *times >= MANY)
    }

    fn count(&mut self, tx: TxHash) {
        if self.0.len() > MOST_COUNTED {
            self.0.clear();
        }
        *self.0.entry(tx).or_default() += 1;
    }

    fn forget(&mut self, tx: &TxHash) {
        self.0.remove(tx);
    }
}

/// Why a round ended early.
enum Broken {
    Peer(Away),
    Store(ReadError),
}

impl<E: Into<ReadError>> From<E> for Broken {
    fn from(error: E) -> Self {
        Self::Store(error.into())
    }
}
