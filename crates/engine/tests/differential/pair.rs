//! An engine and a server that are given the same.
//!
//! A grammar can send words that are no commands but let something happen:
//!
//! | words | what happens |
//! |---|---|
//! | `!leave` | the client's connection is closed, also while it waits, and a new one takes its place |
//! | `!pass 100` | so many milliseconds pass |
//! | `!quietly 100` | the same, but nobody looks for keys that are over now |
//! | `!walk 3 HSCAN key` | a scan from its beginning to its end, so many at a time, which must find the same on both |
//! | `!replay` | what was logged so far must make the same keys, as at the end of every sequence |
//!
//! Where the engine knows `CONFIG SET notify-keyspace-events`, a listener on each side must hear the same.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::time::Duration;

use keyplane_engine::{Answer, ClientId, Delivery, Engine, Reply, Settings, Time};
use keyplane_testing::{VirtualServer, Wire};

use crate::coverage::Coverage;
use crate::frame::{Bytes, Compare, Frame};
use crate::grammar::{Arg, CLIENTS, Step, TYPES};

/// A server to compare with; each run begins with an empty one and a new engine.
pub(crate) struct Rig {
    server: VirtualServer,
    admin: RefCell<Client>,
}

struct Client {
    wire: Wire,
    /// As CLIENT ID shows it.
    id: u64,
}

impl Client {
    fn connect(server: &VirtualServer) -> Self {
        Self { wire: Wire::connect(server.server()), id: 0 }
    }

    fn read(&mut self) -> Result<Frame, String> {
        let bytes = self.wire.read().map_err(|error| format!("no answer: {error}"))?;
        Ok(Frame::read(&mut bytes.as_slice()).expect("a whole frame"))
    }

    fn ask(&mut self, args: &[&[u8]]) -> Result<Frame, String> {
        self.wire.send(args);
        self.read()
    }

    fn ask_words(&mut self, words: &str) -> Frame {
        let args: Vec<&[u8]> = words.split(' ').map(str::as_bytes).collect();
        self.ask(&args).expect("an answer")
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
        run.nobody_is_told_more()?;
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
    /// How the answers to what each client has queued for EXEC are compared.
    queued: Vec<Vec<Compare>>,
    /// Hears of everything that happens to keys.
    listener: Option<(ClientId, Client)>,
    inspector: ClientId,
    /// What was logged.
    effects: Vec<u8>,
    asks_how_idle: bool,
    /// Time has passed and nobody has looked: to ask for a type would be to look.
    quiet: bool,
}

fn asks_how_idle(step: &Step) -> bool {
    matches!(step, Step::Command { args, .. } if args.get(1) == Some(&Arg::Bytes(b"IDLETIME".to_vec())))
}

const DATABASES: usize = 2;

/// What makes the server as good as new.
const START: &[&str] = &[
    // Those of the run before may still wait for a key, or listen.
    "CLIENT KILL TYPE normal",
    "CLIENT KILL TYPE pubsub",
    "CONFIG SET notify-keyspace-events  requirepass  slowlog-log-slower-than 10000 slowlog-max-len 128",
    "CONFIG RESETSTAT",
    "SLOWLOG RESET",
    "FLUSHALL",
    "SCRIPT FLUSH",
    "DEBUG SET-ACTIVE-EXPIRE 0",
    "SELECT 0",
];

/// Whether the order of what happens is promised: not of keys that end at once.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    Kept,
    Open,
}

/// A client of that number; the last speaks RESP3.
fn connect(rig: &Rig, engine: &mut Engine, number: usize) -> (ClientId, Client) {
    let id = engine.connect(rig.now(), format!("{}:0", rig.server.server().socket().display()));
    let mut client = Client::connect(&rig.server);
    if let Frame::Line(':', id) = client.ask_words("CLIENT ID") {
        client.id = id.parse().expect("the number of a client");
    }
    if number == CLIENTS - 1 {
        client.ask_words("HELLO 3");
        engine.execute(rig.now(), id, &[b"HELLO", b"3"]);
    }
    (id, client)
}

/// A client that hears of everything that happens to keys, where the engine can be asked for that.
fn listen(rig: &Rig, engine: &mut Engine) -> Option<(ClientId, Client)> {
    const ASKED: &str = "CONFIG SET notify-keyspace-events KEAn";
    let id = engine.connect(rig.now(), "listener".to_owned());
    for words in [ASKED, "PSUBSCRIBE __key*__:*"] {
        let args: Vec<&[u8]> = words.split(' ').map(str::as_bytes).collect();
        if let Answer::Reply(Reply::Error(_)) = engine.execute(rig.now(), id, &args).answer {
            return None;
        }
    }
    let mut client = Client::connect(&rig.server);
    client.ask_words(ASKED);
    client.ask_words("PSUBSCRIBE __key*__:*");
    Some((id, client))
}

