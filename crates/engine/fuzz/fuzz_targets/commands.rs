//! Any sequence of commands of four clients, with time between them: never a panic, and what is logged is commands.
//!
//! The input is text, one step a line:
//!
//! | line | what happens |
//! |---|---|
//! | `2 SET k v` | client 2 sends this; quotes as in an inline command |
//! | `+500` | so many milliseconds pass |
//! | `-2` | client 2 leaves, and another takes its place |
#![no_main]

use keyplane_engine::{Answer, ClientId, Decoder, Delivery, Engine, Protocol, Reply, Settings, Time};
use libfuzzer_sys::fuzz_target;

const CLIENTS: usize = 4;
/// Longer strings are allowed but only slow the fuzzer down.
const LONGEST: i64 = 1 << 20;

struct Session {
    engine: Engine,
    clients: Vec<ClientId>,
    now: u64,
}

impl Session {
    fn new() -> Self {
        let now = 1_700_000_000_000;
        let settings = Settings { keeps_effects: true, ..Settings::default() };
        let mut engine = Engine::new(settings, Time::from_millis(now));
        let clients = (0..CLIENTS).map(|_| connect(&mut engine, now)).collect();
        Self { engine, clients, now }
    }

    fn step(&mut self, line: &[u8]) {
        match line {
            [b'+', millis @ ..] => self.pass(number(millis).unwrap_or(1).clamp(0, 100_000_000) as u64),
            [b'-', client, ..] => self.leave(usize::from(*client) % CLIENTS),
            [client, command @ ..] => self.send(usize::from(*client) % CLIENTS, command),
            [] => {}
        }
    }

    fn send(&mut self, client: usize, command: &[u8]) {
        let mut decoder = Decoder::default();
        decoder.feed(command);
        decoder.feed(b"\n");
        let Ok(Some(args)) = decoder.next_command() else { return };
        if is_only_slow(&args) {
            return;
        }
        let outcome = self.engine.execute(Time::from_millis(self.now), self.clients[client], &args);
        match outcome.answer {
            Answer::Reply(reply) => encode(&reply),
            Answer::Last(reply) => {
                encode(&reply);
                self.leave(client);
            }
            Answer::Blocked | Answer::Silent => {}
        }
        self.deliver(outcome.deliveries);
    }

    fn pass(&mut self, millis: u64) {
        self.now += millis;
        let now = Time::from_millis(self.now);
        // Every tick gets on; so there is an end to them.
        for _ in 0..1000 {
            let deliveries = self.engine.tick(now);
            self.deliver(deliveries);
            if self.engine.next_deadline().is_none_or(|at| at > now) {
                return;
            }
        }
        panic!("ticks do not get on");
    }

    fn leave(&mut self, client: usize) {
        self.engine.disconnect(self.clients[client]);
        self.clients[client] = connect(&mut self.engine, self.now);
    }

    fn deliver(&mut self, deliveries: Vec<Delivery>) {
        for delivery in deliveries {
            match delivery {
                Delivery::Message { message, .. } => encode(&message),
                Delivery::Close { to } => {
                    if let Some(client) = self.clients.iter().position(|client| *client == to) {
                        self.leave(client);
                    }
                }
            }
        }
    }

    /// What was logged is whole steps, which an empty engine takes.
    fn replay(&mut self) {
        let mut again = Engine::new(Settings::default(), Time::from_millis(self.now));
        let mut loader = again.begin_loading();
        for step in self.engine.take_effects().iter() {
            if let Err(fault) = loader.step(&mut again, step) {
                panic!("{} was logged: {fault}", step.escape_ascii());
            }
        }
        loader.end(&mut again);
    }
}

fn connect(engine: &mut Engine, now: u64) -> ClientId {
    engine.connect(Time::from_millis(now), "127.0.0.1:7".to_owned())
}

fn number(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.trim().parse().ok()
}

fn is_only_slow(args: &[&[u8]]) -> bool {
    args[0].eq_ignore_ascii_case(b"setrange") && args.get(2).and_then(|at| number(at)).is_some_and(|at| at > LONGEST)
}

fn encode(reply: &Reply) {
    for protocol in [Protocol::Two, Protocol::Three] {
        reply.encode(protocol, &mut Vec::new());
    }
}

fuzz_target!(|data: &[u8]| {
    let mut session = Session::new();
    data.split(|byte| *byte == b'\n').for_each(|line| session.step(line));
    session.replay();
});
