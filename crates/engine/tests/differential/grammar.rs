//! How sequences are made: families of commands, and the values they are fed.

use crate::coverage::Coverage;
use crate::frame::Compare;

/// The clients of a rig. The last speaks RESP3.
pub(crate) const CLIENTS: usize = 4;

/// Types that a key can have; `none` is a key that is not there.
pub(crate) const TYPES: [&str; 7] = ["none", "string", "list", "hash", "set", "zset", "stream"];

/// An argument.
#[derive(Clone, PartialEq)]
pub(crate) enum Arg {
    Bytes(Vec<u8>),
    /// A moment, so many milliseconds from now, in seconds or milliseconds since 1970.
    Moment {
        from_now: i64,
        seconds: bool,
    },
    /// The number that a client has, which is another on each side.
    Client(usize),
}

/// One step of a sequence.
#[derive(Clone)]
pub(crate) enum Step {
    Command {
        client: usize,
        args: Vec<Arg>,
        compare: Compare,
        /// What is counted: the command, and the options that were chosen.
        template: &'static str,
        options: Vec<&'static str>,
    },
    /// Milliseconds.
    Advance(u64),
}

/// A command of a family, with all its options.
pub(crate) struct Template {
    /// The name it is counted under, usually the command's.
    pub(crate) name: &'static str,
    /// Options that `make` may choose with [`Gen::option`]; each is to be met by keys of every type.
    pub(crate) options: &'static [&'static str],
    pub(crate) compare: Compare,
    pub(crate) make: fn(&mut Gen),
    /// Whether its first key's type matters.
    pub(crate) keyed: bool,
}

impl Template {
    pub(crate) const fn new(
        name: &'static str,
        options: &'static [&'static str],
        compare: Compare,
        make: fn(&mut Gen),
    ) -> Self {
        Self { name, options, compare, make, keyed: true }
    }

    /// One without a key, or whose key's type is of no interest.
    pub(crate) const fn keyless(
        name: &'static str,
        options: &'static [&'static str],
        compare: Compare,
        make: fn(&mut Gen),
    ) -> Self {
        Self { name, options, compare, make, keyed: false }
    }
}

/// A family of commands.
pub(crate) struct Family {
    pub(crate) templates: &'static [Template],
    /// Commands that put something under a key of their type, sent at the beginning and now and then.
    pub(crate) feed: fn(&mut Gen),
}

/// Makes one or several commands.
pub(crate) struct Gen {
    pub(crate) rng: fastrand::Rng,
    made: Vec<Made>,
    args: Vec<Arg>,
    options: Vec<&'static str>,
    compare: Compare,
    /// What the least covered cell asks for.
    wanted_type: Option<&'static str>,
    wanted_option: Option<&'static str>,
    first_key: bool,
    client: usize,
}

