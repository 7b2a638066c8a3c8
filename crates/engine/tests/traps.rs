//! The places where a Redis that was written anew goes wrong, by name.
//!
//! Each test says what is to be answered, to the byte, and holds the engine and a real redis-server to it on the same
//! clock, which moves only when the test says so.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::{BTreeSet, VecDeque};
use std::time::{Duration, UNIX_EPOCH};

use keyplane_engine::{Answer, ClientId, Delivery, Engine, Reply, Settings, Time};
use keyplane_testing::{VirtualServer, Wire, until};

/// An engine and a server that are sent the same.
struct Pair {
    server: VirtualServer,
    /// Nobody else's connection: what it asks is not part of a test.
    admin: Wire,
    engine: Engine,
    clients: Vec<Client>,
}

/// One client of both.
struct Client {
    id: ClientId,
    wire: Wire,
    /// What the engine has sent it out of turn.
    told: VecDeque<String>,
}

/// The first client, which is there from the beginning.
const ME: usize = 0;

impl Pair {
    fn start_or_skip(test: &str) -> Option<Self> {
        let settings = keyplane_testing::Settings::unix().line("enable-debug-command yes");
        let server = VirtualServer::start_with_or_skip(test, &settings)?;
        let admin = Wire::connect(server.server());
        let engine = Engine::new(Settings::default(), now(&server));
        let mut pair = Self { server, admin, engine, clients: Vec::new() };
        pair.connect();
        Some(pair)
    }

    /// The number of a new client.
    fn connect(&mut self) -> usize {
        let id = self.engine.connect(now(&self.server), "test".to_owned());
        let wire = Wire::connect(self.server.server());
        self.clients.push(Client { id, wire, told: VecDeque::new() });
        self.clients.len() - 1
    }

    /// What both answer.
    fn ask(&mut self, client: usize, args: &[&str]) -> String {
        let mine = self.execute(client, args).unwrap_or_else(|| panic!("{args:?}: the engine waits"));
        let theirs = text(self.clients[client].wire.ask(&bytes(args)).expect("an answer"));
        assert_eq!(mine, theirs, "{args:?}: the engine's answer, the server's");
        mine
    }

    /// The first client is answered so by both.
    fn says(&mut self, words: &str, answer: &str) {
        self.says_to(ME, words, answer);
    }

    fn says_to(&mut self, client: usize, words: &str, answer: &str) {
        let args: Vec<&str> = words.split(' ').collect();
        assert_eq!(self.ask(client, &args), answer, "{words}: both answer so");
    }

    /// Both answer a script so, whose key is `key`.
    fn script(&mut self, script: &str, answer: &str) {
        assert_eq!(self.ask(ME, &["EVAL", script, "1", "key"]), answer, "{script}: both answer so");
    }

    /// Both refuse a script with this text and where it was.
    fn script_fails(&mut self, script: &str, why: &str) {
        let loaded = self.ask(ME, &["SCRIPT", "LOAD", script]);
        let sha = loaded.lines().last().expect("its name");
        self.script(script, &format!("-{why} script: {sha}, on @user_script:1.\r\n"));
    }

    /// On both the client waits.
    fn waits(&mut self, client: usize, words: &str) {
        let args: Vec<&str> = words.split(' ').collect();
        let answer = self.execute(client, &args);
        assert_eq!(answer, None, "{words}: the engine waits");
        self.clients[client].wire.send(&bytes(&args));
        self.hears_nothing(client);
    }

    /// Both send a client this out of turn.
    fn hears(&mut self, client: usize, message: &str) {
        let client = &mut self.clients[client];
        let mine = client.told.pop_front();
        assert_eq!(mine.as_deref(), Some(message), "from the engine");
        assert_eq!(text(client.wire.read().expect("a message")), message, "from the server");
    }

    fn hears_nothing(&mut self, client: usize) {
        // The second is answered after everything that came before the first.
        for _ in 0..2 {
            self.admin.ask(&[b"PING"]).expect("an answer");
        }
        let client = &mut self.clients[client];
        assert_eq!(client.told.front(), None, "from the engine");
        assert!(!client.wire.has_more(), "the server has sent {:?}", client.wire.read().map(text));
    }

