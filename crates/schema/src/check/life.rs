//! Life-cycle words and examples agree with the keys they stand on.

use crate::diagnostic::{Code, Diagnostic};
use crate::model::{Contract, Key};
use crate::naming::{Naming, language};
use crate::language::Language;

pub(super) fn check(contract: &Contract) -> Vec<Diagnostic> {
    let own = || contract.keys.iter().filter(|key| key.helper_of.is_none());
    own().flat_map(|key| dates(key).into_iter().chain(alias(contract, key)).chain(examples(contract, key))).collect()
}

fn dates(key: &Key) -> Option<Diagnostic> {
    let life = &key.life;
    let error = |message: String, label: &str| Some(Diagnostic::error(Code::LifeCycle, message, key.at.life, label));
    for (word, date) in [("deprecated", &life.deprecated), ("remove_after", &life.remove_after)] {
        if let Some(date) = date.as_ref().filter(|date| !is_date(date)) {
            return error(format!("`{word}` takes a date, not `{date}`"), "write YYYY-MM-DD");
        }
    }
    match (&life.deprecated, &life.remove_after) {
        (None, Some(_)) => error(format!("`{}` has `remove_after` without `deprecated`", key.name), "say first since when it is deprecated"),
        (Some(deprecated), Some(removed)) if removed < deprecated => {
            error(format!("`{}` would be removed on {removed}, before it is deprecated on {deprecated}", key.name), "in the wrong order")
        }
        _ => None,
    }
}

fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let number = |part: &str, length: usize| (part.len() == length).then(|| part.parse::<u32>().ok()).flatten();
    match parts.as_slice() {
        [year, month, day] => {
            number(year, 4).is_some() && number(month, 2).is_some_and(|m| (1..=12).contains(&m)) && number(day, 2).is_some_and(|d| (1..=31).contains(&d))
        }
        _ => false,
    }
}

fn alias(contract: &Contract, key: &Key) -> Option<Diagnostic> {
    let original = contract.key(key.life.alias_of.as_deref()?)?;
    let error = |message: String, label: &str| Some(Diagnostic::error(Code::LifeCycle, message, key.at.life, label).also(original.at.name, "the original"));
    if original.name == key.name {
        return error(format!("`{}` cannot be an alias of itself", key.name), "here");
    }
    if let Some(further) = &original.life.alias_of {
        return error(format!("`{}` is itself an alias of `{further}`", original.name), "name the original");
    }
    if original.types != key.types {
        return error(format!("an alias has the type of its original: {} is a {}", original.name, original.type_words()), "another type");
    }
    let sorted = |key: &Key| {
        let mut params: Vec<String> = key.pattern.params().map(str::to_owned).collect();
        params.sort();
        params
    };
    if sorted(original) != sorted(key) {
        return error(format!("an alias has the placeholders of its original: {}", original.pattern), "other placeholders");
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
        let message = format!("the example `{example}` does not match its own pattern");
        Diagnostic::error(Code::Example, message, key.at.pattern, "this pattern")
    };
    key.examples.iter().filter(misses).map(report).collect()
}
