//! The operations over HTTP: a route for each, and the same in words for the OpenAPI document.
//!
//! What an operation takes stands in the path where the path names it, else in the query of a read and in the JSON body of a
//! change. A change that needs nothing more may come without a body.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Query, RawPathParams};
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderName, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{MethodFilter, on};
use axum::{Json, Router};
use futures_core::Stream;
use keyplane_http::live::Event;
use keyplane_http::metrics::Family;
use keyplane_http::operation::Place;
use keyplane_http::{Alert, Later, Live, Operation, Panel, Refusal};
use keyplane_schema::Contract;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use super::figures::Figures;
use super::op::Op;
use super::refused::{Blame, Refused};
use super::told::Told;
use super::{Args, Desk, events, operations};
use crate::keys::SwarmId;
use crate::run::Keeper;

const JSON: &str = "application/json";

/// A store that is away comes back by itself.
const AGAIN: Duration = Duration::from_secs(2);

/// The swarms as a panel of an HTTP server.
#[derive(Debug, Clone)]
pub struct Api {
    desk: Desk,
    figures: Figures,
}

impl Api {
    /// The API of this desk.
    #[must_use]
    pub fn new(desk: Desk) -> Self {
        Self { desk, figures: Figures::default() }
    }

    /// The same, beside a keeper: its counts are told too.
    #[must_use]
    pub fn beside(desk: Desk, keeper: &Keeper) -> Self {
        Self { desk: desk.kept(), figures: Figures::of(keeper.counters()) }
    }
}

impl Panel for Api {
    fn name(&self) -> &'static str {
        "swarm"
    }

    fn routes(&self) -> Router {
        let routes = operations().fold(Router::new(), |router, op| {
            let desk = self.desk.clone();
            let handler = move |params: RawPathParams, query, headers, live, body| {
                let (desk, path) = (desk.clone(), texts(&params));
                async move { answer(op, desk, Request { path, query, headers, body }, live).await }
            };
            // Methods of the table are all among those that routes are made for.
            let filter = MethodFilter::try_from(op.method.clone()).unwrap_or(MethodFilter::GET);
            router.route(op.path, on(filter, handler).layer(DefaultBodyLimit::max(op.most_request())))
        });
        #[cfg(feature = "mcp")]
        let routes = routes.merge(super::mcp::Tools::new(self.desk.clone()).routes());
        routes
    }

    fn operations(&self) -> Vec<Operation> {
        let contract = self.desk.swarms.contract();
        let all = operations().map(|op| described(op, contract));
        #[cfg(feature = "mcp")]
        let all = all.chain([super::mcp::described()]);
        all.collect()
    }

    fn metrics(&self) -> Later<'_, Vec<Family>> {
        Box::pin(self.figures.metrics(&self.desk))
    }

    fn alerts(&self) -> Later<'_, Vec<Alert>> {
        Box::pin(self.figures.alerts(&self.desk))
    }

    fn ready(&self) -> Later<'_, Result<(), String>> {
        Box::pin(async {
            let any = SwarmId::new("swarm_readiness").map_err(|error| error.to_string())?;
            // Any id will do: what counts is that the store answers.
            self.desk.swarms.is_there(&any).await.map(drop).map_err(|error| error.to_string())
        })
    }
}

/// What was sent.
struct Request {
    path: Vec<(String, String)>,
    query: Query<Vec<(String, String)>>,
    headers: HeaderMap,
    body: Bytes,
}

