//! Checkpoints that are taken away through one door and given back through it.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::http::{Request, StatusCode};
use futures_core::Stream;
use keyplane_http::{Options, router};
use keyplane_swarm::api::Api;
use keyplane_testing::{Place, every_store};
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::desk;

const SWARM: &str = "/api/swarms/swarm_abc123def456";

async fn asked(router: &Router, method: &str, path: &str, body: Body) -> (StatusCode, Value) {
    let request = Request::builder().method(method).uri(path).header("Content-Type", "application/json");
    let answer = router.clone().oneshot(request.body(body).unwrap()).await.unwrap();
    let status = answer.status();
    let body = to_bytes(answer.into_body(), usize::MAX).await.unwrap();
    (status, serde_json::from_slice(&body).unwrap())
}

async fn done(router: &Router, method: &str, path: &str, body: &Value) -> Value {
    let body = if method == "GET" { Body::empty() } else { Body::from(body.to_string()) };
    let (status, told) = asked(router, method, path, body).await;
    assert_eq!(status, StatusCode::OK, "{method} {path}: {told}");
    told
}

/// A body that never ends.
struct Endless(Bytes);

impl Stream for Endless {
    type Item = Result<Bytes, std::io::Error>;

    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(Some(Ok(self.0.clone())))
    }
}

#[every_store(only(embedded))]
async fn what_is_exported_over_http_is_taken_over_http(place: Place) {
    let router = router(vec![Arc::new(Api::new(desk(&place).await))], Options::default()).unwrap();
    let objective = json!({ "description": "Log people in", "type": "feature", "priority": "high" });
    let new = json!({ "swarm": "swarm_abc123def456", "objective": objective });
    done(&router, "POST", "/api/swarms", &new).await;
    let agent = json!({ "agent": "agent_dev00001", "role": "coder" });
    done(&router, "POST", &format!("{SWARM}/agents"), &agent).await;
    let mut draws = fastrand::Rng::with_seed(7);
    for number in 0..25 {
        let content: String = (0..90_000).map(|_| draws.alphanumeric()).collect();
        let path = format!("{SWARM}/memory/knowledge/mem_{number:08}");
        done(&router, "PUT", &path, &json!({ "agent": "agent_dev00001", "content": content })).await;
    }
    done(&router, "POST", &format!("{SWARM}/checkpoints"), &json!({})).await;
    let path = format!("{SWARM}/checkpoints/checkpoint_00000001/export");
    let export = done(&router, "GET", &path, &json!({})).await;
    let length = export.to_string().len();
    assert!(length > 3 << 20, "{length} bytes");

    let given = json!({ "export": export, "dryRun": true });
    let planned = done(&router, "POST", &format!("{SWARM}/recover"), &given).await;
    assert_eq!(
        (planned["checkpoint"].as_str(), planned["known"].as_u64()),
        (Some("checkpoint_00000001"), Some(27))
    );
    // There is an end to it.
    let endless = Body::from_stream(Endless(Bytes::from(vec![b' '; 16 << 20])));
    let (status, told) = asked(&router, "POST", &format!("{SWARM}/recover"), endless).await;
    assert_eq!(
        (status, told["error"]["code"].as_str()),
        (StatusCode::PAYLOAD_TOO_LARGE, Some("too_large")),
        "{told}"
    );
    // Nobody else may send as much.
    let much = json!({ "agent": "agent_dev00002", "role": "coder", "by": " ".repeat(2 << 20) });
    let (status, told) =
        asked(&router, "POST", &format!("{SWARM}/agents"), Body::from(much.to_string())).await;
    assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE, "{told}");
}

/// Tasks and agents of one would be mixed into the other.
#[every_store(only(embedded))]
async fn another_swarms_export_is_refused(place: Place) {
    let router = router(vec![Arc::new(Api::new(desk(&place).await))], Options::default()).unwrap();
    let objective = json!({ "description": "Log people in", "type": "feature", "priority": "high" });
    for swarm in ["swarm_abc123def456", "swarm_def456abc123"] {
        done(&router, "POST", "/api/swarms", &json!({ "swarm": swarm, "objective": objective })).await;
    }
    done(&router, "POST", &format!("{SWARM}/checkpoints"), &json!({})).await;
    let path = format!("{SWARM}/checkpoints/checkpoint_00000001/export");
    let export = done(&router, "GET", &path, &json!({})).await;
    for dry_run in [true, false] {
        let given = Body::from(json!({ "export": export, "dryRun": dry_run }).to_string());
        let (status, told) = asked(&router, "POST", "/api/swarms/swarm_def456abc123/recover", given).await;
        assert_eq!(
            (status, told["error"]["code"].as_str()),
            (StatusCode::BAD_REQUEST, Some("bad_export")),
            "{told}"
        );
        for word in ["swarm_abc123def456", "swarm_def456abc123", "checkpoint fork"] {
            assert!(told.to_string().contains(word), "{told}");
        }
    }
    done(&router, "POST", &format!("{SWARM}/recover"), &json!({ "export": export, "dryRun": true })).await;
}
