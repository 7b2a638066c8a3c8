//! The header agrees with the contract: the script's name, its operations, their keys and what is done to them.

use super::header::{Header, HeaderKey};
use crate::diagnostic::{Code, Diagnostic, Span};
use crate::model::{Contract, Op, Policy};
use crate::read::closest;
use crate::verbs::{Access, Verb};

/// The name of a script in a file such as `src/scripts/receive.lua`.
pub(super) fn stem(file: &str) -> &str {
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    name.strip_suffix(".lua").unwrap_or(name)
}

/// The operations that name the script.
pub(super) fn operations<'c>(contract: &'c Contract, name: &str) -> Vec<&'c Op> {
    contract.ops.iter().filter(|op| op.script.as_deref().is_some_and(|script| stem(script) == name)).collect()
}

pub(super) fn check(contract: &Contract, name: &str, ops: &[&Op], header: &Header) -> Vec<Diagnostic> {
    let mut found = title(contract, name, header);
    // Of another script's header nothing else can be said.
    if !found.is_empty() {
        return found;
    }
    if ops.is_empty() {
        return vec![no_operation(contract, name, header)];
    }
    // What one operation says about a key, another need not say again.
    found.extend(header.keys.iter().filter_map(|key| ops.iter().find_map(|op| op_key(contract, op, key))));
    // A key that is missing may be one that is misspelled.
    if !found.iter().any(|found| found.code == Code::UnknownName) {
        found.extend(ops.iter().find_map(|op| missing(op, header)));
    }
    if found.is_empty() {
        found.extend(slots(contract, header));
        found.extend(header.keys.iter().filter_map(|key| keep(contract, key)));
        found.extend(ttls(contract, header));
        found.extend(repeat(header));
    }
    found
}

fn error(
    code: Code,
    message: String,
    at: Span,
    label: impl Into<String>,
    help: impl Into<String>,
) -> Diagnostic {
    Diagnostic::error(code, message, at, label).help(help)
}

fn title(contract: &Contract, name: &str, header: &Header) -> Vec<Diagnostic> {
    let Some(title) = &header.title else { return Vec::new() };
    let mut found = Vec::new();
    if title.contract.text != contract.name {
        let message = format!(
            "the header names the contract `{}`, and this is `{}`",
            title.contract.text, contract.name
        );
        let help = format!("write `{}/{name}`", contract.name);
        found.push(error(Code::ScriptHeader, message, title.contract.at, "another contract", help));
    }
    if title.name.text != name {
        let message =
            format!("the header names the script `{}`, and the file is `{name}.lua`", title.name.text);
        found.push(error(Code::ScriptHeader, message, title.name.at, "another script", "rename one of them"));
    }
    found
}

fn no_operation(contract: &Contract, name: &str, header: &Header) -> Diagnostic {
    let scripts: Vec<&str> = contract.ops.iter().filter_map(|op| op.script.as_deref()).map(stem).collect();
    let help = match closest(name, &scripts) {
        Some(near) => {
            format!("did you mean `{near}.lua`? Else say `script = \"{name}.lua\"` at its operation")
        }
        None => format!("say `script = \"{name}.lua\"` at its operation in the contract"),
    };
    let at = header.title.as_ref().map_or(header.keys_at, |title| title.name.at);
    error(Code::UnknownName, format!("no operation names `{name}.lua`"), at, "no such script", help)
}

/// A key of the header, against one operation.
fn op_key(contract: &Contract, op: &Op, key: &HeaderKey) -> Option<Diagnostic> {
    let name = &key.name.text;
    let Some(own) = op.keys.iter().find(|own| own.key == *name) else {
        let names: Vec<&str> = op.keys.iter().map(|own| own.key.as_str()).collect();
        let (message, code) = if contract.key(name).is_some() {
            (format!("operation `{}` does not touch `{name}`", op.name), Code::ScriptAccess)
        } else {
            (format!("the contract has no key `{name}`"), Code::UnknownName)
        };
        let help = match closest(name, &names) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("its keys: {}", names.join(", ")),
        };
        return Some(error(code, message, key.name.at, "not one of its keys", help));
    };
    let allowed = accesses(&own.verbs);
    (!allowed.contains(&key.access)).then(|| {
        let verbs: Vec<&str> = own.verbs.iter().map(|verb| verb.word()).collect();
        let words: Vec<String> = allowed.iter().map(|access| format!("`{}`", word(*access))).collect();
        let message = format!(
            "operation `{}` may {} `{name}`: that is {}, not `{}`",
            op.name,
            verbs.join(" and "),
            words.join(" or "),
            word(key.access)
        );
        let help = format!("write `{name}({})`, or change the verbs of the operation", word(allowed[0]));
        error(Code::ScriptAccess, message, key.access_at, "not what the operation says", help)
    })
}

/// The accesses that verbs stand for. Some verbs return what they change: whoever does not peek besides may call that
/// reading or not.
fn accesses(verbs: &[Verb]) -> Vec<Access> {
    let peeks = verbs.contains(&Verb::Peek);
    let writes = verbs.iter().any(|verb| verb.writes());
    let returns = verbs.iter().any(|verb| verb.access() == Access::ReadWrite);
    match (peeks, writes) {
        (_, false) => vec![Access::Read],
        (true, true) => vec![Access::ReadWrite],
        (false, true) if returns => vec![Access::Write, Access::ReadWrite],
        (false, true) => vec![Access::Write],
    }
}

