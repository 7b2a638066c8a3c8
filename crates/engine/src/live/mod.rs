//! An engine that lives: with a clock, a log and clients of its own process or of others.
//!
//! What it promises:
//!
//! - commands of all connections are executed one after the other, each at one moment;
//! - with [`Fsync::Always`] nobody is told of a change, by an answer or a message, before it is on the disk. Changes that
//!   wait for the disk at the same time share one write;
//! - when the log cannot be written, writes are refused (`MISCONF`), and reads go on;
//! - the log is written anew when it has doubled, while everything goes on;
//! - keys and waits end when their time comes, not when somebody looks.

mod clock;
mod connection;
mod house;
mod rewrite;
mod stream;
mod ticker;
mod writer;

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, Weak};

use tokio::sync::{mpsc, oneshot};

pub use clock::Clock;
pub use connection::{Closed, Connection};
pub use house::{Found, House, HouseError, SOCKET};
pub use writer::Fsync;

use crate::clients::ClientId;
use crate::db::Hashing;
use crate::engine::{Delivery, Engine, Settings};
use crate::log::{Loaded, LogError};
use crate::reply::Reply;
use writer::Writer;

/// What a live engine is made with.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The folder of its log; without one it lives in memory.
    pub folder: Option<PathBuf>,
    /// When a change counts as kept.
    pub fsync: Fsync,
    /// What clients have to give with AUTH.
    pub password: Option<String>,
    /// All randomness comes from here; without it, from the system.
    pub seed: Option<u64>,
    /// What time it is.
    pub clock: Clock,
}

/// A client that has not read so many messages is not going to.
const MOST_MESSAGES: usize = 100_000;

/// The name of the log in its folder.
pub const LOG: &str = "keyplane.aof";

/// A live engine; cheap to clone. It ends with its last clone and connection, and its log is on the disk
/// then, unless time is made up ([`Clock::Tokio`]).
#[derive(Debug, Clone)]
pub struct Live(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    engine: Mutex<Engine>,
    sinks: Mutex<HashMap<ClientId, Sink, Hashing>>,
    clock: Clock,
    writer: Option<Writer>,
    ticker: ticker::Wake,
    /// Of its folder: let go when the log is closed, and not before.
    _lock: Option<File>,
}

/// A live engine that may have ended.
#[derive(Debug, Clone)]
struct WeakLive(Weak<Inner>);

impl WeakLive {
    fn upgrade(&self) -> Option<Live> {
        self.0.upgrade().map(Live)
    }
}

/// Where a client's deliveries go.
#[derive(Debug, Default)]
struct Sink {
    /// The answer to a command that waits.
    answer: Option<oneshot::Sender<Due>>,
    /// Messages out of turn.
    messages: Option<mpsc::Sender<Sent>>,
}

/// Something to be told when the log is that far.
#[derive(Debug)]
struct Due {
    reply: Reply,
    position: u64,
}

/// What a client that listens is sent.
#[derive(Debug)]
enum Sent {
    Message(Due),
    Close,
}

impl Live {
    /// Starts one, from its log if there is one. What was read of that, too.
    ///
    /// Has to be called within a tokio runtime.
    #[allow(clippy::needless_pass_by_value, reason = "made for this one call")]
    pub fn start(options: Options) -> Result<(Self, Option<Loaded>), LogError> {
        Self::start_with(&options, None)
    }

    fn start_with(options: &Options, lock: Option<File>) -> Result<(Self, Option<Loaded>), LogError> {
        let seed = options.seed.unwrap_or_else(|| fastrand::u64(..));
        let settings = Settings {
            seed,
            stopwatch: options.clock.stopwatch(),
            keeps_effects: options.folder.is_some(),
            ..Settings::default()
        };
        let mut engine = Engine::new(settings, options.clock.now());
        if let Some(password) = &options.password {
            engine.require_password(password.as_bytes());
        }
        let (writer, loaded) = match &options.folder {
            Some(folder) => {
                let (writer, loaded) = open_log(folder, options, &mut engine)?;
                (Some(writer), Some(loaded))
            }
            None => (None, None),
        };
        let inner = Arc::new(Inner {
            engine: Mutex::new(engine),
            sinks: Mutex::default(),
            clock: options.clock,
            writer,
            ticker: ticker::Wake::default(),
            _lock: lock,
        });
        ticker::start(&inner);
        rewrite::start(&inner);
        Ok((Self(inner), loaded))
    }

