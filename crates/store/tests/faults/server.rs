//! One server: killed, frozen, full, restarted without its scripts, a replica, one that refuses us.

use std::time::Duration;

use keyplane_store::{Cause, OpenError, Options, Secret, Store};
use keyplane_testing::{Program, Server, Settings};

use crate::rig::{DEADLINE, Rig, in_time, is_open, is_unreachable, options, test};
use crate::setup::{bin, order};

fn redis() -> Server {
    Server::start(Program::Redis, &Settings::tcp())
}

#[test]
fn a_killed_server_is_unreachable_until_it_is_back() {
    test(async {
        let server = redis();
        let rig = Rig::open(&server.url()).await;
        assert_eq!(rig.add("b", 1).await.unwrap(), 1);
        server.kill();
        let first = rig.add("b", 1).await.unwrap_err();
        assert!(is_unreachable(&first) || is_open(&first), "{first}");
        let error = rig.add("b", 1).await.unwrap_err();
        assert!(is_unreachable(&error), "{error}");
        assert!(error.to_string().starts_with("INCRBY stock:<bin>: 127.0.0.1:"), "{error}");
        // Reading says so too; it never says that there is nothing.
        assert!(is_unreachable(&rig.read_label("b").await.unwrap_err()));
        while rig.store.is_healthy() {
            rig.read_label("b").await.unwrap_err();
        }
        server.restart();
        rig.heals("b").await;
        // The server has lost its scripts and its data with the process.
        assert_eq!(rig.add("b", 1).await.unwrap(), 1);
        let counted = rig.store.metrics().snapshot();
        assert!(counted.connection_failures > 0 && counted.connections_lost >= 1, "{counted:?}");
        assert_eq!(counted.consecutive_failures, 0);
    });
}

#[test]
fn scripts_are_given_again_after_a_restart_and_a_flush() {
    test(async {
        let server = redis();
        let rig = Rig::open(&server.url()).await;
        let book = rig.keys.order(&order("o"));
        let write = || rig.clerk.run(book.hset([("state", "open")]));
        write().await.unwrap();
        redis::cmd("SCRIPT").arg("FLUSH").exec(&mut server.admin()).unwrap();
        write().await.unwrap();
        server.restart();
        rig.heals("b").await;
        assert_eq!(write().await.unwrap(), 1);
        assert!(rig.clerk.run(book.pttl()).await.unwrap() > 0);
    });
}

#[test]
fn a_pipeline_whose_script_was_flushed_says_so_and_works_the_next_time() {
    test(async {
        let server = redis();
        let rig = Rig::open(&server.url()).await;
        let (book, label) = (rig.keys.order(&order("o")), rig.keys.label(&bin("b")));
        let both = || {
            rig.clerk
                .pipeline()
                .run(book.hset([("state", "open")]))
                .run(label.set("x"))
                .run(label.get())
                .send()
        };
        assert!(both().await.iter().all(Result::is_ok));
        redis::cmd("SCRIPT").arg("FLUSH").exec(&mut server.admin()).unwrap();
        let results = both().await;
        let error = results[0].as_ref().unwrap_err();
        assert!(matches!(error.cause(), Cause::ScriptForgotten), "{error}");
        assert!(error.is_retryable() && !error.maybe_applied());
        assert!(results[1].is_ok() && results[2].is_ok());
        assert!(both().await.iter().all(Result::is_ok));
    });
}

#[test]
fn a_server_that_does_not_answer_is_a_timeout_and_nothing_is_done_twice() {
    test(async {
        let server = redis();
        let rig = Rig::open(&server.url()).await;
        rig.add("b", 1).await.unwrap();
        server.freeze();
        let error = rig.add("b", 10).await.unwrap_err();
        assert!(matches!(error.cause(), Cause::TimedOut(after) if *after == DEADLINE), "{error}");
        assert!(is_open(&error));
        let error = rig.read_label("b").await.unwrap_err();
        assert!(!error.maybe_applied() && error.is_retryable(), "{error}");
        server.thaw();
        rig.heals("b").await;
        // What was sent before the deadline may have been done, once.
        assert!([1, 11].contains(&rig.count("b").await), "{}", rig.count("b").await);
        let counted = rig.store.metrics().snapshot();
        let adds = counted.operations.iter().find(|one| one.name == "INCRBY").unwrap();
        assert_eq!((adds.answered, adds.failed, adds.repeated), (1, 1, 0));
    });
}

