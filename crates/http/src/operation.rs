//! A route in words, from which the OpenAPI document is made.

use axum::http::{Method, StatusCode};
use serde_json::{Value, json};

/// One method of one path.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Operation {
    /// The method.
    pub method: Method,
    /// The path as it is routed, such as `/api/tx/{hash}`.
    pub path: String,
    /// What it does, in a few words.
    pub summary: String,
    /// What it promises and what it does not.
    pub description: String,
    /// Parameters. Those of the path that are not described here are texts.
    pub parameters: Vec<Parameter>,
    /// What is sent.
    pub request: Option<Content>,
    /// What comes back. Every operation can also end in the common error body.
    pub outcomes: Vec<Outcome>,
}

/// A value in the path, the query or a header.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Parameter {
    /// Where it stands.
    pub place: Place,
    /// Its name.
    pub name: String,
    /// What it means.
    pub description: String,
    /// Its JSON schema.
    pub schema: Value,
}

/// Where a parameter stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// In the path; such a parameter is never left out.
    Path,
    /// In the query; may be left out.
    Query,
    /// In a header; may be left out.
    Header,
}

impl Place {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Query => "query",
            Self::Header => "header",
        }
    }
}

/// A body.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Content {
    /// Its media type.
    pub media: String,
    /// Its JSON schema.
    pub schema: Value,
}

/// One way in which an operation ends.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Outcome {
    /// The status.
    pub status: StatusCode,
    /// What it means.
    pub description: String,
    /// The body, unless it is empty.
    pub content: Option<Body>,
}

/// The body of an outcome.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Body {
    /// What was asked for.
    Content(Content),
    /// The common error body.
    Refusal,
}

impl Operation {
    /// An operation without parameters, bodies or outcomes yet.
    pub fn new(method: Method, path: impl Into<String>, summary: impl Into<String>) -> Self {
        Self {
            method,
            path: path.into(),
            summary: summary.into(),
            description: String::new(),
            parameters: Vec::new(),
            request: None,
            outcomes: Vec::new(),
        }
    }

    /// A read.
    pub fn get(path: impl Into<String>, summary: impl Into<String>) -> Self {
        Self::new(Method::GET, path, summary)
    }

    /// A change.
    pub fn post(path: impl Into<String>, summary: impl Into<String>) -> Self {
        Self::new(Method::POST, path, summary)
    }

    /// A change that may be repeated.
    pub fn put(path: impl Into<String>, summary: impl Into<String>) -> Self {
        Self::new(Method::PUT, path, summary)
    }

    /// A removal.
    pub fn delete(path: impl Into<String>, summary: impl Into<String>) -> Self {
        Self::new(Method::DELETE, path, summary)
    }

    /// The same with a description.
    #[must_use]
    pub fn describe(mut self, description: impl Into<String>) -> Self {
        self.description = description.into();
        self
    }

    /// The same with a parameter.
    #[must_use]
    pub fn parameter(
        mut self,
        place: Place,
        name: impl Into<String>,
        description: impl Into<String>,
        schema: Value,
    ) -> Self {
        self.parameters.push(Parameter { place, name: name.into(), description: description.into(), schema });
        self
    }

    /// The same with a request body.
    #[must_use]
    pub fn takes(mut self, media: impl Into<String>, schema: Value) -> Self {
        self.request = Some(Content { media: media.into(), schema });
        self
    }

    /// The same with an outcome that has a body.
    #[must_use]
    pub fn answers(
        self,
        status: StatusCode,
        about: impl Into<String>,
        media: impl Into<String>,
        schema: Value,
    ) -> Self {
        self.outcome(status, about, Some(Body::Content(Content { media: media.into(), schema })))
    }

    /// The same with an outcome that has none.
    #[must_use]
    pub fn ends(self, status: StatusCode, about: impl Into<String>) -> Self {
        self.outcome(status, about, None)
    }

    /// The same with a refusal, in the common error body.
    #[must_use]
    pub fn refuses(self, status: StatusCode, about: impl Into<String>) -> Self {
        self.outcome(status, about, Some(Body::Refusal))
    }

    /// The same as a live stream, which a client resumes with `Last-Event-ID`.
    #[must_use]
    pub fn streams(self, about: impl Into<String>) -> Self {
        let text = json!({"type": "string"});
        self.parameter(
            Place::Header,
            "Last-Event-ID",
            "The last event seen; the stream goes on after it.",
            text.clone(),
        )
        .answers(StatusCode::OK, about, "text/event-stream", text)
    }

    fn outcome(mut self, status: StatusCode, about: impl Into<String>, content: Option<Body>) -> Self {
        self.outcomes.push(Outcome { status, description: about.into(), content });
        self
    }

    /// The names of the path's parameters, in order: `{hash}`, and `{*rest}` for all that follows.
    pub(crate) fn path_parameters(&self) -> Vec<&str> {
        names(&self.path)
    }
}

/// The names in a path's braces.
pub(crate) fn names(path: &str) -> Vec<&str> {
    path.split('{')
        .skip(1)
        .filter_map(|rest| rest.split_once('}'))
        .map(|(name, _)| name.trim_start_matches('*'))
        .collect()
}
