//! The face of the engine: clients come, send commands and go; time passes.

use crate::blocking::Blocking;
use crate::clients::{ClientId, Origin, Replies, Session};
use crate::commands::{self, Command, Run, flag};
use crate::context::Context;
use crate::db::Name;
use crate::fault::Fault;
use crate::lua::Scripts;
use crate::reply::{Protocol, Reply};
use crate::state::State;
use crate::stats::Slow;
use crate::time::Time;

/// How many keys one tick removes at most, so that no tick takes long.
const EXPIRED_AT_ONCE: usize = 1000;

/// What an engine is made with.
#[derive(Debug, Clone, Copy, Default)]
pub struct Settings {
    /// All randomness comes from here.
    pub seed: u64,
    /// A clock that only ever measures how long a command took, in microseconds; without it everything takes none.
    pub stopwatch: Option<fn() -> u64>,
    /// Whether [`Engine::take_effects`] will be asked.
    pub keeps_effects: bool,
    /// After how many instructions of Lua a script is stopped, if not after the usual number.
    pub script_budget: Option<u64>,
}

/// A store in memory.
#[derive(Debug)]
pub struct Engine {
    pub(crate) state: State,
    pub(crate) scripts: Scripts,
    pub(crate) stopwatch: Option<fn() -> u64>,
}

/// What came of a command.
#[derive(Debug)]
pub struct Outcome {
    /// For whoever sent it.
    pub answer: Answer,
    /// For others, in this order.
    pub deliveries: Vec<Delivery>,
}

/// What the sender of a command gets.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// This.
    Reply(Reply),
    /// Nothing yet: a delivery will bring it. Until then its further commands have to wait.
    Blocked,
    /// Nothing, as it asked for.
    Silent,
    /// This, and the end of the connection.
    Last(Reply),
}

/// Something for a client that did not ask for it just now.
#[derive(Debug, Clone, PartialEq)]
pub enum Delivery {
    /// A [`Reply::Push`] out of turn, or the answer to a command that was blocked.
    Message {
        /// For whom.
        to: ClientId,
        /// What.
        message: Reply,
    },
    /// Its connection is to be closed.
    Close {
        /// Whose.
        to: ClientId,
    },
}

impl Delivery {
    pub(crate) fn message(to: ClientId, message: Reply) -> Self {
        Self::Message { to, message }
    }
}

/// What a command came to, before anyone is told.
enum Called {
    Reply(Reply),
    Blocked,
}

impl Engine {
    /// An empty one.
    #[must_use]
    pub fn new(settings: Settings, now: Time) -> Self {
        let mut state = State::new(settings.seed);
        state.now = now;
        state.stats.started = now;
        state.effects.off = !settings.keeps_effects;
        if let Some(budget) = settings.script_budget {
            state.config.script_budget = budget;
        }
        Self { state, scripts: Scripts::default(), stopwatch: settings.stopwatch }
    }

    /// With a password that clients have to give.
    pub fn require_password(&mut self, password: &[u8]) {
        self.state.config.password = Some(password.to_vec());
    }

    /// A client has connected; `address` is what CLIENT LIST shows.
    pub fn connect(&mut self, now: Time, address: String) -> ClientId {
        self.begin(now);
        let open = self.state.config.password.is_none();
        self.state.clients.add(address, open, now)
    }

    /// A client has gone.
    pub fn disconnect(&mut self, client: ClientId) {
        self.state.unblock(client);
        self.state.unwatch(client);
        self.state.channels.leave(client);
        if self.state.clients.remove(client).is_some_and(|client| client.monitors) {
            self.state.monitors -= 1;
        }
    }

    /// How a client reads its answers.
    #[must_use]
    pub fn protocol(&self, client: ClientId) -> Protocol {
        self.state.clients.get(client).map(|client| client.protocol).unwrap_or_default()
    }

    /// One command of one client. Time never runs backwards: an earlier moment counts as the last one.
    pub fn execute(&mut self, now: Time, client: ClientId, args: &[&[u8]]) -> Outcome {
        self.begin(now);
        let answer = self.answer(client, args);
        self.state.serve_waiting();
        self.state.effects.end_step();
        Outcome { answer, deliveries: std::mem::take(&mut self.state.deliveries) }
    }

    /// Time has passed: keys end, waits end.
    pub fn tick(&mut self, now: Time) -> Vec<Delivery> {
        self.begin(now);
        self.state.expire_due(EXPIRED_AT_ONCE);
        self.state.end_waits();
        self.state.effects.end_step();
        std::mem::take(&mut self.state.deliveries)
    }

