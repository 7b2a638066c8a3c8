//! Which node of a cluster has which slot.
//!
//! The map comes from CLUSTER SLOTS of any node that answers. It is asked for again when a node redirects, does not
//! answer, or turns out to be a replica, and with each health check.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::task::JoinSet;
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
    /// Nodes that redirects name and the map does not have: a node that gets its first slot is not in CLUSTER SLOTS yet.
    redirected: RwLock<HashMap<Address, Arc<Node>>>,
}

/// Slots to nodes at one moment.
#[derive(Debug, Default)]
pub(crate) struct Map {
    version: u64,
    /// Index into `nodes`, one per slot; past the end where no node has it.
    slots: Vec<u16>,
    nodes: Vec<(Address, Arc<Node>)>,
}

/// Nodes that were asked for the map.
type Asked = JoinSet<Result<Vec<Range>, String>>;

/// What came of asking, short of a whole map.
#[derive(Default)]
struct Found {
    best: Option<Map>,
    problems: Vec<String>,
}

impl Map {
    pub(crate) fn node(&self, slot: Slot) -> Option<&Arc<Node>> {
        let index = *self.slots.get(usize::from(slot.number()))?;
        self.nodes.get(usize::from(index)).map(|(_, node)| node)
    }

    pub(crate) fn nodes(&self) -> impl Iterator<Item = &Arc<Node>> {
        self.nodes.iter().map(|(_, node)| node)
    }

    fn covered(&self) -> usize {
        self.slots.iter().filter(|index| usize::from(**index) < self.nodes.len()).count()
    }
}

impl Cluster {
    pub(crate) fn new(context: &Arc<Context>, seeds: Vec<Address>) -> Arc<Self> {
        Arc::new(Self {
            context: Arc::clone(context),
            seeds,
            map: RwLock::default(),
            refreshing: Mutex::default(),
            redirected: RwLock::default(),
        })
    }

    pub(crate) fn map(&self) -> Arc<Map> {
        Arc::clone(&self.map.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The node at an address that a redirect names.
    pub(crate) fn node_at(&self, address: &Address) -> Arc<Node> {
        if let Some((_, node)) = self.map().nodes.iter().find(|(known, _)| known == address) {
            return Arc::clone(node);
        }
        let mut redirected = self.redirected.write().unwrap_or_else(PoisonError::into_inner);
        let node = redirected
            .entry(address.clone())
            .or_insert_with(|| Node::start(&self.context, Finder::Fixed(address.clone())));
        Arc::clone(node)
    }

    /// Asks for the map again, unless somebody did since `seen`; another node than `except`, if there is one. It goes on when
    /// whoever waits for it goes away, so that a short deadline does not keep the map old. Says why not when nobody answers.
    pub(crate) async fn refresh(
        self: &Arc<Self>,
        seen: &Map,
        except: Option<&Arc<Node>>,
    ) -> Result<(), String> {
        let (cluster, version) = (Arc::clone(self), seen.version);
        let except = except.cloned();
        let refreshing = tokio::spawn(async move {
            let _one_at_a_time = cluster.refreshing.lock().await;
            if cluster.map().version > version { Ok(()) } else { cluster.ask_again(except.as_ref()).await }
        });
        refreshing.await.unwrap_or_else(|error| Err(error.to_string()))
    }

    /// The first whole map that any node gives; else the best of the others, if it is better than the one at hand. Seeds are
    /// asked when no known node has one.
    async fn ask_again(&self, except: Option<&Arc<Node>>) -> Result<(), String> {
        let known = self.map();
        let mut found = Found::default();
        let mut whole = self.first_whole(&known, self.known_nodes(&known, except), &mut found).await;
        if whole.is_none() {
            whole = self.first_whole(&known, self.seeds(), &mut found).await;
        }
        // Half a map serves half the keys, which is better than none while the rest fails over.
        match whole.or(found.best.filter(|map| map.covered() > known.covered())) {
            Some(map) => {
                self.publish(map);
                Ok(())
            }
            None if found.problems.is_empty() => Err("no node knows all slots".to_owned()),
            None => Err(found.problems.join("; ")),
        }
    }

    async fn first_whole(&self, known: &Map, mut asked: Asked, found: &mut Found) -> Option<Map> {
        while let Some(answer) = asked.join_next().await {
            match answer {
                Ok(Ok(ranges)) => {
                    let map = self.build(known, ranges);
                    if map.covered() == SLOTS {
                        return Some(map);
                    }
                    if found.best.as_ref().is_none_or(|best| map.covered() > best.covered()) {
                        found.best = Some(map);
                    }
                }
                Ok(Err(why)) => found.problems.push(why),
                Err(_) => {}
            }
        }
        None
    }

    fn known_nodes(&self, known: &Map, except: Option<&Arc<Node>>) -> Asked {
        let mut asked = JoinSet::new();
        for node in known.nodes().filter(|node| except.is_none_or(|except| !Arc::ptr_eq(node, except))) {
            if let Some(up) = node.up_now() {
                asked.spawn(async move { slots_from(&up.wire, &up.address).await });
            }
        }
        asked
    }

    fn seeds(&self) -> Asked {
        let mut asked = JoinSet::new();
        for seed in &self.seeds {
            let (seed, context) = (seed.clone(), Arc::clone(&self.context));
            asked.spawn(
                async move { ask_seed(&seed, &context).await.map_err(|why| format!("{seed}: {why}")) },
            );
        }
        asked
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
        self.redirected.write().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

async fn ask_seed(seed: &Address, context: &Context) -> Result<Vec<Range>, String> {
    match timeout(PATIENCE, Wire::connect(seed, &context.session, || {})).await {
        Ok(Ok(wire)) => slots_from(&wire, seed).await,
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err("no answer".to_owned()),
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
        (None, _) => return None,
    };
    (first <= last && last < SLOTS).then_some(Range { first, last, master: Address::Tcp(host, port) })
}
