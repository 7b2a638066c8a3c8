//! A watcher that hears of the chain late, or once more, undoes nothing that it has not heard of.

use std::time::Duration;

use keyplane_mempool::run::Verdict;
use keyplane_mempool::state::{ConfirmError, Confirmed};
use keyplane_mempool::{Block, ChainEvent, Node, Point, Pool, Stage};
use keyplane_testing::VirtualEngine;
use tokio::time::sleep;

use crate::setup::{block_on, received, settings, stage};
use crate::timed::pool;

async fn elected(pool: &Pool) -> Node {
    let node = Node::start(pool.clone(), pool.lease().unwrap());
    until_elected(&node).await;
    node
}

async fn until_elected(node: &Node) {
    while node.watch().fence().is_none() {
        sleep(Duration::from_millis(10)).await;
    }
    // Long enough for it to look after the pool, more than once.
    sleep(Duration::from_secs(3)).await;
}

async fn told(node: &Node, block: &Block) -> Verdict {
    node.confirm(&ChainEvent::Forward(block.clone())).await.unwrap()
}

/// Blocks on each other, each with a transaction of the pool.
async fn blocks(pool: &Pool, below: Option<&Block>, count: usize) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    for _ in 0..count {
        let tx = received(pool).await;
        blocks.push(block_on(blocks.last().or(below), &[tx]));
    }
    blocks
}

async fn tip(pool: &Pool) -> Option<Point> {
    pool.tip().await.unwrap().map(|tip| tip.point)
}

async fn undone(pool: &Pool) -> u64 {
    pool.pulse().await.unwrap().totals.rolled_back
}

#[tokio::test(start_paused = true)]
async fn a_follower_that_lags_takes_over_and_undoes_nothing() {
    let engine = VirtualEngine::start(1);
    let (first, second) = (pool(&engine, settings()).await, pool(&engine, settings()).await);
    let watcher = elected(&first).await;
    let follower = Node::start(second.clone(), second.lease().unwrap());
    let chain = blocks(&first, None, 8).await;
    for (at, block) in chain[..7].iter().enumerate() {
        told(&watcher, block).await;
        if at < 4 {
            assert_eq!(told(&follower, block).await, Verdict::Skipped);
        }
    }
    assert_eq!(stage(&second, &chain[0].txs[0]).await, Some(Stage::Finalized));
    drop(watcher);
    until_elected(&follower).await;
    assert_eq!((tip(&second).await, undone(&second).await), (Some(chain[6].point), 0));

    // What it missed comes late, and the chain goes on.
    for block in &chain[4..7] {
        told(&follower, block).await;
        sleep(Duration::from_secs(3)).await;
        assert_eq!((tip(&second).await, undone(&second).await), (Some(chain[6].point), 0));
    }
    assert!(matches!(told(&follower, &chain[7]).await, Verdict::Done(_)));
    assert_eq!((tip(&second).await, undone(&second).await), (Some(chain[7].point), 0));
}

#[tokio::test(start_paused = true)]
async fn an_old_block_that_a_fresh_watcher_is_told_of_changes_nothing() {
    let engine = VirtualEngine::start(1);
    let pool = pool(&engine, settings()).await;
    let watcher = elected(&pool).await;
    let chain = blocks(&pool, None, 3).await;
    for block in &chain {
        told(&watcher, block).await;
    }
    watcher.stop().await;
    let fresh = elected(&pool).await;
    told(&fresh, &chain[0]).await;
    sleep(Duration::from_secs(3)).await;
    assert_eq!((tip(&pool).await, undone(&pool).await), (Some(chain[2].point), 0));
}

#[tokio::test(start_paused = true)]
async fn an_undo_that_the_pool_has_behind_it_is_not_carried_out_again() {
    let engine = VirtualEngine::start(1);
    let (first, second) = (pool(&engine, settings()).await, pool(&engine, settings()).await);
    let watcher = elected(&first).await;
    let follower = Node::start(second.clone(), second.lease().unwrap());
    let root = block_on(None, &[]);
    let (stale, chain) = (block_on(Some(&root), &[]), blocks(&first, Some(&root), 3).await);
    let back = ChainEvent::Back { to: root.point };
    for node in [&watcher, &follower] {
        told(node, &root).await;
        told(node, &stale).await;
    }
    watcher.confirm(&back).await.unwrap();
    for block in &chain {
        told(&watcher, block).await;
    }
    drop(watcher);
    until_elected(&follower).await;
    assert_eq!(
        (tip(&second).await, undone(&second).await),
        (Some(chain[2].point), 0),
        "its branch is shorter"
    );

    assert_eq!(follower.confirm(&back).await.unwrap(), Verdict::Behind);
    told(&follower, &chain[0]).await;
    sleep(Duration::from_secs(3)).await;
    assert_eq!((tip(&second).await, undone(&second).await), (Some(chain[2].point), 0));
}

#[tokio::test(start_paused = true)]
async fn a_branch_that_is_longer_is_taken_even_if_nothing_was_heard_of_the_undo() {
    let engine = VirtualEngine::start(1);
    let (first, second) = (pool(&engine, settings()).await, pool(&engine, settings()).await);
    let watcher = elected(&first).await;
    let follower = Node::start(second.clone(), second.lease().unwrap());
    let root = block_on(None, &[]);
    let (old, new) = (blocks(&first, Some(&root), 2).await, blocks(&first, Some(&root), 3).await);
    for node in [&watcher, &follower] {
        told(node, &root).await;
    }
    for block in &old {
        told(&watcher, block).await;
    }
    drop(watcher);
    until_elected(&follower).await;
    assert_eq!(told(&follower, &new[0]).await, Verdict::Behind);
    assert_eq!(told(&follower, &new[1]).await, Verdict::Behind, "as long: whose it is will be heard");
    assert_eq!(told(&follower, &new[2]).await, Verdict::CaughtUp(4));
    assert_eq!((tip(&second).await, undone(&second).await), (Some(new[2].point), 2));
    assert_eq!(stage(&second, &old[0].txs[0]).await, Some(Stage::Pending));
    assert_eq!(stage(&second, &new[0].txs[0]).await, Some(Stage::Confirmed));
}

