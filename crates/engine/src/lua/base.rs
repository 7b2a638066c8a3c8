//! Lua's basic functions, where they have to know of protected tables, of errors that Rust raised, or of limits.

use mlua::{Function, Lua, MultiValue, Result, Table, Value};

use super::sandbox::{Raw, Sandbox};
use super::thrown::{Thrown, bad_argument, fail, fail_bare, out_of_memory, place, seen};
use super::{MEMORY, Native, STEP, Slot, args, spend};

pub(super) const BASE: &[(&str, Native)] = &[
    ("pcall", pcall),
    ("xpcall", xpcall),
    ("next", next),
    ("pairs", pairs),
    ("rawget", rawget),
    ("rawset", rawset),
    ("getmetatable", getmetatable),
    ("setmetatable", setmetatable),
    ("unpack", unpack),
    ("loadstring", loadstring),
    ("load", load),
    ("collectgarbage", collectgarbage),
];

pub(super) const TABLE: &[(&str, Native)] = &[("insert", insert)];

pub(super) const COROUTINE: &[(&str, Native)] = &[
    ("create", |lua, args| begin(lua, &args, |raw| &raw.create)),
    ("wrap", |lua, args| begin(lua, &args, |raw| &raw.wrap)),
    ("resume", resume),
];

/// Lua's limit of what a function can have on the stack.
const STACK: i64 = 8000;

fn one(value: Value) -> Result<MultiValue> {
    Ok([value].into_iter().collect())
}

/// Runs code of the script, which may only use so much memory. Rust around it is not limited: its own calls into Lua are
/// several times as fast when they cannot fail.
pub(super) fn lua_code<T>(lua: &Lua, run: impl FnOnce() -> Result<T>) -> Result<T> {
    lua.set_memory_limit(MEMORY)?;
    let done = run();
    lua.set_memory_limit(0)?;
    done
}

/// The opposite, for a function of ours that the script has called.
pub(super) fn rust_code<T>(lua: &Lua, run: impl FnOnce() -> Result<T>) -> Result<T> {
    lua.set_memory_limit(0)?;
    let done = run();
    lua.set_memory_limit(MEMORY)?;
    done
}

/// What a function returned, or raised.
pub(super) type Outcome<T> = std::result::Result<T, Value>;

/// The chunk that [`CALLS`] is: a mark that no message has, so that a place in it can be told from a script's.
const MARK: &str = "\u{1}";

/// Calls what Rust has put into the slot and leaves there what comes back. Lua's own `pcall` has no room for more than a
/// few results when its assertions are on. `or nil` takes the name from what is called: messages are not to show it.
const CALLS: &str = "local take, keep = ... \
    local function go(call, ...) keep((call or nil)(...)) end \
    return function() go(take()) end";

/// The function that calls what is in the slot.
pub(super) fn calls(lua: &Lua, take: Function, keep: Function) -> Result<Function> {
    lua.load(CALLS).set_name(format!("={MARK}")).call((take, keep))
}

pub(super) fn take(lua: &Lua, _: MultiValue) -> Result<MultiValue> {
    Ok(std::mem::take(&mut Slot::of(lua)?.passed))
}

pub(super) fn keep(lua: &Lua, results: MultiValue) -> Result<MultiValue> {
    Slot::of(lua)?.passed = results;
    Ok(MultiValue::new())
}

/// Calls the first value with the others; the handler is called where an error is raised.
pub(super) fn call_with(
    lua: &Lua,
    values: MultiValue,
    handler: fn(&Raw) -> &Function,
) -> Result<Outcome<MultiValue>> {
    let sandbox = Sandbox::of(lua)?;
    Slot::of(lua)?.passed = values;
    let raw = &sandbox.raw;
    let (done, raised): (bool, Value) = lua_code(lua, || raw.xpcall.call((&raw.calls, handler(raw))))?;
    if done { Ok(Ok(std::mem::take(&mut Slot::of(lua)?.passed))) } else { Ok(Err(raised)) }
}

/// The same for what a script does itself: that the script was stopped is never caught.
fn caught(lua: &Lua, values: MultiValue, handler: fn(&Raw) -> &Function) -> Result<Outcome<MultiValue>> {
    match call_with(lua, values, handler)? {
        Ok(values) => Ok(Ok(values)),
        Err(raised) => Ok(Err(settled(lua, raised)?)),
    }
}

