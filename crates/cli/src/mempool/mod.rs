//! `keyplane mempool`: a Cardano mempool that several nodes share.

mod ask;
mod grpc;
mod list;
mod replay;
mod serve;
pub(crate) mod sim;
mod submit;
mod tail;

use keyplane_config::{MempoolSettings, Section};
use keyplane_key::Naming;
use keyplane_mempool::state::{OpenError, ReadError};
use keyplane_mempool::{Pool, Settings};
use keyplane_store::Store;

use crate::args::{Given, Mempool};
use crate::outcome::{Failure, Kind, Outcome};
use crate::output::Output;
use crate::session;
use crate::site::more;

pub(crate) fn run(command: &Mempool, given: &Given, output: &Output) -> Result<Outcome, Failure> {
    if let Mempool::Run(serve) = command {
        return session::run_to_end(serve::run(serve, given, output))?;
    }
    let ended = session::run(carry_out(command, given, output))?;
    ended.unwrap_or(Ok(Outcome::Interrupted))
}

async fn carry_out(command: &Mempool, given: &Given, output: &Output) -> Result<Outcome, Failure> {
    match command {
        Mempool::Submit { file } => submit::run(file, given, output).await,
        Mempool::Status { hashes } => ask::status(hashes, given, output).await,
        Mempool::Leader => ask::leader(given, output).await,
        Mempool::List { stage, limit } => list::run(stage.as_deref(), *limit, given, output).await,
        Mempool::Tail { from, count } => tail::run(from.as_deref(), *count, given, output).await,
        Mempool::Replay { blocks, txs } => replay::run(blocks, txs, given, output).await,
        Mempool::Sim { lasts } => sim::run(*lasts, given, output).await,
        // It puts things in order before it ends, so it has a session of its own.
        Mempool::Run(serve) => serve::run(serve, given, output).await,
    }
}

/// Where the pool is and how it behaves, by the settings.
struct Site {
    store: Store,
    naming: Naming,
    settings: Settings,
    own: MempoolSettings,
}

impl Site {
    /// The store that the settings name.
    async fn open(given: &Given) -> Result<Self, Failure> {
        Self::at(given, None).await
    }

    /// The store that the settings name; one in memory if they name none.
    async fn open_or_in_memory(given: &Given) -> Result<Self, Failure> {
        Self::at(given, Some("embedded:")).await
    }

    async fn at(given: &Given, otherwise: Option<&str>) -> Result<Self, Failure> {
        let crate::site::Site { store, naming, config } =
            crate::site::Site::of(Section::Mempool, given, otherwise).await?;
        let own = config.mempool();
        Ok(Self { store, naming, settings: chosen(&own), own })
    }

    /// The pool, as a node with an id of its own.
    fn pool(&self) -> Result<Pool, Failure> {
        let id = uuid::Uuid::new_v4().to_string();
        Pool::new(&self.store, self.naming.clone(), &id, self.settings).map_err(|error| unopened(&error))
    }
}

fn chosen(own: &MempoolSettings) -> Settings {
    let mut settings = Settings::default();
    settings.max_finalized = own.max_finalized;
    settings.watcher_lock_ttl = own.watcher_lock_ttl;
    settings.thresholds.finalize = u32::try_from(own.finalize_threshold).unwrap_or(u32::MAX);
    settings.thresholds.drop = u32::try_from(own.drop_threshold).unwrap_or(u32::MAX);
    settings.limits.count = own.max_transactions;
    settings.limits.bytes = own.max_bytes;
    settings.limits.tx_bytes = own.max_tx_bytes;
    settings.limits.age = own.max_age.unwrap_or_default();
    settings
}

fn unopened(error: &OpenError) -> Failure {
    Failure::new(format!("cannot open the pool: {error}"))
}

/// The store failed while it was asked.
fn unread(error: impl Into<ReadError>) -> Failure {
    match error.into() {
        ReadError::Store(error) => {
            Failure::new(error.to_string()).of(Kind::Unreachable).help(more(Section::Mempool))
        }
        error => Failure::new(error.to_string()),
    }
}
