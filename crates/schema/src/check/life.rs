//! Aliases and examples agree with the keys they stand on.

use crate::diagnostic::{Code, Diagnostic};
use crate::language::Language;
use crate::model::{Contract, Key};
use crate::naming::{Naming, language};

pub(super) fn check(contract: &Contract) -> Vec<Diagnostic> {
    let own = || contract.keys.iter().filter(|key| key.helper_of.is_none());
    own().flat_map(|key| alias(contract, key).into_iter().chain(examples(contract, key))).collect()
}

fn alias(contract: &Contract, key: &Key) -> Option<Diagnostic> {
    let original = contract.key(key.life.alias_of.as_deref()?)?;
    let error =
        |message: String, label: &str| Diagnostic::error(Code::LifeCycle, message, key.at.life, label);
    if original.name == key.name {
        return Some(error(format!("`{}` cannot be an alias of itself", key.name), "name another key"));
    }
    if let Some(further) = &original.life.alias_of {
        let message = format!("`{}` is itself an alias of `{further}`", original.name);
        return Some(error(message, "name the original").also(original.at.life, "an alias too"));
    }
    let error =
        |message: String, label: &str| Some(error(message, label).also(original.at.name, "the original"));
    if original.types != key.types {
        let message = format!(
            "an alias has the type of its original: `{}` is a {}, not a {}",
            original.name,
            original.type_words(),
            key.type_words()
        );
        return error(message, "another type");
    }
    let sorted = |key: &Key| {
        let mut params: Vec<String> = key.pattern.params().map(str::to_owned).collect();
        params.sort();
        params
    };
    if sorted(original) != sorted(key) {
        return error(
            format!("an alias has the placeholders of its original: `{}`", original.pattern),
            "other placeholders",
        );
    }
    None
}

fn examples(contract: &Contract, key: &Key) -> Vec<Diagnostic> {
    let pattern = Naming::plain(contract).pattern(key);
    let language = language(contract, pattern.segments(), true);
    let misses = |example: &&String| {
        let mut literal = Language::default();
        literal.literal(example);
        literal.meet(&language).is_none()
    };
    let report = |example: &String| {
        let message = format!("the example `{example}` does not match `{pattern}`");
        Diagnostic::error(Code::Example, message, key.at.example, "does not match")
            .also(key.at.pattern, "this pattern")
    };
    key.examples.iter().filter(misses).map(report).collect()
}
