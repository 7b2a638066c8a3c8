//! A contract as data: what the file says, with defaults filled in and helper keys added.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::dfa::Dfa;
use crate::diagnostic::Span;
use crate::pattern::Pattern;
use crate::units::{FloatRange, IntRange, show_duration};
use crate::verbs::{RedisType, Verb};

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

/// A typed placeholder.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Param {
    /// Its name, as in `<name>`.
    pub name: String,
    /// What it accepts.
    pub kind: ParamKind,
    /// Whether a value may hold `:`.
    pub colons: bool,
    /// Words it never takes.
    pub except: Vec<String>,
    /// The shape of old ids, accepted on reading only.
    pub legacy: Option<String>,
    /// What it is.
    pub doc: String,
    /// A value that passes.
    pub example: Option<String>,
    pub(crate) check: Arc<Dfa>,
    pub(crate) read_check: Arc<Dfa>,
}

/// What a placeholder accepts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParamKind {
    /// Any text without `:`, braces, white space and control characters.
    Text,
    /// Text of that shape.
    Like(String),
    /// Known words; `open` admits others.
    OneOf {
        /// The words.
        words: Vec<String>,
        /// Whether other text passes.
        open: bool,
    },
    /// A decimal number.
    Int(IntRange),
    /// That many bytes in lowercase hex.
    Hex(u32),
    /// That many raw bytes: for names of hash fields, never in a key.
    Bytes(u32),
}

impl Param {
    /// Whether a key with this value may be written.
    #[must_use]
    pub fn accepts(&self, value: &str) -> bool {
        self.check.accepts(value.as_bytes())
    }

    /// Whether a key with this value may be read: new or legacy.
    #[must_use]
    pub fn accepts_for_reading(&self, value: &str) -> bool {
        self.read_check.accepts(value.as_bytes())
    }

    /// The automaton of values that may be written, for generated code.
    #[must_use]
    pub fn automaton(&self) -> &Dfa {
        &self.check
    }

    /// The automaton of values that may be read.
    #[must_use]
    pub fn read_automaton(&self) -> &Dfa {
        &self.read_check
    }

    /// A value that passes: the example, or one made up.
    #[must_use]
    pub fn sample(&self) -> String {
        let known = match &self.kind {
            ParamKind::OneOf { words, .. } => words.iter().find(|word| self.accepts(word)).cloned(),
            _ => None,
        };
        let made_up = || String::from_utf8_lossy(&self.check.shortest().unwrap_or_default()).into_owned();
        self.example.clone().or(known).unwrap_or_else(made_up)
    }
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

/// How long a key lives.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ttl {
    /// The rule.
    pub policy: Policy,
    /// What else there is to say.
    pub doc: Option<String>,
    /// The configuration setting that overrides the duration.
    pub setting: Option<String>,
}

/// The rule of a TTL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Policy {
    /// Until it is deleted.
    None,
    /// That long after creation.
    Fixed(Duration),
    /// That long after the last write.
    Sliding(Duration),
    /// Never before the key `to`, and at least `at_least` after its own last write.
    Linked {
        /// The parent.
        to: String,
        /// Its own minimum.
        at_least: Option<Duration>,
    },
    /// Renewed by every write and by a job; absence means rebuild.
    Refreshed(Duration),
    /// Members older than that go.
    Pruned {
        /// The age at which a member goes.
        members: Duration,
        /// How long the key lives after the last write.
        key: Option<Duration>,
        /// The component that prunes.
        by: Option<String>,
    },
    /// That long after an event.
    After {
        /// The event.
        event: String,
        /// How long after it.
        lasts: Duration,
        /// The limit until the event.
        before: Option<Before>,
    },
    /// Some TTL, at most that long.
    Max(Duration),
}

/// How long a key lives at most while its event has not come.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Before {
    pub lasts: Duration,
    /// A duration known at run time that is added.
    pub plus: Option<String>,
}

impl Policy {
    /// The word of the contract.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Fixed(_) => "fixed",
            Self::Sliding(_) => "sliding",
            Self::Linked { .. } => "linked",
            Self::Refreshed(_) => "refreshed",
            Self::Pruned { .. } => "pruned",
            Self::After { .. } => "after",
            Self::Max(_) => "max",
        }
    }

    /// The duration it names, of members where it is about members.
    #[must_use]
    pub fn duration(&self) -> Option<Duration> {
        match self {
            Self::None => None,
            Self::Linked { at_least, .. } => *at_least,
            Self::Fixed(lasts) | Self::Sliding(lasts) | Self::Refreshed(lasts) | Self::Max(lasts) => {
                Some(*lasts)
            }
            Self::Pruned { members, .. } => Some(*members),
            Self::After { lasts, .. } => Some(*lasts),
        }
    }

    /// Whether the key itself ever expires.
    #[must_use]
    pub fn expires(&self) -> bool {
        !matches!(self, Self::None | Self::Pruned { key: None, .. })
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("no expiry"),
            Self::Fixed(lasts) => write!(f, "{} from creation", show_duration(*lasts)),
            Self::Sliding(lasts) => write!(f, "{} from the last write", show_duration(*lasts)),
            Self::Linked { to, at_least: None } => write!(f, "as long as {to}"),
            Self::Linked { to, at_least: Some(lasts) } => {
                write!(f, "as long as {to}, at least {}", show_duration(*lasts))
            }
            Self::Refreshed(lasts) => write!(f, "{}, refreshed", show_duration(*lasts)),
            Self::Pruned { members, key: None, .. } => {
                write!(f, "no expiry; members older than {} go", show_duration(*members))
            }
            Self::Pruned { members, key: Some(key), .. } => {
                write!(
                    f,
                    "{} from the last write; members older than {} go",
                    show_duration(*key),
                    show_duration(*members)
                )
            }
            Self::After { event, lasts, .. } => write!(f, "{} after {event}", show_duration(*lasts)),
            Self::Max(lasts) => write!(f, "at most {}", show_duration(*lasts)),
        }
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

