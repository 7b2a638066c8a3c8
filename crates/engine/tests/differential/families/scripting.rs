//! Scripts: small ones, each for one thing that a script can do or get wrong.

use crate::frame::Compare::Exact;
use crate::grammar::{Family, Gen, TYPES, Template};

pub(crate) fn scripting() -> Family {
    Family { templates: TEMPLATES, feed }
}

/// Puts a string somewhere, by a script.
fn feed(g: &mut Gen) {
    g.command("EVAL").arg("return redis.call('SET', KEYS[1], ARGV[1])").arg("1").key("string").value();
}

/// A script and what it is for.
type Script = (&'static str, &'static str);

macro_rules! groups {
    ($($name:ident: $title:literal { $($label:literal: $body:expr,)* })*) => {
        $(
            mod $name {
                pub(super) const LABELS: &[&str] = &[$($label,)*];
                pub(super) const SCRIPTS: &[super::Script] = &[$(($label, $body),)*];
            }
        )*
        const GROUPS: &[&[Script]] = &[$($name::SCRIPTS,)*];
        const TEMPLATES: &[Template] = &[
            $(Template::keyless($title, $name::LABELS, Exact, |g| eval(g, $name::LABELS, $name::SCRIPTS)),)*
            Template::keyless("EVAL arguments", ARGUMENTS, Exact, arguments),
            Template::keyless("EVAL commands", COMMANDS, Exact, commands),
            Template::keyless("EVAL time", &["TIME", "TTL", "PTTL", "expires", "ends"], Exact, time),
            Template::keyless("EVAL shebang", SHEBANGS, Exact, shebang),
            Template::keyless("EVAL_RO", &["writes", "reads", "publishes", "flagged"], Exact, read_only),
            Template::keyless("EVALSHA", &["known", "upper", "unknown", "short", "RO", "count"], Exact, evalsha),
            Template::keyless("SCRIPT LOAD", &["broken", "shebang"], Exact, load),
            Template::keyless("SCRIPT EXISTS", &[], Exact, exists),
            Template::keyless("SCRIPT FLUSH", &["ASYNC", "SYNC", "bad"], Exact, flush),
            Template::keyless("SCRIPT", &[], Exact, |g| {
                let words = g.pick(&["SCRIPT", "SCRIPT KILL", "SCRIPT KILL x", "SCRIPT nosuch", "SCRIPT LOAD", "SCRIPT EXISTS"]);
                g.command(words);
            }),
            Template::keyless("scripts in MULTI", &["EVALSHA", "fails", "broken", "FLUSH"], Exact, in_multi),
            Template::keyless("scripts of several lines", &[], Exact, lines),
        ];
    };
}

