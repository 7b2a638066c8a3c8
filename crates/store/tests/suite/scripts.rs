//! Scripts: tied to the contract, by SHA or with source, with TTLs filled in.

use keyplane_store::{Cause, read_reply};
use keyplane_testing::{Place, every_store};

use crate::setup::{bin, component, order, scripts};

#[every_store]
async fn a_script_gets_its_ttls_from_the_contract(place: Place) {
    let (clerk, keys) = component(&place, "clerk").await;
    let one = order("o1");
    let (book, receipt) = (keys.order(&one), keys.receipt(&one));
    let close = || scripts::Close { order: &book, receipt: &receipt, text: "paid".into() };
    assert_eq!(clerk.call::<String>(close()).await.unwrap(), "none");
    clerk.run(book.hset([("state", "open")])).await.unwrap();
    assert_eq!(clerk.call::<String>(close()).await.unwrap(), "closed");
    let ttl = clerk.run(receipt.pttl()).await.unwrap();
    assert!(ttl > 1_700_000 && ttl <= 1_800_000, "{ttl}");
    assert_eq!(clerk.run(receipt.get()).await.unwrap().as_deref(), Some(&b"paid"[..]));
}

#[every_store]
async fn a_script_that_only_reads_can_be_run_by_who_only_reads(place: Place) {
    let (clerk, keys) = component(&place, "clerk").await;
    let monitor = component(&place, "monitor").await.0;
    let one = order("o1");
    let (book, lines) = (keys.order(&one), keys.lines(&one));
    let status = || scripts::Status { order: &book, lines: &lines };
    assert_eq!(monitor.call::<(Option<String>, u64)>(status()).await.unwrap(), (None, 0));
    clerk.run(book.hset([("state", "open")])).await.unwrap();
    clerk.run(lines.rpush_all(["a", "b"]).linked_to(&book)).await.unwrap();
    assert_eq!(monitor.call::<(Option<String>, u64)>(status()).await.unwrap(), (Some("open".into()), 2));
    let close = scripts::Close { order: &book, receipt: &keys.receipt(&one), text: "x".into() };
    assert!(matches!(monitor.call::<String>(close).await.unwrap_err().cause(), Cause::ReadOnlyHandle));
}

#[every_store]
async fn scripts_and_commands_go_in_one_pipeline(place: Place) {
    let (clerk, keys) = component(&place, "clerk").await;
    let bins: Vec<_> = (0..30).map(|number| bin(&format!("b{number}"))).collect();
    let pairs: Vec<_> = bins.iter().map(|bin| (keys.stock(bin), keys.moves(bin))).collect();
    // Twice: the second time every server has the script already.
    for round in 1..=2_i64 {
        let mut pipeline = clerk.pipeline();
        for (stock, moves) in &pairs {
            let restock = scripts::Restock { stock, moves, parts: 5_u64.into(), who: "ann".into() };
            pipeline = pipeline.call::<i64>(restock).run(stock.get());
        }
        for pair in pipeline.send_all().await.unwrap().chunks(2) {
            assert_eq!(read_reply::<i64>(pair[0].clone()).unwrap(), 5 * round);
            assert_eq!(read_reply::<i64>(pair[1].clone()).unwrap(), 5 * round);
        }
    }
}

#[every_store]
async fn who_may_not_do_the_operation_may_not_run_its_script(place: Place) {
    let (packer, keys) = component(&place, "packer").await;
    let b = bin("b");
    let restock = scripts::Restock {
        stock: &keys.stock(&b),
        moves: &keys.moves(&b),
        parts: 1_u64.into(),
        who: "p".into(),
    };
    let error = packer.call::<i64>(restock).await.unwrap_err();
    assert_eq!(error.to_string(), "restock stock:<bin>: the contract does not let packer do that");
}

#[every_store]
async fn a_script_that_fails_in_the_middle_may_have_written(place: Place) {
    let (clerk, keys) = component(&place, "clerk").await;
    let b = bin("b");
    let (stock, moves) = (keys.stock(&b), keys.moves(&b));
    place.raw::<()>(moves.as_str(), &["SET", moves.as_str(), "not a zset"]);
    let restock = scripts::Restock { stock: &stock, moves: &moves, parts: 1_u64.into(), who: "p".into() };
    let error = clerk.call::<i64>(restock).await.unwrap_err();
    assert!(matches!(error.cause(), Cause::Script(_)), "{error}");
    assert!(error.maybe_applied() && !error.is_retryable());
    assert_eq!(clerk.run(stock.get()).await.unwrap().as_deref(), Some(&b"1"[..]));
    place.raw::<i64>(moves.as_str(), &["DEL", moves.as_str()]);
}

#[every_store(only(cluster))]
async fn keys_of_a_script_on_two_slots_are_refused_before_they_are_sent(place: Place) {
    let (clerk, keys) = component(&place, "clerk").await;
    let restock = scripts::Restock {
        stock: &keys.stock(&bin("one")),
        moves: &keys.moves(&bin("other")),
        parts: 1_u64.into(),
        who: "p".into(),
    };
    let error = clerk.call::<i64>(restock).await.unwrap_err();
    assert!(matches!(error.cause(), Cause::CrossSlot(..)), "{error}");
}

#[every_store(only(redis))]
async fn a_key_of_another_family_does_not_fit(place: Place) {
    let (clerk, keys) = component(&place, "clerk").await;
    let b = bin("b");
    // Of the right type, and the wrong family.
    let restock = scripts::Restock {
        stock: &keys.label(&b),
        moves: &keys.moves(&b),
        parts: 1_u64.into(),
        who: "p".into(),
    };
    let error = clerk.call::<i64>(restock).await.unwrap_err();
    assert!(matches!(error.cause(), Cause::ForeignKey { .. }), "{error}");
}
