//! `keys show NAME`: everything about one key.

use std::fmt::Write as _;

use keyplane_schema::{Contract, Key, Naming, show_size};
use serde_json::{Value, json};

use super::{access, ttl_json, type_json};
use crate::args::Chosen;
use crate::contracts;
use crate::outcome::{Failure, Outcome};
use crate::output::{FAINT, KEY, NAME, Output, wrapped};

pub(super) fn run(name: &str, chosen: &Chosen, output: &Output) -> Result<Outcome, Failure> {
    let contracts = contracts::chosen(chosen)?;
    let (schema, bare) = name.split_once('/').map_or((None, name), |(schema, bare)| (Some(schema), bare));
    let asked = contracts.iter().filter(|(contract, _)| schema.is_none_or(|schema| contract.name == schema));
    let found: Vec<(&Contract, &Naming, &Key)> =
        asked.filter_map(|(contract, naming)| Some((&**contract, naming, contract.key(bare)?))).collect();
    if found.is_empty() {
        let searched: Vec<&str> = contracts.iter().map(|(contract, _)| contract.name.as_str()).collect();
        let names: Vec<&str> =
            contracts.iter().flat_map(|(contract, _)| &contract.keys).map(|key| key.name.as_str()).collect();
        let help = match keyplane_schema::closest(bare, &names) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "keyplane keys list shows all names; --schema names another contract".to_owned(),
        };
        return Err(Failure::new(format!("no key is named `{name}` in {}", searched.join(", "))).help(help));
    }
    if output.json {
        let mut all: Vec<Value> =
            found.iter().map(|(contract, naming, key)| json(contract, naming, key)).collect();
        output.document(&if all.len() == 1 { all.remove(0) } else { Value::Array(all) })?;
    } else {
        for (contract, naming, key) in found {
            output.text(&card(contract, naming, key))?;
        }
    }
    Ok(Outcome::Fine)
}

fn card(contract: &Contract, naming: &Naming, key: &Key) -> String {
    let facts = facts(contract, key);
    let width = facts.iter().map(|(word, _)| word.chars().count()).max().unwrap_or(0).min(24);
    let mut text = format!("{NAME}{}{NAME:#} {FAINT}in {}{FAINT:#}\n", key.name, contract.name);
    let _ = writeln!(text, "  {KEY}{}{KEY:#}  {}", naming.pattern(key), key.type_words());
    let _ = writeln!(text, "  {}", wrapped(&key.doc, 2));
    for (word, value) in facts {
        let _ = writeln!(text, "  {FAINT}{word:width$}{FAINT:#}  {}", wrapped(&value, width + 4));
    }
    text
}

fn facts(contract: &Contract, key: &Key) -> Vec<(String, String)> {
    let limits = key.limits(contract);
    let most = [
        limits.bytes.map(show_size),
        limits.fields.map(|n| format!("{n} fields")),
        limits.members.map(|n| format!("{n} members")),
    ];
    let about_ttl = key.ttl.doc.as_ref().map(|doc| format!(" ({doc})")).unwrap_or_default();
    let cluster = if key.tag.is_some() {
        Naming::tagged(contract).pattern(key).to_string()
    } else {
        "a slot of its own".to_owned()
    };
    let mut facts = vec![
        ("lives".to_owned(), format!("{}{about_ttl}", key.ttl.policy)),
        ("setting".to_owned(), key.ttl.setting.clone().unwrap_or_default()),
        ("at most".to_owned(), most.into_iter().flatten().collect::<Vec<_>>().join(", ")),
        ("on Cluster".to_owned(), cluster),
        ("holds".to_owned(), key.element.as_ref().map(ToString::to_string).unwrap_or_default()),
        ("score".to_owned(), key.score.as_ref().map(ToString::to_string).unwrap_or_default()),
    ];
    facts.extend(relations(contract, key));
    facts.extend(
        key.pattern
            .params()
            .filter_map(|name| contract.param(name))
            .map(|param| (format!("<{}>", param.name), param.describe())),
    );
    facts.extend(access(contract, key).into_iter().map(|(component, verbs)| (component, verbs.join(" "))));
    facts.extend(key.fields.iter().map(|field| (format!(".{}", field.name), field_words(field))));
    facts.push((
        "note".to_owned(),
        key.note
            .as_deref()
            .map(|note| note.split_whitespace().collect::<Vec<_>>().join(" "))
            .unwrap_or_default(),
    ));
    facts.push(("example".to_owned(), key.examples.join("  ")));
    facts.retain(|(_, value)| !value.is_empty());
    facts
}

/// What the key has to do with other keys and with operations.
fn relations(contract: &Contract, key: &Key) -> Vec<(String, String)> {
    let helpers = contract
        .keys
        .iter()
        .filter(|other| other.helper_of.as_ref().is_some_and(|helper| helper.host == key.name));
    let ops = contract.ops.iter().filter(|op| op.keys.iter().any(|touched| touched.key == key.name));
    let named = |word: &str, name: &Option<String>| (word.to_owned(), name.clone().unwrap_or_default());
    vec![
        named("index of", &key.index_of),
        named("member of", &key.member_of),
        named("fields of", &key.fields_of),
        named("alias of", &key.life.alias_of),
        ("fed through".to_owned(), if key.via_outbox { "an outbox".to_owned() } else { String::new() }),
        ("helpers".to_owned(), helpers.map(|helper| helper.name.as_str()).collect::<Vec<_>>().join(", ")),
        ("operations".to_owned(), ops.map(|op| op.name.as_str()).collect::<Vec<_>>().join(", ")),
    ]
}

fn field_words(field: &keyplane_schema::Field) -> String {
    let required = if field.required { ", always there" } else { "" };
    let doc = if field.doc.is_empty() { String::new() } else { format!(" — {}", field.doc) };
    format!("{}{required}{doc}", field.kind)
}

fn json(contract: &Contract, naming: &Naming, key: &Key) -> Value {
    let limits = key.limits(contract);
    let field = |field: &keyplane_schema::Field| json!({ "name": field.name.as_str(), "holds": field.kind.to_string(), "required": field.required, "doc": field.doc });
    let params: serde_json::Map<String, Value> = key
        .pattern
        .params()
        .filter_map(|name| Some((name.to_owned(), json!(contract.param(name)?.describe()))))
        .collect();
    let grants: serde_json::Map<String, Value> =
        access(contract, key).into_iter().map(|(component, verbs)| (component, json!(verbs))).collect();
    json!({
        "schema": contract.name,
        "name": key.name,
        "type": type_json(key),
        "pattern": naming.pattern(key).as_str(),
        "params": params,
        "ttl": ttl_json(key),
        "max": { "bytes": limits.bytes, "fields": limits.fields, "members": limits.members, "total": limits.total },
        "holds": key.element.as_ref().map(ToString::to_string),
        "score": key.score.as_ref().map(ToString::to_string),
        "fields": key.fields.iter().map(field).collect::<Vec<_>>(),
        "access": grants,
        "operations": contract.ops.iter().filter(|op| op.keys.iter().any(|touched| touched.key == key.name)).map(|op| &op.name).collect::<Vec<_>>(),
        "doc": key.doc,
        "note": key.note,
        "examples": key.examples,
        "deprecated": key.life.deprecated,
        "alias_of": key.life.alias_of,
    })
}
