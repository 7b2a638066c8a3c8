//! What scripts may and may not do, where a comparison with a server cannot show it: limits, hostile scripts, the state
//! after a failure.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::time::Duration;

use keyplane_engine::{Answer, ClientId, Delivery, Engine, Fault, Outcome, Reply, Settings, Time};

struct Rig {
    engine: Engine,
    client: ClientId,
    now: Time,
}

impl Rig {
    fn new() -> Self {
        Self::with(Settings { keeps_effects: true, ..Settings::default() })
    }

    fn with(settings: Settings) -> Self {
        let now = Time::from(Duration::from_secs(1_700_000_000));
        let mut engine = Engine::new(settings, now);
        let client = engine.connect(now, "test".to_owned());
        Self { engine, client, now }
    }

    fn outcome(&mut self, args: &[&[u8]]) -> Outcome {
        self.engine.execute(self.now, self.client, args)
    }

    fn ask(&mut self, args: &[&[u8]]) -> Reply {
        match self.outcome(args).answer {
            Answer::Reply(reply) => reply,
            other => panic!("{other:?}"),
        }
    }

    fn eval(&mut self, script: &str) -> Reply {
        self.ask(&[b"EVAL", script.as_bytes(), b"1", b"key"])
    }

    /// The text of the error.
    fn failure(&mut self, script: &str) -> String {
        match self.eval(script) {
            Reply::Error(fault) => fault.to_string(),
            other => panic!("{script}: {other:?}"),
        }
    }

    fn effects(&mut self) -> String {
        String::from_utf8(self.engine.take_effects().bytes().to_vec()).unwrap()
    }
}

fn bulk(text: &str) -> Reply {
    Reply::Bulk(text.into())
}

#[test]
fn a_script_leaves_nothing_for_the_next() {
    let mut rig = Rig::new();
    for script in [
        "rawset(redis, 'left', 1)",
        "table.insert(redis, 'left')",
        "getmetatable('').left = 1",
        "getmetatable(_G).left = 1",
        "local f, t = pairs(redis) rawset(t, 'left', 1)",
        "setmetatable(string, {})",
        "rawset(getmetatable('').__index, 'left', 1)",
    ] {
        rig.failure(script);
    }
    assert_eq!(rig.eval("return {redis.left, redis[1], string.left, ('x').left}"), Reply::Array(vec![]));
    // The collector is everyone's.
    rig.eval("collectgarbage('stop')");
    assert_eq!(rig.eval("for i = 1, 1e5 do local s = ('x'):rep(10000) .. i end return 1"), Reply::Int(1));
}

const SHORT: Settings =
    Settings { seed: 0, stopwatch: None, keeps_effects: true, script_budget: Some(1_000_000) };

#[test]
fn a_script_that_does_not_end_is_stopped() {
    let mut rig = Rig::with(SHORT);
    for script in [
        "while true do end",
        "while true do pcall(function() while true do end end) end",
        "while true do pcall(error, 'x') end",
        "while true do xpcall(function() while true do end end, function() end) end",
        "while true do coroutine.resume(coroutine.create(function() while true do end end)) end",
        "while true do pcall(coroutine.wrap(function() for i = 1, 900 do end end)) end",
        "repeat local f = coroutine.wrap(function() while true do coroutine.yield() end end) for i = 1, 9 do f() end until false",
        "local f = function() return true end table.sort(setmetatable({}, {}), f) repeat until false",
        "return string.gsub(('x'):rep(1e6), 'x', function() while true do end end)",
        "return load(function() return 'x' end)",
        "return string.find(('a'):rep(1e4), ('a*'):rep(20) .. 'b')",
        "return string.find(('a'):rep(1e7), ('a'):rep(1e6) .. 'b', 1, true)",
        "setmetatable({}, {__index = function() end}) while 1 do pcall(redis.call, 'GET') end",
    ] {
        let failure = rig.failure(script);
        assert!(failure.starts_with("ERR Script stopped: "), "{script}: {failure}");
    }
    assert_eq!(rig.eval("local n = 0 for i = 1, 1e5 do n = n + 1 end return n"), Reply::Int(100_000));
}

