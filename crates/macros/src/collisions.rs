//! Names that are different in a contract and the same in Rust: told by both names, not by an error in generated code.

use std::collections::HashMap;

use keyplane_schema::{Contract, Key, ParamKind};

use crate::words::{constant_name, constructor_names, function_name, type_name};

/// The first two names that cannot stand side by side, in words.
pub(crate) fn find(contract: &Contract) -> Option<String> {
    types(contract)
        .or_else(|| methods(contract))
        .or_else(|| variants(contract))
        .or_else(|| contract.keys.iter().find_map(fields))
}

/// Remembers what each Rust name stands for.
struct Seen<'n> {
    what: &'static str,
    names: HashMap<String, &'n str>,
}

impl<'n> Seen<'n> {
    fn new(what: &'static str, taken: &[(&str, &'n str)]) -> Self {
        Self { what, names: taken.iter().map(|(name, by)| ((*name).to_owned(), *by)).collect() }
    }

    fn add(&mut self, name: Option<String>, of: &'n str) -> Option<String> {
        let Some(name) = name else {
            return Some(format!("the {} `{of}` has no name in Rust; rename it", self.what));
        };
        let other = self.names.insert(name.clone(), of)?;
        Some(format!(
            "the {} `{of}` and {other} would both be called `{name}` in Rust; rename one of them",
            self.what
        ))
    }
}

fn types(contract: &Contract) -> Option<String> {
    let mut seen = Seen::new("placeholder", &[("Keyspace", "the struct of all keys")]);
    contract.params.iter().find_map(|param| seen.add(Some(type_name(&param.name).to_string()), &param.name))
}

fn methods(contract: &Contract) -> Option<String> {
    let reserved = [
        ("new", "the constructor of Keyspace"),
        ("default", "the constructor of Keyspace"),
        ("clone", "a method of Keyspace"),
    ];
    let mut seen = Seen::new("key", &reserved);
    let mut infos = Seen::new("key", &[]);
    contract.keys.iter().find_map(|key| {
        let method = constructor_names(key)
            .into_iter()
            .find_map(|(name, _)| seen.add(Some(name.to_string()), &key.name));
        method.or_else(|| infos.add(constant_name(&key.name).map(|name| name.to_string()), &key.name))
    })
}

fn variants(contract: &Contract) -> Option<String> {
    contract.params.iter().find_map(|param| match &param.kind {
        ParamKind::OneOf { words, open: false } => {
            let mut seen = Seen::new("word", &[]);
            words.iter().find_map(|word| seen.add(Some(type_name(word).to_string()), word))
        }
        _ => None,
    })
}

fn fields(key: &Key) -> Option<String> {
    let mut seen = Seen::new("field", &[]);
    key.fields.iter().find_map(|field| {
        let text = field.name.as_str();
        let name =
            if field.name.params().next().is_some() { function_name(text) } else { constant_name(text) };
        seen.add(name.map(|name| name.to_string()), text)
    })
}
