//! An engine and a server that are given the same.

use std::cell::RefCell;
use std::io::{BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use keyplane_engine::{Answer, ClientId, Delivery, Engine, Reply, Settings, Time};
use keyplane_testing::VirtualServer;

use crate::coverage::Coverage;
use crate::frame::{Compare, Frame};
use crate::grammar::{Arg, CLIENTS, Step, TYPES};

/// A server to compare with; each run begins with an empty one and a new engine.
pub(crate) struct Rig {
    server: VirtualServer,
    admin: RefCell<Client>,
}

struct Client {
    stream: BufReader<UnixStream>,
}

impl Client {
    fn connect(server: &VirtualServer) -> Self {
        let stream = UnixStream::connect(server.server().socket()).expect("the server's socket");
        stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        Self { stream: BufReader::new(stream) }
    }

    fn send(&mut self, args: &[&[u8]]) {
        let mut out = format!("*{}\r\n", args.len()).into_bytes();
        for arg in args {
            out.extend_from_slice(format!("${}\r\n", arg.len()).as_bytes());
            out.extend_from_slice(arg);
            out.extend_from_slice(b"\r\n");
        }
        self.stream.get_mut().write_all(&out).expect("the server takes commands");
    }

    fn read(&mut self) -> Result<Frame, String> {
        Frame::read(&mut self.stream).map_err(|error| format!("no answer: {error}"))
    }

    fn ask(&mut self, args: &[&[u8]]) -> Result<Frame, String> {
        self.send(args);
        self.read()
    }

    fn ask_words(&mut self, words: &str) -> Frame {
        let args: Vec<&[u8]> = words.split(' ').map(str::as_bytes).collect();
        self.ask(&args).expect("an answer")
    }

    /// Whether something has come that was not read.
    fn has_more(&mut self) -> bool {
        if !self.stream.buffer().is_empty() {
            return true;
        }
        let stream = self.stream.get_ref();
        stream.set_nonblocking(true).unwrap();
        let mut byte = [0];
        // A byte that came is lost to the reader, but then the run is over anyway.
        let came = matches!((&*stream).read(&mut byte), Ok(count) if count > 0);
        stream.set_nonblocking(false).unwrap();
        came
    }
}

impl Rig {
    pub(crate) fn start_or_skip(test: &str) -> Option<Self> {
        let settings = keyplane_testing::Settings::unix().line("enable-debug-command yes");
        let server = VirtualServer::start_with_or_skip(test, &settings)?;
        let admin = Client::connect(&server);
        Some(Self { server, admin: RefCell::new(admin) })
    }

    /// Runs the steps on both; what differs, in words.
    pub(crate) fn run(&self, steps: &[Step], mut coverage: Option<&mut Coverage>) -> Result<(), String> {
        let mut run = Run::new(self, steps.iter().any(asks_how_idle));
        for (number, step) in steps.iter().enumerate() {
            run.step(step, &mut coverage).map_err(|why| format!("step {number}: {why}"))?;
        }
        run.compare_keys()?;
        run.compare_replay()
    }

    /// Waits until the server's own timer has read the clock, which is what OBJECT IDLETIME goes by.
    fn wait_for_timer(&self) {
        let shown = format!("lru_clock:{}\r\n", self.now().seconds() & 0x00ff_ffff);
        let mut admin = self.admin.borrow_mut();
        for _ in 0..10_000 {
            let Frame::Bulk(_, info) = admin.ask_words("INFO server") else { panic!("no INFO") };
            if String::from_utf8_lossy(&info.0).contains(&shown) {
                return;
            }
        }
        panic!("the server's timer stands still");
    }

    fn now(&self) -> Time {
        let since = self.server.now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
        Time::from(since)
    }
}

/// One sequence on both.
struct Run<'r> {
    rig: &'r Rig,
    engine: Engine,
    clients: Vec<(ClientId, Client)>,
    /// Who waits for an answer, and how it is compared.
    blocked: Vec<Option<Compare>>,
    inspector: ClientId,
    effects: Vec<u8>,
    asks_how_idle: bool,
}

