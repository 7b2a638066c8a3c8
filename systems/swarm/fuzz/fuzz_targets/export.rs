//! Any text in place of an exported checkpoint: never a panic; and no state but the one whose hash the document states.
#![no_main]

use keyplane_swarm::state::Export;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(export) = Export::read(text) else { return };
    if let Ok((swarm, loaded)) = export.load() {
        assert_eq!(swarm.as_str(), export.swarm);
        assert_eq!(loaded.state.hash().to_string(), export.state_hash.to_ascii_lowercase());
    }
});
