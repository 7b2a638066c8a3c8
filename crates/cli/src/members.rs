//! The servers of a store, each by itself: one, the master that sentinels name, or all masters of a cluster.
//!
//! A store spreads its questions; whoever looks at servers wants to know which of them answered what, and how fast. So
//! each gets a connection of its own, and one that is down does not hide the others.

use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;

use keyplane_store::fitness::Facts;
use keyplane_store::{Address, Cause, Error, FromReply, OpenError, Options, Reply, Store, Topology, Url};

use crate::outcome::{Failure, Kind};
use crate::settings::Target;
use crate::words::millis;

/// A server that the store has, or should have.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) address: String,
    pub(crate) way: Way,
    /// Or why not.
    pub(crate) state: Result<Reached, String>,
}

/// How far away it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Socket,
    Loopback,
    Network,
}

/// A server that answers.
#[derive(Debug)]
pub(crate) struct Reached {
    store: Store,
    pub(crate) facts: Facts,
}

/// Why a question has no answer that could be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NoAnswer {
    /// The user may not ask that.
    NotPermitted,
    /// The server answered something else: an error, another shape.
    Otherwise(String),
    /// Nothing came.
    Nothing(String),
}

impl NoAnswer {
    /// Whether the server has answered, if only with an error.
    pub(crate) fn is_answer(&self) -> bool {
        !matches!(self, Self::Nothing(_))
    }
}

impl fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotPermitted => f.write_str("this user may not ask"),
            Self::Otherwise(why) | Self::Nothing(why) => f.write_str(why),
        }
    }
}

impl From<&Error> for NoAnswer {
    fn from(error: &Error) -> Self {
        match error.cause() {
            Cause::Denied(_) => Self::NotPermitted,
            cause @ (Cause::Unreachable { .. } | Cause::TimedOut(_) | Cause::ConnectionLost(_)) => {
                Self::Nothing(cause.to_string())
            }
            cause => Self::Otherwise(cause.to_string()),
        }
    }
}

impl Reached {
    /// Asks this server.
    pub(crate) async fn ask(&self, command: &[&str]) -> Result<Reply, NoAnswer> {
        match self.store.ask_all(command).await.pop() {
            Some((_, Ok(reply))) => Ok(reply),
            Some((_, Err(error))) => Err(NoAnswer::from(&error)),
            None => Err(NoAnswer::Nothing("there is no connection".to_owned())),
        }
    }

    /// Asks this server for something of a known shape.
    pub(crate) async fn ask_for<T: FromReply>(&self, command: &[&str]) -> Result<T, NoAnswer> {
        let reply = self.ask(command).await?;
        T::from_reply(reply).map_err(|error| NoAnswer::Otherwise(error.to_string()))
    }

    /// `master`, `replica` or `sentinel`.
    pub(crate) fn role(&self) -> &'static str {
        match (self.facts.mode.as_str(), self.facts.replica) {
            ("sentinel", _) => "sentinel",
            (_, true) => "replica",
            (_, false) => "master",
        }
    }
}

impl Member {
    fn reached(store: Store) -> Option<Self> {
        let server = store.servers().first()?;
        let (address, facts) = (server.address.clone(), server.facts.clone());
        let way = way(&address);
        Some(Self { address, way, state: Ok(Reached { store, facts }) })
    }

    fn missing(address: String, why: String) -> Self {
        Self { way: way(&address), address, state: Err(why) }
    }
}

