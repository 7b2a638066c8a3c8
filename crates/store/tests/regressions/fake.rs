//! A server that answers what the test wants.

use std::io::{self, BufReader, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;

/// What a fake does with a command.
#[derive(Debug, Clone)]
pub(crate) enum Answer {
    /// What a master that is up would answer, more or less.
    Usual,
    /// These words, as they go on the wire.
    Say(String),
    /// Nothing, and nothing more on this connection: the next answer would be taken for this one.
    Silence,
    /// The end of the connection.
    HangUp,
}

/// A server on a free loopback port. Its port is known before it serves, so that its answers can name it.
pub(crate) struct Fake {
    listener: TcpListener,
    addr: SocketAddr,
    seen: Arc<Seen>,
}

#[derive(Default)]
struct Seen {
    stopped: AtomicBool,
    connections: AtomicUsize,
    commands: Mutex<Vec<String>>,
}

impl Fake {
    /// Takes a port. Clients can connect, and are served from [`serve`](Self::serve) on.
    pub(crate) fn bind() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let addr = listener.local_addr().expect("the address of a listener");
        Self { listener, addr, seen: Arc::default() }
    }

    /// Answers from now on.
    pub(crate) fn serve(&self, answer: impl Fn(&[&str]) -> Answer + Send + Sync + 'static) {
        let listener = self.listener.try_clone().expect("a second handle of a listener");
        let (seen, answer) = (Arc::clone(&self.seen), Arc::new(answer));
        thread::spawn(move || {
            for client in listener.incoming() {
                if seen.stopped.load(SeqCst) {
                    return;
                }
                seen.connections.fetch_add(1, SeqCst);
                let (seen, answer) = (Arc::clone(&seen), Arc::clone(&answer));
                // A connection that breaks is the client's to notice.
                thread::spawn(move || client.and_then(|client| seen.converse(&client, &*answer)));
            }
        });
    }

    /// One that serves at once.
    pub(crate) fn start(answer: impl Fn(&[&str]) -> Answer + Send + Sync + 'static) -> Self {
        let fake = Self::bind();
        fake.serve(answer);
        fake
    }

    /// One that takes connections and never says a word.
    pub(crate) fn silent() -> Self {
        Self::start(|_| Answer::Silence)
    }

    /// A sentinel that names the master on this port of the loopback, whatever it is asked.
    pub(crate) fn sentinel(master: &Arc<AtomicU16>) -> Self {
        let master = Arc::clone(master);
        Self::start(move |words| match words[0] {
            "SENTINEL" => {
                let port = master.load(SeqCst).to_string();
                Answer::Say(format!("*2\r\n{}{}", bulk("127.0.0.1"), bulk(&port)))
            }
            _ => Answer::Usual,
        })
    }

    pub(crate) fn port(&self) -> u16 {
        self.addr.port()
    }

    /// `127.0.0.1:port`.
    pub(crate) fn addr(&self) -> String {
        self.addr.to_string()
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://{}", self.addr)
    }

    /// Connections that were made so far.
    pub(crate) fn connections(&self) -> usize {
        self.seen.connections.load(SeqCst)
    }

    /// How often it has got a command that begins with these words.
    pub(crate) fn got(&self, words: &str) -> usize {
        self.seen.commands.lock().unwrap().iter().filter(|command| command.starts_with(words)).count()
    }

    /// The names of the commands about data that it has got, in order.
    pub(crate) fn work(&self) -> Vec<String> {
        let commands = self.seen.commands.lock().unwrap();
        let names = commands.iter().filter_map(|command| command.split(' ').next());
        names.filter(|name| is_work(name)).map(str::to_owned).collect()
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.seen.stopped.store(true, SeqCst);
        // Wakes the thread that accepts.
        let _ = TcpStream::connect(self.addr);
    }
}

impl Seen {
    fn converse(&self, client: &TcpStream, answer: &dyn Fn(&[&str]) -> Answer) -> io::Result<()> {
        client.set_nodelay(true)?;
        let (mut from, mut to) = (BufReader::new(client), client);
        let mut silent = false;
        while let Some(words) = read_command(&mut from)? {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            self.commands.lock().unwrap().push(words.join(" "));
            if silent {
                continue;
            }
            match answer(&words) {
                Answer::Usual => to.write_all(usual(words[0]).as_bytes())?,
                Answer::Say(reply) => to.write_all(reply.as_bytes())?,
                Answer::Silence => silent = true,
                Answer::HangUp => return client.shutdown(std::net::Shutdown::Both),
            }
        }
        Ok(())
    }
}

/// An array of bulk strings; `None` at the end of the stream.
fn read_command(from: &mut impl io::BufRead) -> io::Result<Option<Vec<String>>> {
    let Some(count) = read_length(from)? else { return Ok(None) };
    let mut words = Vec::with_capacity(count);
    for _ in 0..count {
        let Some(length) = read_length(from)? else { return Ok(None) };
        let mut word = vec![0; length + 2];
        from.read_exact(&mut word)?;
        word.truncate(length);
        words.push(String::from_utf8_lossy(&word).into_owned());
    }
    Ok(Some(words))
}

/// `*3` or `$5`.
fn read_length(from: &mut impl io::BufRead) -> io::Result<Option<usize>> {
    let mut line = String::new();
    from.read_line(&mut line)?;
    Ok(line.trim_end().get(1..).and_then(|digits| digits.parse().ok()))
}

fn usual(command: &str) -> String {
    match command {
        "HELLO" => "%1\r\n$5\r\nproto\r\n:3\r\n".to_owned(),
        "PING" => "+PONG\r\n".to_owned(),
        "INFO" => bulk("redis_version:7.2.0\r\nrole:master\r\n"),
        "SCRIPT" => bulk("0000000000000000000000000000000000000000"),
        "GET" => bulk("x"),
        "EVALSHA" | "EVAL" => ":1\r\n".to_owned(),
        _ => "+OK\r\n".to_owned(),
    }
}

/// Whether a command is about data, and not about the server or the connection.
pub(crate) fn is_work(command: &str) -> bool {
    !["HELLO", "PING", "INFO", "SCRIPT", "CLUSTER", "SENTINEL", "ASKING", "CLIENT", "SELECT", "AUTH", "ROLE"]
        .contains(&command)
}

/// A bulk string.
pub(crate) fn bulk(text: &str) -> String {
    format!("${}\r\n{text}\r\n", text.len())
}

/// An error of the server, from its code on.
pub(crate) fn error(text: &str) -> Answer {
    Answer::Say(format!("-{text}\r\n"))
}

/// CLUSTER SLOTS: first, last, port of the master.
pub(crate) fn slots(ranges: &[(u16, u16, u16)]) -> Answer {
    let mut said = format!("*{}\r\n", ranges.len());
    for (first, last, port) in ranges {
        said += &format!("*3\r\n:{first}\r\n:{last}\r\n*2\r\n{}:{port}\r\n", bulk("127.0.0.1"));
    }
    Answer::Say(said)
}

/// All of them on one port.
pub(crate) fn all_slots(port: u16) -> Answer {
    slots(&[(0, LAST, port)])
}

/// Half on one port, half on the other.
pub(crate) fn halves(first: u16, second: u16) -> Answer {
    slots(&[(0, MIDDLE - 1, first), (MIDDLE, LAST, second)])
}

/// The first slot of the second half.
pub(crate) const MIDDLE: u16 = 8192;

const LAST: u16 = 16383;
