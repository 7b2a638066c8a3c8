//! Scripts: EVAL and what a script can do.
//!
//! What it promises:
//!
//! - a script sees the globals, errors and conversions of Redis 7.0, and nothing outside the engine;
//! - what its commands do belongs to the step that runs it, whether it ends well or not: a script that fails, or is
//!   stopped, keeps what it has written, as in Redis;
//! - no script ends the process or keeps it for ever. After [`Config::script_budget`](crate::config::Config) instructions
//!   it is stopped, whatever it catches; Lua may use [`MEMORY`] bytes; patterns, nesting and replies have their limits.
//!
//! What it does not: `cjson`, `cmsgpack` and `struct` are not there. The budget counts Lua's instructions and the steps of
//! patterns, not what commands cost. Addresses in `tostring({})` are not the same from run to run.
//!
//! While a script runs, the engine's state lives in the virtual machine ([`Slot`]), where `redis.call` finds it; it is
//! taken back when the script is over.

#![allow(clippy::needless_pass_by_value, reason = "functions for Lua share one signature")]

mod args;
mod base;
mod call;
mod convert;
mod numbers;
mod patterns;
mod sandbox;
mod shebang;
mod strings;
mod thrown;

use std::collections::HashMap;

use mlua::{AppDataRefMut, Function, HookTriggers, Lua, MultiValue, Table, Value, VmState};

use crate::clients::{ClientId, Origin, Session};
use crate::commands::Answer;
use crate::db::Hashing;
use crate::fault::Fault;
use crate::reply::Protocol;
use crate::state::State;
use numbers::Dice;
use sandbox::Sandbox;
use shebang::Flags;
use thrown::{Place, Thrown};

/// How much memory scripts may use, all together.
const MEMORY: usize = 256 << 20;
/// How many instructions pass from one look at the budget to the next.
const STEP: u32 = 1000;

/// A function that a script can call.
type Native = fn(&Lua, MultiValue) -> mlua::Result<MultiValue>;

/// The name of a script: the SHA-1 of its text in hexadecimal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Sha([u8; 40]);

impl Sha {
    pub(crate) fn of(script: &[u8]) -> Self {
        let mut name = [0; 40];
        for (two, byte) in name.chunks_exact_mut(2).zip(sha1_smol::Sha1::from(script).digest().bytes()) {
            const DIGITS: &[u8; 16] = b"0123456789abcdef";
            two.copy_from_slice(&[DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
        }
        Self(name)
    }

    /// In any case; nothing where it cannot be one.
    pub(crate) fn named(name: &[u8]) -> Option<Self> {
        name.to_ascii_lowercase().try_into().map(Self).ok()
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// One run of a script.
pub(crate) struct Call<'a> {
    pub(crate) sha: Sha,
    pub(crate) keys: &'a [&'a [u8]],
    pub(crate) args: &'a [&'a [u8]],
    pub(crate) caller: Session,
    /// Sent with EVAL_RO or EVALSHA_RO.
    pub(crate) read_only: bool,
    pub(crate) stopwatch: Option<fn() -> u64>,
}

/// The scripts that are known, and the virtual machine that runs them; there is none before the first.
#[derive(Default)]
pub(crate) struct Scripts {
    machine: Option<Machine>,
    /// They go on from script to script.
    dice: Dice,
}

impl std::fmt::Debug for Scripts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let known = self.machine.as_ref().map_or(0, |machine| machine.known.len());
        f.debug_struct("Scripts").field("known", &known).finish_non_exhaustive()
    }
}

struct Machine {
    lua: Lua,
    known: HashMap<Sha, Known, Hashing>,
    /// The compiled ones, by number. In Lua, because Rust can hold a few thousand handles only.
    functions: Table,
}

#[derive(Clone, Copy)]
struct Known {
    number: usize,
    flags: Flags,
}

/// What a running script works with.
struct Slot {
    state: State,
    session: Session,
    read_only: bool,
    stopwatch: Option<fn() -> u64>,
    dice: Dice,
    /// Instructions that are left.
    budget: u64,
    stopped: bool,
    /// The handlers of `xpcall`, from the outermost to the one that is in force.
    handlers: Vec<Value>,
    /// A value that is being raised again, and where that was first.
    raised: Option<Value>,
    place: Option<Place>,
    /// A function and its arguments, or its results.
    passed: MultiValue,
    sha: Sha,
    /// Why the script failed.
    failure: Option<Fault>,
}

impl Slot {
    fn empty() -> Self {
        let session = Session { client: ClientId(0), db: 0, protocol: Protocol::Two, origin: Origin::Script };
        Self {
            state: State::default(),
            session,
            read_only: false,
            stopwatch: None,
            dice: Dice::default(),
            budget: 0,
            stopped: false,
            handlers: Vec::new(),
            raised: None,
            place: None,
            passed: MultiValue::new(),
            sha: Sha([0; 40]),
            failure: None,
        }
    }

