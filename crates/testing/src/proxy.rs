//! A proxy between a client and a server that can make every fault a network makes.

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use socket2::SockRef;

/// What the proxy does with what passes through. Can be changed at any time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mode {
    /// Everything passes.
    Pass,
    /// Every chunk waits that long, in both directions.
    Delay(Duration),
    /// After that many more bytes of replies the connection that carries them is closed; then everything passes again.
    CutAfter(u64),
    /// After that many more bytes of requests the rest waits until the mode is another. Nothing is lost.
    HoldAfter(u64),
    /// All connections are reset (RST), and further ones too.
    Reset,
    /// Sockets stay open and nothing passes in either direction, on new connections too. A connection that has lost
    /// bytes stays so in every other mode: its stream can never be whole again.
    HalfOpen,
    /// New connections are closed at once; those that are open go on.
    Refuse,
}

/// A proxy before one server. Dropping it closes all connections.
#[derive(Debug)]
pub struct Proxy {
    addr: SocketAddr,
    core: Arc<Core>,
}

#[derive(Debug)]
struct Core {
    target: String,
    state: Mutex<State>,
    accepted: AtomicU64,
    to_server: AtomicU64,
    to_client: AtomicU64,
}

#[derive(Debug)]
struct State {
    mode: Mode,
    links: Vec<Weak<Link>>,
    /// Ended on one side while half-open: kept so that the other side does not notice.
    kept: Vec<Arc<Link>>,
    stopped: bool,
}

/// One connection. The sockets close when the last thread lets go of it.
#[derive(Debug)]
struct Link {
    client: TcpStream,
    server: TcpStream,
    /// Has lost bytes.
    deaf: AtomicBool,
    /// To be dropped without a word.
    reset: AtomicBool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    ToServer,
    ToClient,
}

/// What to do with a chunk.
enum Step {
    Send,
    SendAfter(Duration),
    /// Send this much, then close.
    Cut(usize),
    /// Send this much, and the rest when it may pass.
    Hold(usize),
    Swallow,
}

impl Proxy {
    /// Starts a proxy before a server, such as `127.0.0.1:6379`. Everything passes.
    #[must_use]
    pub fn start(target: impl Into<String>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let addr = listener.local_addr().expect("the address of a listener");
        let core = Arc::new(Core {
            target: target.into(),
            state: Mutex::new(State {
                mode: Mode::Pass,
                links: Vec::new(),
                kept: Vec::new(),
                stopped: false,
            }),
            accepted: AtomicU64::new(0),
            to_server: AtomicU64::new(0),
            to_client: AtomicU64::new(0),
        });
        let accepting = core.clone();
        thread::spawn(move || accepting.accept(&listener));
        Self { addr, core }
    }

    /// Where clients connect.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The same as a URL.
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis://{}", self.addr)
    }

    /// Changes what the proxy does, at once.
    pub fn set(&self, mode: Mode) {
        let mut state = self.core.state();
        state.mode = mode;
        if mode == Mode::Reset {
            state.links.iter().filter_map(Weak::upgrade).for_each(|link| link.reset());
            state.links.clear();
            state.kept.clear();
        }
    }

    /// Closes all open connections in good order, in whatever mode.
    pub fn close_connections(&self) {
        let mut state = self.core.state();
        state.links.iter().filter_map(Weak::upgrade).for_each(|link| link.close());
        state.links.clear();
        state.kept.clear();
    }

    /// Connections that clients have made so far, also those that were refused.
    #[must_use]
    pub fn connections(&self) -> u64 {
        self.core.accepted.load(Ordering::SeqCst)
    }

    /// Connections that are open now.
    #[must_use]
    pub fn open_connections(&self) -> usize {
        self.core.state().links.iter().filter(|link| link.strong_count() > 0).count()
    }

    /// Bytes of requests that reached the server.
    #[must_use]
    pub fn bytes_to_server(&self) -> u64 {
        self.core.to_server.load(Ordering::SeqCst)
    }

    /// Bytes of replies that reached clients.
    #[must_use]
    pub fn bytes_to_client(&self) -> u64 {
        self.core.to_client.load(Ordering::SeqCst)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.core.state().stopped = true;
        self.close_connections();
        // Wakes the thread that accepts.
        let _ = TcpStream::connect(self.addr);
    }
}

impl Core {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn accept(self: &Arc<Self>, listener: &TcpListener) {
        for client in listener.incoming() {
            if self.state().stopped {
                return;
            }
            self.accepted.fetch_add(1, Ordering::SeqCst);
            // A connection that breaks while it is made is the client's to notice.
            let _ = client.and_then(|client| self.admit(client));
        }
    }

