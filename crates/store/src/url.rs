//! Where a store is, as a URL.
//!
//! | URL | what it is |
//! |---|---|
//! | `redis://host:6379/0` | one server |
//! | `rediss://host:6379/0` | one server, TLS |
//! | `redis+unix:///run/redis.sock?db=0` | one server on a Unix socket |
//! | `redis+sentinel://s1:26379,s2:26379/mymaster/0` | the master that sentinels name |
//! | `redis+cluster://n1:6379,n2:6379` | a cluster, found through any of its nodes |
//!
//! `valkey` may stand for `redis` in each; `rediss+sentinel` and `rediss+cluster` (or `valkeys…`) are the same over TLS.
//! `user:password@` before the hosts is understood; a deployment keeps them in the environment or a file instead.

use std::fmt;
use std::path::PathBuf;

use crate::Secret;

/// Host and port, or the path of a socket.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Address {
    /// Host and port.
    Tcp(String, u16),
    /// A Unix socket.
    Unix(PathBuf),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(host, port) if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp(host, port) => write!(f, "{host}:{port}"),
            Self::Unix(path) => write!(f, "{}", path.display()),
        }
    }
}

/// How servers are found.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Topology {
    /// One server.
    Single(Address),
    /// The master of that name, as sentinels say.
    Sentinel {
        /// The sentinels.
        sentinels: Vec<Address>,
        /// The name of the master.
        master: String,
    },
    /// A cluster, found through any of these nodes.
    Cluster(Vec<Address>),
}

/// A URL, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Url {
    /// How servers are found.
    pub topology: Topology,
    /// Whether connections are encrypted.
    pub tls: bool,
    /// The database; always 0 on Cluster.
    pub db: u32,
    /// The user in the URL.
    pub user: Option<String>,
    /// The password in the URL.
    pub password: Option<Secret>,
}

/// Why a URL is not understood. The text never holds the password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UrlError {
    /// No `://`.
    #[error("`{0}` is not a URL: it has no `://`; for example redis://127.0.0.1:6379")]
    NoScheme(String),
    /// A scheme that is not known.
    #[error(
        "`{0}://` is not known; there are redis, rediss, redis+unix, redis+sentinel, redis+cluster, and the same with valkey"
    )]
    Scheme(String),
    /// A host without a name, or a port that is none.
    #[error("`{0}` is not a host and port, for example 127.0.0.1:6379")]
    Host(String),
    /// No sentinel's master.
    #[error(
        "the URL of sentinels ends with the name of the master, for example redis+sentinel://s1:26379/mymaster"
    )]
    NoMaster,
    /// A database that is no number.
    #[error("`{0}` is not a database number")]
    Db(String),
    /// Cluster has one database.
    #[error("a cluster has database 0 only: keep environments apart by namespace")]
    ClusterDb,
    /// A parameter that is not known.
    #[error("the URL parameter `{0}` is not known; there is `db`")]
    Parameter(String),
    /// A percent sign without two hex digits.
    #[error("user or password holds a % that is not followed by two hex digits; write % as %25")]
    Escape,
}

impl std::str::FromStr for Url {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        let (scheme, rest) = text.split_once("://").ok_or_else(|| UrlError::NoScheme(masked(text)))?;
        let (kind, tls) = scheme_kind(scheme).ok_or_else(|| UrlError::Scheme(scheme.to_owned()))?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let mut url = match kind {
            Kind::Unix => unix(rest)?,
            _ => network(kind, tls, rest).map_err(|error| without_secret(error, text))?,
        };
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("db", number)) => url.db = db(number)?,
                _ => {
                    let name = pair.split('=').next().unwrap_or_default();
                    return Err(UrlError::Parameter(name.to_owned()));
                }
            }
        }
        if matches!(url.topology, Topology::Cluster(_)) && url.db != 0 {
            return Err(UrlError::ClusterDb);
        }
        Ok(url)
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Single,
    Unix,
    Sentinel,
    Cluster,
}

fn scheme_kind(scheme: &str) -> Option<(Kind, bool)> {
    let (base, kind) = match scheme.split_once('+') {
        None if scheme == "unix" => return Some((Kind::Unix, false)),
        None => (scheme, Kind::Single),
        Some((base, "unix")) => (base, Kind::Unix),
        Some((base, "sentinel")) => (base, Kind::Sentinel),
        Some((base, "cluster")) => (base, Kind::Cluster),
        Some(_) => return None,
    };
    match base {
        "redis" | "valkey" => Some((kind, false)),
        "rediss" | "valkeys" if kind != Kind::Unix => Some((kind, true)),
        _ => None,
    }
}

