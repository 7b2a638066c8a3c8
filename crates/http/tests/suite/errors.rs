//! One error body, whoever refuses.

use std::time::Duration;

use axum::http::Method;
use keyplane_http::Options;

use crate::curl::Curl;
use crate::notes::{FILE_LIMIT, Mood};
use crate::site::{Site, ask, notes};

const JSON: [&str; 2] = ["-H", "Content-Type: application/json"];

#[test]
fn every_refusal_has_one_body() {
    let Some(curl) = Curl::here() else { return };
    let site = Site::open();
    let duplicate = [&JSON[..], &["-d", r#"{"text":"first"}"#]].concat();
    let not_json = [&JSON[..], &["-d", "{"]].concat();
    let no_text = [&JSON[..], &["-d", "{}"]].concat();
    let cases: [(&str, &[&str], (u16, &str)); 10] = [
        ("/nowhere", &[], (404, "unknown_route")),
        ("/api/notes/9", &[], (404, "not_found")),
        ("/api/notes/nine", &[], (400, "bad_request")),
        ("/api/notes?from=x", &[], (400, "bad_request")),
        ("/api/notes", &["-X", "DELETE"], (405, "method_not_allowed")),
        ("/api/notes", &duplicate, (409, "duplicate")),
        ("/api/notes", &not_json, (400, "bad_request")),
        ("/api/notes", &no_text, (422, "unprocessable")),
        ("/api/notes", &["-d", "text=first"], (415, "unsupported_media")),
        ("/api/notes/broken", &[], (500, "internal")),
    ];
    for (path, args, (status, code)) in cases {
        let reply = curl.call(&site.url(path), args);
        assert_eq!(reply.refusal(), (status, code.to_owned()), "{path} {args:?}: {}", reply.body);
        assert!(!reply.body.contains("secret"), "reasons of ours stay with us: {}", reply.body);
    }
    let wrong = curl.call(&site.url("/api/notes"), &["-X", "DELETE"]);
    assert_eq!(wrong.headers["allow"], "GET,HEAD,POST", "what else axum says stays");
    assert_eq!(curl.call(&site.url("/health/live"), &[]).status, 200, "a panic costs one answer");
}

#[test]
fn a_body_has_a_limit_that_a_panel_may_set() {
    let Some(curl) = Curl::here() else { return };
    let site = Site::open();
    let limit = Options::default().body_limit;
    let note = |length: usize| format!(r#"{{"text":"{}"}}"#, "x".repeat(length - 11)).into_bytes();
    let add = |body: &[u8]| {
        curl.send(&site.url("/api/notes"), &[&JSON[..], &["--data-binary", "@-"]].concat(), body)
    };
    assert_eq!(add(&note(limit)).status, 201);
    assert_eq!(add(&note(limit + 1)).refusal(), (413, "too_large".to_owned()));

    // In chunks no length is known before; it is counted as it comes.
    let put = |length: usize| {
        let args = ["-T", "-", "-H", "Transfer-Encoding: chunked"];
        curl.send(&site.url("/api/notes/file/a/b"), &args, &vec![b'x'; length])
    };
    assert_eq!(put(FILE_LIMIT).body, FILE_LIMIT.to_string());
    assert_eq!(put(FILE_LIMIT + 1).refusal(), (413, "too_large".to_owned()));
    // Far over it, a client still learns why rather than that its connection was reset.
    assert_eq!(put(8 * FILE_LIMIT).refusal(), (413, "too_large".to_owned()));
    assert_eq!(add(&note(8 * FILE_LIMIT)).refusal(), (413, "too_large".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_request_that_takes_too_long_is_answered_too() {
    let start = tokio::time::Instant::now();
    let reply = ask(&notes(Mood::Ready), Method::GET, "/api/notes/stuck").await;
    assert_eq!(reply.refusal(), (503, "timed_out".to_owned()));
    assert!(reply.body.contains("may have been applied"));
    assert_eq!(reply.headers["retry-after"], "1");
    assert_eq!(start.elapsed().as_secs(), Duration::from_secs(30).as_secs(), "of virtual time");
}
