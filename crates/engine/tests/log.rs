//! The log: what it takes back after cuts and changes, and what a real server makes of it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::Write as _;

use keyplane_engine::log::{Chain, LogError, load};
use keyplane_engine::{Answer, Engine, Progress, Protocol, Reply, Settings, Steps, Time};
use keyplane_testing::{Program, Server};

const NOW: Time = Time::from_millis(1_900_000_000_000);

fn engine() -> Engine {
    Engine::new(Settings { keeps_effects: true, ..Settings::default() }, NOW)
}

fn run(engine: &mut Engine, line: &str) -> Reply {
    let client = engine.connect(NOW, "test".to_owned());
    let args: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
    let answer = engine.execute(NOW, client, &args).answer;
    engine.disconnect(client);
    match answer {
        Answer::Reply(reply) => reply,
        other => panic!("{line}: {other:?}"),
    }
}

fn transaction(engine: &mut Engine, lines: &[&str]) {
    let client = engine.connect(NOW, "test".to_owned());
    for line in ["MULTI"].iter().chain(lines).chain(&["EXEC"]) {
        let args: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
        engine.execute(NOW, client, &args);
    }
    engine.disconnect(client);
}

/// The question that shows all of a key of this type.
fn question(of: &str) -> &'static str {
    match of {
        "string" => "GET @",
        "list" => "LRANGE @ 0 -1",
        "hash" => "HGETALL @",
        "set" => "SMEMBERS @",
        "zset" => "ZRANGE @ 0 -1 WITHSCORES",
        _ => "XINFO STREAM @",
    }
}

/// All keys with their values and ends. Fields and members have no order.
fn contents(engine: &mut Engine) -> Vec<String> {
    let Reply::Array(keys) = run(engine, "KEYS *") else { panic!("no keys") };
    let mut all: Vec<String> = Vec::new();
    for key in keys {
        let Reply::Bulk(key) = key else { panic!("no key") };
        let key = String::from_utf8(key).unwrap();
        let Reply::Status(of) = run(engine, &format!("TYPE {key}")) else { panic!("no type") };
        let mut value = match run(engine, &question(&of).replace('@', &key)) {
            Reply::Map(pairs) => pairs.into_iter().map(|pair| format!("{pair:?}")).collect(),
            Reply::Set(all) => all.into_iter().map(|one| format!("{one:?}")).collect(),
            other => vec![format!("{other:?}")],
        };
        value.sort();
        all.push(format!("{key} {of} {value:?} {:?}", run(engine, &format!("PEXPIRETIME {key}"))));
    }
    all.sort();
    all
}

/// A log of some steps, where each begins, and the contents after each.
fn sample() -> (Vec<u8>, Vec<(usize, Vec<String>)>) {
    let mut engine = engine();
    let mut log = Vec::new();
    let mut chain = Chain::begin(&mut log);
    let mut states = vec![(log.len(), contents(&mut engine))];
    let mut note = |engine: &mut Engine, states: &mut Vec<_>| {
        for step in engine.take_effects().iter() {
            chain.write(step, &mut log);
        }
        states.push((log.len(), contents(engine)));
    };
    for line in ["SET a 1", "SET b two PX 5000", "APPEND a 2", "INCR n", "SET #kp x"] {
        run(&mut engine, line);
        note(&mut engine, &mut states);
    }
    transaction(&mut engine, &["SET a 3", "INCR n", "DEL b"]);
    note(&mut engine, &mut states);
    run(&mut engine, "SETRANGE z 40 end");
    note(&mut engine, &mut states);
    (log, states)
}

#[test]
fn a_log_that_was_cut_loads_to_the_last_whole_step() {
    let (log, states) = sample();
    for length in 0..=log.len() {
        let mut engine = engine();
        let loaded = load(&log[..length], &mut engine).expect("a cut log loads");
        let (end, expected) =
            states.iter().rev().find(|(end, _)| *end <= length).cloned().unwrap_or((0, Vec::new()));
        assert_eq!(loaded.end as usize, end, "cut at {length}");
        assert_eq!(loaded.torn as usize, length - end, "cut at {length}");
        assert_eq!(contents(&mut engine), expected, "cut at {length}");
    }
}

