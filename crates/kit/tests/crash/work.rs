//! What a machine does to records, indexes and timers: each step is said once it is answered.

use std::time::Duration;

use keyplane_kit::Fence;
use keyplane_kit::deadline::{Deadlines, Due};
use keyplane_kit::index::{Index, drain};
use keyplane_kit::record::{Change, Records};
use keyplane_store::Handle;

use crate::setup::{Keyspace, east, pool};
use crate::told::say;

/// So many rounds; an error ends it, as the server is gone then.
pub(crate) async fn work(handle: &Handle, fence: &Fence, name: &str, rounds: u64) {
    for round in 0..rounds {
        if let Err(error) = once(handle, fence, &format!("{name}.{round}")).await {
            return say(&format!("unknown {name}.{round}: {error}"));
        }
    }
    // A timer may be due in a millisecond only.
    let alarms = Deadlines::new(handle, Keyspace::default().alarms(&east())).expect("timers of the contract");
    while let Ok(Some(left)) = alarms.next().await {
        tokio::time::sleep(left).await;
        if let Err(error) = fire(&alarms, fence).await {
            return say(&format!("unknown: {error}"));
        }
    }
    say("worked");
}

/// Lets fire what is due.
async fn fire(alarms: &Deadlines, fence: &Fence) -> Result<(), Box<dyn std::error::Error>> {
    let fired = alarms.due(fence, 10).await?;
    fired.iter().for_each(|fired| say(&format!("fired {}", fired.id)));
    alarms.done(fence, &fired).await?;
    fired.iter().for_each(|fired| say(&format!("done {}", fired.id)));
    Ok(())
}

async fn once(handle: &Handle, fence: &Fence, id: &str) -> Result<(), Box<dyn std::error::Error>> {
    let keys = Keyspace::default();
    let (key, history) = (keys.pool(&east()), keys.history(&east()));
    let all = Index::plain(handle, keys.all_pools())?;
    let alarms = Deadlines::new(handle, keys.alarms(&east()))?;
    let pools = Records::of(handle, &pool::info::POOL)?;
    if all.members(0, -1).await?.is_none() {
        all.rebuild().await?.finish().await?;
    }
    let change = Change::upsert().set("state", "open").count("updates", 1).entering(&all, "east", 0.0);
    pools.commit(&key, change.guarded_by(fence).telling(&history, [("id", id)])).await?;
    say(&format!("changed {id}"));
    drain(handle, &key, &[&all]).await?;
    say(&format!("fed {id}"));
    alarms.schedule(id, Due::In(Duration::ZERO)).await?;
    say(&format!("set {id}"));
    fire(&alarms, fence).await
}
