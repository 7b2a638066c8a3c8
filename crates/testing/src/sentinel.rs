//! A master, its replicas and the sentinels that watch them, made for quick failover.

use std::thread;
use std::time::Duration;

use redis::{Connection, RedisResult, Value};

use crate::cluster::{Node, ask};
use crate::program::Program;
use crate::replication;
use crate::server::Server;
use crate::settings::{Role, Settings};
use crate::wait::until;

const REPLICAS: usize = 2;
const SENTINELS: usize = 3;

/// The name under which the sentinels know the master.
const NAME: &str = "mymaster";

/// A frozen sentinel must not freeze the test.
const PATIENCE: Duration = Duration::from_secs(2);

/// A running master with two replicas and three sentinels. Dropping it kills all of them.
#[derive(Debug)]
pub struct Sentinel {
    nodes: Vec<Server>,
    sentinels: Vec<Server>,
}

impl Sentinel {
    /// Starts Redis servers, and waits until all sentinels know the replicas and each other.
    #[must_use]
    pub fn start() -> Self {
        Self::start_with(Program::Redis)
    }

    /// The same with another program.
    #[must_use]
    pub fn start_with(program: Program) -> Self {
        let settings = replication::quick(Settings::tcp());
        let master = Server::start(program, &settings);
        let port = master.port();
        let replica = settings.line(&format!("replicaof 127.0.0.1 {port}"));
        let watcher = watcher(port);
        let (replicas, sentinels) = thread::scope(|scope| {
            let start = |settings: &Settings, count: usize| -> Vec<_> {
                let started = || {
                    let settings = settings.clone();
                    scope.spawn(move || Server::start(program, &settings))
                };
                (0..count).map(|_| started()).collect()
            };
            let (replicas, sentinels) = (start(&replica, REPLICAS), start(&watcher, SENTINELS));
            let all = |starting: Vec<thread::ScopedJoinHandle<'_, Server>>| -> Vec<Server> {
                starting.into_iter().map(|start| start.join().expect("a server that starts")).collect()
            };
            (all(replicas), all(sentinels))
        });
        let nodes = std::iter::once(master).chain(replicas).collect();
        let started = Self { nodes, sentinels };
        started.hurry();
        started.wait_until_ok();
        started
    }

    /// Sentinels look around every two to ten seconds; here they do so several times a second.
    fn hurry(&self) {
        for sentinel in &self.sentinels {
            let mut admin = sentinel.admin();
            for period in ["INFO-PERIOD", "PUBLISH-PERIOD", "PING-PERIOD", "ASK-PERIOD"] {
                // A server without this command is only slower.
                let _: RedisResult<Value> =
                    redis::cmd("SENTINEL").arg(&["DEBUG", period, "200"]).query(&mut admin);
            }
        }
    }

    /// Where to reach it: `redis+sentinel://`, all sentinels, and the master's name.
    #[must_use]
    pub fn url(&self) -> String {
        let sentinels: Vec<String> = self.sentinels.iter().map(Server::addr).collect();
        format!("redis+sentinel://{}/{NAME}", sentinels.join(","))
    }

    /// The data nodes: the master of the start, then its replicas.
    pub fn nodes(&self) -> impl Iterator<Item = Node> {
        (0..self.nodes.len()).map(Node)
    }

    /// The server of a data node, to freeze, thaw or ask it.
    #[must_use]
    pub fn server(&self, node: Node) -> &Server {
        &self.nodes[node.0]
    }

    /// The sentinels' own servers.
    #[must_use]
    pub fn sentinels(&self) -> &[Server] {
        &self.sentinels
    }

    /// The master that all running sentinels name.
    #[must_use]
    pub fn master(&self) -> Node {
        until("a master that all sentinels name", || self.named_master())
    }

    fn named_master(&self) -> Result<Node, String> {
        let mut named = self.watching().map(|sentinel| {
            let mut admin = connect(sentinel)?;
            let words = ["GET-MASTER-ADDR-BY-NAME", NAME];
            let (_host, port): (String, u16) =
                redis::cmd("SENTINEL").arg(&words).query(&mut admin).map_err(|error| error.to_string())?;
            Ok::<_, String>(port)
        });
        let first = named.next().ok_or("no sentinel is up")??;
        for other in named {
            if other? != first {
                return Err("the sentinels name different masters".to_owned());
            }
        }
        let node = self.nodes().find(|node| self.server(*node).port() == first);
        node.ok_or_else(|| format!("nobody listens on the master's port {first}"))
    }

    /// Kills the master and tells which node it was. A replica takes over after about two seconds;
    /// [`wait_for_another_master`](Self::wait_for_another_master) waits for it.
    pub fn kill_master(&self) -> Node {
        let master = self.master();
        self.server(master).kill();
        master
    }

    /// Waits until the sentinels agree on another master than this one, and tells which.
    pub fn wait_for_another_master(&self, than: Node) -> Node {
        until("another master", || {
            let master = self.named_master()?;
            if master == than { Err(format!("{than} is still the master")) } else { Ok(()) }
        });
        self.wait_until_ok();
        self.master()
    }

    /// Makes the sentinels promote a replica, waits for the switch, and tells the new master.
    pub fn failover(&self) -> Node {
        let old = self.master();
        let sentinel = self.watching().next().expect("a sentinel that is up");
        until("a sentinel that is ready for a failover, and another master", || {
            if self.named_master()? != old {
                return Ok(());
            }
            // A failover that takes longer than its timeout is given up, and one that was asked for is not tried again by
            // itself. While it is under way, asking is refused.
            let asked: RedisResult<()> =
                redis::cmd("SENTINEL").arg(&["FAILOVER", NAME]).query(&mut connect(sentinel)?);
            Err(asked.map_or_else(|error| error.to_string(), |()| format!("{old} is still the master")))
        });
        self.wait_for_another_master(old)
    }

    /// Starts a data node again. The sentinels turn an old master into a replica.
    pub fn restart(&self, node: Node) {
        self.server(node).restart();
    }

    /// Waits until the sentinels that are up know each other, a master that is up, and all replicas that are up, and
    /// these have what the master has.
    pub fn wait_until_ok(&self) {
        until("sentinels in order", || {
            let master = self.named_master()?;
            let role: Vec<Value> = redis::cmd("ROLE")
                .query(&mut connect(self.server(master))?)
                .map_err(|error| error.to_string())?;
            if role.first() != Some(&Value::BulkString(b"master".to_vec())) {
                return Err(format!("{master} is not yet a master"));
            }
            self.watching().try_for_each(|sentinel| self.sees_all(sentinel, master))?;
            let replicas = self.nodes().filter(|node| *node != master && self.server(*node).is_running());
            replication::in_step(self.server(master), replicas.count())
        });
    }

    fn sees_all(&self, sentinel: &Server, master: Node) -> Result<(), String> {
        let mut admin = connect(sentinel)?;
        let list = |admin: &mut Connection, what: &str| -> Result<Vec<Entry>, String> {
            let entries: Vec<Entry> =
                redis::cmd("SENTINEL").arg(&[what, NAME]).query(admin).map_err(|error| error.to_string())?;
            Ok(entries)
        };
        let others = list(&mut admin, "SENTINELS")?;
        let (met, up) =
            (others.iter().filter(|entry| well("sentinel", entry)).count(), self.watching().count());
        if met + 1 < up {
            return Err(format!("a sentinel sees {met} others of {up}: {others:?}"));
        }
        let replicas = list(&mut admin, "REPLICAS")?;
        let master_port = self.server(master).port().to_string();
        for node in self.nodes().filter(|node| *node != master && self.server(*node).is_running()) {
            let port = self.server(node).port().to_string();
            let follows = |entry: &&Entry| {
                entry.get("port") == Some(&port)
                    && well("slave", entry)
                    // Right after a switch it may still be in touch with the old master.
                    && entry.get("master-port") == Some(&master_port)
                    && entry.get("master-link-status").is_some_and(|status| status == "ok")
            };
            if !replicas.iter().any(|entry| follows(&entry)) {
                return Err(format!("{node} is no replica in order: {replicas:?}"));
            }
        }
        let state: Entry = redis::cmd("SENTINEL")
            .arg(&["MASTER", NAME])
            .query(&mut admin)
            .map_err(|error| error.to_string())?;
        if well("master", &state) { Ok(()) } else { Err(format!("the master is not in order: {state:?}")) }
    }

    fn watching(&self) -> impl Iterator<Item = &Server> {
        self.sentinels.iter().filter(|sentinel| sentinel.is_running())
    }
}

