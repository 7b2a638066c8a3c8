//! The url of a store, with what is secret in it kept apart.
//!
//! Messages never repeat a url: a mistyped one may show its password where the port should be.

use std::fmt;

use crate::error::Problem;
use crate::secret::Secret;

const BASES: [&str; 4] = ["redis", "rediss", "valkey", "valkeys"];

/// Where a store is. Prints with its password blotted out.
#[derive(Clone, PartialEq, Eq)]
pub struct StoreUrl {
    /// Without user and password.
    text: String,
    pub(crate) user: Option<String>,
    pub(crate) password: Option<Secret>,
}

/// How a url goes on after its scheme.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// One host.
    Host,
    /// Several hosts, with commas between.
    Hosts,
    /// A path.
    Socket,
}

impl StoreUrl {
    /// The url without user and password: those are settings of their own.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub(crate) fn parse(text: &str) -> Result<Self, Problem> {
        if text.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return Err(wrong("has a blank or a line break in it"));
        }
        // The embedded store: memory, or a folder.
        if text.starts_with("embedded:") {
            return Ok(Self { text: text.to_owned(), user: None, password: None });
        }
        let Some((scheme, rest)) = text.split_once("://") else {
            return Err(wrong("does not begin with a scheme"));
        };
        let Some(form) = form(scheme) else {
            return Err(wrong("has a scheme that is not known").help(
                "redis, rediss, valkey or valkeys; with +unix, +sentinel or +cluster; or embedded:PATH",
            ));
        };
        let (authority, tail) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        if form != Form::Socket && tail.contains('@') {
            return Err(
                wrong("has a `/`, `?` or `#` in its user or password").help("write them as %2F, %3F and %23")
            );
        }
        let (userinfo, hosts) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (user, password) = userinfo.split_once(':').unwrap_or((userinfo, ""));
        let (tail, by_query) = without_credentials(tail)?;
        check_address(form, hosts, &tail)?;
        let filled = |text: String| Some(text).filter(|text| !text.is_empty());
        Ok(Self {
            text: format!("{scheme}://{hosts}{tail}"),
            user: filled(decode(user, false)?).or(by_query.user),
            password: filled(decode(password, false)?).or(by_query.password).map(Secret::new),
        })
    }

    /// The url that host, port and database make.
    pub(crate) fn of_parts(tls: bool, host: &str, port: u64, db: u64, password: Option<Secret>) -> Self {
        let scheme = if tls { "rediss" } else { "redis" };
        // An IPv6 address has colons of its own.
        let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
        Self { text: format!("{scheme}://{host}:{port}/{db}"), user: None, password }
    }
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((scheme, rest)) = self.text.split_once("://") else { return f.write_str(&self.text) };
        match (self.user.as_deref(), &self.password) {
            (None, None) => f.write_str(&self.text),
            (Some(user), None) => write!(f, "{scheme}://{user}@{rest}"),
            (user, Some(_)) => write!(f, "{scheme}://{}:***@{rest}", user.unwrap_or_default()),
        }
    }
}

impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_string())
    }
}

fn wrong(what: &str) -> Problem {
    Problem::value(format!("`url` {what}"), "not a url of a store")
        .help("write it like redis://127.0.0.1:6379/0")
}

fn form(scheme: &str) -> Option<Form> {
    if scheme == "unix" {
        return Some(Form::Socket);
    }
    let (base, via) = scheme.split_once('+').unwrap_or((scheme, ""));
    if !BASES.contains(&base) {
        return None;
    }
    match via {
        "" => Some(Form::Host),
        "sentinel" | "cluster" => Some(Form::Hosts),
        // A socket has no TLS.
        "unix" if ["redis", "valkey"].contains(&base) => Some(Form::Socket),
        _ => None,
    }
}

fn check_address(form: Form, hosts: &str, tail: &str) -> Result<(), Problem> {
    let path = tail.split(['?', '#']).next().unwrap_or_default();
    match form {
        Form::Socket if path.len() < 2 => {
            Err(wrong("names no socket").help("as in redis+unix:///run/redis.sock"))
        }
        Form::Socket => Ok(()),
        Form::Hosts => hosts.split(',').try_for_each(check_host),
        Form::Host => {
            check_host(hosts)?;
            let db = path.trim_matches('/');
            match db.is_empty() || db.parse::<u32>().is_ok() {
                true => Ok(()),
                false => Err(wrong("ends in something that is not the number of a database")),
            }
        }
    }
}

fn check_host(text: &str) -> Result<(), Problem> {
    let (fits, port) = match text.strip_prefix('[').and_then(|inner| inner.split_once(']')) {
        Some((address, "")) => (is_ipv6(address), None),
        Some((address, after)) => (is_ipv6(address) && after.starts_with(':'), after.get(1..)),
        None => {
            text.split_once(':').map_or((is_name(text), None), |(host, port)| (is_name(host), Some(port)))
        }
    };
    if !fits {
        return Err(wrong("has no host, or one that cannot be"));
    }
    match port.map(str::parse::<u16>) {
        None | Some(Ok(1..)) => Ok(()),
        _ => Err(wrong("has a port that is not 1..=65535")
            .help("a user and password stand before the host, with `@` after them")),
    }
}

