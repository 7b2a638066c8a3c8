//! The engine against a Valkey, which is a later Redis: what neither time nor chance decides.
//!
//! A Valkey cannot be given our clock, so steps that depend on it are left out. Where a later version answers otherwise, and
//! the engine as Redis 7.0 does, that stands in [`LATER`]; nothing else may differ.

use keyplane_engine::{Answer, ClientId, Engine, Protocol, Settings, Time};
use keyplane_testing::{Program, Server, Wire, valkey_server};

use crate::coverage::Coverage;
use crate::frame::{Compare, Frame};
use crate::grammar::{self, Arg, Step};
use crate::{families, number};

/// Words that make a command depend on the clock, on chance or on another client. Those that begin with B wait.
const LEFT_OUT: &[&str] = &[
    "EX",
    "PX",
    "EXAT",
    "PXAT",
    "SETEX",
    "PSETEX",
    "GETEX",
    "EXPIRE",
    "PEXPIRE",
    "EXPIREAT",
    "PEXPIREAT",
    "BLPOP",
    "BRPOP",
    "BLMOVE",
    "BLMPOP",
    "BRPOPLPUSH",
    "BZPOPMIN",
    "BZPOPMAX",
    "BZMPOP",
    "BLOCK",
    "SPOP",
    "RANDOMKEY",
    "WAIT",
    "*",
    "MULTI",
    "WATCH",
];

/// Commands that a later version answers otherwise, and in what.
const LATER: &[(&str, &str)] = &[
    ("OBJECT", "small sets and lists are kept as listpacks"),
    ("XSETID", "looks at the highest id that was deleted"),
    ("SCAN", "refuses cursors and types that are none"),
    ("HSCAN", "the same, and NOVALUES"),
    ("SSCAN", "the same"),
    ("ZSCAN", "the same"),
    ("XREAD", "knows `+`, the last entry"),
];

/// Numbers that a later version takes otherwise: a score with a blank before it or a zero byte behind it is none, an offset
/// below zero is one, and the least and greatest of all are places in a list or too far.
fn has_odd_number(args: &[Vec<u8>]) -> bool {
    let command = args[0].to_ascii_uppercase();
    let has_blank = command.starts_with(b"Z") && args.iter().flatten().any(|byte| *byte <= b' ');
    let is_outermost =
        matches!(command.as_slice(), b"LSET" | b"LREM") && args.iter().any(|arg| arg.len() >= 19);
    let is_below = |two: &[Vec<u8>]| two[0].eq_ignore_ascii_case(b"LIMIT") && two[1].starts_with(b"-");
    has_blank || is_outermost || args.windows(2).any(is_below)
}

/// One side each.
struct Both {
    engine: Engine,
    client: ClientId,
    valkey: Wire,
}

impl Both {
    fn ask(&mut self, args: &[&[u8]]) -> (Frame, Frame) {
        let answer = match self.engine.execute(NOW, self.client, args).answer {
            Answer::Reply(reply) | Answer::Last(reply) => reply,
            other => panic!("{other:?}"),
        };
        let mut bytes = Vec::new();
        answer.encode(Protocol::Two, &mut bytes);
        let read = |bytes: Vec<u8>| Frame::read(&mut bytes.as_slice()).expect("a frame");
        (read(bytes), read(self.valkey.ask(args).expect("an answer")))
    }
}

const NOW: Time = Time::from_millis(1_900_000_000_000);

fn depends(args: &[Vec<u8>]) -> bool {
    args[0].starts_with(b"!")
        || has_odd_number(args)
        || LATER.iter().any(|(name, _)| args[0].eq_ignore_ascii_case(name.as_bytes()))
        || args.iter().any(|arg| LEFT_OUT.iter().any(|word| arg.eq_ignore_ascii_case(word.as_bytes())))
}

fn words(step: &Step) -> Option<(Vec<Vec<u8>>, Compare)> {
    let Step::Command { args, compare, .. } = step else { return None };
    let args: Option<Vec<Vec<u8>>> = args
        .iter()
        .map(|arg| match arg {
            Arg::Bytes(bytes) => Some(bytes.clone()),
            _ => None,
        })
        .collect();
    args.filter(|args| !depends(args)).map(|args| (args, *compare))
}

fn shown(args: &[Vec<u8>]) -> String {
    let words = args.iter().map(|arg| arg[..arg.len().min(60)].escape_ascii().to_string());
    words.collect::<Vec<_>>().join(" ")
}

/// Without what versions word in their own way: an error is its code, and a number its value.
fn plain(frame: &Frame) -> Frame {
    match frame {
        Frame::Line('-', text) => Frame::Line('-', text.split(' ').next().unwrap_or_default().to_owned()),
        Frame::Bulk(mark, bytes) => match String::from_utf8_lossy(&bytes.0).parse::<f64>() {
            // Nor does it show the sign of a zero.
            Ok(number) => Frame::Line('f', format!("{:?}", number + 0.0)),
            Err(_) => Frame::Bulk(*mark, bytes.clone()),
        },
        Frame::Many(mark, all) => Frame::Many(*mark, all.iter().map(plain).collect()),
        other => other.clone(),
    }
}

#[derive(Default)]
struct Tally {
    same: u64,
    /// The same but for the words of an error or the digits of a number.
    worded: u64,
}

/// Goes on until an answer differs; that in words.
fn run(server: &Server, steps: &[Step], tally: &mut Tally) -> Option<String> {
    let mut engine = Engine::new(Settings { seed: 7, ..Settings::default() }, NOW);
    let client = engine.connect(NOW, "test".to_owned());
    let mut both = Both { engine, client, valkey: Wire::connect(server) };
    both.ask(&[b"FLUSHALL"]);
    for (args, compare) in steps.iter().filter_map(words) {
        let args_of: Vec<&[u8]> = args.iter().map(Vec::as_slice).collect();
        let (mine, theirs) = both.ask(&args_of);
        if mine.is_like(&theirs, compare) {
            tally.same += 1;
        } else if plain(&mine).is_like(&plain(&theirs), compare) {
            tally.worded += 1;
        } else {
            return Some(format!("{}\n  engine: {mine:?}\n  valkey: {theirs:?}", shown(&args)));
        }
    }
    None
}

#[test]
fn valkey() {
    if valkey_server().is_none() {
        return keyplane_testing::skip("differential valkey: there is no valkey-server");
    }
    let server = Server::start(Program::Valkey, &keyplane_testing::Settings::unix());
    let families = [
        families::hashes(),
        families::keys(),
        families::lists(),
        families::sets(),
        families::streams(),
        families::strings(),
        families::zsets(),
    ];
    let coverage = Coverage::new(&families);
    let (mut tally, mut differences) = (Tally::default(), Vec::new());
    for seed in 1..=number("KEYPLANE_DIFF_SEQUENCES", 150) {
        let difference = run(&server, &grammar::sequence(seed, &families, &coverage), &mut tally);
        differences.extend(difference.map(|difference| format!("seed {seed}: {difference}")));
    }
    let Tally { same, worded } = tally;
    println!(
        "valkey: {same} answers alike, {worded} but for the words of an error or the digits of a number"
    );
    assert!(differences.is_empty(), "{}\n{} differences", differences.join("\n"), differences.len());
    assert!(same > 100 * worded, "too little is the same");
}
