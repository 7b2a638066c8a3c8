//! Servers that tests share: started once per process, or once per run by `keyplane-test-servers`.
//!
//! Tests keep apart by their namespaces. Nobody kills or reconfigures these servers; a test that must do so starts its
//! own.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::thread;

use crate::cluster::{Cluster, Node};
use crate::kind::Kind;
use crate::program::{NO_VALKEY, Program};
use crate::sentinel::Sentinel;
use crate::server::Server;
use crate::settings::Settings;
use crate::tls::{ClientCertificates, TlsFiles};

/// Names the file in which `keyplane-test-servers` tells where its servers are.
pub const SERVERS_VARIABLE: &str = "KEYPLANE_TEST_SERVERS";

/// In the file, instead of a URL: this kind cannot be had, and why.
const MISSING: &str = "!";

/// Where a store is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Address {
    /// Its URL.
    pub url: String,
    /// What a client needs for TLS.
    pub tls: Option<TlsFiles>,
}

/// A running store of one kind, or why there is none.
#[derive(Debug)]
struct Store {
    address: Result<Address, String>,
    running: Option<Running>,
}

#[derive(Debug)]
enum Running {
    Server(Server),
    Cluster(Cluster),
    Sentinel(Sentinel),
}

impl Running {
    /// A directory that goes when the store goes.
    fn dir(&self) -> &Path {
        match self {
            Self::Server(server) => server.dir(),
            Self::Cluster(cluster) => cluster.server(Node(0)).dir(),
            Self::Sentinel(sentinel) => sentinel.server(Node(0)).dir(),
        }
    }
}

impl Store {
    fn start(kind: Kind) -> Self {
        let server = |program, settings: &Settings| {
            let server = Server::start(program, settings);
            (server.url(), server.tls(), Running::Server(server))
        };
        let (url, tls, running) = match kind {
            Kind::Valkey if Program::Valkey.file().is_none() => {
                return Self { address: Err(NO_VALKEY.to_owned()), running: None };
            }
            Kind::Redis => server(Program::Redis, &Settings::tcp()),
            Kind::Valkey => server(Program::Valkey, &Settings::tcp()),
            Kind::Unix => server(Program::Redis, &Settings::unix()),
            Kind::Tls => server(Program::Redis, &Settings::tls(ClientCertificates::Required)),
            Kind::Cluster => {
                let cluster = Cluster::start(Program::Redis, 3, 1);
                (cluster.url(), None, Running::Cluster(cluster))
            }
            Kind::Sentinel => {
                let sentinel = Sentinel::start();
                (sentinel.url(), None, Running::Sentinel(sentinel))
            }
            Kind::Embedded => {
                let why = "an embedded store belongs to its test";
                return Self { address: Err(why.to_owned()), running: None };
            }
        };
        Self { address: Ok(Address { url, tls }), running: Some(running) }
    }
}

/// The shared store of a kind, or why it cannot be had. The first to ask starts it, unless this run has one already.
pub(crate) fn address(kind: Kind) -> Result<Address, String> {
    static STARTED: [OnceLock<Store>; Kind::ALL.len()] = [const { OnceLock::new() }; Kind::ALL.len()];
    static LISTED: OnceLock<Vec<(Kind, Result<Address, String>)>> = OnceLock::new();
    let listed = LISTED.get_or_init(|| match env::var_os(SERVERS_VARIABLE) {
        Some(file) => read_list(Path::new(&file)),
        None => Vec::new(),
    });
    match listed.iter().find(|(listed, _)| *listed == kind) {
        Some((_, address)) => address.clone(),
        None => STARTED[kind as usize].get_or_init(|| Store::start(kind)).address.clone(),
    }
}

/// Servers for a whole run of tests, in many processes. Dropping it stops them.
#[derive(Debug)]
pub struct Servers(Vec<(Kind, Store)>);

impl Servers {
    /// Starts one store of each kind, side by side. A kind that cannot be had is noted in the list.
    #[must_use]
    pub fn start(kinds: &[Kind]) -> Self {
        thread::scope(|scope| {
            let start = |kind: &Kind| {
                let kind = *kind;
                (kind, scope.spawn(move || Store::start(kind)))
            };
            let starting: Vec<_> = kinds.iter().filter(|kind| kind.is_shared()).map(start).collect();
            let started = |(kind, start): (Kind, thread::ScopedJoinHandle<'_, Store>)| {
                (kind, start.join().unwrap_or_else(|_| panic!("{kind} does not start")))
            };
            Self(starting.into_iter().map(started).collect())
        })
    }

    /// Where each kind is, or why there is none.
    pub fn addresses(&self) -> impl Iterator<Item = (Kind, &Result<Address, String>)> {
        self.0.iter().map(|(kind, store)| (*kind, &store.address))
    }

    /// Writes where they are, for tests that find the file through [`SERVERS_VARIABLE`]. The file lies with one of the
    /// servers, so that it goes with them, however they end. Panics when none could be had.
    #[must_use]
    pub fn write_list(&self) -> PathBuf {
        let lines: String = self.addresses().map(|(kind, address)| line(kind, address)).collect();
        let home = self.0.iter().find_map(|(_, store)| store.running.as_ref()).map(Running::dir);
        let file = home.unwrap_or_else(|| panic!("there is no server to list:\n{lines}")).join("servers");
        fs::write(&file, lines).unwrap_or_else(|error| panic!("cannot write {}: {error}", file.display()));
        file
    }
}

/// One line: the kind, its URL, and three files where it speaks TLS, with tabs between.
fn line(kind: Kind, address: &Result<Address, String>) -> String {
    let mut words = vec![kind.to_string()];
    match address {
        Err(why) => words.extend([MISSING.to_owned(), why.replace(['\t', '\n'], " ")]),
        Ok(address) => {
            words.push(address.url.clone());
            let files = address.tls.iter().flat_map(|tls| [&tls.ca, &tls.cert, &tls.key]);
            words.extend(files.map(|file| file.display().to_string()));
        }
    }
    words.join("\t") + "\n"
}

fn read_list(file: &Path) -> Vec<(Kind, Result<Address, String>)> {
    let text = fs::read_to_string(file)
        .unwrap_or_else(|error| panic!("{SERVERS_VARIABLE} names {}: {error}", file.display()));
    text.lines().map(read_line).collect()
}

fn read_line(line: &str) -> (Kind, Result<Address, String>) {
    let words: Vec<&str> = line.split('\t').collect();
    let address = match words[1..] {
        [MISSING, why] => Err(why.to_owned()),
        [url] => Ok(Address { url: url.to_owned(), tls: None }),
        [url, ca, cert, key] => {
            let tls = TlsFiles { ca: PathBuf::from(ca), cert: PathBuf::from(cert), key: PathBuf::from(key) };
            Ok(Address { url: url.to_owned(), tls: Some(tls) })
        }
        _ => panic!("{SERVERS_VARIABLE}: `{line}` is not a line of the list"),
    };
    (Kind::parse(words[0]).unwrap_or_else(|problem| panic!("{SERVERS_VARIABLE}: {problem}")), address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_reads_back() {
        let tls = TlsFiles::in_dir(Path::new("/tmp/some where"));
        let stores = [
            (Kind::Redis, Ok(Address { url: "redis://127.0.0.1:1".to_owned(), tls: None })),
            (Kind::Tls, Ok(Address { url: "rediss://localhost:2".to_owned(), tls: Some(tls) })),
            (Kind::Valkey, Err(NO_VALKEY.to_owned())),
        ];
        for (kind, address) in stores {
            assert_eq!(read_line(line(kind, &address).trim_end()), (kind, address));
        }
    }
}