    /// Time passes, and nobody looks for keys that are over.
    fn pass_unseen(&mut self, millis: u64) {
        self.admin.ask(&[b"DEBUG", b"SET-ACTIVE-EXPIRE", b"0"]).expect("an answer");
        self.server.advance(Duration::from_millis(millis));
    }

    /// Time passes, and both look for keys that are over, until the server has left this many.
    fn pass(&mut self, millis: u64, left: usize) {
        self.admin.ask(&[b"DEBUG", b"SET-ACTIVE-EXPIRE", b"1"]).expect("an answer");
        self.server.advance(Duration::from_millis(millis));
        until("the server's own look at its keys", || {
            let size = text(self.admin.ask(&[b"DBSIZE"]).expect("an answer"));
            if size == format!(":{left}\r\n") { Ok(()) } else { Err(size) }
        });
        let deliveries = self.engine.tick(now(&self.server));
        self.deliver(deliveries);
    }

    /// The engine's answer, unless the client has to wait.
    fn execute(&mut self, client: usize, args: &[&str]) -> Option<String> {
        let id = self.clients[client].id;
        let outcome = self.engine.execute(now(&self.server), id, &bytes(args));
        let answer = match outcome.answer {
            Answer::Reply(reply) => Some(self.encoded(id, &reply)),
            Answer::Blocked => None,
            other => panic!("{args:?}: {other:?}"),
        };
        self.deliver(outcome.deliveries);
        answer
    }

    fn deliver(&mut self, deliveries: Vec<Delivery>) {
        for delivery in deliveries {
            let Delivery::Message { to, message } = delivery else { panic!("{delivery:?}") };
            let message = self.encoded(to, &message);
            let client = self.clients.iter_mut().find(|client| client.id == to).expect("a client");
            client.told.push_back(message);
        }
    }

    fn encoded(&self, client: ClientId, reply: &Reply) -> String {
        let mut out = Vec::new();
        reply.encode(self.engine.protocol(client), &mut out);
        text(out)
    }
}

fn now(server: &VirtualServer) -> Time {
    Time::from(server.now().duration_since(UNIX_EPOCH).expect("after 1970"))
}

fn bytes<'a>(args: &[&'a str]) -> Vec<&'a [u8]> {
    args.iter().map(|arg| arg.as_bytes()).collect()
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("only text is sent here")
}

fn bulk(text: &str) -> String {
    format!("${}\r\n{text}\r\n", text.len())
}

fn bulks(all: &[&str]) -> String {
    let parts: String = all.iter().map(|part| bulk(part)).collect();
    format!("*{}\r\n{parts}", all.len())
}

const OK: &str = "+OK\r\n";
const NOTHING: &str = "$-1\r\n";
const WRONG_TYPE: &str = "WRONGTYPE Operation against a key holding the wrong kind of value";

#[test]
fn a_number_from_lua_loses_its_fraction() {
    let Some(mut pair) = Pair::start_or_skip("a_number_from_lua_loses_its_fraction") else { return };
    pair.script("return 3.99", ":3\r\n");
    pair.script("return -3.99", ":-3\r\n");
    pair.script("return 0.99", ":0\r\n");
    pair.script("return 1e300", ":-9223372036854775808\r\n");
    pair.script("return {1.9, 'x'}", "*2\r\n:1\r\n$1\r\nx\r\n");
    pair.script("return tostring(3.99)", &bulk("3.99"));
}

#[test]
fn a_number_is_sent_from_lua_with_seventeen_digits() {
    let Some(mut pair) = Pair::start_or_skip("a_number_is_sent_from_lua_with_seventeen_digits") else {
        return;
    };
    for (number, sent) in [
        ("3", "3"),
        ("0.1", "0.10000000000000001"),
        ("1/3", "0.33333333333333331"),
        ("12345678901234567", "12345678901234568"),
        ("1e16", "10000000000000000"),
        ("1e17", "1e+17"),
        ("2^53 + 1", "9007199254740992"),
        ("-0.5", "-0.5"),
    ] {
        let script = format!("redis.call('SET', KEYS[1], {number}) return redis.call('GET', KEYS[1])");
        pair.script(&script, &bulk(sent));
    }
}

