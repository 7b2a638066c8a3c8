//! kill -9 under load: with `always`, what was answered is there; whole steps or none.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::owner::Owner;

const WRITERS: usize = 4;

/// `KEYPLANE_KILL_ROUNDS`, or a few.
fn rounds() -> usize {
    std::env::var("KEYPLANE_KILL_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(5)
}

/// A step that must be whole: two keys that are always equal, by a transaction and by a script.
const PAIR: &str = "redis.call('SET', KEYS[1], ARGV[1]) redis.call('SET', KEYS[2], ARGV[1]) return ARGV[1]";

/// Writes until the store is gone; notes what was answered.
fn write(
    mut connection: redis::Connection,
    writer: usize,
    stop: &AtomicBool,
    answered: &Mutex<[i64; WRITERS]>,
) {
    while !stop.load(Ordering::Relaxed) {
        let next: redis::RedisResult<i64> =
            redis::cmd("INCR").arg(format!("n{writer}")).query(&mut connection);
        let Ok(next) = next else { return };
        answered.lock().unwrap()[writer] = next;
        let (one, other) = (format!("a{writer}"), format!("b{writer}"));
        let pair: redis::RedisResult<()> = if next % 2 == 0 {
            redis::pipe().atomic().set(&one, next).set(&other, next).query(&mut connection)
        } else {
            redis::cmd("EVAL").arg(PAIR).arg(2).arg(&one).arg(&other).arg(next).exec(&mut connection)
        };
        if pair.is_err() {
            return;
        }
    }
}

#[test]
fn what_was_answered_is_there_after_kill_9_and_no_step_is_half() {
    let folder = tempfile::tempdir().unwrap();
    let seed = fastrand::u64(..);
    let mut rng = fastrand::Rng::with_seed(seed);
    let answered = Mutex::new([0_i64; WRITERS]);
    let mut torn = 0;
    for round in 0..rounds() {
        let mut owner = Owner::start(folder.path(), "always");
        torn += u64::from(owner.torn > 0);
        let mut look = owner.connect();
        for writer in 0..WRITERS {
            let read = |look: &mut redis::Connection, name: String| -> i64 {
                redis::cmd("GET").arg(name).query::<Option<i64>>(look).unwrap().unwrap_or(0)
            };
            let (kept, told) = (read(&mut look, format!("n{writer}")), answered.lock().unwrap()[writer]);
            assert!(
                kept == told || kept == told + 1,
                "seed {seed}, round {round}: n{writer} is {kept}, answered was {told}"
            );
            let (one, other) = (read(&mut look, format!("a{writer}")), read(&mut look, format!("b{writer}")));
            assert_eq!(one, other, "seed {seed}, round {round}: half a step of writer {writer}");
        }
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            for writer in 0..WRITERS {
                let (connection, stop, answered) = (owner.connect(), &stop, &answered);
                scope.spawn(move || write(connection, writer, stop, answered));
            }
            thread::sleep(Duration::from_millis(rng.u64(20..120)));
            owner.kill();
            stop.store(true, Ordering::Relaxed);
        });
    }
    let told = answered.into_inner().unwrap();
    assert!(told.iter().all(|count| *count > 0), "every writer has written: {told:?}");
    println!("seed {seed}: {} rounds, {told:?} answered, {torn} torn ends", rounds());
}