fn asks_how_idle(step: &Step) -> bool {
    matches!(step, Step::Command { args, .. } if args.get(1) == Some(&Arg::Bytes(b"IDLETIME".to_vec())))
}

const DATABASES: usize = 2;

impl<'r> Run<'r> {
    fn new(rig: &'r Rig, asks_how_idle: bool) -> Self {
        if asks_how_idle {
            rig.wait_for_timer();
        }
        let mut admin = rig.admin.borrow_mut();
        for words in ["FLUSHALL", "SCRIPT FLUSH", "DEBUG SET-ACTIVE-EXPIRE 0"] {
            admin.ask_words(words);
        }
        drop(admin);
        let settings = Settings { seed: 7, keeps_effects: true, ..Settings::default() };
        let mut engine = Engine::new(settings, rig.now());
        let mut clients = Vec::new();
        for number in 0..CLIENTS {
            let id = engine.connect(rig.now(), format!("client:{number}"));
            clients.push((id, Client::connect(&rig.server)));
        }
        let inspector = engine.connect(rig.now(), "inspector".to_owned());
        let blocked = vec![None; CLIENTS];
        let mut run = Self { rig, engine, clients, blocked, inspector, effects: Vec::new(), asks_how_idle };
        let three: [&[u8]; 2] = [b"HELLO", b"3"];
        let last = CLIENTS - 1;
        run.clients[last].1.ask(&three).expect("RESP3");
        run.engine.execute(rig.now(), run.clients[last].0, &three);
        run
    }

    fn step(&mut self, step: &Step, coverage: &mut Option<&mut Coverage>) -> Result<(), String> {
        match step {
            Step::Advance(millis) => self.advance(*millis),
            Step::Command { client, args, compare, template, options } => {
                if self.blocked[*client].is_some() {
                    return Ok(());
                }
                let now = self.rig.now().millis();
                let args: Vec<Vec<u8>> = args.iter().map(|arg| arg.render(now)).collect();
                let args: Vec<&[u8]> = args.iter().map(Vec::as_slice).collect();
                if let Some(coverage) = coverage
                    && !template.is_empty()
                {
                    let first_key =
                        args.iter().skip(1).find(|arg| TYPES.iter().any(|of| arg.starts_with(of.as_bytes())));
                    let of = first_key.map_or("none", |key| self.type_of(key));
                    coverage.count(template, options, of);
                }
                self.command(*client, &args, *compare)
            }
        }
    }