#[test]
fn globals_of_scripts_are_read_only() {
    let Some(mut pair) = Pair::start_or_skip("globals_of_scripts_are_read_only") else { return };
    for script in ["x = 1", "redis = nil", "string.find = nil", "KEYS = {}", "function f() end", "_G.x = 1"] {
        pair.script_fails(script, "ERR user_script:1: Attempt to modify a readonly table");
    }
    pair.script_fails("rawset(_G, 'x', 1)", "ERR Attempt to modify a readonly table");
    let why = "ERR user_script:1: Script attempted to access nonexistent global variable 'x'";
    pair.script_fails("return x", why);
}

#[test]
fn unpack_stops_below_eight_thousand() {
    let Some(mut pair) = Pair::start_or_skip("unpack_stops_below_eight_thousand") else { return };
    for script in [
        "return {unpack({}, 1, 8000)}",
        "return {unpack({}, 1, 1e8)}",
        "return {unpack({}, -2147483648, 2147483647)}",
        "return {unpack({}, 0, 2147483647)}",
    ] {
        pair.script_fails(script, "ERR user_script:1: too many results to unpack");
    }
    pair.script("return select('#', unpack({}, 1, 7900))", ":7900\r\n");
    pair.script(
        "local t = {} for i = 1, 7900 do t[i] = 'k' .. i end return redis.call('DEL', unpack(t))",
        ":0\r\n",
    );
}

#[test]
fn a_key_that_is_over_is_gone_when_looked_at() {
    let Some(mut pair) = Pair::start_or_skip("a_key_that_is_over_is_gone_when_looked_at") else { return };
    pair.says("SET key value PX 100", OK);
    pair.says("RPUSH list a", ":1\r\n");
    pair.says("PEXPIRE list 100", ":1\r\n");
    pair.pass_unseen(99);
    pair.says("PTTL key", ":1\r\n");
    // In the millisecond of its end it is still there.
    pair.pass_unseen(1);
    pair.says("PTTL key", ":0\r\n");
    pair.says("GET key", &bulk("value"));
    pair.says("EXISTS key list", ":2\r\n");
    pair.pass_unseen(1);
    pair.says("PTTL key", ":-2\r\n");
    pair.says("GET key", NOTHING);
    pair.says("EXISTS key list", ":0\r\n");
    pair.says("LLEN list", ":0\r\n");
    // What was there does not stand in the way of another type.
    pair.says("SADD list a", ":1\r\n");
    pair.says("TTL list", ":-1\r\n");
    pair.says("DBSIZE", ":1\r\n");
}

#[test]
fn a_key_that_is_over_is_gone_without_being_looked_at() {
    let Some(mut pair) = Pair::start_or_skip("a_key_that_is_over_is_gone_without_being_looked_at") else {
        return;
    };
    let listener = pair.connect();
    pair.says("CONFIG SET notify-keyspace-events Ex", OK);
    let channel = "__keyevent@0__:expired";
    let subscribed = format!("*3\r\n{}{}:1\r\n", bulk("subscribe"), bulk(channel));
    pair.says_to(listener, &format!("SUBSCRIBE {channel}"), &subscribed);
    pair.says("SET first value PX 100", OK);
    pair.says("SET second value PX 200", OK);
    pair.says("SET third value", OK);
    pair.says("DBSIZE", ":3\r\n");
    pair.pass(150, 2);
    pair.hears(listener, &bulks(&["message", channel, "first"]));
    pair.hears_nothing(listener);
    pair.says("DBSIZE", ":2\r\n");
    pair.pass(100, 1);
    pair.hears(listener, &bulks(&["message", channel, "second"]));
    pair.says("DBSIZE", ":1\r\n");
}

