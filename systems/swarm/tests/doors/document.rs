//! The table in words.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::http::Request;
use keyplane_http::{Options, openapi, router};
use keyplane_swarm::api::{Api, Args, Need, operations};
use keyplane_testing::{Place, every_store};
use serde_json::{Map, Value};
use tower::ServiceExt as _;

use crate::desk;

/// A value for each parameter that stands in a path.
fn sample(name: &str) -> String {
    let mut params = operations().flat_map(|op| op.params);
    params.find(|param| param.name == name).map(|param| param.example.to_owned()).expect("a parameter")
}

#[every_store(only(embedded))]
async fn the_document_is_sound_and_every_route_is_there(place: Place) {
    let router = router(vec![Arc::new(Api::new(desk(&place).await))], Options::default()).unwrap();
    let request = Request::builder().uri("/openapi.json").body(Body::empty()).unwrap();
    let answer = router.clone().oneshot(request).await.unwrap();
    let document: Value =
        serde_json::from_slice(&to_bytes(answer.into_body(), usize::MAX).await.unwrap()).unwrap();
    assert_eq!(openapi::problems(&document), Vec::<String>::new());
    assert_eq!(openapi::unanswered(&router, &document, sample).await, Vec::<String>::new());
    let claim = &document["paths"]["/api/swarms/{swarm}/tasks/claim"]["post"];
    let body = &claim["requestBody"]["content"]["application/json"]["schema"];
    assert_eq!(body["required"], serde_json::json!(["agent"]), "the swarm stands in the path");
    assert_eq!(body["properties"]["agent"]["pattern"], "^agent_[a-zA-Z0-9_]{8,32}$");
}

#[test]
fn names_commands_and_routes_are_each_there_once() {
    let names: BTreeSet<&str> = operations().map(|op| op.name).collect();
    let words: BTreeSet<&[&str]> = operations().map(|op| op.words).collect();
    let routes: BTreeSet<(&str, &str)> = operations().map(|op| (op.method.as_str(), op.path)).collect();
    let count = operations().count();
    assert_eq!((names.len(), words.len(), routes.len()), (count, count, count));
    for op in operations() {
        let by_words = match op.words {
            [word] => format!("swarm_{word}"),
            words => words.join("_"),
        };
        assert_eq!(op.name, by_words);
    }
}

#[test]
fn what_stands_in_a_path_is_a_subject_and_every_example_will_do() {
    for op in operations() {
        for part in op.path.split('/').filter_map(|part| part.strip_prefix('{')) {
            let name = part.trim_end_matches('}');
            let param = op.params.iter().find(|param| param.name == name);
            assert!(param.is_some_and(|param| param.need == Need::Subject), "{}: {name}", op.name);
        }
        let given: Map<String, Value> = op
            .params
            .iter()
            .map(|param| (param.name.to_owned(), param.kind.from_text(param.example)))
            .collect();
        Args::read(op, given).unwrap_or_else(|refused| panic!("{}: {refused}", op.name));
        for end in [op.summary, op.promise] {
            assert!(!end.is_empty(), "{}", op.name);
        }
    }
}
