//! TLS: the right authority and certificate, and the wrong ones.

use keyplane_store::{OpenError, Options, Store, Tls};
use keyplane_testing::{ClientCertificates, Program, Server, Settings, TlsFiles};

use crate::rig::{Rig, options, test};

fn with(tls: Tls) -> Options {
    let mut options = options();
    options.tls = tls;
    options
}

fn files(ca: &TlsFiles, identity: Option<&TlsFiles>) -> Tls {
    let mut tls = Tls::default();
    tls.ca = Some(ca.ca.clone());
    tls.identity = identity.map(|own| (own.cert.clone(), own.key.clone()));
    tls
}

#[test]
fn the_authority_and_the_certificate_must_be_right() {
    test(async {
        let server = Server::start(Program::Redis, &Settings::tls(ClientCertificates::Required));
        let own = server.tls().unwrap();
        let dir = tempfile::tempdir().unwrap();
        let stranger = TlsFiles::of_a_stranger(dir.path());
        Rig::open_with(&server.url(), with(files(&own, Some(&own)))).await.label("b", "x").await.unwrap();
        for wrong in
            [files(&own, None), files(&own, Some(&stranger)), files(&stranger, Some(&own)), Tls::default()]
        {
            let error = Store::open(&server.url(), with(wrong.clone())).await.unwrap_err();
            assert!(matches!(error, OpenError::Unreachable(_)), "{wrong:?}: {error}");
        }
    });
}

#[test]
fn without_client_certificates_the_authority_is_enough() {
    test(async {
        let server = Server::start(Program::Redis, &Settings::tls(ClientCertificates::Ignored));
        let own = server.tls().unwrap();
        let rig = Rig::open_with(&server.url(), with(files(&own, None))).await;
        rig.label("b", "x").await.unwrap();
        server.restart();
        rig.heals("b").await;
    });
}

#[test]
fn a_file_that_is_missing_or_broken_is_named() {
    test(async {
        let server = Server::start(Program::Redis, &Settings::tls(ClientCertificates::Ignored));
        let own = server.tls().unwrap();
        let mut missing = files(&own, None);
        missing.ca = Some("/nowhere/ca.pem".into());
        let error = Store::open(&server.url(), with(missing)).await.unwrap_err();
        assert!(error.to_string().contains("/nowhere/ca.pem"), "{error}");
        let dir = tempfile::tempdir().unwrap();
        let empty = dir.path().join("empty.pem");
        std::fs::write(&empty, "no certificate").unwrap();
        let mut broken = files(&own, Some(&own));
        broken.identity = Some((empty.clone(), empty));
        let error = Store::open(&server.url(), with(broken)).await.unwrap_err();
        assert!(matches!(error, OpenError::Tls(_)), "{error}");
    });
}
