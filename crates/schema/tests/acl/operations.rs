//! Every operation of a contract, tried by every component.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use keyplane_schema::{Contract, Key, Op, RedisType, Verb};

use crate::loaded::{Answer, Loaded, expected, is_refusal};
use crate::probes::{Probe, probe};
use crate::scripts::Script;

/// How the pairs of component and operation came out.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) pairs: usize,
    pub(crate) own: usize,
    pub(crate) refused: usize,
    /// Operations of others whose every command the component has for reasons of its own.
    pub(crate) covered: Vec<String>,
    pub(crate) commands: usize,
}

impl Tally {
    /// Pairs in which the operation is not the component's.
    pub(crate) fn foreign(&self) -> usize {
        self.refused + self.covered.len()
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pairs, own, refused, covered, commands } = self;
        write!(
            f,
            "{pairs} pairs of component and operation ({commands} commands, plain and in two scripts); "
        )?;
        write!(f, "{own} own, all pass; {} foreign, {refused} refused, ", self.foreign())?;
        write!(f, "{} within the component's own rights: {}", covered.len(), covered.join(", "))
    }
}

/// One command of an operation.
struct Step<'c> {
    key: &'c Key,
    text: String,
    kind: RedisType,
    probe: Probe,
}

/// Runs every operation as every component, as commands and as scripts, and compares with what is declared.
pub(crate) fn try_all(loaded: &mut Loaded) -> Tally {
    let mut tally = Tally::default();
    let contract = Arc::clone(&loaded.contract);
    for op in &contract.ops {
        let steps = steps(loaded, &contract, op);
        for component in loaded.components() {
            let by = op.by.iter().any(|(by, _)| *by == component);
            let allowed = try_one(loaded, &component, op, &steps);
            assert!(allowed || !by, "{component} is refused its own operation {}", op.name);
            if by {
                try_by_hash(loaded, &component, op, &steps);
            }
            tally.pairs += 1;
            tally.commands += steps.len();
            match (by, allowed) {
                (true, _) => tally.own += 1,
                (false, true) => tally.covered.push(format!("{component} could {}", op.name)),
                (false, false) => tally.refused += 1,
            }
        }
    }
    tally
}

