//! A small system with a panel: notes that have numbers.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, Query, State};
use axum::http::StatusCode;
use axum::routing::{get, put};
use axum::{Json, Router};
use futures_core::Stream;
use keyplane_http::live::{Event, Live};
use keyplane_http::metrics::{Buckets, Family, Sample};
use keyplane_http::operation::Place;
use keyplane_http::{Alert, Later, Operation, Panel, Refusal};
use serde::Deserialize;
use serde_json::{Value, json};

/// Larger than the default of an API, to show that a panel sets its own.
pub(crate) const FILE_LIMIT: usize = 2 * 1024 * 1024;

/// Events of the live stream, numbered from 1; then it is quiet.
pub(crate) const EVENTS: u64 = 5;

/// How the panel is today.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) enum Mood {
    #[default]
    Ready,
    NotReady,
    Hanging,
    Panicking,
}

#[derive(Debug)]
pub(crate) struct Notes {
    pub(crate) name: &'static str,
    pub(crate) mood: Mood,
    notes: Arc<Mutex<Vec<String>>>,
}

impl Notes {
    pub(crate) fn new(name: &'static str, mood: Mood) -> Self {
        Self { name, mood, notes: Arc::new(Mutex::new(vec!["first".to_owned()])) }
    }

    /// Answers as the mood has it.
    fn later<T: Send + 'static>(&self, answer: T) -> Later<'_, T> {
        Box::pin(async move {
            match self.mood {
                Mood::Hanging => std::future::pending().await,
                Mood::Panicking => panic!("a bad day"),
                Mood::Ready | Mood::NotReady => answer,
            }
        })
    }
}

impl Panel for Notes {
    fn name(&self) -> &'static str {
        self.name
    }

    fn routes(&self) -> Router {
        let at = |path: &str| format!("/api/{}{path}", self.name);
        Router::new()
            .route(&at(""), get(list).post(add))
            .route(&at("/{id}"), get(one))
            .route(&at("/live"), get(live))
            .route(&at("/stuck"), get(std::future::pending::<()>))
            .route(&at("/broken"), get(broken))
            .route(&at("/file/{*path}"), put(file).layer(DefaultBodyLimit::max(FILE_LIMIT)))
            .with_state(Arc::clone(&self.notes))
            .fallback(|| async { "dropped" })
    }

    fn operations(&self) -> Vec<Operation> {
        let at = |path: &str| format!("/api/{}{path}", self.name);
        let note = json!({"type": "object", "properties": {"text": {"type": "string"}}});
        let count = json!({"type": "integer"});
        vec![
            Operation::get(at(""), "All notes")
                .parameter(Place::Query, "from", "The first to list.", count.clone())
                .answers(
                    StatusCode::OK,
                    "The notes.",
                    "application/json",
                    json!({"type": "array", "items": note}),
                ),
            Operation::post(at(""), "Add a note")
                .describe("A note is added once.")
                .takes("application/json", note.clone())
                .answers(StatusCode::CREATED, "Its number.", "application/json", count.clone())
                .refuses(StatusCode::CONFLICT, "It is there already."),
            Operation::get(at("/{id}"), "One note")
                .parameter(Place::Path, "id", "Its number.", count)
                .answers(StatusCode::OK, "The note.", "application/json", note)
                .refuses(StatusCode::NOT_FOUND, "No such note."),
            Operation::get(at("/live"), "Notes as they come").streams("One event per note."),
            Operation::put(at("/file/{*path}"), "Keep a file")
                .takes("application/octet-stream", json!({"type": "string"}))
                .answers(StatusCode::OK, "Its length.", "application/json", json!({"type": "integer"})),
        ]
    }

    fn metrics(&self) -> Later<'_, Vec<Family>> {
        let notes = self.notes.lock().unwrap().len() as u64;
        let mut sizes = Buckets::new(&[10.0]);
        sizes.observe(5.0);
        self.later(vec![
            Family::counter(
                "notes_total",
                "Notes \"so\" far.\nAll.",
                [Sample::count(notes).label("panel", self.name).label("note", "a \\ \"b\"\nc")],
            ),
            Family::histogram(
                "notes_bytes",
                "Sizes.",
                [Sample::distribution(sizes).label("panel", self.name)],
            ),
        ])
    }

    fn alerts(&self) -> Later<'_, Vec<Alert>> {
        self.later(vec![
            Alert::page("notes_full", true, "no room"),
            Alert::warn("notes_old", false, "all fresh"),
        ])
    }

    fn ready(&self) -> Later<'_, Result<(), String>> {
        self.later(match self.mood {
            Mood::NotReady => Err("still reading".to_owned()),
            _ => Ok(()),
        })
    }
}

type Shared = State<Arc<Mutex<Vec<String>>>>;

#[derive(Deserialize)]
struct From {
    #[serde(default)]
    from: usize,
}

#[derive(Deserialize)]
struct New {
    text: String,
}

async fn list(State(notes): Shared, Query(From { from }): Query<From>) -> Json<Vec<String>> {
    Json(notes.lock().unwrap().iter().skip(from).cloned().collect())
}

async fn add(
    State(notes): Shared,
    Json(New { text }): Json<New>,
) -> Result<(StatusCode, Json<usize>), Refusal> {
    let mut notes = notes.lock().unwrap();
    if notes.contains(&text) {
        return Err(Refusal::conflict("duplicate", format!("`{text}` is noted already")));
    }
    notes.push(text);
    Ok((StatusCode::CREATED, Json(notes.len())))
}

async fn one(State(notes): Shared, Path(id): Path<usize>) -> Result<Json<Value>, Refusal> {
    let notes = notes.lock().unwrap();
    let text = id.checked_sub(1).and_then(|at| notes.get(at));
    text.map(|text| Json(json!({"text": text})))
        .ok_or_else(|| Refusal::not_found(format!("there is no note {id}")))
}

async fn broken() {
    panic!("the secret of note 7");
}

async fn file(body: Bytes) -> Json<usize> {
    Json(body.len())
}

async fn live(live: Live) -> axum::response::Response {
    let seen = live.last_id().and_then(|id| id.parse().ok()).unwrap_or(0);
    live.events(Numbered(seen))
}

/// Counts up to [`EVENTS`], then waits for ever.
struct Numbered(u64);

impl Stream for Numbered {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Event>> {
        if self.0 >= EVENTS {
            return Poll::Pending;
        }
        self.0 += 1;
        Poll::Ready(Some(Event::new(self.0.to_string(), "note", json!({"n": self.0}))))
    }
}
