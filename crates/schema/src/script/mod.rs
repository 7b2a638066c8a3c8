//! Lua scripts tied to the operations of a contract: a header that states what a script does, and a lint that holds it
//! to that before it ever runs.
//!
//! ```lua
//! -- mempool/receive v1: accept a transaction once.
//! -- keys: pending(rw) inflight(r) payload(w) stats(rw keep) events(w)
//! -- args: hash, payload, max_count, ttl(payload), hashes...
//! -- returns: {"ok", seq} | {"duplicate", stage} | {"full", limit_name}
//! -- repeat: safe
//! ```
//!
//! # The header
//! The comment lines at the top of the file, up to the first line that is empty or code. A line that starts with two or
//! more spaces behind `--` goes on with the one before.
//! - The first names contract, script (the file without `.lua`) and version, and says what the script does. The contract
//!   has an operation with `script = "receive.lua"`; if several have, the header agrees with each.
//! - `keys:` in the order of KEYS, each with its access. They are the keys of the operation. `r`: all its verbs on the
//!   key only peek. `w`: none peeks. `rw`: both. Some verbs return what they change (update, count, consume, hold, swap);
//!   without `peek` beside them `w` and `rw` are both right, and `rw` is for scripts that look, such as the GET of a
//!   lock. `keep`: the script writes the key and leaves its TTL alone. `...`: any number of keys of that family; these
//!   come last.
//! - `args:` in the order of ARGV, or `none`. `ttl(key)` is filled in by the runner with the contract's TTL of that key in
//!   milliseconds. The last may repeat.
//! - `returns:` for people. `repeat:` says whether running it twice with the same arguments is the same as once; a script
//!   that only reads may leave it out.
//!
//! # Sharing
//! A line `-- include: tell.lua` in the body stands for the text of `include/tell.lua` ([`include::read`]); the lint sees the
//! whole.
//!
//! # The lint
//! - It is Lua 5.1, as a server's `SCRIPT LOAD` takes it, without globals, without libraries that the embedded store does
//!   not have, without clocks and dice.
//! - Every key of every command comes from KEYS: `KEYS[3]`, a local that holds one, the variable of a loop over
//!   `ipairs(KEYS)`, `KEYS[i]`, a parameter or the result of a local function that only ever has such. Where one of
//!   several keys is meant, the command must be right for each of them. `KEYS[i]` with a loop variable is any key in the
//!   range of the loop, with another index any key that repeats; there a command that fails on other types (HSET, not SET
//!   or DEL) speaks of the families of its type only.
//! - Every command is written out and one that the operation's verbs have on that key, which is what the ACL of its
//!   component grants: besides the verb's own, EXISTS, TYPE, TTL and their like for who peeks, expiry commands for who writes,
//!   and counting (HLEN, SISMEMBER, …) for who writes a key whose number of items is limited. LMOVE goes to a list that the
//!   operation produces. Of commands without keys, TIME.
//! - Every key that may be created and expires by the contract gets its TTL in the script, or is marked `keep`. The TTL
//!   is never a constant, and `ttl(key)` meets its own key in its own unit. A key without expiry gets none.
//! - `unpack` has a bound of 1,000 values that can be seen: constants, `unpack(t, i, math.min(i + 999, #t))` (the end may be
//!   a local), KEYS and ARGV that do not repeat, a constructor that nobody adds to.
//! - Functions are local, have names and named parameters, are called by them, and do not call themselves. A local may
//!   stand for one library function: `local call = redis.call`.
//! - What the header declares is used, and what is used is declared.
//!
//! The lint catches mistakes, not malice: rights on a server are the ACL's matter.

mod agree;
mod ast;
mod calls;
mod commands;
mod expiry;
mod expression;
mod facts;
mod header;
pub mod include;
mod inputs;
mod library;
mod names;
mod origin;
mod parse;
mod position;
mod scope;
mod token;
mod unpack;

use crate::diagnostic::{Broken, Diagnostic};
use crate::model::{Contract, Key, Op};
use crate::verbs::Access;
use header::Header;
use origin::{Inputs, Origins};

