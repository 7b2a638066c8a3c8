//! Redis ACL users from owners and operations.
//!
//! One user per component, from `-@all` upward. A selector grants one group of commands on the keys they are for, so a
//! script that peeks at one key and writes another can do just that: EVAL asks for read and write on every KEYS entry,
//! so it has a selector of its own, and each inner command is checked again by its own. ACLs bind commands and keys, not
//! the order of steps.

mod glob;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use crate::diagnostic::{Code, Diagnostic};
use crate::language::Language;
use crate::model::{Component, Contract, How, Key};
use crate::naming::{Naming, language};
use crate::pattern::{Pattern, Segment};
use crate::verbs::{Access, Verb};
use glob::Glob;

/// What every user may do without keys: talk to the server, see whether it is fit, and load and find scripts.
const CONNECTION: &[&str] = &[
    "info",
    "ping",
    "echo",
    "hello",
    "auth",
    "quit",
    "reset",
    "select",
    "client|setname",
    "client|getname",
    "client|id",
    "multi",
    "exec",
    "discard",
    "unwatch",
    "time",
    "wait",
    "script|load",
    "script|exists",
    "readonly",
    "readwrite",
    "cluster|slots",
    "cluster|shards",
    "cluster|nodes",
];

/// Commands that a component may ask for by name.
const EXTRAS: &[&str] = &[
    "info",
    "dbsize",
    "scan",
    "slowlog|get",
    "slowlog|len",
    "latency|latest",
    "latency|history",
    "client|list",
    "client|info",
    "memory|stats",
    "memory|doctor",
    "command",
    "command|count",
    "command|docs",
    "command|info",
    "publish",
    "lastsave",
    "cluster|info",
    "role",
];

/// The ACL users of a contract.
#[derive(Debug)]
pub struct Acl<'c> {
    contract: &'c Contract,
    users: Vec<User>,
}

/// One component as an ACL user.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct User {
    /// The component's name, also the user's.
    pub name: String,
    /// The rules, for `ACL SETUSER name …`. They do not touch the password, nor whether the user is on.
    pub rules: Vec<String>,
    /// What the contract grants: verbs by key name.
    pub grants: BTreeMap<String, BTreeSet<Verb>>,
    /// Where the patterns reach further than that.
    pub reaches: Vec<Reach>,
}

/// A pattern that matches keys of another family.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reach {
    /// The component.
    pub component: String,
    /// The key whose pattern it is.
    pub from: String,
    /// The pattern.
    pub pattern: String,
    /// The key that is matched too.
    pub to: String,
    /// What the component could do there and may not: `read` or `write`.
    pub access: &'static str,
    /// A key that proves it.
    pub witness: String,
}

impl<'c> Acl<'c> {
    /// The users of a contract under a naming.
    #[must_use]
    pub fn new(contract: &'c Contract, naming: &Naming) -> Self {
        let mut families = Families::new(contract, naming);
        let users = contract.components.iter().map(|component| families.user(component)).collect();
        Self { contract, users }
    }

    /// The users, in the order of the components.
    #[must_use]
    pub fn users(&self) -> &[User] {
        &self.users
    }

    /// What the rules let a component do to a key: the declared verbs, and what patterns reach besides.
    #[must_use]
    pub fn effective(&self, component: &str, key: &str) -> Option<(String, String)> {
        let user = self.users.iter().find(|user| user.name == component)?;
        self.contract.key(key)?;
        let declared = user.grants.get(key).map(words).unwrap_or_default();
        let mut extra: Vec<String> = user
            .reaches
            .iter()
            .filter(|reach| reach.to == key)
            .map(|reach| format!("{} by {}", reach.access, reach.pattern))
            .collect();
        extra.sort();
        extra.dedup();
        let effective = if extra.is_empty() {
            declared.clone()
        } else {
            [declared.clone(), extra.join(", ")].join(" + ")
        };
        Some((declared, effective))
    }
}

fn words(verbs: &BTreeSet<Verb>) -> String {
    verbs.iter().map(|verb| verb.word()).collect::<Vec<_>>().join(" ")
}