#[tokio::test(start_paused = true)]
async fn a_follower_that_is_still_on_the_old_branch_does_not_bring_it_back() {
    let engine = VirtualEngine::start(1);
    let (first, second) = (pool(&engine, settings()).await, pool(&engine, settings()).await);
    let watcher = elected(&first).await;
    let follower = Node::start(second.clone(), second.lease().unwrap());
    let root = block_on(None, &[]);
    let (old, new) = (blocks(&first, Some(&root), 2).await, blocks(&first, Some(&root), 2).await);
    for node in [&watcher, &follower] {
        told(node, &root).await;
        told(node, &old[0]).await;
        told(node, &old[1]).await;
    }
    let back = ChainEvent::Back { to: root.point };
    watcher.confirm(&back).await.unwrap();
    for block in &new {
        told(&watcher, block).await;
    }
    let before = undone(&second).await;
    drop(watcher);
    until_elected(&follower).await;
    assert_eq!((tip(&second).await, undone(&second).await), (Some(new[1].point), before));
    follower.confirm(&back).await.unwrap();
    for block in &new {
        told(&follower, block).await;
    }
    assert_eq!((tip(&second).await, undone(&second).await), (Some(new[1].point), before));
}

#[tokio::test(start_paused = true)]
async fn a_refused_undo_is_forgotten() {
    let engine = VirtualEngine::start(1);
    let pool = pool(&engine, settings()).await;
    let watcher = elected(&pool).await;
    let chain = blocks(&pool, None, 6).await;
    for block in &chain[..5] {
        told(&watcher, block).await;
    }
    let nowhere = ChainEvent::Back { to: block_on(None, &[]).point };
    assert!(matches!(watcher.confirm(&nowhere).await, Err(ConfirmError::TooFarBack { .. })));
    told(&watcher, &chain[5]).await;
    assert_eq!(told(&watcher, &chain[1]).await, Verdict::Done(Confirmed::Repeated));
    sleep(Duration::from_secs(3)).await;
    assert_eq!((tip(&pool).await, undone(&pool).await), (Some(chain[5].point), 0));
}

#[tokio::test(start_paused = true)]
async fn a_follower_that_was_restarted_carries_out_an_undo_that_reaches_below_all_it_has_heard() {
    let engine = VirtualEngine::start(1);
    let (first, second) = (pool(&engine, settings()).await, pool(&engine, settings()).await);
    let watcher = elected(&first).await;
    let follower = Node::start(second.clone(), second.lease().unwrap());
    let chain = blocks(&first, None, 6).await;
    for block in &chain {
        told(&watcher, block).await;
    }
    told(&follower, &chain[5]).await;
    let back = ChainEvent::Back { to: chain[1].point };
    assert_eq!(follower.confirm(&back).await.unwrap(), Verdict::Skipped);
    drop(watcher);
    until_elected(&follower).await;
    assert_eq!(tip(&second).await, Some(chain[1].point));
    assert_eq!(stage(&second, &chain[2].txs[0]).await, Some(Stage::Pending));
}

#[tokio::test(start_paused = true)]
async fn a_follower_that_is_told_of_old_blocks_again_keeps_those_that_the_watcher_missed() {
    let engine = VirtualEngine::start(1);
    let (first, second) = (pool(&engine, settings()).await, pool(&engine, settings()).await);
    let watcher = elected(&first).await;
    let follower = Node::start(second.clone(), second.lease().unwrap());
    let chain = blocks(&first, None, 8).await;
    for block in &chain[..3] {
        told(&watcher, block).await;
    }
    for block in &chain[2..7] {
        told(&follower, block).await;
    }
    assert_eq!(told(&follower, &chain[0]).await, Verdict::Skipped);
    assert_eq!(told(&follower, &block_on(None, &[])).await, Verdict::Skipped);
    drop(watcher);
    until_elected(&follower).await;
    assert_eq!((tip(&second).await, undone(&second).await), (Some(chain[6].point), 0));
    assert!(matches!(told(&follower, &chain[7]).await, Verdict::Done(_)));
    let stray = follower.confirm(&ChainEvent::Forward(block_on(None, &[]))).await;
    assert!(matches!(stray, Err(ConfirmError::NotNext { .. })), "{stray:?}");
}

#[tokio::test(start_paused = true)]
async fn a_height_that_no_chain_has_is_refused() {
    let engine = VirtualEngine::start(1);
    let pool = pool(&engine, settings()).await;
    let watcher = elected(&pool).await;
    let absurd = Block { height: u64::MAX, ..block_on(None, &[]) };
    let refused = watcher.confirm(&ChainEvent::Forward(absurd)).await;
    assert!(matches!(refused, Err(ConfirmError::NotCountable(_))), "{refused:?}");
    let block = block_on(None, &[]);
    assert!(matches!(told(&watcher, &block).await, Verdict::Done(_)), "it is still at work");
}
