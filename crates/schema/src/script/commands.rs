//! What the lint knows about commands: where their keys are, whether they show data, change it, or create keys.

use crate::verbs::{EXPIRE, LOOK, RedisType, Verb};

/// Where a command has its keys, counted behind its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyArgs {
    /// The first argument.
    First,
    /// The first two: from and to.
    FromTo,
    /// All of them.
    All,
    /// Behind their number.
    Counted,
    /// Behind `STREAMS`, followed by as many ids.
    Streams,
}

/// Size and membership. They show no data, so whoever writes a key may ask.
const SIZES: [&str; 8] = ["hlen", "hexists", "llen", "strlen", "scard", "sismember", "zcard", "xlen"];

/// Commands that bring a key into being. Others of the creating verbs (HDEL, LSET) need one that is there.
const CREATING: [&str; 22] = [
    "set",
    "setex",
    "psetex",
    "hset",
    "hmset",
    "hsetnx",
    "hincrby",
    "hincrbyfloat",
    "zadd",
    "zincrby",
    "incr",
    "incrby",
    "incrbyfloat",
    "decr",
    "decrby",
    "sadd",
    "lpush",
    "rpush",
    "xadd",
    "lmove",
    "rename",
    "renamenx",
];

/// These wait; a script blocks the whole server, so nothing could ever come.
const BLOCKING: [&str; 10] = [
    "blpop",
    "brpop",
    "blmpop",
    "blmove",
    "brpoplpush",
    "bzpopmin",
    "bzpopmax",
    "bzmpop",
    "wait",
    "xreadgroup",
];

/// Where the keys are, if a verb or a rule about keys knows the command.
pub(super) fn key_args(command: &str) -> Option<KeyArgs> {
    match command {
        "del" | "unlink" | "exists" | "touch" | "mget" => Some(KeyArgs::All),
        "lmove" | "rename" | "renamenx" => Some(KeyArgs::FromTo),
        "lmpop" => Some(KeyArgs::Counted),
        "xread" => Some(KeyArgs::Streams),
        _ => (is_known(command) && refusal(command).is_none()).then_some(KeyArgs::First),
    }
}

fn is_known(command: &str) -> bool {
    let of_a_verb = |verb: &Verb| RedisType::ALL.iter().any(|kind| verb.commands(*kind).contains(&command));
    LOOK.contains(&command) || EXPIRE.contains(&command) || Verb::ALL.iter().any(of_a_verb)
}

/// Why no script may run the command.
pub(super) fn refusal(command: &str) -> Option<&'static str> {
    if BLOCKING.contains(&command) {
        return Some(
            "it waits, and while a script runs nobody else can do what it waits for; return and ask again",
        );
    }
    Some(match command {
        "keys" | "scan" | "randomkey" | "dbsize" => {
            "it looks at all keys; a script touches those that it declares"
        }
        "flushall" | "flushdb" | "swapdb" => {
            "it is about the whole database; a script touches the keys it declares"
        }
        "select" | "move" | "copy" | "migrate" => "the contract is about one database",
        "publish" | "spublish" => {
            "subscribers miss what is published while they are away; append to a stream that the contract declares"
        }
        "eval" | "evalsha" | "eval_ro" | "evalsha_ro" | "fcall" | "fcall_ro" | "script" | "function" => {
            "a script cannot call another one; use a local function"
        }
        "watch" | "unwatch" | "multi" | "exec" | "discard" => "a script is one step already",
        "config" | "acl" | "client" | "cluster" | "debug" | "info" | "shutdown" | "save" | "bgsave" => {
            "it is about the server; a script is about keys"
        }
        "sort" | "sort_ro" => "it can reach keys that are nowhere declared",
        _ => return None,
    })
}

/// Whether it shows what a key holds, and changes nothing.
pub(super) fn shows_data(command: &str) -> bool {
    let of_peek = |kind: &RedisType| Verb::Peek.commands(*kind).contains(&command);
    RedisType::ALL.iter().any(of_peek) && !SIZES.contains(&command)
}

