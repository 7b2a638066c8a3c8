//! Any bytes in place of what the store holds of a checkpoint or a roster: never a panic, nothing unfolds beyond its limit, and a
//! snapshot that is read has those very bytes and no others.
//!
//! The first byte says what the rest is.
#![no_main]

use keyplane_kit::blob::{self, Codec};
use keyplane_kit::checkpoint::{Snapshot, State};
use keyplane_swarm::model::{AgentLine, TaskLine};
use libfuzzer_sys::fuzz_target;

const MOST: usize = 1 << 20;

fuzz_target!(|data: &[u8]| {
    let [kind, rest @ ..] = data else { return };
    match kind % 3 {
        0 => read(rest),
        1 => {
            let Ok(plain) = blob::decode(rest, MOST) else { return };
            assert!(plain.len() <= MOST);
            for codec in Codec::ALL {
                assert_eq!(blob::decode(&blob::encode(codec, &plain), MOST).expect("it was just written"), plain);
            }
            read(&plain);
        }
        _ => {
            let Ok(text) = std::str::from_utf8(rest) else { return };
            drop(text.parse::<AgentLine>());
            drop(text.parse::<TaskLine>());
        }
    }
});

fn read(bytes: &[u8]) {
    let Ok(snapshot) = Snapshot::decode(bytes.to_vec()) else { return };
    assert_eq!(snapshot.encode(), bytes, "one state, two ways to write it");
    let mut state = State::default();
    state.apply(snapshot);
    let again = Snapshot::decode(state.full().encode()).expect("it was just written");
    let mut same = State::default();
    same.apply(again);
    assert_eq!(same.hash(), state.hash());
}
