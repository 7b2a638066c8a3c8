//! Pipelines.

use keyplane_store::{Cause, FromReply as _, read_reply};
use keyplane_testing::{Place, every_store};

use crate::setup::{bin, component, order};

#[every_store]
async fn entries_are_answered_in_order_wherever_their_keys_are(place: Place) {
    let (clerk, keys) = component(&place, "clerk").await;
    let bins: Vec<_> = (0..100).map(|number| bin(&format!("b{number}"))).collect();
    let mut pipeline = clerk.pipeline();
    for (number, one) in bins.iter().enumerate() {
        pipeline =
            pipeline.run(keys.stock(one).incrby(number as i64)).run(keys.label(one).set(number.to_string()));
    }
    let answers = pipeline.send_all().await.unwrap();
    assert_eq!(answers.len(), 200);
    for (number, pair) in answers.chunks(2).enumerate() {
        assert_eq!(i64::from_reply(pair[0].clone()).unwrap(), number as i64);
    }
    let mut pipeline = clerk.pipeline();
    for one in &bins {
        pipeline = pipeline.run(keys.label(one).get()).run(keys.stock(one).pttl());
    }
    for (number, pair) in pipeline.send_all().await.unwrap().chunks(2).enumerate() {
        assert_eq!(read_reply::<String>(pair[0].clone()).unwrap(), number.to_string());
        assert!(read_reply::<i64>(pair[1].clone()).unwrap() > 7_100_000);
    }
}

#[every_store]
async fn each_entry_fails_by_itself(place: Place) {
    let (clerk, keys) = component(&place, "clerk").await;
    let (one, b) = (order("o1"), bin("b1"));
    place.raw::<i64>(keys.label(&b).as_str(), &["LPUSH", keys.label(&b).as_str(), "x"]);
    let results = clerk
        .pipeline()
        .run(keys.order(&one).hset([("state", "open")]))
        .run(keys.tickets(&b).lpop())
        .run(keys.label(&b).get())
        .run(keys.bins().sadd(["1", "2", "3", "4"]))
        .run(keys.lines(&one).rpush("x"))
        .run(keys.order(&one).hget("state"))
        .send()
        .await;
    let causes: Vec<_> =
        results.iter().map(|result| result.as_ref().err().map(|error| error.cause())).collect();
    assert!(
        matches!(
            causes.as_slice(),
            [
                None,
                Some(Cause::NotGranted { .. }),
                Some(Cause::WrongType),
                Some(Cause::Limit { what: "members", most: 3, would_be: 4 }),
                Some(Cause::NeedsParent { .. }),
                None
            ]
        ),
        "{causes:?}"
    );
    assert_eq!(read_reply::<String>(results[5].as_ref().unwrap().clone()).unwrap(), "open");
    place.raw::<i64>(keys.label(&b).as_str(), &["DEL", keys.label(&b).as_str()]);
}

#[every_store]
async fn an_empty_pipeline_is_answered_by_nothing(place: Place) {
    let (clerk, _) = component(&place, "clerk").await;
    assert!(clerk.pipeline().is_empty());
    assert!(clerk.pipeline().send().await.is_empty());
}
