//! The OpenAPI document against the routes.

use axum::http::Method;
use keyplane_http::openapi;

use crate::notes::{Mood, Notes};
use crate::site::{api, ask, head};

#[tokio::test]
async fn every_described_route_is_there_and_the_document_is_sound() {
    let router = api([Notes::new("notes", Mood::Ready), Notes::new("more", Mood::Ready)]);
    let document = ask(&router, Method::GET, "/openapi.json").await.json();
    assert_eq!(openapi::problems(&document), Vec::<String>::new());
    assert_eq!(document["openapi"], "3.1.0");
    assert_eq!(document["info"]["title"], "Keyplane");

    let requests = openapi::requests(&document, |_| "1".to_owned());
    assert_eq!(requests.len(), 5 + 2 * 5, "those of the base and of both panels");
    for (method, path) in requests {
        let status = head(&router, method.clone(), &path).await.status().as_u16();
        assert!(![404, 405].contains(&status), "{method} {path} is described and answers {status}");
    }
}

#[tokio::test]
async fn a_route_that_is_described_and_not_there_would_be_noticed() {
    let router = api([Notes::new("notes", Mood::Ready)]);
    assert_eq!(ask(&router, Method::GET, "/api/nothing").await.refusal(), (404, "unknown_route".to_owned()));
    assert_eq!(
        ask(&router, Method::PUT, "/api/notes/1").await.refusal(),
        (405, "method_not_allowed".to_owned())
    );
}
