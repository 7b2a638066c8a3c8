//! The network between: cut, reset, half-open, slow, refusing.

use std::time::Duration;

use keyplane_store::Cause;
use keyplane_testing::{Mode, Program, Proxy, Server, Settings};

use crate::rig::{DEADLINE, Rig, in_time, is_open, is_unreachable, test};
use crate::setup::bin;

struct Line {
    server: Server,
    proxy: Proxy,
    rig: Rig,
}

async fn line() -> Line {
    let server = Server::start(Program::Redis, &Settings::tcp());
    let proxy = Proxy::start(server.addr());
    let rig = Rig::open(&proxy.url()).await;
    Line { server, proxy, rig }
}

#[test]
fn a_reply_cut_in_the_middle_is_read_again_where_that_is_safe() {
    test(async {
        let Line { proxy, rig, server: _server } = line().await;
        let long = "x".repeat(100_000);
        rig.label("b", &long).await.unwrap();
        for cut in [0, 1, 5, 50_000, 99_999] {
            proxy.set(Mode::CutAfter(cut));
            assert_eq!(rig.read_label("b").await.unwrap().unwrap().len(), long.len(), "cut after {cut}");
            proxy.set(Mode::Pass);
        }
        assert!(rig.store.metrics().snapshot().connections_lost >= 5);
    });
}

#[test]
fn a_change_whose_answer_is_cut_is_done_once_and_told() {
    test(async {
        let Line { proxy, rig, server: _server } = line().await;
        let mut done = rig.add("b", 1).await.unwrap();
        for round in 0..20 {
            proxy.set(Mode::CutAfter(round % 4));
            match rig.add("b", 1).await {
                Ok(now) => {
                    done += 1;
                    assert_eq!(now, done);
                }
                Err(error) => {
                    assert!(is_open(&error), "{error}");
                    // The command passed, only the answer did not.
                    done += 1;
                }
            }
            proxy.set(Mode::Pass);
            rig.heals("c").await;
            assert_eq!(rig.count("b").await, done, "round {round}");
        }
    });
}

#[test]
fn a_reset_connection_is_made_again() {
    test(async {
        let Line { proxy, rig, server: _server } = line().await;
        rig.label("b", "x").await.unwrap();
        proxy.set(Mode::Reset);
        let error = rig.add("b", 1).await.unwrap_err();
        assert!(is_open(&error) || is_unreachable(&error), "{error}");
        let error = rig.label("b", "y").await.unwrap_err();
        assert!(error.is_retryable(), "{error}");
        proxy.set(Mode::Pass);
        rig.heals("b").await;
    });
}

#[test]
fn a_half_open_connection_is_found_and_replaced() {
    test(async {
        let Line { proxy, rig, server: _server } = line().await;
        rig.label("b", "x").await.unwrap();
        let before = proxy.connections();
        proxy.set(Mode::HalfOpen);
        let error = rig.add("b", 1).await.unwrap_err();
        assert!(matches!(error.cause(), Cause::TimedOut(after) if *after == DEADLINE), "{error}");
        let error = rig.read_label("b").await.unwrap_err();
        assert!(error.is_retryable() && !error.maybe_applied(), "{error}");
        proxy.set(Mode::Pass);
        rig.heals("b").await;
        assert!(proxy.connections() > before, "the dead connection is still in use");
        assert_eq!(rig.count("b").await, 0);
    });
}

#[test]
fn a_slow_line_is_a_timeout_and_then_none() {
    test(async {
        let Line { proxy, rig, server: _server } = line().await;
        rig.label("b", "x").await.unwrap();
        proxy.set(Mode::Delay(DEADLINE * 3));
        let error = rig.add("b", 1).await.unwrap_err();
        assert!(matches!(error.cause(), Cause::TimedOut(_)) && error.maybe_applied(), "{error}");
        proxy.set(Mode::Pass);
        rig.heals("b").await;
        // A line that is slow and quick enough is no fault.
        proxy.set(Mode::Delay(Duration::from_millis(20)));
        rig.label("b", "y").await.unwrap();
    });
}

#[test]
fn a_port_that_refuses_is_unreachable() {
    test(async {
        let Line { proxy, rig, server: _server } = line().await;
        proxy.set(Mode::Refuse);
        proxy.close_connections();
        let error = in_time(async {
            loop {
                let error = rig.add("b", 1).await.unwrap_err();
                if !error.maybe_applied() {
                    return error;
                }
            }
        })
        .await;
        assert!(is_unreachable(&error), "{error}");
        proxy.set(Mode::Pass);
        rig.heals("b").await;
    });
}

#[test]
fn a_pipeline_that_is_cut_tells_for_each_entry() {
    test(async {
        let Line { proxy, rig, server: _server } = line().await;
        rig.add("b", 1).await.unwrap();
        proxy.set(Mode::CutAfter(2));
        let stock = rig.keys.stock(&bin("b"));
        let results =
            in_time(rig.clerk.pipeline().run(stock.incrby(1)).run(stock.get()).run(stock.incrby(1)).send())
                .await;
        let open: Vec<bool> =
            results.iter().map(|result| result.as_ref().unwrap_err().maybe_applied()).collect();
        assert_eq!(open, [true, false, true]);
        proxy.set(Mode::Pass);
        rig.heals("c").await;
        assert_eq!(rig.count("b").await, 3);
    });
}

#[test]
fn a_caller_that_goes_away_does_not_disturb_others() {
    test(async {
        let Line { proxy, rig, server: _server } = line().await;
        proxy.set(Mode::Delay(Duration::from_millis(50)));
        let label = rig.keys.label(&bin("b"));
        for _ in 0..20 {
            let dropped = tokio::time::timeout(Duration::from_millis(1), rig.clerk.run(label.set("x"))).await;
            assert!(dropped.is_err());
        }
        proxy.set(Mode::Pass);
        rig.label("b", "last").await.unwrap();
        assert_eq!(rig.read_label("b").await.unwrap().as_deref(), Some(&b"last"[..]));
    });
}
