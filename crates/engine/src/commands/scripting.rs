//! EVAL, EVALSHA and their read-only forms, SCRIPT.

use super::{Answer, Command, Run, flag};
use crate::args::{int, is};
use crate::clients::Session;
use crate::engine::Engine;
use crate::fault::Fault;
use crate::lua::{Call, Sha};
use crate::reply::Reply;

type Words<'a> = &'a [&'a [u8]];

const RUN: u32 = flag::SKIP_MONITOR;
const RUN_RO: u32 = flag::SKIP_MONITOR | flag::READONLY;

pub(crate) const COMMANDS: &[Command] = &[
    script("eval", -3, RUN, |engine, session, args| eval(engine, session, args, false)),
    script("evalsha", -3, RUN, |engine, session, args| evalsha(engine, session, args, false)),
    script("eval_ro", -3, RUN_RO, |engine, session, args| eval(engine, session, args, true)),
    script("evalsha_ro", -3, RUN_RO, |engine, session, args| evalsha(engine, session, args, true)),
    script("script|load", 3, 0, load),
    script("script|exists", -3, 0, exists),
    script("script|flush", -2, 0, flush),
    script("script|kill", 2, 0, |_, _, _| Err(Fault::of("NOTBUSY No scripts in execution right now."))),
];

const fn script(
    name: &'static str,
    arity: i32,
    flags: u32,
    run: fn(&mut Engine, &Session, Words<'_>) -> Answer,
) -> Command {
    Command { name, arity, flags: flags | flag::NOSCRIPT, keys: (0, 0, 0), run: Run::Script(run) }
}

/// Shows a script to those who monitor, before its calls are shown.
fn show(engine: &mut Engine, session: &Session, args: Words<'_>) {
    const SHOWN: Command = script("eval", -3, 0, |engine, session, args| eval(engine, session, args, false));
    engine.state.monitor(&SHOWN, session, args);
}

const NO_SCRIPT: Fault = Fault::of("NOSCRIPT No matching script. Please use EVAL.");

/// How many of the arguments from the fourth on are keys.
fn key_count(args: Words<'_>) -> Result<usize, Fault> {
    let count = int(args[2])?;
    let most = args.len() - 3;
    match usize::try_from(count) {
        Ok(count) if count <= most => Ok(count),
        Ok(_) => Err(Fault::of("ERR Number of keys can't be greater than number of args")),
        Err(_) => Err(Fault::of("ERR Number of keys can't be negative")),
    }
}

fn eval(engine: &mut Engine, session: &Session, args: Words<'_>, read_only: bool) -> Answer {
    show(engine, session, args);
    let count = key_count(args)?;
    let sha = engine.scripts.load(args[1])?;
    run(engine, session, sha, args[3..].split_at(count), read_only)
}

fn evalsha(engine: &mut Engine, session: &Session, args: Words<'_>, read_only: bool) -> Answer {
    show(engine, session, args);
    let sha = Sha::named(args[1]).ok_or(NO_SCRIPT)?;
    let count = key_count(args)?;
    run(engine, session, sha, args[3..].split_at(count), read_only)
}

fn run(
    engine: &mut Engine,
    session: &Session,
    sha: Sha,
    (keys, args): (Words<'_>, Words<'_>),
    read_only: bool,
) -> Answer {
    let stopwatch = engine.stopwatch;
    engine.scripts.run(&mut engine.state, &Call { sha, keys, args, caller: *session, read_only, stopwatch })
}

fn load(engine: &mut Engine, _: &Session, args: Words<'_>) -> Answer {
    Ok(Reply::bulk(engine.scripts.load(args[2])?.bytes()))
}

fn exists(engine: &mut Engine, _: &Session, args: Words<'_>) -> Answer {
    let known = |name: &&[u8]| Sha::named(name).is_some_and(|sha| engine.scripts.knows(sha));
    Ok(Reply::Array(args[2..].iter().map(|name| Reply::truth(known(name))).collect()))
}

fn flush(engine: &mut Engine, _: &Session, args: Words<'_>) -> Answer {
    match args {
        [_, _] => {}
        [_, _, how] if is(how, "SYNC") || is(how, "ASYNC") => {}
        _ => return Err(Fault::of("ERR SCRIPT FLUSH only support SYNC|ASYNC option")),
    }
    engine.scripts.flush();
    Ok(Reply::Ok)
}
