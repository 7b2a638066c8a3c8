//! Propagation: what waits is offered to a peer, in the order of the queue.
//!
//! - A transaction leaves the queue when a node takes it out for a peer that can be reached. From then on every peer is to be
//!   offered it, by whichever node claims it.
//! - A peer that does not answer is asked less and less often. What was claimed for it is given back at once. When it answers
//!   again it is offered all that is in no block: it may have forgotten everything. Once in a while it is without having been away,
//!   for one that forgets between two offers does not say so.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use super::head::Head;
use crate::model::TxHash;
use crate::ports::{Answer, Away, Peer};
use crate::state::{Claimed, Pool, ReadError};

/// Claimed at once. Small: what a node that dies has claimed is late.
const BATCH: u64 = 32;

/// Offered for so long at once, well below what a claim stands for. What is left is given back, to be claimed anew.
const SPAN: Duration = Duration::from_secs(4);

/// Between looks at an empty queue.
const IDLE: Duration = Duration::from_millis(100);

/// Between attempts to reach a peer: at first, and at most.
const AGAIN: Duration = Duration::from_millis(200);
const SELDOM: Duration = Duration::from_secs(10);

/// Offers what waits to a peer, until it is told to stop. What it has begun it brings to an end.
pub async fn propagate<P: Peer>(pool: Pool, peer: P, mut stop: watch::Receiver<bool>) {
    let mut link = Link { pool, peer, head: Head::default(), is_up: false, lost: None, pause: AGAIN };
    while !*stop.borrow() {
        let pause = link.step().await;
        tokio::select! {
            biased;
            // Who can stop it is gone.
            told = stop.changed() => if told.is_err() { return },
            () = sleep(pause) => {}
        }
    }
}

/// A peer as this node sees it.
struct Link<P> {
    pool: Pool,
    peer: P,
    head: Head,
    is_up: bool,
    /// When it last did not answer; until it was begun with anew.
    lost: Option<Instant>,
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
                self.lost = Some(Instant::now());
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
                (self.is_up, self.lost) = (false, Some(Instant::now()));
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
        let (pool, peer) = (&self.pool, &self.peer);
        // On the first connection of this node the others may have offered everything already.
        let begun = Instant::now();
        let lost = self.lost.map(|lost| lost.elapsed());
        let Claimed { offers, is_anew } = pool.claim(peer.name(), BATCH, lost).await?;
        if is_anew {
            self.lost = None;
        }
        let (mut taken, mut refused, mut away) = (Vec::new(), Vec::new(), None);
        for offer in offers.iter().take_while(|_| begun.elapsed() < SPAN) {
            match peer.offer(offer).await {
                Ok(Answer::Taken) => taken.push(offer.hash),
                Ok(Answer::Refused(why)) => {
                    tracing::warn!(node_id = pool.node_id(), peer = %peer.name(), tx = %offer.hash, why, "refused by the peer");
                    refused.push(offer.hash);
                }
                Err(error) => {
                    away = Some(error);
                    break;
                }
            }
        }
        let answered = taken.len() + refused.len();
        let open: Vec<TxHash> = offers.iter().skip(answered).map(|offer| offer.hash).collect();
        // Acknowledged first: a claim that is left is taken up again, and the peer is asked once more.
        pool.mark_acknowledged(&taken).await?;
        pool.answered(peer.name(), &taken).await?;
        pool.refused(peer.name(), &refused).await?;
        pool.give_back(peer.name(), &open).await?;
        away.map_or(Ok(offers.len()), |error| Err(Broken::Peer(error)))
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