#[test]
fn ttl_is_rounded_to_the_nearest_second() {
    let Some(mut pair) = Pair::start_or_skip("ttl_is_rounded_to_the_nearest_second") else { return };
    for (millis, seconds) in [(1, 0), (499, 0), (500, 1), (1499, 1), (1500, 2), (1999, 2), (60_000, 60)] {
        pair.says(&format!("SET key value PX {millis}"), OK);
        pair.says("TTL key", &format!(":{seconds}\r\n"));
        pair.says("PTTL key", &format!(":{millis}\r\n"));
    }
    pair.says("SET key value PX 1500", OK);
    pair.pass_unseen(1);
    pair.says("TTL key", ":1\r\n");
    pair.says("PTTL key", ":1499\r\n");
    pair.says("PERSIST key", ":1\r\n");
    pair.says("TTL key", ":-1\r\n");
    pair.says("TTL missing", ":-2\r\n");
    pair.says("PTTL missing", ":-2\r\n");
}

#[test]
fn a_command_on_another_type_is_refused_in_the_same_words() {
    let Some(mut pair) = Pair::start_or_skip("a_command_on_another_type_is_refused_in_the_same_words") else {
        return;
    };
    pair.says("SET string value", OK);
    pair.says("RPUSH list a", ":1\r\n");
    let refused = format!("-{WRONG_TYPE}\r\n");
    for words in [
        "GET list",
        "LPUSH string a",
        "HGET string field",
        "SADD string a",
        "ZADD string 1 a",
        "XADD string * field value",
        "XREAD STREAMS list 0",
        "SUNION string list",
        "SET list value GET",
    ] {
        pair.says(words, &refused);
    }
    pair.script_fails("return redis.call('LPUSH', 'string', 'a')", WRONG_TYPE);
    pair.says("INCR list", &refused);
    pair.says("INCR string", "-ERR value is not an integer or out of range\r\n");
}

#[test]
fn what_is_empty_vanishes_except_a_stream() {
    let Some(mut pair) = Pair::start_or_skip("what_is_empty_vanishes_except_a_stream") else { return };
    for (fill, empty, answer) in [
        ("RPUSH key a", "LPOP key", bulk("a")),
        ("RPUSH key a", "LREM key 0 a", ":1\r\n".to_owned()),
        ("RPUSH key a", "LTRIM key 5 9", OK.to_owned()),
        ("HSET key field value", "HDEL key field", ":1\r\n".to_owned()),
        ("SADD key a", "SREM key a", ":1\r\n".to_owned()),
        ("SADD key a", "SMOVE key other a", ":1\r\n".to_owned()),
        ("ZADD key 1 a", "ZREM key a", ":1\r\n".to_owned()),
        ("ZADD key 1 a", "ZPOPMIN key", bulks(&["a", "1"])),
    ] {
        pair.says(fill, ":1\r\n");
        pair.says(empty, &answer);
        pair.says("EXISTS key", ":0\r\n");
        pair.says("TYPE key", "+none\r\n");
    }
    pair.says("SADD key a", ":1\r\n");
    pair.says("SINTERSTORE key key missing", ":0\r\n");
    pair.says("EXISTS key", ":0\r\n");

    pair.says("XADD key 1-1 field value", &bulk("1-1"));
    pair.says("XDEL key 1-1", ":1\r\n");
    pair.says("XLEN key", ":0\r\n");
    pair.says("TYPE key", "+stream\r\n");
    // It also remembers its last id.
    let equal = "-ERR The ID specified in XADD is equal or smaller than the target stream top item\r\n";
    pair.says("XADD key 1-1 field value", equal);
}

/// What a whole walk of SCAN finds. Between any two steps something else happens.
fn scan(
    engine: &mut Engine,
    client: ClientId,
    mut between: impl FnMut(&mut Engine, usize),
) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut cursor = b"0".to_vec();
    for step in 0.. {
        assert!(step < 1_000_000, "SCAN does not end");
        let outcome = engine.execute(Time::default(), client, &[b"SCAN", &cursor, b"COUNT", b"7"]);
        let Answer::Reply(Reply::Array(parts)) = outcome.answer else { panic!("no answer") };
        let [Reply::Bulk(next), Reply::Array(keys)] = parts.as_slice() else { panic!("{parts:?}") };
        for key in keys {
            let Reply::Bulk(key) = key else { panic!("{key:?}") };
            found.insert(text(key.clone()));
        }
        cursor.clone_from(next);
        if cursor == b"0" {
            break;
        }
        between(engine, step);
    }
    found
}

