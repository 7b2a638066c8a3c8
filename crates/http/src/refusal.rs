//! The one error body: `{"error":{"code":"duplicate","message":"…","help":"…"}}`.
//!
//! The code is for programs and never changes; the message says what happened to whom, and the help what the caller can do.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use axum::Json;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

/// Why a request was not carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} ({code})")]
#[non_exhaustive]
pub struct Refusal {
    /// The status.
    pub status: StatusCode,
    /// For programs: a word that stays.
    pub code: &'static str,
    /// For people: what happened, to what.
    pub message: String,
    /// What the caller can do.
    pub help: Cow<'static, str>,
    /// When to try again, where that may help.
    pub retry_after: Option<Duration>,
}

impl Refusal {
    /// A refusal of this status, with the code and the help that go with it.
    #[must_use]
    pub fn new(status: StatusCode, message: impl Into<String>) -> Self {
        let (code, help) = usual(status);
        Self { status, code, message: message.into(), help: Cow::Borrowed(help), retry_after: None }
    }

    /// 400: the request itself is wrong.
    #[must_use]
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    /// 401: no token, or not the right one.
    #[must_use]
    pub fn unauthorized(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, message)
    }

    /// 403: not for this caller.
    #[must_use]
    pub fn forbidden(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, message)
    }

    /// 404: there is no such thing. Not for a store that cannot be reached: that is [`unavailable`](Self::unavailable).
    #[must_use]
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, message)
    }

    /// 409: what is there stands against it. The code says what, such as `duplicate`.
    #[must_use]
    pub fn conflict(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, message).code(code)
    }

    /// 413: more than is taken.
    #[must_use]
    pub fn too_large(message: impl Into<String>) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, message)
    }

    /// 415: a format that is not read here.
    #[must_use]
    pub fn unsupported_media(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message)
    }

    /// 503: not now. Callers are told when to try again.
    #[must_use]
    pub fn unavailable(message: impl Into<String>, retry_after: Duration) -> Self {
        Self { retry_after: Some(retry_after), ..Self::new(StatusCode::SERVICE_UNAVAILABLE, message) }
    }

    /// 500: our fault. The reason goes to the log and not to the caller, who could not use it and should not see it.
    #[must_use]
    pub fn internal(reason: impl fmt::Display) -> Self {
        tracing::error!(%reason, "a request failed");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "the request failed inside the server")
    }

    /// The same with another code.
    #[must_use]
    pub fn code(mut self, code: &'static str) -> Self {
        self.code = code;
        self
    }

    /// The same with another help.
    #[must_use]
    pub fn help(mut self, help: impl Into<Cow<'static, str>>) -> Self {
        self.help = help.into();
        self
    }

    /// As gRPC tells it: the status is in headers of its own, and that of HTTP says nothing.
    pub(crate) fn into_grpc(self) -> Response {
        let code: u16 = match self.status {
            StatusCode::UNAUTHORIZED => 16,
            StatusCode::FORBIDDEN => 7,
            // Unknown.
            _ => 2,
        };
        let mut response = StatusCode::OK.into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
        headers.insert("grpc-status", HeaderValue::from(code));
        let message = percent_encoded(&format!("{}; {}", self.message, self.help));
        if let Ok(message) = HeaderValue::try_from(message) {
            headers.insert("grpc-message", message);
        }
        response
    }

    fn body(&self) -> Value {
        json!({"error": {"code": self.code, "message": self.message, "help": self.help}})
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(self.body())).into_response();
        let headers = response.headers_mut();
        if let Some(after) = self.retry_after {
            // Whole seconds, rounded up: 0 would invite a storm.
            let seconds = after.as_secs().saturating_add(u64::from(after.subsec_nanos() > 0));
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds.max(1)));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

/// As gRPC writes messages: what is not plain ASCII, byte by byte.
fn percent_encoded(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'%' | 0..0x20 | 0x7f.. => format!("%{byte:02X}"),
        plain => char::from(plain).to_string(),
    };
    text.bytes().map(byte).collect()
}

/// The code of a status and what its caller can usually do.
fn usual(status: StatusCode) -> (&'static str, &'static str) {
    match status.as_u16() {
        400 => ("bad_request", "correct the request; /openapi.json describes it"),
        401 => ("unauthorized", "send the header `Authorization: Bearer <token>`"),
        403 => ("forbidden", "this caller may not do that"),
        404 => ("not_found", "check the name or id"),
        405 => ("method_not_allowed", "the header Allow lists the methods of this path"),
        409 => ("conflict", "look at what is there, then decide anew"),
        413 => ("too_large", "send less at once"),
        415 => ("unsupported_media", "set the header Content-Type to a format that /openapi.json lists"),
        422 => ("unprocessable", "correct the named field; /openapi.json describes it"),
        429 => ("too_many", "wait, then try again"),
        503 => ("unavailable", "try again after the time in the header Retry-After"),
        _ if status.is_client_error() => ("refused", "correct the request; /openapi.json describes it"),
        _ => ("internal", "try again; if it stays, the server's log has the reason"),
    }
}

/// The schema of the body, for the OpenAPI document.
pub(crate) fn schema() -> Value {
    let text = |about: &str| json!({"type": "string", "description": about});
    json!({
        "type": "object",
        "required": ["error"],
        "properties": {"error": {
            "type": "object",
            "required": ["code", "message", "help"],
            "properties": {
                "code": text("For programs: a word that stays."),
                "message": text("What happened, to what."),
                "help": text("What the caller can do."),
            },
        }},
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_body_has_code_message_and_help() {
        let refusal = Refusal::conflict("duplicate", "note 7 is there already").help("read it instead");
        let expected = json!({"error": {"code": "duplicate", "message": "note 7 is there already", "help": "read it instead"}});
        assert_eq!(refusal.body(), expected);
        assert_eq!(refusal.into_response().status(), StatusCode::CONFLICT);
    }

    #[test]
    fn not_now_says_when() {
        for (after, told) in [(0, "1"), (1, "1"), (1_000, "1"), (1_001, "2"), (30_000, "30")] {
            let response = Refusal::unavailable("loading", Duration::from_millis(after)).into_response();
            assert_eq!(response.headers()[RETRY_AFTER], told, "{after} ms");
        }
    }

    #[test]
    fn a_caller_without_a_token_is_told_which_scheme() {
        let response = Refusal::unauthorized("no token").into_response();
        assert_eq!(
            (response.status().as_u16(), &response.headers()[WWW_AUTHENTICATE]),
            (401, &HeaderValue::from_static("Bearer"))
        );
    }

    #[test]
    fn grpc_is_told_in_its_own_headers() {
        let response = Refusal::unauthorized("100 % näin").help("x").into_grpc();
        let headers = response.headers();
        assert_eq!((response.status(), &headers["grpc-status"]), (StatusCode::OK, &HeaderValue::from(16)));
        assert_eq!(headers["grpc-message"], "100 %25 n%C3%A4in; x");
        assert_eq!(headers[CONTENT_TYPE], "application/grpc");
    }

    #[test]
    fn reasons_inside_the_server_stay_there() {
        let refusal = Refusal::internal("password `hunter2` is wrong");
        assert!(!refusal.body().to_string().contains("hunter2"));
    }
}