    fn type_of(&mut self, key: &[u8]) -> &'static str {
        let outcome = self.engine.execute(self.rig.now(), self.inspector, &[b"TYPE", key]);
        match outcome.answer {
            Answer::Reply(Reply::Status(name)) => TYPES.into_iter().find(|of| *of == name).unwrap_or("none"),
            _ => "none",
        }
    }

    fn command(&mut self, client: usize, args: &[&[u8]], compare: Compare) -> Result<(), String> {
        let (id, server) = &mut self.clients[client];
        let id = *id;
        server.send(args);
        let outcome = self.engine.execute(self.rig.now(), id, args);
        self.effects.extend(self.engine.take_effects());
        let shown: Vec<_> =
            args.iter().map(|arg| arg[..arg.len().min(60)].escape_ascii().to_string()).collect();
        let shown = shown.join(" ");
        match outcome.answer {
            Answer::Reply(reply) | Answer::Last(reply) => {
                let mine = self.frames(id, &reply);
                for frame in mine {
                    let theirs = self.clients[client]
                        .1
                        .read()
                        .map_err(|why| format!("{shown}\n  engine: {frame:?}\n  server: {why}"))?;
                    if !frame.is_like(&theirs, compare) {
                        return Err(format!("{shown}\n  engine: {frame:?}\n  server: {theirs:?}"));
                    }
                }
            }
            Answer::Blocked => self.blocked[client] = Some(compare),
            Answer::Silent => {}
        }
        self.deliver(outcome.deliveries).map_err(|why| format!("{shown}: {why}"))
    }

    /// The engine's reply as it goes over the wire.
    fn frames(&self, client: ClientId, reply: &Reply) -> Vec<Frame> {
        let mut bytes = Vec::new();
        reply.encode(self.engine.protocol(client), &mut bytes);
        let mut rest = bytes.as_slice();
        let mut frames = Vec::new();
        while !rest.is_empty() {
            frames.push(Frame::read(&mut rest).expect("the engine writes whole frames"));
        }
        frames
    }

    /// What the engine has for others must come to them from the server too, and nothing else.
    fn deliver(&mut self, deliveries: Vec<Delivery>) -> Result<(), String> {
        let waits = self.blocked.iter().any(Option::is_some);
        for delivery in deliveries {
            let Delivery::Message { to, message } = delivery else { continue };
            let Some(client) = self.clients.iter().position(|(id, _)| *id == to) else { continue };
            let is_push = matches!(message, Reply::Push(_));
            let compare = if is_push { None } else { self.blocked[client].take() };
            for frame in self.frames(to, &message) {
                let theirs = self.clients[client]
                    .1
                    .read()
                    .map_err(|why| format!("for client {client}\n  engine: {frame:?}\n  server: {why}"))?;
                if !frame.is_like(&theirs, compare.unwrap_or(Compare::Exact)) {
                    return Err(format!("for client {client}\n  engine: {frame:?}\n  server: {theirs:?}"));
                }
            }
        }
        if waits { self.nobody_else_is_answered() } else { Ok(()) }
    }

    fn nobody_else_is_answered(&mut self) -> Result<(), String> {
        // The second is answered after everything that came before the first.
        let mut admin = self.rig.admin.borrow_mut();
        admin.ask_words("PING");
        admin.ask_words("PING");
        for (client, blocked) in self.blocked.iter().enumerate() {
            if blocked.is_some() && self.clients[client].1.has_more() {
                return Err(format!("the server answers client {client}, for the engine it still waits"));
            }
        }
        Ok(())
    }

    fn advance(&mut self, millis: u64) -> Result<(), String> {
        self.rig.server.advance(Duration::from_millis(millis));
        if self.asks_how_idle {
            self.rig.wait_for_timer();
        }
        // The server removes what is over when it is asked for it, the engine by itself.
        let mut admin = self.rig.admin.borrow_mut();
        for db in 0..DATABASES {
            admin.ask_words(&format!("SELECT {db}"));
            for key in all_keys() {
                admin.ask(&[b"EXISTS", key.as_bytes()])?;
            }
        }
        drop(admin);
        let mut deliveries = self.engine.tick(self.rig.now());
        while self.engine.next_deadline().is_some_and(|at| at <= self.rig.now()) {
            deliveries.extend(self.engine.tick(self.rig.now()));
        }
        self.effects.extend(self.engine.take_effects());
        self.deliver(deliveries)
    }

    fn compare_keys(&mut self) -> Result<(), String> {
        for db in 0..DATABASES {
            let select = format!("SELECT {db}");
            self.rig.admin.borrow_mut().ask_words(&select);
            let id = self.inspector;
            ask(&mut self.engine, self.rig.now(), id, &[b"SELECT", db.to_string().as_bytes()]);
            for key in all_keys() {
                for (command, compare) in questions(&key, self.type_of(key.as_bytes())) {
                    let args: Vec<&[u8]> = command.iter().map(String::as_bytes).collect();
                    let theirs = self.rig.admin.borrow_mut().ask(&args)?;
                    let mine = ask(&mut self.engine, self.rig.now(), id, &args);
                    if !mine.is_like(&theirs, compare) {
                        return Err(format!(
                            "at the end, {command:?}\n  engine: {mine:?}\n  server: {theirs:?}"
                        ));
                    }
                }
            }
        }
        Ok(())
    }

    /// What was logged makes the same keys.
    fn compare_replay(&mut self) -> Result<(), String> {
        let now = self.rig.now();
        // Before any key's end: one that a later command of the log changes must not go before.
        let beginning = Time::default();
        let mut second = Engine::new(Settings::default(), beginning);
        let loader = second.connect(beginning, "loader".to_owned());
        let mut rest = self.effects.as_slice();
        while !rest.is_empty() {
            let Ok(Frame::Many('*', words)) = Frame::read(&mut rest) else {
                return Err("a log that is none".into());
            };
            let words: Vec<Vec<u8>> = words
                .into_iter()
                .map(|word| match word {
                    Frame::Bulk('$', bytes) => bytes.0,
                    other => panic!("{other:?} in the log"),
                })
                .collect();
            let args: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
            let frame = ask(&mut second, beginning, loader, &args);
            if let Frame::Line('-', text) = frame {
                return Err(format!("a logged command is refused: {words:?}: {text}"));
            }
        }
        let id = second.connect(now, "inspector".to_owned());
        for db in 0..DATABASES {
            let number = db.to_string();
            let select: [&[u8]; 2] = [b"SELECT", number.as_bytes()];
            ask(&mut second, now, id, &select);
            let inspector = self.inspector;
            ask(&mut self.engine, now, inspector, &select);
            for key in all_keys() {
                for (command, compare) in questions(&key, self.type_of(key.as_bytes())) {
                    if command[0] == "OBJECT" {
                        continue;
                    }
                    let args: Vec<&[u8]> = command.iter().map(String::as_bytes).collect();
                    let mine = ask(&mut self.engine, now, inspector, &args);
                    let again = ask(&mut second, now, id, &args);
                    if !mine.is_like(&again, compare) {
                        return Err(format!(
                            "after replaying the log, {command:?}\n  engine: {mine:?}\n  replayed: {again:?}"
                        ));
                    }
                }
            }
        }
        Ok(())
    }
}

