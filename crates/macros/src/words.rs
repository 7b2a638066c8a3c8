//! Names of the contract as names in Rust.

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
    if name.is_empty() || name == "Self" {
        name.push_str("Value");
    }
    Ident::new(&name, Span::call_site())
}

/// A method or argument; a raw identifier where the word is reserved.
pub(crate) fn value_name(text: &str) -> Ident {
    syn::parse_str::<Ident>(text).unwrap_or_else(|_| Ident::new_raw(text, Span::call_site()))
}

/// `currentTask` → `CURRENT_TASK`, `bid<level>_p` is not a constant.
pub(crate) fn constant_name(text: &str) -> Ident {
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
    Ident::new(name.trim_end_matches('_'), Span::call_site())
}

/// `bid<level>_p` → `bid_level_p`.
pub(crate) fn function_name(text: &str) -> Ident {
    value_name(&constant_name(text).to_string().to_lowercase())
}