fn try_one(loaded: &mut Loaded, component: &str, op: &Op, steps: &[Step<'_>]) -> bool {
    let wanted: Vec<bool> =
        steps.iter().map(|step| loaded.declared(component, step.key).contains(step.probe.name())).collect();
    let allowed = wanted.iter().all(|wanted| *wanted);
    let plain = try_commands(loaded, component, steps);
    assert_eq!(plain, wanted, "{component}: {} as commands: {}", op.name, describe(steps));

    let eval = if op.is_read_only() { "EVAL_RO" } else { "EVAL" };
    let script = try_script(loaded, component, steps, eval);
    assert_eq!(script, expected(allowed), "{component}: {} by {eval}: {}", op.name, describe(steps));
    try_each_in_script(loaded, component, op, steps, &wanted);
    allowed
}

fn try_commands(loaded: &mut Loaded, component: &str, steps: &[Step<'_>]) -> Vec<bool> {
    unharmed(loaded, component, steps, |loaded| {
        let mut run = |step: &Step<'_>| loaded.run(component, &step.probe.words(&step.text));
        steps.iter().map(|step| run(step) == Answer::Allowed).collect()
    })
}

fn try_script(loaded: &mut Loaded, component: &str, steps: &[Step<'_>], eval: &str) -> Answer {
    let (keys, commands) = (texts(steps), commands(steps));
    unharmed(loaded, component, steps, |loaded| Script::new(&keys, &commands).run(loaded, component, eval))
}

fn try_each_in_script(loaded: &mut Loaded, component: &str, op: &Op, steps: &[Step<'_>], wanted: &[bool]) {
    let (keys, commands) = (texts(steps), commands(steps));
    let script = Script::new(&keys, &commands);
    let writing = unharmed(loaded, component, steps, |loaded| script.run_each(loaded, component, "EVAL"));
    assert_eq!(writing.is_some(), loaded.writes(component), "{component}: EVAL is for those who write");
    for (step, (error, wanted)) in steps.iter().zip(writing.iter().flatten().zip(wanted)) {
        let told = format!("{component}: {}: {} {} by EVAL: {error}", op.name, step.probe.name(), step.text);
        assert!(error.is_empty() || is_refusal(error), "{told}");
        assert_eq!(error.is_empty(), *wanted, "{told}");
    }
}

/// Scripts usually run by their hash. That the key rights are the same does not follow from EVAL.
fn try_by_hash(loaded: &mut Loaded, component: &str, op: &Op, steps: &[Step<'_>]) {
    let evalsha = if op.is_read_only() { "EVALSHA_RO" } else { "EVALSHA" };
    let loading =
        loaded.reply(component, &["SCRIPT", "LOAD", "return 1"]).expect("everyone may load scripts");
    let hash: String = redis::from_redis_value(loading).expect("a hash");
    let keys = texts(steps);
    let count = keys.len().to_string();
    let mut words = vec![evalsha, &hash, &count];
    words.extend(keys.iter().map(String::as_str));
    assert_eq!(loaded.run(component, &words), Answer::Allowed, "{component}: {} by {evalsha}", op.name);
}

/// Runs something on fresh keys, and sees that the keys which the component may not write are as they were.
fn unharmed<T>(
    loaded: &mut Loaded,
    component: &str,
    steps: &[Step<'_>],
    run: impl FnOnce(&mut Loaded) -> T,
) -> T {
    let keys: BTreeMap<&str, RedisType> = steps.iter().map(|step| (step.text.as_str(), step.kind)).collect();
    loaded.set_up(keys);
    let may_write = |step: &&Step<'_>| loaded.verbs(component, step.key).iter().any(|verb| verb.writes());
    let foreign = steps.iter().filter(|step| !may_write(step)).map(|step| step.text.as_str());
    let foreign: BTreeSet<&str> = foreign.collect();
    let before = loaded.stored(foreign.iter().copied());
    let result = run(loaded);
    assert_eq!(before, loaded.stored(foreign.iter().copied()), "{component} changed one of {foreign:?}");
    result
}

fn steps<'c>(loaded: &Loaded, contract: &'c Contract, op: &Op) -> Vec<Step<'c>> {
    let mut steps = Vec::new();
    for touched in &op.keys {
        let key = contract.key(&touched.key).expect("operations name keys of the contract");
        let text = loaded.sample(key);
        for &verb in &touched.verbs {
            let kind =
                *key.types.iter().find(|kind| !ordinary(verb, **kind).is_empty()).expect("the verb fits");
            let step = |name: &&str| Step { key, text: text.clone(), kind, probe: probe(kind, name) };
            steps.extend(ordinary(verb, kind).iter().map(step));
        }
    }
    steps
}

/// What the verb comes down to, in the ordinary case. A write also sets the time to live.
fn ordinary(verb: Verb, kind: RedisType) -> &'static [&'static str] {
    use RedisType::{Hash, List, Set, Stream, String, Zset};
    match (verb, kind) {
        (Verb::Peek, String) => &["GET"],
        (Verb::Peek, Hash) => &["HGETALL"],
        (Verb::Peek, List) => &["LLEN", "LRANGE"],
        (Verb::Peek, Set) => &["SMEMBERS"],
        (Verb::Peek, Zset) => &["ZRANGE"],
        (Verb::Peek, Stream) => &["XRANGE"],
        (Verb::Put, String) => &["SET", "PEXPIRE"],
        (Verb::Put, Hash) => &["HSET", "PEXPIRE"],
        (Verb::Update, Hash) => &["HSET", "HINCRBY", "HDEL", "PEXPIRE"],
        (Verb::Update, List) => &["LSET", "PEXPIRE"],
        (Verb::Update, Zset) => &["ZINCRBY", "PEXPIRE"],
        (Verb::Count, String) => &["INCRBY", "PEXPIRE"],
        (Verb::Count, Hash) => &["HINCRBY", "PEXPIRE"],
        (Verb::Add, Set) => &["SADD", "PEXPIRE"],
        (Verb::Add, Zset) => &["ZADD", "PEXPIRE"],
        (Verb::Produce, List) => &["LPUSH", "PEXPIRE"],
        (Verb::Consume, List) => &["LMOVE", "RPOP", "PEXPIRE"],
        (Verb::Append, Stream) => &["XADD", "PEXPIRE"],
        (Verb::Remove, String) => &["DEL"],
        (Verb::Remove, Hash) => &["HDEL", "DEL"],
        (Verb::Remove, List) => &["LREM", "DEL"],
        (Verb::Remove, Set) => &["SREM", "DEL"],
        (Verb::Remove, Zset) => &["ZREM", "DEL"],
        (Verb::Remove, Stream) => &["XDEL", "DEL"],
        (Verb::Prune, Hash) => &["HDEL"],
        (Verb::Prune, List) => &["LTRIM"],
        (Verb::Prune, Set) => &["SREM"],
        (Verb::Prune, Zset) => &["ZREMRANGEBYSCORE"],
        (Verb::Prune, Stream) => &["XTRIM"],
        (Verb::Hold, String) => &["SET", "GET", "DEL"],
        (Verb::Swap, _) => &["RENAME", "PERSIST"],
        _ => &[],
    }
}

fn texts(steps: &[Step<'_>]) -> Vec<String> {
    let unique: BTreeSet<&String> = steps.iter().map(|step| &step.text).collect();
    unique.into_iter().cloned().collect()
}

fn commands<'s>(steps: &'s [Step<'_>]) -> Vec<Vec<&'s str>> {
    steps.iter().map(|step| step.probe.words(&step.text)).collect()
}

fn describe(steps: &[Step<'_>]) -> String {
    steps.iter().map(|step| format!("{} {}", step.probe.name(), step.key.name)).collect::<Vec<_>>().join(", ")
}