    /// When the next tick is due.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Time> {
        self.state.next_deadline()
    }

    /// What has changed since the last call, as commands in RESP that do it again. Whole steps only.
    pub fn take_effects(&mut self) -> Vec<u8> {
        self.state.effects.take()
    }

    fn begin(&mut self, now: Time) {
        self.state.now = self.state.now.max(now);
    }

    fn answer(&mut self, client: ClientId, args: &[&[u8]]) -> Answer {
        let Some(known) = self.state.clients.get_mut(client) else {
            return Answer::Last(Reply::Error(Fault::of("ERR the connection is closed")));
        };
        known.active = self.state.now;
        if known.replies == Replies::SkipNext {
            known.replies = Replies::Skip;
        }
        let session = Session { client, db: known.db, protocol: known.protocol, origin: Origin::Client };
        let called = match self.admit(client, args) {
            Ok(Admitted::Run(command)) => self.call(command, session, args),
            Ok(Admitted::Queued) => Called::Reply(Reply::status("QUEUED")),
            Err(fault) => {
                self.state.stats.errors += 1;
                Called::Reply(Reply::Error(fault))
            }
        };
        self.told(client, called, args)
    }

    /// What the client sees of it.
    fn told(&mut self, client: ClientId, called: Called, args: &[&[u8]]) -> Answer {
        let Called::Reply(reply) = called else { return Answer::Blocked };
        if args.first().is_some_and(|name| name.eq_ignore_ascii_case(b"quit")) {
            return Answer::Last(reply);
        }
        match self.state.clients.get_mut(client) {
            Some(known) if known.replies == Replies::Skip => {
                known.replies = Replies::On;
                Answer::Silent
            }
            Some(known) if known.replies != Replies::On => Answer::Silent,
            _ => Answer::Reply(reply),
        }
    }

    /// Whether the command may run now.
    fn admit(&mut self, client: ClientId, args: &[&[u8]]) -> Result<Admitted, Fault> {
        let found = commands::find(args).and_then(|command| self.state.permit(client, command));
        let Some(known) = self.state.clients.get_mut(client) else {
            return Err(Fault::of("ERR the connection is closed"));
        };
        let command = found.inspect_err(|_| {
            if let Some(queue) = &mut known.queue {
                queue.broken = true;
            }
        })?;
        match &mut known.queue {
            Some(queue) if !command.has(flag::NEVER_QUEUED) => {
                if command.has(flag::NO_MULTI) {
                    queue.broken = true;
                    return Err(Fault::of("ERR Command not allowed inside a transaction"));
                }
                queue.commands.push(args.iter().map(|arg| arg.to_vec()).collect());
                Ok(Admitted::Queued)
            }
            _ => Ok(Admitted::Run(command)),
        }
    }

    /// Runs it, by itself or as a part of a transaction.
    fn call(&mut self, command: &'static Command, mut session: Session, args: &[&[u8]]) -> Called {
        self.state.monitor(command, &session, args);
        let start = self.stopwatch.map(|clock| clock());
        let called = match &command.run {
            Run::Exec => Called::Reply(self.exec(session).unwrap_or_else(Reply::Error)),
            Run::Script(run) => Called::Reply(run(self, &session, args).unwrap_or_else(Reply::Error)),
            _ => match self.state.call(command, &mut session, args) {
                Ok(Blocking::Done(reply)) => Called::Reply(reply),
                Ok(Blocking::Wait(wait)) if session.origin == Origin::Client => {
                    self.state.block(session.client, wait);
                    Called::Blocked
                }
                Ok(Blocking::Wait(wait)) => Called::Reply(wait.otherwise),
                Err(fault) => Called::Reply(Reply::Error(fault)),
            },
        };
        let micros = match (self.stopwatch, start) {
            (Some(clock), Some(start)) => clock().saturating_sub(start),
            _ => 0,
        };
        let failed = matches!(&called, Called::Reply(Reply::Error(_)));
        self.state.measured(command, session.client, args, micros, failed);
        if let Some(known) = self.state.clients.get_mut(session.client) {
            known.db = session.db;
            known.last = command.name;
        }
        called
    }

    fn exec(&mut self, session: Session) -> Result<Reply, Fault> {
        let client = session.client;
        let queue = self.state.clients.get_mut(client).and_then(|known| known.queue.take());
        let queue = queue.ok_or(Fault::of("ERR EXEC without MULTI"))?;
        let outrun = self.state.is_outrun(client);
        self.state.unwatch(client);
        if queue.broken {
            return Err(Fault::of("EXECABORT Transaction discarded because of previous errors."));
        }
        if outrun {
            return Ok(Reply::NilArray);
        }
        let mut replies = Vec::with_capacity(queue.commands.len());
        let mut session = Session { origin: Origin::Transaction, ..session };
        for command in &queue.commands {
            let args: Vec<&[u8]> = command.iter().map(Vec::as_slice).collect();
            let called = match commands::find(&args) {
                Ok(command) => self.call(command, session, &args),
                Err(fault) => Called::Reply(Reply::Error(fault)),
            };
            if let Some(known) = self.state.clients.get(client) {
                (session.db, session.protocol) = (known.db, known.protocol);
            }
            if let Called::Reply(reply) = called {
                replies.push(reply);
            }
        }
        Ok(Reply::Array(replies))
    }
}

