//! A store that is away, and comes back.

use keyplane_testing::{Kind, Place, Program, Server, Settings};
use tonic::Code;
use utxorpc::spec::submit::{ReadMempoolRequest, Stage};

use crate::made::plain;
use crate::rig::{Refused, Rig, event, settings, soon};

async fn rig(server: &Server) -> Rig {
    Rig::with(Place::new(Kind::Redis, server.url(), None), settings(), None).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_is_away_is_not_an_empty_one() {
    let server = Server::start(Program::Redis, &Settings::tcp());
    let rig = rig(&server).await;
    let mut client = rig.client().await;
    let (known, sent) = (plain(), plain());
    client.submit_tx(known.payload.bytes).await.unwrap();
    server.kill();
    let away = "the store does not answer";
    client.submit_tx(sent.payload.bytes).await.refused(Code::Unavailable, away);
    client.inner.read_mempool(ReadMempoolRequest {}).await.refused(Code::Unavailable, away);
    let refs = vec![known.hash.bytes().to_vec()];
    client.wait_for_tx(refs).await.refused(Code::Unavailable, away);
    client.watch_mempool(None).await.refused(Code::Unavailable, away);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_goes_on_when_the_store_is_back() {
    let server = Server::start(Program::Redis, &Settings::tcp());
    let rig = rig(&server).await;
    let mut client = rig.client().await;
    let tx = plain();
    client.submit_tx(tx.payload.bytes).await.unwrap();
    let mut waiting = client.wait_for_tx(vec![tx.hash.bytes().to_vec()]).await.unwrap();
    let mut watching = client.watch_mempool(None).await.unwrap();
    assert_eq!(event(&mut waiting).await, (tx.hash, Stage::Mempool));
    server.freeze();
    client.submit_tx(plain().payload.bytes).await.refused(Code::Unavailable, "the store does not answer");
    server.thaw();
    // Whatever became of the one that was sent meanwhile.
    rig.pool().mark_inflight(&[tx.hash]).await.unwrap();
    assert_eq!(event(&mut waiting).await, (tx.hash, Stage::Network));
    loop {
        let told = soon("a change", watching.tx()).await.unwrap().unwrap();
        if told.r#ref.as_ref() == tx.hash.bytes() {
            assert_eq!(told.stage(), Stage::Network);
            return;
        }
    }
}