#[test]
fn a_log_that_was_changed_anywhere_is_refused_with_the_place() {
    let (log, states) = sample();
    for place in 0..log.len() {
        for bit in [0, 3, 6] {
            let mut changed = log.clone();
            changed[place] ^= 1 << bit;
            match load(changed.as_slice(), &mut engine()) {
                Err(LogError::Damaged { offset, .. }) => {
                    let begin = states.iter().rev().find(|(end, _)| *end <= place).unwrap().0;
                    assert_eq!(offset as usize, begin, "changed at {place}");
                }
                Err(LogError::NotALog | LogError::Version(_)) => {
                    assert!(place < states[0].0, "changed at {place}")
                }
                other => panic!("changed at {place}: {other:?}"),
            }
        }
    }
}

#[test]
fn room_that_was_never_written_to_is_a_torn_end() {
    let (mut log, states) = sample();
    let (end, expected) = states[states.len() - 2].clone();
    let whole = log.len();
    // The last step's bytes never came, and the file system had made room for more.
    log[end + 34 + 20..].fill(0);
    log.extend([0; 100]);
    let mut engine = engine();
    let loaded = load(log.as_slice(), &mut engine).expect("loads");
    assert_eq!((loaded.end as usize, loaded.torn as usize), (end, whole + 100 - end));
    assert_eq!(contents(&mut engine), expected);
}

#[test]
fn what_has_ended_meanwhile_ends_after_loading_and_not_before() {
    let mut first = engine();
    let mut log = Vec::new();
    let mut chain = Chain::begin(&mut log);
    for line in ["SET a x PX 1000", "APPEND a y"] {
        run(&mut first, line);
    }
    first.take_effects().iter().for_each(|step| chain.write(step, &mut log));
    let later = Time::from_millis(NOW.millis() + 60_000);
    let mut second = Engine::new(Settings { keeps_effects: true, ..Settings::default() }, later);
    load(log.as_slice(), &mut second).unwrap();
    assert!(second.take_effects().is_empty());
    second.tick(later);
    assert_eq!(second.take_effects().iter().count(), 1);
    let client = second.connect(later, String::new());
    assert_eq!(second.execute(later, client, &[b"EXISTS", b"a"]).answer, Answer::Reply(Reply::Int(0)));
}

/// Some change to a key of any type.
fn change(engine: &mut Engine, rng: &mut fastrand::Rng) {
    let (key, part) = (rng.u32(..30), rng.u32(..200));
    let line = match rng.u32(..16) {
        0 => format!("DEL k{key}"),
        1 => format!("SET k{key} {} PX {}", rng.u32(..), rng.u32(1000..9000)),
        2 => format!("APPEND k{key} x"),
        3 => format!("COPY k{key} k{} REPLACE", rng.u32(..30)),
        4 => format!("PERSIST k{key}"),
        5 => format!("PEXPIRE k{key} {}", rng.u32(1000..9000)),
        6 => format!("RPUSH k{key} a b {part}"),
        7 => format!("HSET k{key} f{part} {part}"),
        8 => format!("SADD k{key} {part} m{part}"),
        9 => format!("ZADD k{key} {part}.5 m{part}"),
        10 => format!("XADD k{key} * f {part}"),
        11 => format!("XTRIM k{key} MAXLEN 0"),
        12 => format!("LPOP k{key}"),
        13 => format!("ZPOPMIN k{key}"),
        14 => format!("RENAME k{key} k{}", rng.u32(..30)),
        _ => format!("SET k{key} {}", rng.u32(..)),
    };
    // Refused where the key is of another type; that changes nothing.
    run(engine, &line);
}

/// A picture of an engine, and what changed while it was taken, make the same as the engine has in the end.
#[test]
fn a_picture_shows_the_moment_it_was_begun() {
    for seed in 0..200 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut engine = engine();
        (0..120).for_each(|_| change(&mut engine, &mut rng));
        engine.take_effects();
        engine.begin_picture();
        let mut since = Steps::default();
        let mut log = Vec::new();
        let mut chain = Chain::begin(&mut log);
        loop {
            for _ in 0..rng.u32(..6) {
                change(&mut engine, &mut rng);
            }
            match engine.go_on_with_picture(3) {
                Progress::Part(part) => chain.write(&part, &mut log),
                Progress::Done => break,
                Progress::Spoiled => panic!("seed {seed}: nothing was emptied"),
            }
            since.append(&engine.take_effects());
        }
        since.append(&engine.take_effects());
        since.iter().for_each(|step| chain.write(step, &mut log));
        let mut second = self::engine();
        load(log.as_slice(), &mut second).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        assert_eq!(contents(&mut second), contents(&mut engine), "seed {seed}");
    }
}