/// A field of a hash, stream or layout.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Field {
    /// Its name, or a family of names (`bid<level>_p`).
    pub name: Pattern,
    /// What it holds.
    pub kind: ValueType,
    /// Always there.
    pub required: bool,
    /// May be null (in layouts).
    pub nullable: bool,
    /// What it is.
    pub doc: String,
    /// Unit of measure.
    pub unit: Option<String>,
    /// A value.
    pub example: Option<String>,
    /// What absence means.
    pub default: Option<String>,
    /// Its own limit.
    pub max: Option<FieldMax>,
    /// The writers of the key that own this field; empty means all.
    pub writes: Vec<String>,
    /// Since when, until when, instead of what.
    pub life: LifeCycle,
    pub(crate) at: Span,
}

/// Limit of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldMax {
    /// Characters.
    Chars(u64),
    /// Bytes.
    Bytes(u64),
}

/// What a field, value, member or score holds.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum ValueType {
    Text,
    Bytes(Option<u32>),
    Hex(Option<u32>),
    Int(Option<IntRange>),
    Float(Option<FloatRange>),
    Decimal,
    /// `true/false` or `1/0`.
    Bool(String),
    Time(TimeFormat),
    OneOf {
        words: Vec<String>,
        open: bool,
        /// Legal transitions; empty means any.
        moves: BTreeMap<String, Vec<String>>,
    },
    Like(String),
    Param(String),
    Template(Vec<Pattern>),
    Json(Option<String>),
    Cbor(Option<String>),
    List(Box<ValueType>),
    Map(Box<ValueType>),
    AnyOf(Vec<ValueType>),
}

impl fmt::Display for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text => f.write_str("text"),
            Self::Bytes(None) => f.write_str("bytes"),
            Self::Bytes(Some(length)) => write!(f, "{length} bytes"),
            Self::Hex(None) => f.write_str("hex"),
            Self::Hex(Some(length)) => write!(f, "{length} bytes as hex"),
            Self::Int(None) => f.write_str("integer"),
            Self::Int(Some(range)) => write!(f, "integer {range}"),
            Self::Float(None) => f.write_str("number"),
            Self::Float(Some(range)) => write!(f, "number {range}"),
            Self::Decimal => f.write_str("decimal"),
            Self::Bool(words) => f.write_str(words),
            Self::Time(format) => write!(f, "time ({})", format.word()),
            Self::OneOf { words, open, .. } => {
                write!(f, "{}{}", words.join(" | "), if *open { " | …" } else { "" })
            }
            Self::Like(regex) => write!(f, "text like `{regex}`"),
            Self::Param(name) => write!(f, "<{name}>"),
            Self::Template(patterns) => {
                f.write_str(&patterns.iter().map(Pattern::as_str).collect::<Vec<_>>().join(" or "))
            }
            Self::Json(None) => f.write_str("JSON"),
            Self::Json(Some(layout)) => write!(f, "JSON {layout}"),
            Self::Cbor(None) => f.write_str("CBOR"),
            Self::Cbor(Some(layout)) => write!(f, "CBOR {layout}"),
            Self::List(kind) => write!(f, "list of {kind}"),
            Self::Map(kind) => write!(f, "map of {kind}"),
            Self::AnyOf(kinds) => {
                f.write_str(&kinds.iter().map(ToString::to_string).collect::<Vec<_>>().join(", or "))
            }
        }
    }
}

/// How a moment is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum TimeFormat {
    Rfc3339,
    Rfc3339Ms,
    Iso,
    UnixS,
    UnixMs,
    UnixUs,
}

impl TimeFormat {
    pub(crate) const ALL: [Self; 6] =
        [Self::Rfc3339, Self::Rfc3339Ms, Self::Iso, Self::UnixS, Self::UnixMs, Self::UnixUs];

    /// The word of the contract.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Rfc3339 => "rfc3339",
            Self::Rfc3339Ms => "rfc3339ms",
            Self::Iso => "iso",
            Self::UnixS => "unix_s",
            Self::UnixMs => "unix_ms",
            Self::UnixUs => "unix_us",
        }
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

/// The layout of an encoded value.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Layout {
    /// Its name.
    pub name: String,
    /// JSON or CBOR.
    pub encoding: Encoding,
    /// Object, array by position, or many of one type.
    pub shape: Shape,
    /// What it is.
    pub doc: String,
    /// Its fields, in order; none for a list or map.
    pub fields: Vec<Field>,
    /// What a list or map holds.
    pub of: Option<ValueType>,
    pub(crate) at: Span,
}

/// How a value is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Encoding {
    Json,
    Cbor,
}

/// How the fields of a layout are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Shape {
    Object,
    Array,
    List,
    Map,
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