groups! {
    values: "EVAL values" {
        "nil": "return nil",
        "nothing": "return",
        "several": "return 1, 2",
        "true": "return true",
        "false": "return false",
        "truncated": "return 3.99",
        "truncated below zero": "return -3.99",
        "huge": "return 1e300",
        "not a number": "return 0/0",
        "infinite": "return -1/0",
        "2^53": "return 2^53 + 1",
        "2^63": "return {2^63, -2^63, 2^62}",
        "minus zero": "return -0",
        "string": "return 'a\\0b\\r\\n'",
        "empty string": "return ''",
        "bytes": "return '\\255\\254'",
        "array": "return {1, 'two', 3.7, {4, {5}}}",
        "array with a hole": "return {1, nil, 3}",
        "array of false": "return {false, true, 1}",
        "empty": "return {}",
        "fields": "return {a = 1, 2, 3}",
        "fraction as index": "local t = {} t[1.5] = 1 t[1] = 2 return t",
        "status": "return {ok = 'fine'}",
        "status with line ends": "return {ok = 'a\\r\\nb\\0c'}",
        "status of bytes": "return {ok = '\\255x'}",
        "status is no string": "return {ok = 1}",
        "error": "return {err = 'My error'}",
        "error with line ends": "return {err = 'a\\r\\nb\\r\\n'}",
        "error with zero": "return {err = 'a\\0b'}",
        "empty error": "return {err = ''}",
        "error is no string": "return {err = 1, 7}",
        "error before status": "return {err = 'E', ok = 'O'}",
        "nested error": "return {1, {err = 'E x'}, {ok = 'O'}}",
        "double": "return {double = 3.5}",
        "whole double": "return {double = 3}",
        "double is a string": "return {double = '3.5'}",
        "doubles": "return {{double = 0.1}, {double = 1/0}, {double = -1/0}, {double = 0/0}, {double = 1e100}}",
        "big number": "return {big_number = '12345678901234567890\\r\\n'}",
        "map": "return {map = {a = 1}}",
        "map of maps": "return {map = {[1] = {map = {x = true}}}}",
        "map is none": "return {map = 1, 5}",
        "set": "return {set = {a = true}}",
        "map before set": "return {map = {}, set = {a = 1}}",
        "verbatim": "return {verbatim_string = {format = 'txt', string = 'hi'}}",
        "verbatim markdown": "return {verbatim_string = {format = 'markdown', string = '# x'}}",
        "verbatim with a short format": "return {verbatim_string = {format = 'x', string = ''}}",
        "verbatim without format": "return {verbatim_string = {string = 'hi'}}",
        "function": "return {function() end, 1}",
        "coroutine": "return coroutine.create(function() end)",
        "metatable": "return setmetatable({}, {__index = function() return 1 end})",
        "after setresp(3)": "redis.setresp(3) return {true, false, 1.5, {double = 2}, {map = {a = false}}, {set = {[true] = 1}}}",
        "false after setresp(3)": "redis.setresp(3) return false",
        "nil after setresp(3)": "redis.setresp(3) return nil",
        "a library": "return redis",
        "deep": "local t = {} for i = 1, 60 do t = {t, i} end return t",
    }
    globals: "EVAL globals" {
        "KEYS and ARGV": "return {KEYS[1], ARGV[1], ARGV[2], #KEYS, #ARGV, KEYS[2], 1}",
        "KEYS can be filled": "KEYS[1] = 'x' return KEYS[1]",
        "KEYS stays": "KEYS = {}",
        "unknown is read": "return x",
        "unknown is called": "return nosuch()",
        "unknown is written": "x = 1",
        "unknown as field": "return _G.nosuch",
        "unknown in _G": "_G.x = 1",
        "_G with a table": "return _G[{}]",
        "_G with a number": "return _G[1]",
        "a function is global": "function f() return 1 end return f()",
        "a library is replaced": "string = nil",
        "a library is changed": "string.find = nil",
        "redis is changed": "redis.call = 1",
        "bit is changed": "bit.x = 1",
        "math is changed": "math.pi = 3",
        "rawset of globals": "rawset(_G, 'x', 1)",
        "rawset of redis": "rawset(redis, 'x', 1)",
        "rawget of globals": "return {type(rawget(_G, 'redis')), type(rawget(_G, 'nosuch'))}",
        "insert into redis": "table.insert(redis, 1)",
        "insert into globals": "table.insert(_G, 1, 2)",
        "metatable of globals": "return type(getmetatable(_G).__index)",
        "metatable of globals is changed": "getmetatable(_G).__index = nil",
        "metatable of globals is used": "return getmetatable(_G).__index(1)",
        "metatable is set": "setmetatable(_G, nil)",
        "metatable of redis": "return {tostring(getmetatable(redis)), tostring(getmetatable(1))}",
        "metatable of redis is set": "setmetatable(redis, {})",
        "metatable of strings": "return tostring(getmetatable('').__index == string)",
        "metatable of strings is changed": "getmetatable('').__index = nil",
        "pairs of redis": "local t = {} for k, v in pairs(redis) do t[#t + 1] = k .. type(v) end table.sort(t) return t",
        "pairs of bit": "local t = {} for k in pairs(bit) do t[#t + 1] = k end table.sort(t) return t",
        "pairs of string": "local t = {} for k in pairs(string) do t[#t + 1] = k end table.sort(t) return t",
        "pairs of table": "local t = {} for k in pairs(table) do t[#t + 1] = k end table.sort(t) return t",
        "pairs of math": "local t = {} for k in pairs(math) do t[#t + 1] = k end table.sort(t) return t",
        "pairs of coroutine": "local t = {} for k in pairs(coroutine) do t[#t + 1] = k end table.sort(t) return t",
        "pairs of globals": "local not_here = {cjson = 1, cmsgpack = 1, struct = 1, __redis__err__handler = 1} \
            local t = {} for k in pairs(_G) do if not not_here[k] then t[#t + 1] = k end end table.sort(t) return t",
        "next of globals": "return {type(next(_G)), tostring(rawequal(_G, _G._G)), #_G}",
        "os": "return os.clock()",
        "io": "return io",
        "require": "return require('x')",
        "print": "print('x')",
        "dofile": "dofile('/etc/passwd')",
        "loadfile": "return loadfile",
        "debug": "return debug.getinfo(1)",
        "newproxy": "return newproxy()",
        "getfenv": "return getfenv(0)",
        "version": "return {_VERSION, redis.REDIS_VERSION, redis.REDIS_VERSION_NUM}",
        "constants": "return {redis.LOG_DEBUG, redis.LOG_VERBOSE, redis.LOG_NOTICE, redis.LOG_WARNING, redis.REPL_NONE, \
            redis.REPL_AOF, redis.REPL_SLAVE, redis.REPL_REPLICA, redis.REPL_ALL}",
        "a missing field": "return redis.nosuch",
        "a missing function": "return redis.nosuch()",
    }
    errors: "EVAL errors" {
        "string": "error('x')",
        "no place": "error('x', 0)",
        "of the caller": "local function f() error('x', 2) end f()",
        "of nobody": "error('x', 2)",
        "nil": "error()",
        "number": "error(5)",
        "boolean": "error(true)",
        "table": "error({err = 'My error'})",
        "table with a number": "error({err = 5})",
        "table with more": "error({err = 'E', source = 'here', line = 7})",
        "protected table": "error(redis)",
        "zero byte": "error('a\\0b')",
        "zero byte in a table": "error({err = 'a\\0b'})",
        "line ends": "error('a\\r\\nb\\r\\n')",
        "arithmetic": "return 1 + nil",
        "concatenation": "return 'x' .. nil",
        "call": "local t = {} return t.x.y",
        "comparison": "return 1 < 'x'",
        "assert": "assert(false)",
        "assert with text": "assert(nil, 'msg')",
        "assert with a table": "assert(false, {err = 'x'})",
        "assert of a reply": "return assert(redis.pcall('nosuch'))",
        "deep recursion": "local f f = function() return 1 + f() end return f()",
        "recursion through pcall": "local f f = function() return pcall(f) end return type(f())",
        "in a metamethod": "local t = setmetatable({}, {__index = function() error('q') end}) return t.x",
        "in a sort": "return table.sort({3, 2, 1}, error)",
        "in loaded code": "loadstring(\"error('in')\")()",
        "command in loaded code": "return loadstring(\"\\n\\nreturn redis.call('nosuch')\", '=name')()",
        "tail call": "local function f() return error('x', 2) end return f()",
        "after a write": "redis.call('SET', KEYS[1], 'written') error('after')",
        "compile": "return {1",
        "compile with zero": "return 1 \\0 x x",
        "compile a number": "return 1..2",
        "compile bytecode": "\x1bLua",
        "compile deep nesting": concat!("return ", "((((((((((((((((((((((((((((((((((((((((((((((((((1"),
        "empty": "",
        "only a comment": "-- nothing",
    }
    caught: "EVAL pcall" {
        "a command": "local ok, e = pcall(redis.call, 'nosuch') return {tostring(ok), type(e), e}",
        "no argument": "local ok, e = pcall(redis.call) return {tostring(ok), e}",
        "a string": "local ok, e = pcall(error, 'x') return {tostring(ok), e}",
        "a function": "local ok, e = pcall(function() error('x') end) return {tostring(ok), e}",
        "a table": "local ok, e = pcall(error, {err = 'x'}) return {tostring(ok), type(e), e}",
        "a table with a number": "local ok, e = pcall(error, {err = 5}) return {tostring(ok), type(e), e}",
        "a table without": "local ok, e = pcall(error, {foo = 5}) return {tostring(ok), type(e), e.foo}",
        "nil": "local ok, e = pcall(error) return {tostring(ok), tostring(e)}",
        "success": "return {pcall(function(...) return select('#', ...), ... end, 1, nil, 3)}",
        "small number": "local _, x = pcall(function() return 1e-20 end) return tostring(x)",
        "minus zero": "local _, x = pcall(function() return -0 end) return tostring(x)",
        "rethrown": "local ok, e = pcall(redis.call, 'nosuch') error(e)",
        "rethrown table": "local ok, e = pcall(error, {foo = 1, err = {}}) error({err = 'E ' .. type(e)})",
        "nested": "return {pcall(pcall, pcall, error, 'x')}",
        "redis.pcall": "return redis.pcall('nosuch')",
        "redis.pcall in a table": "return {redis.pcall('nosuch'), redis.pcall('INCR', KEYS[1])}",
        "fields of redis.pcall": "local t = {} for k, v in pairs(redis.pcall('nosuch')) do t[#t + 1] = k .. tostring(v) end \
            table.sort(t) return t",
        "fields without arguments": "local t = {} for k, v in pairs(redis.pcall()) do t[#t + 1] = k .. tostring(v) end return t",
        "redis.pcall of a table": "return redis.pcall({})",
        "xpcall": "return {xpcall(function() error('z') end, function(e) return 'h:' .. e end)}",
        "xpcall of a command": "return {xpcall(function() redis.call('nosuch') end, function(e) return type(e) .. e.err end)}",
        "xpcall of success": "return {xpcall(function() return 1, 2 end, error)}",
        "xpcall with a failing handler": "return {xpcall(function() error('a') end, function(e) error('b') end)}",
        "xpcall without a handler": "return {xpcall(function() error('a') end, nil)}",
        "xpcall without": "return xpcall(error)",
        "nested xpcall": "return {xpcall(function() xpcall(error, function() end) error('o') end, function(e) return e end)}",
        "what was written stays": "pcall(function() redis.call('SET', KEYS[1], 'kept') error('x') end) return redis.call('GET', KEYS[1])",
    }
    api: "EVAL redis" {
        "error_reply": "return redis.error_reply('MY code')",
        "error_reply without code": "return redis.error_reply('x')",
        "error_reply with minus": "return redis.error_reply('-X y')",
        "error_reply of nothing": "return redis.error_reply('')",
        "error_reply with line ends": "return redis.error_reply('X \\r\\ny\\r\\n')",
        "error_reply with a blank first": "return redis.error_reply(' x')",
        "error_reply with zero": "return redis.error_reply('A b\\0c').err",
        "error_reply of a number": "return redis.error_reply(1)",
        "error_reply of two": "return redis.error_reply('a', 'b')",
        "status_reply": "return redis.status_reply('FINE')",
        "status_reply of a number": "return redis.status_reply(1)",
        "sha1hex": "return {redis.sha1hex(''), redis.sha1hex('abc'), redis.sha1hex(1), redis.sha1hex(nil), redis.sha1hex({})}",
        "sha1hex of two": "return redis.sha1hex('a', 'b')",
        "sha1hex of itself": "return redis.sha1hex(ARGV[1])",
        "log": "redis.log(redis.LOG_WARNING, 'x') redis.log('1', {}) return 1",
        "log of one": "redis.log(1)",
        "log without level": "redis.log('x', 'y')",
        "log of a wrong level": "redis.log(9, 'y')",
        "setresp": "return redis.setresp(2)",
        "setresp of nothing": "return redis.setresp()",
        "setresp of 4": "return redis.setresp(4)",
        "setresp of a string": "redis.setresp('3') return true",
        "setresp of a table": "redis.setresp({})",
        "set_repl": "return redis.set_repl(redis.REPL_ALL)",
        "set_repl of 4": "return redis.set_repl(4)",
        "set_repl of nothing": "return redis.set_repl()",
        "replicate_commands": "return redis.replicate_commands()",
        "breakpoint": "return tostring(redis.breakpoint())",
        "debug": "return redis.debug('x', {}, 1)",
        "acl_check_cmd": "return redis.acl_check_cmd('GET', KEYS[1])",
        "acl_check_cmd with too few": "return redis.acl_check_cmd('GET')",
        "acl_check_cmd of nothing": "return redis.acl_check_cmd()",
        "acl_check_cmd of unknown": "return redis.acl_check_cmd('nosuch')",
        "acl_check_cmd of a table": "return redis.acl_check_cmd({})",
    }
    refused: "EVAL refused commands" {
        "unknown": "return redis.call('nosuch', 1)",
        "too few": "return redis.call('GET')",
        "too many": "return redis.call('GET', 1, 2)",
        "container": "return redis.call('OBJECT')",
        "unknown subcommand": "return redis.call('OBJECT', 'nosuch', 'x')",
        "nothing": "return redis.call()",
        "a table": "return redis.call({})",
        "a table inside": "return redis.call('SET', KEYS[1], {})",
        "a boolean": "return redis.call('SET', KEYS[1], true)",
        "nil": "return redis.call('SET', KEYS[1], nil)",
        "MULTI": "return redis.call('MULTI')",
        "EXEC": "return redis.call('EXEC')",
        "WATCH": "return redis.call('WATCH', KEYS[1])",
        "EVAL": "return redis.call('EVAL', 'return 1', 0)",
        "SCRIPT": "return redis.call('SCRIPT', 'FLUSH')",
        "SUBSCRIBE": "return redis.call('SUBSCRIBE', 'x')",
        "HELLO": "return redis.call('HELLO', 3)",
        "AUTH": "return redis.call('AUTH', 'x')",
        "with pcall": "return {redis.pcall('MULTI'), redis.pcall('GET')}",
    }
    numbers: "EVAL numbers" {
        "17 digits": "redis.call('SET', KEYS[1], 12345678901234567) return redis.call('GET', KEYS[1])",
        "18 digits": "redis.call('SET', KEYS[1], 123456789012345678) return redis.call('GET', KEYS[1])",
        "2^53": "redis.call('SET', KEYS[1], 2^53) return redis.call('GET', KEYS[1])",
        "fraction": "redis.call('SET', KEYS[1], 0.1) return redis.call('GET', KEYS[1])",
        "tiny": "redis.call('SET', KEYS[1], 1e-20) return redis.call('GET', KEYS[1])",
        "not a number": "redis.call('SET', KEYS[1], 0/0) return redis.call('GET', KEYS[1])",
        "infinite": "redis.call('SET', KEYS[1], 1/0) return redis.call('GET', KEYS[1])",
        "minus zero": "redis.call('SET', KEYS[1], -0) return redis.call('GET', KEYS[1])",
        "negative": "redis.call('SET', KEYS[1], -42) return redis.call('GET', KEYS[1])",
        "large reply": "redis.call('SET', KEYS[1], '9007199254740993') return tostring(redis.call('INCR', KEYS[1]))",
        "tostring": "return {tostring(1e15), tostring(1e14), tostring(-0), tostring(0.1), tostring(1/3), tostring(0/0)}",
        "tonumber": "return {tonumber('0x10'), tonumber('10', 2), tonumber(' 5 '), tonumber('5x'), 7}",
        "random": "math.randomseed(tonumber(ARGV[1]) or 0) return {math.random(100), math.random(5, 9), tostring(math.random())}",
        "random of a large seed": "math.randomseed(1e10) return tostring(math.random())",
        "random of nothing": "return math.random(0)",
        "random of an empty range": "return math.random(5, 1)",
        "random of a string": "return math.random('a')",
        "random of three": "return math.random(1, 2, 3)",
        "randomseed of a string": "math.randomseed('x')",
        "math": "return {tostring(math.floor(-1.5)), tostring(math.pi), tostring(math.fmod(7, 3)), tostring(math.huge)}",
        "bit.band": "return {bit.band(255, 15), bit.band('7', 3), bit.band(2^31, -1), bit.band(1.5, 3), bit.band(12, 10, 8)}",
        "bit.bor": "return {bit.bor(1, 2, 4), bit.bor(-1, 0)}",
        "bit.bxor": "return {bit.bxor(5, 1), bit.bxor(0xffffffff, 1)}",
        "bit.bnot": "return {bit.bnot(0), bit.bnot(2^32 + 5)}",
        "bit.lshift": "return {bit.lshift(1, 31), bit.lshift(1, 33)}",
        "bit.rshift": "return {bit.rshift(-8, 2), bit.rshift(1, 31)}",
        "bit.arshift": "return {bit.arshift(-8, 2), bit.arshift(8, 2)}",
        "bit.rol": "return {bit.rol(0x12345678, 12), bit.ror(0x12345678, 12)}",
        "bit.bswap": "return {bit.bswap(0x12345678), bit.tobit(2^32 + 5), bit.tobit(0xdeadbeef)}",
        "bit.tohex": "return {bit.tohex(255), bit.tohex(255, -4), bit.tohex(255, 0), bit.tohex(255, 99), bit.tohex(-1, 3)}",
        "bit of nothing": "return bit.band()",
        "bit of a string": "return bit.lshift(1, 'z')",
        "bit of a table": "local f = bit.bnot return f({})",
        "bit in a later place": "return bit.bor(1, 2, {})",
    }
    strings: "EVAL string library" {
        "find": "return {string.find('hello world', 'wor')}",
        "find plain": "return {string.find('a.b', '.', 1, true), string.find('a.b', '.b', 2, true)}",
        "find from": "return {string.find('aXbX', 'X', 3), string.find('aXbX', 'X', -1), string.find('a', '', 10)}",
        "find captures": "return {string.find('key = value', '(%w+)%s*=%s*(%w+)')}",
        "find zero": "return {string.find('a\\0b', '\\0', 1, true), string.find('abc', 'b\\0x')}",
        "find of nil": "return string.find(nil, 'x')",
        "find of one": "return string.find('x')",
        "find of a method": "return ('x'):find({})",
        "find by another name": "local f = string.find f()",
        "find through pcall": "return {pcall(string.find)}",
        "match": "return {string.match('2024-01-02', '(%d+)-(%d+)-(%d+)')}",
        "match anchored": "return {tostring(string.match('abc', '^b')), string.match('abc', '^a'), string.match('abc', 'c$')}",
        "match place": "return {string.match('abc', '()b()')}",
        "match sets": "return {string.match('a]b', '[]]'), string.match('x-y', '[a-]'), string.match('abc', '[^a]+')}",
        "match balance": "return {string.match('f(a(b)c)d', '%b()'), string.match('THE (quick) fox', '%f[%a]%a+%f[%A]')}",
        "match again": "return {string.match('say \"hi\" now', '([\"]).-%1')}",
        "match classes": "return {string.match('aB1 _\\t', '%a%u%d%s%p%c')}",
        "match optional": "return {string.match('-12', '^-?%d+$'), string.match('aaa', 'a-'), string.match('aaab', 'a-b')}",
        "match is malformed": "return string.match('abc', '[a')",
        "match ends with percent": "return string.match('abc', '%')",
        "match with an open capture": "return string.find('abc', '(a')",
        "match closes nothing": "return string.match('abc', 'a)')",
        "match of an unknown capture": "return string.match('abc', '%1')",
        "match of a bad frontier": "return string.match('abc', '%f')",
        "match of a bad balance": "return string.match('abc', '%b')",
        "match of too many": "return string.match('abc', ('()'):rep(33))",
        "gmatch": "local t = {} for a, b in string.gmatch('k=v, x=y', '(%w+)=(%w+)') do t[#t + 1] = a .. b end return t",
        "gmatch of nothing": "local n = 0 for _ in string.gmatch('abc', '') do n = n + 1 end return n",
        "gmatch with anchor": "local n = 0 for _ in string.gmatch('^a^a', '^a') do n = n + 1 end return n",
        "gmatch of nil": "for _ in string.gmatch(nil, 'x') do end",
        "gmatch is malformed": "for _ in string.gmatch('x', '[') do end",
        "gfind": "local t = {} for a in string.gfind('a b', '%a') do t[#t + 1] = a end return t",
        "gsub": "return {string.gsub('hello world', 'o', '0')}",
        "gsub some": "return {string.gsub('hello world', 'o', '0', 1)}",
        "gsub none": "return {string.gsub('hello', 'l', 'x', 0)}",
        "gsub empty": "return {string.gsub('abc', '', '-')}",
        "gsub anchored": "return {string.gsub('aaa', '^a', 'b')}",
        "gsub captures": "return {string.gsub('abc', '(%w)', '<%1%0%%>')}",
        "gsub without captures": "return {string.gsub('abc', '%w', '%1')}",
        "gsub with a wrong capture": "return {string.gsub('abc', '%w', '%2')}",
        "gsub places": "return {string.gsub('abc', '()', '%1')}",
        "gsub ends with percent": "return {string.gsub('abc', 'b', 'x%')}",
        "gsub with a table": "return {string.gsub('a b c', '%w', {a = 1, b = 'B', c = false})}",
        "gsub with a metatable": "return {string.gsub('ab', '%w', setmetatable({}, {__index = function(_, k) return k .. k end}))}",
        "gsub with a function": "return {string.gsub('abc', '%w', function(c) if c == 'b' then return 'B' end end)}",
        "gsub with two captures": "return {string.gsub('a=1 b=2', '(%w)=(%w)', function(k, v) return v .. k end)}",
        "gsub with a wrong result": "return {string.gsub('abc', 'b', function() return {} end)}",
        "gsub with a boolean": "return {string.gsub('abc', 'b', true)}",
        "gsub fails": "return string.gsub('abc', 'b', function() error({err = 'E x'}) end)",
        "gsub with a failing command": "return string.gsub('abc', 'b', function() return redis.call('nosuch') end)",
        "gsub with a number": "return {string.gsub('a1', 1, 2)}",
        "rep": "return {string.rep('ab', 3), string.rep('ab', -1), string.rep('ab', '2'), ('x'):rep(0)}",
        "rep of nothing": "return string.rep('ab')",
        "rep of a table": "return ('x'):rep({})",
        "format": "return string.format('%5.2f|%d|%s|%q|%x|%c|%-5s|', 1.234, 5, 'x', 'a\\nb', 255, 65, 'l')",
        "format of nil": "return string.format('%d', nil)",
        "others": "return {('x'):upper(), ('X'):lower(), ('abc'):sub(-2), ('abc'):byte(2), string.char(65, 66), ('abc'):reverse(), ('abc'):len()}",
    }
    tables: "EVAL tables" {
        "insert": "local t = {1, 2, 3} table.insert(t, 2, 9) table.insert(t, 5) return t",
        "insert far": "local t = {1, 2, 3} table.insert(t, 7, 9) return t",
        "insert nil": "local t = {1} table.insert(t, nil) return t",
        "insert into nil": "table.insert(nil, 1)",
        "insert of four": "table.insert({}, 1, 2, 3)",
        "insert of one": "table.insert({})",
        "insert at a string": "table.insert({}, 'a', 1)",
        "remove": "local t = {1, 2, 3} return {table.remove(t), table.remove(t, 1), #t, table.remove({})}",
        "concat": "return {table.concat({1, 'b', 3.5}, ','), table.concat({}, ','), table.concat({1, 2, 3}, '', 2, 3)}",
        "concat of a table": "return table.concat({{}})",
        "sort": "local t = {3, 1, 2} table.sort(t, function(a, b) return a > b end) return t",
        "sort of mixed": "table.sort({1, 'x'})",
        "maxn": "return {table.maxn({1, 2, [10] = 1}), table.getn({1, 2})}",
        "unpack": "return {unpack({1, 2, 3}, 2)}",
        "unpack back": "return {unpack({1, 2, 3}, 3, 2), 9}",
        "unpack from below": "return {select('#', unpack({1, 2, 3}, -1, 1))}",
        "unpack of nil": "return {unpack(nil)}",
        "unpack of a string": "return {unpack({}, 'a')}",
        "unpack too much": "return {unpack({}, 1, 8000)}",
        "unpack far too much": "return {unpack({}, 1, 1e8)}",
        "unpack much": "return select('#', unpack({}, 1, 7000))",
        "next": "return {next({}) == nil, next({5}), next({5}, 1) == nil}",
        "next of nothing": "return next()",
        "next of a wrong key": "return next({}, 1)",
        "pairs": "local n = 0 for k, v in pairs({1, 2, x = 3}) do n = n + v end return n",
        "pairs of nil": "for k in pairs(nil) do end",
        "ipairs": "local n = 0 for i, v in ipairs({1, 2, nil, 4}) do n = n + v end return n",
        "rawget": "return rawget(setmetatable({}, {__index = function() return 1 end}), 'x')",
        "rawget of a number": "return rawget(1, 2)",
        "rawget of one": "return rawget({})",
        "rawset": "local t = setmetatable({}, {__newindex = function() error('x') end}) rawset(t, 1, 2) return t",
        "rawset of nil": "return rawset({}, nil, 1)",
        "rawset of not a number": "return rawset({}, 0/0, 1)",
        "setmetatable": "return getmetatable(setmetatable({}, {__metatable = 'mine'}))",
        "setmetatable of a number": "return setmetatable(1, {})",
        "setmetatable to a number": "return setmetatable({}, 1)",
        "setmetatable of a locked one": "setmetatable(setmetatable({}, {__metatable = 'mine'}), {})",
        "getmetatable of nothing": "return getmetatable()",
        "metamethods": "local t = setmetatable({}, {__add = function(a, b) return 7 end, __call = function(_, x) return x end, \
            __tostring = function() return 'T' end}) return {t + 1, t(5), tostring(t)}",
        "select": "return {select('#', 1, nil, nil), select(2, 'a', 'b', 'c')}",
        "select of 0": "return select(0)",
        "order of pairs": "local t = {} for k in pairs({alpha = 1, beta = 2, gamma = 3, delta = 4}) do t[#t + 1] = k end return t",
    }
    code: "EVAL code" {
        "loadstring": "return loadstring('return 5')()",
        "loadstring with a global": "return loadstring('return nosuch')()",
        "loadstring that writes": "loadstring('x = 1')()",
        "loadstring of nonsense": "return {tostring(loadstring('return x x')), select(2, loadstring('return x x'))}",
        "loadstring of bytecode": "return select(2, loadstring(string.char(27) .. 'Lua'))",
        "loadstring of dumped code": "return tostring(loadstring(string.dump(function() return 1 end)))",
        "loadstring with a name": "return select(2, loadstring('x x', '@name'))",
        "loadstring of a number": "return select(2, loadstring(5))",
        "loadstring of nothing": "return loadstring()",
        "load": "local n = 0 return load(function() n = n + 1 return ({'return ', '7'})[n] end)()",
        "load of nonsense": "local n = 0 return select(2, load(function() n = n + 1 return ({'x x'})[n] end))",
        "load of bytecode": "local n = 0 return select(2, load(function() n = n + 1 return ({string.char(27), 'Lua'})[n] end))",
        "load of a string": "return load('return 1')",
        "dump of a library function": "return string.dump(redis.sha1hex)",
        "coroutine": "local c = coroutine.create(function(a) local b = coroutine.yield(a + 1) return b * 2 end) \
            local _, x = coroutine.resume(c, 1) local _, y = coroutine.resume(c, 10) return {x, y, coroutine.status(c)}",
        "coroutine with commands": "local c = coroutine.wrap(function() redis.call('SET', KEYS[1], 1) \
            coroutine.yield(redis.call('INCR', KEYS[1])) return redis.call('INCR', KEYS[1]) end) return {c(), c()}",
        "dead coroutine": "local c = coroutine.create(function() end) coroutine.resume(c) return {select(2, coroutine.resume(c))}",
        "failing coroutine": "return {select(2, coroutine.resume(coroutine.create(function() error('x') end)))}",
        "failing command in a coroutine": "local _, e = coroutine.resume(coroutine.create(function() redis.call('nosuch') end)) \
            return {type(e), e.err}",
        "failing wrap": "coroutine.wrap(function() error('x') end)()",
        "failing wrap with a table": "coroutine.wrap(function() error({err = 'x'}) end)()",
        "failing wrap of a command": "coroutine.wrap(function() redis.call('nosuch') end)()",
        "coroutine of a number": "return coroutine.create(1)",
        "coroutine of a library function": "return coroutine.create(tostring)",
        "wrap of nil": "return coroutine.wrap(nil)",
        "resume of a number": "return coroutine.resume(1)",
        "yield outside": "return coroutine.yield(1)",
        "yield across pcall": "return {coroutine.wrap(function() return pcall(coroutine.yield, 1) end)()}",
        "running": "return tostring(coroutine.running())",
        "nested coroutines": "local f f = function() coroutine.wrap(f)() end return {pcall(f) == false}",
        "collectgarbage": "return {type(collectgarbage('count')), collectgarbage()}",
        "collectgarbage of nonsense": "return collectgarbage('x')",
        "gcinfo": "return type(gcinfo())",
        "loops": "local n = 0 for i = 1, 100 do n = n + i end while n > 100 do n = n - 7 end repeat n = n - 1 until n < 90 return n",
        "closures": "local function counter() local n = 0 return function() n = n + 1 return n end end local c = counter() c() return c()",
        "varargs": "local function f(...) return {select('#', ...), ...} end return f(1, nil, 'x')",
    }
    misuse: "EVAL calls" {
        "two commands": "redis.call('SET', KEYS[1], ARGV[1]) return redis.call('GET', KEYS[1])",
        "status": "return redis.call('SET', KEYS[1], ARGV[1]).ok",
        "number": "redis.call('SET', KEYS[1], 5) return redis.call('INCRBY', KEYS[1], 3) * 2",
        "nothing": "return tostring(redis.call('GET', 'no such key'))",
        "nothing in RESP3": "redis.setresp(3) return tostring(redis.call('GET', 'no such key'))",
        "array": "return redis.call('MGET', KEYS[1], 'no such key')",
        "array in RESP3": "redis.setresp(3) local t = redis.call('MGET', 'no such key', KEYS[1]) return {t[1] == nil, t[2]}",
        "wrong type": "return redis.call('INCR', KEYS[1])",
        "wrong type, caught": "return redis.pcall('STRLEN', KEYS[1])",
        "SELECT": "redis.call('SELECT', 1) redis.call('SET', KEYS[1], 'in 1') redis.call('SELECT', 0) return redis.call('EXISTS', KEYS[1])",
        "SELECT stays inside": "redis.call('SELECT', 1) return redis.call('SET', KEYS[1], 'in 1')",
        "wrong SELECT": "return redis.call('SELECT', 99)",
        "DBSIZE": "return redis.call('DBSIZE')",
        "loop": "for i = 1, 10 do redis.call('APPEND', KEYS[1], i) end return redis.call('GET', KEYS[1])",
        "unpack": "return redis.call('MSET', unpack({KEYS[1], ARGV[1], 'string:2', 'x'}))",
        "case of the name": "return redis.call('sEt', KEYS[1], 'x')",
        "OBJECT": "return redis.call('OBJECT', 'ENCODING', KEYS[1])",
        "TYPE": "return redis.call('TYPE', KEYS[1])",
        "TYPE as text": "return redis.call('TYPE', KEYS[1])['ok']",
        "PUBLISH": "return redis.call('PUBLISH', 'channel', 'x')",
        "ECHO of bytes": "return redis.call('ECHO', '\\0\\255')",
        "PING": "return {redis.call('PING'), redis.call('PING', 'x')}",
        "syntax error": "return redis.call('SET', KEYS[1], 'x', 'NONSENSE')",
        "an error's text": "return redis.pcall('SET', KEYS[1], 'x', 'EX', 'abc').err",
        "after a failure": "redis.pcall('INCR', KEYS[1], 'x') return redis.call('SET', KEYS[1], 'fine')",
        "RENAME": "return redis.call('RENAME', 'no such key', KEYS[1])",
        "compare and delete": "if redis.call('TYPE', KEYS[1]).ok == 'string' and redis.call('GET', KEYS[1]) == ARGV[1] then \
            return redis.call('DEL', KEYS[1]) else return 0 end",
        "RESP2 again": "redis.setresp(3) redis.setresp(2) return redis.call('GET', 'no such key')",
    }
}