/// An error that was caught, as the script sees it.
fn settled(lua: &Lua, raised: Value) -> Result<Value> {
    if Slot::of(lua)?.stopped {
        return Thrown::Stopped.raise();
    }
    let raised = seen(lua, raised)?;
    if let Value::String(text) = &raised
        && let Some(rest) = unmarked(&text.as_bytes())
    {
        return Ok(Value::String(lua.create_string(rest)?));
    }
    Ok(raised)
}

/// A message without its place, if that is in our own code, where Redis has none.
pub(super) fn unmarked(text: &[u8]) -> Option<&[u8]> {
    let rest = text.strip_prefix(MARK.as_bytes())?.strip_prefix(b":")?;
    rest.splitn(2, |byte| *byte == b' ').nth(1)
}

/// Calls a function of the script.
pub(super) fn protected(lua: &Lua, function: &Function, args: MultiValue) -> Result<Outcome<MultiValue>> {
    let mut args = args;
    args.push_front(Value::Function(function.clone()));
    caught(lua, args, |raw| &raw.locate)
}

/// Notes where an error was raised, for whoever raises it again.
pub(super) fn locate(lua: &Lua, args: MultiValue) -> Result<MultiValue> {
    let place = place(lua);
    Slot::of(lua)?.place = place;
    Ok(args)
}

/// `table[key]`.
pub(super) fn index(lua: &Lua, table: &Table, key: Value) -> Result<Outcome<Value>> {
    let sandbox = Sandbox::of(lua)?;
    let args = [Value::Table(table.clone()), key].into_iter().collect();
    let outcome = protected(lua, &sandbox.raw.index, args)?;
    Ok(outcome.map(|mut values| values.pop_front().unwrap_or(Value::Nil)))
}

fn with_truth(outcome: Outcome<MultiValue>) -> MultiValue {
    match outcome {
        Ok(mut values) => {
            values.push_front(Value::Boolean(true));
            values
        }
        Err(raised) => [Value::Boolean(false), raised].into_iter().collect(),
    }
}

fn pcall(lua: &Lua, args: MultiValue) -> Result<MultiValue> {
    args::any(lua, &args, 1)?;
    let mut outcome = caught(lua, args, |raw| &raw.locate)?;
    // Scripts that were written for older versions expect a string.
    if let Err(Value::Table(table)) = &outcome
        && let Ok(err @ (Value::String(_) | Value::Integer(_) | Value::Number(_))) =
            index(lua, table, Value::String(lua.create_string("err")?))?
    {
        outcome = Err(err);
    }
    Ok(with_truth(outcome))
}

fn xpcall(lua: &Lua, args: MultiValue) -> Result<MultiValue> {
    let handler = args::any(lua, &args, 2)?;
    Slot::of(lua)?.handlers.push(handler);
    let outcome = caught(lua, one(args::at(&args, 1))?, |raw| &raw.handler);
    Slot::of(lua)?.handlers.pop();
    Ok(with_truth(outcome?))
}

/// What `xpcall` gives to Lua in place of the script's handler, which it calls.
pub(super) fn handle(lua: &Lua, args: MultiValue) -> Result<MultiValue> {
    let raised = args::at(&args, 1);
    if Slot::of(lua)?.stopped {
        return Ok(args);
    }
    let raised = settled(lua, raised)?;
    let handler = Slot::of(lua)?.handlers.last().cloned();
    if let Some(Value::Function(handler)) = handler
        && let Ok(values) = protected(lua, &handler, one(raised)?)?
    {
        return Ok(values);
    }
    one(Value::String(lua.create_string("error in error handling")?))
}

pub(super) fn next(lua: &Lua, args: MultiValue) -> Result<MultiValue> {
    let table = args::table(lua, &args, 1)?;
    let sandbox = Sandbox::of(lua)?;
    let table = sandbox.behind(&table).cloned().unwrap_or(table);
    // The only thing that can go wrong.
    sandbox.raw.next.call((table, args::at(&args, 2))).or_else(|_| fail_bare("invalid key to 'next'"))
}

fn pairs(lua: &Lua, args: MultiValue) -> Result<MultiValue> {
    let table = args::table(lua, &args, 1)?;
    let sandbox = Sandbox::of(lua)?;
    let next = if sandbox.behind(&table).is_some() { &sandbox.raw.own_next } else { &sandbox.raw.next };
    Ok([Value::Function(next.clone()), Value::Table(table), Value::Nil].into_iter().collect())
}

