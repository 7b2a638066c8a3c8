//! Arguments of library functions, checked as Lua's own libraries check them. Numbers are counted from 1.

use mlua::{Function, Lua, LuaString, MultiValue, Result, Table, Value};

use super::thrown::{bad_argument, wrong_type};

/// The argument, nothing where there is none.
pub(super) fn at(args: &MultiValue, number: usize) -> Value {
    args.get(number - 1).cloned().unwrap_or(Value::Nil)
}

pub(super) fn table(lua: &Lua, args: &MultiValue, number: usize) -> Result<Table> {
    match args.get(number - 1) {
        Some(Value::Table(table)) => Ok(table.clone()),
        _ => wrong_type(lua, args, number, "table"),
    }
}

pub(super) fn function(lua: &Lua, args: &MultiValue, number: usize) -> Result<Function> {
    match args.get(number - 1) {
        Some(Value::Function(function)) => Ok(function.clone()),
        _ => wrong_type(lua, args, number, "function"),
    }
}

/// A string, or a number as one.
pub(super) fn string(lua: &Lua, args: &MultiValue, number: usize) -> Result<LuaString> {
    match args.get(number - 1) {
        Some(Value::String(string)) => Ok(string.clone()),
        Some(value @ (Value::Integer(_) | Value::Number(_))) => match lua.coerce_string(value.clone())? {
            Some(string) => Ok(string),
            None => wrong_type(lua, args, number, "string"),
        },
        _ => wrong_type(lua, args, number, "string"),
    }
}

/// A number, or a string that is one.
pub(super) fn number(lua: &Lua, args: &MultiValue, number: usize) -> Result<f64> {
    match as_number(lua, args.get(number - 1))? {
        Some(value) => Ok(value),
        None => wrong_type(lua, args, number, "number"),
    }
}

pub(super) fn as_number(lua: &Lua, value: Option<&Value>) -> Result<Option<f64>> {
    match value {
        Some(Value::Integer(value)) => Ok(Some(*value as f64)),
        Some(Value::Number(value)) => Ok(Some(*value)),
        Some(Value::String(string)) => lua.coerce_number(Value::String(string.clone())),
        _ => Ok(None),
    }
}

/// C's `int`.
pub(super) fn int(lua: &Lua, args: &MultiValue, number: usize) -> Result<i32> {
    Ok(whole(self::number(lua, args, number)?) as i32)
}

/// The same, which may be missing.
pub(super) fn int_or(lua: &Lua, args: &MultiValue, number: usize, default: i64) -> Result<i64> {
    match args.get(number - 1) {
        None | Some(Value::Nil) => Ok(default),
        Some(_) => Ok(whole(self::number(lua, args, number)?)),
    }
}

/// Something has to be there.
pub(super) fn any(lua: &Lua, args: &MultiValue, number: usize) -> Result<Value> {
    match args.get(number - 1) {
        Some(value) => Ok(value.clone()),
        None => bad_argument(lua, number, "value expected"),
    }
}

/// Towards zero; what does not fit is the least number, as x86 converts it.
pub(super) fn whole(value: f64) -> i64 {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if (-LIMIT..LIMIT).contains(&value) { value as i64 } else { i64::MIN }
}
