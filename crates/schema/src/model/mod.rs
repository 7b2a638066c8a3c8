//! A contract as data: what the file says, with defaults filled in and helper keys added.

mod param;
mod ttl;
mod value;

use std::fmt;

use crate::diagnostic::Span;
use crate::pattern::Pattern;
use crate::verbs::{RedisType, Verb};

pub use param::{Param, ParamKind};
pub use ttl::{Before, Policy, Ttl};
pub use value::{Encoding, Field, FieldMax, Layout, Shape, TimeFormat, ValueType};

/// A keyspace: its keys, who touches them, and how.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Contract {
    /// The name, also for `--schema`.
    pub name: String,
    /// Version of the data.
    pub version: Version,
    /// What the keyspace is for.
    pub doc: String,
    /// Put before every key with `:` unless a deployment says otherwise; may be empty.
    pub namespace: String,
    /// Ceilings for every key.
    pub limits: Limits,
    /// Moments that a TTL can refer to.
    pub events: Vec<Event>,
    /// Typed placeholders.
    pub params: Vec<Param>,
    /// Who touches keys.
    pub components: Vec<Component>,
    /// The keys, helper keys of the kit behind their hosts.
    pub keys: Vec<Key>,
    /// Layouts of encoded values.
    pub values: Vec<Layout>,
    /// Operations.
    pub ops: Vec<Op>,
}

impl Contract {
    /// The key of that name.
    #[must_use]
    pub fn key(&self, name: &str) -> Option<&Key> {
        self.keys.iter().find(|key| key.name == name)
    }

    /// The placeholder of that name.
    #[must_use]
    pub fn param(&self, name: &str) -> Option<&Param> {
        self.params.iter().find(|param| param.name == name)
    }

    /// The component of that name.
    #[must_use]
    pub fn component(&self, name: &str) -> Option<&Component> {
        self.components.iter().find(|component| component.name == name)
    }

    /// The layout of that name.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<&Layout> {
        self.values.iter().find(|value| value.name == name)
    }
}

/// `MAJOR.MINOR` of the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
#[allow(missing_docs)]
pub struct Version {
    pub major: u32,
    pub minor: u32,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// A moment that a TTL can refer to.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Event {
    /// Its name.
    pub name: String,
    /// What happens.
    pub doc: String,
}

/// Someone who touches keys; becomes an ACL user.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Component {
    /// Its name.
    pub name: String,
    /// What it does.
    pub doc: String,
    /// Never writes.
    pub read_only: bool,
    /// Commands without keys beyond the ordinary ones.
    pub extra: Vec<String>,
    pub(crate) at: Span,
}

/// One family of keys.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Key {
    /// Its name in the contract, in code and on the command line.
    pub name: String,
    /// Its pattern, without the namespace.
    pub pattern: Pattern,
    /// Its Redis type; two where the use decides.
    pub types: Vec<RedisType>,
    /// The part of the pattern that is the hash tag on Cluster.
    pub tag: Option<Tag>,
    /// How long it lives.
    pub ttl: Ttl,
    /// Its own limits, not yet combined with the contract's.
    pub max: Limits,
    /// What it is for.
    pub doc: String,
    /// What else a reader must know.
    pub note: Option<String>,
    /// Fields of a hash or stream.
    pub fields: Vec<Field>,
    /// The value of a string, the items of a list, the members of a set or zset.
    pub element: Option<ValueType>,
    /// The score of a zset.
    pub score: Option<ValueType>,
    /// Who touches it.
    pub owners: Vec<Owner>,
    /// The key whose members this one's ids must be.
    pub member_of: Option<String>,
    /// The key that this one indexes.
    pub index_of: Option<String>,
    /// Fed through an outbox, because it lives on another slot.
    pub via_outbox: bool,
    /// The key whose fields this one has too.
    pub fields_of: Option<String>,
    /// The key that brought this helper key, and the kit primitive.
    pub helper_of: Option<Helper>,
    /// Why its ACL pattern may reach further than the key.
    pub acl_reach: Option<String>,
    /// Concrete keys.
    pub examples: Vec<String>,
    /// Since when, until when, instead of what.
    pub life: LifeCycle,
    pub(crate) uses: Vec<(String, Span)>,
    pub(crate) at: KeyPlaces,
}