#[test]
fn a_full_server_refuses_writes_and_answers_reads() {
    test(async {
        let server = redis();
        let rig = Rig::open(&server.url()).await;
        rig.label("b", "x").await.unwrap();
        let limit = |bytes: &str| {
            redis::cmd("CONFIG").arg("SET").arg("maxmemory").arg(bytes).exec(&mut server.admin()).unwrap();
        };
        limit("1");
        let error = rig.label("b", "y").await.unwrap_err();
        assert!(matches!(error.cause(), Cause::OutOfMemory(_)), "{error}");
        assert!(error.is_retryable() && !error.maybe_applied());
        // The guarded write too: refused before it has written anything.
        let error = rig.add("c", 1).await.unwrap_err();
        assert!(matches!(error.cause(), Cause::OutOfMemory(_)), "{error}");
        assert_eq!(rig.read_label("b").await.unwrap().as_deref(), Some(&b"x"[..]));
        limit("0");
        rig.heals("b").await;
        assert_eq!(rig.add("c", 1).await.unwrap(), 1);
    });
}

#[test]
fn a_replica_takes_no_writes() {
    test(async {
        let master = redis();
        let replica = redis();
        let (host, port) = ("127.0.0.1", master.port().to_string());
        redis::cmd("REPLICAOF").arg(host).arg(&port).exec(&mut replica.admin()).unwrap();
        keyplane_testing::until("the replica follows", || {
            let info: String = redis::cmd("INFO").arg("replication").query(&mut replica.admin()).unwrap();
            if info.contains("master_link_status:up") { Ok(()) } else { Err(info) }
        });
        let rig = Rig::open(&replica.url()).await;
        assert_eq!(
            rig.store.servers()[0].findings.iter().filter(|f| f.concern.word() == "replica").count(),
            1
        );
        let error = rig.label("b", "x").await.unwrap_err();
        assert!(matches!(error.cause(), Cause::ReadOnlyServer), "{error}");
        let error = rig.add("b", 1).await.unwrap_err();
        assert!(matches!(error.cause(), Cause::ReadOnlyServer), "{error}");
        assert_eq!(rig.read_label("b").await.unwrap(), None);
        redis::cmd("REPLICAOF").arg("NO").arg("ONE").exec(&mut replica.admin()).unwrap();
        rig.heals("b").await;
    });
}

#[test]
fn a_busy_server_is_waited_for_no_longer_than_the_deadline() {
    test(async {
        let server = Server::start(Program::Redis, &Settings::tcp().line("busy-reply-threshold 50"));
        let rig = Rig::open(&server.url()).await;
        let mut stuck = server.admin();
        let endless = std::thread::spawn(move || {
            redis::cmd("EVAL").arg("while true do end").arg(0).query::<redis::Value>(&mut stuck)
        });
        keyplane_testing::until("the script runs", || {
            match redis::cmd("PING").query::<String>(&mut server.admin()) {
                Err(error) if error.code() == Some("BUSY") => Ok(()),
                other => Err(format!("{other:?}")),
            }
        });
        let error = rig.label("b", "x").await.unwrap_err();
        assert!(matches!(error.cause(), Cause::NotNow(_)), "{error}");
        assert!(error.is_retryable() && !error.maybe_applied());
        redis::cmd("SCRIPT").arg("KILL").exec(&mut server.admin()).unwrap();
        endless.join().unwrap().unwrap_err();
        rig.heals("b").await;
    });
}

