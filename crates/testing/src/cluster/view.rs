//! What one node thinks of its cluster.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use redis::{Connection, RedisError};

use crate::server::Server;
use crate::slot::Slot;

/// A frozen node must not freeze the test.
const PATIENCE: Duration = Duration::from_secs(2);

/// The answers of one node to CLUSTER NODES, CLUSTER INFO and INFO replication.
pub(super) struct View {
    nodes: Vec<Known>,
    info: String,
    replication: String,
}

/// A line of CLUSTER NODES.
pub(super) struct Known {
    pub(super) id: String,
    flags: String,
    pub(super) master: Option<String>,
    pub(super) epoch: u64,
    connected: bool,
    slots: Vec<(u16, u16)>,
}

impl View {
    pub(super) fn of(server: &Server) -> Result<Self, String> {
        let fail = |error: RedisError| format!("{}: {error}", server.url());
        let mut connection = server.try_admin().map_err(fail)?;
        connection.set_read_timeout(Some(PATIENCE)).map_err(fail)?;
        let ask = |connection: &mut Connection, words: &[&str]| -> Result<String, String> {
            redis::cmd(words[0]).arg(&words[1..]).query(connection).map_err(fail)
        };
        let nodes = ask(&mut connection, &["CLUSTER", "NODES"])?;
        let nodes: Vec<Known> = nodes.lines().filter_map(Known::parse).collect();
        if !nodes.iter().any(Known::is_own) {
            return Err("a node that does not know itself".to_owned());
        }
        let info = ask(&mut connection, &["CLUSTER", "INFO"])?;
        let replication = ask(&mut connection, &["INFO", "replication"])?;
        Ok(Self { nodes, info, replication })
    }

    pub(super) fn own(&self) -> &Known {
        self.nodes.iter().find(|node| node.is_own()).expect("checked when it was read")
    }

    pub(super) fn knows_all(&self, count: usize) -> Result<(), String> {
        let met = self.nodes.iter().filter(|node| node.connected && !node.has("handshake")).count();
        if met == count { Ok(()) } else { Err(format!("{met} of {count} nodes met:\n{self}")) }
    }

    /// Which master serves which slots.
    pub(super) fn slots(&self) -> BTreeMap<&str, &[(u16, u16)]> {
        let serving = self.nodes.iter().filter(|node| !node.slots.is_empty());
        serving.map(|node| (node.id.as_str(), node.slots.as_slice())).collect()
    }

    /// Whether this node sees a complete cluster in which only these nodes serve.
    pub(super) fn is_ok(&self, up: &[String]) -> Result<(), String> {
        let info = |line: &str| self.info.lines().any(|said| said == line);
        let problem = if !info("cluster_state:ok") || !info("cluster_slots_ok:16384") {
            "it is not ok"
        } else if self.slots().keys().any(|id| !up.iter().any(|up| up == id)) {
            "a node that is down serves slots"
        } else if self.nodes.iter().any(|node| up.contains(&node.id) && !node.is_healthy()) {
            "a running node is suspected or not connected"
        } else if !self.own().is_master() && !self.replication.contains("master_link_status:up") {
            "a replica has lost its master"
        } else {
            return Ok(());
        };
        Err(format!("{problem}:\n{self}"))
    }
}

impl fmt::Display for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.info.lines().next().unwrap_or_default())?;
        for node in &self.nodes {
            writeln!(f, "{} {} epoch {} slots {:?}", node.id, node.flags, node.epoch, node.slots)?;
        }
        Ok(())
    }
}

impl Known {
    /// `id ip:port@bus,host flags master ping pong epoch link slot…`
    fn parse(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [id, _address, flags, master, _ping, _pong, epoch, link, slots @ ..] = words.as_slice() else {
            return None;
        };
        Some(Self {
            id: (*id).to_owned(),
            flags: (*flags).to_owned(),
            master: (*master != "-").then(|| (*master).to_owned()),
            epoch: epoch.parse().ok()?,
            connected: *link == "connected",
            slots: slots.iter().filter_map(|slots| range(slots)).collect(),
        })
    }

    fn has(&self, flag: &str) -> bool {
        self.flags.split(',').any(|has| has == flag)
    }

    fn is_own(&self) -> bool {
        self.has("myself")
    }

    pub(super) fn is_master(&self) -> bool {
        self.has("master")
    }

    fn is_healthy(&self) -> bool {
        self.connected && !self.has("fail") && !self.has("fail?") && !self.has("handshake")
    }

    pub(super) fn owns(&self, slot: Slot) -> bool {
        self.slots.iter().any(|(first, last)| (*first..=*last).contains(&slot.number()))
    }
}

/// `5461-10922` or `7`; a slot on the move, `[7->-id]`, is none.
fn range(text: &str) -> Option<(u16, u16)> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    Some((first.parse().ok()?, last.parse().ok()?))
}
