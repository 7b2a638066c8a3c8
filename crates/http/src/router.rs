//! Panels put together to one API.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::DefaultBodyLimit;
use axum::http::Uri;
use axum::{Router, middleware};

use crate::base::{self, Base, Document};
use crate::openapi;
use crate::operation::Operation;
use crate::panel::Panel;
use crate::refusal::Refusal;
use crate::requests::Requests;
use crate::tend::{Tended, tend};

/// What an API says of itself, and its limits.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// The title of the OpenAPI document.
    pub title: String,
    /// Its version.
    pub version: String,
    /// The longest body that extractors take, in bytes. A panel sets its own with a layer
    /// [`DefaultBodyLimit`] on its routes.
    pub body_limit: usize,
    /// How long a request may take until the head of its answer; what streams after that is not cut.
    pub timeout: Duration,
    /// How long a panel may take to tell its metrics, alerts and readiness.
    pub panel_within: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            title: "Keyplane".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            body_limit: 1024 * 1024,
            timeout: Duration::from_secs(30),
            // Less than the ten seconds in which Prometheus gives up, so that the other panels are still told.
            panel_within: Duration::from_secs(5),
        }
    }
}

/// Why panels do not fit together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RouterError {
    /// Two panels have one name.
    #[error("two panels are named {name}; metrics and alerts could not tell them apart")]
    SameName {
        /// The name.
        name: &'static str,
    },
    /// Two operations would answer the same request.
    #[error("{path} of {second} is taken by {taken} of {first}; give one another path")]
    Clash {
        /// The panel that came first.
        first: &'static str,
        /// Its method and path.
        taken: String,
        /// The panel that came later.
        second: &'static str,
        /// Its method and path.
        path: String,
    },
    /// A path that cannot be routed.
    #[error(
        "{panel} describes the path `{path}`, which does not begin with / or has a brace too many or too few"
    )]
    BadPath {
        /// The panel.
        panel: &'static str,
        /// The path.
        path: String,
    },
}

/// One router of all panels, with health, metrics, alerts and the OpenAPI document. Errors come in one form, bodies and
/// time are limited, requests are counted. [`Server::run`](crate::Server::run) puts the door before it.
///
/// # Panics
/// As axum does, when routes that no operation describes clash.
pub fn router(panels: Vec<Arc<dyn Panel>>, options: Options) -> Result<Router, RouterError> {
    let mut groups = vec![(base::NAME, base::operations())];
    groups.extend(panels.iter().map(|panel| (panel.name(), panel.operations())));
    check(&groups)?;

    let Options { title, version, body_limit, timeout, panel_within } = options;
    let told = |token| Bytes::from(openapi::document(&title, &version, token, &groups).to_string());
    let document = Document { open: told(false), guarded: told(true) };
    let requests = Arc::new(Requests::default());
    let tended = Tended { within: timeout, requests: Arc::clone(&requests) };
    let of_panels =
        panels.iter().fold(Router::new(), |all, panel| all.merge(panel.routes().reset_fallback()));
    let router = Base { panels, panel_within, requests, document }
        .routes()
        .merge(of_panels)
        .fallback(unknown_route)
        .layer(DefaultBodyLimit::max(body_limit))
        .layer(middleware::from_fn_with_state(tended, tend));
    Ok(router)
}

/// Its own code, so that a wrong path is not taken for a thing that is not there.
async fn unknown_route(uri: Uri) -> Refusal {
    Refusal::not_found(format!("there is no route {}", uri.path()))
        .code("unknown_route")
        .help("/openapi.json lists all routes")
}

fn check(groups: &[(&'static str, Vec<Operation>)]) -> Result<(), RouterError> {
    let mut names = BTreeMap::new();
    let mut shapes: BTreeMap<String, (&'static str, &Operation)> = BTreeMap::new();
    let mut methods: BTreeMap<(String, &str), &'static str> = BTreeMap::new();
    for (panel, operations) in groups {
        if names.insert(*panel, ()).is_some() {
            return Err(RouterError::SameName { name: panel });
        }
        for operation in operations {
            let Some(shape) = shape(&operation.path) else {
                return Err(RouterError::BadPath { panel, path: operation.path.clone() });
            };
            let clash = |first, taken: &Operation| RouterError::Clash {
                first,
                taken: format!("{} {}", taken.method, taken.path),
                second: panel,
                path: format!("{} {}", operation.method, operation.path),
            };
            // `/a/{x}` and `/a/{y}` are one path to a router, and it refuses two spellings even for two methods.
            let (first, taken) = *shapes.entry(shape.clone()).or_insert((panel, operation));
            if taken.path != operation.path {
                return Err(clash(first, taken));
            }
            if let Some(first) = methods.insert((shape, operation.method.as_str()), panel) {
                return Err(clash(first, operation));
            }
        }
    }
    Ok(())
}

/// The path without its parameters' names; nothing when it is not one.
fn shape(path: &str) -> Option<String> {
    let mut shape = String::new();
    let mut rest = path.strip_prefix('/')?;
    while let Some((before, after)) = rest.split_once('{') {
        let (name, left) = after.split_once('}')?;
        if before.contains('}') || name.trim_start_matches('*').is_empty() || name.contains(['{', '/']) {
            return None;
        }
        shape.push_str(before);
        shape.push_str(if name.starts_with('*') { "{*}" } else { "{}" });
        rest = left;
    }
    if rest.contains('}') {
        return None;
    }
    shape.push_str(rest);
    Some(shape)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clash(first: Operation, second: Operation) -> Result<(), RouterError> {
        check(&[(base::NAME, base::operations()), ("a", vec![first]), ("b", vec![second])])
    }

    #[test]
    fn panels_do_not_take_each_others_routes() {
        let get = |path: &str| Operation::get(path, "");
        clash(get("/a/{id}"), Operation::put("/a/{id}", "")).unwrap();
        clash(get("/a/{id}"), get("/a/b")).unwrap();
        let error = clash(get("/a/{id}"), get("/a/{id}")).unwrap_err().to_string();
        assert_eq!(error, "GET /a/{id} of b is taken by GET /a/{id} of a; give one another path");
        clash(get("/a/{id}"), Operation::put("/a/{hash}", "")).unwrap_err();
        let error = clash(get("/a"), get("/metrics")).unwrap_err().to_string();
        assert_eq!(error, "GET /metrics of b is taken by GET /metrics of base; give one another path");
    }

    #[test]
    fn a_path_that_cannot_be_routed_is_named() {
        for path in ["", "a", "/{", "/}", "/{}", "/{*}", "/a{b/c}", "/{a}}"] {
            let error = check(&[("a", vec![Operation::get(path, "")])]).unwrap_err();
            assert_eq!(error, RouterError::BadPath { panel: "a", path: path.to_owned() });
        }
    }

    #[test]
    fn two_panels_need_two_names() {
        let error = check(&[("a", Vec::new()), ("a", Vec::new())]).unwrap_err();
        assert_eq!(error, RouterError::SameName { name: "a" });
    }
}