/// Arguments, comparison, options, client.
type Made = (Vec<Arg>, Compare, Vec<&'static str>, usize);

impl Gen {
    fn new(seed: u64) -> Self {
        Self {
            rng: fastrand::Rng::with_seed(seed),
            made: Vec::new(),
            args: Vec::new(),
            options: Vec::new(),
            compare: Compare::Exact,
            wanted_type: None,
            wanted_option: None,
            first_key: true,
            client: 0,
        }
    }

    /// Begins a command. The one before is finished.
    pub(crate) fn command(&mut self, words: &str) -> &mut Self {
        self.finish();
        self.args.extend(words.split(' ').map(|word| Arg::Bytes(word.into())));
        self
    }

    /// Compares the present command in another way than its template says.
    pub(crate) fn compared(&mut self, compare: Compare) -> &mut Self {
        self.compare = compare;
        self
    }

    fn finish(&mut self) {
        if !self.args.is_empty() {
            let made = (
                std::mem::take(&mut self.args),
                self.compare,
                std::mem::take(&mut self.options),
                self.client,
            );
            self.made.push(made);
        }
    }

    /// The client that sends this and what follows.
    pub(crate) fn by(&mut self, client: usize) -> &mut Self {
        self.finish();
        self.client = client;
        self
    }

    pub(crate) fn client(&self) -> usize {
        self.client
    }

    pub(crate) fn arg(&mut self, arg: impl Into<Vec<u8>>) -> &mut Self {
        self.args.push(Arg::Bytes(arg.into()));
        self
    }

    /// The number of a client, as CLIENT ID shows it.
    pub(crate) fn client_id(&mut self, client: usize) -> &mut Self {
        self.args.push(Arg::Client(client));
        self
    }

    pub(crate) fn number(&mut self, number: impl std::fmt::Display) -> &mut Self {
        self.arg(number.to_string())
    }

    /// Whether this option of the template is taken. A command is counted once for each that is.
    pub(crate) fn option(&mut self, option: &'static str) -> bool {
        let taken = self.wanted_option == Some(option) || self.one_in(4);
        if taken {
            self.options.push(option);
        }
        taken
    }

    /// The same, with its word as an argument.
    pub(crate) fn word(&mut self, option: &'static str) -> bool {
        let taken = self.option(option);
        if taken {
            self.arg(option);
        }
        taken
    }

    /// One of several options that exclude each other, or none.
    pub(crate) fn one_of(&mut self, options: &[&'static str]) -> Option<&'static str> {
        let wanted = options.iter().copied().find(|option| self.wanted_option == Some(option));
        let taken = wanted.or_else(|| {
            let at = self.rng.usize(..=options.len());
            options.get(at).copied()
        })?;
        self.options.push(taken);
        Some(taken)
    }

    pub(crate) fn one_in(&mut self, times: u32) -> bool {
        self.rng.u32(..times) == 0
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.rng.usize(..from.len())]
    }

    /// A key of this type, if it is there; the first key of a command is what the coverage asks for, or now and then of
    /// any type.
    pub(crate) fn key(&mut self, of: &str) -> &mut Self {
        let key = self.key_name(of);
        self.arg(key)
    }

    pub(crate) fn key_name(&mut self, of: &str) -> String {
        let wanted = self.wanted_type.filter(|_| std::mem::take(&mut self.first_key));
        let of = match wanted {
            Some(wanted) => wanted,
            None if self.one_in(8) => TYPES[self.rng.usize(..TYPES.len())],
            None => of,
        };
        let number = self.rng.u32(..3);
        format!("{of}:{number}")
    }

    /// A small number, now and then one that is none or far out.
    pub(crate) fn int(&mut self) -> &mut Self {
        let text = self.int_text();
        self.arg(text)
    }

    pub(crate) fn int_text(&mut self) -> String {
        match self.rng.u32(..24) {
            0 => {
                self.pick(&["9223372036854775807", "-9223372036854775808", "9223372036854775806"]).to_owned()
            }
            1 => self.pick(&["abc", "", "1.5", " 1", "9223372036854775808", "007", "-0", "+1"]).to_owned(),
            _ => self.rng.i32(-12..12).to_string(),
        }
    }

    /// A number from this range.
    pub(crate) fn within(&mut self, low: i64, high: i64) -> &mut Self {
        let number = self.rng.i64(low..=high);
        self.number(number)
    }

    /// A floating-point number, now and then none.
    pub(crate) fn float(&mut self) -> &mut Self {
        let text = match self.rng.u32(..16) {
            0 => self.pick(&["abc", "", "nan", " 1", "1e400", "--1"]).to_owned(),
            1 => self.pick(&["inf", "-inf", "+inf", "1e300", "-1e300", "1e-320", "infinity"]).to_owned(),
            2..=5 => self.rng.i32(-5..5).to_string(),
            6..=8 => {
                // With those on both sides of where an exponent is shown.
                self.pick(FLOATS).to_owned()
            }
            _ => format!("{}", self.rng.f64() * 200.0 - 100.0),
        };
        self.arg(text)
    }

    /// A value: short text, numbers, bytes, now and then empty or long.
    pub(crate) fn value(&mut self) -> &mut Self {
        let value = self.value_bytes();
        self.arg(value)
    }

    pub(crate) fn value_bytes(&mut self) -> Vec<u8> {
        match self.rng.u32(..20) {
            0 => Vec::new(),
            1 => vec![b'x'; self.pick(&[43, 44, 45, 63, 64, 65, 200])],
            2 => (0..self.rng.usize(1..12)).map(|_| self.rng.u8(..)).collect(),
            3 => b"line\r\nbreak\0nul".to_vec(),
            4 if self.one_in(40) => vec![b'h'; 100_000],
            5..=9 => self.int_text().into_bytes(),
            10 => b"1.5".to_vec(),
            _ => self.member().into_bytes(),
        }
    }

    /// A name from a small pool, so that it is met again: of a field, a member, an element.
    pub(crate) fn member(&mut self) -> String {
        format!("m{}", self.rng.u32(..8))
    }

    /// A walk through everything, in steps of a few.
    pub(crate) fn walk(&mut self, command: &str) -> &mut Self {
        let count = self.pick(&["2", "3", "7", "50"]);
        self.command("!walk").arg(count).arg(command)
    }

    /// Now and then what was logged is replayed at once: of keys that are about to go the end of the sequence shows nothing.
    pub(crate) fn replay_now_and_then(&mut self) {
        if self.one_in(3) {
            self.command("!replay");
        }
    }

    /// A moment around now.
    pub(crate) fn moment(&mut self, seconds: bool) -> &mut Self {
        let from_now = self.rng.i64(-3_000..20_000);
        self.args.push(Arg::Moment { from_now, seconds });
        self
    }
}

const FLOATS: &[&str] =
    &["0.1", "0.2", "0.3", "1.1", "-0.1", "3.0e3", "1e17", "1e16", "5e-324", "0.5", "0.0001", "0.00002"];

/// A sequence: what the least covered cells ask for, and chance.
///
/// Keys are fed by all families, so that the commands of one meet keys of every type.
pub(crate) fn sequence(seed: u64, families: &[Family], coverage: &Coverage) -> Vec<Step> {
    const STEPS: usize = 200;
    let mut g = Gen::new(seed);
    let mut steps = Vec::new();
    let feeders = crate::families::feeders();
    for family in feeders.iter().chain(&feeders).chain(families) {
        feed(&mut g, family, &mut steps);
    }
    while steps.len() < STEPS {
        let family = &families[g.rng.usize(..families.len())];
        match g.rng.u32(..16) {
            0 | 1 => steps.push(Step::Advance(g.pick(&[1, 7, 100, 499, 500, 999, 1000, 1500, 5000]))),
            2 => feed(&mut g, family, &mut steps),
            3 => {
                let family = &feeders[g.rng.usize(..feeders.len())];
                feed(&mut g, family, &mut steps);
            }
            _ => {
                let template = &family.templates[g.rng.usize(..family.templates.len())];
                (g.wanted_option, g.wanted_type) = coverage.wanted(template, &mut g.rng);
                g.client = g.rng.usize(..CLIENTS);
                g.first_key = true;
                g.compare = template.compare;
                (template.make)(&mut g);
                take(&mut g, template.name, &mut steps);
            }
        }
    }
    steps
}

fn feed(g: &mut Gen, family: &Family, steps: &mut Vec<Step>) {
    (g.wanted_option, g.wanted_type) = (None, None);
    g.client = 0;
    g.compare = Compare::Success;
    (family.feed)(g);
    take(g, "", steps);
}

fn take(g: &mut Gen, template: &'static str, steps: &mut Vec<Step>) {
    g.finish();
    for (index, (args, compare, options, client)) in std::mem::take(&mut g.made).into_iter().enumerate() {
        let template = if index == 0 { template } else { "" };
        steps.push(Step::Command { client, args, compare, template, options });
    }
}

impl Arg {
    pub(crate) fn render(&self, now_millis: u64, clients: &[u64]) -> Vec<u8> {
        match self {
            Self::Bytes(bytes) => bytes.clone(),
            Self::Moment { from_now, seconds } => {
                let at = now_millis as i64 + from_now;
                (if *seconds { at / 1000 } else { at }).to_string().into_bytes()
            }
            Self::Client(client) => clients[*client].to_string().into_bytes(),
        }
    }
}

/// For people, one step a line.
pub(crate) fn shown(steps: &[Step]) -> String {
    let mut text = String::new();
    for step in steps {
        match step {
            Step::Advance(millis) => text.push_str(&format!("        +{millis} ms\n")),
            Step::Command { client, args, .. } => {
                text.push_str(&format!("  #{client}  "));
                for arg in args {
                    match arg {
                        Arg::Bytes(bytes) if bytes.len() > 120 => {
                            text.push_str(&format!("<{} bytes> ", bytes.len()))
                        }
                        Arg::Bytes(bytes) => text.push_str(&format!("\"{}\" ", bytes.escape_ascii())),
                        Arg::Moment { from_now, .. } => text.push_str(&format!("<now{from_now:+}> ")),
                        Arg::Client(client) => text.push_str(&format!("<client {client}> ")),
                    }
                }
                text.push('\n');
            }
        }
    }
    text
}
