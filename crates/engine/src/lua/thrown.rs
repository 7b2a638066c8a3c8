//! Errors that Rust raises in a script, and how a script sees them.
//!
//! mlua raises an error of Rust as an object of its own. A script must never meet one: wherever an error can be caught,
//! [`seen`] turns it into the string or table that Redis would have raised.

use mlua::{Error, Lua, MultiValue, Result, Value};

use super::Slot;
use super::convert;

/// What stands for a Lua value while it is on its way up.
#[derive(Debug, Clone, thiserror::Error)]
pub(super) enum Thrown {
    /// `{err = …}`, as a command's failure is raised.
    #[error("a command failed")]
    Failure {
        err: Vec<u8>,
        /// It was counted already when the command failed.
        counted: bool,
    },
    /// A string.
    #[error("an error of a library")]
    Text(Vec<u8>),
    /// Any value; it waits in the slot, because a value inside an error would stay until that error is collected.
    #[error("a value that was raised")]
    Pending,
    /// The script has used up its instructions.
    #[error("the script was stopped")]
    Stopped,
}

impl Thrown {
    pub(super) fn raise<T>(self) -> Result<T> {
        Err(Error::external(self))
    }
}

/// Raises a string with the place of the caller before it, as `luaL_error` does.
pub(super) fn fail<T>(lua: &Lua, message: impl AsRef<[u8]>) -> Result<T> {
    let mut text = caller(lua).into_bytes();
    text.extend_from_slice(message.as_ref());
    Thrown::Text(text).raise()
}

/// Raises a string without a place, as the virtual machine does inside a library.
pub(super) fn fail_bare<T>(message: &str) -> Result<T> {
    Thrown::Text(message.into()).raise()
}

pub(super) fn out_of_memory<T>() -> Result<T> {
    fail_bare("not enough memory")
}

/// Where the function was called from: `user_script:1: `.
fn caller(lua: &Lua) -> String {
    let place = lua.inspect_stack(1, |frame| {
        let line = frame.current_line().filter(|line| *line > 0)?;
        Some(format!("{}:{line}: ", frame.source().short_src.unwrap_or_default()))
    });
    place.flatten().unwrap_or_default()
}

/// A source and a line in it.
pub(super) type Place = (String, String);

/// The place that an error is reported at: of the function that raised it, or of its caller when that was no Lua.
pub(super) fn place(lua: &Lua) -> Option<Place> {
    let at = |level| {
        lua.inspect_stack(level, |frame| {
            let source = frame.source();
            let line = frame.current_line().map_or_else(|| "-1".to_owned(), |line| line.to_string());
            (source.what == "C", source.source.unwrap_or_default().into_owned(), line)
        })
    };
    let (_, source, line) = match at(1)? {
        (true, ..) => at(2)?,
        found => found,
    };
    Some((source, line))
}

/// The value that a script is to see in place of what was caught.
pub(super) fn seen(lua: &Lua, caught: Value) -> Result<Value> {
    let Value::Error(error) = caught else { return Ok(caught) };
    match error.downcast_ref::<Thrown>() {
        Some(Thrown::Failure { err, counted }) => convert::failure(lua, err, *counted),
        Some(Thrown::Text(text)) => Ok(Value::String(lua.create_string(text)?)),
        Some(Thrown::Pending) => Ok(Slot::of(lua)?.raised.take().unwrap_or(Value::Nil)),
        Some(Thrown::Stopped) => Thrown::Stopped.raise(),
        None => Ok(Value::String(lua.create_string(text_of(&error))?)),
    }
}

/// In words, for errors that are mlua's own.
pub(super) fn text_of(error: &Error) -> String {
    match error {
        Error::CallbackError { cause, .. } => text_of(cause),
        Error::MemoryError(_) => "not enough memory".to_owned(),
        Error::StackError => "stack overflow".to_owned(),
        other => other.to_string(),
    }
}

/// Raises a value that was caught, as it is.
pub(super) fn raise_value<T>(lua: &Lua, value: Value) -> Result<T> {
    if let Value::Error(error) = value {
        return Err(*error);
    }
    Slot::of(lua)?.raised = Some(value);
    Thrown::Pending.raise()
}

/// `bad argument #2 to 'rep' (…)`.
pub(super) fn bad_argument<T>(lua: &Lua, number: usize, why: &str) -> Result<T> {
    let called = lua.inspect_stack(0, |frame| {
        let names = frame.names();
        (names.name.map(|name| name.into_owned()), names.name_what == Some("method"))
    });
    let (name, is_method) = called.unwrap_or_default();
    let name = name.unwrap_or_else(|| "?".to_owned());
    match number - usize::from(is_method && number > 0) {
        0 => fail(lua, format!("calling '{name}' on bad self ({why})")),
        number => fail(lua, format!("bad argument #{number} to '{name}' ({why})")),
    }
}

/// The same, with what was expected and what was there.
pub(super) fn wrong_type<T>(lua: &Lua, args: &MultiValue, number: usize, expected: &str) -> Result<T> {
    let got = args.get(number - 1).map_or("no value", type_name);
    bad_argument(lua, number, &format!("{expected} expected, got {got}"))
}

/// As `type` names it.
pub(super) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Nil => "nil",
        Value::Boolean(_) => "boolean",
        Value::Integer(_) | Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Table(_) => "table",
        Value::Function(_) => "function",
        Value::Thread(_) => "thread",
        _ => "userdata",
    }
}
