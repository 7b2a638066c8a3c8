//! Limits that cannot all be kept are refused.

use crate::diagnostic::{Code, Diagnostic, Span};
use crate::model::{Contract, FieldMax, Key, Limits};
use crate::units::show_size;
use crate::verbs::RedisType;

pub(super) fn check(contract: &Contract) -> Vec<Diagnostic> {
    contract
        .keys
        .iter()
        .filter(|key| key.helper_of.is_none())
        .flat_map(|key| check_key(contract, key))
        .collect()
}

fn check_key(contract: &Contract, key: &Key) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let mut error = |at: Span, message: String, label: &str| {
        found.push(Diagnostic::error(Code::Limits, message, at, label))
    };
    let Limits { bytes, fields, members, total } = key.max;
    let ceiling = &contract.limits;
    let over =
        |own: Option<u64>, ceiling: Option<u64>| own.zip(ceiling).filter(|(own, ceiling)| own > ceiling);
    if let Some((own, ceiling)) = over(bytes, ceiling.bytes) {
        let message = format!(
            "`{}` may hold {}, but no key of this contract may exceed {}",
            key.name,
            show_size(own),
            show_size(ceiling)
        );
        error(key.at.max, message, "above [limits]; a record of many keys has its limit in `total`");
    }
    for (word, own, ceiling) in [("fields", fields, ceiling.fields), ("members", members, ceiling.members)] {
        if let Some((own, ceiling)) = over(own, ceiling) {
            error(
                key.at.max,
                format!("`{}` may hold {own} {word}, but [limits] allows {ceiling}", key.name),
                "above [limits]",
            );
        }
    }
    if let Some((bytes, total)) = bytes.zip(total).filter(|(bytes, total)| bytes > total) {
        let message = format!(
            "one key of `{}` may hold {}, more than its total of {}",
            key.name,
            show_size(bytes),
            show_size(total)
        );
        error(key.at.max, message, "`total` is smaller than `bytes`");
    }
    let has = |kinds: &[RedisType]| key.types.iter().any(|kind| kinds.contains(kind));
    if fields.is_some() && !has(&[RedisType::Hash]) {
        error(key.at.max, format!("a {} has no fields to limit", key.type_words()), "not for this type");
    }
    if members.is_some() && !has(&[RedisType::List, RedisType::Set, RedisType::Zset, RedisType::Stream]) {
        error(key.at.max, format!("a {} has no members to limit", key.type_words()), "not for this type");
    }
    let limits = key.limits(contract);
    if let Some(max) = limits.fields.filter(|max| (key.fields.len() as u64) > *max) {
        error(
            key.at.max,
            format!("`{}` declares {} fields and allows {max}", key.name, key.fields.len()),
            "too few",
        );
    }
    for field in &key.fields {
        if let (Some(FieldMax::Bytes(own)), Some(max)) = (field.max, limits.bytes)
            && own > max
        {
            let message = format!(
                "field `{}` may hold {}, more than its key: {}",
                field.name,
                show_size(own),
                show_size(max)
            );
            error(field.at, message, "larger than the key");
        }
    }
    found
}
