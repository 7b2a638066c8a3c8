//! A server that says what a test wants to hear: old versions and wrong clocks cannot be had otherwise.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

/// Speaks just enough RESP for HELLO, INFO and what the test adds. Its thread ends with the test process.
pub(crate) struct Fake {
    port: u16,
    seen: Receiver<String>,
}

/// What the server answers to a command's first word; `None` is silence.
type Answers = fn(&str) -> Option<String>;

impl Fake {
    pub(crate) fn start(answers: Answers) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (tell, seen) = mpsc::channel();
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let tell = tell.clone();
                // A client that goes away is no failure of the server.
                thread::spawn(move || drop(serve(&client, answers, &tell)));
            }
        });
        Self { port, seen }
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Waits until a client has sent that command.
    pub(crate) fn wait_for(&self, command: &str) {
        while self.seen.recv().expect("the fake server goes on") != command {}
    }
}

fn serve(mut client: &TcpStream, answers: Answers, tell: &Sender<String>) -> std::io::Result<()> {
    let mut reader = BufReader::new(client);
    loop {
        let words = read_command(&mut reader)?;
        let name = words.first().cloned().unwrap_or_default();
        if let Some(answer) = answers(&name) {
            client.write_all(answer.as_bytes())?;
        }
        let _ = tell.send(name);
    }
}

fn read_command(reader: &mut BufReader<&TcpStream>) -> std::io::Result<Vec<String>> {
    let count = number(reader)?;
    let mut words = Vec::new();
    for _ in 0..count {
        let mut word = vec![0; number(reader)? + 2];
        reader.read_exact(&mut word)?;
        words.push(String::from_utf8_lossy(&word).trim_end().to_owned());
    }
    Ok(words)
}

/// `*3` or `$5`.
fn number(reader: &mut BufReader<&TcpStream>) -> std::io::Result<usize> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Err(std::io::ErrorKind::UnexpectedEof.into());
    }
    Ok(line.trim_end().get(1..).and_then(|digits| digits.parse().ok()).expect("RESP"))
}

/// A server of that version that knows nothing but how to greet, INFO and PING.
pub(crate) fn basics(version: &str, command: &str) -> String {
    match command {
        "HELLO" => "%1\r\n$5\r\nproto\r\n:3\r\n".to_owned(),
        "PING" => "+PONG\r\n".to_owned(),
        "INFO" => {
            let info = format!(
                "redis_version:{version}\r\nredis_mode:standalone\r\nrole:master\r\nconnected_clients:1\r\nmaxclients:10\r\n\
                 maxmemory_policy:noeviction\r\naof_enabled:1\r\n"
            );
            format!("${}\r\n{info}\r\n", info.len())
        }
        _ => "-ERR unknown command\r\n".to_owned(),
    }
}