#[test]
fn what_a_stopped_script_wrote_stays() {
    let mut rig = Rig::with(SHORT);
    let failure = rig.failure("redis.call('SET', KEYS[1], 'written') while true do end");
    assert!(failure.contains(", on @user_script:1."), "{failure}");
    assert_eq!(rig.ask(&[b"GET", b"key"]), bulk("written"));
    assert!(rig.effects().contains("written"));
}

#[test]
fn memory_has_a_limit() {
    let mut rig = Rig::new();
    for script in [
        "return string.rep('x', 1e9)",
        "return string.rep('x', 2^31 - 1)",
        "local t = {} for i = 1, 1e9 do t[i] = ('x'):rep(1e6) .. i end",
        "local s = 'x' while true do s = s .. s end",
        "local s = ('x'):rep(1e6) return (s:gsub('x', s))",
        "return (('x'):gsub('x', ('%0'):rep(1e6):rep(1e3)))",
        "local n = 0 return load(function() return ('x'):rep(1e7) end)",
    ] {
        let failure = rig.failure(script);
        assert!(failure.contains("not enough memory"), "{script}: {failure}");
        assert_eq!(rig.eval("return #('x'):rep(1e7)"), Reply::Int(10_000_000), "after {script}");
    }
}

#[test]
fn a_reply_has_limits() {
    let mut rig = Rig::new();
    let failure = rig.failure("local s, t = ('x'):rep(1e7), {} for i = 1, 1000 do t[i] = s end return t");
    assert!(failure.contains("too long"), "{failure}");
    let failure = rig.failure("local t = {} for i = 1, 60 do t = {t, t} end return t");
    assert!(failure.contains("too long"), "{failure}");
    let mut reply = rig.eval("local t = {} t[1] = t return t");
    let mut depth = 0;
    while let Reply::Array(mut all) = reply {
        reply = all.pop().unwrap();
        depth += 1;
    }
    assert_eq!((depth, reply), (200, Reply::Error(Fault::of("ERR reached lua stack limit"))));
    let mut wire = Vec::new();
    rig.eval("local t = {} t[1] = t return t").encode(keyplane_engine::Protocol::Three, &mut wire);
    assert!(wire.starts_with(b"*1\r\n*1\r\n"));
}

#[test]
fn hostile_scripts_are_answered() {
    let mut rig = Rig::new();
    for script in [
        "local f f = function() return 1 + f() end return f()",
        "local f f = function() return pcall(f) end return {f()}",
        "local f f = function() coroutine.wrap(f)() end f()",
        "local f f = function(x) return string.gsub('x', 'x', f) end f()",
        "local t = setmetatable({}, {}) getmetatable(t).__index = t return t.x",
        "return string.find(('a'):rep(3e5), ('a?'):rep(3e5))",
        "error(setmetatable({}, {__index = function() error('x') end}))",
        "error(setmetatable({}, {__tostring = function() error('x') end}))",
        "error(function() end)",
        "error({})",
        "error(coroutine.create(function() end))",
        "return table.concat(setmetatable({}, {__index = function() return 'x' end}), 'x', 1, 2)",
        "xpcall(error, function() return error end)() ",
        "return loadstring(string.dump(function() return 1 end))()",
        "return loadstring('return ' .. ('('):rep(1e4))()",
        "return loadstring(('x = '):rep(1e5))()",
        "local t = {} for i = 1, 2e4 do t[i] = string.gmatch('a', 'a') end for i = 1, 2e4 do t[i]() end error('x')",
        "for i = 1, 2e4 do xpcall(error, function(e) return e end) pcall(redis.call) end error('x')",
        "for i = 1, 2e4 do pcall(string.gsub, 'x', 'x', function() error({}) end) end error('x')",
        "return bit.tohex(1, -2147483648) .. nil",
        "redis.call('SET', KEYS[1], redis)",
        "redis.call(unpack({}, 1, 7990))",
        "coroutine.yield()",
        "return math.random(-2147483648, 2147483647) .. {}",
    ] {
        rig.eval(script);
        assert_eq!(rig.eval("return redis.call('INCR', 'count') > 0"), Reply::Int(1), "after {script}");
    }
}