/// Whether it changes a key, given what the others do.
pub(super) fn writes(command: &str) -> bool {
    !shows_data(command) && !is_look(command)
}

/// Whether it tells no more than that a key is there, how large it is and how long it lives.
pub(super) fn is_look(command: &str) -> bool {
    LOOK.contains(&command) || SIZES.contains(&command)
}

pub(super) fn creates(command: &str) -> bool {
    CREATING.contains(&command)
}

/// Whether it gives a key a time to live, and does nothing else.
pub(super) fn expires(command: &str) -> bool {
    EXPIRE.contains(&command) && command != "persist"
}

/// Whether it works on a key of any type: SET replaces a hash, DEL removes anything. The others fail on a key of another
/// type and change nothing.
pub(super) fn takes_any_type(command: &str) -> bool {
    LOOK.contains(&command)
        || EXPIRE.contains(&command)
        || matches!(command, "set" | "setex" | "psetex" | "del" | "unlink" | "rename" | "renamenx")
}

/// Whether some verb has the command on keys of this type.
pub(super) fn fits(command: &str, kind: RedisType) -> bool {
    takes_any_type(command) || Verb::ALL.iter().any(|verb| verb.commands(kind).contains(&command))
}

/// Whether verbs on a key of these types allow the command, as the ACL of its component does. `second` is the key that LMOVE
/// moves to.
pub(super) fn allowed(
    command: &str,
    verbs: &[Verb],
    types: &[RedisType],
    limited: bool,
    second: bool,
) -> bool {
    // Moving an item to a list is producing it there.
    let moved = second && command == "lmove" && verbs.contains(&Verb::Produce);
    let granted = |verb: &Verb| {
        types.iter().any(|kind| {
            verb.commands(*kind).contains(&command) || verb.commands_beside(*kind, limited).contains(&command)
        })
    };
    moved || verbs.iter().any(granted)
}

/// All commands of these verbs on a key of these types that a script may run, for help texts.
pub(super) fn all_allowed(verbs: &[Verb], types: &[RedisType]) -> Vec<String> {
    let mut commands: Vec<String> = verbs
        .iter()
        .flat_map(|verb| types.iter().flat_map(|kind| verb.commands(*kind)))
        .filter(|command| refusal(command).is_none())
        .map(|command| command.to_uppercase())
        .collect();
    commands.sort();
    commands.dedup();
    commands
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<&'static str> {
        let verbs =
            Verb::ALL.iter().flat_map(|verb| RedisType::ALL.iter().flat_map(|kind| verb.commands(*kind)));
        verbs.chain(LOOK).chain(EXPIRE).copied().collect()
    }

    #[test]
    fn the_keys_of_every_command_are_known_or_it_is_refused() {
        for command in all() {
            assert!(key_args(command).is_some() != refusal(command).is_some(), "{command}");
        }
    }

    #[test]
    fn whatever_creates_is_a_command_of_a_creating_verb() {
        let verbs = || Verb::ALL.iter().filter(|verb| verb.creates() || **verb == Verb::Consume);
        for command in CREATING {
            let known =
                |verb: &Verb| RedisType::ALL.iter().any(|kind| verb.commands(*kind).contains(&command));
            assert!(verbs().any(known), "{command}");
        }
        // And the other way round: what a creating verb has besides needs a key that is there.
        let others = ["hdel", "lset", "get", "pttl", "del"];
        for verb in Verb::ALL.iter().filter(|verb| verb.creates()) {
            for command in RedisType::ALL.iter().flat_map(|kind| verb.commands(*kind)) {
                assert!(creates(command) != others.contains(command), "{command}");
            }
        }
    }

    #[test]
    fn a_command_shows_data_or_writes_or_looks() {
        for command in all() {
            let kinds = [shows_data(command), writes(command), is_look(command)];
            assert_eq!(kinds.iter().filter(|is| **is).count(), 1, "{command}: {kinds:?}");
        }
    }
}
