//! Who writes the log: a thread. Where time is made up, a task of the runtime that has the engine: when a simulated machine
//! crashes it is gone with all that it was handed and has not written, and a seed is a run all the same.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};

use super::Clock;
use crate::effects::Steps;
use crate::log::{Chain, Loaded};

/// When a change counts as kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fsync {
    /// When it is on the disk.
    Always,
    /// At once; it is on the disk within about a second.
    #[default]
    EverySecond,
    /// At once; the system writes it when it likes.
    No,
}

impl Fsync {
    /// Every one, with the word of Redis's `appendfsync`.
    pub const ALL: [(Self, &'static str); 3] =
        [(Self::Always, "always"), (Self::EverySecond, "everysec"), (Self::No, "no")];

    /// By its word.
    #[must_use]
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == word).map(|(fsync, _)| *fsync)
    }

    /// Its word.
    #[must_use]
    pub fn word(self) -> &'static str {
        Self::ALL.iter().find(|(fsync, _)| *fsync == self).map_or("", |(_, word)| word)
    }
}

/// From this size on a log that has doubled is written anew.
const REWRITE_FROM: u64 = 64 * 1024 * 1024;

/// What a made-up disk takes to write what waits for it, and what it takes to say so.
const MADE_UP: Duration = Duration::from_millis(2);

/// Takes what is to be written, and says what was.
#[derive(Debug)]
pub(super) struct Writer {
    shared: Arc<Shared>,
    always: bool,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    pending: Mutex<Pending>,
    /// Wakes the thread.
    more: Condvar,
    /// Wakes the task, if it is one that writes.
    task: Option<Notify>,
    /// The log has grown enough to be written anew.
    grown: Notify,
    kept: RwLock<Kept>,
    /// Wakes whoever waits for it to be further, in the order in which they came. (A `watch` wakes in any order.)
    further: Notify,
}

#[derive(Debug, Default)]
struct Pending {
    items: Vec<Item>,
    /// Steps that were handed in so far.
    position: u64,
    closed: bool,
}

impl Pending {
    fn take(&mut self) -> Taken {
        Taken { items: std::mem::take(&mut self.items), position: self.position, closed: self.closed }
    }
}

/// What is to be written next; nothing when only a sync is due.
struct Taken {
    items: Vec<Item>,
    position: u64,
    closed: bool,
}

/// Up to where it was written.
struct Written {
    position: u64,
    /// And is on the disk, whatever the policy.
    synced: bool,
    closed: bool,
}

#[derive(Debug)]
enum Item {
    Steps(Steps),
    BeginPicture,
    Part(Vec<u8>),
    EndPicture,
    DropPicture,
    /// On the disk, whatever the policy.
    Sync,
}

/// How far the log is.
#[derive(Debug, Clone, Default)]
struct Kept {
    position: u64,
    /// Up to here it is on the disk, whatever the policy.
    synced: u64,
    failure: Option<Arc<str>>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn kept(&self) -> RwLockReadGuard<'_, Kept> {
        self.kept.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, change: impl FnOnce(&mut Kept)) {
        change(&mut self.kept.write().unwrap_or_else(PoisonError::into_inner));
        self.further.notify_waiters();
    }

    /// How many steps were handed in before it.
    fn put(&self, item: Item) -> u64 {
        let mut pending = self.lock();
        pending.items.push(item);
        let position = pending.position;
        drop(pending);
        self.wake();
        position
    }

    fn wake(&self) {
        match &self.task {
            Some(task) => task.notify_one(),
            None => self.more.notify_one(),
        }
    }
}

impl Writer {
    pub(super) fn open(path: &Path, loaded: &Loaded, fsync: Fsync, clock: &Clock) -> io::Result<Self> {
        let log = Log::open(path, loaded)?;
        let shared = Arc::new(Shared {
            pending: Mutex::default(),
            more: Condvar::new(),
            task: clock.is_made_up().then(Notify::new),
            grown: Notify::new(),
            kept: RwLock::default(),
            further: Notify::new(),
        });
        let scribe = Scribe { log, fsync, shared: Arc::clone(&shared), dirty: false, synced: Instant::now() };
        let thread = match clock.is_made_up() {
            true => {
                tokio::spawn(scribe.write_as_task());
                None
            }
            false => {
                let named = std::thread::Builder::new().name("keyplane-log".to_owned());
                Some(named.spawn(move || scribe.write_as_thread())?)
            }
        };
        Ok(Self { shared, always: fsync == Fsync::Always, thread })
    }

