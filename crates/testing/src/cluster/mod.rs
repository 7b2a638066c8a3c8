//! A Redis Cluster of real servers, made for quick failover.

mod migrate;
mod view;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Mutex;
use std::thread;

use redis::{Cmd, Connection, FromRedisValue};

use crate::program::Program;
use crate::replication;
use crate::server::Server;
use crate::settings::{Role, Settings};
use crate::slot::Slot;
use crate::wait::until;
use view::View;

/// A node that is silent for that long is suspected; the smallest time that a busy machine keeps.
const NODE_TIMEOUT_MS: u32 = 1000;

/// A node of a [`Cluster`] or [`Sentinel`](crate::Sentinel), by its place in the order of their start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Node(pub usize);

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node {}", self.0)
    }
}

/// A running cluster. Dropping it kills all nodes.
#[derive(Debug)]
pub struct Cluster {
    nodes: Vec<Server>,
    masters: usize,
    migrating: Mutex<BTreeMap<Slot, (Node, Node)>>,
}

impl Cluster {
    /// Starts a cluster and waits until every node agrees that it is complete. Masters come first in the order of
    /// nodes, then their replicas.
    #[must_use]
    pub fn start(program: Program, masters: usize, replicas_per_master: usize) -> Self {
        let settings = Settings::tcp()
            .role(Role::ClusterNode)
            .line(&format!("cluster-node-timeout {NODE_TIMEOUT_MS}"))
            // A replica may stand for election however long its master has been gone.
            .line("cluster-replica-validity-factor 0")
            // Replicas stay with their masters, so that tests know where they are.
            .line("cluster-allow-replica-migration no");
        let settings = replication::quick(settings);
        let count = masters * (1 + replicas_per_master);
        let cluster =
            Self { nodes: start_all(program, &settings, count), masters, migrating: Mutex::default() };
        cluster.share_slots();
        cluster.introduce();
        cluster.attach_replicas();
        cluster.wait_until_ok();
        cluster
    }

    fn share_slots(&self) {
        let masters = u32::try_from(self.masters).expect("a handful");
        for (index, node) in (0u32..).zip(&self.nodes[..self.masters]) {
            let first = u32::from(Slot::COUNT) * index / masters;
            let last = u32::from(Slot::COUNT) * (index + 1) / masters - 1;
            let mut admin = node.admin();
            // Different epochs from the start: no conflict to settle later.
            ask::<()>(&mut admin, &["CLUSTER", "SET-CONFIG-EPOCH", &(index + 1).to_string()]);
            ask::<()>(&mut admin, &["CLUSTER", "ADDSLOTSRANGE", &first.to_string(), &last.to_string()]);
        }
    }

    /// Everyone meets everyone: waiting for gossip would take seconds.
    fn introduce(&self) {
        for (index, node) in self.nodes.iter().enumerate() {
            let mut admin = node.admin();
            for other in &self.nodes[index + 1..] {
                let (port, bus) = (other.port().to_string(), other.bus_port().to_string());
                ask::<()>(&mut admin, &["CLUSTER", "MEET", "127.0.0.1", &port, &bus]);
            }
        }
        until("nodes of a cluster that know each other", || {
            self.views()?.iter().try_for_each(|view| view.knows_all(self.nodes.len()))
        });
    }

    fn attach_replicas(&self) {
        for (index, replica) in self.nodes.iter().enumerate().skip(self.masters) {
            let master = self.id(Node((index - self.masters) % self.masters));
            ask::<()>(&mut replica.admin(), &["CLUSTER", "REPLICATE", &master]);
        }
    }

    /// Where to reach it: `redis+cluster://` and the masters of the start.
    #[must_use]
    pub fn url(&self) -> String {
        let seeds: Vec<String> = self.nodes[..self.masters].iter().map(Server::addr).collect();
        format!("redis+cluster://{}", seeds.join(","))
    }

    /// All nodes, masters of the start first.
    pub fn nodes(&self) -> impl Iterator<Item = Node> {
        (0..self.nodes.len()).map(Node)
    }

