//! What a parameter may hold: the check, the JSON schema, and how text becomes a value.

use std::time::Duration;

use keyplane_key::ParamError;
use keyplane_schema::{Contract, ParamKind};
use serde_json::{Number, Value, json};

use crate::keys::{AgentId, CheckpointId, MemoryId, PhaseId, Role, SwarmId, Tag, TaskId};

/// An id, or another word that the contract gives a shape.
pub trait ContractId: Sized {
    /// The placeholder's name in the contract.
    const PARAM: &'static str;

    /// As it may be written.
    fn written(text: &str) -> Result<Self, ParamError>;

    /// As it may be read: shapes of the past too.
    fn read(text: &str) -> Result<Self, ParamError>;
}

macro_rules! contract_ids {
    ($($id:ident = $param:literal, $read:ident;)+) => {$(
        impl ContractId for $id {
            const PARAM: &'static str = $param;

            fn written(text: &str) -> Result<Self, ParamError> {
                Self::new(text)
            }

            fn read(text: &str) -> Result<Self, ParamError> {
                Self::$read(text)
            }
        }
    )+};
}

contract_ids! {
    SwarmId = "swarm_id", from_store;
    AgentId = "agent_id", from_store;
    TaskId = "task_id", from_store;
    PhaseId = "phase_id", from_store;
    MemoryId = "memory_id", from_store;
    CheckpointId = "checkpoint_id", from_store;
    Role = "role", new;
    Tag = "tag", new;
}

/// What a parameter may hold.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Kind {
    /// Text of at most so many characters.
    Text(usize),
    /// An id of the contract.
    Id(Shape),
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// A whole number between these, both included.
    Whole(u64, u64),
    /// A number between these, both included.
    Number(f64, f64),
    /// Yes or no.
    Flag,
    /// A JSON object that has at most so many bytes.
    Object(usize),
    /// Any JSON that has at most so many bytes.
    Json(usize),
    /// A time, such as `30m`, of at most so many seconds.
    Time(u64),
    /// Any number of these, at most so many.
    List(&'static Kind, usize),
}

/// A placeholder of the contract, without its type.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    param: &'static str,
    written: fn(&str) -> Result<(), ParamError>,
    read: fn(&str) -> Result<(), ParamError>,
}

/// The id of a swarm.
pub(super) const SWARM: Kind = Kind::id::<SwarmId>();
/// The id of an agent.
pub(super) const AGENT: Kind = Kind::id::<AgentId>();
/// The id of a task.
pub(super) const TASK: Kind = Kind::id::<TaskId>();
/// The id of a phase.
pub(super) const PHASE: Kind = Kind::id::<PhaseId>();
/// The id of a memory.
pub(super) const MEMORY: Kind = Kind::id::<MemoryId>();
/// The id of a checkpoint.
pub(super) const CHECKPOINT: Kind = Kind::id::<CheckpointId>();
/// What an agent can do.
pub(super) const ROLE: Kind = Kind::id::<Role>();
/// What memories are found by.
pub(super) const TAG: Kind = Kind::id::<Tag>();
/// A share of one.
pub(super) const SHARE: Kind = Kind::Number(0.0, 1.0);
/// Any whole number that survives JSON, whose numbers are exact up to 2^53.
pub(super) const COUNT: Kind = Kind::Whole(0, 1 << 53);

impl Kind {
    /// An id of the contract.
    #[must_use]
    pub const fn id<T: ContractId>() -> Self {
        Self::Id(Shape {
            param: T::PARAM,
            written: |text| T::written(text).map(drop),
            read: |text| T::read(text).map(drop),
        })
    }