/// On the engine alone: the cursors of a server have other values.
#[test]
fn scan_returns_every_key_that_was_there_all_the_time() {
    const STAYING: usize = 3000;
    let mut engine = Engine::new(Settings::default(), Time::default());
    let client = engine.connect(Time::default(), "test".to_owned());
    let run = |engine: &mut Engine, command: &[u8], key: &str| {
        let mut args: Vec<&[u8]> = vec![command, key.as_bytes()];
        args.extend((command == b"SET").then_some(b"value".as_slice()));
        engine.execute(Time::default(), client, &args);
    };
    assert_eq!(scan(&mut engine, client, |_, _| {}), BTreeSet::new());
    let staying: BTreeSet<String> = (0..STAYING).map(|number| format!("staying:{number}")).collect();
    for number in 0..STAYING {
        // So that what stays and what goes lie between each other.
        run(&mut engine, b"SET", &format!("leaving:{number}"));
        run(&mut engine, b"SET", &format!("staying:{number}"));
    }
    // It grows, shrinks, and does both while others walk.
    let grow = |engine: &mut Engine, step: usize| {
        (0..20).for_each(|number| run(engine, b"SET", &format!("coming:{step}:{number}")));
    };
    let shrink = |engine: &mut Engine, step: usize| {
        (0..20).for_each(|number| run(engine, b"DEL", &format!("leaving:{}", step * 20 + number)));
        (0..40).for_each(|number| run(engine, b"DEL", &format!("coming:{step}:{number}")));
    };
    // Each step adds more than it reads: only a part of the way.
    let found = scan(&mut engine, client, |engine, step| {
        if step < 300 {
            grow(engine, step)
        }
    });
    assert!(found.is_superset(&staying), "{} are missing", staying.difference(&found).count());
    let found = scan(&mut engine, client, shrink);
    assert!(found.is_superset(&staying), "{} are missing", staying.difference(&found).count());
    let found = scan(&mut engine, client, |engine, step| {
        run(engine, b"SET", &format!("between:{step}"));
        run(engine, b"DEL", &format!("between:{}", step / 2));
    });
    assert!(found.is_superset(&staying), "{} are missing", staying.difference(&found).count());
}

#[test]
fn exec_is_aborted_by_what_cannot_be_queued_and_not_by_what_fails() {
    let Some(mut pair) =
        Pair::start_or_skip("exec_is_aborted_by_what_cannot_be_queued_and_not_by_what_fails")
    else {
        return;
    };
    let aborted = "-EXECABORT Transaction discarded because of previous errors.\r\n";
    for (words, refused) in [
        ("SET key", "-ERR wrong number of arguments for 'set' command\r\n"),
        ("NOSUCH key", "-ERR unknown command 'NOSUCH', with args beginning with: 'key' \r\n"),
    ] {
        pair.says("MULTI", OK);
        pair.says("SET key value", "+QUEUED\r\n");
        pair.says(words, refused);
        pair.says("EXEC", aborted);
        pair.says("GET key", NOTHING);
    }
    pair.says("MULTI", OK);
    for words in ["SET key value", "LPUSH key a", "SET other value"] {
        pair.says(words, "+QUEUED\r\n");
    }
    pair.says("EXEC", &format!("*3\r\n+OK\r\n-{WRONG_TYPE}\r\n+OK\r\n"));
    pair.says("MGET key other", &bulks(&["value", "value"]));
}

