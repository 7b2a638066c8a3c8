//! The `redis` table: commands, and what else a script can ask its host for.

use mlua::{BorrowedBytes, Lua, MultiValue, Result, Value};

use super::thrown::Thrown;
use super::{Native, Sha, Slot, args, convert};
use crate::blocking::Blocking;
use crate::commands::{self, Command, flag};
use crate::fault::Fault;
use crate::number;
use crate::reply::{Protocol, Reply};

pub(super) const REDIS: &[(&str, Native)] = &[
    ("error_reply", error_reply),
    ("status_reply", status_reply),
    ("sha1hex", sha1hex),
    ("log", log),
    ("setresp", setresp),
    ("set_repl", set_repl),
    ("acl_check_cmd", acl_check_cmd),
    ("replicate_commands", |_, _| one(Value::Boolean(true))),
    ("breakpoint", |_, _| one(Value::Boolean(false))),
    ("debug", |_, _| Ok(MultiValue::new())),
];

/// Constants of the `redis` table.
pub(super) const NUMBERS: &[(&str, i64)] = &[
    ("LOG_DEBUG", LOG_DEBUG),
    ("LOG_VERBOSE", 1),
    ("LOG_NOTICE", 2),
    ("LOG_WARNING", LOG_WARNING),
    ("REPL_NONE", 0),
    ("REPL_AOF", 1),
    ("REPL_SLAVE", 2),
    ("REPL_REPLICA", 2),
    ("REPL_ALL", REPL_ALL),
    ("REDIS_VERSION_NUM", 0x0007_000F),
];

const LOG_DEBUG: i64 = 0;
const LOG_WARNING: i64 = 3;
const REPL_ALL: i64 = 3;

fn one(value: Value) -> Result<MultiValue> {
    Ok([value].into_iter().collect())
}

/// Raises `{err = "ERR …"}`.
fn refuse<T>(why: &str) -> Result<T> {
    Thrown::Failure { err: format!("ERR {why}").into_bytes(), counted: false }.raise()
}

/// `redis.call`: a command's error is raised.
pub(super) fn call(lua: &Lua, args: MultiValue) -> Result<Value> {
    match answered(lua, args)? {
        Ok(value) => Ok(value),
        Err(failure) => failure.raise(),
    }
}

/// `redis.pcall`: a command's error is returned.
pub(super) fn pcall(lua: &Lua, args: MultiValue) -> Result<Value> {
    match answered(lua, args)? {
        Ok(value) => Ok(value),
        Err(Thrown::Failure { err, counted }) => convert::failure(lua, &err, counted),
        Err(other) => other.raise(),
    }
}

fn answered(lua: &Lua, args: MultiValue) -> Result<std::result::Result<Value, Thrown>> {
    let words = match words(&args) {
        Ok(words) => words,
        Err(why) => {
            let err = format!("ERR {why}").into_bytes();
            return Ok(Err(Thrown::Failure { err, counted: false }));
        }
    };
    let words: Vec<&[u8]> = words.iter().map(Word::bytes).collect();
    let (answer, protocol) = Slot::of(lua)?.perform(&words);
    match answer {
        Ok(Reply::Error(fault)) | Err(fault) => {
            Ok(Err(Thrown::Failure { err: convert::error_text(fault.bytes()), counted: true }))
        }
        Ok(reply) => convert::to_lua(lua, reply, protocol).map(Ok),
    }
}

/// An argument of a command.
enum Word {
    Text(BorrowedBytes),
    Digits(Vec<u8>),
}

impl Word {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Text(bytes) => bytes,
            Self::Digits(digits) => digits,
        }
    }
}

fn words(args: &MultiValue) -> std::result::Result<Vec<Word>, &'static str> {
    if args.is_empty() {
        return Err("Please specify at least one argument for this redis lib call");
    }
    let word = |arg: &Value| match arg {
        Value::String(text) => Ok(Word::Text(text.as_bytes())),
        Value::Integer(value) => Ok(Word::Digits(digits(*value))),
        Value::Number(value) => Ok(Word::Digits(number::shown(*value).into_bytes())),
        _ => Err("Lua redis lib command arguments must be strings or integers"),
    };
    args.iter().map(word).collect()
}

/// `%.17g` of an integer.
fn digits(value: i64) -> Vec<u8> {
    const SEVENTEEN_DIGITS: u64 = 100_000_000_000_000_000;
    if value.unsigned_abs() < SEVENTEEN_DIGITS {
        number::int_bytes(value)
    } else {
        number::shown(value as f64).into_bytes()
    }
}