    /// What is wrong with a value. Ids of an old shape will do where nothing is written.
    pub(super) fn check(&self, value: &Value, reads: bool) -> Result<(), String> {
        match (self, value) {
            (Self::Text(most), Value::String(text)) => match text.chars().count() {
                long if long > *most => Err(format!("has {long} characters, and {most} are allowed")),
                _ => Ok(()),
            },
            (Self::Id(shape), Value::String(text)) => {
                let check = if reads { shape.read } else { shape.written };
                check(text).map_err(|error| format!("cannot be {}: {}", short(value), error.expected))
            }
            (Self::OneOf(words), Value::String(text)) if words.contains(&text.as_str()) => Ok(()),
            (Self::OneOf(words), _) => {
                Err(format!("cannot be {}: it is one of {}", short(value), words.join(", ")))
            }
            (Self::Whole(least, most), Value::Number(number)) => match number.as_u64() {
                Some(number) if (*least..=*most).contains(&number) => Ok(()),
                _ => Err(format!("cannot be {number}: it is a whole number from {least} to {most}")),
            },
            (Self::Number(least, most), Value::Number(number)) => match number.as_f64() {
                Some(number) if (*least..=*most).contains(&number) => Ok(()),
                _ => Err(format!("cannot be {number}: it is a number from {least} to {most}")),
            },
            (Self::Flag, Value::Bool(_)) => Ok(()),
            (Self::Object(most), Value::Object(_)) | (Self::Json(most), _) => match value.to_string().len() {
                long if long > *most => Err(format!("has {long} bytes, and {most} are allowed")),
                _ => Ok(()),
            },
            (Self::Time(most), Value::String(text)) => match duration(text) {
                Some(time) if time <= Duration::from_secs(*most) => Ok(()),
                _ => Err(format!(
                    "cannot be {}: it is a time such as 500ms, 30s or 2m, at most {most}s",
                    short(value)
                )),
            },
            (Self::List(_, most), Value::Array(items)) if items.len() > *most => {
                Err(format!("has {} items, and {most} are allowed", items.len()))
            }
            (Self::List(kind, _), Value::Array(items)) => {
                items.iter().try_for_each(|item| kind.check(item, reads))
            }
            (kind, value) => Err(format!("cannot be {}: it is {}", short(value), kind.word())),
        }
    }

    /// The value that a text stands for, on a command line or in a query. What it cannot be, it is as text, and the check says so.
    #[must_use]
    pub fn from_text(&self, text: &str) -> Value {
        let or_text = |value: Option<Value>| value.unwrap_or_else(|| text.into());
        match self {
            Self::Whole(..) => or_text(text.parse::<u64>().ok().map(Value::from)),
            Self::Number(..) => or_text(text.parse().ok().and_then(Number::from_f64).map(Value::Number)),
            Self::Flag => or_text(text.parse::<bool>().ok().map(Value::from)),
            Self::Object(_) | Self::Json(_) => or_text(serde_json::from_str(text).ok()),
            Self::List(kind, _) if kind.has_commas() => {
                text.split(',').map(|item| kind.from_text(item.trim())).collect()
            }
            Self::List(kind, _) => Value::Array(vec![kind.from_text(text)]),
            Self::Text(_) | Self::Id(_) | Self::OneOf(_) | Self::Time(_) => text.into(),
        }
    }

    /// Bytes of JSON that it may have at most; of what is short anyway, nothing is said.
    #[must_use]
    pub(super) fn most_bytes(&self) -> usize {
        match self {
            Self::Object(most) | Self::Json(most) => *most,
            _ => 0,
        }
    }

    /// Whether several can stand in one text: what has no commas in it.
    fn has_commas(&self) -> bool {
        matches!(self, Self::Id(_) | Self::OneOf(_))
    }

    pub(super) fn schema(&self, contract: &Contract) -> Value {
        match self {
            Self::Text(most) => json!({ "type": "string", "maxLength": most }),
            Self::Id(shape) => match contract.param(shape.param).map(|param| &param.kind) {
                Some(ParamKind::Like(pattern)) => json!({ "type": "string", "pattern": pattern }),
                _ => json!({ "type": "string" }),
            },
            Self::OneOf(words) => json!({ "type": "string", "enum": words }),
            Self::Whole(least, most) => json!({ "type": "integer", "minimum": least, "maximum": most }),
            Self::Number(least, most) => json!({ "type": "number", "minimum": least, "maximum": most }),
            Self::Flag => json!({ "type": "boolean" }),
            Self::Object(_) => json!({ "type": "object" }),
            Self::Json(_) => json!({}),
            Self::Time(_) => json!({ "type": "string" }),
            Self::List(kind, most) => {
                json!({ "type": "array", "items": kind.schema(contract), "maxItems": most })
            }
        }
    }

    /// What it is, in a word: for help, and for refusals.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Text(_) => "text",
            Self::Id(_) => "an id",
            Self::OneOf(_) => "a word",
            Self::Whole(..) => "a whole number",
            Self::Number(..) => "a number",
            Self::Flag => "true or false",
            Self::Object(_) => "a JSON object",
            Self::Json(_) => "JSON",
            Self::Time(_) => "a time",
            Self::List(..) => "a list",
        }
    }
}

/// As contracts write it; nothing at all is a time too.
pub(super) fn duration(text: &str) -> Option<Duration> {
    if text == "0s" { Some(Duration::ZERO) } else { keyplane_schema::parse_duration(text).ok() }
}

/// A value that may be long, as a refusal shows it.
fn short(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= 60 { text } else { text.chars().take(60).chain(['…']).collect() }
}