#[test]
fn the_state_is_whole_after_a_failing_script() {
    let mut rig = Rig::new();
    rig.ask(&[b"SET", b"before", b"1"]);
    rig.ask(&[b"SELECT", b"1"]);
    rig.effects();
    let script =
        "redis.call('SET', KEYS[1], 'a') redis.call('SELECT', 3) redis.call('SET', KEYS[1], 'b') error('x')";
    assert!(rig.failure(script).contains("user_script:1: x"));
    assert_eq!(rig.ask(&[b"GET", b"key"]), bulk("a"));
    rig.ask(&[b"SELECT", b"3"]);
    assert_eq!(rig.ask(&[b"GET", b"key"]), bulk("b"));
    rig.ask(&[b"SELECT", b"0"]);
    assert_eq!(rig.ask(&[b"GET", b"before"]), bulk("1"));
    let effects = rig.effects().replace("\r\n", " ");
    assert!(effects.starts_with("*1 $5 MULTI "), "{effects}");
    assert!(effects.ends_with("*1 $4 EXEC "), "{effects}");
    assert!(!effects.contains("EVAL"), "{effects}");
}

#[test]
fn a_script_is_one_step_and_one_effect_needs_no_transaction() {
    let mut rig = Rig::new();
    rig.eval("return redis.call('GET', KEYS[1])");
    assert_eq!(rig.effects(), "");
    rig.eval("redis.call('SET', KEYS[1], 'x')");
    assert!(!rig.effects().contains("MULTI"));
}

#[test]
fn monitors_see_a_script_before_its_calls() {
    let mut rig = Rig::new();
    let listener = rig.engine.connect(rig.now, "listener".to_owned());
    let reply = rig.engine.execute(rig.now, listener, &[b"MONITOR"]).answer;
    if reply != Answer::Reply(Reply::Ok) {
        // There is no such command yet.
        return;
    }
    let lines: Vec<String> = rig
        .outcome(&[b"EVAL", b"redis.call('SELECT', 2) return redis.call('SET', KEYS[1], 'x')", b"1", b"key"])
        .deliveries
        .into_iter()
        .filter_map(|delivery| match delivery {
            Delivery::Message { message: Reply::Status(line), .. } => Some(line.into_owned()),
            _ => None,
        })
        .collect();
    assert_eq!(lines.len(), 3);
    assert!(lines[0].contains("[0 test] \"EVAL\""), "{}", lines[0]);
    assert!(lines[2].contains("[2 lua] \"SET\" \"key\" \"x\""), "{}", lines[2]);
}

#[test]
fn random_numbers_go_on_from_script_to_script() {
    let (mut one, mut other) = (Rig::new(), Rig::new());
    let first = one.eval("return math.random(1000000)");
    assert_ne!(first, one.eval("return math.random(1000000)"));
    one.ask(&[b"SCRIPT", b"FLUSH"]);
    let third = one.eval("return math.random(1000000)");
    assert_ne!(first, third);
    other.eval("return {math.random(), math.random()}");
    assert_eq!(third, other.eval("return math.random(1000000)"));
}

#[test]
fn more_scripts_are_known_than_rust_can_hold_handles() {
    let mut rig = Rig::new();
    for number in 0..10_000 {
        assert_eq!(rig.eval(&format!("return {number}")), Reply::Int(number));
    }
    assert_eq!(rig.eval("return 17"), Reply::Int(17));
}

#[test]
fn an_engine_can_be_sent_to_a_thread() {
    let mut rig = Rig::new();
    rig.eval("return 1");
    std::thread::spawn(move || assert_eq!(rig.eval("return 1"), Reply::Int(1))).join().unwrap();
}
