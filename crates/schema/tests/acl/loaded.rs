//! A contract whose users live on a real server, with one connection for each.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use keyplane_schema::acl::{Acl, grants};
use keyplane_schema::{Component, Contract, Key, Naming, Param, Purpose, RedisType, Verb};
use keyplane_testing::{Program, Server, Settings};
use redis::{Cmd, Connection, RedisError, RedisResult, Value};

use crate::probes::{creation, filled, probes};

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

/// Commands that tell how many items there are, or whether one is, and nothing else.
const COUNTING: [&str; 6] = ["HLEN", "HEXISTS", "LLEN", "SCARD", "SISMEMBER", "ZCARD"];

/// A contract loaded into a server of its own.
pub(crate) struct Loaded {
    pub(crate) contract: Arc<Contract>,
    pub(crate) naming: Naming,
    admin: Connection,
    users: BTreeMap<String, Connection>,
    grants: BTreeMap<String, BTreeMap<String, BTreeSet<Verb>>>,
    /// Last, so that the connections close before the server ends.
    _server: Server,
}

impl Loaded {
    /// Starts the server and makes the contract's users.
    pub(crate) fn new(program: Program, contract: Arc<Contract>, naming: Naming) -> Self {
        let server = Server::start(program, &Settings::unix().line("enable-debug-command yes"));
        // DEBUG is on, so that it is the user's rights that refuse it and not the server's settings.
        let mut admin = server.admin();
        let mut users = BTreeMap::new();
        for user in Acl::new(&contract, &naming).users() {
            let mut command = redis::cmd("ACL");
            command.arg("SETUSER").arg(&user.name).arg("on").arg(">secret").arg(&user.rules);
            let told = |error| panic!("{}: {error}\n{:#?}", user.name, user.rules);
            command.exec(&mut admin).unwrap_or_else(told);
            let login = server.login(&user.name, "secret");
            users.insert(
                user.name.clone(),
                login.unwrap_or_else(|error| panic!("{} cannot log in: {error}", user.name)),
            );
        }
        let granted = |component: &Component| (component.name.clone(), grants(&contract, &component.name));
        let grants = contract.components.iter().map(granted).collect();
        Self { contract, naming, admin, users, grants, _server: server }
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

    /// The names of the probes that the declared verbs include; who writes a key with a limited number of items may count
    /// them.
    pub(crate) fn declared(&self, component: &str, key: &Key) -> BTreeSet<&'static str> {
        let verbs = self.verbs(component, key);
        let limits = key.limits(&self.contract);
        let counts =
            (limits.fields.is_some() || limits.members.is_some()) && verbs.iter().any(|verb| verb.writes());
        let all = key.types.iter().flat_map(|kind| probes(*kind));
        let granted = all.filter(|probe| {
            probe.verbs.iter().any(|verb| verbs.contains(verb)) || counts && COUNTING.contains(&probe.name())
        });
        granted.map(|probe| probe.name()).collect()
    }

    /// Whether a component may run scripts that write: it writes something.
    pub(crate) fn writes(&self, component: &str) -> bool {
        self.grants[component].values().flatten().any(|verb| verb.writes())
    }

    /// Makes the keys anew, as the administrator.
    pub(crate) fn set_up<'t>(&mut self, keys: impl IntoIterator<Item = (&'t str, RedisType)>) {
        let mut steps = redis::pipe();
        for (text, kind) in keys {
            steps.cmd("DEL").arg(text).ignore().add_command(command(&filled(creation(kind), text))).ignore();
        }
        steps.exec(&mut self.admin).unwrap_or_else(|error| panic!("cannot set up keys: {error}"));
    }

    /// What is stored there: for each key the value and its time to live.
    pub(crate) fn stored<'t>(&mut self, keys: impl IntoIterator<Item = &'t str>) -> Vec<Value> {
        let mut look = redis::pipe();
        for text in keys {
            look.cmd("DUMP").arg(text).cmd("PTTL").arg(text);
        }
        if look.is_empty() {
            return Vec::new();
        }
        look.query(&mut self.admin).unwrap_or_else(|error| panic!("cannot look at keys: {error}"))
    }

    /// Runs a command as a user and tells its reply.
    pub(crate) fn reply(&mut self, component: &str, words: &[&str]) -> Result<Value, String> {
        command(words).query(self.connection(component)).map_err(|error| text_of(&error))
    }

    /// Runs a command as a user. An error that is not about rights means that the test asked badly.
    pub(crate) fn run(&mut self, component: &str, words: &[&str]) -> Answer {
        match self.reply(component, words) {
            Ok(_) => Answer::Allowed,
            Err(error) if is_refusal(&error) => Answer::Refused,
            Err(error) => panic!("{component}: {}: {error}", words.join(" ")),
        }
    }

    /// Sends all the commands at once. Here an error that is not about rights means that the user got through: one
    /// command may have changed what the next one needs.
    pub(crate) fn run_all(&mut self, component: &str, commands: &[Vec<&str>]) -> Vec<Answer> {
        let mut all = redis::pipe();
        all.ignore_errors();
        for words in commands {
            all.add_command(command(words));
        }
        let replies: Vec<RedisResult<Value>> =
            all.query(self.connection(component)).unwrap_or_else(|error| panic!("{component}: {error}"));
        let refused = |reply: RedisResult<Value>| reply.is_err_and(|error| is_refusal(&text_of(&error)));
        replies.into_iter().map(|reply| expected(!refused(reply))).collect()
    }

    fn connection(&mut self, component: &str) -> &mut Connection {
        self.users.get_mut(component).expect("a user of the contract")
    }
}

fn command(words: &[&str]) -> Cmd {
    let mut command = Cmd::new();
    for word in words {
        command.arg(word);
    }
    command
}

fn text_of(error: &RedisError) -> String {
    format!("{} {error}", error.code().unwrap_or_default())
}
