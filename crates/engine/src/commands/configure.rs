//! CONFIG: what the engine is set to.
//!
//! Four settings can be changed. The others that are shown are what they are: changing one is refused as Redis refuses
//! to change what only its command line can.

use indexmap::IndexMap;

use super::{Answer, Command, cut, flag, help};
use crate::config::{IMMUTABLE, SETTINGS, Setting, setting};
use crate::context::Context;
use crate::db::Hashing;
use crate::fault::{Fault, SYNTAX};
use crate::glob;
use crate::reply::Reply;

const FLAGS: u32 = flag::ADMIN | flag::NOSCRIPT;

pub(crate) const COMMANDS: &[Command] = &[
    Command::new("config|get", -3, FLAGS, (0, 0, 0), get),
    Command::new("config|set", -4, FLAGS, (0, 0, 0), set),
    Command::new("config|resetstat", 2, FLAGS, (0, 0, 0), resetstat),
    Command::new("config|rewrite", 2, FLAGS, (0, 0, 0), |_, _| {
        Err(Fault::of("ERR The server is running without a config file"))
    }),
    Command::new("config|help", 2, 0, (0, 0, 0), |_, _| Ok(help("CONFIG", HELP))),
];

const HELP: &[&str] = &[
    "GET <pattern>",
    "    Return parameters matching the glob-like <pattern> and their values.",
    "SET <directive> <value>",
    "    Set the configuration <directive> to <value>.",
    "RESETSTAT",
    "    Reset statistics reported by the INFO command.",
    "REWRITE",
    "    Rewrite the configuration file.",
];

fn get(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    // A name comes back as it was written, the first time it is asked for.
    let mut found: IndexMap<&str, (Vec<u8>, Setting), Hashing> = IndexMap::default();
    for wanted in &args[2..] {
        if wanted.iter().any(|byte| matches!(byte, b'[' | b'*' | b'?')) {
            let pattern = wanted.to_ascii_lowercase();
            for (name, setting) in
                SETTINGS.iter().filter(|(name, _)| glob::matches(&pattern, name.as_bytes()))
            {
                found.entry(name).or_insert_with(|| (name.as_bytes().to_vec(), *setting));
            }
        } else if let Some((name, setting)) = setting(wanted) {
            found.entry(name).or_insert_with(|| (wanted.to_vec(), *setting));
        }
    }
    let keeps_effects = !cx.state.effects.off;
    let value = |setting| Reply::Bulk(cx.state.config.shown(setting, keeps_effects));
    Ok(Reply::Map(found.into_values().map(|(name, setting)| (Reply::Bulk(name), value(setting))).collect()))
}

/// All of them or none.
fn set(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    let (pairs, []) = args[2..].as_chunks::<2>() else { return Err(SYNTAX) };
    let failed = |name: &[u8], why: &str| {
        let name = cut(name, usize::MAX);
        let text = [b"ERR CONFIG SET failed (possibly related to argument '", name, b"') - ", why.as_bytes()];
        Fault::new(text.concat())
    };
    let mut wanted = Vec::with_capacity(pairs.len());
    for [name, value] in pairs {
        let Some((known, setting)) = setting(name) else {
            let text = b"ERR Unknown option or number of arguments for CONFIG SET - '";
            return Err(Fault::new([text.as_slice(), cut(name, usize::MAX), b"'"].concat()));
        };
        if setting.is_fixed() {
            return Err(failed(name, IMMUTABLE));
        }
        if wanted.iter().any(|(before, _, _)| before == known) {
            return Err(failed(name, "duplicate parameter"));
        }
        wanted.push((*known, *setting, *value));
    }
    let before = cx.state.config.clone();
    for (number, (name, setting, value)) in wanted.iter().enumerate() {
        if let Err(why) = cx.state.config.set(*setting, value) {
            cx.state.config = before;
            // Redis puts back what it shows of a setting, which is not always all of it.
            for (_, setting, _) in &wanted[..=number] {
                let shown = cx.state.config.shown(*setting, false);
                let _ = cx.state.config.set(*setting, &shown);
            }
            return Err(failed(name.as_bytes(), &why));
        }
    }
    Ok(Reply::Ok)
}

fn resetstat(cx: &mut Context<'_>, _: &[&[u8]]) -> Answer {
    let so_far = cx.state.clients.so_far();
    cx.state.stats.reset(so_far);
    Ok(Reply::Ok)
}
