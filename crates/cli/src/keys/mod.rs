//! `keyplane keys …`: reading contracts. Nothing here talks to a server.

mod acl;
mod check;
mod diff;
mod list;
mod matching;
mod scripts;
mod show;

use keyplane_schema::{Contract, Key, Policy, show_duration};
use serde_json::{Map, Value, json};

use crate::args::Keys;
use crate::contracts;
use crate::outcome::{Failure, Outcome};
use crate::output::Output;

pub(crate) fn run(command: &Keys, output: &Output) -> Result<Outcome, Failure> {
    match command {
        Keys::Check { files, scripts } => check::run(files, scripts.as_deref(), output),
        Keys::List { chosen, helpers } => list::run(chosen, *helpers, output),
        Keys::Show { name, chosen } => show::run(name, chosen, output),
        Keys::Match { keys, chosen } => matching::run(keys, chosen, output),
        Keys::Doc { schema } => {
            let contract = contracts::load(&contracts::named_or_here(schema.as_deref())?)?;
            output.text(&keyplane_schema::markdown(&contract))?;
            Ok(Outcome::Fine)
        }
        Keys::Acl { chosen, print } => acl::run(chosen, *print, output),
        Keys::Diff { old, new } => diff::run(old, new, output),
        Keys::JsonSchema => {
            output.document(&keyplane_schema::json_schema())?;
            Ok(Outcome::Fine)
        }
    }
}

/// The type as JSON: a text, or a list where the use decides.
fn type_json(key: &Key) -> Value {
    match key.types.as_slice() {
        [kind] => json!(kind.word()),
        kinds => json!(kinds.iter().map(|kind| kind.word()).collect::<Vec<_>>()),
    }
}

/// The TTL as JSON, with the words of the contract; durations also in milliseconds.
fn ttl_json(key: &Key) -> Value {
    let policy = &key.ttl.policy;
    let mut ttl = Map::from_iter([("policy".to_owned(), json!(policy.word()))]);
    if let Some(duration) = policy.duration() {
        ttl.insert("for".to_owned(), json!(show_duration(duration)));
        ttl.insert("for_ms".to_owned(), json!(duration.as_millis() as u64));
    }
    match policy {
        Policy::Linked { to, .. } => ttl.insert("to".to_owned(), json!(to)),
        Policy::After { event, .. } => ttl.insert("event".to_owned(), json!(event)),
        Policy::Pruned { key: Some(life), .. } => ttl.insert("key".to_owned(), json!(show_duration(*life))),
        _ => None,
    };
    if let Some(setting) = &key.ttl.setting {
        ttl.insert("setting".to_owned(), json!(setting));
    }
    Value::Object(ttl)
}

/// Who may do what to a key: component and verbs.
fn access(contract: &Contract, key: &Key) -> Vec<(String, Vec<&'static str>)> {
    let verbs = |component: &keyplane_schema::Component| {
        let verbs = keyplane_schema::acl::grants(contract, &component.name).remove(&key.name)?;
        Some((component.name.clone(), verbs.iter().map(|verb| verb.word()).collect()))
    };
    contract.components.iter().filter_map(verbs).collect()
}
