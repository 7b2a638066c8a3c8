//! Who gets in, over sockets.

use std::net::TcpListener;

use keyplane_http::{Listen, ListenError, Server};

use crate::curl::Curl;
use crate::site::{Site, TOKEN};

#[tokio::test]
async fn an_open_door_to_other_machines_is_never_bound() {
    // A port that somebody else has: had it been tried, the error would say so.
    let taken = TcpListener::bind("0.0.0.0:0").unwrap();
    let address = taken.local_addr().unwrap();
    let error = Server::bind(Listen::open(address)).await.unwrap_err();
    assert!(matches!(error, ListenError::Open { address: named } if named == address), "{error}");
}

#[tokio::test]
async fn an_address_that_cannot_be_had_is_named() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let error = Server::bind(Listen::open(address)).await.unwrap_err();
    assert!(matches!(error, ListenError::Bind { .. }), "{error}");
    assert!(error.to_string().contains(&address.to_string()), "{error}");
}

#[test]
fn a_guarded_door_opens_to_its_token_only() {
    let Some(curl) = Curl::here() else { return };
    let site = Site::guarded();
    let right = format!("Authorization: Bearer {TOKEN}");
    for path in ["/api/notes", "/metrics", "/api/alerts", "/openapi.json"] {
        let url = site.url(path);
        assert_eq!(curl.call(&url, &["-H", &right]).status, 200, "{path}");
        for wrong in
            [&[][..], &["-H", "Authorization: Bearer another-long-token"], &["-u", "me:a-token-of-the-tests"]]
        {
            let reply = curl.call(&url, wrong);
            assert_eq!(reply.refusal(), (401, "unauthorized".to_owned()), "{path} {wrong:?}");
            assert_eq!(reply.headers["www-authenticate"], "Bearer");
        }
    }
    let unknown = curl.call(&site.url("/nowhere"), &[]);
    assert_eq!(unknown.status, 401, "a stranger does not learn which routes there are");
    for path in ["/health/live", "/health/ready"] {
        assert_eq!(curl.call(&site.url(path), &[]).status, 200, "{path}");
    }
}

#[test]
fn whoever_sends_much_without_a_token_still_hears_that_one_is_missing() {
    let Some(curl) = Curl::here() else { return };
    let site = Site::guarded();
    // No `Expect`: the body is on its way before anything is refused.
    let args = ["-T", "-", "-H", "Expect:", "-H", "Transfer-Encoding: chunked"];
    let reply = curl.send(&site.url("/api/notes/file/a"), &args, &vec![b'x'; 16 * 1024 * 1024]);
    assert_eq!(reply.refusal(), (401, "unauthorized".to_owned()));
}

#[test]
fn the_document_tells_of_the_token_where_one_is_asked_for() {
    let Some(curl) = Curl::here() else { return };
    let open = curl.call(&Site::open().url("/openapi.json"), &[]).json();
    assert!(open["security"].is_null());
    let right = format!("Authorization: Bearer {TOKEN}");
    let guarded = curl.call(&Site::guarded().url("/openapi.json"), &["-H", &right]).json();
    assert_eq!(guarded["security"][0]["bearer"], serde_json::json!([]));
}

#[test]
fn a_foreign_page_does_not_reach_a_door_without_a_token() {
    let Some(curl) = Curl::here() else { return };
    let site = Site::open();
    let url = site.url("/api/notes");
    let rebound = curl.call(&url, &["-H", "Host: evil.example"]);
    assert_eq!(rebound.refusal(), (403, "foreign_host".to_owned()));

    let json = ["-H", "Content-Type: application/json", "-d", r#"{"text":"from a page"}"#];
    let post = |origin: &str| curl.call(&url, &[&json[..], &["-H", &format!("Origin: {origin}")]].concat());
    assert_eq!(post("https://evil.example").refusal(), (403, "foreign_origin".to_owned()));
    assert_eq!(curl.call(&url, &[]).body, r#"["first"]"#, "nothing was noted");
    assert_eq!(post(&site.url("")).status, 201, "our own page may");
}
