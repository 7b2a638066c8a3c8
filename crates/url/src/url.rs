//! A URL, taken apart.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::Secret;

/// Host and port, the path of a socket, or the embedded store.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Address {
    /// Host and port.
    Tcp(String, u16),
    /// A Unix socket.
    Unix(PathBuf),
    /// The embedded store in a folder, or in memory.
    Embedded(Option<PathBuf>),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(host, port) if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp(host, port) => write!(f, "{host}:{port}"),
            Self::Unix(path) => write!(f, "{}", path.display()),
            Self::Embedded(path) => {
                write!(f, "embedded:{}", path.as_deref().unwrap_or(Path::new("")).display())
            }
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
    /// The embedded store: in a folder, or in memory.
    Embedded(Option<PathBuf>),
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

/// Why a URL is not understood. It does not quote the URL: a password may stand anywhere in one that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UrlError {
    /// No `://`.
    #[error("the URL does not begin with a scheme; write it like redis://127.0.0.1:6379/0")]
    NoScheme,
    /// A scheme that is not known.
    #[error(
        "the URL has a scheme that is not known; redis, rediss, valkey or valkeys; with +unix, +sentinel or +cluster; or \
         embedded:PATH"
    )]
    Scheme,
    /// A blank or a control character.
    #[error("the URL has a blank or a line break in it")]
    Blank,
    /// A host without a name, or a port that is none.
    #[error(
        "the URL has no host, or a port that is not 1 to 65535; a user and password stand before the host, with `@` after them"
    )]
    Host,
    /// More than one host where there can be one.
    #[error("the URL has several hosts; with redis+cluster:// or redis+sentinel:// it may")]
    Hosts,
    /// No path of a socket.
    #[error("the URL names no socket; write it like redis+unix:///run/redis.sock")]
    NoSocket,
    /// No sentinel's master.
    #[error(
        "the URL of sentinels ends with the name of the master, for example redis+sentinel://s1:26379/mymaster"
    )]
    NoMaster,
    /// A database that is no number.
    #[error("the URL ends in something that is not the number of a database")]
    Db,
    /// Cluster has one database.
    #[error("a cluster has database 0 only: keep environments apart by namespace")]
    ClusterDb,
    /// A parameter that is not known.
    #[error("the URL has something after its `?` or `#` that is not known; there are db, user and pass")]
    Parameter,
    /// A character that must be written otherwise in user or password.
    #[error("the URL has a `/`, `?` or `#` in its user or password; write them as %2F, %3F and %23")]
    Unescaped,
    /// A percent sign without two hex digits, or bytes that are no text.
    #[error("user or password in the URL has a `%` that is not followed by two hex digits; write `%` as %25")]
    Escape,
}

impl std::str::FromStr for Url {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        if text.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return Err(UrlError::Blank);
        }
        if let Some(path) = text.strip_prefix("embedded:") {
            let path = Some(PathBuf::from(path)).filter(|_| !path.is_empty());
            return Ok(Self {
                topology: Topology::Embedded(path),
                tls: false,
                db: 0,
                user: None,
                password: None,
            });
        }
        let (scheme, rest) = text.split_once("://").ok_or(UrlError::NoScheme)?;
        let (kind, tls) = scheme_kind(scheme).ok_or(UrlError::Scheme)?;
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        if kind != Kind::Unix && rest[end..].contains('@') {
            return Err(UrlError::Unescaped);
        }
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        if rest.contains('#') || query.contains('#') {
            return Err(UrlError::Parameter);
        }
        let mut url = match kind {
            Kind::Unix => unix(rest)?,
            _ => network(kind, tls, rest)?,
        };
        url.read_query(query)?;
        if matches!(url.topology, Topology::Cluster(_)) && url.db != 0 {
            return Err(UrlError::ClusterDb);
        }
        Ok(url)
    }
}

impl Url {
    fn read_query(&mut self, query: &str) -> Result<(), UrlError> {
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("db", number)) => self.db = db(number)?,
                Some(("user", user)) => self.user = Some(unescape(user)?),
                Some(("pass", password)) => self.password = Some(Secret::new(unescape(password)?)),
                _ => return Err(UrlError::Parameter),
            }
        }
        Ok(())
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
    if path.len() < 2 || !path.starts_with('/') {
        return Err(UrlError::NoSocket);
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
            Err(_) => return Err(UrlError::Hosts),
        },
    };
    let db = path.next().map_or(Ok(0), db)?;
    if path.next().is_some() {
        return Err(UrlError::Db);
    }
    Ok(Url { topology, tls, db, user, password })
}

