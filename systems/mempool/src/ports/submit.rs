//! A peer that takes transactions over HTTP, as cardano-submit-api and Blockfrost do; another Keyplane node is one too.

use std::time::Duration;

use axum::body::Bytes;
use axum::http::header::CONTENT_TYPE;
use axum::http::{Method, Request, StatusCode, Uri};
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
        Ok(Self { name: name.parse()?, uri, client })
    }
}

impl SubmitPeer {
    async fn send(&self, tx: &Offer) -> Result<Answer, String> {
        let body = Full::new(Bytes::from(tx.payload.bytes.clone()));
        let request = Request::builder().method(Method::POST).uri(&self.uri);
        let request = request.header(CONTENT_TYPE, "application/cbor").body(body);
        let response = self.client.request(request.map_err(said)?).await.map_err(said)?;
        let status = response.status();
        let body = Limited::new(response.into_body(), MOST_SAID).collect().await.map(|body| body.to_bytes());
        match status {
            // It had it before.
            StatusCode::CONFLICT => Ok(Answer::Taken),
            status if status.is_success() => Ok(Answer::Taken),
            // Not now, says the peer.
            StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT => Err(status.to_string()),
            status if status.is_client_error() => {
                let why = body.map(|body| String::from_utf8_lossy(&body).into_owned()).unwrap_or_default();
                Ok(Answer::Refused(format!("{status} {why}")))
            }
            status => Err(status.to_string()),
        }
    }
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
