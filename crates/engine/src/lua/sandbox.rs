//! What a script finds: Lua's libraries without the parts that reach outside, and the `redis` table.
//!
//! The tables of the libraries and the table of globals cannot be changed. Lua 5.1 has no such tables, so a script gets
//! empty ones that look through to the real ones and refuse to be written to; the few functions that would see the
//! difference, such as `pairs` and `rawset`, know of them.

use mlua::{AppDataRef, Function, Lua, LuaOptions, Result, StdLib, Table};

use super::{Native, base, call, numbers, report, strings};
use crate::commands::server::VERSION;

/// Of Lua's own globals, those that a script does not get.
const REMOVED: [&str; 6] = ["print", "dofile", "loadfile", "newproxy", "getfenv", "setfenv"];

/// Libraries, with what is put into them.
const LIBRARIES: &[(&str, &[(&str, Native)])] = &[
    ("string", strings::STRING),
    ("table", base::TABLE),
    ("math", numbers::MATH),
    ("coroutine", base::COROUTINE),
    ("bit", numbers::BIT),
    ("redis", call::REDIS),
];

/// What our functions need of Lua's own.
pub(super) struct Raw {
    pub(super) xpcall: Function,
    pub(super) next: Function,
    pub(super) insert: Function,
    pub(super) loadstring: Function,
    pub(super) tostring: Function,
    pub(super) collectgarbage: Function,
    pub(super) create: Function,
    pub(super) wrap: Function,
    pub(super) resume: Function,
    /// `table[key]`.
    pub(super) index: Function,
    /// Our own: what calls a function, and what is told of its errors, by way of `pcall`, `xpcall` and EVAL.
    pub(super) calls: Function,
    pub(super) locate: Function,
    pub(super) handler: Function,
    pub(super) report: Function,
    pub(super) own_next: Function,
}

/// The sandbox of one virtual machine.
pub(super) struct Sandbox {
    pub(super) raw: Raw,
    /// Globals as a script sees them, and the real ones.
    pub(super) globals: Table,
    pub(super) real_globals: Table,
    /// What `getmetatable` shows of globals and of strings.
    pub(super) of_globals: Table,
    pub(super) of_strings: Table,
    /// Each protected table by its address, with the real one.
    protected: Vec<(usize, Table)>,
}

impl Sandbox {
    pub(super) fn of(lua: &Lua) -> Result<AppDataRef<'_, Self>> {
        let sandbox = lua.try_app_data_ref().map_err(mlua::Error::external)?;
        sandbox.ok_or_else(|| mlua::Error::runtime("a script without a sandbox"))
    }

    /// The real table, if this is a protected one.
    pub(super) fn behind(&self, table: &Table) -> Option<&Table> {
        let address = table.to_pointer() as usize;
        self.protected.iter().find(|(protected, _)| *protected == address).map(|(_, real)| real)
    }

    /// A table that looks through to this one and cannot be written to.
    fn protect(&mut self, lua: &Lua, real: &Table, refuse: &Function) -> Result<Table> {
        let table = lua.create_table()?;
        let metatable = lua.create_table()?;
        metatable.raw_set("__index", real)?;
        metatable.raw_set("__newindex", refuse)?;
        table.set_metatable(Some(metatable))?;
        self.protected.push((table.to_pointer() as usize, real.clone()));
        Ok(table)
    }
}

/// A virtual machine with a sandbox.
pub(super) fn build() -> Result<Lua> {
    let lua = Lua::new_with(StdLib::STRING | StdLib::TABLE | StdLib::MATH, LuaOptions::new())?;
    let globals = lua.globals();
    let raw = raw(&lua, &globals)?;
    for name in REMOVED {
        globals.raw_remove(name)?;
    }
    put(&lua, &globals, base::BASE)?;
    for name in ["bit", "redis"] {
        globals.raw_set(name, lua.create_table()?)?;
    }
    redis(&lua, &globals.raw_get("redis")?)?;
    let placeholder = lua.create_table()?;
    let mut sandbox = Sandbox {
        raw,
        globals: placeholder.clone(),
        real_globals: globals.clone(),
        of_globals: placeholder.clone(),
        of_strings: placeholder,
        protected: Vec::new(),
    };
    let refuse = native(&lua, base::refuse)?;
    for (name, functions) in LIBRARIES {
        let library: Table = globals.raw_get(*name)?;
        put(&lua, &library, functions)?;
        globals.raw_set(*name, sandbox.protect(&lua, &library, &refuse)?)?;
    }
    let strings = lua.create_table()?;
    strings.raw_set("__index", globals.raw_get::<Table>("string")?)?;
    sandbox.of_strings = sandbox.protect(&lua, &strings, &refuse)?;
    let metatable = lua.create_table()?;
    metatable.raw_set("__index", native(&lua, base::missing)?)?;
    globals.set_metatable(Some(metatable.clone()))?;
    sandbox.of_globals = sandbox.protect(&lua, &metatable, &refuse)?;
    sandbox.globals = sandbox.protect(&lua, &globals, &refuse)?;
    globals.raw_set("_G", &sandbox.globals)?;
    lua.set_globals(sandbox.globals.clone())?;
    lua.set_app_data(sandbox);
    Ok(lua)
}

fn raw(lua: &Lua, globals: &Table) -> Result<Raw> {
    let (table, coroutine): (Table, Table) = (globals.get("table")?, globals.get("coroutine")?);
    Ok(Raw {
        xpcall: globals.get("xpcall")?,
        next: globals.get("next")?,
        insert: table.get("insert")?,
        loadstring: globals.get("loadstring")?,
        tostring: globals.get("tostring")?,
        collectgarbage: globals.get("collectgarbage")?,
        create: coroutine.get("create")?,
        wrap: coroutine.get("wrap")?,
        resume: coroutine.get("resume")?,
        index: lua.load("local table, key = ... return table[key]").set_name("=[C]").into_function()?,
        calls: base::calls(lua, native(lua, base::take)?, native(lua, base::keep)?)?,
        locate: native(lua, base::locate)?,
        handler: native(lua, base::handle)?,
        report: native(lua, report)?,
        own_next: native(lua, base::next)?,
    })
}

/// The parts of the `redis` table that are no plain functions.
fn redis(lua: &Lua, redis: &Table) -> Result<()> {
    redis
        .raw_set("call", lua.create_function(|lua, args| base::rust_code(lua, || call::call(lua, args)))?)?;
    redis.raw_set(
        "pcall",
        lua.create_function(|lua, args| base::rust_code(lua, || call::pcall(lua, args)))?,
    )?;
    redis.raw_set("REDIS_VERSION", VERSION)?;
    for (name, number) in call::NUMBERS {
        redis.raw_set(*name, *number)?;
    }
    Ok(())
}

fn native(lua: &Lua, function: Native) -> Result<Function> {
    lua.create_function(move |lua, args| base::rust_code(lua, || function(lua, args)))
}

fn put(lua: &Lua, table: &Table, functions: &[(&str, Native)]) -> Result<()> {
    for (name, function) in functions {
        table.raw_set(*name, native(lua, *function)?)?;
    }
    Ok(())
}