impl<'r> Run<'r> {
    fn new(rig: &'r Rig, asks_how_idle: bool) -> Self {
        if asks_how_idle {
            rig.wait_for_timer();
        }
        let mut admin = rig.admin.borrow_mut();
        for words in START {
            admin.ask_words(words);
        }
        drop(admin);
        let settings = Settings { seed: 7, keeps_effects: true, ..Settings::default() };
        let mut engine = Engine::new(settings, rig.now());
        let clients = (0..CLIENTS).map(|number| connect(rig, &mut engine, number)).collect();
        let listener = listen(rig, &mut engine);
        let inspector = engine.connect(rig.now(), "inspector".to_owned());
        let (blocked, queued) = (vec![None; CLIENTS], vec![Vec::new(); CLIENTS]);
        Self {
            rig,
            engine,
            clients,
            blocked,
            queued,
            listener,
            inspector,
            effects: Vec::new(),
            asks_how_idle,
            quiet: false,
        }
    }

    fn step(&mut self, step: &Step, coverage: &mut Option<&mut Coverage>) -> Result<(), String> {
        match step {
            Step::Advance(millis) => self.advance(*millis),
            Step::Command { client, args, compare, template, options } => {
                let now = self.rig.now().millis();
                let render = |number: fn(&(ClientId, Client)) -> u64| -> Vec<Vec<u8>> {
                    let clients: Vec<u64> = self.clients.iter().map(number).collect();
                    args.iter().map(|arg| arg.render(now, &clients)).collect()
                };
                let (mine, theirs) = (render(|(id, _)| id.number()), render(|(_, client)| client.id));
                let args: Vec<&[u8]> = mine.iter().map(Vec::as_slice).collect();
                let theirs: Vec<&[u8]> = theirs.iter().map(Vec::as_slice).collect();
                let happens = args.first().is_some_and(|word| word.starts_with(b"!"));
                if self.blocked[*client].is_some() && !happens {
                    return Ok(());
                }
                if let Some(coverage) = coverage
                    && !template.is_empty()
                {
                    let first_key =
                        args.iter().skip(1).find(|arg| TYPES.iter().any(|of| arg.starts_with(of.as_bytes())));
                    let of = first_key.filter(|_| !self.quiet).map_or("none", |key| self.type_of(key));
                    coverage.count(template, options, of);
                }
                if happens {
                    self.happen(*client, &args)
                } else {
                    self.command(*client, &args, &theirs, *compare)
                }
            }
        }
    }