    /// A connection within this process.
    #[must_use]
    pub fn connect(&self, address: &str) -> Connection {
        Connection::open(&self.0, address)
    }

    fn downgrade(&self) -> WeakLive {
        WeakLive(Arc::downgrade(&self.0))
    }

    /// Everything that was changed so far is on the disk afterwards.
    pub async fn flush(&self) -> io::Result<()> {
        match &self.0.writer {
            Some(writer) => writer.flush().await,
            None => Ok(()),
        }
    }
}

fn open_log(folder: &Path, options: &Options, engine: &mut Engine) -> Result<(Writer, Loaded), LogError> {
    std::fs::create_dir_all(folder)?;
    let path = folder.join(LOG);
    let loaded = match File::open(&path) {
        Ok(file) => crate::log::load(file, engine)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => crate::log::load(io::empty(), engine)?,
        Err(error) => return Err(error.into()),
    };
    Ok((Writer::open(&path, &loaded, options.fsync, &options.clock)?, loaded))
}

impl Inner {
    /// Whoever has the engine is done within microseconds, mostly: looking again and again costs less than being put to
    /// sleep and woken.
    fn lock(&self) -> MutexGuard<'_, Engine> {
        const LOOKS: usize = 400;
        for _ in 0..LOOKS {
            match self.engine.try_lock() {
                Ok(engine) => return engine,
                Err(TryLockError::Poisoned(engine)) => return engine.into_inner(),
                Err(TryLockError::WouldBlock) => std::hint::spin_loop(),
            }
        }
        self.engine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sinks(&self) -> MutexGuard<'_, HashMap<ClientId, Sink, Hashing>> {
        self.sinks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands what has happened on, before anything else can happen: the log first, then whoever is to hear of it. Where
    /// the log has to be for it to count.
    fn settle(&self, engine: &mut Engine, deliveries: Vec<Delivery>) -> u64 {
        let position = match &self.writer {
            Some(writer) => {
                if let Some(why) = writer.failure() {
                    engine.refuse_writes(&why);
                }
                writer.append(&engine.take_effects())
            }
            None => 0,
        };
        if !deliveries.is_empty() {
            self.deliver(deliveries, position);
        }
        self.ticker.at(engine.next_deadline());
        position
    }

    fn deliver(&self, deliveries: Vec<Delivery>, position: u64) {
        let mut sinks = self.sinks();
        for delivery in deliveries {
            match delivery {
                Delivery::Message { to, message } => {
                    let Some(sink) = sinks.get_mut(&to) else { continue };
                    let due = Due { reply: message, position };
                    let answers = !matches!(due.reply, Reply::Push(_)) && sink.answer.is_some();
                    match (sink.answer.take_if(|_| answers), &sink.messages) {
                        (Some(answer), _) => drop(answer.send(due)),
                        (None, Some(messages)) => {
                            if messages.try_send(Sent::Message(due)).is_err() {
                                // Its end of the channel tells it.
                                sinks.remove(&to);
                            }
                        }
                        (None, None) => {}
                    }
                }
                Delivery::Close { to } => {
                    if let Some(sink) = sinks.remove(&to)
                        && let Some(messages) = sink.messages
                    {
                        drop(messages.try_send(Sent::Close));
                    }
                }
            }
        }
    }

    /// Until the log is that far.
    async fn kept(&self, position: u64) -> Result<(), String> {
        match &self.writer {
            Some(writer) => writer.kept(position).await,
            None => Ok(()),
        }
    }
}