/// One script of a group, with a key of any type and two arguments.
fn eval(g: &mut Gen, labels: &[&'static str], scripts: &[Script]) {
    let label = g.one_of(labels).unwrap_or(labels[0]);
    let body = scripts.iter().find(|(name, _)| *name == label).map_or("", |(_, body)| body);
    let of = if g.one_in(3) { g.pick(&TYPES) } else { "string" };
    g.command("EVAL").arg(body).arg("1").key(of).value().arg("second");
}

fn any_script(g: &mut Gen) -> &'static str {
    let group = g.pick(GROUPS);
    g.pick(group).1
}

const ARGUMENTS: &[&str] = &["none", "negative", "too many", "not a number", "no count", "keys only", "all"];

fn arguments(g: &mut Gen) {
    const BODY: &str =
        "return {#KEYS, #ARGV, KEYS[1] or 'nil', KEYS[2] or 'nil', ARGV[1] or 'nil', ARGV[2] or 'nil'}";
    let command = g.pick(&["EVAL", "EVAL", "EVAL_RO"]);
    g.command(command).arg(BODY);
    match g.one_of(ARGUMENTS) {
        Some("none") => g.arg("0"),
        Some("negative") => g.arg("-1").arg("a"),
        Some("too many") => g.arg("2").arg("a"),
        Some("not a number") => g.arg("x").arg("a"),
        Some("no count") => g,
        Some("keys only") => g.arg("2").arg("a").arg("b"),
        _ => {
            g.int();
            g.value().value()
        }
    };
}

