//! Who gets past the door.
//!
//! With a token, whoever brings it; health is told to anyone. Without one, whoever is on this machine, except that a page
//! of a foreign site in a browser on this machine is not: its name may have been pointed at loopback (DNS rebinding), or it
//! may send a form here. A name in `Host` gives away the first, `Origin` the second.

use std::net::IpAddr;

use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderName, Method, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use crate::listen::Token;
use crate::refusal::Refusal;

/// Told to anyone: whoever probes them holds no token, and they say little.
pub(crate) const LIVE: &str = "/health/live";
pub(crate) const READY: &str = "/health/ready";

/// The door of a server. Requests carry it, so that the OpenAPI document can tell what it asks for.
#[derive(Debug, Clone)]
pub(crate) struct Door {
    token: Option<Token>,
}

impl Door {
    pub(crate) fn new(token: Option<Token>) -> Self {
        Self { token }
    }

    pub(crate) fn asks_for_token(&self) -> bool {
        self.token.is_some()
    }

    fn admits(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<(), Refusal> {
        match &self.token {
            Some(_) if [LIVE, READY].contains(&uri.path()) => Ok(()),
            Some(token) => brings(token, headers),
            None => is_local(method, uri, headers),
        }
    }
}

/// Stands before every route, known or not.
pub(crate) async fn guard(State(door): State<Door>, mut request: Request, next: Next) -> Response {
    match door.admits(request.method(), request.uri(), request.headers()) {
        Ok(()) => {
            request.extensions_mut().insert(door);
            next.run(request).await
        }
        Err(refusal) if speaks_grpc(request.headers()) => refusal.into_grpc(),
        Err(refusal) => refusal.into_response(),
    }
}

fn speaks_grpc(headers: &HeaderMap) -> bool {
    text(headers, CONTENT_TYPE).is_some_and(|kind| kind.starts_with("application/grpc"))
}

fn brings(token: &Token, headers: &HeaderMap) -> Result<(), Refusal> {
    let Some(header) = text(headers, AUTHORIZATION) else {
        return Err(Refusal::unauthorized("this API asks for a token, and the request has none"));
    };
    let right = header
        .split_once(' ')
        .is_some_and(|(scheme, brought)| scheme.eq_ignore_ascii_case("bearer") && token.is(brought.trim()));
    if right { Ok(()) } else { Err(Refusal::unauthorized("this is not the token of this API")) }
}

fn is_local(method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<(), Refusal> {
    let authority = uri.authority().map(|authority| authority.as_str());
    // HTTP/2 has the host in the target alone.
    let host = text(headers, HOST).or(authority).unwrap_or_default();
    // A target with a host of its own overrides the header.
    let target = authority.unwrap_or(host);
    if !is_own_name(host) || !is_own_name(target) {
        return Err(Refusal::forbidden(format!("`{target}` is not a name of this API"))
            .code("foreign_host")
            .help("call it by its IP address or as localhost; a token lets it be called by any name"));
    }
    // A read is harmless: without CORS headers a foreign page does not see the answer.
    if method == Method::GET || !headers.contains_key(ORIGIN) {
        return Ok(());
    }
    let origin = text(headers, ORIGIN).unwrap_or_default();
    let same = origin.split_once("://").is_some_and(|(_, from)| from.eq_ignore_ascii_case(host));
    if same {
        return Ok(());
    }
    Err(Refusal::forbidden(format!("a page of `{origin}` may not change anything here"))
        .code("foreign_origin")
        .help("call from a page that this API serves, or from a program that sends no Origin header"))
}

/// An IP address or `localhost`, with or without a port. Any other name can be pointed here by its owner.
fn is_own_name(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((ip, port)) if port.is_empty() || port.starts_with(':') => ip,
            _ => return false,
        },
        None => host.split_once(':').map_or(host, |(name, _)| name),
    };
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok()
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}

#[cfg(test)]
mod tests {
    use axum::http::StatusCode;

