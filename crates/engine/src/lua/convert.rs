//! Replies as Lua values, and Lua values as replies.
//!
//! | a reply | in Lua, RESP2 | in Lua, after `redis.setresp(3)` |
//! |---|---|---|
//! | nothing | `false` | `nil` |
//! | a status | `{ok = …}` | the same |
//! | an error | `{err = …}` | the same |
//! | pairs | an array of twice the length | `{map = {…}}` |
//! | a set | an array | `{set = {… = true}}` |
//! | a floating-point number | its text | `{double = …}` |
//! | a truth | 1 or 0 | a boolean |
//! | text for people | a string | `{verbatim_string = {format = …, string = …}}` |
//!
//! The other way, a number loses its fraction, an array ends at its first `nil`, and a table with one of the fields above
//! is what that field says.

use mlua::{Lua, LuaString, Result, Table, Value};

use super::args::whole;
use crate::fault::Fault;
use crate::number;
use crate::reply::{Protocol, Reply};

/// How deep a table may nest that is a reply. Redis takes almost 8000, which no reader of replies does.
const DEPTH: usize = 200;
/// How many bytes a reply may have.
const LONGEST: usize = 512 << 20;
/// What a table counts for: a script can put the same one into many others, over and over.
const TABLE: usize = 512;

/// `{err = …}`, which a script gets for a command that failed.
pub(super) fn failure(lua: &Lua, err: &[u8], counted: bool) -> Result<Value> {
    let table = lua.create_table_with_capacity(0, 2)?;
    table.raw_set("err", lua.create_string(err)?)?;
    if counted {
        table.raw_set("ignore_error_stats_update", true)?;
    }
    Ok(Value::Table(table))
}

/// An error's text with a code before it: the first word, or ERR when there is no other.
pub(super) fn error_text(text: &[u8]) -> Vec<u8> {
    let text = until_zero(text);
    let (code, message) = match text.iter().position(|byte| *byte == b' ') {
        Some(space) => (&text[..space], &text[space + 1..]),
        None => (b"ERR".as_slice(), text),
    };
    let is_line_end = |byte: &u8| matches!(byte, b'\r' | b'\n');
    let start = message.iter().position(|byte| !is_line_end(byte)).unwrap_or(message.len());
    let end = message.iter().rposition(|byte| !is_line_end(byte)).map_or(start, |last| last + 1);
    [code, b" ", &message[start..end]].concat()
}

/// What C sees of a string.
pub(super) fn until_zero(text: &[u8]) -> &[u8] {
    text.split(|byte| *byte == 0).next().unwrap_or_default()
}

pub(super) fn to_lua(lua: &Lua, reply: Reply, protocol: Protocol) -> Result<Value> {
    let three = protocol == Protocol::Three;
    Ok(match reply {
        Reply::Int(value) => Value::Number(value as f64),
        Reply::Bulk(bytes) => Value::String(lua.create_string(bytes)?),
        Reply::Ok => single(lua, "ok", lua.create_string("OK")?)?,
        Reply::Status(text) => single(lua, "ok", lua.create_string(text.as_bytes())?)?,
        Reply::Words(text) => single(lua, "ok", lua.create_string(text)?)?,
        Reply::Error(fault) => failure(lua, &error_text(fault.bytes()), true)?,
        Reply::Nil | Reply::NilArray if three => Value::Nil,
        Reply::Nil | Reply::NilArray => Value::Boolean(false),
        Reply::Double(value) if three => single(lua, "double", value)?,
        Reply::Double(value) => Value::String(lua.create_string(number::shown(value))?),
        Reply::Bool(truth) if three => Value::Boolean(truth),
        Reply::Bool(truth) => Value::Integer(i64::from(truth)),
        Reply::BigNumber(digits) if three => single(lua, "big_number", lua.create_string(digits)?)?,
        Reply::Text(text) if three => verbatim(lua, b"txt", &text)?,
        Reply::Verbatim { format, text } if three => verbatim(lua, &format, &text)?,
        Reply::BigNumber(bytes) | Reply::Text(bytes) | Reply::Verbatim { text: bytes, .. } => {
            Value::String(lua.create_string(bytes)?)
        }
        Reply::Set(all) if three => {
            let set = lua.create_table_with_capacity(0, all.len())?;
            for member in all {
                set.raw_set(to_lua(lua, member, protocol)?, true)?;
            }
            single(lua, "set", set)?
        }
        Reply::Map(pairs) if three => {
            let map = lua.create_table_with_capacity(0, pairs.len())?;
            for (key, value) in pairs {
                map.raw_set(to_lua(lua, key, protocol)?, to_lua(lua, value, protocol)?)?;
            }
            single(lua, "map", map)?
        }
        Reply::Map(pairs) => {
            let flat = pairs.into_iter().flat_map(|(key, value)| [key, value]);
            array(lua, flat, protocol)?
        }
        Reply::Array(all) | Reply::Set(all) | Reply::Push(all) | Reply::Several(all) => {
            array(lua, all, protocol)?
        }
    })
}

/// A table with one field.
fn single(lua: &Lua, name: &str, value: impl mlua::IntoLua) -> Result<Value> {
    let table = lua.create_table_with_capacity(0, 1)?;
    table.raw_set(name, value)?;
    Ok(Value::Table(table))
}

fn verbatim(lua: &Lua, format: &[u8], text: &[u8]) -> Result<Value> {
    let inner = lua.create_table_with_capacity(0, 2)?;
    inner.raw_set("string", lua.create_string(text)?)?;
    inner.raw_set("format", lua.create_string(format)?)?;
    single(lua, "verbatim_string", inner)
}

