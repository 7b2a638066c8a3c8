//! Certificates for one test: an authority, a server, a client.

use std::fs;
use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use redis::{Client, ClientTlsConfig, RedisResult, TlsCertificates};

/// Whether a TLS server asks clients for a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientCertificates {
    /// Without one there is no connection.
    Required,
    /// None is asked for.
    Ignored,
}

/// What a client needs: the authority's certificate, and its own certificate and key. All PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TlsFiles {
    /// The authority that signed the server's certificate.
    pub ca: PathBuf,
    /// The client's certificate.
    pub cert: PathBuf,
    /// The client's key.
    pub key: PathBuf,
}

impl TlsFiles {
    pub(crate) fn in_dir(dir: &Path) -> Self {
        Self { ca: dir.join("ca.pem"), cert: dir.join("client.pem"), key: dir.join("client.key") }
    }

    /// The same shape of files from an authority that no server knows.
    #[must_use]
    pub fn of_a_stranger(dir: &Path) -> Self {
        let dir = dir.join("stranger");
        fs::create_dir_all(&dir).expect("a directory for the stranger's files");
        write(&dir)
    }

    /// A client that shows its certificate.
    pub fn client(&self, url: &str) -> RedisResult<Client> {
        let own = ClientTlsConfig { client_cert: read(&self.cert), client_key: read(&self.key) };
        let certificates = TlsCertificates { client_tls: Some(own), root_cert: Some(read(&self.ca)) };
        Client::build_with_tls(url, certificates)
    }

    /// A client that has none to show.
    pub fn client_without_certificate(&self, url: &str) -> RedisResult<Client> {
        let certificates = TlsCertificates { client_tls: None, root_cert: Some(read(&self.ca)) };
        Client::build_with_tls(url, certificates)
    }
}

fn read(file: &Path) -> Vec<u8> {
    fs::read(file).unwrap_or_else(|error| panic!("cannot read {}: {error}", file.display()))
}

/// Writes the files of an authority, a server for `localhost` and 127.0.0.1, and a client.
pub(crate) fn write(dir: &Path) -> TlsFiles {
    let authority_key = KeyPair::generate().expect("a key");
    let mut authority = named("Keyplane test authority", &[]);
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    let certificate = authority.self_signed(&authority_key).expect("the authority's certificate");
    put(dir, "ca.pem", &certificate.pem());
    let issuer = Issuer::new(authority, authority_key);

    let mut server = named("Keyplane test server", &["localhost", "127.0.0.1"]);
    server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    sign(dir, "server", &server, &issuer);

    let mut client = named("Keyplane test client", &[]);
    client.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    sign(dir, "client", &client, &issuer);
    TlsFiles::in_dir(dir)
}

fn named(name: &str, hosts: &[&str]) -> CertificateParams {
    let hosts: Vec<String> = hosts.iter().map(ToString::to_string).collect();
    let mut params = CertificateParams::new(hosts).expect("host names");
    params.distinguished_name.push(DnType::CommonName, name);
    params.use_authority_key_identifier_extension = true;
    params
}

fn sign(dir: &Path, name: &str, params: &CertificateParams, issuer: &Issuer<'_, KeyPair>) {
    let key = KeyPair::generate().expect("a key");
    let certificate = params.signed_by(&key, issuer).expect("a certificate");
    put(dir, &format!("{name}.pem"), &certificate.pem());
    put(dir, &format!("{name}.key"), &key.serialize_pem());
}

fn put(dir: &Path, name: &str, text: &str) {
    fs::write(dir.join(name), text).unwrap_or_else(|error| panic!("cannot write {name}: {error}"));
}
