//! Names of the contract as names in Rust.

use keyplane_schema::{Key, RedisType};
use proc_macro2::{Ident, Span};

/// `swarm_id` → `SwarmId`, `in-progress` → `InProgress`, `5m` → `V5m`.
pub(crate) fn type_name(text: &str) -> Ident {
    let mut name = String::new();
    let mut upper = true;
    for c in text.chars() {
        if !c.is_ascii_alphanumeric() {
            upper = true;
            continue;
        }
        if name.is_empty() && c.is_ascii_digit() {
            name.push('V');
        }
        name.push(if upper { c.to_ascii_uppercase() } else { c });
        upper = false;
    }
    match name.as_str() {
        "" => name.push_str("Value"),
        "Self" => name.push('_'),
        _ => {}
    }
    Ident::new(&name, Span::call_site())
}

/// A method or argument; a raw identifier where the word is reserved, with `_` where even that is not allowed.
pub(crate) fn value_name(text: &str) -> Ident {
    match text {
        "self" | "super" | "crate" => Ident::new(&format!("{text}_"), Span::call_site()),
        // Reserved since the 2024 edition; an older parser may not know.
        "gen" => Ident::new_raw(text, Span::call_site()),
        _ => syn::parse_str::<Ident>(text).unwrap_or_else(|_| Ident::new_raw(text, Span::call_site())),
    }
}

/// The constructors of a key: one, or one per type where the use decides.
pub(crate) fn constructor_names(key: &Key) -> Vec<(Ident, RedisType)> {
    let several = key.types.len() > 1;
    let name = |kind: &RedisType| {
        let name = if several {
            value_name(&format!("{}_{}", key.name, kind.word()))
        } else {
            value_name(&key.name)
        };
        (name, *kind)
    };
    key.types.iter().map(name).collect()
}

/// `currentTask` → `CURRENT_TASK`; nothing where no letter or digit is left.
pub(crate) fn constant_name(text: &str) -> Option<Ident> {
    let mut name = String::new();
    let mut lower = false;
    for c in text.chars() {
        if !c.is_ascii_alphanumeric() {
            if !name.ends_with('_') && !name.is_empty() {
                name.push('_');
            }
            lower = false;
            continue;
        }
        if name.is_empty() && c.is_ascii_digit() {
            name.push_str("FIELD_");
        }
        if c.is_ascii_uppercase() && lower {
            name.push('_');
        }
        lower = c.is_ascii_lowercase() || c.is_ascii_digit();
        name.push(c.to_ascii_uppercase());
    }
    let name = name.trim_end_matches('_');
    (!name.is_empty()).then(|| Ident::new(name, Span::call_site()))
}

/// `bid<level>_p` → `bid_level_p`.
pub(crate) fn function_name(text: &str) -> Option<Ident> {
    constant_name(text).map(|name| value_name(&name.to_string().to_lowercase()))
}
