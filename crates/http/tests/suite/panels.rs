//! What panels tell: readiness, metrics, alerts.

use axum::http::Method;
use serde_json::json;

use crate::curl::Curl;
use crate::notes::{Mood, Notes};
use crate::site::{Site, api, ask};

#[test]
fn metrics_are_in_prometheus_format() {
    let Some(curl) = Curl::here() else { return };
    let site = Site::open();
    for _ in 0..2 {
        curl.call(&site.url("/api/notes/1"), &[]);
    }
    curl.call(&site.url("/nowhere"), &[]);
    let reply = curl.call(&site.url("/metrics"), &[]);
    assert_eq!(reply.headers["content-type"], "text/plain; version=0.0.4; charset=utf-8");
    let expected = [
        r#"# HELP notes_total Notes "so" far.\nAll."#,
        "# TYPE notes_total counter",
        r#"notes_total{panel="notes",note="a \\ \"b\"\nc"} 1"#,
        r#"notes_bytes_bucket{panel="notes",le="+Inf"} 1"#,
        r#"keyplane_panel_answers{panel="notes"} 1"#,
        r#"keyplane_http_requests_total{route="/api/notes/{id}",method="GET",status="200"} 2"#,
        r#"keyplane_http_requests_total{route="(none)",method="GET",status="404"} 1"#,
    ];
    for line in expected {
        assert!(reply.body.lines().any(|told| told == line), "{line}\n{}", reply.body);
    }
}

#[tokio::test(start_paused = true)]
async fn a_panel_that_hangs_or_panics_does_not_hide_the_others() {
    let router = api([
        Notes::new("hanging", Mood::Hanging),
        Notes::new("notes", Mood::Ready),
        Notes::new("panicking", Mood::Panicking),
    ]);
    let metrics = ask(&router, Method::GET, "/metrics").await.body;
    for (panel, answers) in [("hanging", 0), ("notes", 1), ("panicking", 0)] {
        let line = format!("keyplane_panel_answers{{panel=\"{panel}\"}} {answers}");
        assert!(metrics.lines().any(|told| told == line), "{line}\n{metrics}");
    }
    assert!(metrics.contains("notes_total{panel=\"notes\""));

    let alerts = ask(&router, Method::GET, "/api/alerts").await.json();
    let expected = json!({"alerts": [
        {"panel": "hanging", "name": "panel_silent", "severity": "page", "message": "no answer within 5s", "firing": true},
        {"panel": "notes", "name": "notes_full", "severity": "page", "message": "no room", "firing": true},
        {"panel": "notes", "name": "notes_old", "severity": "warn", "message": "all fresh", "firing": false},
        {"panel": "panicking", "name": "panel_silent", "severity": "page", "message": "failed when asked", "firing": true},
    ]});
    assert_eq!(alerts, expected);
}

#[tokio::test(start_paused = true)]
async fn an_api_is_ready_when_all_its_panels_are() {
    let ready = ask(&api([Notes::new("notes", Mood::Ready)]), Method::GET, "/health/ready").await;
    assert_eq!((ready.status, ready.json()), (200, json!({"status": "ready"})));

    let router = api([
        Notes::new("a", Mood::NotReady),
        Notes::new("b", Mood::Ready),
        Notes::new("c", Mood::Hanging),
        Notes::new("d", Mood::Panicking),
    ]);
    let reply = ask(&router, Method::GET, "/health/ready").await;
    assert_eq!(reply.refusal(), (503, "not_ready".to_owned()));
    let reasons = "a: still reading; c: no answer within 5s; d: failed when asked";
    assert_eq!(reply.json()["error"]["message"], reasons);
    assert_eq!(ask(&router, Method::GET, "/health/live").await.status, 200, "not ready is not dead");
}
