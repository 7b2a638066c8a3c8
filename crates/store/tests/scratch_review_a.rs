#![allow(warnings, clippy::all, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
//! TTL, Lua guard, effects, classification.
#[path = "faults/rig.rs"]
mod rig;
#[path = "suite/setup.rs"]
mod setup;
mod scr {
    keyplane_macros::keyspace!("tests/scratch_review.toml");
}
use std::collections::HashMap;
use std::time::{Duration, Instant};
use keyplane_key::{Call, Script, ScriptArg, ScriptKey, End::{Left, Right}, Naming};
use keyplane_store::*;
use keyplane_testing::{Mode, Program, Proxy, Server, Settings};
use rig::{Rig, DEADLINE, options, test};
use setup::{bin, order};

fn redis() -> Server { Server::start(Program::Redis, &Settings::tcp()) }

async fn scr_handle(server: &Server) -> (Handle, scr::Keyspace) {
    let store = Store::open(&server.url(), options()).await.unwrap();
    let contract = keyplane_store::contract(scr::Keyspace::SOURCE).unwrap();
    (store.handle(&contract), scr::Keyspace::new(Naming::new("s", false).unwrap()).unwrap())
}

#[test]
fn incrby_over_2_53_answers_right() {
    test(async {
        let server = redis();
        let rig = Rig::open(&server.url()).await;
        let stock = rig.keys.stock(&bin("b"));
        rig.clerk.run(stock.set("9007199254740992")).await.unwrap();
        let answer = rig.clerk.run(stock.incrby(1)).await.unwrap();
        let there = rig.count("b").await;
        assert_eq!(answer, there);
    });
}

#[test]
fn a_setting_too_large_leaves_a_key_without_ttl() {
    test(async {
        let server = redis();
        let store = Store::open(&server.url(), options()).await.unwrap();
        let contract = keyplane_store::contract(setup::Keyspace::SOURCE).unwrap();
        let settings = HashMap::from([("STOCK_TTL".to_owned(), Duration::MAX)]);
        let clerk = store.as_component(&contract, "clerk", &settings).unwrap();
        let keys = setup::Keyspace::default();
        let stock = keys.stock(&bin("b"));
        let error = clerk.run(stock.incrby(1)).await.unwrap_err();
        println!("error: {error}; maybe {}", error.maybe_applied());
        let pttl = clerk.run(stock.pttl()).await.unwrap();
        assert!(pttl == -2 || error.maybe_applied(), "pttl {pttl}, error {error}");
    });
}

#[test]
fn an_acl_without_pexpire() {
    test(async {
        let server = Server::start(Program::Redis, &Settings::tcp().user("clerk on >pw ~* +@connection +@read +info +evalsha +eval +hset +hlen"));
        let mut o = options();
        o.user = Some("clerk".into());
        o.password = Some(Secret::new("pw"));
        let rig = Rig::open_with(&server.url(), o).await;
        let book = rig.keys.order(&order("o"));
        let error = rig.clerk.run(book.hset([("state", "open")])).await.unwrap_err();
        println!("error: {error}; maybe {}", error.maybe_applied());
        let pttl = rig.clerk.run(book.pttl()).await.unwrap();
        assert!(pttl == -2 || error.maybe_applied(), "pttl {pttl}, error {error}");
    });
}

#[test]
fn zadd_nan_in_second_slice() {
    test(async {
        let server = redis();
        let (h, keys) = scr_handle(&server).await;
        let k = keys.scores(&scr::Id::new("a").unwrap());
        let items = (0..700).map(|n| (if n == 650 { f64::NAN } else { 1.0 }, format!("m{n}")));
        let error = h.run(k.zadd(items)).await.unwrap_err();
        println!("error: {error}; maybe {}", error.maybe_applied());
        let (n, pttl) = (h.run(k.zcard()).await.unwrap(), h.run(k.pttl()).await.unwrap());
        assert!(n == 0, "{n} members, pttl {pttl}, maybe_applied {}", error.maybe_applied());
    });
}

#[test]
fn xadd_of_many_fields() {
    test(async {
        let server = redis();
        let (h, keys) = scr_handle(&server).await;
        let k = keys.log(&scr::Id::new("a").unwrap());
        let r = h.run(k.xadd((0..600).map(|n| (format!("f_{n}"), "v")))).await;
        let (n, pttl) = (h.run(k.xlen()).await.unwrap(), h.run(k.pttl()).await.unwrap());
        assert!(r.is_ok(), "{n} entries, pttl {pttl}, {} maybe {}", r.as_ref().unwrap_err(), r.as_ref().unwrap_err().maybe_applied());
    });
}

