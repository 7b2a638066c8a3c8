//! The trap into which "refuse a lower term" falls.

use keyplane_testing::run;

use crate::pair::{Pair, Side, end_lock};
use crate::setup::east;

/// A last term beyond every clock, so that both sides count on from it and the test knows who is ahead.
fn count_on_from_far_ahead(pair: &Pair, old: &Side) {
    let key = old.lease(&east()).fence_key().to_string();
    redis::cmd("SET").arg(&key).arg("99999999999999:before").exec(&mut pair.primary.admin()).unwrap();
}

#[test]
fn after_an_unsynced_replica_was_promoted_each_side_refuses_the_holder_of_the_other() {
    let pair = Pair::start();
    run(async move {
        let (old, new) = (Side::of(&pair.primary).await, Side::of(&pair.replica).await);
        let pool = east();
        count_on_from_far_ahead(&pair, &old);
        // The first term is on both.
        let zero = old.take(&pool, "h0").await;
        let fence0 = zero.fence().unwrap().clone();
        assert!(old.write(&pool, &fence0).await);
        pair.catch_up();
        pair.cut();
        // Further terms only on the old one: it is ahead.
        let mut first = None;
        for _ in 0..3 {
            end_lock(&mut pair.primary.admin(), &pool);
            first = Some(old.take(&pool, "h1").await);
        }
        let first = first.unwrap();
        pair.promote();
        end_lock(&mut pair.replica.admin(), &pool);
        // The promoted one knows nothing of them.
        assert_eq!(new.lease(&pool).status().await.unwrap().fence.as_deref(), Some(fence0.as_str()));
        assert!(new.write(&pool, &fence0).await, "it is still the last term here");
        let second = new.take(&pool, "h2").await;
        let (fence1, fence2) = (first.fence().unwrap().clone(), second.fence().unwrap().clone());
        // Both believe, and both histories grow.
        for _ in 0..3 {
            assert!(old.write(&pool, &fence1).await);
            assert!(new.write(&pool, &fence2).await);
        }
        // The number of the stale one is higher: "refuse a lower term" would let it in.
        assert!(fence1.term() > fence2.term());
        assert!(!new.write(&pool, &fence1).await, "the stale holder of the old primary was let in");
        assert!(!old.write(&pool, &fence2).await, "the new holder was let in by the old primary");
        assert!(!new.write(&pool, &fence0).await && !old.write(&pool, &fence0).await);
    });
}

/// The same numbers on both sides: the token alone tells them apart.
#[test]
fn equal_terms_on_both_sides_are_still_told_apart() {
    let pair = Pair::start();
    run(async move {
        let (old, new) = (Side::of(&pair.primary).await, Side::of(&pair.replica).await);
        let pool = east();
        count_on_from_far_ahead(&pair, &old);
        pair.catch_up();
        pair.cut();
        let first = old.take(&pool, "same").await;
        pair.promote();
        let second = new.take(&pool, "same").await;
        let (fence1, fence2) = (first.fence().unwrap().clone(), second.fence().unwrap().clone());
        assert_eq!(fence1.term(), fence2.term());
        assert!(old.write(&pool, &fence1).await && new.write(&pool, &fence2).await);
        assert!(!new.write(&pool, &fence1).await && !old.write(&pool, &fence2).await);
        // Nor can one renew or give back what is the other's.
        assert!(second.release().await.unwrap());
        assert!(old.write(&pool, &fence1).await);
    });
}