/// A script that was read and checked.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Script {
    /// The contract's name.
    pub contract: String,
    /// Its name: the file's without `.lua`.
    pub name: String,
    /// Its version.
    pub version: u32,
    /// What it does.
    pub doc: String,
    /// The operations that run it; never empty.
    pub ops: Vec<String>,
    /// Its keys, in the order of KEYS.
    pub keys: Vec<ScriptKey>,
    /// Its arguments, in the order of ARGV.
    pub args: Vec<ScriptArg>,
    /// What it returns, for people.
    pub returns: String,
    /// Running it twice with the same arguments is the same as once.
    pub repeatable: bool,
    /// It changes nothing.
    pub read_only: bool,
}

/// A key of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScriptKey {
    /// Its name in the contract.
    pub key: String,
    /// What is done to it.
    pub access: Access,
    /// The script writes it and leaves its TTL alone.
    pub keep: bool,
    /// Any number of keys of this family.
    pub repeats: bool,
}

/// An argument of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScriptArg {
    /// Given by the caller.
    Value {
        /// Its name.
        name: String,
        /// Any number of them; only the last.
        repeats: bool,
    },
    /// The contract's TTL of a key in milliseconds, given by the runner.
    Ttl {
        /// The key.
        key: String,
    },
}

/// Reads and checks one script against its contract. `file` is for messages, such as `src/scripts/receive.lua`; its
/// stem is the script's name.
pub fn check(contract: &Contract, file: &str, source: &str) -> Result<Script, Box<Broken>> {
    let name = agree::stem(file);
    let ops = agree::operations(contract, name);
    let (header, mut found) = header::read(source);
    if found.is_empty() {
        found = agree::check(contract, name, &ops, &header);
    }
    // The keys of a body are told by the header, so a broken header leaves less to say about it.
    let sound = found.is_empty().then_some(&header);
    found.extend(lint(contract, &ops, sound, source));
    match script(&header, &ops) {
        Some(script) if found.is_empty() => Ok(script),
        _ => {
            found.sort_by_key(|found| found.span().start);
            found.dedup();
            let (file, source) = (file.to_owned(), source.to_owned());
            Err(Box::new(Broken { file, source, diagnostics: found }))
        }
    }
}

/// What the checks of the body share.
struct Lint<'a, 'f> {
    contract: &'f Contract,
    ops: &'f [&'f Op],
    header: &'f Header,
    origins: Origins<'a, 'f>,
    found: Vec<Diagnostic>,
}

impl<'f> Lint<'_, 'f> {
    /// The contract's key behind a number of the header.
    fn key(&self, index: usize) -> Option<&'f Key> {
        self.contract.key(&self.header.keys[index].name.text)
    }
}

fn lint(contract: &Contract, ops: &[&Op], header: Option<&Header>, source: &str) -> Vec<Diagnostic> {
    let chunk = match parse::parse(source) {
        Ok(chunk) => chunk,
        Err(error) => return vec![*error],
    };
    let (known, mut found) = names::check(&chunk);
    let Some(header) = header else { return found };
    let facts = facts::collect(&chunk, &known);
    let origins = Origins::new(&chunk, &facts, &known, Inputs::new(header));
    let mut lint = Lint { contract, ops, header, origins, found: Vec::new() };
    let touches = calls::check(&mut lint);
    expiry::check(&mut lint, &touches);
    unpack::check(&mut lint);
    found.append(&mut lint.found);
    lint.found = found;
    inputs::check(&mut lint, &touches);
    lint.found
}

fn script(header: &Header, ops: &[&Op]) -> Option<Script> {
    let title = header.title.as_ref()?;
    let read_only = header.keys.iter().all(|key| key.access == Access::Read);
    let key = |key: &header::HeaderKey| ScriptKey {
        key: key.name.text.clone(),
        access: key.access,
        keep: key.keep.is_some(),
        repeats: key.repeats.is_some(),
    };
    let arg = |arg: &header::HeaderArg| match arg.ttl {
        true => ScriptArg::Ttl { key: arg.name.text.clone() },
        false => ScriptArg::Value { name: arg.name.text.clone(), repeats: arg.repeats.is_some() },
    };
    Some(Script {
        contract: title.contract.text.clone(),
        name: title.name.text.clone(),
        version: title.version,
        doc: title.doc.clone(),
        ops: ops.iter().map(|op| op.name.clone()).collect(),
        keys: header.keys.iter().map(key).collect(),
        args: header.args.iter().map(arg).collect(),
        returns: header.returns.clone(),
        repeatable: header.repeat.map_or(read_only, |(safe, _)| safe),
        read_only,
    })
}