fn unix(rest: &str) -> Result<Url, UrlError> {
    let (user, password, path) = credentials(rest)?;
    if path.is_empty() {
        return Err(UrlError::Host(String::new()));
    }
    let topology = Topology::Single(Address::Unix(PathBuf::from(path)));
    Ok(Url { topology, tls: false, db: 0, user, password })
}

fn network(kind: Kind, tls: bool, rest: &str) -> Result<Url, UrlError> {
    let (user, password, rest) = credentials(rest)?;
    let (hosts, path) = rest.split_once('/').unwrap_or((rest, ""));
    let default_port = if kind == Kind::Sentinel { 26_379 } else { 6_379 };
    let mut addresses = Vec::new();
    for host in hosts.split(',') {
        addresses.push(address(host, default_port)?);
    }
    let mut path = path.split('/').filter(|part| !part.is_empty());
    let topology = match kind {
        Kind::Sentinel => {
            let master = path.next().ok_or(UrlError::NoMaster)?.to_owned();
            Topology::Sentinel { sentinels: addresses, master }
        }
        Kind::Cluster => Topology::Cluster(addresses),
        Kind::Single | Kind::Unix => match <[Address; 1]>::try_from(addresses) {
            Ok([only]) => Topology::Single(only),
            Err(_) => return Err(UrlError::Host(hosts.to_owned())),
        },
    };
    let db = path.next().map_or(Ok(0), db)?;
    if let Some(more) = path.next() {
        return Err(UrlError::Db(more.to_owned()));
    }
    Ok(Url { topology, tls, db, user, password })
}

fn db(text: &str) -> Result<u32, UrlError> {
    text.parse().map_err(|_| UrlError::Db(text.to_owned()))
}

type Credentials<'a> = (Option<String>, Option<Secret>, &'a str);

/// `user:password@rest`; a password may hold `@`, hosts never do.
fn credentials(text: &str) -> Result<Credentials<'_>, UrlError> {
    let end = text.find('/').unwrap_or(text.len());
    let Some(at) = text[..end].rfind('@') else { return Ok((None, None, text)) };
    let (user, password) = match text[..at].split_once(':') {
        Some((user, password)) => (user, Some(Secret::new(unescape(password)?))),
        None => (&text[..at], None),
    };
    let user = unescape(user)?;
    Ok((Some(user).filter(|user| !user.is_empty()), password, &text[at + 1..]))
}

fn unescape(text: &str) -> Result<String, UrlError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte == b'%' {
            let digits =
                rest.get(..2).and_then(|two| std::str::from_utf8(two).ok()).ok_or(UrlError::Escape)?;
            bytes.push(u8::from_str_radix(digits, 16).map_err(|_| UrlError::Escape)?);
            rest = &rest[2..];
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).map_err(|_| UrlError::Escape)
}

/// `host`, `host:port` or `[::1]:port`.
pub(crate) fn address(text: &str, default_port: u16) -> Result<Address, UrlError> {
    let wrong = || UrlError::Host(text.to_owned());
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, after) = rest.split_once(']').ok_or_else(wrong)?;
            (host, if after.is_empty() { None } else { Some(after.strip_prefix(':').ok_or_else(wrong)?) })
        }
        None => match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    let port = match port {
        Some(port) => port.parse().ok().filter(|port| *port > 0).ok_or_else(wrong)?,
        None => default_port,
    };
    let usable = |c: char| c.is_ascii_alphanumeric() || "-._:%".contains(c);
    if host.is_empty() || !host.chars().all(usable) {
        Err(wrong())
    } else {
        Ok(Address::Tcp(host.to_owned(), port))
    }
}

/// A password with an unescaped `/` or `?` looks like a host or a database: where there are credentials, nothing is quoted.
fn without_secret(error: UrlError, text: &str) -> UrlError {
    let hidden = || "(not shown: the URL holds credentials; write / as %2F, ? as %3F, @ as %40)".to_owned();
    match error {
        UrlError::Host(_) if text.contains('@') => UrlError::Host(hidden()),
        UrlError::Db(_) if text.contains('@') => UrlError::Db(hidden()),
        other => other,
    }
}

/// A URL that is not one may still hold a password.
fn masked(text: &str) -> String {
    text.rsplit_once('@').map_or_else(|| text.to_owned(), |(_, rest)| format!("…@{rest}"))
}

