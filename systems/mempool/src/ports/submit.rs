//! A peer that takes transactions over HTTP, as cardano-submit-api and Blockfrost do; another Keyplane node is one too.
//!
//! Only what is said of the transaction itself is an answer. Who finds nothing there, or is asked for a token, has reached no peer:
//! the transactions stay, and the log says why. Of any other status nobody can tell whether it is about the transaction.

use std::time::Duration;

use axum::body::Bytes;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE};
use axum::http::{HeaderValue, Method, Request, StatusCode, Uri};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::peer::{Answer, Away, Peer};
use crate::state::{NotAPeer, Offer, PeerName};

/// A peer answers within this or is away. Well below what a claim stands for.
const PATIENCE: Duration = Duration::from_secs(5);

/// Of a refusal, so much is read.
const MOST_SAID: usize = 4096;

/// A peer behind a submit endpoint.
#[derive(Debug)]
pub struct SubmitPeer {
    name: PeerName,
    uri: Uri,
    token: Option<HeaderValue>,
    client: Client<HttpConnector, Full<Bytes>>,
}

/// A text that describes no peer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotASubmitPeer {
    /// No `=`.
    #[error("`{0}` is not a peer: NAME=URL, such as relay-1=http://127.0.0.1:8190/api/submit/tx")]
    Shape(String),
    /// The name.
    #[error(transparent)]
    Name(#[from] NotAPeer),
    /// The URL.
    #[error("`{0}` is not where a peer takes transactions: http://HOST:PORT/PATH")]
    Url(String),
    /// A token that no header can hold. It is not repeated.
    #[error("the token for peers has characters that no header can hold")]
    Token,
}

impl std::str::FromStr for SubmitPeer {
    type Err = NotASubmitPeer;

    fn from_str(text: &str) -> Result<Self, NotASubmitPeer> {
        let (name, url) = text.split_once('=').ok_or_else(|| NotASubmitPeer::Shape(text.to_owned()))?;
        let bad = || NotASubmitPeer::Url(url.to_owned());
        let uri: Uri = url.parse().map_err(|_| bad())?;
        if uri.scheme_str() != Some("http") || uri.host().is_none() {
            return Err(bad());
        }
        let client = Client::builder(TokioExecutor::new()).build_http();
        Ok(Self { name: name.parse()?, uri, token: None, client })
    }
}

impl SubmitPeer {
    /// The same, and it is shown this token.
    pub fn with_token(mut self, token: &str) -> Result<Self, NotASubmitPeer> {
        let mut value =
            HeaderValue::try_from(format!("Bearer {token}")).map_err(|_| NotASubmitPeer::Token)?;
        value.set_sensitive(true);
        self.token = Some(value);
        Ok(self)
    }

    async fn send(&self, tx: &Offer) -> Result<Answer, String> {
        let body = Full::new(Bytes::from(tx.payload.bytes.clone()));
        let request = Request::builder().method(Method::POST).uri(&self.uri);
        let mut request = request.header(CONTENT_TYPE, "application/cbor").body(body).map_err(said)?;
        if let Some(token) = &self.token {
            request.headers_mut().insert(AUTHORIZATION, token.clone());
        }
        let response = self.client.request(request).await.map_err(said)?;
        let status = response.status();
        let body = Limited::new(response.into_body(), MOST_SAID).collect().await.map(|body| body.to_bytes());
        let why = body.map(|body| String::from_utf8_lossy(&body).into_owned()).unwrap_or_default();
        match status {
            // It had it before, unless it says that another one stands in the way.
            StatusCode::CONFLICT if code(&why).as_deref() != Some("conflict") => Ok(Answer::Taken),
            status if status.is_success() => Ok(Answer::Taken),
            StatusCode::BAD_REQUEST
            | StatusCode::CONFLICT
            | StatusCode::PAYLOAD_TOO_LARGE
            | StatusCode::UNPROCESSABLE_ENTITY => Ok(Answer::Refused(format!("{status} {why}"))),
            // Not here, says whoever is there.
            StatusCode::UNAUTHORIZED
            | StatusCode::FORBIDDEN
            | StatusCode::NOT_FOUND
            | StatusCode::METHOD_NOT_ALLOWED
            | StatusCode::PROXY_AUTHENTICATION_REQUIRED => Err(format!("{status} {why}")),
            status if status.is_redirection() => Err(format!("{status} {why}")),
            status => Ok(Answer::Failed(format!("{status} {why}"))),
        }
    }
}

/// The code in the body of another node's refusal.
fn code(body: &str) -> Option<String> {
    let body: serde_json::Value = serde_json::from_str(body).ok()?;
    // As its own doors tell it, and as the one for Blockfrost's clients does.
    let code = body.pointer("/error/code").or_else(|| body.get("code"))?;
    Some(code.as_str()?.to_owned())
}

fn said(error: impl std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text.push_str(": ");
        text.push_str(&error.to_string());
        source = error.source();
    }
    text
}

impl Peer for SubmitPeer {
    fn name(&self) -> &PeerName {
        &self.name
    }

    async fn reach(&self) -> Result<(), Away> {
        let (host, port) = (self.uri.host().unwrap_or_default(), self.uri.port_u16().unwrap_or(80));
        let host = host.trim_start_matches('[').trim_end_matches(']');
        match timeout(PATIENCE, TcpStream::connect((host, port))).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(Away(error.to_string())),
            Err(_) => Err(Away(format!("no connection within {PATIENCE:?}"))),
        }
    }

    async fn offer(&self, tx: &Offer) -> Result<Answer, Away> {
        match timeout(PATIENCE, self.send(tx)).await {
            Ok(answer) => answer.map_err(Away),
            Err(_) => Err(Away(format!("no answer within {PATIENCE:?}"))),
        }
    }
}