const COMMANDS: &[&str] = &[
    "GET",
    "SET",
    "SET NX GET",
    "GETDEL",
    "GETEX",
    "SETRANGE",
    "GETRANGE",
    "APPEND",
    "INCRBY",
    "DECR",
    "MGET",
    "MSETNX",
    "DEL",
    "EXISTS",
    "TYPE",
    "PTTL",
    "PEXPIRETIME",
    "COPY",
    "MOVE",
    "STRLEN",
    "TOUCH",
];

/// A command of another family through a script: as it is, and caught.
fn commands(g: &mut Gen) {
    let chosen = g.one_of(COMMANDS).unwrap_or("GET");
    let caught = g.one_in(3);
    let body = if caught { "return {redis.pcall(unpack(ARGV))}" } else { "return redis.call(unpack(ARGV))" };
    g.command("EVAL").arg(body).arg("0");
    let mut words = chosen.split(' ');
    let (name, options) = (words.next().unwrap_or(chosen), words);
    let of = if g.one_in(3) { g.pick(&TYPES) } else { "string" };
    g.arg(name).key(of);
    match name {
        "SET" | "APPEND" => g.value(),
        "SETRANGE" => g.int().value(),
        "GETRANGE" => g.int().int(),
        "INCRBY" => g.int(),
        "MGET" | "DEL" | "EXISTS" | "TOUCH" => g.key("string").key("list"),
        "MSETNX" => g.value().key("string").value(),
        "COPY" => g.key("string"),
        "MOVE" => g.arg("1"),
        _ => g,
    };
    options.for_each(|option| {
        g.arg(option);
    });
}

