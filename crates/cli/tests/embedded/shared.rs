//! One folder, several processes.

use std::time::{Duration, Instant};

use keyplane_store::{Fsync, Options, Reply, Store};

use crate::owner::Owner;

async fn ask(store: &Store, words: &[&str]) -> Option<Reply> {
    store.ask_all(words).await.pop().and_then(|(_, answer)| answer.ok())
}

fn always() -> Options {
    let mut options = Options::default();
    options.fsync = Fsync::Always;
    options
}

fn url(folder: &tempfile::TempDir) -> String {
    format!("embedded:{}", folder.path().display())
}

#[test]
fn two_processes_share_one_store_and_the_second_takes_over() {
    let folder = tempfile::tempdir().unwrap();
    let mut owner = Owner::start(folder.path(), "always");
    redis::cmd("SET").arg("from").arg("the owner").exec(&mut owner.connect()).unwrap();
    keyplane_testing::run(async move {
        let store = Store::open(&url(&folder), always()).await.unwrap();
        assert_eq!(ask(&store, &["GET", "from"]).await, Some(Reply::Bytes(b"the owner".to_vec())));
        assert_eq!(ask(&store, &["INCR", "n"]).await, Some(Reply::Int(1)));
        let seen: i64 = redis::cmd("GET").arg("n").query(&mut owner.connect()).unwrap();
        assert_eq!(seen, 1);
        tokio::task::block_in_place(|| owner.kill());
        let killed = Instant::now();
        let mut attempts = 0;
        let answer = loop {
            attempts += 1;
            // Until somebody has the folder, an operation that changes nothing may be asked again and again.
            match ask(&store, &["GET", "n"]).await {
                Some(reply) => break reply,
                None if killed.elapsed() > Duration::from_secs(30) => panic!("nobody takes over"),
                None => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        };
        assert_eq!(answer, Reply::Bytes(b"1".to_vec()));
        println!("taken over {:?} after the kill, attempt {attempts}", killed.elapsed());
        assert_eq!(ask(&store, &["GET", "from"]).await, Some(Reply::Bytes(b"the owner".to_vec())));
        // It is the owner now, and serves others.
        let socket = format!("redis+unix://{}/socket", folder.path().display());
        let others = tokio::task::spawn_blocking(move || {
            let mut other = redis::Client::open(socket).unwrap().get_connection().unwrap();
            redis::cmd("INCR").arg("n").query::<i64>(&mut other).unwrap()
        });
        assert_eq!(others.await.unwrap(), 2);
    });
}

/// How often the second process has counted by the time the owner is killed, and how long it goes on.
const COUNTED: i64 = 200;

/// Counts until somebody else has taken over. What was acknowledged, and what was tried.
async fn count_through(store: &Store, owner: &mut Owner) -> (i64, i64, Duration) {
    let (mut acknowledged, mut tried) = (0, 0);
    let mut killed = None;
    loop {
        if tried == COUNTED {
            tokio::task::block_in_place(|| owner.kill());
            killed = Some(Instant::now());
        }
        tried += 1;
        match (ask(store, &["INCR", "count"]).await, killed) {
            (Some(Reply::Int(_)), Some(killed)) => return (acknowledged + 1, tried, killed.elapsed()),
            (Some(Reply::Int(_)), None) => acknowledged += 1,
            (_, Some(killed)) if killed.elapsed() > Duration::from_secs(30) => panic!("nobody takes over"),
            _ => tokio::time::sleep(Duration::from_millis(5)).await,
        }
    }
}

#[test]
fn nothing_acknowledged_is_lost_when_the_owner_is_killed_under_load() {
    let mut times = Vec::new();
    for _ in 0..10 {
        let folder = tempfile::tempdir().unwrap();
        let mut owner = Owner::start(folder.path(), "always");
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let took = runtime.block_on(async move {
            let store = Store::open(&url(&folder), always()).await.unwrap();
            let (acknowledged, tried, took) = count_through(&store, &mut owner).await;
            let found = match ask(&store, &["GET", "count"]).await {
                Some(Reply::Bytes(digits)) => String::from_utf8(digits).unwrap().parse::<i64>().unwrap(),
                other => panic!("{other:?}"),
            };
            assert!((acknowledged..=tried).contains(&found), "{found} of {acknowledged}, tried {tried}");
            took
        });
        times.push(took);
    }
    times.sort();
    println!("written to again {:?} after the kill in the middle of ten, {:?} at most", times[5], times[9]);
}

#[test]
fn a_folder_that_is_taken_is_not_served_twice() {
    let folder = tempfile::tempdir().unwrap();
    let _owner = Owner::start(folder.path(), "no");
    let second = assert_cmd::Command::cargo_bin("keyplane")
        .unwrap()
        .args(["store", "--listen", "127.0.0.1:0"])
        .arg(folder.path())
        .assert()
        .code(2);
    let said = String::from_utf8_lossy(&second.get_output().stderr).into_owned();
    assert!(said.contains("belongs to another process"), "{said}");
}

#[test]
fn a_damaged_log_is_refused_with_the_place_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let mut owner = Owner::start(folder.path(), "always");
    for number in 0..20 {
        redis::cmd("SET").arg("key").arg(number).exec(&mut owner.connect()).unwrap();
    }
    owner.kill();
    let log = folder.path().join("keyplane.aof");
    let mut bytes = std::fs::read(&log).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&log, &bytes).unwrap();
    let refused = assert_cmd::Command::cargo_bin("keyplane")
        .unwrap()
        .args(["store", "--listen", "127.0.0.1:0"])
        .arg(folder.path())
        .assert()
        .code(2);
    let said = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
    assert!(said.contains("damaged at byte"), "{said}");
    assert_eq!(std::fs::read(&log).unwrap(), bytes);
}

#[test]
fn the_store_is_for_this_machine_only() {
    let refused = assert_cmd::Command::cargo_bin("keyplane")
        .unwrap()
        .args(["store", "--memory", "--listen", "0.0.0.0:0"])
        .assert()
        .code(2);
    let said = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
    assert!(said.contains("this machine only"), "{said}");
}
