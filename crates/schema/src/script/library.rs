//! The global names a script may use, and why it may not use others.
//!
//! The embedded store runs the same scripts as a server, so the list is what both have.

use super::ast::{Expr, Kind};
use crate::diagnostic::Code;

/// Functions that are global names of their own.
const FUNCTIONS: [&str; 11] = [
    "tonumber", "tostring", "type", "pairs", "ipairs", "next", "select", "unpack", "error", "pcall", "assert",
];

/// Functions in tables.
const MEMBERS: [&str; 37] = [
    "redis.call",
    "redis.pcall",
    "redis.error_reply",
    "redis.status_reply",
    "redis.log",
    "redis.sha1hex",
    "redis.setresp",
    "string.byte",
    "string.char",
    "string.find",
    "string.format",
    "string.gmatch",
    "string.gsub",
    "string.len",
    "string.lower",
    "string.match",
    "string.rep",
    "string.reverse",
    "string.sub",
    "string.upper",
    "table.concat",
    "table.insert",
    "table.maxn",
    "table.remove",
    "table.sort",
    "math.abs",
    "math.ceil",
    "math.exp",
    "math.floor",
    "math.fmod",
    "math.log",
    "math.log10",
    "math.max",
    "math.min",
    "math.modf",
    "math.pow",
    "math.sqrt",
];

/// Values in tables.
const VALUES: [&str; 6] =
    ["math.huge", "math.pi", "redis.LOG_DEBUG", "redis.LOG_VERBOSE", "redis.LOG_NOTICE", "redis.LOG_WARNING"];

const TABLES: [&str; 4] = ["redis", "string", "table", "math"];

/// What a global expression is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Library {
    /// A function, by its full name.
    Function(&'static str),
    /// A value such as `math.huge`.
    Value,
    /// `KEYS` or `ARGV`.
    Input,
    /// One of the tables as a whole.
    Table,
}

/// What an expression names in the library; `None` when it is not about globals, or not about allowed ones.
pub(super) fn named(expr: &Expr) -> Option<Library> {
    match &expr.kind {
        Kind::Global(name) if name == "KEYS" || name == "ARGV" => Some(Library::Input),
        Kind::Global(name) if TABLES.contains(&name.as_str()) => Some(Library::Table),
        Kind::Global(name) => FUNCTIONS.iter().find(|own| *own == name).map(|own| Library::Function(own)),
        Kind::Index(table, member) => {
            let (Kind::Global(table), Kind::Text(member)) = (&table.kind, &member.kind) else { return None };
            let is = |own: &&&str| own.split_once('.') == Some((table.as_str(), member.as_str()));
            let function = MEMBERS.iter().find(is).map(|own| Library::Function(own));
            function.or_else(|| VALUES.iter().find(is).map(|_| Library::Value))
        }
        _ => None,
    }
}

/// Whether strings have this method.
pub(super) fn is_string_method(name: &str) -> bool {
    MEMBERS.iter().any(|own| own.split_once('.') == Some(("string", name)))
}

/// The members of one of the tables, for help texts.
pub(super) fn members(table: &str) -> Vec<&'static str> {
    let all = MEMBERS.iter().chain(&VALUES).filter_map(|own| own.split_once('.'));
    all.filter(|(own, _)| *own == table).map(|(_, member)| member).collect()
}

/// Names to compare an unknown one with.
pub(super) fn candidates() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.into_iter().chain(TABLES).chain(["KEYS", "ARGV"])
}

/// Why a name of Lua or of a server is not for scripts, and what to do instead.
pub(super) fn refusal(name: &str, member: Option<&str>) -> Option<(Code, &'static str, &'static str)> {
    let global = |why, help| Some((Code::ScriptGlobal, why, help));
    match (name, member) {
        ("os", Some("time" | "clock" | "date")) => Some((
            Code::ScriptTime,
            "it reads the clock of whichever machine runs the script",
            "take time from the server with `redis.call('TIME')`",
        )),
        ("math", Some("random" | "randomseed")) => global(
            "a script does the same when it runs again with the same arguments",
            "draw the number outside and pass it as an argument",
        ),
        ("bit" | "struct" | "cjson" | "cmsgpack", _) => global(
            "the embedded store has no such library",
            "encode and decode in the caller, and pass plain values",
        ),
        ("os" | "io" | "debug" | "package" | "coroutine", _) => {
            global("a script has no world but its keys", "pass what it needs as an argument")
        }
        ("loadstring" | "load" | "loadfile" | "dofile" | "require" | "module", _) => global(
            "a script is one file, so that everything in it can be checked",
            "write the code here, as a local function",
        ),
        ("setmetatable" | "getmetatable" | "rawset" | "rawget" | "rawequal", _) => {
            global("metatables hide what an index or a call does", "write it out")
        }
        ("_G" | "_VERSION" | "getfenv" | "setfenv", _) => {
            global("globals outlive the script and are shared with all others", "use locals")
        }
        ("print", _) => global("nobody sees it", "return the value, or use `redis.log(redis.LOG_NOTICE, …)`"),
        ("xpcall", _) => global("the embedded store has no xpcall", "use `pcall` or `redis.pcall`"),
        ("collectgarbage" | "gcinfo" | "newproxy", _) => {
            global("memory is the server's matter", "leave it out")
        }
        ("redis", Some("replicate_commands" | "set_repl")) => {
            global("effects are always replicated, all of them", "leave it out")
        }
        ("redis", Some("breakpoint" | "debug")) => global("it is for the debugger", "leave it out"),
        ("redis", Some("acl_check_cmd")) => global(
            "what a script may do is written in the contract",
            "let the command fail, or use `redis.pcall`",
        ),
        _ => None,
    }
}