/// What a component may do, by key: the verbs of its operations and of the key's lists; where a general word names it
/// and no verb does, the ordinary verb of the type.
#[must_use]
pub fn grants(contract: &Contract, component: &str) -> BTreeMap<String, BTreeSet<Verb>> {
    let mut grants: BTreeMap<String, BTreeSet<Verb>> = BTreeMap::new();
    for op in contract.ops.iter().filter(|op| op.by.iter().any(|(by, _)| by == component)) {
        for key in &op.keys {
            grants.entry(key.key.clone()).or_default().extend(&key.verbs);
        }
    }
    for key in &contract.keys {
        let owned = || key.owners.iter().filter(|owner| owner.component == component).map(|owner| owner.how);
        // `writes` comes last: it stands for the ordinary verb only where nothing more exact is said.
        let (exact, general): (Vec<How>, Vec<How>) = owned().partition(|how| *how != How::Writes);
        for how in exact.into_iter().chain(general) {
            let verbs = grants.entry(key.name.clone()).or_default();
            match how {
                How::By(verb) => {
                    verbs.insert(verb);
                }
                How::Reads => {
                    verbs.insert(Verb::Peek);
                }
                How::Writes if !verbs.iter().any(|verb| verb.writes()) => {
                    verbs.extend(key.types.iter().filter_map(|kind| Verb::ordinary_write(*kind)));
                }
                How::Writes => {}
            }
        }
    }
    grants
}

/// The commands a component may run on a key, for those who need them one by one.
#[must_use]
pub fn commands(contract: &Contract, key: &Key, verbs: &BTreeSet<Verb>) -> BTreeSet<&'static str> {
    let limited = key.limits(contract).is_counted();
    let mut commands = BTreeSet::new();
    for verb in verbs {
        for kind in &key.types {
            commands.extend(verb.commands(*kind));
            commands.extend(verb.commands_beside(*kind, limited));
        }
    }
    commands
}

/// Whether a component can be an ACL user, with the extra commands it asks for.
pub(crate) fn check_component(component: &Component) -> Vec<Diagnostic> {
    if component.name == "default" {
        let message =
            "a component cannot be called `default`: that is the user of everyone who does not log in";
        return vec![Diagnostic::error(Code::AclCommand, message, component.at, "taken by Redis")];
    }
    let refuse = |extra: &String| {
        let message = format!("`{}` may not have the command `{extra}`", component.name);
        let help = if extra.eq_ignore_ascii_case("keys") {
            "KEYS blocks the server while it walks all keys; `scan` does not".to_owned()
        } else {
            format!("extras: {}", EXTRAS.join(", "))
        };
        Diagnostic::error(Code::AclCommand, message, component.at, "asks for it").help(help)
    };
    component
        .extra
        .iter()
        .filter(|extra| !EXTRAS.contains(&extra.to_lowercase().as_str()))
        .map(refuse)
        .collect()
}

/// The key families with their patterns and what was already found out about their meetings.
struct Families<'c> {
    contract: &'c Contract,
    patterns: Vec<Pattern>,
    meetings: HashMap<(String, usize), Option<String>>,
    loose: HashMap<(usize, bool), Rc<[Glob]>>,
    strict: HashMap<(usize, bool), Option<Rc<[Glob]>>>,
}

/// Access to keys of one family.
struct Covered {
    globs: Rc<[Glob]>,
    reaches: Vec<Reach>,
}

impl<'c> Families<'c> {
    fn new(contract: &'c Contract, naming: &Naming) -> Self {
        let patterns = contract.keys.iter().map(|key| naming.pattern(key)).collect();
        Self { contract, patterns, meetings: HashMap::new(), loose: HashMap::new(), strict: HashMap::new() }
    }

    fn user(&mut self, component: &Component) -> User {
        let grants = grants(self.contract, &component.name);
        let mut covered: HashMap<(usize, Access), Vec<String>> = HashMap::new();
        let mut reaches = Vec::new();
        for (name, verbs) in &grants {
            let Some(index) = self.contract.keys.iter().position(|key| key.name == *name) else { continue };
            let wanted: BTreeSet<Access> = verbs.iter().map(|verb| verb.access()).collect();
            for access in wanted {
                let family = self.cover(component, &grants, index, access);
                reaches.extend(family.reaches);
                covered.insert((index, access), family.globs.iter().map(|glob| glob.text.clone()).collect());
            }
        }
        reaches.dedup();
        let mut rules: Vec<String> =
            ["resetkeys", "resetchannels", "clearselectors", "-@all"].map(str::to_owned).to_vec();
        rules.extend(CONNECTION.iter().map(|command| format!("+{command}")));
        rules.extend(component.extra.iter().map(|command| format!("+{}", command.to_lowercase())));
        // A contract knows no channels; without this rule PUBLISH would be refused on every one of them.
        rules.extend(
            component
                .extra
                .iter()
                .filter(|command| command.eq_ignore_ascii_case("publish"))
                .map(|_| "allchannels".to_owned()),
        );
        rules.extend(self.selectors(&grants, &covered));
        User { name: component.name.clone(), rules, grants, reaches }
    }