fn rawget(lua: &Lua, args: MultiValue) -> Result<MultiValue> {
    let table = args::table(lua, &args, 1)?;
    let key = args::any(lua, &args, 2)?;
    let sandbox = Sandbox::of(lua)?;
    one(sandbox.behind(&table).unwrap_or(&table).raw_get(key)?)
}

const READ_ONLY: &str = "Attempt to modify a readonly table";

fn rawset(lua: &Lua, args: MultiValue) -> Result<MultiValue> {
    let table = args::table(lua, &args, 1)?;
    let (key, value) = (args::any(lua, &args, 2)?, args::any(lua, &args, 3)?);
    match &key {
        _ if Sandbox::of(lua)?.behind(&table).is_some() => fail_bare(READ_ONLY),
        Value::Nil => fail_bare("table index is nil"),
        Value::Number(number) if number.is_nan() => fail_bare("table index is NaN"),
        _ => {
            table.raw_set(key, value)?;
            one(Value::Table(table))
        }
    }
}

/// What happens when a protected table is assigned to.
pub(super) fn refuse(lua: &Lua, _: MultiValue) -> Result<MultiValue> {
    fail(lua, READ_ONLY)
}

/// What happens when a global is read that is not there.
pub(super) fn missing(lua: &Lua, args: MultiValue) -> Result<MultiValue> {
    if args.len() != 2 {
        return fail(lua, "Wrong number of arguments to luaProtectedTableError");
    }
    match lua.coerce_string(args::at(&args, 2))? {
        Some(name) => {
            let name = name.as_bytes();
            let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
            let text = [b"Script attempted to access nonexistent global variable '", name, b"'"].concat();
            fail(lua, text)
        }
        None => fail(lua, "Second argument to luaProtectedTableError must be a string or number"),
    }
}

fn getmetatable(lua: &Lua, args: MultiValue) -> Result<MultiValue> {
    let sandbox = Sandbox::of(lua)?;
    let metatable = match args::any(lua, &args, 1)? {
        Value::String(_) => Some(sandbox.of_strings.clone()),
        Value::Table(table) if table == sandbox.globals => Some(sandbox.of_globals.clone()),
        Value::Table(table) if sandbox.behind(&table).is_some() => None,
        Value::Table(table) => table.metatable(),
        _ => None,
    };
    let Some(metatable) = metatable else { return one(Value::Nil) };
    match metatable.raw_get("__metatable")? {
        Value::Nil => one(Value::Table(metatable)),
        shown => one(shown),
    }
}

fn setmetatable(lua: &Lua, args: MultiValue) -> Result<MultiValue> {
    let table = args::table(lua, &args, 1)?;
    let metatable = match args.get(1) {
        Some(Value::Nil) => None,
        Some(Value::Table(metatable)) => Some(metatable.clone()),
        _ => return bad_argument(lua, 2, "nil or table expected"),
    };
    if Sandbox::of(lua)?.behind(&table).is_some() {
        return fail_bare(READ_ONLY);
    }
    let locked = match table.metatable() {
        Some(before) => !before.raw_get::<Value>("__metatable")?.is_nil(),
        None => false,
    };
    if locked {
        return fail(lua, "cannot change a protected metatable");
    }
    table.set_metatable(metatable)?;
    one(Value::Table(table))
}

fn unpack(lua: &Lua, args: MultiValue) -> Result<MultiValue> {
    let table = args::table(lua, &args, 1)?;
    let first = i64::from(args::int_or(lua, &args, 2, 1)? as i32);
    let length = table.raw_len() as i64;
    let last = i64::from(args::int_or(lua, &args, 3, length)? as i32);
    if last - first >= STACK - args.len() as i64 {
        return fail(lua, "too many results to unpack");
    }
    let values: Result<MultiValue> = (first..=last).map(|number| table.raw_get(number)).collect();
    values.or_else(|_| fail(lua, "too many results to unpack"))
}

