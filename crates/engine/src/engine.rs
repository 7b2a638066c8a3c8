//! The face of the engine: clients come, send commands and go; time passes.

use crate::blocking::Blocking;
use crate::clients::{ClientId, Origin, Replies, Session};
use crate::commands::{self, Command, Run, flag};
use crate::context::Context;
use crate::effects::Steps;
use crate::fault::Fault;
use crate::lua::Scripts;
use crate::reply::{Protocol, Reply};
use crate::state::State;
use crate::time::Time;
use crate::transaction::Queued;

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
    /// How many pictures were taken.
    pub(crate) pictures: u32,
    pub(crate) stopwatch: Option<fn() -> u64>,
}

/// What came of a command.
#[derive(Debug)]
pub struct Outcome {
    /// For whoever sent it.
    pub answer: Answer,
    /// For others and for whoever sent it, in this order, after the answer.
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
    /// A [`Reply::Push`] out of turn, a line for a client that monitors, or else the answer to a command that was
    /// blocked: it has to wait no longer, also when there is nothing to write.
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

    fn into_message(self) -> Option<Reply> {
        match self {
            Self::Message { message, .. } => Some(message),
            Self::Close { .. } => None,
        }
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
        Self { state, scripts: Scripts::default(), pictures: 0, stopwatch: settings.stopwatch }
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

    /// The port that INFO shows.
    pub fn listens_on(&mut self, port: u16) {
        self.state.config.port = port;
    }

    /// A client has gone.
    pub fn disconnect(&mut self, client: ClientId) {
        self.state.forget(client);
    }

    /// Whoever waits for a key there does so no longer, and is told nothing.
    pub fn stop_waiting(&mut self, client: ClientId) {
        self.state.unblock(client);
    }

    /// Changes are refused from now on, because they cannot be kept.
    pub fn refuse_writes(&mut self, why: &str) {
        self.state.refusal = Some(Fault::new(format!("MISCONF the log cannot be written: {why}")));
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
        let answer = self.after_own_messages(client, args, answer);
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

    /// What has changed since the last call. Whole steps only.
    pub fn take_effects(&mut self) -> Steps {
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
        known.replies = known.replies.next();
        let session = Session { client, db: known.db, protocol: known.protocol, origin: Origin::Client };
        let called = match self.admit(client, args) {
            Ok(Admitted::Run(command)) => self.call(command, session, args),
            Ok(Admitted::Queued) => Called::Reply(Reply::status("QUEUED")),
            Err(fault) => {
                self.state.stats.count_error(&fault);
                Called::Reply(Reply::Error(fault))
            }
        };
        self.told(client, called)
    }

    /// What a client publishes to itself comes before its answer, except when that is the answer of a transaction.
    fn after_own_messages(&mut self, client: ClientId, args: &[&[u8]], answer: Answer) -> Answer {
        let is_own = |delivery: &Delivery| matches!(delivery, Delivery::Message { to, message: Reply::Push(_) } if *to == client);
        let in_transaction = args.first().is_some_and(|name| name.eq_ignore_ascii_case(b"exec"));
        let (Answer::Reply(_) | Answer::Last(_)) = &answer else { return answer };
        if in_transaction || !self.state.deliveries.iter().any(is_own) {
            return answer;
        }
        let (own, others) = std::mem::take(&mut self.state.deliveries).into_iter().partition(is_own);
        self.state.deliveries = others;
        let own: Vec<Delivery> = own;
        let mut all: Vec<Reply> = own.into_iter().filter_map(Delivery::into_message).collect();
        match answer {
            Answer::Reply(reply) => {
                all.push(reply);
                Answer::Reply(Reply::Several(all))
            }
            Answer::Last(reply) => {
                all.push(reply);
                Answer::Last(Reply::Several(all))
            }
            other => other,
        }
    }

    /// What the client sees of it.
    fn told(&mut self, client: ClientId, called: Called) -> Answer {
        let Called::Reply(reply) = called else { return Answer::Blocked };
        let Some(known) = self.state.clients.get(client) else { return Answer::Last(reply) };
        match (known.closing, known.replies.are_off()) {
            (true, true) => Answer::Last(Reply::Several(Vec::new())),
            (true, false) => Answer::Last(reply),
            (false, true) => Answer::Silent,
            (false, false) => Answer::Reply(reply),
        }
    }

    /// Whether the command may run now.
    fn admit(&mut self, client: ClientId, args: &[&[u8]]) -> Result<Admitted, Fault> {
        let permitted = self.state.permit(client, args);
        let command = permitted.map_err(|fault| self.state.refused(client, args, fault))?;
        match self.state.clients.get_mut(client).and_then(|known| known.queue.as_mut()) {
            Some(queue) if !command.has(flag::NEVER_QUEUED) => {
                queue.push(command, args);
                Ok(Admitted::Queued)
            }
            _ => Ok(Admitted::Run(command)),
        }
    }

    /// Runs it, by itself or as a part of a transaction.
    fn call(&mut self, command: &'static Command, mut session: Session, args: &[&[u8]]) -> Called {
        let start = self.stopwatch.map(|clock| clock());
        let called = match &command.run {
            Run::Exec => Called::Reply(self.exec(&mut session).unwrap_or_else(Reply::Error)),
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
        let fault = match &called {
            Called::Reply(Reply::Error(fault)) => Some(fault),
            _ => None,
        };
        self.state.measured(command, session.client, args, micros, fault);
        // After it has run: so the parts of a transaction come before their EXEC, and SELECT shows the new database.
        self.state.monitor(command, &session, args);
        if let Some(known) = self.state.clients.get_mut(session.client) {
            known.db = session.db;
            known.last = command.name;
        }
        called
    }

    /// Runs what the client has queued. Whatever database that ends in, it stays there.
    fn exec(&mut self, session: &mut Session) -> Result<Reply, Fault> {
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
        for Queued { command, args } in &queue.commands {
            let args: Vec<&[u8]> = args.iter().map(Vec::as_slice).collect();
            let part = Session { origin: Origin::Transaction, ..*session };
            if let Called::Reply(reply) = self.call(command, part, &args) {
                replies.push(reply);
            }
            if let Some(known) = self.state.clients.get(client) {
                (session.db, session.protocol) = (known.db, known.protocol);
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
    fn permit(&mut self, client: ClientId, args: &[&[u8]]) -> Result<&'static Command, Fault> {
        let command = commands::look_up(args).inspect_err(|_| self.close_if_no_client(client, args))?;
        let permitted = command.check_arity(args).and_then(|()| self.is_open_to(client, command));
        permitted
            .inspect_err(|_| self.stats.by_command.entry(command.name).or_default().rejected += 1)
            .map(|()| command)
    }

    fn is_open_to(&self, client: ClientId, command: &Command) -> Result<(), Fault> {
        let Some(known) = self.clients.get(client) else { return Ok(()) };
        if !known.authenticated && self.config.password.is_some() && !command.has(flag::NO_AUTH) {
            return Err(Fault::of("NOAUTH Authentication required."));
        }
        if let Some(refusal) = self.refusal.as_ref().filter(|_| command.has(flag::WRITE)) {
            return Err(refusal.clone());
        }
        if known.queue.is_some() && command.has(flag::NO_MULTI) {
            return Err(Fault::of("ERR Command not allowed inside a transaction"));
        }
        let listens = known.subscriptions() > 0 && known.protocol == Protocol::Two;
        if listens && !command.has(flag::WHILE_LISTENING) {
            return Err(Fault::new(format!(
                "ERR Can't execute '{}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this \
                 context",
                command.name
            )));
        }
        if known.monitors && commands::observe::is_kept_from_monitors(command) {
            return Err(Fault::of("ERR Replica can't interact with the keyspace"));
        }
        Ok(())
    }

    /// What a browser sends when a page makes it talk to a store: no client, and not answered.
    fn close_if_no_client(&mut self, client: ClientId, args: &[&[u8]]) {
        let is = |name: &&[u8]| name.eq_ignore_ascii_case(b"post") || name.eq_ignore_ascii_case(b"host:");
        if let (true, Some(known)) = (args.first().is_some_and(is), self.clients.get_mut(client)) {
            known.closing = true;
            known.replies = Replies::Off;
        }
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
        fault: Option<&Fault>,
    ) {
        self.stats.commands += 1;
        self.stats.pace.count(self.now);
        if let Some(fault) = fault {
            self.stats.count_error(fault);
        }
        let calls = self.stats.by_command.entry(command.name).or_default();
        calls.calls += 1;
        calls.micros += micros;
        calls.failed += u64::from(fault.is_some());
        if !command.has(flag::SKIP_SLOWLOG) {
            self.note_if_slow(command, client, args, micros);
        }
    }
}