    /// Where the log has to be for these, and for everything before, to be in it.
    pub(super) fn append(&self, steps: &Steps) -> u64 {
        let mut pending = self.shared.lock();
        if steps.is_empty() {
            return pending.position;
        }
        pending.position += 1;
        match pending.items.last_mut() {
            Some(Item::Steps(last)) => last.append(steps),
            _ => pending.items.push(Item::Steps(steps.clone())),
        }
        let position = pending.position;
        drop(pending);
        self.shared.wake();
        position
    }

    /// Until the log is that far, where that matters.
    pub(super) async fn kept(&self, position: u64) -> Result<(), String> {
        if !self.always {
            return Ok(());
        }
        self.wait_for(|kept| kept.position >= position).await
    }

    pub(super) async fn flush(&self) -> io::Result<()> {
        let position = self.shared.put(Item::Sync);
        self.wait_for(|kept| kept.synced >= position).await.map_err(io::Error::other)
    }

    async fn wait_for(&self, reached: impl Fn(&Kept) -> bool) -> Result<(), String> {
        loop {
            // Before looking: what is told in between is not missed.
            let further = self.shared.further.notified();
            {
                let kept = self.shared.kept();
                if reached(&kept) {
                    return Ok(());
                }
                if let Some(why) = &kept.failure {
                    return Err(why.as_ref().to_owned());
                }
            }
            further.await;
        }
    }

    /// Why it cannot be written.
    pub(super) fn failure(&self) -> Option<Arc<str>> {
        self.shared.kept().failure.clone()
    }

    /// Until the log should be written anew.
    pub(super) fn grown(&self) -> impl Future<Output = ()> + Send + use<> {
        let shared = Arc::clone(&self.shared);
        async move { shared.grown.notified().await }
    }

    pub(super) fn begin_picture(&self) {
        self.shared.put(Item::BeginPicture);
    }

    pub(super) fn picture_part(&self, part: Vec<u8>) {
        self.shared.put(Item::Part(part));
    }

    pub(super) fn end_picture(&self) {
        self.shared.put(Item::EndPicture);
    }