/// Signs that something is under way or wrong. `master_down` is none: what another sentinel said in the last failover
/// stays there.
const TROUBLE: [&str; 4] = ["s_down", "o_down", "disconnected", "failover_in_progress"];

fn well(role: &str, entry: &Entry) -> bool {
    let flags: Vec<&str> = entry.get("flags").map(|flags| flags.split(',').collect()).unwrap_or_default();
    flags.contains(&role) && !flags.iter().any(|flag| TROUBLE.contains(flag))
}

type Entry = std::collections::BTreeMap<String, String>;

/// The settings of a sentinel that watches this port.
fn watcher(master: u16) -> Settings {
    Settings::tcp()
        .role(Role::Sentinel)
        .line(&format!("sentinel monitor {NAME} 127.0.0.1 {master} {}", SENTINELS / 2 + 1))
        .line(&format!("sentinel down-after-milliseconds {NAME} 800"))
        // Twice this is the wait before another attempt, after one that failed.
        .line(&format!("sentinel failover-timeout {NAME} 3000"))
        .line(&format!("sentinel parallel-syncs {NAME} {REPLICAS}"))
}

fn connect(server: &Server) -> Result<Connection, String> {
    let connection = server.try_admin().map_err(|error| error.to_string())?;
    connection.set_read_timeout(Some(PATIENCE)).map_err(|error| error.to_string())?;
    Ok(connection)
}

/// The address of the master that a sentinel names; used where only a URL is known.
pub(crate) fn master_addr(sentinel: &mut Connection, name: &str) -> String {
    let (host, port): (String, u16) = ask(sentinel, &["SENTINEL", "GET-MASTER-ADDR-BY-NAME", name]);
    format!("{host}:{port}")
}