#[test]
fn a_wrong_password_is_told_at_once_and_mended_without_a_restart() {
    test(async {
        let server = Server::start(Program::Redis, &Settings::tcp().password("right"));
        let mut wrong = options();
        // Far longer than this test may take: a refusal must not be waited out.
        wrong.command_timeout = Duration::from_secs(120);
        wrong.connect_timeout = Duration::from_secs(120);
        wrong.password = Some(Secret::new("wrong-password"));
        let error = Store::open(&server.url(), wrong.clone()).await.unwrap_err();
        assert!(matches!(error, OpenError::Unreachable(_)), "{error}");
        let told = error.to_string();
        assert!(told.contains("WRONGPASS") || told.contains("uthentication"), "{told}");
        assert!(!told.contains("wrong-password"));
        let mut right = options();
        right.password = Some(Secret::new("right"));
        Rig::open_with(&server.url(), right).await.label("b", "x").await.unwrap();
    });
}

#[test]
fn what_the_acl_refuses_is_told_as_such() {
    test(async {
        let server = Server::start(
            Program::Redis,
            &Settings::tcp().user("clerk on >pw ~* +@connection +@read +info +evalsha +eval"),
        );
        let mut options = options();
        options.user = Some("clerk".to_owned());
        options.password = Some(Secret::new("pw"));
        let rig = Rig::open_with(&server.url(), options).await;
        let error = rig.label("b", "x").await.unwrap_err();
        assert!(matches!(error.cause(), Cause::Denied(_)), "{error}");
        assert!(!error.is_retryable() && !error.maybe_applied());
        assert_eq!(rig.read_label("b").await.unwrap(), None);
    });
}

#[test]
fn a_blocking_pop_ends_when_its_server_dies_and_works_again() {
    test(async {
        let server = redis();
        let rig = Rig::open(&server.url()).await;
        let contract = keyplane_store::contract(crate::setup::Keyspace::SOURCE).unwrap();
        let packer = rig.store.as_component(&contract, "packer", &Default::default()).unwrap();
        let tickets = rig.keys.tickets(&bin("b"));
        let mut own = packer.dedicated(&tickets).await.unwrap();
        let waiting = tokio::spawn({
            let (command, again) = (tickets.blpop(Duration::ZERO), tickets.blpop(Duration::from_secs(20)));
            async move {
                let lost = own.run(command).await.unwrap_err();
                assert!(matches!(lost.cause(), Cause::ConnectionLost(_)), "{lost}");
                loop {
                    match own.run(again.clone()).await {
                        Err(error) if error.is_retryable() => {
                            tokio::time::sleep(Duration::from_millis(20)).await
                        }
                        other => return other,
                    }
                }
            }
        });
        // The other tasks of this worker go on elsewhere while it waits.
        tokio::task::block_in_place(|| {
            keyplane_testing::until("the pop waits", || {
                let info: String = redis::cmd("INFO").arg("clients").query(&mut server.admin()).unwrap();
                if info.contains("blocked_clients:1") { Ok(()) } else { Err(info) }
            });
        });
        server.kill();
        server.restart();
        rig.heals("b").await;
        in_time(rig.clerk.run(tickets.rpush("t"))).await.unwrap();
        let (_, item) = waiting.await.unwrap().unwrap().unwrap();
        assert_eq!(item, b"t");
    });
}

#[test]
fn nobody_listens_there() {
    test(async {
        let server = redis();
        server.kill();
        let error = Store::open(&server.url(), options()).await.unwrap_err();
        assert!(matches!(error, OpenError::Unreachable(_)), "{error}");
        assert!(error.to_string().contains("refused"), "{error}");
    });
}

#[test]
fn a_server_that_drops_keys_is_refused_by_name_unless_accepted() {
    test(async {
        let settings = Settings::tcp().maxmemory("100mb").line("maxmemory-policy allkeys-lru");
        let server = Server::start(Program::Redis, &settings);
        let error = Store::open(&server.url(), Options::default()).await.unwrap_err();
        assert!(matches!(&error, OpenError::Unfit { findings, .. } if findings.len() == 1), "{error}");
        assert!(error.to_string().contains("eviction: allkeys-lru drops keys"), "{error}");
        let mut accepting = Options::default();
        accepting.accept = vec![keyplane_store::fitness::Concern::Eviction];
        Store::open(&server.url(), accepting).await.unwrap();
    });
}