    fn of(lua: &Lua) -> mlua::Result<AppDataRefMut<'_, Self>> {
        let slot = lua.try_app_data_mut().map_err(mlua::Error::external)?;
        slot.ok_or_else(|| mlua::Error::runtime("no script is running"))
    }
}

/// Takes instructions from the budget of the running script, which is stopped when it has too few.
fn spend(lua: &Lua, instructions: u64) -> mlua::Result<()> {
    let mut slot = Slot::of(lua)?;
    match slot.budget.checked_sub(instructions) {
        Some(left) => {
            slot.budget = left;
            Ok(())
        }
        None => {
            slot.budget = 0;
            slot.stopped = true;
            Thrown::Stopped.raise()
        }
    }
}

/// An error of the machine itself, which no script has raised.
fn broken(error: &mlua::Error) -> Fault {
    Fault::new(format!("ERR Error running script, {}", thrown::text_of(error)))
}

impl Scripts {
    fn machine(&mut self) -> mlua::Result<&mut Machine> {
        let machine = match self.machine.take() {
            Some(machine) => machine,
            None => Machine::new()?,
        };
        Ok(self.machine.insert(machine))
    }

    /// Makes a script known.
    pub(crate) fn load(&mut self, script: &[u8]) -> Result<Sha, Fault> {
        let sha = Sha::of(script);
        let machine = self.machine().map_err(|error| broken(&error))?;
        if !machine.known.contains_key(&sha) {
            machine.compile(sha, script)?;
        }
        Ok(sha)
    }

    pub(crate) fn knows(&self, sha: Sha) -> bool {
        self.machine.as_ref().is_some_and(|machine| machine.known.contains_key(&sha))
    }

    /// Forgets all scripts.
    pub(crate) fn flush(&mut self) {
        self.machine = None;
    }

    /// Runs a script on this state, which is whole again afterwards.
    pub(crate) fn run(&mut self, state: &mut State, call: &Call<'_>) -> Answer {
        let mut dice = self.dice;
        let machine = self.machine().map_err(|error| broken(&error))?;
        let known = machine.known.get(&call.sha).copied();
        let known = known.ok_or(Fault::of("NOSCRIPT No matching script. Please use EVAL."))?;
        if call.read_only && known.flags.declared && !known.flags.no_writes {
            return Err(Fault::of("ERR Can not execute a script with write flag using *_ro command."));
        }
        let function = machine.prepare(known, call).map_err(|error| broken(&error))?;
        let read_only = call.read_only || known.flags.no_writes;
        let answer = machine.run(&function, state, call, read_only, &mut dice);
        self.dice = dice;
        answer
    }
}

impl Machine {
    fn new() -> mlua::Result<Self> {
        let lua = sandbox::build()?;
        lua.set_app_data(Slot::empty());
        let every = HookTriggers::new().every_nth_instruction(STEP);
        lua.set_global_hook(every, |lua, _| spend(lua, u64::from(STEP)).map(|()| VmState::Continue))?;
        let functions = lua.create_table()?;
        Ok(Self { lua, known: HashMap::default(), functions })
    }

    fn compile(&mut self, sha: Sha, script: &[u8]) -> Result<(), Fault> {
        let (flags, body) = shebang::parse(script)?;
        let mut made = base::compile(&self.lua, body, b"@user_script").map_err(|error| broken(&error))?;
        let number = self.known.len() + 1;
        match (made.pop_front(), made.pop_front()) {
            (Some(Value::Function(function)), _) => {
                self.functions.raw_set(number, function).map_err(|error| broken(&error))?;
                self.known.insert(sha, Known { number, flags });
                Ok(())
            }
            (_, Some(Value::String(why))) => {
                let why = why.as_bytes();
                let why = convert::until_zero(&why);
                Err(convert::fault(&[b"ERR Error compiling script (new function): ", why].concat()))
            }
            _ => Err(Fault::of("ERR Error compiling script (new function)")),
        }
    }

    /// KEYS and ARGV are in place afterwards.
    fn prepare(&self, known: Known, call: &Call<'_>) -> mlua::Result<Function> {
        let sandbox = Sandbox::of(&self.lua)?;
        for (name, words) in [("KEYS", call.keys), ("ARGV", call.args)] {
            let table = self.lua.create_table_with_capacity(words.len(), 0)?;
            for (index, word) in words.iter().enumerate() {
                table.raw_set(index + 1, self.lua.create_string(word)?)?;
            }
            sandbox.real_globals.raw_set(name, table)?;
        }
        self.functions.raw_get(known.number)
    }

