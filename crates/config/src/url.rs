//! The url of a store as a setting: what is secret in it is kept apart, and where its fault is shown it is not.

use std::fmt;

use keyplane_url::{Secret, Url, UrlError};

use crate::error::Problem;

/// Where a store is. Prints with its password blotted out.
#[derive(Clone, PartialEq, Eq)]
pub struct StoreUrl {
    /// As it was written, without user and password.
    text: String,
    pub(crate) user: Option<String>,
    pub(crate) password: Option<Secret>,
}

impl StoreUrl {
    /// The url without user and password: those are settings of their own.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub(crate) fn parse(text: &str) -> Result<Self, Problem> {
        let url: Url = text.parse().map_err(|error| problem(&error))?;
        Ok(Self { text: without_credentials(text), user: url.user, password: url.password })
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

/// The text of a sound url, as it was written, less what is a setting of its own.
fn without_credentials(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    let authority = place.find('/').unwrap_or(place.len());
    let place = place[..authority].rfind('@').map_or(place, |at| &place[at + 1..]);
    let secret = |pair: &&str| pair.starts_with("user=") || pair.starts_with("pass=");
    let query: Vec<&str> = query.split('&').filter(|pair| !pair.is_empty() && !secret(pair)).collect();
    let mark = if query.is_empty() { "" } else { "?" };
    format!("{scheme}://{place}{mark}{}", query.join("&"))
}

/// The reason and what to do about it, which the error has in one sentence.
fn problem(error: &UrlError) -> Problem {
    let told = error.to_string();
    let (what, help) = told.split_once("; ").unwrap_or((&told, "write it like redis://127.0.0.1:6379/0"));
    let what = what
        .strip_prefix("the URL ")
        .map_or_else(|| format!("`url`: {what}"), |what| format!("`url` {what}"));
    Problem::value(what, "not a url of a store").help(help.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_and_password_are_settings_of_their_own() {
        let url = StoreUrl::parse("redis+unix:///run/r.sock?db=1&user=u&pass=p").unwrap();
        assert_eq!((url.as_str(), url.user.as_deref()), ("redis+unix:///run/r.sock?db=1", Some("u")));
        assert_eq!(url.password.as_ref().map(Secret::reveal), Some("p"));
        assert!(StoreUrl::parse("http://a").is_err());
    }

    #[test]
    fn it_prints_without_its_password() {
        let url = StoreUrl::parse("redis://alice:hunter2@a/1").unwrap();
        assert_eq!(url.to_string(), "redis://alice:***@a/1");
        assert_eq!(format!("{url:?}"), "\"redis://alice:***@a/1\"");
    }
}