fn ask(engine: &mut Engine, now: Time, client: ClientId, args: &[&[u8]]) -> Frame {
    let outcome = engine.execute(now, client, args);
    let (Answer::Reply(reply) | Answer::Last(reply)) = outcome.answer else {
        panic!("{args:?} is not answered")
    };
    let mut bytes = Vec::new();
    reply.encode(engine.protocol(client), &mut bytes);
    Frame::read(&mut bytes.as_slice()).expect("a frame")
}

/// Every key that a sequence can name.
fn all_keys() -> impl Iterator<Item = String> {
    TYPES.into_iter().flat_map(|of| (0..3).map(move |number| format!("{of}:{number}")))
}

/// What tells all about a key of this type.
fn questions(key: &str, of: &str) -> Vec<(Vec<String>, Compare)> {
    let all: &[(&str, Compare)] = match of {
        "string" => &[("GET @", Compare::Exact)],
        "list" => &[("LRANGE @ 0 -1", Compare::Exact)],
        "hash" => &[("HGETALL @", Compare::Pairs)],
        "set" => &[("SMEMBERS @", Compare::Unordered)],
        "zset" => &[("ZRANGE @ 0 -1 WITHSCORES", Compare::Exact)],
        "stream" => &[("XRANGE @ - +", Compare::Exact)],
        _ => &[],
    };
    let always =
        [("TYPE @", Compare::Exact), ("PTTL @", Compare::Exact), ("OBJECT ENCODING @", Compare::Exact)];
    let words = |line: &str| line.split(' ').map(|word| word.replace('@', key)).collect();
    always.iter().chain(all).map(|(line, compare)| (words(line), *compare)).collect()
}
