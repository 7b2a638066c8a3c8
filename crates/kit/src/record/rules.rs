//! What the contract says about the records of a family.

use std::collections::HashMap;

use keyplane_key::{KeyInfo, Policy};
use keyplane_schema::{Field, FieldMax, Limits, ValueCheck, ValueType};
use keyplane_store::Handle;

use super::KIT;
use super::change::{Change, Kind};
use super::error::{CommitError, FieldProblem};
use crate::error::SetupError;
use crate::life::millis;

/// The field that counts changes.
pub(super) const VERSION: &str = "version";
/// The field until when every child lives.
pub(super) const HORIZON: &str = "horizon";

/// The rules of one family, ready to look at many changes.
#[derive(Debug)]
pub(super) struct Rules {
    pub(super) family: &'static KeyInfo,
    contract: std::sync::Arc<keyplane_schema::Contract>,
    component: Option<String>,
    fields: HashMap<String, Rule>,
    limits: Limits,
    life: Life,
    /// The key that this one is linked to.
    linked: Option<&'static str>,
    has_version: bool,
    has_horizon: bool,
    /// Whether some of its fields have a placeholder in their name, so that there is no end of them.
    has_families: bool,
}

/// How a change sets the life of a record.
#[derive(Debug, Clone, Copy)]
pub(super) struct Life {
    pub(super) word: &'static str,
    pub(super) millis: u64,
}

#[derive(Debug)]
struct Rule {
    check: ValueCheck,
    shown: String,
    max: Option<FieldMax>,
    owners: Vec<String>,
    required: bool,
    /// For each state those that lead to it, between commas; empty when any move is legal.
    into: HashMap<String, String>,
}

impl Rules {
    pub(super) fn new(handle: &Handle, family: &'static KeyInfo) -> Result<Self, SetupError> {
        let contract = std::sync::Arc::clone(handle.contract());
        let foreign = || SetupError::Foreign { key: family.name, contract: contract.name.clone() };
        let key =
            contract.key(family.name).filter(|_| family.contract == contract.name).ok_or_else(foreign)?;
        let is_number = |name: &str| {
            let field = contract.field(key, name.as_bytes());
            field.is_some_and(|field| matches!(field.kind, ValueType::Int(_) | ValueType::Time(_)))
        };
        let (has_version, has_horizon) = (is_number(VERSION), is_number(HORIZON));
        let has_families = contract.fields_of(key).any(|field| field.name.params().next().is_some());
        // Families of fields (`vote:<id>`) are looked up when they come.
        let plain = contract.fields_of(key).filter(|field| field.name.params().next().is_none());
        let fields = plain.map(|field| (field.name.as_str().to_owned(), Rule::new(&contract, field)));
        Ok(Self {
            family,
            component: handle.component().map(str::to_owned),
            fields: fields.collect(),
            limits: key.limits(&contract),
            life: life(handle, family, has_horizon),
            linked: match family.ttl.policy {
                Policy::Linked { to } => Some(to),
                _ => None,
            },
            has_version,
            has_horizon,
            has_families,
            contract,
        })
    }

    /// Records count their changes.
    pub(super) fn must_count(self) -> Result<Self, SetupError> {
        if self.has_version {
            return Ok(self);
        }
        let (key, field) = (self.family.name, VERSION.to_owned());
        Err(SetupError::Field { key, kit: KIT, field, needs: "it to count changes" })
    }

    /// What can be told without asking the server.
    pub(super) fn check(&self, change: &Change) -> Result<(), CommitError> {
        let names = change.unset.iter().chain(change.counted.iter().map(|(field, _)| field));
        for field in names {
            self.check_field(field, None)?;
        }
        for (field, value) in &change.set {
            self.check_field(field, Some(value))?;
        }
        if change.kind == Kind::Create {
            self.check_required(change)?;
        }
        match self.limits.bytes {
            Some(most) if change.bytes() > most => Err(CommitError::TooLarge { bytes: change.bytes(), most }),
            _ => Ok(()),
        }
    }

    pub(super) fn required(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().filter(|(_, rule)| rule.required).map(|(name, _)| name.as_str())
    }

    fn check_required(&self, change: &Change) -> Result<(), CommitError> {
        let given = |name: &str| {
            change.set.iter().any(|(field, _)| field == name)
                || change.counted.iter().any(|(field, _)| field == name)
        };
        let mut missing: Vec<&String> = self
            .fields
            .iter()
            .filter(|(name, rule)| rule.required && !kept(name) && !given(name))
            .map(|(n, _)| n)
            .collect();
        missing.sort();
        match missing.first() {
            Some(field) => {
                Err(CommitError::Field { field: (*field).clone(), problem: FieldProblem::Required })
            }
            None => Ok(()),
        }
    }

