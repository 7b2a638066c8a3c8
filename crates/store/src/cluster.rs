//! Which node of a cluster has which slot.
//!
//! The map comes from CLUSTER SLOTS of any node that answers. It is asked for again when a node redirects, does not
//! answer, or turns out to be a replica, and with each health check.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::node::{Context, Finder, Node};
use crate::reply::{FromReply as _, Reply};
use crate::slot::{SLOTS, Slot};
use crate::wire::{Request, Wire};
use keyplane_url::Address;

/// A node that does not answer within this is passed over.
const PATIENCE: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub(crate) struct Cluster {
    context: Arc<Context>,
    seeds: Vec<Address>,
    map: RwLock<Arc<Map>>,
    refreshing: Mutex<()>,
}

/// Slots to nodes at one moment.
#[derive(Debug, Default)]
pub(crate) struct Map {
    version: u64,
    /// Index into `nodes`, one per slot; past the end where no node has it.
    slots: Vec<u16>,
    nodes: Vec<(Address, Arc<Node>)>,
}

impl Map {
    pub(crate) fn node(&self, slot: Slot) -> Option<&Arc<Node>> {
        let index = *self.slots.get(usize::from(slot.number()))?;
        self.nodes.get(usize::from(index)).map(|(_, node)| node)
    }

    pub(crate) fn nodes(&self) -> impl Iterator<Item = &Arc<Node>> {
        self.nodes.iter().map(|(_, node)| node)
    }

    fn covers_all(&self) -> bool {
        self.slots.len() == SLOTS && self.slots.iter().all(|index| usize::from(*index) < self.nodes.len())
    }
}

impl Cluster {
    pub(crate) fn new(context: &Arc<Context>, seeds: Vec<Address>) -> Self {
        Self { context: Arc::clone(context), seeds, map: RwLock::default(), refreshing: Mutex::default() }
    }

    pub(crate) fn map(&self) -> Arc<Map> {
        Arc::clone(&self.map.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The node at an address that a redirect names; a new one when the map does not have it yet.
    pub(crate) fn node_at(&self, address: &Address) -> Arc<Node> {
        let map = self.map();
        let known = map.nodes.iter().find(|(known, _)| known == address);
        known.map_or_else(
            || Node::start(&self.context, Finder::Fixed(address.clone())),
            |(_, node)| Arc::clone(node),
        )
    }

    /// Asks for the map again, unless somebody did since `seen`. Says why not when nobody answers.
    pub(crate) async fn refresh(&self, seen: &Map) -> Result<(), String> {
        let _one_at_a_time = self.refreshing.lock().await;
        let known = self.map();
        if known.version > seen.version {
            return Ok(());
        }
        let mut problems = Vec::new();
        let mut partial = None;
        for node in known.nodes() {
            if let Some(up) = node.up_now()
                && let Ok(ranges) = slots_from(&up.wire, &up.address).await
            {
                let map = self.build(&known, ranges);
                if map.covers_all() {
                    self.publish(map);
                    return Ok(());
                }
                partial.get_or_insert(map);
            }
        }
        for seed in &self.seeds {
            match self.ask_seed(seed).await {
                Ok(ranges) => {
                    let map = self.build(&known, ranges);
                    if map.covers_all() {
                        self.publish(map);
                        return Ok(());
                    }
                    problems.push(format!("{seed} does not know all slots"));
                    partial.get_or_insert(map);
                }
                Err(why) => problems.push(format!("{seed}: {why}")),
            }
        }
        // Half a map serves half the keys, which is better than none while the rest fails over.
        match partial {
            Some(map) => {
                self.publish(map);
                Ok(())
            }
            None => Err(problems.join("; ")),
        }
    }

    async fn ask_seed(&self, seed: &Address) -> Result<Vec<Range>, String> {
        match timeout(PATIENCE, Wire::connect(seed, &self.context.session, || {})).await {
            Ok(Ok(wire)) => slots_from(&wire, seed).await,
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err("no answer".to_owned()),
        }
    }

    fn build(&self, known: &Map, ranges: Vec<Range>) -> Map {
        let mut slots = vec![u16::MAX; SLOTS];
        let mut nodes: Vec<(Address, Arc<Node>)> = Vec::new();
        let mut places: HashMap<Address, u16> = HashMap::new();
        for range in ranges {
            let place = *places.entry(range.master.clone()).or_insert_with(|| {
                let old = known.nodes.iter().find(|(address, _)| *address == range.master);
                let node = old.map_or_else(
                    || Node::start(&self.context, Finder::Fixed(range.master.clone())),
                    |(_, node)| Arc::clone(node),
                );
                nodes.push((range.master.clone(), node));
                (nodes.len() - 1) as u16
            });
            if let Some(part) = slots.get_mut(range.first..=range.last) {
                part.fill(place);
            }
        }
        Map { version: known.version + 1, slots, nodes }
    }

    fn publish(&self, map: Map) {
        *self.map.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(map);
    }
}

struct Range {
    first: usize,
    last: usize,
    master: Address,
}

async fn slots_from(wire: &Wire, asked: &Address) -> Result<Vec<Range>, String> {
    let question = Request::new("CLUSTER").arg("SLOTS");
    match timeout(PATIENCE, wire.send(&question)).await {
        Ok(Ok(Reply::Array(ranges))) => {
            Ok(ranges.into_iter().filter_map(|range| read_range(range, asked)).collect())
        }
        Ok(Ok(Reply::Error(error))) => Err(error.to_string()),
        Ok(Ok(_)) => Err("an answer of another shape to CLUSTER SLOTS".to_owned()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err("no answer to CLUSTER SLOTS".to_owned()),
    }
}

/// `[first, last, [host, port, id …], replicas …]`; a node that does not know its own host leaves it empty.
fn read_range(range: Reply, asked: &Address) -> Option<Range> {
    let Reply::Array(parts) = range else { return None };
    let mut parts = parts.into_iter();
    let first = usize::from_reply(parts.next()?).ok()?;
    let last = usize::from_reply(parts.next()?).ok()?;
    let Reply::Array(master) = parts.next()? else { return None };
    let mut master = master.into_iter();
    let host =
        Option::<String>::from_reply(master.next()?).ok()?.filter(|host| !host.is_empty() && host != "?");
    let port = u16::from_reply(master.next()?).ok()?;
    let host = match (host, asked) {
        (Some(host), _) => host,
        (None, Address::Tcp(host, _)) => host.clone(),
        (None, Address::Unix(_)) => return None,
    };
    (first <= last && last < SLOTS).then_some(Range { first, last, master: Address::Tcp(host, port) })
}
