//! A primary and its replica, with a link between them that can be cut.

use std::collections::HashMap;
use std::time::Duration;

use keyplane_kit::Fence;
use keyplane_kit::lease::{Held, Lease, Options as LeaseOptions};
use keyplane_store::{Handle, Options, Store};
use keyplane_testing::{Mode, Program, Proxy, Server, Settings, until};

use crate::journal::record;
use crate::setup::{Keyspace, PoolId};

pub(crate) struct Pair {
    pub(crate) primary: Server,
    pub(crate) replica: Server,
    link: Proxy,
}

impl Pair {
    /// Starts both; the replica has all that the primary has.
    pub(crate) fn start() -> Self {
        // Over a socket, a primary waits for more replicas before it sends its data.
        let settings = Settings::tcp().line("repl-diskless-sync no").line("repl-ping-replica-period 1");
        let primary = Server::start(Program::Redis, &settings);
        let link = Proxy::start(primary.addr());
        let follows = format!("replicaof 127.0.0.1 {}", link.addr().port());
        let replica = Server::start(Program::Redis, &settings.line(&follows));
        let pair = Self { primary, replica, link };
        pair.catch_up();
        pair
    }

    /// Waits until the replica has all that the primary has.
    pub(crate) fn catch_up(&self) {
        until("a replica in step", || {
            let mut admin = self.primary.admin();
            // WAIT counts from the connection's last write.
            redis::cmd("SET").arg("step").arg(1).exec(&mut admin).unwrap();
            let got: u32 = redis::cmd("WAIT").arg(1).arg(1000).query(&mut admin).unwrap();
            if got == 1 { Ok(()) } else { Err("no replica has it".to_owned()) }
        });
    }

    /// Nothing passes between them any more, and neither knows.
    pub(crate) fn cut(&self) {
        self.link.set(Mode::HalfOpen);
    }

    /// The replica takes writes; the primary goes on.
    pub(crate) fn promote(&self) {
        redis::cmd("REPLICAOF").arg("NO").arg("ONE").exec(&mut self.replica.admin()).unwrap();
    }
}

/// One side, as machines of that side see it.
#[derive(Clone)]
pub(crate) struct Side {
    pub(crate) handle: Handle,
    keys: std::sync::Arc<Keyspace>,
}

impl Side {
    pub(crate) async fn of(server: &Server) -> Self {
        Self::at(&server.url()).await
    }

    pub(crate) async fn at(url: &str) -> Self {
        let mut options = Options::default();
        options.command_timeout = Duration::from_secs(10);
        let store = Store::open(url, options).await.unwrap();
        let contract = keyplane_store::contract(Keyspace::SOURCE).unwrap();
        // Nothing runs out while a test looks; what is to be over is removed.
        let hour = HashMap::from([("leader_ttl".to_owned(), Duration::from_secs(3600))]);
        let handle = store.as_component(&contract, "machine", &hour).unwrap();
        Self { handle, keys: std::sync::Arc::new(Keyspace::default()) }
    }

    pub(crate) fn lease(&self, pool: &PoolId) -> Lease {
        self.lease_with(pool, LeaseOptions::default())
    }

    pub(crate) fn lease_with(&self, pool: &PoolId, options: LeaseOptions) -> Lease {
        Lease::with(&self.handle, self.keys.leader(pool), options).unwrap()
    }

    /// Takes the lock here if it is free.
    pub(crate) async fn take(&self, pool: &PoolId, owner: &str) -> Held {
        self.lease(pool).try_acquire(owner).await.unwrap().expect("it is free")
    }

    /// Shows this fence here. Whether the write was let in.
    pub(crate) async fn write(&self, pool: &PoolId, fence: &Fence) -> bool {
        record(&self.handle, &self.keys, pool, fence, fence.as_str()).await.unwrap()
    }
}

/// Removes a lock, as if it had run out.
pub(crate) fn end_lock(server: &mut redis::Connection, pool: &PoolId) {
    redis::cmd("DEL").arg(Keyspace::default().leader(pool).to_string()).exec(server).unwrap();
}
