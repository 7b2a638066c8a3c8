//! A contract whose users live on a real server, with one connection for each.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::rc::Rc;

use keyplane_schema::acl::{Acl, grants};
use keyplane_schema::{Component, Contract, Key, Naming, Param, Purpose, RedisType, Verb};
use redis::{Connection, Value};

use crate::probes::{Probe, creation, probes};
use crate::server::Server;

/// What the server did with a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Allowed,
    Refused,
}

/// What the contract says should happen.
pub(crate) fn expected(allowed: bool) -> Answer {
    if allowed { Answer::Allowed } else { Answer::Refused }
}

/// How servers say that the user may not. Inside scripts Redis 7.0 and Valkey have their own words for it.
const REFUSALS: &[&str] = &["NOPERM", "The user executing the script can't", "ACL failure in script"];

/// Whether an error speaks of the user's rights.
pub(crate) fn is_refusal(error: &str) -> bool {
    REFUSALS.iter().any(|words| error.contains(words))
}

/// A contract loaded into a server of its own.
pub(crate) struct Loaded {
    pub(crate) contract: Rc<Contract>,
    pub(crate) naming: Naming,
    admin: Connection,
    users: BTreeMap<String, Connection>,
    grants: BTreeMap<String, BTreeMap<String, BTreeSet<Verb>>>,
    /// Last, so that the connections close before the server ends.
    _server: Server,
}

impl Loaded {
    /// Starts the server and makes the contract's users.
    pub(crate) fn new(program: &Path, contract: Contract, naming: Naming) -> Self {
        let server = Server::start(program);
        let mut admin = server.admin();
        let mut users = BTreeMap::new();
        for user in Acl::new(&contract, &naming).users() {
            let mut command = redis::cmd("ACL");
            command.arg("SETUSER").arg(&user.name).arg("on").arg(">secret").arg(&user.rules);
            command.exec(&mut admin).unwrap_or_else(|error| panic!("{}: {error}\n{:#?}", user.name, user.rules));
            users.insert(user.name.clone(), server.login(&user.name, "secret"));
        }
        let granted = |component: &Component| (component.name.clone(), grants(&contract, &component.name));
        let grants = contract.components.iter().map(granted).collect();
        Self { contract: Rc::new(contract), naming, admin, users, grants, _server: server }
    }

    /// The names of the users.
    pub(crate) fn components(&self) -> Vec<String> {
        self.contract.components.iter().map(|component| component.name.clone()).collect()
    }

    /// A key of the family, with the samples of its placeholders.
    pub(crate) fn sample(&self, key: &Key) -> String {
        let sample = |name| self.contract.param(name).map(Param::sample).unwrap_or_default();
        self.render(key, &key.pattern.params().map(|name| (name, sample(name))).collect::<Vec<_>>())
    }

    /// A key of the family with these values.
    pub(crate) fn render(&self, key: &Key, values: &[(&str, String)]) -> String {
        let values: Vec<_> = values.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let text = key.render(&self.contract, &self.naming, Purpose::Write, &values);
        text.unwrap_or_else(|error| panic!("{}: {error}", key.name))
    }

    /// The declared verbs of a component on a key. They come from owners and operations alone.
    pub(crate) fn verbs(&self, component: &str, key: &Key) -> BTreeSet<Verb> {
        self.grants[component].get(&key.name).cloned().unwrap_or_default()
    }

    /// Whether the declared verbs include this command on this key.
    pub(crate) fn grants(&self, component: &str, key: &Key, name: &str) -> bool {
        let verbs = self.verbs(component, key);
        let of_any_type = key.types.iter().flat_map(|kind| probes(*kind));
        let mut same_name = of_any_type.filter(|probe| probe.name() == name);
        same_name.any(|probe| probe.verbs.iter().any(|verb| verbs.contains(verb)))
    }

    /// Whether a component may run scripts that write: it writes something.
    pub(crate) fn writes(&self, component: &str) -> bool {
        self.grants[component].values().flatten().any(|verb| verb.writes())
    }

    /// Makes the key anew, as the administrator.
    pub(crate) fn set_up(&mut self, text: &str, kind: RedisType) {
        let mut create = redis::Cmd::new();
        for word in creation(kind) {
            create.arg(if *word == "K" { text } else { *word });
        }
        let mut steps = redis::pipe();
        steps.cmd("DEL").arg(text).ignore().add_command(create).ignore();
        steps.exec(&mut self.admin).unwrap_or_else(|error| panic!("cannot set up {text} as a {kind}: {error}"));
    }

    /// What is stored there: the value and its time to live.
    pub(crate) fn stored(&mut self, text: &str) -> (Value, i64) {
        let mut look = redis::pipe();
        look.cmd("DUMP").arg(text).cmd("PTTL").arg(text);
        look.query(&mut self.admin).unwrap_or_else(|error| panic!("cannot look at {text}: {error}"))
    }

    /// Runs a command as a user and tells its reply.
    pub(crate) fn reply(&mut self, component: &str, words: &[&str]) -> Result<Value, String> {
        let mut command = redis::Cmd::new();
        words.iter().for_each(|word| {
            command.arg(word);
        });
        let connection = self.users.get_mut(component).expect("a user of the contract");
        command.query(connection).map_err(|error| format!("{} {error}", error.code().unwrap_or_default()))
    }

    /// Runs a command as a user. An error that is not about rights means that the test asked badly.
    pub(crate) fn run(&mut self, component: &str, words: &[&str]) -> Answer {
        match self.reply(component, words) {
            Ok(_) => Answer::Allowed,
            Err(error) if is_refusal(&error) => Answer::Refused,
            Err(error) => panic!("{component}: {}: {error}", words.join(" ")),
        }
    }

    /// Tries a probe on a key, which is set up again when the probe may have changed it.
    pub(crate) fn try_probe(&mut self, component: &str, probe: &Probe, text: &str, kind: RedisType) -> Answer {
        let answer = self.run(component, &probe.words(text));
        if answer == Answer::Allowed && !probe.is_read() {
            self.set_up(text, kind);
        }
        answer
    }
}
