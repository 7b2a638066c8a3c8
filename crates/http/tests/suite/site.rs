//! APIs of notes: one on a socket, and one to ask in process.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread::{self, JoinHandle};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Method, Request};
use keyplane_http::{Ended, Listen, Options, Panel, Server, Token, router};
use serde_json::Value;
use tokio::runtime;
use tokio::sync::oneshot;
use tower::ServiceExt as _;

use crate::notes::{Mood, Notes};

pub(crate) const TOKEN: &str = "a-token-of-the-tests";

/// A running server. Dropping it stops it.
pub(crate) struct Site {
    pub(crate) address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    running: Option<JoinHandle<Ended>>,
}

impl Site {
    pub(crate) fn open() -> Self {
        Self::start(Listen::open("127.0.0.1:0".parse().unwrap()))
    }

    pub(crate) fn guarded() -> Self {
        Self::start(Listen::guarded("127.0.0.1:0".parse().unwrap(), Token::new(TOKEN).unwrap()))
    }

    fn start(listen: Listen) -> Self {
        let (stop, stopped) = oneshot::channel();
        let (tell, told) = channel();
        let running = thread::spawn(move || {
            let runtime = runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let server = Server::bind(listen).await.unwrap();
                tell.send(server.local_addr()).unwrap();
                server.run(notes(Mood::Ready), async { stopped.await.unwrap_or(()) }).await
            })
        });
        Self { address: told.recv().unwrap(), stop: Some(stop), running: Some(running) }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Stops it, and tells how it ended.
    pub(crate) fn stop(mut self) -> Ended {
        drop(self.stop.take());
        self.running.take().unwrap().join().unwrap()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(running) = self.running.take() {
            let _ = running.join();
        }
    }
}

pub(crate) fn notes(mood: Mood) -> Router {
    api([Notes::new("notes", mood)])
}

pub(crate) fn api<const N: usize>(panels: [Notes; N]) -> Router {
    let panels = panels.into_iter().map(|panel| Arc::new(panel) as Arc<dyn Panel>).collect();
    router(panels, Options::default()).unwrap()
}

pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    /// Status and code of a refusal, which must be whole.
    pub(crate) fn refusal(&self) -> (u16, String) {
        assert_eq!(self.headers["content-type"], "application/json", "{}", self.body);
        let error = &self.json()["error"];
        for member in ["message", "help"] {
            assert!(!error[member].as_str().unwrap().is_empty(), "{member} of {error}");
        }
        (self.status, error["code"].as_str().unwrap().to_owned())
    }
}

pub(crate) async fn ask(router: &Router, method: Method, path: &str) -> Reply {
    let request = Request::builder().method(method).uri(path).body(Body::empty()).unwrap();
    let (parts, body) = router.clone().oneshot(request).await.unwrap().into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap();
    Reply {
        status: parts.status.as_u16(),
        headers: parts.headers,
        body: String::from_utf8(body.to_vec()).unwrap(),
    }
}
