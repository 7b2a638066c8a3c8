//! A client at the other end of a stream: of another process, or redis-cli.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::mpsc;

use super::{Due, Live, MOST_MESSAGES, Sent, Sink, WeakLive};
use crate::clients::ClientId;
use crate::engine::{Answer, Engine};
use crate::fault::Fault;
use crate::reply::{Protocol, Reply};
use crate::resp::Decoder;

/// After so many bytes of answers others have their turn.
const ANSWERS_AT_ONCE: usize = 256 * 1024;

/// What a client may send ahead of its answers.
const MOST_AHEAD: usize = 64 * 1024 * 1024;

/// Takes connections from a Unix socket until the engine has ended.
pub(super) async fn serve_unix(live: WeakLive, listener: UnixListener) {
    loop {
        let accepted = listener.accept().await;
        let Some(live) = live.upgrade() else { return };
        match accepted {
            Ok((stream, _)) => spawn(live, stream, "unix:0".to_owned()),
            Err(error) => pause_after(&error).await,
        }
    }
}

impl Live {
    /// Takes connections from a TCP port, for ever.
    pub async fn serve(&self, listener: TcpListener) {
        loop {
            match listener.accept().await {
                Ok((stream, address)) => {
                    // A client that waits for an answer waits for all of it.
                    drop(stream.set_nodelay(true));
                    spawn(self.clone(), stream, address.to_string());
                }
                Err(error) => pause_after(&error).await,
            }
        }
    }

    /// Answers one client until either side ends it.
    pub async fn attend<S>(&self, stream: S, address: &str) -> io::Result<()>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let (sender, messages) = mpsc::channel(MOST_MESSAGES);
        let client = {
            let mut engine = self.0.lock();
            let client = engine.connect(self.0.clock.now(), address.to_owned());
            self.0.sinks().insert(client, Sink { answer: None, messages: Some(sender) });
            client
        };
        let guest = Guest { live: self, client };
        Talk { guest, stream, messages, decoder: Decoder::default(), blocked: false }.run().await
    }
}

fn spawn<S>(live: Live, stream: S, address: String)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    tokio::spawn(async move {
        // A client that is gone is no error of ours.
        drop(live.attend(stream, &address).await);
    });
}

/// Out of file descriptors, most likely: they come back when somebody goes.
async fn pause_after(_: &io::Error) {
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
}

/// A client that is forgotten when it goes.
struct Guest<'l> {
    live: &'l Live,
    client: ClientId,
}

impl Drop for Guest<'_> {
    fn drop(&mut self) {
        let mut engine = self.live.0.lock();
        engine.disconnect(self.client);
        self.live.0.sinks().remove(&self.client);
    }
}

struct Talk<'l, S> {
    guest: Guest<'l>,
    stream: S,
    messages: mpsc::Receiver<Sent>,
    decoder: Decoder,
    /// It waits for a key: what it has sent since waits with it.
    blocked: bool,
}

/// What a turn came to.
struct Turn {
    out: Vec<u8>,
    /// Where the log has to be before anything of that is told.
    position: u64,
    end: bool,
    /// There may be more to do at once.
    more: bool,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Talk<'_, S> {
    async fn run(mut self) -> io::Result<()> {
        loop {
            let turn = self.turn();
            self.tell(&turn).await?;
            if turn.end {
                return self.stream.shutdown().await;
            }
            if turn.more {
                tokio::task::yield_now().await;
                continue;
            }
            let room = self.decoder.waiting() < MOST_AHEAD;
            tokio::select! {
                // In this order: what chance decides here could not be repeated.
                biased;
                sent = self.messages.recv() => match sent {
                    Some(sent) => {
                        let turn = self.message(sent);
                        self.tell(&turn).await?;
                        if turn.end {
                            return self.stream.shutdown().await;
                        }
                    }
                    // It has not read its messages for too long.
                    None => return Ok(()),
                },
                read = self.stream.read_buf(self.decoder.input()), if room => {
                    if read? == 0 {
                        return Ok(());
                    }
                }
            }
        }
    }

    async fn tell(&mut self, turn: &Turn) -> io::Result<()> {
        if turn.out.is_empty() {
            return Ok(());
        }
        match self.guest.live.0.kept(turn.position).await {
            Ok(()) => self.stream.write_all(&turn.out).await,
            // What was done cannot be kept, so nobody may be told that it was done.
            Err(why) => {
                let fault = Fault::new(format!("MISCONF the log cannot be written: {why}"));
                let mut out = Vec::new();
                Reply::Error(fault).encode(Protocol::Two, &mut out);
                self.stream.write_all(&out).await?;
                Err(io::Error::other(why))
            }
        }
    }

    /// Executes what has arrived, without letting others in between.
    fn turn(&mut self) -> Turn {
        let mut turn = Turn { out: Vec::new(), position: 0, end: false, more: false };
        if self.blocked {
            return turn;
        }
        let inner = &self.guest.live.0;
        let mut engine = inner.lock();
        // What was sent to it before comes before what it asks now.
        while let Ok(sent) = self.messages.try_recv() {
            take(&engine, self.guest.client, sent, &mut turn);
        }
        loop {
            if turn.out.len() > ANSWERS_AT_ONCE {
                turn.more = true;
                break;
            }
            let args = match self.decoder.next_command() {
                Ok(Some(args)) => args,
                Ok(None) => break,
                Err(broken) => {
                    if let Some(reply) = broken.reply() {
                        reply.encode(Protocol::Two, &mut turn.out);
                    }
                    turn.end = true;
                    break;
                }
            };
            let outcome = engine.execute(inner.clock.now(), self.guest.client, &args);
            let protocol = engine.protocol(self.guest.client);
            turn.position = inner.settle(&mut engine, outcome.deliveries);
            match outcome.answer {
                Answer::Reply(reply) => reply.encode(protocol, &mut turn.out),
                Answer::Silent => {}
                Answer::Blocked => {
                    self.blocked = true;
                    break;
                }
                Answer::Last(reply) => {
                    reply.encode(protocol, &mut turn.out);
                    turn.end = true;
                    break;
                }
            }
        }
        turn
    }

    fn message(&mut self, sent: Sent) -> Turn {
        let mut turn = Turn { out: Vec::new(), position: 0, end: false, more: false };
        if let Sent::Message(Due { reply, .. }) = &sent
            && !matches!(reply, Reply::Push(_))
        {
            self.blocked = false;
        }
        let engine = self.guest.live.0.lock();
        take(&engine, self.guest.client, sent, &mut turn);
        turn
    }
}

fn take(engine: &Engine, client: ClientId, sent: Sent, turn: &mut Turn) {
    match sent {
        Sent::Message(due) => {
            due.reply.encode(engine.protocol(client), &mut turn.out);
            turn.position = turn.position.max(due.position);
        }
        Sent::Close => turn.end = true,
    }
}
