//! Garbage to every rpc: a clear status, and nothing is stored.

use tonic::Code;
use utxorpc::spec::cardano::{AddressPattern, AssetPattern, CertificatePattern, TxOutputPattern, TxPattern};
use utxorpc::spec::submit::{
    AnyChainTx, AnyChainTxPattern, EvalTxRequest, ReadMempoolRequest, Stage, SubmitTxRequest, TxPredicate,
    WatchMempoolRequest,
};

use crate::made::plain;
use crate::rig::{Refused, Rig, event};
use crate::watch::of;

#[tokio::test(flavor = "multi_thread")]
async fn garbage_is_refused_by_every_rpc_and_leaves_nothing() {
    let rig = Rig::new().await;
    let mut client = rig.client().await;
    let whole = plain().payload.bytes;
    for end in [1, 10, whole.len() - 1] {
        client.submit_tx(whole[..end].to_vec()).await.refused(Code::InvalidArgument, "not a whole CBOR");
    }
    client.submit_tx(Vec::new()).await.refused(Code::InvalidArgument, "there are no bytes");
    let longer = [&whole[..], &[0]].concat();
    client.submit_tx(longer).await.refused(Code::InvalidArgument, "ends after");
    client.submit_tx(vec![0x80]).await.refused(Code::InvalidArgument, "no transaction of any era");
    client.submit_tx(vec![0x9f; 200_000]).await.refused(Code::InvalidArgument, "not a whole CBOR");
    client.submit_tx(vec![7; 10 * 1024 * 1024]).await.refused(Code::OutOfRange, "too large");
    for tx in [None, Some(AnyChainTx { r#type: None })] {
        let request = SubmitTxRequest { tx: tx.clone() };
        client.inner.submit_tx(request).await.refused(Code::InvalidArgument, "tx.raw");
        let request = EvalTxRequest { tx };
        client.inner.eval_tx(request).await.refused(Code::Unimplemented, "no ledger");
    }

    for bad in [31, 33, 0, 100_000] {
        let refs = vec![vec![7; 32], vec![7; bad]];
        client.wait_for_tx(refs).await.refused(Code::InvalidArgument, "a hash has 32 bytes");
    }
    client.wait_for_tx(Vec::<Vec<u8>>::new()).await.refused(Code::InvalidArgument, "no reference");
    let many: Vec<Vec<u8>> =
        (0..1001_u32).map(|number| [&[0; 28][..], &number.to_be_bytes()].concat()).collect();
    client.wait_for_tx(many).await.refused(Code::InvalidArgument, "may have 1000");
    let mut unknown = client.wait_for_tx(vec![vec![7; 32]]).await.unwrap();
    assert_eq!(event(&mut unknown).await.1, Stage::Unspecified);

    for path in ["refs", "cardano", "", "tx.", "tx.native_bytes.x"] {
        let mut request = WatchMempoolRequest::default();
        request.field_mask.get_or_insert_default().paths = vec!["ref".to_owned(), path.to_owned()];
        client.inner.watch_mempool(request).await.refused(Code::InvalidArgument, "field mask");
    }
    for (predicate, code, words) in undecidable() {
        client.watch_mempool(Some(predicate)).await.refused(code, words);
    }

    let read = client.inner.read_mempool(ReadMempoolRequest {}).await.unwrap().into_inner();
    assert!(read.items.is_empty());
    assert_eq!(rig.counts().await, (0, 0, 0));
    rig.finish().await;
}

fn undecidable() -> Vec<(TxPredicate, Code, &'static str)> {
    let none = TxPattern::default;
    let place = AddressPattern { exact_address: vec![1; 57].into(), ..AddressPattern::default() };
    let asset = AssetPattern { policy_id: vec![1; 28].into(), ..AssetPattern::default() };
    let at = TxOutputPattern { address: Some(place.clone()), asset: None };
    let holds = TxOutputPattern { address: None, asset: Some(asset) };
    let short = AddressPattern { payment_part: vec![1; 27].into(), ..AddressPattern::default() };
    let deep = TxPredicate {
        not: vec![TxPredicate {
            any_of: vec![of(TxPattern { consumes: Some(at.clone()), ..none() })],
            ..TxPredicate::default()
        }],
        ..TxPredicate::default()
    };
    let nowhere = TxPredicate { r#match: Some(AnyChainTxPattern::default()), ..TxPredicate::default() };
    let short = TxOutputPattern { address: Some(short), asset: None };
    vec![
        (of(TxPattern { consumes: Some(at), ..none() }), Code::InvalidArgument, "ledger"),
        (of(TxPattern { consumes: Some(holds), ..none() }), Code::InvalidArgument, "ledger"),
        (of(TxPattern { has_address: Some(place), ..none() }), Code::InvalidArgument, "ledger"),
        (deep, Code::InvalidArgument, "ledger"),
        (of(TxPattern { produces: Some(short), ..none() }), Code::InvalidArgument, "27 bytes"),
        (nowhere, Code::InvalidArgument, "cardano"),
        (
            of(TxPattern { has_certificate: Some(CertificatePattern::default()), ..none() }),
            Code::Unimplemented,
            "certificates",
        ),
    ]
}