fn texts(params: &RawPathParams) -> Vec<(String, String)> {
    params.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

async fn answer(op: &'static Op, desk: Desk, request: Request, live: Live) -> Result<Response, Refusal> {
    let given = given(op, &request)?;
    if op.name == events::NAME && !header(&request.headers, ACCEPT).starts_with(JSON) {
        return follow(op, desk, given, live).await.map_err(refusal);
    }
    let told = op.carry_out(&desk, given).await.map_err(refusal)?;
    Ok(Json(told).into_response())
}

/// Everything by its name, wherever it stood.
fn given(op: &Op, request: &Request) -> Result<Map<String, Value>, Refusal> {
    let mut given = if op.reads() { Map::new() } else { body(request)? };
    if let Some(name) = given.keys().find(|name| op.is_in_path(name)) {
        return Err(refusal(Refused::bad_argument(name, &"stands in the path, and not in the body")));
    }
    let Query(query) = &request.query;
    if let Some((name, _)) = query.first().filter(|_| !op.reads()) {
        return Err(refusal(Refused::bad_argument(name, &"a change takes its parameters in a JSON body")));
    }
    for (name, text) in request.path.iter().chain(query) {
        let value = op.params.iter().find(|param| param.name == name).map(|param| param.kind.from_text(text));
        let value = value.unwrap_or_else(|| text.as_str().into());
        match (given.get_mut(name), value) {
            // A list may be named several times.
            (Some(Value::Array(items)), Value::Array(more)) => items.extend(more),
            (_, value) => drop(given.insert(name.clone(), value)),
        }
    }
    Ok(given)
}

fn body(request: &Request) -> Result<Map<String, Value>, Refusal> {
    if request.body.is_empty() {
        return Ok(Map::new());
    }
    let kind = header(&request.headers, CONTENT_TYPE);
    if kind.split(';').next().map(str::trim) != Some(JSON) {
        return Err(Refusal::unsupported_media(format!(
            "the body is `{kind}`: parameters are sent as {JSON}"
        )));
    }
    match serde_json::from_slice(&request.body) {
        Ok(Value::Object(given)) => Ok(given),
        Ok(_) => Err(Refusal::bad_request("the body is JSON, and no object")),
        Err(error) => Err(Refusal::bad_request(format!("the body is no JSON: {error}"))),
    }
}

fn header(headers: &HeaderMap, name: HeaderName) -> &str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// The events as they come, behind the last one that the client has seen.
async fn follow(op: &Op, desk: Desk, given: Map<String, Value>, live: Live) -> Result<Response, Refused> {
    let asked = given.contains_key("after");
    let args = Args::read(op, given)?;
    let swarm: SwarmId = args.id("swarm")?;
    let newest = events::end(&desk, &swarm).await?;
    let position = match live.last_id() {
        Some(id) => events::position("Last-Event-ID", id)?,
        None if asked => events::position("after", args.text("after")?)?,
        None => newest,
    };
    let (tell, told) = mpsc::channel(events::AHEAD);
    tokio::spawn(events::follow(desk, swarm, position, tell));
    Ok(live.events(Telling(told)))
}

struct Telling(mpsc::Receiver<Told>);

impl Stream for Telling {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Event>> {
        let event = |(id, name, data): Told| match id {
            Some(id) => Event::new(id, name, data),
            None => Event::beside(name, data),
        };
        self.0.poll_recv(context).map(|told| told.map(event))
    }
}

fn status(blame: Blame) -> StatusCode {
    match blame {
        Blame::Input => StatusCode::BAD_REQUEST,
        Blame::Size => StatusCode::PAYLOAD_TOO_LARGE,
        Blame::Absence => StatusCode::NOT_FOUND,
        Blame::State => StatusCode::CONFLICT,
        Blame::Store => StatusCode::SERVICE_UNAVAILABLE,
        Blame::Inside => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

fn refusal(refused: Refused) -> Refusal {
    let refusal = match refused.blame {
        Blame::Inside => return Refusal::internal(refused.message),
        Blame::Store => Refusal::unavailable(refused.message, AGAIN),
        blame => Refusal::new(status(blame), refused.message),
    };
    refusal.code(refused.code).help(refused.help)
}

/// An operation as the OpenAPI document has it.
fn described(op: &Op, contract: &Contract) -> Operation {
    let mut operation = Operation::new(op.method.clone(), op.path, op.summary).describe(format!(
        "{} MCP: `{}`. CLI: `keyplane swarm {}`.",
        op.promise,
        op.name,
        op.words.join(" ")
    ));
    for param in op.params {
        let place = match (op.is_in_path(param.name), op.reads()) {
            (true, _) => Place::Path,
            (false, true) => Place::Query,
            (false, false) => continue,
        };
        operation = operation.parameter(place, param.name, param.doc, param.schema(contract));
    }
    if !op.reads() {
        operation = operation.takes(JSON, schema(op, contract, |name| !op.is_in_path(name)));
    }
    if op.name == events::NAME {
        operation = operation.streams(
            "Live: events `change`, and `gap` where some are gone. With `Accept: application/json` a batch: `events` and `next`.",
        );
    } else {
        operation = operation.answers(StatusCode::OK, "Carried out.", JSON, json!({ "type": "object" }));
    }
    operation
        .refuses(StatusCode::BAD_REQUEST, "`bad_parameter`, `unknown_parameter`: the message names it.")
        .refuses(StatusCode::NOT_FOUND, "`no_swarm`, `unknown`.")
        .refuses(StatusCode::CONFLICT, "What is there stands against it; the code says what.")
        .refuses(StatusCode::PAYLOAD_TOO_LARGE, "`too_large`: the message names the field and its limit.")
        .refuses(
            StatusCode::SERVICE_UNAVAILABLE,
            "The store is away; the help says whether it may have been carried out.",
        )
}

/// The JSON schema of an object with the operation's parameters.
pub(super) fn schema(op: &Op, contract: &Contract, wanted: impl Fn(&str) -> bool) -> Value {
    let params: Vec<_> = op.params.iter().filter(|param| wanted(param.name)).collect();
    let properties: Map<String, Value> =
        params.iter().map(|param| (param.name.to_owned(), param.schema(contract))).collect();
    let required: Vec<&str> =
        params.iter().filter(|param| param.is_required()).map(|param| param.name).collect();
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}