fn array(lua: &Lua, all: impl IntoIterator<Item = Reply>, protocol: Protocol) -> Result<Value> {
    let all = all.into_iter();
    let table = lua.create_table_with_capacity(all.size_hint().0, 0)?;
    for (index, reply) in all.enumerate() {
        table.raw_set(index + 1, to_lua(lua, reply, protocol)?)?;
    }
    Ok(Value::Table(table))
}

/// The reply that a script's value is; the protocol is the one that the script has chosen.
pub(super) fn to_reply(value: &Value, protocol: Protocol) -> Result<Reply> {
    Replier { three: protocol == Protocol::Three, left: LONGEST, depth: 0 }.reply(value)
}

struct Replier {
    three: bool,
    /// How many bytes are left.
    left: usize,
    depth: usize,
}

impl Replier {
    fn reply(&mut self, value: &Value) -> Result<Reply> {
        self.take(size_of::<Reply>())?;
        match value {
            Value::String(text) => Ok(Reply::Bulk(self.bytes(text)?)),
            Value::Integer(value) => Ok(Reply::Int(*value)),
            Value::Number(value) => Ok(Reply::Int(whole(*value))),
            Value::Boolean(truth) if self.three => Ok(Reply::Bool(*truth)),
            Value::Boolean(true) => Ok(Reply::Int(1)),
            Value::Table(_) if self.depth == DEPTH => {
                Ok(Reply::Error(Fault::of("ERR reached lua stack limit")))
            }
            Value::Table(table) => {
                self.take(TABLE)?;
                self.depth += 1;
                let reply = self.table(table);
                self.depth -= 1;
                reply
            }
            _ => Ok(Reply::Nil),
        }
    }

    fn take(&mut self, bytes: usize) -> Result<()> {
        self.left = self
            .left
            .checked_sub(bytes)
            .ok_or_else(|| mlua::Error::runtime("the reply of the script is too long"))?;
        Ok(())
    }

    fn bytes(&mut self, text: &LuaString) -> Result<Vec<u8>> {
        let bytes = text.as_bytes();
        self.take(bytes.len())?;
        Ok(bytes.to_vec())
    }

    // What calls itself is kept small, because it does so as often as tables nest.
    fn table(&mut self, table: &Table) -> Result<Reply> {
        match self.shape(table)? {
            Shape::Plain(reply) => Ok(*reply),
            Shape::Map(map) => self.map(&map),
            Shape::Set(set) => self.set(&set),
            Shape::Array => self.array(table),
        }
    }

    fn array(&mut self, table: &Table) -> Result<Reply> {
        let mut all = Vec::with_capacity(table.raw_len().min(self.left / size_of::<Reply>()));
        loop {
            match table.raw_get(all.len() + 1)? {
                Value::Nil => return Ok(Reply::Array(all)),
                value => all.push(self.reply(&value)?),
            }
        }
    }

    fn map(&mut self, map: &Table) -> Result<Reply> {
        let mut pairs = Vec::new();
        for pair in map.pairs() {
            let (key, value): (Value, Value) = pair?;
            pairs.push((self.reply(&key)?, self.reply(&value)?));
        }
        Ok(Reply::Map(pairs))
    }

    fn set(&mut self, set: &Table) -> Result<Reply> {
        let mut members = Vec::new();
        for pair in set.pairs() {
            let (member, _): (Value, Value) = pair?;
            members.push(self.reply(&member)?);
        }
        Ok(Reply::Set(members))
    }

    /// What the fields of a table make of it.
    fn shape(&mut self, table: &Table) -> Result<Shape> {
        let plain = |reply| Ok(Shape::Plain(Box::new(reply)));
        if let Value::String(text) = table.raw_get("err")? {
            return plain(Reply::Error(fault(until_zero(&text.as_bytes()))));
        }
        if let Value::String(text) = table.raw_get("ok")? {
            return plain(Reply::Words(one_line(until_zero(&text.as_bytes()))));
        }
        match table.raw_get("double")? {
            Value::Integer(value) => return plain(Reply::Double(value as f64)),
            Value::Number(value) => return plain(Reply::Double(value)),
            _ => {}
        }
        if let Value::String(digits) = table.raw_get("big_number")? {
            return plain(Reply::BigNumber(one_line(&self.bytes(&digits)?)));
        }
        if let Value::Table(inner) = table.raw_get("verbatim_string")?
            && let Value::String(format) = inner.raw_get("format")?
            && let Value::String(text) = inner.raw_get("string")?
        {
            let format = format.as_bytes();
            let mut letters = until_zero(&format).iter().copied().chain(std::iter::repeat(b' '));
            let format = std::array::from_fn(|_| letters.next().unwrap_or(b' '));
            return plain(Reply::Verbatim { format, text: self.bytes(&text)? });
        }
        if let Value::Table(map) = table.raw_get("map")? {
            return Ok(Shape::Map(map));
        }
        match table.raw_get("set")? {
            Value::Table(set) => Ok(Shape::Set(set)),
            _ => Ok(Shape::Array),
        }
    }
}

/// What a table is as a reply.
enum Shape {
    Plain(Box<Reply>),
    Map(Table),
    Set(Table),
    Array,
}

/// An error with the text that a script gave; line ends behind it are dropped.
pub(super) fn fault(text: &[u8]) -> Fault {
    let end = text.iter().rposition(|byte| !matches!(byte, b'\r' | b'\n')).map_or(0, |last| last + 1);
    Fault::new(&text[..end])
}

fn one_line(text: &[u8]) -> Vec<u8> {
    text.iter().map(|byte| if matches!(byte, b'\r' | b'\n') { b' ' } else { *byte }).collect()
}
