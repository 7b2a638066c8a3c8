//! Where commands that talk to servers run. The others never start a runtime.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use crate::outcome::Failure;

/// Runs the work to its end, or until Ctrl-C: then `None`, and what the work has left behind by then is all there is.
pub(crate) fn run<T>(work: impl Future<Output = T>) -> Result<Option<T>, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(format!("cannot start: {error}")))?;
    let ended = runtime.block_on(unless_interrupted(work));
    // Looking up a name may still go on and cannot be stopped; nobody waits for it any more.
    runtime.shutdown_background();
    Ok(ended)
}

/// Runs the work to its end, whatever signals come: it listens to them itself, because it has something to put in order.
#[cfg(any(feature = "mempool", feature = "swarm"))]
pub(crate) fn run_to_end<T>(work: impl Future<Output = T>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(format!("cannot start: {error}")))?;
    let ended = runtime.block_on(work);
    runtime.shutdown_background();
    Ok(ended)
}

/// Ctrl-C, or the word of a supervisor.
#[cfg(any(feature = "mempool", feature = "swarm"))]
pub(crate) async fn asked_to_stop() {
    let terminate = async {
        use tokio::signal::unix::{SignalKind, signal};
        match signal(SignalKind::terminate()) {
            Ok(mut signal) => drop(signal.recv().await),
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        () = terminate => {}
    }
}

async fn unless_interrupted<T>(work: impl Future<Output = T>) -> Option<T> {
    let mut work = pin!(work);
    let mut signal = pin!(tokio::signal::ctrl_c());
    let mut deaf = false;
    poll_fn(|context| {
        if !deaf && let Poll::Ready(heard) = signal.as_mut().poll(context) {
            match heard {
                Ok(()) => return Poll::Ready(None),
                // Without a handler Ctrl-C ends the process as it always does.
                Err(_) => deaf = true,
            }
        }
        work.as_mut().poll(context).map(Some)
    })
    .await
}
