//! `keys list`: the keys of contracts.

use keyplane_schema::{Contract, Key, Naming};
use serde_json::{Value, json};

use super::{ttl_json, type_json};
use crate::args::Chosen;
use crate::contracts;
use crate::outcome::{Failure, Outcome};
use crate::output::Output;

pub(super) fn run(chosen: &Chosen, helpers: bool, output: &Output) -> Result<Outcome, Failure> {
    let contracts = contracts::chosen(chosen)?;
    let keys = || {
        contracts
            .iter()
            .flat_map(|(contract, naming)| contract.keys.iter().map(move |key| (&**contract, naming, key)))
            .filter(|(_, _, key)| helpers || key.helper_of.is_none())
    };
    if output.json {
        let all: Vec<Value> = keys().map(|(contract, naming, key)| json(contract, naming, key)).collect();
        output.document(&json!(all))?;
    } else {
        let several = contracts.len() > 1;
        let row = |(contract, naming, key): (&Contract, &Naming, &Key)| {
            let name = if several { format!("{}/{}", contract.name, key.name) } else { key.name.clone() };
            vec![name, key.type_words(), naming.pattern(key).to_string(), key.ttl.policy.to_string()]
        };
        output.table(&["KEY", "TYPE", "PATTERN", "TIME TO LIVE"], &keys().map(row).collect::<Vec<_>>())?;
    }
    Ok(Outcome::Fine)
}

fn json(contract: &Contract, naming: &Naming, key: &Key) -> Value {
    json!({
        "schema": contract.name,
        "name": key.name,
        "type": type_json(key),
        "pattern": naming.pattern(key).as_str(),
        "ttl": ttl_json(key),
        "doc": key.doc,
        "helper_of": key.helper_of.as_ref().map(|helper| &helper.host),
    })
}