#[test]
fn who_waited_first_is_served_first() {
    let Some(mut pair) = Pair::start_or_skip("who_waited_first_is_served_first") else { return };
    let [first, second, third] = [pair.connect(), pair.connect(), pair.connect()];
    for client in [first, second, third] {
        pair.waits(client, "BLPOP queue 0");
    }
    pair.says("RPUSH queue a", ":1\r\n");
    pair.hears(first, &bulks(&["queue", "a"]));
    pair.hears_nothing(second);
    pair.hears_nothing(third);
    // Who waits again waits behind the others.
    pair.waits(first, "BLPOP queue 0");
    // Served when the command is done: from the left end of all of it.
    pair.says("LPUSH queue b c", ":2\r\n");
    pair.hears(second, &bulks(&["queue", "c"]));
    pair.hears(third, &bulks(&["queue", "b"]));
    pair.hears_nothing(first);
    pair.says("RPUSH queue d e", ":2\r\n");
    pair.hears(first, &bulks(&["queue", "d"]));
    pair.says("LRANGE queue 0 -1", &bulks(&["e"]));
}

#[test]
fn the_first_of_several_keys_is_popped() {
    let Some(mut pair) = Pair::start_or_skip("the_first_of_several_keys_is_popped") else { return };
    let waiter = pair.connect();
    // Without waiting: the first that has something, in the order of the command.
    pair.says("RPUSH b 1", ":1\r\n");
    pair.says("RPUSH c 2", ":1\r\n");
    pair.says_to(waiter, "BLPOP a c b 0", &bulks(&["c", "2"]));
    pair.says_to(waiter, "BLPOP a c b 0", &bulks(&["b", "1"]));
    // After waiting: the key that was filled first, also within one transaction.
    pair.waits(waiter, "BLPOP a b 0");
    pair.says("MULTI", OK);
    pair.says("RPUSH b 3", "+QUEUED\r\n");
    pair.says("RPUSH a 4", "+QUEUED\r\n");
    pair.says("EXEC", "*2\r\n:1\r\n:1\r\n");
    pair.hears(waiter, &bulks(&["b", "3"]));
    pair.says("LRANGE a 0 -1", &bulks(&["4"]));
}

/// Redis 7.0 stops the clock for the ends of keys and still shows the moving one to TIME and PTTL; 7.2 stops it for all,
/// as the engine does. A script that takes no time cannot tell.
#[test]
fn the_clock_stands_still_within_a_script() {
    let Some(mut pair) = Pair::start_or_skip("the_clock_stands_still_within_a_script") else { return };
    pair.script(
        "local a = redis.call('TIME') for i = 1, 1e5 do end local b = redis.call('TIME') \
         return a[1] == b[1] and a[2] == b[2]",
        ":1\r\n",
    );
    // It takes a fraction of a second, in which the server's clock is moved past the key's end.
    let script = "redis.call('SET', KEYS[1], 'value', 'PX', 100) for i = 1, 3e7 do end \
                  return {redis.call('GET', KEYS[1]), redis.call('EXISTS', KEYS[1])}";
    let args = ["EVAL", script, "1", "key"];
    let answer = format!("*2\r\n{}:1\r\n", bulk("value"));
    assert_eq!(pair.execute(ME, &args).as_ref(), Some(&answer), "from the engine");
    pair.clients[ME].wire.send(&bytes(&args));
    std::thread::sleep(Duration::from_millis(20));
    pair.server.advance(Duration::from_secs(1));
    assert_eq!(text(pair.clients[ME].wire.read().unwrap()), answer, "from the server");
    pair.pass_unseen(101);
    pair.says("GET key", NOTHING);
}

#[test]
fn a_string_is_added_to_with_more_digits_than_a_score() {
    let Some(mut pair) = Pair::start_or_skip("a_string_is_added_to_with_more_digits_than_a_score") else {
        return;
    };
    // A long double of 80 bits, and a double.
    for (string, score) in
        [("0.1", "0.10000000000000001"), ("0.2", "0.20000000000000001"), ("0.3", "0.30000000000000004")]
    {
        pair.says("INCRBYFLOAT string 0.1", &bulk(string));
        pair.says("HINCRBYFLOAT hash field 0.1", &bulk(string));
        pair.says("ZINCRBY zset 0.1 member", &bulk(score));
    }
    pair.says("ZSCORE zset member", &bulk("0.30000000000000004"));
}
