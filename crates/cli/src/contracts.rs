//! Where contracts come from: built in, or a file.

use std::sync::Arc;

use keyplane_schema::{Broken, Contract, Naming};

use crate::args::Chosen;
use crate::outcome::Failure;

/// The contracts of the systems in this binary.
pub(crate) const BUILT_IN: &[(&str, &str)] = &[
    #[cfg(feature = "mempool")]
    ("mempool", include_str!("../../../systems/mempool/keys.toml")),
    #[cfg(feature = "docket")]
    ("docket", include_str!("../../../systems/docket/keys.toml")),
    #[cfg(feature = "market")]
    ("market", include_str!("../../../systems/market/keys.toml")),
    ("swarm", include_str!("../../../systems/swarm/keys.toml")),
    #[cfg(feature = "sequencer")]
    ("sequencer", include_str!("../../../systems/sequencer/keys.toml")),
];

/// Why there is no contract.
pub(crate) enum NoContract {
    /// It could not be read.
    Failure(Failure),
    /// It is not sound.
    Broken(Box<Broken>),
}

impl From<NoContract> for Failure {
    fn from(reason: NoContract) -> Self {
        match reason {
            NoContract::Failure(failure) => failure,
            NoContract::Broken(broken) => {
                let first = broken.diagnostics.first();
                let (line, column) = first.map_or((1, 1), |first| first.line_column(&broken.source));
                let message = first.map(|first| first.message.clone()).unwrap_or_default();
                Self::new(format!("{}:{line}:{column}: the contract is not sound: {message}", broken.file))
                    .help(format!("keyplane keys check {} shows all of it", broken.file))
            }
        }
    }
}

/// Reads one contract by file or built-in name.
pub(crate) fn load(schema: &str) -> Result<Contract, NoContract> {
    let (file, source) = source(schema).map_err(NoContract::Failure)?;
    keyplane_schema::parse(&file, &source).map_err(NoContract::Broken)
}

fn source(schema: &str) -> Result<(String, String), Failure> {
    if let Some((name, text)) = BUILT_IN.iter().find(|(name, _)| *name == schema) {
        return Ok((format!("{name} (built in)"), (*text).to_owned()));
    }
    match std::fs::read_to_string(schema) {
        Ok(text) => Ok((schema.to_owned(), text)),
        Err(error) if !schema.contains(['/', '.']) => {
            let names: Vec<&str> = BUILT_IN.iter().map(|(name, _)| *name).collect();
            Err(Failure::new(format!("there is no contract `{schema}`: {error}"))
                .help(format!("built in: {}; or give the path of a keys.toml", names.join(", "))))
        }
        Err(error) => Err(Failure::new(format!("cannot read {schema}: {error}"))
            .help("give the path of a keys.toml, or the name of a built-in contract")),
    }
}

/// The contract of the folder one works in.
const HERE: &str = "keys.toml";

/// The named contract, or that of this folder.
pub(crate) fn named_or_here(schema: Option<&str>) -> Result<String, Failure> {
    match schema {
        Some(schema) => Ok(schema.to_owned()),
        None if std::path::Path::new(HERE).is_file() => Ok(HERE.to_owned()),
        None => {
            let names: Vec<&str> = BUILT_IN.iter().map(|(name, _)| *name).collect();
            Err(Failure::new("no contract is named, and there is no keys.toml here")
                .help(format!("built in: {}; or give the path of a keys.toml", names.join(", "))))
        }
    }
}

/// The chosen contracts with their spelling; when none is named that of this folder, else all built-in ones.
pub(crate) fn chosen(chosen: &Chosen) -> Result<Vec<(Arc<Contract>, Naming)>, Failure> {
    let names: Vec<String> = match chosen.schemas.as_slice() {
        [] => named_or_here(None).map_or_else(
            |_| BUILT_IN.iter().map(|(name, _)| (*name).to_owned()).collect(),
            |here| vec![here],
        ),
        named => named.to_vec(),
    };
    let mut contracts = Vec::new();
    for name in names {
        let contract = load(&name)?;
        let mut naming = if chosen.hash_tags { Naming::tagged(&contract) } else { Naming::plain(&contract) };
        if let Some(namespace) = &chosen.namespace {
            naming = naming.in_namespace(namespace);
        }
        naming.check(&contract).map_err(|error| {
            Failure::new(error.to_string()).help("--namespace takes what the deployment puts before its keys")
        })?;
        contracts.push((Arc::new(contract), naming));
    }
    Ok(contracts)
}

/// The key that a text which matches nothing comes nearest to, as `contract/name`, and what keeps it from matching.
pub(crate) fn nearest(contracts: &[(Arc<Contract>, Naming)], key: &str) -> Option<(String, String)> {
    let near = contracts.iter().filter_map(|(contract, naming)| {
        Some((contract, keyplane_schema::explain_miss(contract, naming, key)?))
    });
    let (contract, miss) = near.max_by_key(|(_, miss)| miss.nearness())?;
    Some((format!("{}/{}", contract.name, miss.key.name), miss.reason))
}