/// Time stands still in a script.
fn time(g: &mut Gen) {
    let body = match g.one_of(&["TIME", "TTL", "PTTL", "expires", "ends"]) {
        Some("TIME") => "local a, b = redis.call('TIME'), redis.call('TIME') return {a[1], a[2], b[1], b[2]}",
        Some("TTL") => "redis.call('SET', KEYS[1], 'x', 'PX', 1500) return redis.call('TTL', KEYS[1])",
        Some("expires") => "redis.call('SET', KEYS[1], 'x', 'PX', 1) return redis.call('GET', KEYS[1])",
        Some("ends") => {
            "redis.call('SET', KEYS[1], 'x') redis.call('PEXPIRE', KEYS[1], -1) return redis.call('EXISTS', KEYS[1])"
        }
        _ => {
            "redis.call('SET', KEYS[1], 'x', 'EX', 10) return {redis.call('PTTL', KEYS[1]), redis.call('PEXPIRETIME', KEYS[1])}"
        }
    };
    g.command("EVAL").arg(body).arg("1").key("string");
}

const SHEBANGS: &[&str] = &[
    "#!lua",
    "#!lua flags=no-writes",
    "#!lua flags=no-writes,allow-stale,allow-oom,no-cluster,allow-cross-slot-keys",
    "#!lua flags=",
    "#!lua flags=nosuch",
    "#!lua flags=no-writes,,allow-oom",
    "#!lua \"flags=no-writes\"",
    "#!lua 'flags=no-writes' flags=allow-oom",
    "#!lua \"flags=no-writes",
    "#!lua name=x",
    "#!python",
    "#!",
    "#! lua",
    "#!lua\t flags=\"no\\x2dwrites\"",
    "no end",
];

