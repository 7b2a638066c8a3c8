//! What was given to an operation, after the check.

use std::fmt::Display;
use std::str::FromStr;
use std::time::Duration;

use serde_json::{Map, Value};

use super::kind::{ContractId, duration};
use super::op::Op;
use super::param::Need;
use super::refused::Refused;

/// The arguments of one call. Each is what its parameter may hold; what was left out and has a default has that.
#[derive(Debug)]
pub struct Args(Map<String, Value>);

impl Args {
    /// Checks what was given. `null` is nothing.
    pub fn read(op: &Op, mut given: Map<String, Value>) -> Result<Self, Refused> {
        given.retain(|_, value| !value.is_null());
        if let Some(unknown) = given.keys().find(|name| op.params.iter().all(|param| param.name != **name)) {
            let known: Vec<&str> = op.params.iter().map(|param| param.name).collect();
            return Err(Refused::unknown_parameter(op.name, unknown, &known));
        }
        for param in op.params {
            match (given.get(param.name), param.need) {
                (Some(value), _) => {
                    param.kind.check(value, op.reads()).map_err(|why| Refused::bad_parameter(param, &why))?
                }
                (None, Need::Subject | Need::Required) => {
                    return Err(Refused::bad_parameter(param, "is missing"));
                }
                (None, Need::Default(default)) => {
                    given.insert(param.name.to_owned(), param.kind.from_text(default));
                }
                (None, Need::Optional) => {}
            }
        }
        Ok(Self(given))
    }

    /// An id that must be given.
    pub fn id<T: ContractId>(&self, name: &'static str) -> Result<T, Refused> {
        self.id_if(name)?.ok_or_else(|| Refused::no_argument(name))
    }

    /// An id that may be left out.
    pub fn id_if<T: ContractId>(&self, name: &'static str) -> Result<Option<T>, Refused> {
        self.text_if(name)
            .map(|text| T::read(text).map_err(|error| Refused::bad_argument(name, &error)))
            .transpose()
    }

    /// A list of ids; empty if it was left out.
    pub fn ids<T: ContractId, C: FromIterator<T>>(&self, name: &'static str) -> Result<C, Refused> {
        let read = |text: String| T::read(&text).map_err(|error| Refused::bad_argument(name, &error));
        self.texts(name).into_iter().map(read).collect()
    }

    /// A word that must be given.
    pub fn word<T: FromStr<Err: Display>>(&self, name: &'static str) -> Result<T, Refused> {
        self.word_if(name)?.ok_or_else(|| Refused::no_argument(name))
    }

    /// A word that may be left out.
    pub fn word_if<T: FromStr<Err: Display>>(&self, name: &'static str) -> Result<Option<T>, Refused> {
        self.text_if(name)
            .map(|text| text.parse().map_err(|error: T::Err| Refused::bad_argument(name, &error)))
            .transpose()
    }

    /// A text that must be given.
    pub fn text(&self, name: &'static str) -> Result<&str, Refused> {
        self.text_if(name).ok_or_else(|| Refused::no_argument(name))
    }

    /// A text that may be left out.
    #[must_use]
    pub fn text_if(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_str()
    }

    /// A list of texts; empty if it was left out.
    #[must_use]
    pub fn texts(&self, name: &str) -> Vec<String> {
        let items = self.0.get(name).and_then(Value::as_array).into_iter().flatten();
        items.filter_map(Value::as_str).map(str::to_owned).collect()
    }

    /// A whole number that must be given.
    pub fn whole(&self, name: &'static str) -> Result<u64, Refused> {
        self.whole_if(name).ok_or_else(|| Refused::no_argument(name))
    }

    /// A whole number that may be left out.
    #[must_use]
    pub fn whole_if(&self, name: &str) -> Option<u64> {
        self.0.get(name)?.as_u64()
    }

    /// A number that must be given.
    pub fn number(&self, name: &'static str) -> Result<f64, Refused> {
        self.number_if(name).ok_or_else(|| Refused::no_argument(name))
    }

    /// A number that may be left out.
    #[must_use]
    pub fn number_if(&self, name: &str) -> Option<f64> {
        self.0.get(name)?.as_f64()
    }

    /// Whether it was said.
    #[must_use]
    pub fn flag(&self, name: &str) -> bool {
        self.0.get(name).and_then(Value::as_bool).unwrap_or_default()
    }

    /// JSON as text, if it was given.
    #[must_use]
    pub fn json_if(&self, name: &str) -> Option<String> {
        self.0.get(name).map(ToString::to_string)
    }

    /// JSON as text that must be given.
    pub fn json(&self, name: &'static str) -> Result<String, Refused> {
        self.json_if(name).ok_or_else(|| Refused::no_argument(name))
    }

    /// A time that may be left out.
    #[must_use]
    pub fn time_if(&self, name: &str) -> Option<Duration> {
        self.text_if(name).and_then(duration)
    }

    /// A time that must be given.
    pub fn time(&self, name: &'static str) -> Result<Duration, Refused> {
        self.time_if(name).ok_or_else(|| Refused::no_argument(name))
    }

    /// Who does it, for the log of events; the coordinator unless it was said.
    #[must_use]
    pub fn by(&self) -> &str {
        self.text_if("by").unwrap_or("coordinator")
    }
}
