//! What nobody may do: write what it only reads, leave the contract, harm the server.

use std::sync::Arc;

use keyplane_schema::{Key, RedisType, Verb};

use crate::loaded::{Answer, Loaded, expected, is_refusal};
use crate::probes::{Probe, probes};
use crate::scripts::Script;

/// Commands without keys that no component has, whatever it asks for.
const DANGEROUS: &[&str] = &[
    "FLUSHALL",
    "FLUSHDB",
    "KEYS *",
    "RANDOMKEY",
    "CONFIG GET *",
    "CONFIG SET maxmemory 1",
    "CONFIG REWRITE",
    "DEBUG SLEEP 0",
    "SHUTDOWN NOSAVE",
    "ACL LIST",
    "ACL SETUSER intruder on nopass +@all ~*",
    "MONITOR",
    "REPLICAOF NO ONE",
    "SLAVEOF NO ONE",
    "FAILOVER",
    "SAVE",
    "BGSAVE",
    "BGREWRITEAOF",
    "SWAPDB 0 1",
    "CLIENT KILL TYPE normal",
    "CLIENT PAUSE 1",
    "MODULE LIST",
    "SCRIPT FLUSH",
    "SCRIPT KILL",
    "FUNCTION FLUSH",
    "FUNCTION LIST",
    "CLUSTER RESET",
    "SLOWLOG RESET",
    "LATENCY RESET",
    "SUBSCRIBE news",
    "PSUBSCRIBE *",
    "PUBSUB CHANNELS",
];

/// Commands without keys that a component has when it names them.
pub(crate) const ON_REQUEST: &[(&str, &str)] = &[
    ("dbsize", "DBSIZE"),
    ("scan", "SCAN 0"),
    ("slowlog|get", "SLOWLOG GET"),
    ("slowlog|len", "SLOWLOG LEN"),
    ("client|list", "CLIENT LIST"),
    ("memory|stats", "MEMORY STATS"),
    ("lastsave", "LASTSAVE"),
    ("role", "ROLE"),
    ("command|count", "COMMAND COUNT"),
    ("publish", "PUBLISH news x"),
];

/// Errors by which a script refuses a command whoever the user is.
const NOT_IN_SCRIPTS: &[&str] =
    &["Write commands are not allowed from read-only scripts", "not allowed from script"];

fn is_refused(error: &str) -> bool {
    is_refusal(error) || NOT_IN_SCRIPTS.iter().any(|words| error.contains(words))
}

/// Tries every writing command on every key that a component only peeks at, inside scripts of both kinds: with the key
/// declared and without. (As plain commands they are in the table.) Returns how many pairs of component and key there are.
pub(crate) fn try_to_write_what_is_only_peeked(loaded: &mut Loaded) -> usize {
    let mut pairs = 0;
    let contract = Arc::clone(&loaded.contract);
    for component in loaded.components() {
        for key in &contract.keys {
            if loaded.verbs(&component, key).into_iter().eq([Verb::Peek]) {
                pairs += 1;
                key.types.iter().for_each(|kind| try_to_write(loaded, &component, key, *kind));
            }
        }
    }
    pairs
}

fn try_to_write(loaded: &mut Loaded, component: &str, key: &Key, kind: RedisType) {
    let text = loaded.sample(key);
    let keys = [text.clone()];
    let writing: Vec<Probe> = probes(kind).into_iter().filter(|probe| !probe.is_read()).collect();
    loaded.set_up([(text.as_str(), kind)]);
    let before = loaded.stored([text.as_str()]);
    for eval in ["EVAL", "EVAL_RO"] {
        let all: Vec<Vec<&str>> = writing.iter().map(|probe| probe.words(&text)).collect();
        let errors = Script::new(&keys, &all).run_each(loaded, component, eval);
        let may_run = eval == "EVAL_RO" || loaded.writes(component);
        assert_eq!(errors.is_some(), may_run, "{component}: {eval} at all");
        for (probe, error) in writing.iter().zip(errors.into_iter().flatten()) {
            assert!(is_refused(&error), "{component}: {} on {} by {eval}: {error:?}", probe.name(), key.name);
        }
        // The first of them once more, with the key declared.
        let error = Script::new(&keys, &all[..1]).reply(loaded, component, eval).expect_err("a write passed");
        assert!(is_refused(&error), "{component}: {} on {} by {eval}: {error}", writing[0].name(), key.name);
    }
    assert_eq!(before, loaded.stored([text.as_str()]), "{component} changed {}", key.name);
}

/// Tries commands that harm the server, plain and from scripts.
pub(crate) fn try_dangerous_commands(loaded: &mut Loaded) {
    loaded.set_up([("canary", RedisType::String)]);
    let before = loaded.stored(["canary"]);
    let commands: Vec<Vec<&str>> = DANGEROUS.iter().map(|text| text.split(' ').collect()).collect();
    for component in loaded.components() {
        for words in &commands {
            assert_eq!(loaded.run(&component, words), Answer::Refused, "{component}: {}", words.join(" "));
        }
        for eval in ["EVAL", "EVAL_RO"] {
            let errors = Script::new(&[], &commands).run_each(loaded, &component, eval).unwrap_or_default();
            for (text, error) in DANGEROUS.iter().zip(errors) {
                assert!(is_refused(&error), "{component}: {text} by {eval}: {error:?}");
            }
        }
    }
    assert_eq!(before, loaded.stored(["canary"]), "the server was harmed");
}

/// Tries commands that a component has only when its contract names them.
pub(crate) fn try_commands_on_request(loaded: &mut Loaded) {
    let contract = Arc::clone(&loaded.contract);
    for component in &contract.components {
        // Everybody may see whether the server is fit.
        assert_eq!(loaded.run(&component.name, &["INFO"]), Answer::Allowed, "{}: INFO", component.name);
        for (extra, text) in ON_REQUEST {
            let words: Vec<&str> = text.split(' ').collect();
            let named = component.extra.iter().any(|named| named == extra);
            assert_eq!(loaded.run(&component.name, &words), expected(named), "{}: {text}", component.name);
        }
    }
}

/// Tries everything on a key that the contract does not know.
pub(crate) fn try_a_key_outside_the_contract(loaded: &mut Loaded) {
    for kind in RedisType::ALL {
        loaded.set_up([("other:key", kind)]);
        let probes = probes(kind);
        let commands: Vec<_> = probes.iter().map(|probe| probe.words("other:key")).collect();
        for component in loaded.components() {
            for (probe, answer) in probes.iter().zip(loaded.run_all(&component, &commands)) {
                assert_eq!(answer, Answer::Refused, "{component}: {} on other:key", probe.name());
            }
        }
    }
}