#[test]
fn lmove_over_the_limit_of_its_target() {
    test(async {
        let server = redis();
        let (h, keys) = scr_handle(&server).await;
        let id = scr::Id::new("a").unwrap();
        let (src, dst) = (keys.src(&id), keys.dst(&id));
        h.run(src.rpush_all(["1", "2", "3", "4"])).await.unwrap();
        for _ in 0..4 { let _ = h.run(src.lmove(Left, &dst, Right)).await; }
        let n = h.run(dst.llen()).await.unwrap();
        assert!(n <= 2, "limit 2, has {n}");
    });
}

#[test]
fn an_empty_move_renews_what_was_not_written() {
    test(async {
        let server = redis();
        let (h, keys) = scr_handle(&server).await;
        let id = scr::Id::new("a").unwrap();
        let (src, dst) = (keys.src(&id), keys.dst(&id));
        h.run(dst.rpush("x")).await.unwrap();
        redis::cmd("PEXPIRE").arg(dst.as_str()).arg(5000).exec(&mut server.admin()).unwrap();
        assert_eq!(h.run(src.lmove(Left, &dst, Right)).await.unwrap(), None);
        let p = h.run(dst.pttl()).await.unwrap();
        assert!(p <= 5000, "nothing was written, TTL is now {p}");
    });
}

#[test]
fn duplicates_count_once() {
    test(async {
        let server = redis();
        let rig = Rig::open(&server.url()).await;
        let r = rig.clerk.run(rig.keys.bins().sadd(["a", "b", "c", "c"])).await;
        assert!(r.is_ok(), "{r:?}");
    });
}

#[test]
fn dedicated_explains_limits() {
    test(async {
        let server = redis();
        let rig = Rig::open(&server.url()).await;
        let bins = rig.keys.bins();
        let mut own = rig.clerk.dedicated(&bins).await.unwrap();
        let error = own.run(bins.sadd(["a", "b", "c", "d"])).await.unwrap_err();
        assert!(matches!(error.cause(), Cause::Limit { .. }), "{error:?}");
    });
}

#[test]
fn linked_child_dies_before_renewed_parent() {
    test(async {
        let server = redis();
        let rig = Rig::open(&server.url()).await;
        let (book, lines) = (rig.keys.order(&order("o")), rig.keys.lines(&order("o")));
        rig.clerk.run(book.hset([("state", "open")])).await.unwrap();
        rig.clerk.run(lines.rpush("x").linked_to(&book)).await.unwrap();
        tokio::time::sleep(Duration::from_millis(100)).await;
        rig.clerk.run(book.hset([("state", "open")])).await.unwrap();
        let (p, c) = (rig.clerk.run(book.pttl()).await.unwrap(), rig.clerk.run(lines.pttl()).await.unwrap());
        assert!(c >= p - 5, "child {c} dies before parent {p}");
    });
}

static WRITES_THEN_TRYAGAIN: Script = Script {
    contract: "parts", name: "restock",
    source: "redis.call('INCRBY', KEYS[1], 1) redis.call('PEXPIRE', KEYS[1], 60000) return redis.error_reply('TRYAGAIN later')",
    sha: "0000000000000000000000000000000000000001",
    keys: &[ScriptKey { name: "stock", writes: true, repeats: false }], args: &[], ops: &["restock"], read_only: false, repeatable: false,
};
static WRITES_THEN_BUSY: Script = Script {
    contract: "parts", name: "restock",
    source: "redis.call('INCRBY', KEYS[1], 1) redis.call('PEXPIRE', KEYS[1], 60000) return redis.error_reply('BUSY the bin is taken')",
    sha: "0000000000000000000000000000000000000002",
    keys: &[ScriptKey { name: "stock", writes: true, repeats: false }], args: &[], ops: &["restock"], read_only: false, repeatable: false,
};

#[test]
fn a_script_that_answers_tryagain_is_repeated() {
    test(async {
        let server = redis();
        let rig = Rig::open(&server.url()).await;
        let stock = rig.keys.stock(&bin("b"));
        let e = rig.clerk.call::<i64>(Call::new(&WRITES_THEN_TRYAGAIN).key(&stock, true)).await.unwrap_err();
        let n = rig.count("b").await;
        assert_eq!(n, 1, "an unsafe script ran {n} times; {e}; maybe_applied {}", e.maybe_applied());
    });
}

#[test]
fn a_script_that_answers_busy_is_told_as_not_applied() {
    test(async {
        let server = redis();
        let rig = Rig::open(&server.url()).await;
        let stock = rig.keys.stock(&bin("b"));
        let e = rig.clerk.call::<i64>(Call::new(&WRITES_THEN_BUSY).key(&stock, true)).await.unwrap_err();
        assert!(e.maybe_applied(), "count is {}; {e}", rig.count("b").await);
    });
}

