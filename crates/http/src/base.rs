//! The routes that every API has: health, metrics, alerts, and its own description.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Json, Router};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::door::{Door, LIVE, READY};
use crate::metrics::{self, Family, Sample};
use crate::operation::Operation;
use crate::panel::{Later, Panel};
use crate::refusal::Refusal;
use crate::requests::Requests;

/// The name under which these routes stand in the document.
pub(crate) const NAME: &str = "base";

/// A panel that is not ready may be so soon; probes ask about that often.
const READY_AGAIN: Duration = Duration::from_secs(1);

pub(crate) struct Base {
    pub(crate) panels: Vec<Arc<dyn Panel>>,
    pub(crate) panel_within: Duration,
    pub(crate) requests: Arc<Requests>,
    pub(crate) document: Document,
}

/// The document, for a door without a token and for one with.
pub(crate) struct Document {
    pub(crate) open: Bytes,
    pub(crate) guarded: Bytes,
}

type Shared = State<Arc<Base>>;

impl Base {
    pub(crate) fn routes(self) -> Router {
        Router::new()
            .route(LIVE, get(|| async { Json(json!({"status": "live"})) }))
            .route(READY, get(ready))
            .route("/metrics", get(measured))
            .route("/api/alerts", get(alerts))
            .route("/openapi.json", get(document))
            .with_state(Arc::new(self))
    }

    /// Asks all panels at once, each in a task of its own. The order is that of the panels; `Err` says why there is no answer.
    async fn ask<T, A>(&self, question: A) -> Vec<(&'static str, Result<T, String>)>
    where
        T: Send + 'static,
        A: for<'a> Fn(&'a dyn Panel) -> Later<'a, T> + Copy + Send + 'static,
    {
        let within = self.panel_within;
        let mut asked = JoinSet::new();
        for (at, panel) in self.panels.iter().cloned().enumerate() {
            asked.spawn(async move { (at, timeout(within, question(&*panel)).await) });
        }
        // Whoever panics never answers, and keeps this.
        let mut answers: Vec<_> =
            self.panels.iter().map(|panel| (panel.name(), Err("failed when asked".to_owned()))).collect();
        while let Some(answered) = asked.join_next().await {
            let Ok((at, answer)) = answered else { continue };
            if let Some((_, slot)) = answers.get_mut(at) {
                *slot = answer.map_err(|_| format!("no answer within {within:?}"));
            }
        }
        answers
    }
}

async fn ready(State(base): Shared) -> Result<Json<Value>, Refusal> {
    let answers = base.ask(|panel| panel.ready()).await;
    let not: Vec<String> = answers
        .into_iter()
        .filter_map(|(name, answer)| Some(format!("{name}: {}", answer.and_then(|ready| ready).err()?)))
        .collect();
    if not.is_empty() {
        return Ok(Json(json!({"status": "ready"})));
    }
    Err(Refusal::unavailable(not.join("; "), READY_AGAIN).code("not_ready"))
}

async fn measured(State(base): Shared) -> impl IntoResponse {
    let mut families = Vec::from(base.requests.families());
    let mut answering = Vec::new();
    for (name, answer) in base.ask(|panel| panel.metrics()).await {
        let answers = if answer.is_ok() { 1.0 } else { 0.0 };
        answering.push(Sample::number(answers).label("panel", name));
        families.extend(answer.unwrap_or_default());
    }
    let about = "Whether a panel told its metrics.";
    families.push(Family::gauge("keyplane_panel_answers", about, answering));
    ([(CONTENT_TYPE, metrics::CONTENT_TYPE)], metrics::encode(&families))
}

async fn alerts(State(base): Shared) -> Json<Value> {
    let mut all = Vec::new();
    for (panel, answer) in base.ask(|panel| panel.alerts()).await {
        // A panel that cannot tell is a reason to look, not a sign that all is well.
        let told = answer.unwrap_or_else(|why| vec![crate::Alert::page("panel_silent", true, why)]);
        all.extend(told.into_iter().map(|crate::Alert { name, severity, message, firing }| {
            json!({"panel": panel, "name": name, "severity": severity, "message": message, "firing": firing})
        }));
    }
    Json(json!({"alerts": all}))
}

async fn document(State(base): Shared, door: Option<Extension<Door>>) -> Response {
    let guarded = door.is_some_and(|Extension(door)| door.asks_for_token());
    let document = if guarded { &base.document.guarded } else { &base.document.open };
    ([(CONTENT_TYPE, "application/json")], document.clone()).into_response()
}

/// These routes in words.
pub(crate) fn operations() -> Vec<Operation> {
    let status = || json!({"type": "object", "properties": {"status": {"type": "string"}}});
    let text = json!({"type": "string"});
    let alert = json!({
        "type": "object",
        "required": ["panel", "name", "severity", "message", "firing"],
        "properties": {
            "panel": text,
            "name": text,
            "severity": {"enum": ["page", "warn"]},
            "message": text,
            "firing": {"type": "boolean"},
        },
    });
    let alerts = json!({"type": "object", "properties": {"alerts": {"type": "array", "items": alert}}});
    let media = "application/json";
    vec![
        Operation::get(LIVE, "Whether the process answers").describe("Needs no token.").answers(
            StatusCode::OK,
            "It does.",
            media,
            status(),
        ),
        Operation::get(READY, "Whether requests make sense yet")
            .describe("Needs no token. Asks every panel.")
            .answers(StatusCode::OK, "Every panel is ready.", media, status())
            .refuses(StatusCode::SERVICE_UNAVAILABLE, "Some are not; the message says which and why."),
        Operation::get("/metrics", "Metrics of all panels").answers(
            StatusCode::OK,
            "Prometheus' text format 0.0.4.",
            "text/plain",
            text,
        ),
        Operation::get("/api/alerts", "What can be wrong, and whether it is now").answers(
            StatusCode::OK,
            "All alerts of all panels.",
            media,
            alerts,
        ),
        Operation::get("/openapi.json", "This document").answers(
            StatusCode::OK,
            "OpenAPI 3.1.",
            media,
            json!({"type": "object"}),
        ),
    ]
}
