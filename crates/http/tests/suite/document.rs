//! The OpenAPI document against the routes.

use std::sync::Arc;

use axum::Router;
use axum::http::{Method, StatusCode};
use axum::routing::get;
use keyplane_http::{Operation, Options, Panel, openapi, router};

use crate::notes::{Mood, Notes};
use crate::site::{api, ask};

#[tokio::test]
async fn every_described_route_is_there_and_the_document_is_sound() {
    let router = api([Notes::new("notes", Mood::Ready), Notes::new("more", Mood::Ready)]);
    let document = ask(&router, Method::GET, "/openapi.json").await.json();
    assert_eq!(openapi::problems(&document), Vec::<String>::new());
    assert_eq!(openapi::unanswered(&router, &document, |_| "1".to_owned()).await, Vec::<String>::new());
    assert_eq!(document["openapi"], "3.1.0");
    assert_eq!(document["info"]["title"], "Keyplane");
    for path in
        ["/health/live", "/health/ready", "/metrics", "/api/alerts", "/openapi.json", "/api/more/{id}"]
    {
        assert!(document["paths"][path]["get"].is_object(), "{path}");
    }
}

/// Describes more than it has.
struct Boaster;

impl Panel for Boaster {
    fn name(&self) -> &'static str {
        "boaster"
    }

    fn routes(&self) -> Router {
        Router::new().route("/boast/{id}", get(|| async { "there" }))
    }

    fn operations(&self) -> Vec<Operation> {
        let there = |operation: Operation| operation.ends(StatusCode::OK, "There.");
        vec![
            there(Operation::get("/boast/{id}", "There")),
            there(Operation::put("/boast/{id}", "Another method")),
            there(Operation::get("/boast/best", "Hidden behind a parameter")),
            there(Operation::get("/missing", "Not there")),
        ]
    }
}

#[tokio::test]
async fn a_route_that_is_described_and_not_there_is_named() {
    let router = router(vec![Arc::new(Boaster)], Options::default()).unwrap();
    let document = ask(&router, Method::GET, "/openapi.json").await.json();
    let expected = [
        "put /boast/{id} is answered by /boast/{id}, with 405",
        "get /boast/best is answered by /boast/{id}, with 200",
        "get /missing is answered by no route, with 404",
    ];
    assert_eq!(openapi::unanswered(&router, &document, |_| "1".to_owned()).await, expected);
}