    pub(super) fn drop_picture(&self) {
        self.shared.put(Item::DropPicture);
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.wake();
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

/// Whoever writes.
struct Scribe {
    log: Log,
    fsync: Fsync,
    shared: Arc<Shared>,
    dirty: bool,
    synced: Instant,
}

impl Scribe {
    fn write_as_thread(mut self) {
        loop {
            let mut pending = self.shared.lock();
            while pending.items.is_empty() && !pending.closed {
                let wait = self.until_sync();
                if wait.is_zero() {
                    break;
                }
                let woken = self.shared.more.wait_timeout(pending, wait);
                pending = woken.unwrap_or_else(PoisonError::into_inner).0;
            }
            let taken = pending.take();
            drop(pending);
            let written = self.write(taken);
            if self.tell(written).is_none() {
                return;
            }
        }
    }

    async fn write_as_task(mut self) {
        loop {
            if let Some(task) = &self.shared.task {
                // Woken, or it is time for the disk.
                let _ = timeout(self.until_sync(), task.notified()).await;
            }
            let taken = self.shared.lock().take();
            sleep(MADE_UP).await;
            let written = self.write(taken);
            sleep(MADE_UP).await;
            if self.tell(written).is_none() {
                return;
            }
        }
    }

    /// How long it may wait until what was written has to be on the disk.
    fn until_sync(&self) -> Duration {
        if self.dirty { EVERY.saturating_sub(self.synced.elapsed()) } else { Duration::MAX }
    }

    /// `None` when nothing more is to be written.
    fn tell(&self, written: io::Result<Written>) -> Option<()> {
        match written {
            Ok(written) => {
                self.shared.tell(|kept| {
                    kept.position = written.position;
                    if written.synced {
                        kept.synced = written.position;
                    }
                });
                (!written.closed).then_some(())
            }
            Err(error) => {
                self.shared.tell(|kept| kept.failure = Some(error.to_string().into()));
                None
            }
        }
    }

    fn write(&mut self, taken: Taken) -> io::Result<Written> {
        let Taken { items, position, closed } = taken;
        let mut asked = false;
        for item in items {
            match item {
                Item::Steps(steps) => {
                    self.log.append(&steps)?;
                    self.dirty = true;
                }
                Item::BeginPicture => self.log.begin_picture()?,
                Item::Part(part) => self.log.picture_part(&part)?,
                Item::EndPicture => self.log.end_picture()?,
                Item::DropPicture => self.log.drop_picture(),
                Item::Sync => asked = true,
            }
        }
        let due = match self.fsync {
            Fsync::Always => true,
            Fsync::EverySecond => self.synced.elapsed() >= EVERY,
            Fsync::No => false,
        };
        let synced = (self.dirty && (due || closed)) || asked;
        if synced {
            // A made-up crash loses nothing that the system was handed.
            if self.shared.task.is_none() {
                self.log.file.sync_data()?;
            }
            self.dirty = false;
            self.synced = Instant::now();
        }
        self.dirty &= self.fsync != Fsync::No;
        if self.log.should_be_written_anew() {
            self.shared.grown.notify_one();
        }
        Ok(Written { position, synced, closed })
    }
}

impl Drop for Scribe {
    /// However it ended: nobody waits for what is not going to come.
    fn drop(&mut self) {
        self.shared.tell(|kept| {
            kept.failure.get_or_insert_with(|| "the log is closed".into());
        });
    }
}

const EVERY: Duration = Duration::from_secs(1);

/// The file, and the one that is to take its place.
struct Log {
    path: PathBuf,
    file: File,
    chain: Chain,
    size: u64,
    /// Its size after it was last written anew.
    base: u64,
    asked: bool,
    next: Option<Next>,
    buffer: Vec<u8>,
}

/// A picture that is being written, and what has changed since it was begun.
struct Next {
    path: PathBuf,
    file: File,
    chain: Chain,
    size: u64,
    since: Steps,
}

impl Log {
    fn open(path: &Path, loaded: &Loaded) -> io::Result<Self> {
        let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        file.set_len(loaded.end)?;
        let (mut chain, mut size) = (loaded.chain, loaded.end);
        file.seek(SeekFrom::End(0))?;
        if size == 0 {
            let mut first = Vec::new();
            chain = Chain::begin(&mut first);
            file.write_all(&first)?;
            size = first.len() as u64;
        }
        file.sync_all()?;
        sync_folder(path)?;
        Ok(Self {
            path: path.to_owned(),
            file,
            chain,
            size,
            base: size,
            asked: false,
            next: None,
            buffer: Vec::new(),
        })
    }

    fn append(&mut self, steps: &Steps) -> io::Result<()> {
        self.buffer.clear();
        for step in steps.iter() {
            self.chain.write(step, &mut self.buffer);
        }
        self.file.write_all(&self.buffer)?;
        self.size += self.buffer.len() as u64;
        if let Some(next) = &mut self.next {
            next.since.append(steps);
        }
        Ok(())
    }

    fn should_be_written_anew(&mut self) -> bool {
        let wanted = !self.asked && self.size >= REWRITE_FROM && self.size >= self.base.saturating_mul(2);
        self.asked |= wanted;
        wanted
    }

    fn begin_picture(&mut self) -> io::Result<()> {
        let path = self.path.with_extension("aof.new");
        let file = File::create(&path)?;
        let mut next = Next { path, file, chain: Chain::default(), size: 0, since: Steps::default() };
        let mut first = Vec::new();
        next.chain = Chain::begin(&mut first);
        next.write(&first)?;
        self.next = Some(next);
        Ok(())
    }

    fn picture_part(&mut self, part: &[u8]) -> io::Result<()> {
        let Some(next) = &mut self.next else { return Ok(()) };
        let mut framed = Vec::with_capacity(part.len() + 64);
        next.chain.write(part, &mut framed);
        next.write(&framed)
    }

    /// The new log takes the place of the old one, with everything that has changed since.
    fn end_picture(&mut self) -> io::Result<()> {
        let Some(mut next) = self.next.take() else { return Ok(()) };
        let mut rest = Vec::new();
        for step in next.since.iter() {
            next.chain.write(step, &mut rest);
        }
        next.write(&rest)?;
        next.file.sync_all()?;
        std::fs::rename(&next.path, &self.path)?;
        sync_folder(&self.path)?;
        (self.file, self.chain, self.size, self.base) = (next.file, next.chain, next.size, next.size);
        self.asked = false;
        Ok(())
    }

    fn drop_picture(&mut self) {
        if let Some(next) = self.next.take() {
            drop(std::fs::remove_file(next.path));
        }
        self.asked = false;
    }
}

impl Next {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.size += bytes.len() as u64;
        Ok(())
    }
}

/// A file that is new in its folder is there after a power cut only when the folder was synced, too.
fn sync_folder(path: &Path) -> io::Result<()> {
    match path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}
