//! What a machine's process does: it is told by lines, and answers by lines.

use std::collections::HashMap;
use std::io::{BufRead as _, stdin};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use keyplane_kit::Fence;
use keyplane_kit::lease::{Held, Lease};
use keyplane_store::{Handle, Options, Store};

use crate::journal::record;
use crate::machine::{NAME, SAYS, URL};
use crate::setup::{Keyspace, east, eventually};
use crate::work::work;

/// Short, for the others to take over soon; long enough for a loaded machine to renew in time.
const TTL: Duration = Duration::from_millis(600);

struct Told {
    name: String,
    handle: Handle,
    lease: Lease,
    held: Option<Held>,
    /// Kept from before: what a machine that was stopped in the middle of a write has in its hands.
    fence: Option<Fence>,
    lines: u64,
}

/// Not a test: the process of one machine.
#[test]
#[ignore = "a part of the others"]
fn a_machine() {
    let (url, name) = (std::env::var(URL).expect("told where"), std::env::var(NAME).expect("told who"));
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        for line in stdin().lock().lines() {
            drop(tell.send(line.expect("a line")));
        }
        // Whoever started it is gone.
        std::process::exit(0);
    });
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let mut machine = Told::open(&url, name).await;
        say("ready");
        while let Ok(line) = tokio::task::block_in_place(|| told.recv()) {
            machine.obey(&line).await;
        }
    });
}

pub(crate) fn say(what: &str) {
    println!("{SAYS}{what}");
}

impl Told {
    async fn open(url: &str, name: String) -> Self {
        let mut options = Options::default();
        options.command_timeout = Duration::from_secs(5);
        let store = Store::open(url, options).await.unwrap();
        let contract = keyplane_store::contract(Keyspace::SOURCE).unwrap();
        let settings = HashMap::from([("leader_ttl".to_owned(), TTL)]);
        let handle = store.as_component(&contract, "machine", &settings).unwrap();
        let lease = Lease::new(&handle, Keyspace::default().leader(&east())).unwrap();
        Self { name, handle, lease, held: None, fence: None, lines: 0 }
    }

    async fn obey(&mut self, line: &str) {
        match line.split_once(' ').unwrap_or((line, "")) {
            ("acquire", _) => self.acquire().await,
            ("write", count) => {
                for _ in 0..count.parse().unwrap() {
                    self.write().await;
                }
            }
            ("work", count) => {
                let fence = self.fence.as_ref().expect("it leads");
                work(&self.handle, fence, &self.name, count.parse().unwrap()).await;
            }
            ("fence", _) => {
                let held = self.held.as_ref().expect("it leads");
                say(if held.fence().is_ok() { "fence: held" } else { "fence: lapsed" });
            }
            ("lost", _) => {
                self.held.as_ref().expect("it leads").lost().await;
                say("lost");
            }
            ("renewals", count) => {
                let count: u64 = count.parse().unwrap();
                eventually(|| self.lease.counters().renewed.get() >= count).await;
                say("renewed");
            }
            ("release", _) => match self.held.take().expect("it leads").release().await {
                Ok(ours) => say(&format!("released: {ours}")),
                Err(error) => say(&format!("released: {error}")),
            },
            other => panic!("{other:?}"),
        }
    }

    async fn acquire(&mut self) {
        // A server that is being restarted is waited for.
        let held = loop {
            match self.lease.acquire(&self.name).await {
                Ok(held) => break held,
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        };
        // On a loaded machine it may be over already; who asks next is told.
        self.fence = held.fence().ok().cloned();
        self.held = Some(held);
        match &self.fence {
            Some(fence) => say(&format!("leads in {}", fence.as_str())),
            None => Box::pin(self.acquire()).await,
        }
    }

    /// With the fence from when it was acquired, whether or not that is over by now.
    async fn write(&mut self) {
        let fence = self.fence.as_ref().expect("it led");
        self.lines += 1;
        let line = format!("{} {} {}", fence.as_str(), self.name, self.lines);
        match record(&self.handle, &Keyspace::default(), &east(), fence, &line).await {
            Ok(true) => say(&format!("wrote {line}")),
            Ok(false) => say(&format!("fenced {line}")),
            Err(error) => say(&format!("unknown {line}: {error}")),
        }
    }
}
