//! What a contract says about each key, for one component.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use keyplane_key::{Call, Command, Home, KeyInfo, Life, Script, ScriptKey};
use keyplane_schema::{Contract, Key, Limits, Policy, acl};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::error::Cause;

/// The contract of a handle, as its component may use it.
#[derive(Debug)]
pub(crate) struct Rules {
    pub(crate) contract: Arc<Contract>,
    component: Option<String>,
    read_only: bool,
    keys: FxHashMap<String, Rule>,
    /// Operations that the component does.
    ops: FxHashSet<String>,
}

/// One key.
#[derive(Debug)]
pub(crate) struct Rule {
    /// Names of commands in capitals; `None` is all.
    allowed: Option<FxHashSet<String>>,
    /// Words of verbs; `None` is all.
    verbs: Option<Vec<&'static str>>,
    pub(crate) expiry: Expiry,
    /// How long it lives once its event has come.
    after_event: Option<Duration>,
    /// What `ttl(key)` gives a script.
    script_ttl: Duration,
    /// The age at which a member goes.
    member_ttl: Option<Duration>,
    pub(crate) limits: Limits,
    shown: String,
}

/// What a write does to the TTL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Expiry {
    /// There is none.
    Never,
    /// As it is: the event that sets it comes later.
    Leave,
    /// Starts anew with every write.
    Renew(Duration),
    /// Starts with the first write.
    Once(Duration),
    /// As long as another key, and at least that long.
    Linked { to: String, at_least: Duration },
}

impl Rules {
    /// For a component, or for all of the contract. `settings` are durations by the name of their setting.
    pub(crate) fn new(
        contract: Arc<Contract>,
        component: Option<&str>,
        settings: &HashMap<String, Duration>,
    ) -> Self {
        let grants = component.map(|component| acl::grants(&contract, component));
        let keys = contract.keys.iter().map(|key| {
            let granted = grants.as_ref().map(|grants| grants.get(&key.name).cloned().unwrap_or_default());
            let allowed = granted.as_ref().map(|verbs| {
                acl::commands(&contract, key, verbs).iter().map(|name| name.to_ascii_uppercase()).collect()
            });
            let verbs = granted.map(|verbs| verbs.iter().map(|verb| verb.word()).collect());
            (key.name.clone(), Rule { allowed, verbs, ..Rule::new(&contract, key, settings) })
        });
        let ops = contract
            .ops
            .iter()
            .filter(|op| component.is_none_or(|component| op.by.iter().any(|(by, _)| by == component)));
        Self {
            keys: keys.collect(),
            ops: ops.map(|op| op.name.clone()).collect(),
            component: component.map(str::to_owned),
            read_only: component
                .and_then(|name| contract.component(name))
                .is_some_and(|found| found.read_only),
            contract,
        }
    }

    /// The same, without writing.
    pub(crate) fn read_only(self) -> Self {
        Self { read_only: true, ..self }
    }

    pub(crate) fn key(&self, info: &KeyInfo) -> Result<&Rule, Cause> {
        if info.contract != self.contract.name {
            return Err(self.foreign());
        }
        self.keys.get(info.name).ok_or_else(|| self.foreign())
    }

    /// Whether the component may send this command, and what holds for its key.
    pub(crate) fn of_command<R>(&self, command: &Command<R>) -> Result<&Rule, Cause> {
        if self.read_only && command.effect().writes() {
            return Err(Cause::ReadOnlyHandle);
        }
        if command.is_legacy() && command.effect().writes() {
            return Err(Cause::LegacyId);
        }
        let rule = self.key(command.info())?;
        let second = command.second_info().map(|info| self.key(info)).transpose()?;
        if rule.allows(command.name()) && second.is_none_or(|second| second.allows_moving_to()) {
            Ok(rule)
        } else {
            Err(self.not_granted())
        }
    }

    /// Whether the component may run this script on these keys.
    pub(crate) fn check_call<R>(&self, call: &Call<R>) -> Result<(), Cause> {
        let script = call.script();
        if self.read_only && !script.read_only {
            return Err(Cause::ReadOnlyHandle);
        }
        if call.writes_legacy() {
            return Err(Cause::LegacyId);
        }
        match script.home {
            Home::Contract(name) if name != self.contract.name => Err(self.foreign()),
            Home::Contract(_) if !script.ops.iter().any(|op| self.ops.contains(*op)) => {
                Err(self.not_granted())
            }
            Home::Contract(_) => check_families(script, call.families()),
            Home::Kit(_) => call.parts().try_for_each(|(part, info)| self.check_part(part, info)),
        }
    }

    /// A kit's script knows keys by the parts they play: the component must be granted what the script does to each.
    fn check_part(&self, part: &ScriptKey, info: &KeyInfo) -> Result<(), Cause> {
        let granted = self.key(info)?.verbs.as_ref();
        match granted.is_none_or(|granted| part.verbs.iter().all(|verb| granted.contains(verb))) {
            true => Ok(()),
            false => Err(self.not_granted()),
        }
    }

