//! Watching the mempool.

use keyplane_mempool::{Tx, TxHash};
use tonic::Code;
use utxorpc::MempoolStream;
use utxorpc::spec::cardano::{AddressPattern, AssetPattern, TxOutputPattern, TxPattern};
use utxorpc::spec::submit::any_chain_tx_pattern::Chain;
use utxorpc::spec::submit::{AnyChainTxPattern, Stage, TxInMempool, TxPredicate, WatchMempoolRequest};

use crate::made::{PAYMENT, POLICY, STAKE, With, address, paying, plain};
use crate::rig::{Refused, Rig, soon};
use crate::wait::lose_changes;

pub(crate) fn of(pattern: TxPattern) -> TxPredicate {
    let chain = Some(Chain::Cardano(pattern));
    TxPredicate { r#match: Some(AnyChainTxPattern { chain }), ..TxPredicate::default() }
}

async fn next(stream: &mut MempoolStream) -> TxInMempool {
    soon("a change", stream.tx()).await.expect("no status").expect("not the end")
}

fn hash(tx: &TxInMempool) -> TxHash {
    TxHash::from_slice(&tx.r#ref).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_change_is_told_with_its_bytes() {
    let rig = Rig::new().await;
    let mut client = rig.client().await;
    let mut stream = client.watch_mempool(None).await.unwrap();
    let tx = plain();
    client.submit_tx(tx.payload.bytes.clone()).await.unwrap();
    rig.block(&[]).await;
    rig.pool().mark_inflight(&[tx.hash]).await.unwrap();
    rig.pool().mark_acknowledged(&[tx.hash]).await.unwrap();
    let below = rig.block(&[]).await;
    rig.block(&[tx.hash]).await;
    rig.back_to(&below).await;
    rig.pool().mark_inflight(&[tx.hash]).await.unwrap();
    rig.block(&[]).await;
    rig.block(&[]).await;
    let (pool, net, chain) = (Stage::Mempool, Stage::Network, Stage::Confirmed);
    for stage in [pool, net, net, chain, pool, net, Stage::Unspecified] {
        let told = next(&mut stream).await;
        assert_eq!((hash(&told), told.stage()), (tx.hash, stage));
        assert_eq!(told.native_bytes.as_ref(), tx.payload.bytes);
    }
    rig.finish().await;
}

/// Which of these are told, of one change each.
async fn matching(rig: &Rig, predicate: TxPredicate, txs: &[&Tx]) -> Vec<bool> {
    let mut client = rig.client().await;
    let mut stream = client.watch_mempool(Some(predicate)).await.unwrap();
    let hashes: Vec<TxHash> = txs.iter().map(|tx| tx.hash).collect();
    rig.pool().mark_inflight(&hashes).await.unwrap();
    // Matches, and stands behind them in the log: when it is told, all others were looked at.
    let end = paying(&address(), With::Mints);
    client.submit_tx(end.payload.bytes.clone()).await.unwrap();
    let mut told = Vec::new();
    loop {
        let one = hash(&next(&mut stream).await);
        if one == end.hash {
            return hashes.iter().map(|hash| told.contains(hash)).collect();
        }
        told.push(one);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_what_matches_is_told() {
    // All of these match one that pays to the address and mints the coin, which ends each round.
    let coin = AssetPattern { policy_id: POLICY.to_vec().into(), asset_name: b"coin".to_vec().into() };
    let policy = AssetPattern { asset_name: Vec::new().into(), ..coin.clone() };
    let place = AddressPattern::default();
    let exact = AddressPattern { exact_address: address().into(), ..place.clone() };
    let payment = AddressPattern { payment_part: PAYMENT.to_vec().into(), ..place.clone() };
    let stake = AddressPattern { delegation_part: STAKE.to_vec().into(), ..place.clone() };
    let none = TxPattern::default;
    let at = |address: &AddressPattern, asset: Option<&AssetPattern>| {
        let output = TxOutputPattern { address: Some(address.clone()), asset: asset.cloned() };
        of(TxPattern { produces: Some(output), ..none() })
    };
    let mints = of(TxPattern { mints_asset: Some(coin.clone()), ..none() });
    let moves = of(TxPattern { moves_asset: Some(policy.clone()), ..none() });
    let no_mint_of = |tx: &TxPredicate| TxPredicate { not: vec![tx.clone()], ..TxPredicate::default() };

    // Somebody else; another payment part with the same stake; ours.
    let elsewhere = [&[0x00][..], &[1; 28], &[2; 28]].concat();
    let same_stake = [&[0x00][..], &[1; 28], &STAKE].concat();
    let other_coin = AssetPattern { policy_id: POLICY.to_vec().into(), asset_name: b"coins".to_vec().into() };
    let impossible = of(TxPattern { moves_asset: Some(other_coin), ..none() });
    let rounds = [
        (at(&exact, None), [false, false, true, true, false, false]),
        (at(&payment, None), [false, false, true, true, false, false]),
        (at(&stake, None), [false, true, true, true, false, false]),
        (at(&place, None), [true, true, true, true, true, false]),
        (at(&exact, Some(&coin)), [false, false, false, true, false, false]),
        (mints.clone(), [true, false, false, false, true, false]),
        (moves.clone(), [true, false, false, true, true, false]),
        (no_mint_of(&impossible), [true; 6]),
        (
            TxPredicate { all_of: vec![at(&stake, None), moves.clone()], ..TxPredicate::default() },
            [false, false, false, true, false, false],
        ),
        (
            TxPredicate { any_of: vec![at(&exact, None), mints], ..TxPredicate::default() },
            [true, false, true, true, true, false],
        ),
    ];
    let rig = Rig::new().await;
    for (round, (predicate, expected)) in rounds.into_iter().enumerate() {
        let txs = [
            paying(&elsewhere, With::Mints),
            paying(&same_stake, With::Nothing),
            paying(&address(), With::Nothing),
            paying(&address(), With::Sends),
            paying(&elsewhere, With::Burns),
            plain(),
        ];
        for tx in &txs {
            rig.pool().receive(tx).await.unwrap();
        }
        let told = matching(&rig, predicate.clone(), &txs.each_ref()).await;
        assert_eq!(told, expected, "round {round}: {predicate:?}");
    }
    rig.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_mask_says_what_is_sent() {
    let rig = Rig::new().await;
    let mut client = rig.client().await;
    for (path, expected) in [
        ("ref", (true, false, false)),
        ("tx.native_bytes", (false, true, false)),
        ("stage", (false, false, true)),
        ("tx", (true, true, true)),
    ] {
        // With a predicate the bytes are read in any case; that must not show.
        let predicate = Some(TxPredicate::default());
        let mut request = WatchMempoolRequest { predicate, ..WatchMempoolRequest::default() };
        request.field_mask.get_or_insert_default().paths = vec![path.to_owned()];
        let mut stream = client.inner.watch_mempool(request).await.unwrap().into_inner();
        let tx = plain();
        client.submit_tx(tx.payload.bytes.clone()).await.unwrap();
        let told = soon("a change", stream.message()).await.unwrap().unwrap().tx.unwrap();
        let found = (
            told.r#ref.as_ref() == tx.hash.bytes(),
            told.native_bytes.as_ref() == tx.payload.bytes,
            told.stage() == Stage::Mempool,
        );
        assert_eq!(found, expected, "{path}");
        let nothing = [!found.0 && !told.r#ref.is_empty(), !found.1 && !told.native_bytes.is_empty()];
        assert_eq!(nothing, [false, false], "{path}: {told:?}");
    }
    rig.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gap_in_the_log_ends_the_stream() {
    let rig = Rig::new().await;
    let mut client = rig.client().await;
    let mut stream = client.watch_mempool(None).await.unwrap();
    let (first, second) = (plain(), plain());
    client.submit_tx(first.payload.bytes).await.unwrap();
    assert_eq!(hash(&next(&mut stream).await), first.hash);
    lose_changes(&rig.place, 3);
    client.submit_tx(second.payload.bytes).await.unwrap();
    soon("the end", stream.tx()).await.refused(Code::DataLoss, "3 changes are gone");
}
