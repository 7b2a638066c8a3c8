//! What is repeated, and what is told about it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use keyplane_key::{
    Command,
    End::{Left, Right},
};
use keyplane_store::{Cause, Error, Handle, Reply};
use keyplane_testing::{Mode, Program, Proxy, Server, Settings};

use crate::fake::{Answer, Fake, error, is_work};
use crate::rig::{Rig, in_time, is_open, options, test};
use crate::setup::{Keyspace, bin, order};
use crate::shelf;
use crate::wait::{patient, until_so};

/// A server that hangs up on one command about data when it is told to, and answers all others.
struct Cutting {
    fake: Fake,
    cut: Arc<AtomicBool>,
}

impl Cutting {
    fn start(then: Answer) -> Self {
        let cut = Arc::new(AtomicBool::new(false));
        let armed = Arc::clone(&cut);
        let fake = Fake::start(move |words| match words[0] {
            command if !is_work(command) => Answer::Usual,
            _ if armed.swap(false, SeqCst) => Answer::HangUp,
            _ => then.clone(),
        });
        Self { fake, cut }
    }

    /// Runs a command whose first answer is lost; how often it was sent, and how it ended.
    async fn run(&self, handle: &Handle, command: Command<Reply>) -> (usize, Result<Reply, Error>) {
        let before = self.fake.work().len();
        self.cut.store(true, SeqCst);
        let outcome = tokio::time::timeout(Duration::from_secs(20), handle.run(command)).await;
        (self.fake.work().len() - before, outcome.expect("an operation hangs"))
    }
}

#[test]
fn a_write_that_fails_when_it_is_sent_again_may_have_been_applied() {
    test(async {
        for words in [
            "READONLY You can't write against a read only replica.",
            "OOM command not allowed when used memory > 'maxmemory'.",
            "LOADING Redis is loading the dataset in memory",
            "MISCONF Redis is configured to save RDB snapshots",
            "NOPERM this user has no permissions to run the 'set' command",
            "WRONGTYPE Operation against a key holding the wrong kind of value",
        ] {
            let server = Cutting::start(error(words));
            let mut options = patient();
            // LOADING is waited for until the deadline.
            options.command_timeout = Duration::from_secs(1);
            let rig = Rig::open_with(&server.fake.url(), options).await;
            server.cut.store(true, SeqCst);
            let failed = rig.label("b", "x").await.unwrap_err();
            assert!(server.fake.got("SET") > 1, "{words}: sent once");
            assert!(failed.maybe_applied(), "{words}: {failed}");
            // Nobody asks whether a read was applied.
            server.cut.store(true, SeqCst);
            let failed = rig.read_label("b").await.unwrap_err();
            assert!(!failed.maybe_applied(), "{words}: {failed}");
        }
    });
}

#[test]
fn a_write_that_finds_nobody_when_it_is_to_be_sent_again_may_have_been_applied() {
    test(async {
        let fake = Fake::bind();
        let proxy = Arc::new(Proxy::start(fake.addr()));
        let door = Arc::clone(&proxy);
        fake.serve(move |words| {
            if is_work(words[0]) {
                door.set(Mode::Refuse);
                return Answer::HangUp;
            }
            Answer::Usual
        });
        let rig = Rig::open(&proxy.url()).await;
        let failed = rig.label("b", "x").await.unwrap_err();
        assert_eq!(fake.got("SET"), 1);
        assert!(failed.maybe_applied() && failed.is_retryable(), "{failed}");
        // The next one was never sent.
        let failed = rig.label("b", "x").await.unwrap_err();
        assert!(!failed.maybe_applied() && failed.is_retryable(), "{failed}");
        assert_eq!(fake.got("SET"), 1);
    });
}

#[test]
fn a_write_that_a_frozen_server_has_got_and_that_finds_nobody_the_second_time_may_have_been_applied() {
    test(async {
        let server = Server::start(Program::Redis, &Settings::tcp());
        let proxy = Proxy::start(server.addr());
        let rig = Rig::open_with(&proxy.url(), patient()).await;
        rig.label("b", "old").await.unwrap();
        server.freeze();
        let before = proxy.bytes_to_server();
        let setting = tokio::spawn({
            let handle = rig.clerk.with_timeout(options().command_timeout);
            let set = rig.keys.label(&bin("b")).set("new");
            async move { handle.run(set).await }
        });
        until_so("the write is on its way", || proxy.bytes_to_server() > before).await;
        proxy.set(Mode::Refuse);
        proxy.close_connections();
        let failed = setting.await.unwrap().unwrap_err();
        server.thaw();
        assert!(failed.maybe_applied() && failed.is_retryable(), "{failed}");
    });
}

/// What the contract of parts lets one send, read as any reply.
struct Commands {
    same_twice: Vec<Command<Reply>>,
    others: Vec<Command<Reply>>,
}

