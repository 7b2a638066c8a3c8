//! A node in a process of its own, and curl to talk to it.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

pub(crate) use keyplane_testing::{Answer, curl};
use keyplane_testing::{Server, until};
use serde_json::Value;

/// A transaction of the Conway era that spends the output with this first byte.
pub(crate) fn transaction(spends: u8) -> (String, Vec<u8>) {
    spender(spends, 170_000)
}

/// One of several that spend it.
pub(crate) fn spender(spends: u8, fee: u64) -> (String, Vec<u8>) {
    use keyplane_mempool::model::Input;
    let input = Input { tx: keyplane_mempool::TxHash::new([spends; 32]), index: 0 };
    let bytes = keyplane_mempool::ports::transaction(input, fee, b"nobody signed this");
    let tx = keyplane_mempool::Tx::decode(bytes.clone()).unwrap();
    (tx.hash.to_string(), bytes)
}

pub(crate) fn keyplane(url: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_keyplane"));
    command.env("KEYPLANE_URL", url).env_remove("KEYPLANE_CONFIG");
    command
}

/// A running node. It is killed when it is dropped.
pub(crate) struct Node {
    process: Child,
    pub(crate) id: String,
    pub(crate) address: String,
    /// Where it speaks gRPC.
    #[cfg(feature = "grpc")]
    pub(crate) grpc: Option<String>,
    log: Arc<Mutex<String>>,
}

impl Node {
    /// A node on this server, with a lock that lasts two seconds.
    pub(crate) fn start(server: &Server) -> Self {
        Self::start_with(&server.url(), &[])
    }

    pub(crate) fn start_with(url: &str, settings: &[(&str, &str)]) -> Self {
        Self::launch(url, "127.0.0.1:0", settings)
    }

    /// Where another one was.
    pub(crate) fn start_at(url: &str, address: &str) -> Self {
        Self::launch(url, address, &[])
    }

    fn launch(url: &str, listen: &str, settings: &[(&str, &str)]) -> Self {
        let mut process = keyplane(url)
            .args(["mempool", "run", "--listen", listen, "--log", "debug"])
            .env("KEYPLANE_MEMPOOL_WATCHER_LOCK_TTL", "2s")
            .envs(settings.iter().copied())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let log = Arc::new(Mutex::new(String::new()));
        let (kept, errors) = (Arc::clone(&log), process.stderr.take().unwrap());
        thread::spawn(move || {
            for line in BufReader::new(errors).lines().map_while(Result::ok) {
                kept.lock().unwrap().push_str(&(line + "\n"));
            }
        });
        let mut first = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut first).unwrap();
        let words: Vec<&str> = first.split_whitespace().collect();
        assert!(words.len() >= 4, "{first}{}", log.lock().unwrap());
        Self {
            process,
            id: words[1].to_owned(),
            address: words[3].to_owned(),
            #[cfg(feature = "grpc")]
            grpc: words.get(7).map(|url| (*url).to_owned()),
            log,
        }
    }

    pub(crate) fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    /// Waits until its log says so.
    pub(crate) fn wait_for(&self, words: &str) {
        until(words, || if self.log().contains(words) { Ok(()) } else { Err(self.log()) });
    }

    pub(crate) fn signal(&mut self, signal: &str) {
        let pid = self.process.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
        if signal != "-STOP" && signal != "-CONT" {
            self.process.wait().unwrap();
        }
    }

    pub(crate) fn curl(&self, path: &str, args: &[&str]) -> Answer {
        curl(&format!("{}{path}", self.address), args)
    }

    /// Submits as a wallet does.
    pub(crate) fn submit(&self, path: &str, bytes: &[u8]) -> Answer {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        std::io::Write::write_all(&mut file, bytes).unwrap();
        let data = format!("@{}", file.path().display());
        self.curl(path, &["-H", "Content-Type: application/cbor", "--data-binary", &data])
    }

    /// Tells it of a block.
    pub(crate) fn forward(&self, block: &Value) -> Answer {
        self.curl("/api/chain/forward", &["-H", "Content-Type: application/json", "-d", &block.to_string()])
    }

    pub(crate) fn stage(&self, hash: &str) -> Value {
        self.curl(&format!("/api/tx/{hash}"), &[]).json()["stage"].clone()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// A block of that height, with a hash that tells it.
pub(crate) fn block(height: u64, txs: &[&str]) -> Value {
    serde_json::json!({
        "slot": 1000 + 20 * height,
        "hash": format!("{height:064x}"),
        "height": height,
        "prev": format!("{:064x}", height - 1),
        "txs": txs,
    })
}
