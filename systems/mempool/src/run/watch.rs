//! Election: this node stands for watcher as long as it runs.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use keyplane_kit::Fence;
use keyplane_kit::lease::{Held, Lease};
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio::time::sleep;

/// Stands for watcher until it is stopped. While it holds the lock it renews it in the background.
#[derive(Debug)]
pub struct Watch {
    shared: Arc<Shared>,
    terms: watch::Receiver<u64>,
    task: JoinHandle<()>,
}

#[derive(Debug)]
struct Shared {
    lease: Lease,
    id: String,
    held: RwLock<Option<Arc<Held>>>,
    stop: Notify,
}

impl Watch {
    /// Begins to stand, as this node. Needs a tokio runtime.
    #[must_use]
    pub fn start(lease: Lease, id: &str) -> Self {
        let shared =
            Arc::new(Shared { lease, id: id.to_owned(), held: RwLock::new(None), stop: Notify::new() });
        let (tell, terms) = watch::channel(0);
        let task = tokio::spawn(stand(Arc::clone(&shared), tell));
        Self { shared, terms, task }
    }

    /// What to show with every step of the watcher; `None` while another node is the watcher, or may be.
    #[must_use]
    pub fn fence(&self) -> Option<Fence> {
        let held = self.shared.held.read().unwrap_or_else(PoisonError::into_inner);
        held.as_ref().and_then(|held| held.fence().ok().cloned())
    }

    /// Counts the terms of this node: to be told when one begins.
    #[must_use]
    pub fn terms(&self) -> watch::Receiver<u64> {
        self.terms.clone()
    }

    /// The lock.
    #[must_use]
    pub fn lease(&self) -> &Lease {
        &self.shared.lease
    }

    /// Gives the lock back, so that another node takes it at once.
    pub async fn stop(mut self) {
        self.shared.stop.notify_one();
        // Whatever became of it: it stands no longer.
        drop((&mut self.task).await);
    }
}

impl Drop for Watch {
    /// As a node that dies: the lock runs out by itself.
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Shared {
    fn keep(&self, held: Option<Arc<Held>>) {
        *self.held.write().unwrap_or_else(PoisonError::into_inner) = held;
    }
}

async fn stand(shared: Arc<Shared>, tell: watch::Sender<u64>) {
    loop {
        let taken = tokio::select! {
            biased;
            taken = shared.lease.acquire(&shared.id) => taken,
            () = shared.stop.notified() => return,
        };
        let held = match taken {
            Ok(held) => Arc::new(held),
            Err(error) => {
                tracing::debug!(node_id = shared.id, %error, "the watcher lock cannot be asked for");
                tokio::select! {
                biased;
                        () = sleep(pause(shared.lease.ttl())) => continue,
                        () = shared.stop.notified() => return,
                    }
            }
        };
        let term = held.fence().map_or(0, |fence| fence.term().number());
        tracing::info!(node_id = shared.id, term, "acquired watcher lock");
        shared.keep(Some(Arc::clone(&held)));
        tell.send_modify(|terms| *terms += 1);
        let stopped = tokio::select! {
            biased;
            () = held.lost() => false,
            () = shared.stop.notified() => true,
        };
        shared.keep(None);
        if !stopped {
            tracing::info!(node_id = shared.id, term, "lost watcher lock");
            continue;
        }
        // Ours is the only one now: `fence` hands out copies of the fence alone.
        if let Some(held) = Arc::into_inner(held) {
            match held.release().await {
                Ok(_) => tracing::info!(node_id = shared.id, term, "released watcher lock"),
                Err(error) => {
                    tracing::warn!(node_id = shared.id, %error, "the watcher lock runs out by itself")
                }
            }
        }
        return;
    }
}

/// Often enough that the lock is not free for long, seldom enough for a store that comes back.
fn pause(ttl: Duration) -> Duration {
    ttl / 20
}
