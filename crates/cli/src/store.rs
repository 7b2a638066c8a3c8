//! `keyplane store`: the embedded store, for redis-cli and any other client.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use keyplane_engine::live::{Found, Fsync, House, HouseError, Live, Options};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use crate::args::{self, Store};
use crate::outcome::{Failure, Outcome};
use crate::output::{FAINT, KEY, Output, STRONG};
use crate::words::count;
use crate::{session, state};

/// A store that runs: in a folder of ours, or in memory.
enum Home {
    Folder(Arc<House>),
    Memory(Live),
}

impl Home {
    fn live(&self) -> &Live {
        match self {
            Self::Folder(house) => house.live(),
            Self::Memory(live) => live,
        }
    }
}

pub(crate) fn run(command: &Store, output: &Output) -> Result<Outcome, Failure> {
    if !command.listen.ip().is_loopback() {
        let what = format!("the store listens to this machine only, and {} is not it", command.listen);
        return Err(Failure::new(what).help(
            "it has no TLS and no users; beyond one machine run a Redis or Valkey and change the url",
        ));
    }
    session::run(serve(command, output))?.transpose()?;
    Ok(Outcome::Fine)
}

async fn serve(command: &Store, output: &Output) -> Result<(), Failure> {
    let home = open(command)?;
    let listener = TcpListener::bind(command.listen).await.map_err(|error| {
        Failure::new(format!("cannot listen on {}: {error}", command.listen))
            .help("another port: --listen 127.0.0.1:6390")
    })?;
    let address = listener.local_addr().unwrap_or(command.listen);
    say(&home, address, command.fsync, output)?;
    let mut stop = signal(SignalKind::terminate())
        .map_err(|error| Failure::new(format!("cannot wait for SIGTERM: {error}")))?;
    tokio::select! {
        () = home.live().serve(listener) => {}
        _ = stop.recv() => {}
        _ = tokio::signal::ctrl_c() => {}
    }
    let kept = home.live().flush().await;
    kept.map_err(|error| Failure::new(format!("the log could not be written to its end: {error}")))
}

fn open(command: &Store) -> Result<Home, Failure> {
    let options = Options { fsync: fsync(command.fsync), ..Options::default() };
    if command.memory {
        let started = Live::start(options);
        return started.map(|(live, _)| Home::Memory(live)).map_err(|error| Failure::new(error.to_string()));
    }
    let folder = match &command.path {
        Some(path) => path.clone(),
        None => state::folder()?,
    };
    match House::enter(&folder, &options) {
        Ok(Found::Own(house)) => Ok(Home::Folder(house)),
        Ok(Found::Elsewhere(socket)) => Err(taken(&folder, &socket)),
        Err(error @ HouseError::Log { .. }) => {
            Err(Failure::new(error.to_string())
                .help("nothing was changed; keep a copy before you cut anything"))
        }
        Err(error) => Err(Failure::new(format!("the folder cannot be used: {error}"))),
    }
}

fn taken(folder: &Path, socket: &Path) -> Failure {
    Failure::new(format!("{} belongs to another process", folder.display()))
        .help(format!("look in with redis-cli -s {}, or name another folder", socket.display()))
}

fn fsync(word: args::Fsync) -> Fsync {
    match word {
        args::Fsync::Always => Fsync::Always,
        args::Fsync::Everysec => Fsync::EverySecond,
        args::Fsync::No => Fsync::No,
    }
}

fn say(home: &Home, address: SocketAddr, fsync: args::Fsync, output: &Output) -> Result<(), Failure> {
    let look = format!("redis-cli -h {} -p {}", address.ip(), address.port());
    let folder: Option<PathBuf> = match home {
        Home::Folder(house) => Some(house.folder().to_owned()),
        Home::Memory(_) => None,
    };
    let loaded = match home {
        Home::Folder(house) => *house.loaded(),
        Home::Memory(_) => Default::default(),
    };
    if output.json {
        return output.document(&json!({
            "address": address.to_string(),
            "folder": folder,
            "fsync": folder.is_some().then(|| fsync.to_string()),
            "steps": loaded.steps,
            "torn_bytes": loaded.torn,
        }));
    }
    match &folder {
        Some(folder) => output.line(format!(
            "{STRONG}store{STRONG:#} in {KEY}{}{KEY:#}  {FAINT}{} read from its log, fsync {fsync}{FAINT:#}",
            folder.display(),
            count(loaded.steps, "step"),
        ))?,
        None => output
            .line(format!("{STRONG}store{STRONG:#} in memory  {FAINT}it ends with this process{FAINT:#}"))?,
    }
    if loaded.torn > 0 {
        output.line(format!(
            "{FAINT}The last {} of the log were a step that was never finished; nobody was told that it was. Cut off.{FAINT:#}",
            count(loaded.torn, "byte")
        ))?;
    }
    output.line(format!("look in    {KEY}{look}{KEY:#}"))?;
    output.line(format!("{FAINT}Ctrl-C ends it{FAINT:#}"))
}
