//! Any text is a key or not; what matches renders back to itself, in every spelling.
#![no_main]

use std::sync::{Arc, LazyLock};

use keyplane_schema::{Contract, Matcher, Naming, Purpose};
use libfuzzer_sys::fuzz_target;

static CONTRACTS: LazyLock<Vec<Arc<Contract>>> = LazyLock::new(|| {
    let sources = [
        include_str!("../../../../systems/mempool/keys.toml"),
        include_str!("../../../../systems/docket/keys.toml"),
        include_str!("../../../../systems/market/keys.toml"),
        include_str!("../../../../systems/swarm/keys.toml"),
        include_str!("../../../../systems/sequencer/keys.toml"),
    ];
    sources.iter().map(|source| Arc::new(keyplane_schema::parse("keys.toml", source).expect("a sound contract"))).collect()
});

static MATCHERS: LazyLock<[Matcher; 2]> = LazyLock::new(|| {
    let matcher = |naming: fn(&Contract) -> Naming| Matcher::new(CONTRACTS.iter().map(|contract| (contract.clone(), naming(contract))));
    [matcher(Naming::plain), matcher(Naming::tagged)]
});

fuzz_target!(|key: &str| {
    for (matcher, tagged) in MATCHERS.iter().zip([false, true]) {
        for hit in matcher.find_all(key) {
            let naming = if tagged { Naming::tagged(hit.contract) } else { Naming::plain(hit.contract) };
            let again = hit.key.render(hit.contract, &naming, Purpose::Read, &hit.params);
            assert_eq!(again.as_deref(), Ok(key));
        }
    }
});