    /// The server of a node, to freeze, thaw or ask it.
    #[must_use]
    pub fn server(&self, node: Node) -> &Server {
        &self.nodes[node.0]
    }

    /// The master that serves a slot now. Of several that claim it, the one with the newest claim.
    #[must_use]
    pub fn node_of_slot(&self, slot: Slot) -> Node {
        until("a master that serves the slot", || {
            let claims = self.running().filter_map(|node| {
                let view = View::of(self.server(node)).ok()?;
                let own = view.own();
                own.owns(slot).then_some((own.epoch, node))
            });
            let newest = claims.max_by_key(|(epoch, _)| *epoch);
            newest.map(|(_, node)| node).ok_or_else(|| format!("nobody claims {slot}"))
        })
    }

    /// The replicas of a master that are up.
    #[must_use]
    pub fn replicas_of(&self, master: Node) -> Vec<Node> {
        let id = self.id(master);
        let follows = |node: &Node| {
            View::of(self.server(*node)).is_ok_and(|view| view.own().master.as_ref() == Some(&id))
        };
        self.running().filter(follows).collect()
    }

    /// Kills a node. Its replica takes over after about two seconds; [`wait_until_ok`](Self::wait_until_ok) waits for it.
    pub fn kill(&self, node: Node) {
        self.server(node).kill();
    }

    /// Starts a node again, with the slots and peers it knew.
    pub fn restart(&self, node: Node) {
        self.server(node).restart();
    }

    /// Hands a master's slots to its replica in good order, waits until all nodes know, and tells the new master.
    pub fn failover(&self, master: Node) -> Node {
        let heir = *self.replicas_of(master).first().unwrap_or_else(|| panic!("{master} has no replica"));
        ask::<()>(&mut self.server(heir).admin(), &["CLUSTER", "FAILOVER"]);
        until("a replica that takes over", || {
            let view = View::of(self.server(heir))?;
            if view.own().is_master() { Ok(()) } else { Err(format!("{heir} is still a replica")) }
        });
        self.wait_until_ok();
        heir
    }

    /// Waits until all running nodes agree on a complete cluster without any that is down, and replicas have what
    /// their masters have.
    pub fn wait_until_ok(&self) {
        until("a cluster in order", || {
            let views = self.views()?;
            let up: Vec<String> = views.iter().map(|view| view.own().id.clone()).collect();
            let slots = views[0].slots();
            for view in &views {
                view.is_ok(&up)?;
                if view.slots() != slots {
                    return Err(format!("views differ:\n{view}\n{}", views[0]));
                }
            }
            self.running().zip(&views).filter(|(_, view)| view.own().is_master()).try_for_each(
                |(node, view)| {
                    let id = Some(&view.own().id);
                    let replicas = views.iter().filter(|view| view.own().master.as_ref() == id);
                    replication::in_step(self.server(node), replicas.count())
                },
            )
        });
    }

    fn running(&self) -> impl Iterator<Item = Node> {
        self.nodes().filter(|node| self.server(*node).is_running())
    }

    fn views(&self) -> Result<Vec<View>, String> {
        self.running().map(|node| View::of(self.server(node))).collect()
    }

    fn id(&self, node: Node) -> String {
        ask(&mut self.server(node).admin(), &["CLUSTER", "MYID"])
    }
}

fn start_all(program: Program, settings: &Settings, count: usize) -> Vec<Server> {
    thread::scope(|scope| {
        let starting: Vec<_> = (0..count).map(|_| scope.spawn(|| Server::start(program, settings))).collect();
        starting.into_iter().map(|start| start.join().expect("a node that starts")).collect()
    })
}

/// Sends a command that must succeed.
pub(crate) fn ask<T: FromRedisValue>(connection: &mut Connection, words: &[&str]) -> T {
    let mut command = Cmd::new();
    command.arg(words);
    command.query(connection).unwrap_or_else(|error| panic!("{}: {error}", words.join(" ")))
}