    fn selectors(
        &mut self,
        grants: &BTreeMap<String, BTreeSet<Verb>>,
        covered: &HashMap<(usize, Access), Vec<String>>,
    ) -> Vec<String> {
        let mut groups: BTreeMap<(Vec<&str>, Access), Vec<String>> = BTreeMap::new();
        let mut readable = Vec::new();
        for (index, key) in self.contract.keys.iter().enumerate() {
            let limited = key.limits(self.contract).is_counted();
            for &verb in grants.get(&key.name).into_iter().flatten() {
                let globs = covered.get(&(index, verb.access())).cloned().unwrap_or_default();
                for kind in key.types.iter().filter(|kind| !verb.commands(**kind).is_empty()) {
                    let mut commands = verb.commands(*kind).to_vec();
                    commands.extend(verb.commands_beside(*kind, limited));
                    groups.entry((commands, verb.access())).or_default().extend(globs.iter().cloned());
                }
                // Holding a lock includes looking at it.
                if matches!(verb, Verb::Peek | Verb::Hold) {
                    readable.extend(globs);
                }
            }
        }
        let mut selectors: Vec<String> = groups
            .into_iter()
            .map(|((commands, access), globs)| selector(&commands, access, globs))
            .collect();
        selectors.extend(self.moves(grants, covered));
        if !readable.is_empty() {
            selectors.push(selector(&["eval_ro", "evalsha_ro"], Access::Read, readable));
        }
        if grants.values().flatten().any(|verb| verb.writes()) {
            let scripted = self.scripted(grants);
            selectors.push(selector(&["eval", "evalsha"], Access::ReadWrite, scripted));
        }
        selectors
    }

    /// Moving an item from a list that is consumed to one that is produced is one command over both.
    fn moves(
        &self,
        grants: &BTreeMap<String, BTreeSet<Verb>>,
        covered: &HashMap<(usize, Access), Vec<String>>,
    ) -> Option<String> {
        let lists = |verb: Verb| {
            let granted = move |(index, key): (usize, &Key)| {
                let has = grants.get(&key.name).is_some_and(|verbs| verbs.contains(&verb));
                let globs =
                    has.then(|| covered.get(&(index, verb.access()))).flatten().cloned().unwrap_or_default();
                globs.into_iter().map(move |glob| format!("{}{glob}", verb.access().prefix()))
            };
            self.contract.keys.iter().enumerate().flat_map(granted).collect::<Vec<String>>()
        };
        let (from, to) = (lists(Verb::Consume), lists(Verb::Produce));
        let keys =
            from.iter().chain(&to).cloned().collect::<BTreeSet<String>>().into_iter().collect::<Vec<_>>();
        (!from.is_empty() && !to.is_empty()).then(|| format!("(+lmove +blmove {})", keys.join(" ")))
    }

    /// The keys that may stand in KEYS of a script that writes: all that the component touches in any way. EVAL itself
    /// does nothing to them (without KEYS it passes anyway), so what these globs reach besides does no harm.
    fn scripted(&mut self, grants: &BTreeMap<String, BTreeSet<Verb>>) -> Vec<String> {
        let touched = |index: &usize| grants.contains_key(&self.contract.keys[*index].name);
        let touched: Vec<usize> = (0..self.patterns.len()).filter(touched).collect();
        touched.into_iter().map(|index| self.loose(index, true)[0].text.clone()).collect()
    }

    fn loose(&mut self, index: usize, reading: bool) -> Rc<[Glob]> {
        let (contract, pattern) = (self.contract, &self.patterns[index]);
        self.loose
            .entry((index, reading))
            .or_insert_with(|| Rc::new([glob::loose(contract, pattern, reading)]))
            .clone()
    }

