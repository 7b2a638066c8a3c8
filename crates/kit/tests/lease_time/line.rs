//! A connection to an engine of this process that can be cut, made deaf or slow, in virtual time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use keyplane_engine::live::Live;
use keyplane_store::Dialer;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, duplex, split};

/// What a line does with what passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Pass,
    /// Nothing passes, in either direction.
    Cut,
    /// Requests arrive and replies are lost.
    Deaf,
    /// Replies take that long.
    Slow(Duration),
    /// The next reply is lost, and its connection closed; then everything passes again.
    BreakOnce,
}

/// All connections of one client. One that has lost bytes stays silent, as its stream can never be whole again.
#[derive(Clone)]
pub(crate) struct Line(Arc<Mutex<Mode>>);

impl Line {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(Mode::Pass)))
    }

    pub(crate) fn set(&self, mode: Mode) {
        *self.0.lock().unwrap() = mode;
    }

    pub(crate) fn mode(&self) -> Mode {
        *self.0.lock().unwrap()
    }

    /// Connects to that engine.
    pub(crate) fn to(&self, live: &Live) -> Dialer {
        let (line, live) = (self.clone(), live.clone());
        Dialer::new(move |_, _| {
            let (line, live) = (line.clone(), live.clone());
            async move {
                let (client, near) = duplex(1 << 16);
                let (far, server) = duplex(1 << 16);
                tokio::spawn(async move { live.attend(server, "line").await });
                let ((requests, replies), (answers, questions)) = (split(near), split(far));
                let silent = Arc::new(AtomicBool::new(false));
                tokio::spawn(line.clone().carry(requests, questions, Arc::clone(&silent), false));
                tokio::spawn(line.carry(answers, replies, silent, true));
                Ok(client)
            }
        })
    }

    /// Carries bytes in one direction until the stream ends.
    async fn carry(
        self,
        mut from: impl AsyncRead + Unpin,
        mut to: impl AsyncWrite + Unpin,
        silent: Arc<AtomicBool>,
        are_replies: bool,
    ) {
        let mut buffer = [0; 4096];
        while let Ok(length @ 1..) = from.read(&mut buffer).await {
            match self.mode() {
                Mode::Slow(takes) if are_replies => tokio::time::sleep(takes).await,
                Mode::Cut => silent.store(true, Ordering::Relaxed),
                Mode::Deaf if are_replies => silent.store(true, Ordering::Relaxed),
                Mode::BreakOnce if are_replies => {
                    self.set(Mode::Pass);
                    silent.store(true, Ordering::Relaxed);
                    drop(to.shutdown().await);
                    return;
                }
                _ => {}
            }
            if !silent.load(Ordering::Relaxed) && to.write_all(&buffer[..length]).await.is_err() {
                return;
            }
        }
    }
}