fn db(text: &str) -> Result<u32, UrlError> {
    text.parse().map_err(|_| UrlError::Db)
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
fn address(text: &str, default_port: u16) -> Result<Address, UrlError> {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, after) = rest.split_once(']').ok_or(UrlError::Host)?;
            let port =
                if after.is_empty() { None } else { Some(after.strip_prefix(':').ok_or(UrlError::Host)?) };
            (Some(host).filter(|host| is_ipv6(host)), port)
        }
        None => {
            let (host, port) = text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port)));
            (Some(host).filter(|host| is_name(host)), port)
        }
    };
    let port = port.map_or(Some(default_port), |port| port.parse().ok().filter(|port| *port > 0));
    match (host, port) {
        (Some(host), Some(port)) => Ok(Address::Tcp(host.to_owned(), port)),
        _ => Err(UrlError::Host),
    }
}

/// A name or an address; what it resolves to is another matter.
#[must_use]
pub fn is_host(text: &str) -> bool {
    is_name(text) || is_ipv6(text)
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "-._".contains(c))
}

/// Maybe with the zone of a local address, as in `fe80::1%eth0`.
fn is_ipv6(text: &str) -> bool {
    text.split('%').next().is_some_and(|address| address.parse::<std::net::Ipv6Addr>().is_ok())
}

impl fmt::Display for Url {
    /// Without user and password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let base = if self.tls { "rediss" } else { "redis" };
        let list = |all: &[Address]| all.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        match &self.topology {
            Topology::Single(address @ Address::Tcp(..)) => write!(f, "{base}://{address}")?,
            Topology::Single(address @ Address::Unix(_)) => write!(f, "redis+unix://{address}")?,
            Topology::Single(address @ Address::Embedded(_)) => write!(f, "{address}")?,
            Topology::Sentinel { sentinels, master } => {
                write!(f, "{base}+sentinel://{}/{master}", list(sentinels))?
            }
            Topology::Cluster(nodes) => write!(f, "{base}+cluster://{}", list(nodes))?,
            Topology::Embedded(path) => write!(f, "{}", Address::Embedded(path.clone()))?,
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
            ("embedded:", "embedded:"),
            ("embedded:/var/lib/a@b:c", "embedded:/var/lib/a@b:c"),
        ];
        for (given, shown) in cases {
            let url: Url = given.parse().unwrap();
            assert_eq!(url.to_string(), shown);
            assert_eq!(shown.parse::<Url>().unwrap(), url, "{shown} reads back");
        }
    }

    #[test]
    fn credentials_are_read_and_never_shown() {
        for (text, user, password) in [
            ("redis://ann%40x:p%3a%2Fss@w@host:1/2", Some("ann@x"), Some("p:/ss@w")),
            ("redis://:secret@h", None, Some("secret")),
            ("redis://ann@[::1]:6379", Some("ann"), None),
            ("rediss://u:p%40%2f%C3%BC@a:1/2", Some("u"), Some("p@/ü")),
            ("redis+unix:///run/r.sock?db=1&user=u&pass=a%2b", Some("u"), Some("a+")),
            ("redis+unix://u:p@/run/r.sock", Some("u"), Some("p")),
        ] {
            let url: Url = text.parse().unwrap();
            assert_eq!(
                (url.user.as_deref(), url.password.as_ref().map(Secret::reveal)),
                (user, password),
                "{text}"
            );
            if let Some(password) = password {
                assert!(!format!("{url} {url:?}").contains(&format!("{password}\"")), "{url:?}");
            }
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        let cases = [
            ("localhost:6379", UrlError::NoScheme),
            ("http://x", UrlError::Scheme),
            ("redis+tcp://x", UrlError::Scheme),
            ("rediss+unix:///x", UrlError::Scheme),
            ("redis://", UrlError::Host),
            ("redis://user:password", UrlError::Host),
            ("redis://a:0", UrlError::Host),
            ("redis://a:65536", UrlError::Host),
            ("redis://[::1", UrlError::Host),
            ("redis://[zz]", UrlError::Host),
            ("redis+cluster://a,,b", UrlError::Host),
            ("redis://a,b", UrlError::Hosts),
            ("redis://a b", UrlError::Blank),
            ("redis+unix://", UrlError::NoSocket),
            ("redis://a/x", UrlError::Db),
            ("redis://a/1/2", UrlError::Db),
            ("redis+sentinel://a", UrlError::NoMaster),
            ("redis+cluster://a/1", UrlError::ClusterDb),
            ("redis://a?tls=1", UrlError::Parameter),
            ("redis://a#insecure", UrlError::Parameter),
            ("redis://u:pa/ss@a", UrlError::Unescaped),
            ("redis://u:%zz@a", UrlError::Escape),
            ("redis://u:%ff@a", UrlError::Escape),
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