fn shebang(g: &mut Gen) {
    let line = g.one_of(SHEBANGS).unwrap_or("#!lua");
    let body = g.pick(&[
        "return redis.call('SET', KEYS[1], 'x')",
        "return redis.call('GET', KEYS[1])",
        "error('second line')",
        "return redis.pcall('DEL', KEYS[1])",
        "return {1",
    ]);
    let script =
        if line == "no end" { "#!lua flags=no-writes".to_owned() } else { format!("{line}\n{body}") };
    let command = g.pick(&["EVAL", "EVAL", "EVAL_RO"]);
    g.command(command).arg(script).arg("1").key("string");
}

fn read_only(g: &mut Gen) {
    let body = match g.one_of(&["writes", "reads", "publishes", "flagged"]) {
        Some("writes") => g.pick(&[
            "return redis.call('SET', KEYS[1], 'x')",
            "return redis.pcall('DEL', KEYS[1])",
            "return {redis.pcall('INCR', KEYS[1]), redis.call('GET', KEYS[1])}",
            "return redis.call('INCR')",
        ]),
        Some("publishes") => "return redis.call('PUBLISH', 'channel', 'x')",
        Some("flagged") => g.pick(&[
            "#!lua flags=no-writes\nreturn 1",
            "#!lua\nreturn 1",
            "#!lua flags=allow-stale\nreturn 1",
        ]),
        _ => "return {redis.call('GET', KEYS[1]), redis.call('EXISTS', KEYS[1])}",
    };
    g.command("EVAL_RO").arg(body).arg("1").key("string");
}