fn commands(keys: &Keyspace) -> Commands {
    let (b, o) = (bin("b"), order("o"));
    let (label, stock, tickets, taken) = (keys.label(&b), keys.stock(&b), keys.tickets(&b), keys.taken(&b));
    let (book, bins, moves, journal) = (keys.order(&o), keys.bins(), keys.moves(&b), keys.journal());
    Commands {
        same_twice: vec![
            label.set("x").reading(),
            label.get().reading(),
            label.exists().reading(),
            label.pttl().reading(),
            book.hgetall().reading(),
            bins.smembers().reading(),
            moves.zrange(0, -1).reading(),
            tickets.lrange(0, -1).reading(),
            journal.xlen().reading(),
            // The first ten, the last ten.
            tickets.ltrim(0, 9).reading(),
            tickets.ltrim(-10, -1).reading(),
        ],
        others: vec![
            label.del().reading(),
            label.unlink().reading(),
            stock.incrby(1).reading(),
            book.hset([("state", "open")]).reading(),
            book.hsetnx("note", "x").reading(),
            book.hincrby("n", 1).reading(),
            book.hdel(["note"]).reading(),
            bins.sadd(["b"]).reading(),
            bins.srem(["b"]).reading(),
            moves.zadd([(1.0, "ann")]).reading(),
            moves.zincrby(1.0, "ann").reading(),
            moves.zrem(["ann"]).reading(),
            moves.zremrangebyscore("-inf", "5").reading(),
            tickets.lpush("t").reading(),
            tickets.rpush("t").reading(),
            tickets.lpop().reading(),
            tickets.rpop().reading(),
            tickets.lrem(0, "t").reading(),
            tickets.lmove(Left, &taken, Right).reading(),
            // Without the first, without the last, neither: less every time.
            tickets.ltrim(1, -1).reading(),
            tickets.ltrim(0, -2).reading(),
            tickets.ltrim(1, 5).reading(),
            journal.xadd([("what", "x")]).reading(),
            journal.xtrim(5).reading(),
        ],
    }
}

#[test]
fn only_what_is_the_same_twice_is_repeated_without_being_asked() {
    test(async {
        let server = Cutting::start(Answer::Say(":1\r\n".to_owned()));
        let rig = Rig::open_with(&server.fake.url(), patient()).await;
        let all = rig.store.handle(&keyplane_store::contract(Keyspace::SOURCE).unwrap());
        let Commands { same_twice, others } = commands(&rig.keys);
        for command in same_twice {
            let (sent, outcome) = server.run(&all, command.clone()).await;
            assert!(sent == 2 && outcome.is_ok(), "{command}: sent {sent} times: {outcome:?}");
        }
        for command in others {
            let (sent, outcome) = server.run(&all, command.clone()).await;
            let lost = outcome.unwrap_err();
            assert!(sent == 1 && is_open(&lost), "{command}: sent {sent} times: {lost}");
            // The caller may know better.
            let (sent, outcome) = server.run(&all, command.clone().repeatable()).await;
            assert!(sent == 2 && outcome.is_ok(), "{command}, repeatable: sent {sent} times: {outcome:?}");
        }
    });
}

#[test]
fn an_error_in_the_words_of_a_script_is_the_scripts_and_nothing_is_repeated() {
    test(async {
        let server = Server::start(Program::Redis, &Settings::tcp());
        let (hand, keys) = shelf::open(&server.url(), patient()).await;
        for (number, words) in [
            "TRYAGAIN later",
            "BUSY the bin is taken",
            "LOADING the truck",
            "MASTERDOWN the boss is away",
            "CLUSTERDOWN the grapes are gone",
        ]
        .into_iter()
        .enumerate()
        {
            let tally = keys.tally(&shelf::id(&format!("t{number}")));
            let grumble = || shelf::scripts::Grumble { tally: &tally, words: words.into() };
            let ran =
                async || hand.run(tally.get().reading::<Option<u64>>()).await.unwrap().unwrap_or_default();
            let failed = in_time(hand.call::<i64>(grumble())).await.unwrap_err();
            assert!(matches!(failed.cause(), Cause::Script(_)), "{words}: {failed}");
            assert!(failed.maybe_applied() && !failed.is_retryable(), "{words}: {failed}");
            assert_eq!(ran().await, 1, "{words}");
            let failed =
                in_time(hand.pipeline().call::<i64>(grumble()).send()).await.swap_remove(0).unwrap_err();
            assert!(matches!(failed.cause(), Cause::Script(_)), "{words}, in a pipeline: {failed}");
            assert!(failed.maybe_applied() && !failed.is_retryable(), "{words}, in a pipeline: {failed}");
            assert_eq!(ran().await, 2, "{words}, in a pipeline");
        }
    });
}