    /// Without removing one whose end has come, as TYPE would.
    fn type_of(&mut self, key: &[u8]) -> &'static str {
        let found = self.engine.execute(self.rig.now(), self.inspector, &[b"KEYS", key]).answer;
        if found == Answer::Reply(Reply::Array(Vec::new())) {
            return "none";
        }
        let outcome = self.engine.execute(self.rig.now(), self.inspector, &[b"TYPE", key]);
        match outcome.answer {
            Answer::Reply(Reply::Status(name)) => TYPES.into_iter().find(|of| *of == name).unwrap_or("none"),
            _ => "none",
        }
    }

    /// Something that is no command.
    fn happen(&mut self, client: usize, words: &[&[u8]]) -> Result<(), String> {
        let millis = || String::from_utf8_lossy(words[1]).parse().expect("milliseconds");
        match words[0] {
            b"!leave" => self.leave(client),
            b"!pass" => self.advance(millis()),
            // The server ends waits by itself.
            b"!quietly" if self.blocked.iter().any(Option::is_some) => self.advance(millis()),
            b"!quietly" => {
                self.rig.server.advance(Duration::from_millis(millis()));
                self.quiet = true;
                Ok(())
            }
            b"!walk" => self.walk(words),
            b"!replay" => {
                // To compare is to look, so what is over goes first.
                self.advance(0)?;
                self.compare_replay()?;
                ask(&mut self.engine, self.rig.now(), self.inspector, &[b"SELECT", b"0"]);
                Ok(())
            }
            _ => panic!("{words:?} is nothing that happens"),
        }
    }

    /// Where a walk is after each step is each side's own affair, but not what it finds until it is over.
    fn walk(&mut self, words: &[&[u8]]) -> Result<(), String> {
        // To walk is to look, so what is over goes first.
        self.advance(0)?;
        let (now, inspector) = (self.rig.now(), self.inspector);
        let mut admin = self.rig.admin.borrow_mut();
        admin.ask_words("SELECT 0");
        ask(&mut self.engine, now, inspector, &[b"SELECT", b"0"]);
        let theirs = found(words, |args| admin.ask(args))?;
        let mine = found(words, |args| Ok(ask(&mut self.engine, now, inspector, args)))?;
        if mine == theirs {
            return Ok(());
        }
        let only = |these: &Found, others: &Found| these.difference(others).cloned().collect::<Vec<_>>();
        let (engine, server) = (only(&mine, &theirs), only(&theirs, &mine));
        let words: Vec<_> = words.iter().map(|word| String::from_utf8_lossy(word)).collect();
        Err(format!("{}\n  only the engine: {engine:?}\n  only the server: {server:?}", words.join(" ")))
    }

    fn leave(&mut self, client: usize) -> Result<(), String> {
        let came = connect(self.rig, &mut self.engine, client);
        let (id, connection) = std::mem::replace(&mut self.clients[client], came);
        drop(connection);
        self.engine.disconnect(id);
        self.blocked[client] = None;
        self.queued[client].clear();
        // Until the server has seen that it is gone.
        self.nobody_else_is_answered()
    }

    fn command(
        &mut self,
        client: usize,
        args: &[&[u8]],
        theirs: &[&[u8]],
        compare: Compare,
    ) -> Result<(), String> {
        let (id, server) = &mut self.clients[client];
        let id = *id;
        server.wire.send(theirs);
        let outcome = self.engine.execute(self.rig.now(), id, args);
        self.effects.extend_from_slice(self.engine.take_effects().bytes());
        let shown: Vec<_> =
            args.iter().map(|arg| arg[..arg.len().min(60)].escape_ascii().to_string()).collect();
        let shown = shown.join(" ");
        let is_last = matches!(outcome.answer, Answer::Last(_));
        match outcome.answer {
            Answer::Reply(reply) | Answer::Last(reply) => {
                self.answered(client, &reply, args[0], compare).map_err(|why| format!("{shown}\n{why}"))?;
            }
            Answer::Blocked => self.blocked[client] = Some(compare),
            Answer::Silent => {}
        }
        if is_last {
            self.closed(client)?;
        }
        self.deliver(outcome.deliveries, Order::Kept).map_err(|why| format!("{shown}: {why}"))
    }

    /// The server must answer this command in the same way.
    fn answered(
        &mut self,
        client: usize,
        reply: &Reply,
        name: &[u8],
        compare: Compare,
    ) -> Result<(), String> {
        let is_exec = name.eq_ignore_ascii_case(b"EXEC");
        let parts = if is_exec { std::mem::take(&mut self.queued[client]) } else { Vec::new() };
        // One that is refused changes nothing.
        if name.eq_ignore_ascii_case(b"DISCARD")
            || (name.eq_ignore_ascii_case(b"MULTI") && *reply == Reply::Ok)
        {
            self.queued[client].clear();
        }
        let mut all = self.frames(self.clients[client].0, reply);
        let mut all_theirs = Vec::new();
        for mine in &all {
            let theirs = self.read(client).map_err(|why| format!("  engine: {mine:?}\n  server: {why}"))?;
            all_theirs.push(theirs);
        }
        for frames in [&mut all, &mut all_theirs] {
            // Whoever listens to what itself does hears of it before or after its answer, as the command has it.
            if !name.eq_ignore_ascii_case(b"PUBLISH") {
                frames.sort_by_key(|frame| !frame.is_push());
            }
            settle(frames);
        }
        for (mine, theirs) in all.into_iter().zip(all_theirs) {
            let alike = match (&mine, &theirs) {
                (Frame::Many(_, mine), Frame::Many(_, theirs)) if is_exec && mine.len() == parts.len() => {
                    mine.len() == theirs.len()
                        && mine
                            .iter()
                            .zip(theirs)
                            .zip(&parts)
                            .all(|((mine, theirs), part)| mine.is_like(theirs, *part))
                }
                _ => mine.is_like(&theirs, compare),
            };
            if !alike {
                return Err(format!("  engine: {mine:?}\n  server: {theirs:?}"));
            }
            if mine == Frame::Line('+', "QUEUED".to_owned()) {
                self.queued[client].push(compare);
            }
        }
        Ok(())
    }

    /// The engine has closed a connection. The server must too, and a new one takes its place.
    fn closed(&mut self, client: usize) -> Result<(), String> {
        if let Ok(frame) = self.clients[client].1.read() {
            return Err(format!("client {client} is closed, but the server sends {frame:?}"));
        }
        self.leave(client)
    }

    /// What the server sends a client; soon tells when it sends nothing.
    fn read(&mut self, client: usize) -> Result<Frame, String> {
        let connection = &mut self.clients[client].1;
        if !connection.wire.has_more_soon() {
            let mut admin = self.rig.admin.borrow_mut();
            admin.ask_words("PING");
            admin.ask_words("PING");
            if !connection.wire.has_more_soon() {
                return Err("no answer".to_owned());
            }
        }
        connection.read()
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
    fn deliver(&mut self, deliveries: Vec<Delivery>, order: Order) -> Result<(), String> {
        let waits = self.blocked.iter().any(Option::is_some);
        let mut heard = Vec::new();
        let mut closed = Vec::new();
        let mut for_clients: Vec<Vec<(Frame, Option<Compare>)>> = vec![Vec::new(); CLIENTS];
        for delivery in deliveries {
            let (Delivery::Message { to, .. } | Delivery::Close { to }) = &delivery;
            let client = self.clients.iter().position(|(id, _)| id == to);
            match (delivery, client) {
                (Delivery::Close { .. }, client) => closed.extend(client),
                (Delivery::Message { to, message }, Some(client)) => {
                    let is_push = matches!(message, Reply::Push(_));
                    let compare = if is_push { None } else { self.blocked[client].take() };
                    let frames = self.frames(to, &message);
                    for_clients[client].extend(frames.into_iter().map(|frame| (frame, compare)));
                }
                (Delivery::Message { to, message }, None) => heard.extend(self.frames(to, &message)),
            }
        }
        for (client, mine) in for_clients.into_iter().enumerate() {
            self.delivered(client, mine, order).map_err(|why| format!("for client {client}\n{why}"))?;
        }
        for client in closed {
            self.closed(client)?;
        }
        self.hear(heard, order)?;
        if waits { self.nobody_else_is_answered() } else { Ok(()) }
    }

    /// What one client is sent; with how the answer to what it waited for is compared.
    fn delivered(
        &mut self,
        client: usize,
        mine: Vec<(Frame, Option<Compare>)>,
        order: Order,
    ) -> Result<(), String> {
        let (mut mine, compares): (Vec<Frame>, Vec<Option<Compare>>) = mine.into_iter().unzip();
        let mut theirs = Vec::new();
        for frame in &mine {
            theirs.push(self.read(client).map_err(|why| format!("  engine: {frame:?}\n  server: {why}"))?);
        }
        for frames in [&mut mine, &mut theirs] {
            settle(frames);
            if order == Order::Open && compares.iter().all(Option::is_none) {
                frames.sort();
            }
        }
        for ((mine, theirs), compare) in mine.iter().zip(&theirs).zip(compares) {
            if !mine.is_like(theirs, compare.unwrap_or(Compare::Exact)) {
                return Err(format!("  engine: {mine:?}\n  server: {theirs:?}"));
            }
        }
        Ok(())
    }

    fn nobody_is_told_more(&mut self) -> Result<(), String> {
        let mut admin = self.rig.admin.borrow_mut();
        admin.ask_words("PING");
        admin.ask_words("PING");
        match self.clients.iter_mut().position(|(_, client)| client.wire.has_more()) {
            Some(client) => Err(format!("at the end the server has more for client {client}")),
            None => Ok(()),
        }
    }

    /// What the listener hears from both.
    fn hear(&mut self, mut mine: Vec<Frame>, order: Order) -> Result<(), String> {
        let Some((_, server)) = &mut self.listener else { return Ok(()) };
        let mut theirs = Vec::new();
        while theirs.len() < mine.len() && server.wire.has_more_soon() || server.wire.has_more() {
            theirs.push(server.read()?);
        }
        if order == Order::Open {
            mine.sort();
            theirs.sort();
        }
        if mine == theirs { Ok(()) } else { Err(format!("heard\n  engine: {mine:?}\n  server: {theirs:?}")) }
    }

    fn nobody_else_is_answered(&mut self) -> Result<(), String> {
        // The second is answered after everything that came before the first.
        let mut admin = self.rig.admin.borrow_mut();
        admin.ask_words("PING");
        admin.ask_words("PING");
        for (client, blocked) in self.blocked.iter().enumerate() {
            if blocked.is_some() && self.clients[client].1.wire.has_more() {
                return Err(format!("the server answers client {client}, for the engine it still waits"));
            }
        }
        Ok(())
    }

    fn advance(&mut self, millis: u64) -> Result<(), String> {
        self.quiet = false;
        self.rig.server.advance(Duration::from_millis(millis));
        if self.asks_how_idle {
            self.rig.wait_for_timer();
        }
        // The server removes what is over when it is asked for it, the engine by itself.
        let mut admin = self.rig.admin.borrow_mut();
        for db in 0..DATABASES {
            admin.ask_words(&format!("SELECT {db}"));
            for key in all_keys() {
                // Other questions would tell those who listen that a key is not there.
                admin.ask(&[b"OBJECT", b"ENCODING", key.as_bytes()])?;
            }
        }
        drop(admin);
        let mut deliveries = self.engine.tick(self.rig.now());
        while self.engine.next_deadline().is_some_and(|at| at <= self.rig.now()) {
            deliveries.extend(self.engine.tick(self.rig.now()));
        }
        self.effects.extend_from_slice(self.engine.take_effects().bytes());
        self.deliver(deliveries, Order::Open)
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
        // Before any key's end: one that a later command of the log changes must not be gone by then.
        let beginning = Time::default();
        let mut second = Engine::new(Settings::default(), beginning);
        let loader = second.connect(beginning, "loader".to_owned());
        replay(&mut second, beginning, loader, &self.effects)?;
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

/// What a walk finds: elements, or pairs.
type Found = BTreeSet<Vec<Frame>>;

/// Follows the cursor of a scan until it is over. Where there is an error nothing is found.
fn found(words: &[&[u8]], mut ask: impl FnMut(&[&[u8]]) -> Result<Frame, String>) -> Result<Found, String> {
    let (count, command) = (words[1], &words[2..]);
    let width = if matches!(command[0], b"HSCAN" | b"ZSCAN") { 2 } else { 1 };
    let mut all = Found::new();
    let mut cursor = Bytes(b"0".to_vec());
    loop {
        let args = [command, &[cursor.0.as_slice(), b"COUNT", count]].concat();
        let Frame::Many(_, answer) = ask(&args)? else { return Ok(all) };
        let Ok([Frame::Bulk(_, next), Frame::Many(_, elements)]) = <[Frame; 2]>::try_from(answer) else {
            return Err("a scan answers with a cursor and elements".to_owned());
        };
        all.extend(elements.chunks(width).map(<[Frame]>::to_vec));
        if next.0 == b"0" {
            return Ok(all);
        }
        cursor = next;
    }
}

/// A message comes to the patterns of one client in no order.
fn settle(frames: &mut [Frame]) {
    let told = |frame: &Frame| match frame {
        Frame::Many(_, parts) if parts.len() == 4 => {
            Some((parts[0].clone(), parts[2].clone(), parts[3].clone()))
        }
        _ => None,
    };
    frames.chunk_by_mut(|a, b| told(a).is_some() && told(a) == told(b)).for_each(<[Frame]>::sort);
}

/// Sends what was logged.
fn replay(engine: &mut Engine, at: Time, loader: ClientId, mut logged: &[u8]) -> Result<(), String> {
    while !logged.is_empty() {
        let Ok(Frame::Many('*', words)) = Frame::read(&mut logged) else {
            return Err("a log that is none".into());
        };
        let words: Vec<_> = words
            .into_iter()
            .map(|word| match word {
                Frame::Bulk('$', bytes) => bytes,
                other => panic!("{other:?} in the log"),
            })
            .collect();
        let args: Vec<&[u8]> = words.iter().map(|word| word.0.as_slice()).collect();
        if let Frame::Line('-', text) = ask(engine, at, loader, &args) {
            return Err(format!("a logged command is refused: {words:?}: {text}"));
        }
    }
    Ok(())
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
        "stream" => &[("XRANGE @ - +", Compare::Exact), ("XINFO STREAM @", Compare::Exact)],
        _ => &[],
    };
    let always =
        [("TYPE @", Compare::Exact), ("PTTL @", Compare::Exact), ("OBJECT ENCODING @", Compare::Exact)];
    let words = |line: &str| line.split(' ').map(|word| word.replace('@', key)).collect();
    always.iter().chain(all).map(|(line, compare)| (words(line), *compare)).collect()
}