    pub(super) fn check_field(&self, field: &str, value: Option<&[u8]>) -> Result<(), CommitError> {
        let family;
        let rule = match self.fields.get(field) {
            Some(rule) => Some(rule),
            None => {
                family = self.member_of_family(field);
                family.as_ref()
            }
        };
        let problem = match rule {
            _ if kept(field) && (field == VERSION || self.has_horizon) => Some(FieldProblem::Kept),
            None => Some(FieldProblem::Unknown),
            Some(rule) => rule.problem(self.component.as_deref(), value),
        };
        match problem {
            Some(problem) => Err(CommitError::Field { field: field.to_owned(), problem }),
            None => Ok(()),
        }
    }

    fn member_of_family(&self, field: &str) -> Option<Rule> {
        let key = self.contract.key(self.family.name)?;
        self.contract.field(key, field.as_bytes()).map(|found| Rule::new(&self.contract, found))
    }

    /// The states from which a field may move to this one, between commas; `None` where any may.
    pub(super) fn moves_to(&self, field: &str, value: &[u8]) -> Option<&str> {
        let rule = self.fields.get(field).filter(|rule| !rule.into.is_empty())?;
        let to = std::str::from_utf8(value).ok()?;
        Some(rule.into.get(to).map_or(",", String::as_str))
    }

    /// The first field of the change whose moves are limited; any other will do where there is none.
    pub(super) fn moving<'c>(&self, change: &'c Change) -> &'c str {
        let moves = |(field, value): &&(String, Vec<u8>)| self.moves_to(field, value).is_some();
        change.set.iter().find(moves).map_or(VERSION, |(field, _)| field.as_str())
    }

    /// How many fields a record may have; 0 where the fields that it can have are not as many.
    pub(super) fn most_fields(&self) -> u64 {
        let most = self.limits.fields.unwrap_or(0);
        if !self.has_families && self.fields.len() as u64 <= most { 0 } else { most }
    }

    /// How this change sets the life of the record.
    pub(super) fn life(&self, change: &Change) -> Result<Life, CommitError> {
        match self.linked {
            Some(parent) if change.parent.as_ref().is_none_or(|key| key.info().name != parent) => {
                Err(CommitError::NeedsParent { parent })
            }
            _ => Ok(self.life),
        }
    }
}

impl Rule {
    fn new(contract: &keyplane_schema::Contract, field: &Field) -> Self {
        Self {
            check: ValueCheck::new(contract, &field.kind),
            shown: field.kind.to_string(),
            max: field.max,
            owners: field.writes.clone(),
            required: field.required,
            into: moves_into(&field.kind),
        }
    }

    fn problem(&self, component: Option<&str>, value: Option<&[u8]>) -> Option<FieldProblem> {
        let foreign =
            component.is_some_and(|own| !self.owners.is_empty() && !self.owners.iter().any(|o| o == own));
        if foreign {
            return Some(FieldProblem::NotOwned { owners: self.owners.join(", ") });
        }
        let value = value?;
        if !self.check.accepts(value) {
            let shown: String = String::from_utf8_lossy(value).chars().take(60).collect();
            return Some(FieldProblem::Value { value: shown, kind: self.shown.clone() });
        }
        let most = match self.max? {
            FieldMax::Chars(most) if chars(value) > most => format!("{most} characters"),
            FieldMax::Bytes(most) if value.len() as u64 > most => keyplane_schema::show_size(most),
            _ => return None,
        };
        Some(FieldProblem::TooLong { most })
    }
}

fn chars(value: &[u8]) -> u64 {
    String::from_utf8_lossy(value).chars().count() as u64
}

fn kept(field: &str) -> bool {
    field == VERSION || field == HORIZON
}

/// The legal moves the other way round.
fn moves_into(kind: &ValueType) -> HashMap<String, String> {
    let mut into: HashMap<String, String> = HashMap::new();
    if let ValueType::OneOf { moves, .. } = kind {
        for (from, targets) in moves {
            for to in targets {
                let list = into.entry(to.clone()).or_insert_with(|| ",".to_owned());
                list.push_str(from);
                list.push(',');
            }
        }
    }
    into
}

fn life(handle: &Handle, family: &'static KeyInfo, has_horizon: bool) -> Life {
    let word = match family.ttl.policy {
        Policy::None | Policy::After { .. } | Policy::Pruned { .. } => "keep",
        Policy::Fixed => "once",
        Policy::Sliding | Policy::Refreshed | Policy::Max if has_horizon => "horizon",
        _ => "renew",
    };
    Life { word, millis: millis(handle, family) }
}
