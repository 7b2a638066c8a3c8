//! A plan whose ground has moved between the look and the step is refused, whatever it was that moved.

use keyplane_key::Naming;
use keyplane_kit::lease::Held;
use keyplane_store::{Options, Store};
use keyplane_testing::VirtualEngine;

use super::*;
use crate::model::{BlockHash, Input, Payload, Stage, Tx};
use crate::state::Settings;

struct Rig {
    pool: Pool,
    held: Held,
    /// Its clock and its keys go with it.
    _engine: VirtualEngine,
}

impl Rig {
    async fn start() -> Self {
        let engine = VirtualEngine::start(1);
        let store = Store::on_engine(engine.live().clone(), Options::default()).await.unwrap();
        let naming = Naming::new("dolos:mempool", false).unwrap();
        let pool = Pool::new(&store, naming, "00000000-0000-4000-8000-000000000001", Settings::default());
        let pool = pool.unwrap();
        let held = pool.lease().unwrap().try_acquire(pool.node_id()).await.unwrap().unwrap();
        Self { pool, held, _engine: engine }
    }

    async fn receive(&self, number: u8) -> TxHash {
        let spent = Input { tx: TxHash::new([number ^ 0xff; 32]), index: 0 };
        let payload = Payload { era: 7, bytes: vec![number; 100] };
        let tx = Tx { hash: TxHash::new([number; 32]), payload, inputs: vec![spent] };
        self.pool.receive(&tx).await.unwrap();
        tx.hash
    }

    async fn look(&self, block: &Block) -> View {
        self.pool.look(block.height, &block.txs).await.unwrap()
    }

    /// Commits a block by what was seen before: whether it was taken.
    async fn commit(&self, view: &View, block: &Block) -> bool {
        let moves = model::include(block, &view.known, self.pool.0.settings.thresholds);
        let mut applied = Applied::new(block);
        applied.remember(&moves);
        let step = Step {
            moves,
            tip: Some(Tip { point: block.point, height: block.height }),
            applied: Some(applied),
            unknown: block.txs.iter().filter(|tx| !view.known.contains_key(tx)).copied().collect(),
            ..Step::default()
        };
        let outcome = self.pool.commit(self.held.fence().unwrap(), view, &step).await.unwrap();
        matches!(outcome, Outcome::Done { .. })
    }

    async fn stage(&self, tx: &TxHash) -> Stage {
        self.pool.check_status(tx).await.unwrap().unwrap().stage
    }
}

fn block(number: u8, txs: &[TxHash]) -> Block {
    let point = Point { slot: 1000, hash: BlockHash::new([number; 32]) };
    Block { point, height: 70, prev: BlockHash::new([1; 32]), txs: txs.to_vec() }
}

#[tokio::test(start_paused = true)]
async fn another_step_came_first() {
    let rig = Rig::start().await;
    // Nothing that a plan could compare moves: only that there was a step at all.
    let (first, second) = (block(70, &[]), block(71, &[]));
    let (view, late) = (rig.look(&first).await, rig.look(&second).await);
    assert!(rig.commit(&view, &first).await);
    assert!(!rig.commit(&late, &second).await, "planned before the first block was there");
    assert_eq!(rig.pool.tip().await.unwrap().unwrap().point, first.point);
    assert!(rig.commit(&rig.look(&second).await, &second).await, "planned again it is taken");
}

#[tokio::test(start_paused = true)]
async fn a_transaction_of_the_block_was_received() {
    let rig = Rig::start().await;
    let block = block(70, &[TxHash::new([5; 32])]);
    let view = rig.look(&block).await;
    let tx = rig.receive(5).await;
    assert!(!rig.commit(&view, &block).await, "the block would be applied without it");
    assert_eq!((rig.stage(&tx).await, rig.pool.tip().await.unwrap()), (Stage::Pending, None));
    assert!(rig.commit(&rig.look(&block).await, &block).await);
    assert_eq!(rig.stage(&tx).await, Stage::Confirmed);
}

#[tokio::test(start_paused = true)]
async fn a_transaction_of_the_block_was_moved() {
    let rig = Rig::start().await;
    let tx = rig.receive(5).await;
    let block = block(70, &[tx]);
    let view = rig.look(&block).await;
    rig.pool.mark_inflight(&[tx]).await.unwrap();
    assert!(!rig.commit(&view, &block).await, "it is no longer in the queue");
    assert_eq!((rig.stage(&tx).await, rig.pool.tip().await.unwrap()), (Stage::Propagated, None));
    assert!(rig.commit(&rig.look(&block).await, &block).await);
    assert_eq!(rig.stage(&tx).await, Stage::Confirmed);
}