fn word(access: Access) -> &'static str {
    match access {
        Access::Read => "r",
        Access::Write => "w",
        Access::ReadWrite => "rw",
    }
}

/// Keys of the operation that the header lacks.
fn missing(op: &Op, header: &Header) -> Option<Diagnostic> {
    let lacks = |own: &&crate::model::OpKey| !header.keys.iter().any(|key| key.name.text == own.key);
    let entries: Vec<String> = op
        .keys
        .iter()
        .filter(lacks)
        .map(|own| format!("`{}({})`", own.key, word(accesses(&own.verbs)[0])))
        .collect();
    (!entries.is_empty()).then(|| {
        let message = format!("operation `{}` touches more keys than the header lists", op.name);
        let them = if entries.len() == 1 { "it" } else { "them" };
        let help = format!("add {}, or take {them} out of the operation", entries.join(" and "));
        error(Code::ScriptAccess, message, header.keys_at, "keys are missing", help)
    })
}

/// All keys of the script lie on one slot. The contract proves it for each operation; this is for all of them together.
fn slots(contract: &Contract, header: &Header) -> Option<Diagnostic> {
    let [first, others @ ..] = header.keys.as_slice() else { return None };
    let anchor = contract.key(&first.name.text)?;
    let stranger =
        |key: &&HeaderKey| contract.key(&key.name.text).is_some_and(|key| !anchor.shares_slot_with(key));
    // A family without a tag is on many slots by itself.
    let alone = others.is_empty() && first.repeats.is_some() && anchor.tag.is_none();
    let key = others.iter().find(stranger).or_else(|| alone.then_some(first))?;
    let (message, label) = if alone {
        (format!("several keys of `{}` are on different slots", first.name.text), "has no hash tag")
    } else {
        (format!("`{}` and `{}` are on different slots", first.name.text, key.name.text), "on another slot")
    };
    let help = "keys of one script share a hash tag: say `tag = \"…\"` on each, or split the script";
    Some(error(Code::CrossSlot, message, key.name.at, label, help))
}

/// `keep` is for keys that are written and have an end.
fn keep(contract: &Contract, key: &HeaderKey) -> Option<Diagnostic> {
    let (at, name) = (key.keep?, &key.name.text);
    let reason = if key.access == Access::Read {
        "is only read"
    } else if !contract.key(name)?.ttl.policy.expires() {
        "never expires by the contract"
    } else {
        return None;
    };
    let message = format!("`keep` says nothing here: `{name}` {reason}");
    let help = "`keep` is for a key that the script writes and whose TTL it leaves as it is; drop the word";
    Some(error(Code::ScriptExpiry, message, at, "pointless", help))
}

/// `ttl(key)` is for keys of the script that have an end.
fn ttls(contract: &Contract, header: &Header) -> Vec<Diagnostic> {
    let check = |name: &super::header::Word| {
        if !header.keys.iter().any(|key| key.name.text == name.text) {
            let names: Vec<&str> = header.keys.iter().map(|key| key.name.text.as_str()).collect();
            let help = match closest(&name.text, &names) {
                Some(near) => format!("did you mean `ttl({near})`?"),
                None => format!("its keys: {}", names.join(", ")),
            };
            let message = format!("`ttl({})` is about a key that the script does not have", name.text);
            return Some(error(Code::UnknownName, message, name.at, "not one of its keys", help));
        }
        let policy = &contract.key(&name.text)?.ttl.policy;
        let label = format!("the contract says: {policy}");
        if let Policy::Linked { to, at_least: None } = policy {
            let message =
                format!("`{}` has no duration of its own, so `ttl({})` is nothing", name.text, name.text);
            let help = format!(
                "let it end with `{to}`: PEXPIREAT it to the PEXPIRETIME of `{to}`, or take `ttl({to})`"
            );
            return Some(error(Code::ScriptExpiry, message, name.at, label, help));
        }
        (!policy.expires()).then(|| {
            let message = format!("`{}` never expires, so `ttl({})` is nothing", name.text, name.text);
            error(Code::ScriptExpiry, message, name.at, label, "leave the argument out")
        })
    };
    header.args.iter().filter(|arg| arg.ttl).filter_map(|arg| check(&arg.name)).collect()
}

/// A script that writes says whether it may run twice; for one that reads there is nothing to say.
fn repeat(header: &Header) -> Option<Diagnostic> {
    let reads = header.keys.iter().all(|key| key.access == Access::Read);
    match header.repeat {
        None if !reads => {
            let message = "the header does not say `repeat:`".to_owned();
            let help = "`-- repeat: safe` if running it twice with the same arguments is the same as once, else \
                        `-- repeat: unsafe`: a caller that got no answer must know whether it may ask again";
            Some(error(Code::ScriptHeader, message, header.keys_at, "the script writes", help))
        }
        Some((false, at)) if reads => {
            let message = "a script that only reads may always be repeated".to_owned();
            Some(error(
                Code::ScriptHeader,
                message,
                at,
                "nothing can go wrong",
                "say `safe`, or leave the line out",
            ))
        }
        _ => None,
    }
}