#[test]
fn a_picture_of_a_database_that_is_emptied_is_given_up() {
    let mut engine = engine();
    (0..50).for_each(|number| drop(run(&mut engine, &format!("SET k{number} x"))));
    engine.begin_picture();
    assert!(matches!(engine.go_on_with_picture(10), Progress::Part(_)));
    run(&mut engine, "FLUSHALL");
    assert!(matches!(engine.go_on_with_picture(10), Progress::Spoiled));
    assert!(matches!(engine.go_on_with_picture(10), Progress::Done));
}

/// A server that has read this log.
fn server_with(log: &[u8]) -> Server {
    let server = Server::start(Program::Redis, &keyplane_testing::Settings::unix());
    let folder = server.dir().join("appendonlydir");
    server.kill();
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("appendonly.aof.manifest"), "file keyplane.aof seq 1 type i\n").unwrap();
    std::fs::File::create(folder.join("keyplane.aof")).unwrap().write_all(log).unwrap();
    let conf = server.dir().join("conf");
    let mut lines = std::fs::read_to_string(&conf).unwrap();
    lines.push_str("\nappendonly yes\n");
    std::fs::write(&conf, lines).unwrap();
    server.restart();
    server
}

/// All keys with their values and ends, by way of whoever answers. Keys, fields and members have no order.
fn told(mut ask: impl FnMut(&str) -> redis::Value) -> Vec<String> {
    let redis::Value::Array(keys) = ask("KEYS *") else { panic!("no keys") };
    let mut all = Vec::new();
    for key in keys {
        let key: String = redis::from_redis_value(key).unwrap();
        let of: String = redis::from_redis_value(ask(&format!("TYPE {key}"))).unwrap();
        let asked = if of == "stream" { "XRANGE @ - +" } else { question(&of) };
        let mut value = match ask(&asked.replace('@', &key)) {
            redis::Value::Array(parts) if of == "set" => {
                parts.iter().map(|part| format!("{part:?}")).collect()
            }
            redis::Value::Array(parts) if of == "hash" => {
                parts.chunks(2).map(|pair| format!("{pair:?}")).collect()
            }
            other => vec![format!("{other:?}")],
        };
        value.sort();
        all.push(format!("{key} {of} {value:?} {:?}", ask(&format!("PEXPIRETIME {key}"))));
    }
    all.sort();
    all
}

/// A real server reads our log as its own, with keys of all types, transactions, scripts and a picture in it.
#[test]
fn redis_server_loads_it_to_the_same() {
    for seed in 0..5 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut engine = engine();
        (0..500).for_each(|_| change(&mut engine, &mut rng));
        engine.take_effects();
        let mut log = Vec::new();
        let mut chain = Chain::begin(&mut log);
        engine.begin_picture();
        while let Progress::Part(part) = engine.go_on_with_picture(7) {
            chain.write(&part, &mut log);
        }
        (0..500).for_each(|_| change(&mut engine, &mut rng));
        transaction(&mut engine, &["SET a 3 PX 9000", "INCR n", "SPOP k1", "SADD s 1 2 3", "SPOP s 2"]);
        run(&mut engine, "EVAL redis.call('SET',KEYS[1],ARGV[1]);redis.call('PEXPIRE',KEYS[1],5000) 1 b 7");
        engine.take_effects().iter().for_each(|step| chain.write(step, &mut log));
        let server = server_with(&log);
        let mut admin = server.admin();
        let theirs = told(|line| {
            let mut command = redis::Cmd::new();
            command.arg(line.split(' ').collect::<Vec<_>>());
            command.query(&mut admin).unwrap()
        });
        let ours = told(|line| {
            let mut bytes = Vec::new();
            run(&mut engine, line).encode(Protocol::Two, &mut bytes);
            redis::parse_redis_value(&bytes).unwrap()
        });
        assert_eq!(ours, theirs, "seed {seed}");
        assert!(ours.len() > 20, "seed {seed}: only {} keys", ours.len());
    }
}