/// The name of a script of ours.
fn sha(script: &str) -> String {
    sha1_smol::Sha1::from(script).digest().to_string()
}

fn evalsha(g: &mut Gen) {
    const WRITES: &str = "return redis.call('APPEND', KEYS[1], ARGV[1])";
    let chosen = g.one_of(&["known", "upper", "unknown", "short", "RO", "count"]);
    let script = if g.one_in(3) { any_script(g) } else { WRITES };
    if chosen == Some("known") || g.one_in(2) {
        g.command("SCRIPT LOAD").arg(script);
    }
    g.command(if chosen == Some("RO") { "EVALSHA_RO" } else { "EVALSHA" });
    match chosen {
        Some("upper") => g.arg(sha(script).to_ascii_uppercase()),
        Some("unknown") => g.arg("0123456789012345678901234567890123456789"),
        Some("short") => g.arg("abc"),
        _ => g.arg(sha(script)),
    };
    let count = if chosen == Some("count") { g.pick(&["-1", "9", "x"]) } else { "1" };
    g.arg(count).key("string").value();
}

fn load(g: &mut Gen) {
    g.command("SCRIPT LOAD");
    match g.one_of(&["broken", "shebang"]) {
        Some("broken") => g.arg("return {"),
        Some(_) => {
            let line = g.pick(SHEBANGS);
            g.arg(format!("{line}\nreturn 1"))
        }
        None => {
            let script = any_script(g);
            g.arg(script)
        }
    };
}