/// A command that passed.
enum Admitted {
    Run(&'static Command),
    Queued,
}

impl State {
    /// Whether the client may send this at all.
    fn permit(&self, client: ClientId, command: &'static Command) -> Result<&'static Command, Fault> {
        let Some(known) = self.clients.get(client) else { return Ok(command) };
        if !known.authenticated && !command.has(flag::NO_AUTH) {
            return Err(Fault::of("NOAUTH Authentication required."));
        }
        let listens = known.subscriptions() > 0 && known.protocol == Protocol::Two;
        if listens && !command.has(flag::WHILE_LISTENING) {
            return Err(Fault::new(format!(
                "ERR Can't execute '{}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this \
                 context",
                command.name
            )));
        }
        Ok(command)
    }

    /// Runs one command: of a client, of a transaction or of a script.
    pub(crate) fn call(
        &mut self,
        command: &'static Command,
        session: &mut Session,
        args: &[&[u8]],
    ) -> Result<Blocking, Fault> {
        let mut context = Context::new(self, *session);
        let done = match &command.run {
            Run::Plain(run) => run(&mut context, args).map(Blocking::Done),
            Run::Blocking(run) => run(&mut context, args),
            Run::Exec | Run::Script(_) => Err(Fault::of("ERR this command cannot be run here")),
        };
        context.log_as_sent(args);
        *session = context.session;
        done
    }

    pub(crate) fn measured(
        &mut self,
        command: &'static Command,
        client: ClientId,
        args: &[&[u8]],
        micros: u64,
        failed: bool,
    ) {
        self.stats.commands += 1;
        self.stats.errors += u64::from(failed);
        let calls = self.stats.by_command.entry(command.name).or_default();
        calls.calls += 1;
        calls.micros += micros;
        calls.failed += u64::from(failed);
        let slow_from = u64::try_from(self.config.slow_from).unwrap_or(u64::MAX);
        if micros < slow_from || command.has(flag::SKIP_SLOWLOG) {
            return;
        }
        let (address, name) = self
            .clients
            .get(client)
            .map(|known| (known.address.clone(), known.name.clone()))
            .unwrap_or_default();
        let args = args.iter().map(|arg| arg.to_vec()).collect();
        let id = self.stats.slow_so_far;
        self.stats.slow_so_far += 1;
        self.stats.slow.push_front(Slow { id, at: self.now, micros, args, address, name });
        self.stats.slow.truncate(self.config.slow_kept);
    }

    /// Whether a key that the client watches has changed.
    fn is_outrun(&mut self, client: ClientId) -> bool {
        let Some(known) = self.clients.get(client) else { return false };
        if known.outrun {
            return true;
        }
        let now = self.now.millis();
        known.watching.iter().any(|watched| {
            !watched.was_over
                && self.dbs[watched.db].get(&watched.key).is_some_and(|entry| entry.is_over(now))
        })
    }

    /// The client watches nothing any more.
    pub(crate) fn unwatch(&mut self, client: ClientId) {
        let Some(known) = self.clients.get_mut(client) else { return };
        known.outrun = false;
        for watched in std::mem::take(&mut known.watching) {
            let place = (watched.db, Name::clone(&watched.key));
            if let Some(watchers) = self.watchers.get_mut(&place) {
                watchers.retain(|watcher| *watcher != client);
                if watchers.is_empty() {
                    self.watchers.remove(&place);
                }
            }
        }
    }
}
