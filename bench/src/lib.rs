//! Side-by-side measurements; the benchmarks are in `benches/`, the book of results is `RESULTS.md`.
//!
//! This library holds what they share: the five contracts, realistic keys, and synthetic contracts of any size.

pub mod rig;
pub mod sides;

use std::sync::Arc;

use keyplane_schema::{Broken, Contract, Matcher, Naming, Purpose};

/// The contracts of the five systems.
pub const SYSTEMS: [(&str, &str); 5] = [
    ("mempool", include_str!("../../systems/mempool/keys.toml")),
    ("docket", include_str!("../../systems/docket/keys.toml")),
    ("market", include_str!("../../systems/market/keys.toml")),
    ("swarm", include_str!("../../systems/swarm/keys.toml")),
    ("sequencer", include_str!("../../systems/sequencer/keys.toml")),
];

/// The five contracts, read and checked.
pub fn contracts() -> Result<Vec<Arc<Contract>>, Box<Broken>> {
    SYSTEMS.iter().map(|(name, source)| keyplane_schema::parse(name, source).map(Arc::new)).collect()
}

/// A matcher over contracts, plain names.
#[must_use]
pub fn matcher(contracts: &[Arc<Contract>]) -> Matcher {
    Matcher::new(contracts.iter().map(|contract| (contract.clone(), Naming::plain(contract))))
}

/// One concrete key of every family of every contract, and as many that match nothing.
#[must_use]
pub fn keys(contracts: &[Arc<Contract>]) -> Vec<String> {
    let mut keys = Vec::new();
    for contract in contracts {
        for key in &contract.keys {
            let samples: Vec<(&str, String)> = key
                .pattern
                .params()
                .filter_map(|name| Some((name, contract.param(name)?.sample())))
                .collect();
            let values: Vec<(&str, &str)> =
                samples.iter().map(|(name, value)| (*name, value.as_str())).collect();
            if let Ok(text) = key.render(contract, &Naming::plain(contract), Purpose::Read, &values) {
                keys.push(format!("{text}:x"));
                keys.push(text);
            }
        }
    }
    keys
}

/// A contract with that many keys, for growth: the cost of a match must not follow.
pub fn synthetic(count: usize) -> Result<Arc<Contract>, Box<Broken>> {
    let mut source = String::from(
        "[contract]\nname = \"synthetic\"\nversion = \"1.0\"\ndoc = \"Many keys.\"\n[param]\nid = { like = 'id_[a-z0-9]{4,12}' }\n[component]\napp = \"App.\"\n",
    );
    for number in 0..count {
        source.push_str(&format!(
            "[key.k{number}]\npattern = \"app:group:family{number}:<id>\"\ntype = \"hash\"\nttl = {{ policy = \"none\" }}\ndoc = \"Key.\"\nwrites = [\"app\"]\n"
        ));
    }
    keyplane_schema::parse("synthetic", &source).map(Arc::new)
}