#[test]
fn a_repeat_that_ends_unreachable_says_not_applied() {
    test(async {
        let server = redis();
        let proxy = Proxy::start(server.addr());
        let rig = Rig::open(&proxy.url()).await;
        rig.label("b", "old").await.unwrap();
        server.freeze();
        let set = tokio::spawn({ let rig = rig.clone(); async move { rig.label("b", "new").await } });
        tokio::time::sleep(Duration::from_millis(100)).await;
        proxy.set(Mode::Refuse);
        proxy.close_connections();
        let error = set.await.unwrap().unwrap_err();
        server.thaw();
        tokio::time::sleep(Duration::from_millis(200)).await;
        let now: String = redis::cmd("GET").arg(rig.keys.label(&bin("b")).as_str()).query(&mut server.admin()).unwrap();
        assert!(now == "old" || error.maybe_applied(), "server has {now:?}, error says: {error}");
    });
}

#[test]
fn del_answers_whether_it_was_there() {
    test(async {
        let server = redis();
        let proxy = Proxy::start(server.addr());
        let rig = Rig::open(&proxy.url()).await;
        rig.label("b", "x").await.unwrap();
        proxy.set(Mode::CutAfter(0));
        let was_there = rig.clerk.run(rig.keys.label(&bin("b")).del()).await.unwrap();
        assert!(was_there, "this call deleted it and answers false");
    });
}

#[test]
fn sadd_answers_whether_new() {
    test(async {
        let server = redis();
        let proxy = Proxy::start(server.addr());
        let rig = Rig::open(&proxy.url()).await;
        rig.clerk.run(rig.keys.bins().sadd(["a"])).await.unwrap();
        proxy.set(Mode::CutAfter(0));
        let new = rig.clerk.run(rig.keys.bins().sadd(["b"])).await.unwrap();
        assert_eq!(new, 1, "this call added it and answers {new}");
    });
}

#[test]
fn timeout_max_does_not_panic() {
    test(async {
        let server = redis();
        let rig = Rig::open(&server.url()).await;
        let h = rig.clerk.with_timeout(Duration::MAX);
        let r = tokio::spawn({ let k = rig.keys.label(&bin("b")); async move { h.run(k.get()).await } }).await;
        assert!(r.is_ok(), "{r:?}");
    });
}

#[test]
fn a_wait_below_a_millisecond_ends_with_nothing() {
    test(async {
        let server = redis();
        let (h, keys) = scr_handle(&server).await;
        let k = keys.log(&scr::Id::new("a").unwrap());
        let mut own = h.dedicated(&k).await.unwrap();
        let r = own.run(k.xread("$", 1, Duration::from_micros(500))).await;
        assert!(r.is_ok(), "{}", r.unwrap_err());
    });
}

#[test]
fn ask_all_tells_address_and_time() {
    test(async {
        let server = redis();
        let proxy = Proxy::start(server.addr());
        let rig = Rig::open(&proxy.url()).await;
        server.freeze();
        let r = rig.store.ask_all(&["FLUSHALL"]).await;
        let e = r[0].1.as_ref().unwrap_err();
        println!("1: {:?} {} maybe {}", r[0].0, e, e.maybe_applied());
        server.thaw();
        proxy.set(Mode::Refuse);
        proxy.close_connections();
        tokio::time::sleep(Duration::from_millis(50)).await;
        let r = rig.store.ask_all(&["PING"]).await;
        println!("2: {:?} {}", r[0].0, r[0].1.as_ref().unwrap_err());
        panic!("see output");
    });
}

#[test]
fn a_wrong_password_is_not_retryable() {
    test(async {
        let server = Server::start(Program::Redis, &Settings::tcp().password("right"));
        let mut o = options();
        o.password = Some(Secret::new("wrong"));
        let OpenError::Unreachable(error) = Store::open(&server.url(), o).await.unwrap_err() else { panic!() };
        assert!(matches!(error.cause(), Cause::Denied(_)) && !error.is_retryable(), "retryable {}: {error}", error.is_retryable());
    });
}

#[test]
fn urls_do_not_leak() {
    for text in [
        "redis://user:123?SECRET@host:6379",
        "redis://user:123?db=SECRET@host:6379",
        "redis+unix://user:pa/SECRET@/run/x.sock",
        "redis+sentinel://user:123/SECRET@s1:26379/0",
        "user:SECRET@redis://host",
    ] {
        let told = match text.parse::<Url>() { Ok(u) => format!("Ok {u} / {u:?}"), Err(e) => format!("Err {e}") };
        println!("{text} -> {told}");
    }
    panic!("see");
}

#[test]
fn a_dedicated_connection_keeps_the_deadline() {
    test(async {
        let server = redis();
        let proxy = Proxy::start(server.addr());
        let mut o = options();
        o.connect_timeout = Duration::from_secs(3);
        o.command_timeout = Duration::from_millis(200);
        let rig = Rig::open_with(&proxy.url(), o).await;
        rig.label("b", "x").await.unwrap();
        proxy.set(Mode::HalfOpen);
        let start = Instant::now();
        let r = rig.clerk.dedicated(&rig.keys.label(&bin("b"))).await;
        let took = start.elapsed();
        assert!(took < Duration::from_millis(600), "deadline 200ms, took {took:?}: {:?}", r.err().map(|e| e.to_string()));
    });
}