impl Slot {
    /// Runs a command of the script. The second is the protocol that the script wanted when it sent it.
    fn perform(&mut self, words: &[&[u8]]) -> (std::result::Result<Reply, Fault>, Protocol) {
        let protocol = self.session.protocol;
        let allowed = called(words).and_then(|command| self.permit(command));
        let command = match allowed {
            Ok(command) => command,
            Err(fault) => {
                self.state.stats.errors += 1;
                return (Err(fault), protocol);
            }
        };
        let start = self.stopwatch.map(|clock| clock());
        let answer = match self.state.call(command, &mut self.session, words) {
            Ok(Blocking::Done(reply)) => Ok(reply),
            // Nobody waits inside a script.
            Ok(Blocking::Wait(wait)) => Ok(wait.otherwise),
            Err(fault) => Err(fault),
        };
        let micros = match (self.stopwatch, start) {
            (Some(clock), Some(start)) => clock().saturating_sub(start),
            _ => 0,
        };
        let fault = match &answer {
            Err(fault) | Ok(Reply::Error(fault)) => Some(fault),
            Ok(_) => None,
        };
        self.state.monitor(command, &self.session, words);
        self.state.measured(command, self.session.client, words, micros, fault);
        (answer, protocol)
    }

    fn permit(&self, command: &'static Command) -> std::result::Result<&'static Command, Fault> {
        /// They write nothing, but others would see that they ran.
        const SEEN_BY_OTHERS: [&str; 3] = ["publish", "spublish", "pfcount"];
        if command.has(flag::NOSCRIPT) {
            return Err(Fault::of("ERR This Redis command is not allowed from script"));
        }
        if self.read_only && (command.has(flag::WRITE) || SEEN_BY_OTHERS.contains(&command.name)) {
            return Err(Fault::of("ERR Write commands are not allowed from read-only scripts."));
        }
        Ok(command)
    }
}

/// The command; what is wrong with it is said in other words than to a client.
fn called(words: &[&[u8]]) -> std::result::Result<&'static Command, Fault> {
    commands::find(words).map_err(|fault| {
        if fault.bytes().starts_with(b"ERR wrong number of arguments") {
            Fault::of("ERR Wrong number of args calling Redis command from script")
        } else {
            Fault::of("ERR Unknown Redis command called from script")
        }
    })
}

const WRONG_ARGUMENT: &[u8] = b"ERR wrong number or type of arguments";

fn error_reply(lua: &Lua, args: MultiValue) -> Result<MultiValue> {
    let (1, Some(Value::String(text))) = (args.len(), args.front()) else {
        return one(convert::failure(lua, WRONG_ARGUMENT, false)?);
    };
    let text = text.as_bytes();
    let text = text.strip_prefix(b"-").unwrap_or(&text);
    one(convert::failure(lua, &convert::error_text(text), false)?)
}

fn status_reply(lua: &Lua, args: MultiValue) -> Result<MultiValue> {
    let (1, Some(Value::String(text))) = (args.len(), args.front()) else {
        return one(convert::failure(lua, WRONG_ARGUMENT, false)?);
    };
    let status = lua.create_table_with_capacity(0, 1)?;
    status.raw_set("ok", text)?;
    one(Value::Table(status))
}

fn sha1hex(lua: &Lua, args: MultiValue) -> Result<MultiValue> {
    if args.len() != 1 {
        return refuse("wrong number of arguments");
    }
    let sha = match lua.coerce_string(args::at(&args, 1))? {
        Some(text) => Sha::of(&text.as_bytes()),
        None => Sha::of(b""),
    };
    one(Value::String(lua.create_string(sha.bytes())?))
}

/// It goes nowhere: there is no log of the engine's own.
fn log(lua: &Lua, args: MultiValue) -> Result<MultiValue> {
    if args.len() < 2 {
        return refuse("redis.log() requires two arguments or more.");
    }
    match args::as_number(lua, args.front())? {
        None => refuse("First argument must be a number (log level)."),
        Some(level) if !(LOG_DEBUG..=LOG_WARNING).contains(&args::whole(level)) => {
            refuse("Invalid debug level.")
        }
        Some(_) => Ok(MultiValue::new()),
    }
}

fn setresp(lua: &Lua, args: MultiValue) -> Result<MultiValue> {
    if args.len() != 1 {
        return refuse("redis.setresp() requires one argument.");
    }
    let version = args::as_number(lua, args.front())?.map_or(0, args::whole);
    Slot::of(lua)?.session.protocol = match version {
        2 => Protocol::Two,
        3 => Protocol::Three,
        _ => return refuse("RESP version must be 2 or 3."),
    };
    Ok(MultiValue::new())
}

/// Everything that a script changes is logged, whatever it asks for here.
fn set_repl(lua: &Lua, args: MultiValue) -> Result<MultiValue> {
    if args.len() != 1 {
        return refuse("redis.set_repl() requires two arguments.");
    }
    let flags = args::as_number(lua, args.front())?.map_or(0, args::whole);
    if flags & !REPL_ALL != 0 {
        return refuse("Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE.");
    }
    Ok(MultiValue::new())
}

/// Whoever may send a script may send any command.
fn acl_check_cmd(_: &Lua, args: MultiValue) -> Result<MultiValue> {
    let words = match words(&args) {
        Ok(words) => words,
        Err(why) => return refuse(why),
    };
    let words: Vec<&[u8]> = words.iter().map(Word::bytes).collect();
    let known = match called(&words) {
        Ok(_) => true,
        Err(fault) => !fault.bytes().starts_with(b"ERR Unknown"),
    };
    if known { one(Value::Boolean(true)) } else { refuse("Invalid command passed to redis.acl_check_cmd()") }
}
