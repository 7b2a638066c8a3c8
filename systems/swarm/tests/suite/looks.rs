//! A look at a swarm is several commands, and whatever happens between them, what comes out is of one moment. On a server: the
//! embedded store answers at once, so nothing can come in between.

use std::time::Duration;

use keyplane_store::{Options, Store};
use keyplane_swarm::state::SwarmView;
use keyplane_swarm::{Settings, Swarms};
use keyplane_testing::{Mode, Place, Proxy, every_store};

use crate::setup::{naming, new_agent, new_task, running, swarms, view};

/// The header counts what the rosters list, each in the step in which it is listed.
fn assert_whole(seen: &SwarmView, held_after: u64) {
    let counted = |field: &str| seen.field(field).parse().unwrap_or(0);
    let listed = (seen.agents.len(), seen.tasks.len());
    assert_eq!((counted("agentCount"), counted("taskCount")), listed, "held after {held_after} bytes");
}

#[every_store(only(redis), in_turn)]
async fn a_look_that_is_held_up_anywhere_is_of_one_moment(place: Place) {
    let others = swarms(&place).await;
    let proxy = Proxy::start(place.url.trim_start_matches("redis://"));
    let store = Store::open(&proxy.url(), Options::default()).await.unwrap();
    let held = Swarms::new(&store, naming(&place), Settings::default()).unwrap();
    let swarm = running(&others, 3).await;

    // The first look brings its scripts along.
    view(&held, &swarm).await;
    let before = proxy.bytes_to_server();
    view(&held, &swarm).await;
    let length = proxy.bytes_to_server() - before;

    let (mut looks, mut later) = (0, 0);
    for after in (1..length).step_by(7) {
        let start = proxy.bytes_to_server();
        proxy.set(Mode::HoldAfter(after));
        let meanwhile = async {
            while proxy.bytes_to_server() < start + after {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            others.register(&swarm, &new_agent(100 + looks), "test").await.unwrap();
            others.create_task(&swarm, &new_task(looks, &[]), "test").await.unwrap();
            proxy.set(Mode::Pass);
        };
        let (seen, ()) = tokio::join!(view(&held, &swarm), meanwhile);
        assert_whole(&seen, after);
        looks += 1;
        later += u64::from(seen.tasks.len() as u64 == looks);
    }
    assert!(looks > 50, "{looks} looks at {length} bytes");
    // Held up before the last command, they show what happened meanwhile.
    assert!(later > looks / 2, "{later} of {looks}");
}