fn exists(g: &mut Gen) {
    g.command("SCRIPT EXISTS");
    for _ in 0..g.rng.u32(1..4) {
        let script = any_script(g);
        let name = sha(script);
        let name = if g.one_in(4) { name.to_ascii_uppercase() } else { name };
        let name = if g.one_in(8) { "nonsense".to_owned() } else { name };
        g.arg(name);
    }
}

fn flush(g: &mut Gen) {
    g.command("SCRIPT FLUSH");
    match g.one_of(&["ASYNC", "SYNC", "bad"]) {
        Some("bad") => g.arg("NOW"),
        Some(how) => g.arg(how),
        None => g,
    };
}

fn in_multi(g: &mut Gen) {
    const BODY: &str =
        "redis.call('APPEND', KEYS[1], 'm') return {redis.call('GET', KEYS[1]), {double = 0.5}}";
    g.command("MULTI");
    // Options are counted with the first command, so all are chosen before the second.
    let [by_sha, fails, broken, flush] =
        ["EVALSHA", "fails", "broken", "FLUSH"].map(|option| g.option(option));
    g.command("EVAL").arg(BODY).arg("1").key("string");
    if by_sha {
        g.command("EVALSHA").arg(sha(BODY)).arg("1").key("string");
    }
    if fails {
        g.command("EVAL").arg("redis.call('SET', KEYS[1], 'half') error('x')").arg("1").key("string");
    }
    if broken {
        g.command("EVAL").arg("return 1");
    }
    if flush {
        g.command("SCRIPT FLUSH");
    }
    let body = any_script(g);
    g.command("EVAL").arg(body).arg("1").key("string").value().arg("second");
    g.command("EXEC");
}

/// Errors name the line.
fn lines(g: &mut Gen) {
    let lines = [
        "local key = KEYS[1]",
        "local function f(x) return redis.call('INCR', x) end",
        "local value = redis.call('GET', key)",
        "if value == ARGV[1] then error('the same') end",
        "redis.call('SET', key, ARGV[1])",
        "local n = f(key)",
        "local t = {",
        "  n,",
        "  value,",
        "}",
        "local s = string.rep(value or 'x', 2)",
        "local x = t.y.z",
    ];
    let end = g.rng.usize(1..=lines.len());
    let mut script = lines[..end].join("\n");
    script.push_str(g.pick(&[
        "\nreturn f(key)",
        "\nreturn value",
        "\n\nreturn nosuch",
        "",
        "\nreturn string.find(value, '[')",
    ]));
    g.command("EVAL").arg(script).arg("1").key("string").value();
}
