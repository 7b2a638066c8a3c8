//! A store as one component sees it.

use std::sync::Arc;
use std::time::Duration;

use keyplane_key::{Call, Command, Key, Kind};

use crate::core::{Core, Job};
use crate::dedicated::Dedicated;
use crate::error::{Cause, Error, Operation};
use crate::pipeline::Pipeline;
use crate::reply::{FromReply, Reply};
use crate::rules::Rules;
use crate::slot::Slot;
use crate::write::{self, Plan};
use crate::{Metrics, script};

/// A contract on a store, opened as one of its components. Cheap to clone.
///
/// Whatever is written lives as the contract says, stays within its limits, and is granted to the component; what does
/// not is refused before it is sent.
#[derive(Debug, Clone)]
pub struct Handle {
    pub(crate) core: Arc<Core>,
    pub(crate) rules: Arc<Rules>,
    pub(crate) patience: Duration,
}

impl Handle {
    /// Runs a command. Writes get their TTL and limits; an operation that is safe to repeat is repeated when the
    /// connection fails, any other is not.
    pub async fn run<R: FromReply>(&self, command: Command<R>) -> Result<R, Error> {
        let operation = operation(&command);
        let refuse = |cause| Error::refused(operation.clone(), cause);
        if command.blocks().is_some() {
            return Err(refuse(Cause::Blocking));
        }
        self.check_slots(&command).map_err(refuse)?;
        let job = |request| Job {
            operation: &operation,
            request,
            slot: self.core.slot(command.key()),
            repeatable: command.is_repeatable(),
            is_script: false,
        };
        let reply = match write::plan(&self.rules, &command).map_err(refuse)? {
            Plan::Plain(request) => self.core.execute(&job(&request), self.patience).await?,
            Plan::Guarded(guard) => {
                let reply =
                    self.core.evaluate(&job(&guard.by_sha(&command)), write::SOURCE, self.patience).await;
                reply.map_err(|error| guard.explain(error))?
            }
        };
        read(&operation, reply)
    }

    /// Runs a script.
    pub async fn call<R: FromReply>(&self, call: impl Into<Call<R>>) -> Result<R, Error> {
        let call = call.into();
        let operation = call_operation(&call);
        let refuse = |cause| Error::refused(operation.clone(), cause);
        self.rules.check_call(&call).map_err(refuse)?;
        let slot = script::slot(&call, &self.core).map_err(refuse)?;
        let request = script::by_sha(&self.rules, &call);
        let job = Job {
            operation: &operation,
            request: &request,
            slot,
            repeatable: call.script().repeatable || call.script().read_only,
            is_script: true,
        };
        let reply = self.core.evaluate(&job, call.script().source, self.patience).await?;
        read(&operation, reply)
    }

    /// Several commands of one kind in one round trip per server: all answers, or the first error.
    pub async fn run_all<R: FromReply>(
        &self,
        commands: impl IntoIterator<Item = Command<R>>,
    ) -> Result<Vec<R>, Error> {
        let (mut pipeline, mut operations) = (self.pipeline(), Vec::new());
        for command in commands {
            operations.push(operation(&command));
            pipeline = pipeline.run(command);
        }
        let replies = pipeline.send_all().await?;
        operations.iter().zip(replies).map(|(operation, reply)| read(operation, reply)).collect()
    }

    /// Several commands and scripts in one round trip per server.
    pub fn pipeline(&self) -> Pipeline<'_> {
        Pipeline::new(self)
    }

    /// A connection of its own to the server that has this key, for blocking commands and WAIT. Waits for a free one as
    /// long as an operation may take.
    pub async fn dedicated<T: Kind>(&self, key: &Key<T>) -> Result<Dedicated, Error> {
        Dedicated::open(self, self.core.slot(key.as_str().as_bytes())).await
    }

    /// The same for whoever can do without: `None` at once where half of the pool is taken. The rest stays for those that
    /// cannot, such as a lock that waits for its replicas.
    pub async fn spare<T: Kind>(&self, key: &Key<T>) -> Result<Option<Dedicated>, Error> {
        Dedicated::open_spare(self, self.core.slot(key.as_str().as_bytes())).await
    }

    /// The same handle with another deadline for each operation.
    #[must_use]
    pub fn with_timeout(&self, patience: Duration) -> Self {
        Self { patience, ..self.clone() }
    }

    /// The counters of the store.
    #[must_use]
    pub fn metrics(&self) -> &Metrics {
        &self.core.context.metrics
    }

    /// What `ttl(key)` is to a script: how long the contract, or the deployment's setting, lets a key live after a write.
    /// `None` where it lives for ever, or no longer than another.
    #[must_use]
    pub fn lifetime(&self, key: &str) -> Option<Duration> {
        self.rules.lifetime(key).filter(|lasts| !lasts.is_zero())
    }

    /// The component that it was opened as; `None` for one that may read everything.
    #[must_use]
    pub fn component(&self) -> Option<&str> {
        self.rules.component()
    }

    /// The age at which members of a key go, by the contract or the deployment's setting. `None` where they do not.
    #[must_use]
    pub fn member_lifetime(&self, key: &str) -> Option<Duration> {
        self.rules.member_lifetime(key)
    }

    /// How many members the contract lets a key have. `None`: any number.
    #[must_use]
    pub fn most_members(&self, key: &str) -> Option<u64> {
        let contract = self.contract();
        contract.key(key).and_then(|key| key.limits(contract).members)
    }

    /// The contract.
    #[must_use]
    pub fn contract(&self) -> &Arc<keyplane_schema::Contract> {
        &self.rules.contract
    }

    pub(crate) fn check_slots<R>(&self, command: &Command<R>) -> Result<(), Cause> {
        if !self.core.is_cluster() {
            return Ok(());
        }
        let own = Slot::of(command.key());
        let second = command.second_info().and_then(|_| command.args().get(1)).map(Slot::of);
        let parent = command.parent().map(|(_, key)| Slot::of(key.as_bytes()));
        match second.into_iter().chain(parent).find(|slot| *slot != own) {
            Some(other) => Err(Cause::CrossSlot(own.number(), other.number())),
            None => Ok(()),
        }
    }
}

pub(crate) fn operation<R>(command: &Command<R>) -> Operation {
    Operation { name: command.name(), pattern: command.info().pattern, writes: command.effect().writes() }
}

pub(crate) fn call_operation<R>(call: &Call<R>) -> Operation {
    let pattern = call.families().first().map_or("", |info| info.pattern);
    Operation { name: call.script().name, pattern, writes: !call.script().read_only }
}

pub(crate) fn read<R: FromReply>(operation: &Operation, reply: Reply) -> Result<R, Error> {
    R::from_reply(reply).map_err(|error| Error::open(operation.clone(), Cause::Reply(error)))
}
