//! A connection on which every byte is seen.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use crate::server::Server;

/// A server that has nothing to wait for answers long before.
const LIMIT: Duration = Duration::from_secs(5);

/// What is about to come has come by then.
const SOON: Duration = Duration::from_millis(300);

/// A client that sends words and takes answers as they come over the wire, through the server's socket.
#[derive(Debug)]
pub struct Wire {
    stream: BufReader<UnixStream>,
}

impl Wire {
    /// A new connection.
    #[must_use]
    pub fn connect(server: &Server) -> Self {
        let stream = UnixStream::connect(server.socket()).expect("the server's socket");
        stream.set_read_timeout(Some(LIMIT)).expect("a limit");
        Self { stream: BufReader::new(stream) }
    }

    /// Sends one command.
    pub fn send(&mut self, args: &[&[u8]]) {
        let mut out = format!("*{}\r\n", args.len()).into_bytes();
        for arg in args {
            out.extend_from_slice(format!("${}\r\n", arg.len()).as_bytes());
            out.extend_from_slice(arg);
            out.extend_from_slice(b"\r\n");
        }
        self.stream.get_mut().write_all(&out).expect("the server takes commands");
    }

    /// The next answer or message, whole.
    ///
    /// # Errors
    ///
    /// When none comes in five seconds, or the server has closed the connection.
    pub fn read(&mut self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.read_into(&mut bytes)?;
        Ok(bytes)
    }

    /// Sends one command and waits for its answer.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read).
    pub fn ask(&mut self, args: &[&[u8]]) -> io::Result<Vec<u8>> {
        self.send(args);
        self.read()
    }

    /// Whether something has come that was not read.
    pub fn has_more(&mut self) -> bool {
        self.stream.get_ref().set_nonblocking(true).expect("a socket");
        let came = self.stream.fill_buf().is_ok_and(|bytes| !bytes.is_empty());
        self.stream.get_ref().set_nonblocking(false).expect("a socket");
        came
    }

    /// Whether something comes soon, or the end.
    pub fn has_more_soon(&mut self) -> bool {
        self.stream.get_ref().set_read_timeout(Some(SOON)).expect("a limit");
        let came = self.stream.fill_buf().is_ok();
        self.stream.get_ref().set_read_timeout(Some(LIMIT)).expect("a limit");
        came
    }

    fn read_into(&mut self, bytes: &mut Vec<u8>) -> io::Result<()> {
        let start = bytes.len();
        self.stream.read_until(b'\n', bytes)?;
        let line = &bytes[start..];
        if line.len() < 3 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mark = line[0];
        let text = String::from_utf8_lossy(&line[1..line.len() - 2]).into_owned();
        let length = || text.parse::<u64>().map_err(|_| io::Error::other(format!("length {text}")));
        match mark {
            b'$' | b'*' if text == "-1" => Ok(()),
            b'$' | b'=' | b'!' => {
                let whole = length()? + 2;
                let came = self.stream.by_ref().take(whole).read_to_end(bytes)?;
                if came as u64 == whole { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
            }
            b'*' | b'~' | b'>' => (0..length()?).try_for_each(|_| self.read_into(bytes)),
            b'%' => (0..length()? * 2).try_for_each(|_| self.read_into(bytes)),
            _ => Ok(()),
        }
    }
}