    /// The loosest globs that reach nothing the component may not touch; else the strictest, with what they reach.
    fn cover(
        &mut self,
        component: &Component,
        grants: &BTreeMap<String, BTreeSet<Verb>>,
        index: usize,
        access: Access,
    ) -> Covered {
        let reading = access == Access::Read;
        let loose = self.loose(index, reading);
        let others: Vec<usize> = (0..self.patterns.len()).filter(|&other| other != index).collect();
        let reaches = self.reaches(component, grants, (index, access), &loose, &others);
        if reaches.is_empty() {
            return Covered { globs: loose, reaches };
        }
        let (contract, pattern) = (self.contract, &self.patterns[index]);
        let strict = self
            .strict
            .entry((index, reading))
            .or_insert_with(|| glob::strict(contract, pattern, reading).map(Rc::from))
            .clone();
        match strict {
            Some(strict) => {
                // The strict globs match less, so only what the loose one reached can still be reached.
                let reached: Vec<usize> = others
                    .into_iter()
                    .filter(|&to| reaches.iter().any(|reach| reach.to == contract.keys[to].name))
                    .collect();
                let still = self.reaches(component, grants, (index, access), &strict, &reached);
                if still.len() < reaches.len() {
                    Covered { globs: strict, reaches: still }
                } else {
                    Covered { globs: loose, reaches }
                }
            }
            None => Covered { globs: loose, reaches },
        }
    }

    fn reaches(
        &mut self,
        component: &Component,
        grants: &BTreeMap<String, BTreeSet<Verb>>,
        (from, access): (usize, Access),
        globs: &[Glob],
        others: &[usize],
    ) -> Vec<Reach> {
        let mut found = Vec::new();
        for &to in others {
            let held = grants.get(&self.contract.keys[to].name);
            let Some(missing) = missing(access, held) else { continue };
            for glob in globs {
                if let Some(witness) = self.meet(glob, from, to) {
                    found.push(Reach {
                        component: component.name.clone(),
                        from: self.contract.keys[from].name.clone(),
                        pattern: glob.text.clone(),
                        to: self.contract.keys[to].name.clone(),
                        access: missing,
                        witness,
                    });
                    break;
                }
            }
        }
        found
    }

    /// A key that the glob matches and the family can have.
    fn meet(&mut self, glob: &Glob, from: usize, to: usize) -> Option<String> {
        if let Some(known) = self.meetings.get(&(glob.text.clone(), to)) {
            return known.clone();
        }
        let (own, other) = (self.patterns[from].segments(), self.patterns[to].segments());
        // Behind leading segments that both have, and that have one length, only the rest can differ.
        let shared = own.iter().zip(other).take_while(|(a, b)| a == b).count().min(glob.fixed_segments());
        let mut rest = Language::default();
        if shared > 0 && shared < other.len() {
            rest.literal(":");
        }
        rest.extend(language(self.contract, &other[shared..], true));
        let witness = glob.behind(shared).meet(&rest).map(|rest| self.sample(&other[..shared]) + &rest);
        self.meetings.insert((glob.text.clone(), to), witness.clone());
        witness
    }

    fn sample(&self, segments: &[Segment]) -> String {
        let text = |segment: &Segment| {
            let value = segment
                .param
                .as_deref()
                .and_then(|name| self.contract.param(name))
                .map(|param| param.sample())
                .unwrap_or_default();
            format!("{}{value}{}", segment.prefix, segment.suffix)
        };
        segments.iter().map(text).collect::<Vec<_>>().join(":")
    }
}

/// What `access` would give beyond the verbs held: `None` when nothing.
fn missing(access: Access, held: Option<&BTreeSet<Verb>>) -> Option<&'static str> {
    let verbs = || held.into_iter().flatten().map(|verb| verb.access());
    let reads = verbs().any(|access| access != Access::Write);
    let writes = verbs().any(|access| access != Access::Read);
    match access {
        Access::Read | Access::ReadWrite if !reads => Some("read"),
        Access::Write | Access::ReadWrite if !writes => Some("write"),
        _ => None,
    }
}

fn selector(commands: &[&str], access: Access, mut globs: Vec<String>) -> String {
    globs.sort();
    globs.dedup();
    let commands = commands.iter().map(|command| format!("+{command}"));
    let keys = globs.iter().map(|glob| format!("{}{glob}", access.prefix()));
    format!("({})", commands.chain(keys).collect::<Vec<_>>().join(" "))
}