    fn foreign(&self) -> Cause {
        Cause::ForeignKey { contract: self.contract.name.clone() }
    }

    fn not_granted(&self) -> Cause {
        Cause::NotGranted { component: self.component.clone().unwrap_or_else(|| "anyone".to_owned()) }
    }

    pub(crate) fn component(&self) -> Option<&str> {
        self.component.as_deref()
    }

    /// What `ttl(key)` is to a script; zero is none.
    pub(crate) fn lifetime(&self, key: &str) -> Option<Duration> {
        self.keys.get(key).map(|rule| rule.script_ttl)
    }

    pub(crate) fn member_lifetime(&self, key: &str) -> Option<Duration> {
        self.keys.get(key).and_then(|rule| rule.member_ttl)
    }

    /// Milliseconds for `ttl(key)` of a script.
    pub(crate) fn script_ttl<R>(&self, call: &Call<R>, key: &str) -> u64 {
        let key = match call.script().home {
            Home::Contract(_) => Some(key),
            Home::Kit(_) => call.parts().find(|(part, _)| part.name == key).map(|(_, info)| info.name),
        };
        let lasts = key.and_then(|key| self.lifetime(key)).unwrap_or_default();
        u64::try_from(lasts.as_millis()).unwrap_or(u64::MAX)
    }
}

/// Whether the keys are those of the script's header, in its order.
fn check_families(script: &Script, families: &[&KeyInfo]) -> Result<(), Cause> {
    let foreign = || Cause::ForeignKey { contract: format!("{}/{}", script.home, script.name) };
    let mut declared = script.keys.iter().peekable();
    for info in families {
        while declared.next_if(|key| key.repeats && key.name != info.name).is_some() {}
        match declared.peek() {
            Some(key) if key.name == info.name && key.repeats => {}
            Some(key) if key.name == info.name => drop(declared.next()),
            _ => return Err(foreign()),
        }
    }
    if declared.all(|key| key.repeats) { Ok(()) } else { Err(foreign()) }
}

impl Rule {
    /// What the contract says; all is granted.
    fn new(contract: &Contract, key: &Key, settings: &HashMap<String, Duration>) -> Self {
        let setting = key.ttl.setting.as_ref().and_then(|name| settings.get(name)).copied();
        let or_setting = |lasts: Duration| setting.unwrap_or(lasts);
        let mut after_event = None;
        let expiry = match &key.ttl.policy {
            Policy::None | Policy::Pruned { key: None, .. } => Expiry::Never,
            Policy::Fixed(lasts) => Expiry::Once(or_setting(*lasts)),
            Policy::Sliding(lasts) | Policy::Refreshed(lasts) | Policy::Max(lasts) => {
                Expiry::Renew(or_setting(*lasts))
            }
            Policy::Pruned { key: Some(lasts), .. } => Expiry::Renew(*lasts),
            Policy::Linked { to, at_least } => {
                Expiry::Linked { to: to.clone(), at_least: at_least.map_or(Duration::ZERO, or_setting) }
            }
            Policy::After { lasts, before, .. } => {
                after_event = Some(or_setting(*lasts));
                before.as_ref().map_or(Expiry::Leave, |before| Expiry::Once(before.lasts))
            }
        };
        let script_ttl = match &expiry {
            Expiry::Never => Duration::ZERO,
            Expiry::Leave => after_event.unwrap_or_default(),
            Expiry::Renew(lasts) | Expiry::Once(lasts) => after_event.unwrap_or(*lasts),
            Expiry::Linked { at_least, .. } => *at_least,
        };
        let member_ttl = match &key.ttl.policy {
            Policy::Pruned { members, .. } => Some(or_setting(*members)),
            _ => None,
        };
        let shown = format!("{} ({})", key.ttl.policy, key.ttl.policy.word());
        Self {
            allowed: None,
            verbs: None,
            expiry,
            after_event,
            script_ttl,
            member_ttl,
            limits: key.limits(contract),
            shown,
        }
    }

    fn allows(&self, command: &str) -> bool {
        self.allowed.as_ref().is_none_or(|allowed| allowed.contains(command))
    }

    /// LMOVE puts into its second key what a push would.
    fn allows_moving_to(&self) -> bool {
        self.allows("RPUSH") || self.allows("LMOVE")
    }

    /// What a write does to the TTL, where the writer has a say in it.
    pub(crate) fn expiry(&self, life: Life) -> Result<Expiry, Cause> {
        match (life, &self.expiry) {
            (Life::Contract, expiry) => Ok(expiry.clone()),
            (Life::Lasting(wanted), Expiry::Renew(most)) if wanted <= *most && !wanted.is_zero() => {
                Ok(Expiry::Renew(wanted))
            }
            (Life::Lasting(wanted), _) => Err(Cause::Ttl { wanted, rule: self.shown.clone() }),
            (Life::EventCame, expiry) => match self.after_event {
                Some(lasts) => Ok(Expiry::Renew(lasts)),
                None => Ok(expiry.clone()),
            },
        }
    }
}