fn insert(lua: &Lua, args: MultiValue) -> Result<MultiValue> {
    let table = args::table(lua, &args, 1)?;
    if !(2..=3).contains(&args.len()) {
        return fail(lua, "wrong number of arguments to 'insert'");
    }
    if args.len() == 3 {
        args::int(lua, &args, 2)?;
    }
    let sandbox = Sandbox::of(lua)?;
    if sandbox.behind(&table).is_some() {
        return fail_bare(READ_ONLY);
    }
    if args.len() == 2 {
        table.raw_push(args::at(&args, 2))?;
        return Ok(MultiValue::new());
    }
    sandbox.raw.insert.call(args)
}

/// A chunk of text; what would be taken for compiled code is made text by a blank before it.
pub(super) fn compile(lua: &Lua, source: &[u8], name: &[u8]) -> Result<MultiValue> {
    let source = match source {
        [27, ..] => lua.create_string([b" ", source].concat())?,
        source => lua.create_string(source)?,
    };
    let name = lua.create_string(name)?;
    Sandbox::of(lua)?.raw.loadstring.call((source, name))
}

fn loadstring(lua: &Lua, args: MultiValue) -> Result<MultiValue> {
    let source = args::string(lua, &args, 1)?;
    let name = match args::at(&args, 2) {
        Value::Nil => source.clone(),
        _ => args::string(lua, &args, 2)?,
    };
    compile(lua, &source.as_bytes(), &name.as_bytes())
}

fn load(lua: &Lua, args: MultiValue) -> Result<MultiValue> {
    let name = match args::at(&args, 2) {
        Value::Nil => lua.create_string("=(load)")?,
        _ => args::string(lua, &args, 2)?,
    };
    let reader = args::function(lua, &args, 1)?;
    let mut source = Vec::new();
    loop {
        let piece = match protected(lua, &reader, MultiValue::new())? {
            Ok(mut values) => values.pop_front().unwrap_or(Value::Nil),
            Err(raised) => return Ok([Value::Nil, raised].into_iter().collect()),
        };
        let piece = match piece {
            Value::Nil => break,
            piece @ (Value::String(_) | Value::Integer(_) | Value::Number(_)) => lua.coerce_string(piece)?,
            _ => None,
        };
        let Some(piece) = piece else {
            let why = lua.create_string("reader function must return a string")?;
            return Ok([Value::Nil, Value::String(why)].into_iter().collect());
        };
        if piece.as_bytes().is_empty() {
            break;
        }
        source.extend_from_slice(&piece.as_bytes());
        if source.len() > MEMORY {
            return out_of_memory();
        }
    }
    compile(lua, &source, &name.as_bytes())
}

/// A script may collect its garbage, but not change how that of others is collected.
fn collectgarbage(lua: &Lua, args: MultiValue) -> Result<MultiValue> {
    const OPTIONS: [&[u8]; 7] =
        [b"stop", b"restart", b"collect", b"count", b"step", b"setpause", b"setstepmul"];
    let option = match args::at(&args, 1) {
        Value::Nil => lua.create_string("collect")?,
        _ => args::string(lua, &args, 1)?,
    };
    let option = option.as_bytes();
    if !OPTIONS.contains(&&*option) {
        return bad_argument(lua, 1, &format!("invalid option '{}'", String::from_utf8_lossy(&option)));
    }
    args::int_or(lua, &args, 2, 0)?;
    match &*option {
        b"collect" | b"count" | b"step" => Sandbox::of(lua)?.raw.collectgarbage.call(args),
        _ => one(Value::Integer(0)),
    }
}

/// A new coroutine counts its instructions from nothing, so it is charged before it has run any.
fn begin(lua: &Lua, args: &MultiValue, how: fn(&Raw) -> &Function) -> Result<MultiValue> {
    match args.front() {
        Some(Value::Function(function)) if function.info().what != "C" => {
            spend(lua, u64::from(STEP))?;
            how(&Sandbox::of(lua)?.raw).call(function)
        }
        _ => bad_argument(lua, 1, "Lua function expected"),
    }
}

fn resume(lua: &Lua, args: MultiValue) -> Result<MultiValue> {
    if !matches!(args.front(), Some(Value::Thread(_))) {
        return bad_argument(lua, 1, "coroutine expected");
    }
    let sandbox = Sandbox::of(lua)?;
    let mut values: MultiValue = lua_code(lua, || sandbox.raw.resume.call(args))?;
    let outcome = match values.pop_front() {
        Some(Value::Boolean(true)) => Ok(values),
        _ => Err(settled(lua, values.pop_front().unwrap_or(Value::Nil))?),
    };
    Ok(with_truth(outcome))
}