impl Key {
    /// The limits that hold: its own where it has them, else the contract's.
    #[must_use]
    pub fn limits(&self, contract: &Contract) -> Limits {
        let ceiling = &contract.limits;
        let is = |kinds: &[RedisType]| self.types.iter().any(|kind| kinds.contains(kind));
        Limits {
            bytes: self.max.bytes.or(ceiling.bytes),
            fields: self.max.fields.or(ceiling.fields).filter(|_| is(&[RedisType::Hash])),
            members: self
                .max
                .members
                .or(ceiling.members)
                .filter(|_| is(&[RedisType::List, RedisType::Set, RedisType::Zset, RedisType::Stream])),
            total: self.max.total,
        }
    }

    /// Its types as text: `hash`, `zset or hash`.
    #[must_use]
    pub fn type_words(&self) -> String {
        self.types.iter().map(|kind| kind.word()).collect::<Vec<_>>().join(" or ")
    }
}

/// Where the parts of a key stand in the file.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct KeyPlaces {
    pub(crate) name: Span,
    pub(crate) pattern: Span,
    pub(crate) ttl: Span,
    pub(crate) max: Span,
    pub(crate) tag: Span,
    pub(crate) life: Span,
    pub(crate) refers: Span,
    pub(crate) example: Span,
}

/// Where a helper key comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Helper {
    /// The key that uses the kit primitive.
    pub host: String,
    /// The primitive.
    pub kit: String,
}

/// The hash tag of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tag {
    /// The namespace.
    Namespace,
    /// A contiguous part of the pattern, marked only where hash tags are on.
    Part {
        /// The part.
        text: String,
        /// Where in the pattern it starts.
        start: usize,
    },
    /// Braces that the pattern itself holds: always there.
    Braced(String),
}

impl Tag {
    /// What is hashed, as a template; equal templates mean equal slots.
    #[must_use]
    pub fn template(&self) -> &str {
        match self {
            Self::Namespace => "<namespace>",
            Self::Part { text, .. } | Self::Braced(text) => text,
        }
    }
}

impl Key {
    /// Whether this key and another lie on one slot whatever their placeholders are: equal tags over equal placeholders.
    #[must_use]
    pub fn shares_slot_with(&self, other: &Self) -> bool {
        matches!((&self.tag, &other.tag), (Some(own), Some(other)) if own.template() == other.template())
    }
}

/// Ceilings.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Limits {
    /// Size of one key.
    pub bytes: Option<u64>,
    /// Fields of a hash.
    pub fields: Option<u64>,
    /// Members of a collection.
    pub members: Option<u64>,
    /// This key and all linked to it, as one compressed snapshot.
    pub total: Option<u64>,
}

impl Limits {
    /// Whether a writer has to count.
    #[must_use]
    pub fn is_counted(&self) -> bool {
        self.fields.is_some() || self.members.is_some()
    }
}

/// Someone who touches a key.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Owner {
    /// The component.
    pub component: String,
    /// In which way.
    pub how: How,
    pub(crate) at: Span,
}

/// In which way a component owns a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum How {
    /// `reads`.
    Reads,
    /// `writes`.
    Writes,
    /// A verb of its own.
    By(Verb),
}

impl How {
    /// Whether an operation may use the verb on these grounds: any owner may look, `writes` takes every writing verb,
    /// and who is named for one verb has that one.
    pub(crate) fn covers(self, verb: Verb) -> bool {
        match self {
            Self::Reads => !verb.writes(),
            Self::Writes => true,
            Self::By(own) => own == verb || !verb.writes(),
        }
    }
}

/// Since when, until when, instead of what.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct LifeCycle {
    /// Version or date of birth.
    pub since: Option<String>,
    /// Date from which it should not be used.
    pub deprecated: Option<String>,
    /// Date from which it may be gone.
    pub remove_after: Option<String>,
    /// The name of which this is a second spelling.
    pub alias_of: Option<String>,
    /// What to use instead.
    pub replaced_by: Option<String>,
}

/// Who does what to which keys in one step.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Op {
    /// Its name.
    pub name: String,
    /// What it does.
    pub doc: String,
    /// Who does it.
    pub by: Vec<(String, Span)>,
    /// The script, when there is one.
    pub script: Option<String>,
    /// The kit primitive whose scripts run over these keys, where no script of its own does.
    pub kit: Option<(String, Span)>,
    /// The keys it touches.
    pub keys: Vec<OpKey>,
    /// One step; `false` is a sequence of single commands.
    pub atomic: bool,
    /// The event it raises.
    pub event: Option<(String, Span)>,
    pub(crate) at: Span,
}

impl Op {
    /// Whether it changes nothing.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.keys.iter().all(|key| key.verbs.iter().all(|verb| !verb.writes()))
    }
}

/// A key in an operation.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct OpKey {
    /// The key's name.
    pub key: String,
    /// What is done to it.
    pub verbs: Vec<Verb>,
    pub(crate) at: Span,
}