/// A name or an address; what it resolves to is another matter.
pub(crate) fn is_host(text: &str) -> bool {
    is_name(text) || is_ipv6(text)
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "-._".contains(c))
}

/// Maybe with the zone of a local address, as in `fe80::1%eth0`.
fn is_ipv6(text: &str) -> bool {
    text.split('%').next().is_some_and(|address| address.parse::<std::net::Ipv6Addr>().is_ok())
}

/// User and password as a query has them.
#[derive(Default)]
struct ByQuery {
    user: Option<String>,
    password: Option<String>,
}

/// Takes `user` and `pass` out of the query: that is where the url of a socket has them. What else may stand there is
/// known; anything other is most likely the rest of a password with `&` or `#` in it.
fn without_credentials(tail: &str) -> Result<(String, ByQuery), Problem> {
    let (before, fragment) = tail.split_at(tail.find('#').unwrap_or(tail.len()));
    if !["", "#insecure"].contains(&fragment) {
        return Err(wrong("has a `#` with something other than `insecure` after it")
            .help("write a `#` itself as %23"));
    }
    let (path, query) = before.split_once('?').unwrap_or((before, ""));
    let mut found = ByQuery::default();
    let mut rest: Vec<&str> = Vec::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        match pair.split_once('=') {
            Some(("user" | "username", user)) => found.user = Some(decode(user, true)?),
            Some(("pass" | "password", password)) => found.password = Some(decode(password, true)?),
            Some(("db" | "protocol", value)) if value.bytes().all(|byte| byte.is_ascii_alphanumeric()) => {
                rest.push(pair);
            }
            _ => {
                return Err(wrong("has something after its `?` that is not known")
                    .help("db, protocol, user and pass are; write an `&` itself as %26"));
            }
        }
    }
    let query = if rest.is_empty() { String::new() } else { format!("?{}", rest.join("&")) };
    Ok((format!("{path}{query}{fragment}"), found))
}

/// Undoes `%2F`, and in a query also `+` for a blank.
fn decode(text: &str, in_query: bool) -> Result<String, Problem> {
    let bad = || {
        wrong("has a `%` in its user or password that is not followed by two hex digits")
            .help("write a `%` itself as %25")
    };
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
                let (high, low) = (digit(rest.next()), digit(rest.next()));
                let (Some(high), Some(low)) = (high, low) else { return Err(bad()) };
                u8::try_from(high * 16 + low).map_err(|_| bad())?
            }
            b'+' if in_query => b' ',
            byte => byte,
        });
    }
    String::from_utf8(bytes).map_err(|_| wrong("has a user or password that is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> (String, Option<String>, Option<String>) {
        let url = StoreUrl::parse(text).unwrap();
        (url.text, url.user, url.password.map(|password| password.expose().to_owned()))
    }

    #[test]
    fn user_and_password_are_taken_out_and_decoded() {
        let some = |text: &str| Some(text.to_owned());
        for (text, rest, user, password) in [
            ("redis://a", "redis://a", None, None),
            (
                "rediss://u:p%40%2f%C3%BC@a:1/2?protocol=resp3#insecure",
                "rediss://a:1/2?protocol=resp3#insecure",
                some("u"),
                some("p@/ü"),
            ),
            ("valkey://:p:q@a", "valkey://a", None, some("p:q")),
            ("redis://u@[::1]:6379", "redis://[::1]:6379", some("u"), None),
            ("redis+cluster://u:p@a:7000,b:7001", "redis+cluster://a:7000,b:7001", some("u"), some("p")),
            ("valkeys+sentinel://a:26379,b/main/0", "valkeys+sentinel://a:26379,b/main/0", None, None),
            (
                "redis+unix:///run/r.sock?db=1&user=u&pass=a+b%2b",
                "redis+unix:///run/r.sock?db=1",
                some("u"),
                some("a b+"),
            ),
            ("unix:///run/r.sock?pass=p", "unix:///run/r.sock", None, some("p")),
            ("embedded:", "embedded:", None, None),
            ("embedded:/var/lib/a@b:c", "embedded:/var/lib/a@b:c", None, None),
        ] {
            assert_eq!(parts(text), (rest.to_owned(), user, password), "{text}");
        }
    }

    #[test]
    fn what_is_no_url_of_a_store_is_refused() {
        for text in [
            "127.0.0.1:6379",
            "http://a",
            "redis+tcp://a",
            "rediss+unix:///s",
            "redis://",
            "redis://a:0",
            "redis://a:65536",
            "redis://a:b",
            "redis://a/b",
            "redis://u:%zz@a",
            "redis://u:%f@a",
            "redis://u:%ff@a",
            "redis://u:/@a",
            "redis://a b",
            "redis+unix://",
            "redis+cluster://a,,b",
            "redis://[::1]x",
            "redis://[zz]",
        ] {
            assert!(StoreUrl::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn it_prints_without_its_password() {
        let url = StoreUrl::parse("redis://alice:hunter2@a/1").unwrap();
        assert_eq!(url.to_string(), "redis://alice:***@a/1");
        assert_eq!(format!("{url:?}"), "\"redis://alice:***@a/1\"");
    }
}