    use super::*;

    fn ask(
        door: &Door,
        method: &Method,
        path: &str,
        headers: &[(&str, &str)],
    ) -> Result<(), (StatusCode, &'static str)> {
        let headers: HeaderMap =
            headers.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect();
        let uri = path.parse().unwrap();
        door.admits(method, &uri, &headers).map_err(|refusal| (refusal.status, refusal.code))
    }

    #[test]
    fn with_a_token_only_its_bearer_comes_in() {
        let door = Door::new(Some(Token::new("0123456789abcdef").unwrap()));
        let get = |headers: &[(&str, &str)]| ask(&door, &Method::GET, "/api/notes", headers);
        let unauthorized = Err((StatusCode::UNAUTHORIZED, "unauthorized"));
        get(&[("authorization", "Bearer 0123456789abcdef")]).unwrap();
        get(&[("authorization", "bearer 0123456789abcdef")]).unwrap();
        assert_eq!(get(&[]), unauthorized);
        for wrong in
            ["", "Bearer", "Bearer ", "0123456789abcdef", "Basic 0123456789abcdef", "Bearer 0123456789abcdeg"]
        {
            assert_eq!(get(&[("authorization", wrong)]), unauthorized, "{wrong}");
        }
    }

    #[test]
    fn health_is_told_to_anyone_and_nothing_else_is() {
        let door = Door::new(Some(Token::new("0123456789abcdef").unwrap()));
        ask(&door, &Method::GET, "/health/live", &[]).unwrap();
        ask(&door, &Method::GET, "/health/ready?verbose", &[]).unwrap();
        for path in
            ["/", "/health", "/health/live/", "/health/ready/x", "//health/live", "/metrics", "/openapi.json"]
        {
            assert!(ask(&door, &Method::GET, path, &[]).is_err(), "{path}");
        }
    }

    #[test]
    fn a_name_that_anyone_can_point_here_is_refused() {
        let door = Door::new(None);
        for own in ["localhost", "LOCALHOST:80", "127.0.0.1", "127.0.0.1:8080", "[::1]", "[::1]:80"] {
            ask(&door, &Method::GET, "/", &[("host", own)]).unwrap();
        }
        let foreign = Err((StatusCode::FORBIDDEN, "foreign_host"));
        for name in [
            "",
            "evil.example",
            "localhost.evil.example:80",
            "127.0.0.1.evil.example",
            "[::1]evil.example",
            "[::1",
        ] {
            assert_eq!(ask(&door, &Method::GET, "/", &[("host", name)]), foreign, "{name}");
        }
        assert_eq!(ask(&door, &Method::GET, "/", &[]), foreign, "none at all");
        let target = ask(&door, &Method::GET, "http://evil.example/", &[("host", "localhost")]);
        assert_eq!(target, foreign, "the target's own host counts too");
        assert_eq!(ask(&door, &Method::POST, "http://evil.example/", &[]), foreign, "as HTTP/2 sends it");
        ask(&door, &Method::POST, "http://127.0.0.1:50051/a.B/C", &[]).unwrap();
    }

    #[test]
    fn a_foreign_page_changes_nothing() {
        let door = Door::new(None);
        let from = |method: Method, origin| {
            ask(&door, &method, "/", &[("host", "localhost:80"), ("origin", origin)])
        };
        from(Method::POST, "http://localhost:80").unwrap();
        from(Method::GET, "https://evil.example").unwrap();
        for origin in
            ["https://evil.example", "null", "http://localhost:3000", "http://localhost:80.evil.example", ""]
        {
            for method in [Method::POST, Method::DELETE, Method::PUT, Method::PATCH, Method::HEAD] {
                assert_eq!(from(method, origin), Err((StatusCode::FORBIDDEN, "foreign_origin")), "{origin}");
            }
        }
        ask(&door, &Method::POST, "/", &[("host", "localhost:80")]).unwrap();
    }
}
