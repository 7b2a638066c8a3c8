//! What every host does for the swarm as a whole: tasks are taken back, checkpoints are made, and what was lost is recovered.

use std::time::Duration;

use fastrand::Rng;
use keyplane_swarm::Swarms;
use keyplane_swarm::state::{CheckpointOptions, From, OpError};
use tokio::time::sleep;

use crate::journal::Shared;
use crate::machine::swarm;

pub(crate) async fn keep(swarms: &Swarms, name: &str, mut rng: Rng, book: &Shared) {
    while !book.lock().unwrap().is_over {
        sleep(Duration::from_millis(rng.u64(50..400))).await;
        if let Ok(back) = swarms.take_back(&swarm(), 100).await
            && !back.is_empty()
        {
            book.lock().unwrap().step(&format!("{name} takes back {back:?}"));
        }
        if rng.u8(..6) == 0 {
            let made = swarms.checkpoint(&swarm(), &CheckpointOptions::default(), name).await;
            if let Ok(made) = made {
                let kind = if made.parent.is_some() { "an increment" } else { "in full" };
                book.lock().unwrap().step(&format!("{name} makes {}, {kind}", made.id));
            }
        }
        // Begun by somebody who is gone, or needed now; and now and then where nothing is wrong.
        let is_due = match swarms.read(&swarm()).await {
            Ok(Some(view)) => {
                view.status() == "recovering" || view.status() == "running" && rng.u8(..80) == 0
            }
            Ok(None) => true,
            Err(_) => false,
        };
        if is_due {
            recover(swarms, name, book).await;
        }
    }
}

async fn recover(swarms: &Swarms, name: &str, book: &Shared) {
    let recovered = swarms.recover(&swarm(), From::Newest, false, name).await;
    let mut book = book.lock().unwrap();
    match recovered {
        Ok(done) => {
            book.recoveries += 1;
            let from = done.checkpoint.map(|(id, _)| id);
            let text =
                format!("{name} recovers from {from:?}: {:?}, requeued {:?}", done.restored, done.requeued);
            book.step(&text);
        }
        Err(OpError::Locked { .. } | OpError::NoSwarm { .. }) => {}
        Err(error) => book.step(&format!("{name} cannot recover: {error}")),
    }
}
