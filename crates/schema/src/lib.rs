//! The contract language: `keys.toml` parsed, checked, rendered and matched; docs, ACL users and diffs from it.
//!
//! This crate is pure: text in, values out, no I/O and no clock. What it promises:
//!
//! - a [`Contract`] that [`parse`] returns is sound: every name is known, no key matches two patterns, every script
//!   stays on one slot, every linked TTL leads somewhere, no ACL pattern reaches a stranger's keys unexplained;
//! - what is not sound is refused with file, line, column, reason, the source line, and where it helps a key that proves
//!   the point ([`Broken`]); as many findings as can be told apart come at once;
//! - a [`script::Script`] that [`script::check`] returns does what its operation says, on the keys that it is given;
//! - [`Key::render`] and [`Matcher::find`] are inverse to each other;
//! - matching costs in proportion to the length of the key, not to the number of patterns.
//!
//! It does not know what is stored anywhere: comparing a live server with its contract is another crate's work.

pub mod acl;
mod check;
mod dfa;
mod diagnostic;
mod diff;
mod doc;
mod fragments;
mod json_schema;
mod language;
mod matcher;
mod miss;
mod model;
mod naming;
mod node;
mod pattern;
mod read;
mod render;
pub mod script;
mod units;
mod values;
mod verbs;

pub use dfa::Dfa;
pub use diagnostic::{Broken, Code, Diagnostic, Label, Span};
pub use diff::{Change, Diff, Effect, diff};
pub use doc::markdown;
pub use fragments::fragments;
pub use json_schema::json_schema;
pub use matcher::{Match, Matcher};
pub use miss::{Miss, explain_miss};
pub use model::{
    Before, Component, Contract, Encoding, Event, Field, FieldMax, Helper, How, Key, Layout, LifeCycle,
    Limits, Op, OpKey, Owner, Param, ParamKind, Policy, Shape, Tag, TimeFormat, Ttl, ValueType, Version,
};
pub use naming::{Naming, NamingError};
pub use pattern::{Pattern, Segment};
pub use read::closest;
pub use render::{Purpose, RenderError};
pub use units::{FloatRange, IntRange, duration as parse_duration, show_duration, show_size};
pub use values::ValueCheck;
pub use verbs::{Access, RedisType, Verb};

/// Keys that two contracts on one server would share: the names in each, and a key that both match.
#[must_use]
pub fn shared_keys(
    first: (&Contract, &Naming),
    second: (&Contract, &Naming),
) -> Vec<(String, String, String)> {
    check::overlap::between(first, second)
}

/// Reads and checks a contract. `file` is only for messages.
pub fn parse(file: &str, source: &str) -> Result<Contract, Box<Broken>> {
    read_contract(file, source, check::all)
}

/// Reads a contract that was proven before, as `keyspace!` does while a program is compiled. That it is sound is not proven again:
/// that would take longer than all else that a short command does.
pub fn parse_proven(file: &str, source: &str) -> Result<Contract, Box<Broken>> {
    read_contract(file, source, |_| Vec::new())
}

fn read_contract(
    file: &str,
    source: &str,
    check: impl FnOnce(&Contract) -> Vec<Diagnostic>,
) -> Result<Contract, Box<Broken>> {
    let broken = |mut diagnostics: Vec<Diagnostic>| {
        diagnostics.sort_by_key(|found| found.span().start);
        Box::new(Broken { file: file.to_owned(), source: source.to_owned(), diagnostics })
    };
    let table = node::parse(source).map_err(|error| broken(vec![error]))?;
    let (mut contract, mut found) = read::contract(source, &table);
    if found.is_empty() {
        found = fragments::expand(&mut contract);
    }
    if found.is_empty() {
        found = check(&contract);
    }
    if found.is_empty() { Ok(contract) } else { Err(broken(found)) }
}