    fn run(
        &self,
        function: &Function,
        state: &mut State,
        call: &Call<'_>,
        read_only: bool,
        dice: &mut Dice,
    ) -> Answer {
        let broken = |error: mlua::Error| broken(&error);
        self.begin(state, call, read_only, *dice).map_err(broken)?;
        let called = [Value::Function(function.clone())].into_iter().collect();
        let outcome = base::call_with(&self.lua, called, |raw| &raw.report);
        let (protocol, failure) = self.end(state, dice).map_err(broken)?;
        let answer = match outcome {
            Ok(Ok(values)) => convert::to_reply(&args::at(&values, 1), protocol).map_err(broken),
            Ok(Err(raised)) => Err(failure.unwrap_or_else(|| unreported(call.sha, &raised))),
            Err(error) => Err(broken(error)),
        };
        self.tidy();
        answer
    }

    /// Hands the state over to the script.
    fn begin(&self, state: &mut State, call: &Call<'_>, read_only: bool, dice: Dice) -> mlua::Result<()> {
        let mut slot = Slot::of(&self.lua)?;
        let slot = &mut *slot;
        slot.session = Session { origin: Origin::Script, protocol: Protocol::Two, ..call.caller };
        slot.read_only = read_only;
        slot.stopwatch = call.stopwatch;
        slot.dice = dice;
        slot.budget = state.config.script_budget;
        slot.sha = call.sha;
        std::mem::swap(&mut slot.state, state);
        Ok(())
    }

    /// Takes it back. What the script wanted to speak, and why it failed if it did.
    fn end(&self, state: &mut State, dice: &mut Dice) -> mlua::Result<(Protocol, Option<Fault>)> {
        let mut slot = Slot::of(&self.lua)?;
        std::mem::swap(&mut slot.state, state);
        *dice = slot.dice;
        slot.stopped = false;
        slot.handlers.clear();
        (slot.raised, slot.place) = (None, None);
        slot.passed.clear();
        Ok((slot.session.protocol, slot.failure.take()))
    }

    /// Lua collects its garbage as it allocates, but not when it has run out of memory.
    fn tidy(&self) {
        if self.lua.used_memory() > MEMORY / 2 {
            // Nothing of a script can run here, so nothing can fail.
            let _ = self.lua.gc_collect();
        }
    }
}

/// The handler of a whole script: keeps what went wrong and where.
fn report(lua: &Lua, args: MultiValue) -> mlua::Result<MultiValue> {
    const READ_ONLY: &[u8] = b"ERR err_handler_def:10: Attempt to modify a readonly table";
    let raised = args::at(&args, 1);
    let again =
        matches!(&raised, Value::Error(error) if matches!(error.downcast_ref(), Some(Thrown::Pending)));
    let mut place = if again { Slot::of(lua)?.place.take() } else { thrown::place(lua) };
    let text = if Slot::of(lua)?.stopped {
        b"ERR Script stopped: it has used up its instructions. What it wrote stays.".to_vec()
    } else {
        match thrown::seen(lua, raised)? {
            Value::Table(table) if Sandbox::of(lua)?.behind(&table).is_some() => {
                // Redis notes the place in the table that was raised, and fails when it cannot.
                place = Some(("@err_handler_def".to_owned(), "10".to_owned()));
                READ_ONLY.to_vec()
            }
            Value::Table(table) => {
                let err = base::index(lua, &table, Value::String(lua.create_string("err")?))?;
                match err {
                    Ok(err @ (Value::String(_) | Value::Integer(_) | Value::Number(_))) => shown(lua, err)?,
                    _ => b"ERR unknown error".to_vec(),
                }
            }
            raised => {
                let text = shown(lua, raised)?;
                [b"ERR ", base::unmarked(&text).unwrap_or(&text)].concat()
            }
        }
    };
    let mut slot = Slot::of(lua)?;
    let mut text = convert::until_zero(&text).to_vec();
    if let Some((source, line)) = place {
        text.extend_from_slice(b" script: ");
        text.extend_from_slice(slot.sha.bytes());
        text.extend_from_slice(format!(", on {source}:{line}.").as_bytes());
    }
    slot.failure = Some(Fault::new(text));
    Ok(MultiValue::new())
}

/// As `tostring` shows it.
fn shown(lua: &Lua, value: Value) -> mlua::Result<Vec<u8>> {
    let text: mlua::LuaString = Sandbox::of(lua)?.raw.tostring.call(value)?;
    Ok(text.as_bytes().to_vec())
}

/// A failure that the handler was not asked about, such as too little memory.
fn unreported(sha: Sha, raised: &Value) -> Fault {
    let mut text = b"ERR Error running script ".to_vec();
    text.extend_from_slice(sha.bytes());
    text.extend_from_slice(b", ");
    match raised {
        Value::String(why) => text.extend(why.as_bytes().iter().take(100)),
        _ => text.extend_from_slice(b"execution failure"),
    }
    Fault::new(text)
}