/// By its address alone. A name that is not `localhost` may be this machine all the same; to call that a network is the
/// safe side.
fn way(address: &str) -> Way {
    let Some((host, _)) = address.rsplit_once(':').filter(|_| !address.starts_with('/')) else {
        return Way::Socket;
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let is_loopback = host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
    if is_loopback { Way::Loopback } else { Way::Network }
}

/// Connects to every server of the store. Fails when there is none that answers.
pub(crate) async fn connect(target: &Target) -> Result<Vec<Member>, Failure> {
    match &target.url.topology {
        Topology::Cluster(seeds) => cluster(target, seeds).await,
        _ => {
            let store = Store::connect(target.url.clone(), target.options.clone())
                .await
                .map_err(|error| unreachable(target, &error))?;
            Ok(Member::reached(store).into_iter().collect())
        }
    }
}

async fn cluster(target: &Target, seeds: &[Address]) -> Result<Vec<Member>, Failure> {
    let mut known = connect_each(target, seeds.to_vec()).await?;
    let mut masters = Vec::new();
    let mut problems = Vec::new();
    for seed in seeds {
        match known.get(seed).map(|member| &member.state) {
            Some(Ok(server)) if server.facts.mode != "cluster" => {
                problems.push(format!("{seed} is not part of a cluster"));
            }
            Some(Ok(server)) => match server.ask(&["CLUSTER", "SLOTS"]).await {
                Ok(slots) => {
                    masters = read_masters(&slots, seed);
                    problems.clear();
                    break;
                }
                Err(why) => problems.push(format!("{seed}: CLUSTER SLOTS: {why}")),
            },
            Some(Err(why)) => problems.push(why.clone()),
            None => {}
        }
    }
    if !problems.is_empty() {
        return Err(failure(target, &problems.join("; ")));
    }
    // A cluster without slots has no masters yet: then the nodes that were named are what there is to look at.
    if masters.is_empty() {
        masters = seeds.to_vec();
    }
    let new = masters.iter().filter(|master| !known.contains_key(master)).cloned().collect();
    known.extend(connect_each(target, new).await?);
    Ok(masters.iter().filter_map(|master| known.remove(master)).collect())
}

/// All at once: a server that is down costs its timeout once.
async fn connect_each(target: &Target, addresses: Vec<Address>) -> Result<HashMap<Address, Member>, Failure> {
    let connecting: Vec<_> = addresses
        .into_iter()
        .map(|address| {
            let url = alone(&target.url, &address);
            (address, tokio::spawn(Store::connect(url, target.options.clone())))
        })
        .collect();
    let mut members = HashMap::new();
    for (address, connecting) in connecting {
        let shown = address.to_string();
        let member = match connecting.await {
            Ok(Ok(store)) => Member::reached(store).unwrap_or_else(|| Member::missing(shown, String::new())),
            Ok(Err(OpenError::Unreachable(error))) => Member::missing(shown, error.cause().to_string()),
            // The settings are the same for all.
            Ok(Err(error)) => return Err(unreachable(target, &error)),
            Err(error) => Member::missing(shown, error.to_string()),
        };
        members.insert(address, member);
    }
    Ok(members)
}

/// The same url for one of its servers.
fn alone(url: &Url, address: &Address) -> Url {
    let mut url = url.clone();
    url.topology = Topology::Single(address.clone());
    url
}

/// The masters in CLUSTER SLOTS, in the order of their slots. A node that does not know its own name leaves it empty.
fn read_masters(slots: &Reply, asked: &Address) -> Vec<Address> {
    let Reply::Array(ranges) = slots else { return Vec::new() };
    let mut masters = Vec::new();
    let mut ranges: Vec<(i64, Address)> = ranges.iter().filter_map(|range| master_of(range, asked)).collect();
    ranges.sort_by_key(|(first, _)| *first);
    for (_, master) in ranges {
        if !masters.contains(&master) {
            masters.push(master);
        }
    }
    masters
}

fn master_of(range: &Reply, asked: &Address) -> Option<(i64, Address)> {
    let Reply::Array(range) = range else { return None };
    let (Some(Reply::Int(first)), Some(Reply::Array(master))) = (range.first(), range.get(2)) else {
        return None;
    };
    let port = match master.get(1) {
        Some(Reply::Int(port)) => u16::try_from(*port).ok()?,
        _ => return None,
    };
    let host = match (master.first(), asked) {
        (Some(Reply::Bytes(host)), _) if !host.is_empty() => String::from_utf8_lossy(host).into_owned(),
        (_, Address::Tcp(host, _)) => host.clone(),
        _ => return None,
    };
    Some((*first, Address::Tcp(host, port)))
}

fn unreachable(target: &Target, error: &OpenError) -> Failure {
    match error {
        OpenError::Unreachable(error) => failure(target, &error.cause().to_string()),
        error => {
            Failure::new(error.to_string()).help("keyplane config show says where each setting comes from")
        }
    }
}

/// No server, and what to do about it. The store hands on the words of server and network, so these are looked at.
pub(crate) fn failure(target: &Target, why: &str) -> Failure {
    // The store stops waiting in the same moment as its first attempt, which then has not failed yet.
    let patience = format!("no answer within {}", millis(target.options.connect_timeout));
    let why = why.replace("not connected yet", &patience);
    let said = |words: &[&str]| words.iter().any(|word| why.contains(word));
    let help = if said(&["not part of a cluster"]) {
        return Failure::new(why).help("use redis:// for a single server");
    } else if said(&["NOAUTH", "WRONGPASS", "AuthenticationFailed"]) {
        login_help(&target.options)
    } else if said(&["NOPERM"]) {
        "the user needs +info; on a cluster also +cluster|slots".to_owned()
    } else if said(&["certificate", "Certificate", "CA"]) {
        "tls_ca names the authority that signed the server's certificate, tls_cert and tls_key are our own"
            .to_owned()
    } else if target.url.tls {
        format!("is that a tls-port, and the server up? the url comes from {}", target.url_source)
    } else {
        format!("start the server, or name another; the url comes from {}", target.url_source)
    };
    Failure::new(why).of(Kind::Unreachable).help(help)
}

fn login_help(options: &Options) -> String {
    let user = options.user.as_deref().unwrap_or("default");
    let what = match options.password {
        Some(_) => format!("{user} has another password, or is not a user there"),
        None => format!("{user} needs a password"),
    };
    format!("{what}: set KEYPLANE_USER and KEYPLANE_PASSWORD, or user and password_file in keyplane.toml")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_and_sockets_are_told_from_the_network() {
        for (address, expected) in [
            ("127.0.0.1:6379", Way::Loopback),
            ("127.8.0.1:1", Way::Loopback),
            ("[::1]:6379", Way::Loopback),
            ("localhost:6379", Way::Loopback),
            ("/run/redis:6379.sock", Way::Socket),
            ("10.0.0.1:6379", Way::Network),
            ("[fe80::1]:6379", Way::Network),
            ("cache:6379", Way::Network),
        ] {
            assert_eq!(way(address), expected, "{address}");
        }
    }

    #[test]
    fn masters_come_once_in_the_order_of_slots_and_may_not_know_their_name() {
        let node = |host: &str, port: i64| Reply::Array(vec![Reply::Bytes(host.into()), Reply::Int(port)]);
        let range = |first: i64, master: Reply| {
            Reply::Array(vec![Reply::Int(first), Reply::Int(first + 9), master, node("replica", 9)])
        };
        let slots =
            Reply::Array(vec![range(20, node("b", 2)), range(0, node("", 1)), range(10, node("b", 2))]);
        let asked = Address::Tcp("seed".into(), 7);
        let masters = [Address::Tcp("seed".into(), 1), Address::Tcp("b".into(), 2)];
        assert_eq!(read_masters(&slots, &asked), masters);
    }
}