#[test]
fn pipelines_alone_become_healthy_again() {
    test(async {
        let server = redis();
        let proxy = Proxy::start(server.addr());
        let rig = Rig::open(&proxy.url()).await;
        let label = rig.keys.label(&bin("b"));
        let mut fails = 0;
        for _ in 0..15 {
            proxy.set(Mode::CutAfter(0));
            fails += rig.clerk.pipeline().run(label.set("x")).send().await.iter().filter(|r| r.is_err()).count();
        }
        proxy.set(Mode::Pass);
        for _ in 0..1000 { let _ = rig.clerk.pipeline().run(label.set("x")).send().await; }
        let ok = rig.clerk.pipeline().run(label.set("x")).send().await[0].is_ok();
        assert!(rig.store.is_healthy(), "{fails} failed, then 1000 pipelines answered (last ok: {ok}), not healthy");
    });
}

#[test]
fn pipelines_to_nowhere_are_counted() {
    test(async {
        let server = redis();
        let rig = Rig::open(&server.url()).await;
        let label = rig.keys.label(&bin("b"));
        server.kill();
        tokio::time::sleep(Duration::from_millis(50)).await;
        for _ in 0..3 { assert!(rig.clerk.pipeline().run(label.set("x")).send().await[0].is_err()); }
        let s = rig.store.metrics().snapshot();
        let set = s.operations.iter().find(|o| o.name == "SET");
        assert!(set.is_some_and(|s| s.failed == 3), "3 failed, counted {set:?}");
    });
}

#[test]
fn first_pipelines_side_by_side() {
    test(async {
        let server = redis();
        let mut bad = 0;
        for _ in 0..20 {
            redis::cmd("SCRIPT").arg("FLUSH").exec(&mut server.admin()).unwrap();
            let rig = Rig::open(&server.url()).await;
            let mut tasks = Vec::new();
            for t in 0..8 {
                let rig = rig.clone();
                tasks.push(tokio::spawn(async move {
                    let book = rig.keys.order(&order("o"));
                    let mut p = rig.clerk.pipeline();
                    let n = if t % 2 == 0 { 3000 } else { 1 };
                    for _ in 0..n { p = p.run(book.hset([("state", "open")])); }
                    p.send().await.iter().filter(|r| matches!(r, Err(e) if matches!(e.cause(), Cause::ScriptForgotten))).count()
                }));
            }
            for t in tasks { bad += t.await.unwrap(); }
        }
        assert_eq!(bad, 0, "entries told `the server has forgotten the script`, and nobody flushed it");
    });
}

#[test]
fn a_cancelled_pipeline_spoils_the_next() {
    let server = redis();
    let rt = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    rt.block_on(async {
        let rig = Rig::open(&server.url()).await;
        let book = rig.keys.order(&order("o"));
        let p = || rig.clerk.pipeline().run(book.hset([("state", "open")])).send();
        assert!(tokio::time::timeout(Duration::ZERO, p()).await.is_err());
        let r = p().await;
        assert!(r[0].is_ok(), "{:?}", r[0].as_ref().map_err(|e| e.to_string()));
    });
}

#[test]
fn wait_after_a_lost_connection() {
    test(async {
        let master = redis();
        let replica = redis();
        redis::cmd("REPLICAOF").arg("127.0.0.1").arg(master.port()).exec(&mut replica.admin()).unwrap();
        keyplane_testing::until("replica", || {
            let i: String = redis::cmd("INFO").arg("replication").query(&mut master.admin()).unwrap();
            if i.contains("state=online") { Ok(()) } else { Err(i) }
        });
        let proxy = Proxy::start(master.addr());
        let rig = Rig::open(&proxy.url()).await;
        let label = rig.keys.label(&bin("b"));
        let mut own = rig.clerk.dedicated(&label).await.unwrap();
        tokio::time::sleep(Duration::from_millis(1500)).await;
        replica.freeze();
        own.run(label.set("x")).await.unwrap();
        println!("before: {:?}", own.wait_for_replicas(1, Duration::from_millis(200)).await);
        proxy.close_connections();
        println!("lost: {}", own.wait_for_replicas(1, Duration::from_millis(200)).await.unwrap_err());
        let n = loop {
            match own.wait_for_replicas(1, Duration::from_millis(200)).await { Ok(n) => break n, Err(e) => println!("{e}") }
        };
        replica.thaw();
        assert_eq!(n, 0, "WAIT says {n} replica has the write; the replica is frozen since before it");
    });
}