    fn admit(self: &Arc<Self>, client: TcpStream) -> io::Result<()> {
        // Held over the making, so that a change of mode meets every connection.
        let mut state = self.state();
        match state.mode {
            Mode::Refuse => return Ok(()),
            Mode::Reset => return SockRef::from(&client).set_linger(Some(Duration::ZERO)),
            _ => {}
        }
        let server = TcpStream::connect(&self.target)?;
        client.set_nodelay(true)?;
        server.set_nodelay(true)?;
        let link =
            Arc::new(Link { client, server, deaf: AtomicBool::new(false), reset: AtomicBool::new(false) });
        state.links.retain(|link| link.strong_count() > 0);
        state.links.push(Arc::downgrade(&link));
        for direction in [Direction::ToServer, Direction::ToClient] {
            let (core, link) = (self.clone(), link.clone());
            thread::spawn(move || {
                // An error is the end of a connection, and the other side is told by the close.
                let _ = core.pump(&link, direction);
                core.let_go(link, direction);
            });
        }
        Ok(())
    }

    /// Carries bytes in one direction until the stream ends.
    fn pump(&self, link: &Link, direction: Direction) -> io::Result<()> {
        let (mut from, mut to, counter) = match direction {
            Direction::ToServer => (&link.client, &link.server, &self.to_server),
            Direction::ToClient => (&link.server, &link.client, &self.to_client),
        };
        let mut buffer = [0; 16 * 1024];
        loop {
            let length = from.read(&mut buffer)?;
            if length == 0 || link.reset.load(Ordering::SeqCst) {
                return Ok(());
            }
            let mut chunk = &buffer[..length];
            let step = self.step(link, direction, length);
            match step {
                Step::Swallow => continue,
                Step::SendAfter(delay) => thread::sleep(delay),
                Step::Cut(left) => chunk = &chunk[..left],
                Step::Hold(left) => {
                    let first;
                    (first, chunk) = chunk.split_at(left);
                    counter.fetch_add(left as u64, Ordering::SeqCst);
                    to.write_all(first)?;
                    self.wait_while_held();
                }
                Step::Send => {}
            }
            // Before they go: whoever has seen them arrive finds them counted.
            counter.fetch_add(chunk.len() as u64, Ordering::SeqCst);
            to.write_all(chunk)?;
            if matches!(step, Step::Cut(_)) {
                link.close();
                return Ok(());
            }
        }
    }

    fn step(&self, link: &Link, direction: Direction, length: usize) -> Step {
        if link.deaf.load(Ordering::SeqCst) {
            return Step::Swallow;
        }
        let mut state = self.state();
        match state.mode {
            Mode::Delay(delay) => Step::SendAfter(delay),
            Mode::HalfOpen => {
                link.deaf.store(true, Ordering::SeqCst);
                Step::Swallow
            }
            Mode::CutAfter(left) if direction == Direction::ToClient => match left.checked_sub(length as u64)
            {
                Some(left) if left > 0 => {
                    state.mode = Mode::CutAfter(left);
                    Step::Send
                }
                _ => {
                    state.mode = Mode::Pass;
                    Step::Cut(usize::try_from(left).expect("no more than the chunk"))
                }
            },
            Mode::HoldAfter(left) if direction == Direction::ToServer => {
                let now = left.min(length as u64);
                state.mode = Mode::HoldAfter(left - now);
                if now == length as u64 {
                    Step::Send
                } else {
                    Step::Hold(usize::try_from(now).expect("no more than the chunk"))
                }
            }
            _ => Step::Send,
        }
    }

    fn wait_while_held(&self) {
        loop {
            let state = self.state();
            if state.stopped || !matches!(state.mode, Mode::HoldAfter(_)) {
                return;
            }
            drop(state);
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Passes the end of a stream on, unless nobody may know.
    fn let_go(&self, link: Arc<Link>, direction: Direction) {
        if link.reset.load(Ordering::SeqCst) {
            return;
        }
        let mut state = self.state();
        let silent = state.mode == Mode::HalfOpen || link.deaf.load(Ordering::SeqCst);
        if silent && !state.stopped {
            link.deaf.store(true, Ordering::SeqCst);
            state.kept.push(link);
            return;
        }
        drop(state);
        let to = if direction == Direction::ToServer { &link.server } else { &link.client };
        let _ = to.shutdown(Shutdown::Write);
    }
}

impl Link {
    /// Ends both streams. They may have ended already.
    fn close(&self) {
        let _ = self.client.shutdown(Shutdown::Both);
        let _ = self.server.shutdown(Shutdown::Both);
    }

    /// Makes the coming close a reset: without lingering, and without the farewell of a shutdown for writing. The
    /// shutdown for reading is not seen by the peer; it wakes the threads, and the last of them closes.
    fn reset(&self) {
        self.reset.store(true, Ordering::SeqCst);
        for socket in [&self.client, &self.server] {
            let _ = SockRef::from(socket).set_linger(Some(Duration::ZERO));
            let _ = socket.shutdown(Shutdown::Read);
        }
    }
}