impl fmt::Display for Url {
    /// Without user and password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let base = if self.tls { "rediss" } else { "redis" };
        let list = |all: &[Address]| all.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        match &self.topology {
            Topology::Single(address @ Address::Tcp(..)) => write!(f, "{base}://{address}")?,
            Topology::Single(address @ Address::Unix(_)) => write!(f, "redis+unix://{address}")?,
            Topology::Sentinel { sentinels, master } => {
                write!(f, "{base}+sentinel://{}/{master}", list(sentinels))?
            }
            Topology::Cluster(nodes) => write!(f, "{base}+cluster://{}", list(nodes))?,
        }
        match (&self.topology, self.db) {
            (_, 0) => Ok(()),
            (Topology::Single(Address::Unix(_)), db) => write!(f, "?db={db}"),
            (_, db) => write!(f, "/{db}"),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn tcp(host: &str, port: u16) -> Address {
        Address::Tcp(host.to_owned(), port)
    }

    #[test]
    fn every_spelling_is_understood() {
        let cases = [
            ("redis://127.0.0.1", "redis://127.0.0.1:6379"),
            ("valkey://cache:7000/3", "redis://cache:7000/3"),
            ("valkeys://cache", "rediss://cache:6379"),
            ("rediss://[::1]:7/1", "rediss://[::1]:7/1"),
            ("unix:///run/r.sock", "redis+unix:///run/r.sock"),
            ("valkey+unix:///run/r.sock?db=4", "redis+unix:///run/r.sock?db=4"),
            ("redis+sentinel://a,b:1/main/2", "redis+sentinel://a:26379,b:1/main/2"),
            ("valkeys+sentinel://a/main", "rediss+sentinel://a:26379/main"),
            ("redis+cluster://a,b:2,c", "redis+cluster://a:6379,b:2,c:6379"),
            ("rediss+cluster://a/0", "rediss+cluster://a:6379"),
        ];
        for (given, shown) in cases {
            let url: Url = given.parse().unwrap();
            assert_eq!(url.to_string(), shown);
            assert_eq!(shown.parse::<Url>().unwrap(), url, "{shown} reads back");
        }
    }

    #[test]
    fn credentials_are_read_and_never_shown() {
        let url: Url = "redis://ann%40x:p%3a/ss@w@host:1/2".replace("/ss", "%2Fss").parse().unwrap();
        assert_eq!(url.user.as_deref(), Some("ann@x"));
        assert_eq!(url.password.as_ref().unwrap().reveal(), "p:/ss@w");
        assert_eq!(url.topology, Topology::Single(tcp("host", 1)));
        assert!(!format!("{url} {url:?}").contains("p:/ss"));
        let only_password: Url = "redis://:secret@h".parse().unwrap();
        assert_eq!((only_password.user, only_password.password), (None, Some(Secret::new("secret"))));
        assert!(!"user:secret@h".parse::<Url>().unwrap_err().to_string().contains("secret"));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let cases = [
            ("localhost:6379", UrlError::NoScheme("localhost:6379".into())),
            ("http://x", UrlError::Scheme("http".into())),
            ("rediss+unix:///x", UrlError::Scheme("rediss+unix".into())),
            ("redis://", UrlError::Host(String::new())),
            ("redis://a:b", UrlError::Host("a:b".into())),
            ("redis://a:0", UrlError::Host("a:0".into())),
            ("redis://a,b", UrlError::Host("a,b".into())),
            ("redis://a/x", UrlError::Db("x".into())),
            ("redis://a/1/2", UrlError::Db("2".into())),
            ("redis+sentinel://a", UrlError::NoMaster),
            ("redis+cluster://a/1", UrlError::ClusterDb),
            ("redis://a?tls=1", UrlError::Parameter("tls".into())),
            ("redis://u:%zz@a", UrlError::Escape),
            ("redis://[::1", UrlError::Host("[::1".into())),
        ];
        for (text, error) in cases {
            assert_eq!(text.parse::<Url>().unwrap_err(), error, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_breaks_the_reader_and_what_it_takes_reads_back(
            scheme in "(redis|rediss|valkey|valkeys)(\\+(unix|sentinel|cluster))?|[a-z]{0,6}",
            rest in "[a-z0-9:@/?=,.%\\[\\]#é -]{0,40}",
        ) {
            let text = format!("{scheme}://{rest}");
            if let Ok(url) = text.parse::<Url>() {
                let shown = url.to_string();
                let again: Url = shown.parse().unwrap();
                proptest::prop_assert_eq!((&again.topology, again.tls, again.db), (&url.topology, url.tls, url.db));
                proptest::prop_assert!(again.user.is_none() && again.password.is_none());
            }
        }

        #[test]
        fn no_error_shows_a_password(
            password in "[A-Z]{8,20}",
            between in "[/?:=]{0,2}",
            rest in "[a-z0-9:/?=,.%]{0,20}",
        ) {
            let text = format!("redis://user:{password}{between}@{rest}");
            let told = format!("{:?}", text.parse::<Url>()) + &text.parse::<Url>().map_or_else(|e| e.to_string(), |u| u.to_string());
            proptest::prop_assert!(!told.contains(&password), "{}", told);
        }
    }
}
