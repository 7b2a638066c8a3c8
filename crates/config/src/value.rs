//! From what was written to a value of the right kind.

use std::path::PathBuf;
use std::time::Duration;

use keyplane_schema::{NamingError, parse_duration, show_duration};

use keyplane_url::{Secret, is_host};

use crate::definition::{Kind, Meaning};
use crate::error::Problem;
use crate::url::StoreUrl;

/// A value as it stands somewhere. TOML knows kinds; a variable is text until the setting says what it should be.
#[derive(Clone, PartialEq)]
pub(crate) enum Raw {
    Text(String),
    Int(i64),
    Fraction(f64),
    Flag(bool),
    List(Vec<Raw>),
    Other(&'static str),
}

/// A value that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    Text(String),
    Url(StoreUrl),
    Secret(Secret),
    Path(PathBuf),
    Flag(bool),
    Words(Vec<String>),
    Count(u64),
    Duration(Duration),
    /// Of a duration that can be switched off.
    Off,
}

impl Value {
    /// For people: no secret, nothing invisible.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Text(text) if text.is_empty() => "(none)".to_owned(),
            Self::Text(text) => text.clone(),
            Self::Url(url) => url.to_string(),
            Self::Secret(secret) => secret.to_string(),
            Self::Path(path) => path.display().to_string(),
            Self::Flag(flag) => flag.to_string(),
            Self::Words(words) => words.join(", "),
            Self::Count(count) => count.to_string(),
            Self::Duration(duration) => show_duration(*duration),
            Self::Off => "off".to_owned(),
        }
    }
}

impl Raw {
    /// The text of a variable or flag, seen as what the setting takes.
    pub(crate) fn of_text(text: &str, kind: &Kind, meaning: Meaning) -> Self {
        let flag = || match text.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" | "1" => Some(Self::Flag(true)),
            "false" | "no" | "off" | "0" => Some(Self::Flag(false)),
            _ => None,
        };
        let whole = || text.parse().ok().map(Self::Int);
        let raw = match kind {
            _ if meaning == Meaning::Switch => flag(),
            Kind::Flag => flag(),
            Kind::Count { .. } => whole(),
            Kind::Duration { .. } => whole().or_else(|| text.parse().ok().map(Self::Fraction)),
            Kind::Words => {
                Some(Self::List(text.split(',').map(|word| Self::Text(word.trim().to_owned())).collect()))
            }
            _ => None,
        };
        raw.unwrap_or_else(|| Self::Text(text.to_owned()))
    }

    pub(crate) fn kind_name(&self) -> &'static str {
        match self {
            Self::Text(_) => "a text",
            Self::Int(_) => "a number",
            Self::Fraction(_) => "a fraction",
            Self::Flag(true) => "true",
            Self::Flag(false) => "false",
            Self::List(_) => "a list",
            Self::Other(name) => name,
        }
    }
}

impl Kind {
    /// Reads a value. `name` is the setting's, for messages.
    pub(crate) fn read(&self, name: &str, raw: &Raw) -> Result<Value, Problem> {
        match (self, raw) {
            (Self::Text, Raw::Text(text)) => Ok(Value::Text(filled(name, text)?)),
            (Self::Secret, Raw::Text(text)) => Ok(Value::Secret(Secret::new(filled(name, text)?))),
            (Self::Path, Raw::Text(text)) => Ok(Value::Path(filled(name, text)?.into())),
            (Self::Url, Raw::Text(text)) => Ok(Value::Url(StoreUrl::parse(&filled(name, text)?)?)),
            (Self::Host, Raw::Text(text)) if is_host(text) => Ok(Value::Text(text.clone())),
            (Self::Namespace, Raw::Text(text)) => namespace(text),
            (Self::Flag, Raw::Flag(flag)) => Ok(Value::Flag(*flag)),
            (Self::Choice(words), Raw::Text(text)) if words.contains(&text.as_str()) => {
                Ok(Value::Text(text.clone()))
            }
            (Self::Choice(_), Raw::Text(_)) => Err(self.out_of_range(name, "this is another word")),
            (Self::Words, Raw::List(items)) => words(name, items),
            (Self::Words, Raw::Text(_)) => words(name, std::slice::from_ref(raw)),
            (Self::Count { least, most }, Raw::Int(number)) => match u64::try_from(*number) {
                Ok(count) if (*least..=*most).contains(&count) => Ok(Value::Count(count)),
                _ => Err(self.out_of_range(name, format!("this is {number}"))),
            },
            (Self::Duration { off: true, .. }, Raw::Text(text)) if text == "off" => Ok(Value::Off),
            (Self::Duration { .. }, Raw::Text(text)) => self.duration(name, text),
            (Self::Duration { bare: true, .. }, Raw::Int(_) | Raw::Fraction(_)) => self.seconds(name, raw, 1),
            (Self::Duration { .. }, Raw::Int(number)) => self.duration(name, &number.to_string()),
            _ => Err(self.wrong_kind(name, raw)),
        }
    }

    /// Reads a value under an older name.
    pub(crate) fn read_as(
        &self,
        meaning: Meaning,
        name: &str,
        default: Option<&str>,
        raw: &Raw,
    ) -> Result<Value, Problem> {
        match (meaning, raw) {
            (Meaning::Seconds, Raw::Int(_) | Raw::Fraction(_)) => self.seconds(name, raw, 1),
            (Meaning::Hours, Raw::Int(_) | Raw::Fraction(_)) => self.seconds(name, raw, 3_600),
            (Meaning::Seconds, _) => Err(not_a(name, "a number of seconds", raw)),
            (Meaning::Hours, _) => Err(not_a(name, "a number of hours", raw)),
            (Meaning::Switch, Raw::Flag(on)) => {
                let text = default.filter(|_| *on).unwrap_or("off");
                self.read(name, &Raw::Text(text.to_owned()))
            }
            (Meaning::Switch, _) => Err(not_a(name, "true or false", raw)),
            (Meaning::Part(part), _) => part.kind().read(name, raw),
            (Meaning::Same, _) => self.read(name, raw),
        }
    }

    fn duration(&self, name: &str, text: &str) -> Result<Value, Problem> {
        let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
        if !digits.is_empty() && digits.bytes().all(|digit| digit == b'0') {
            return Err(self.out_of_range(name, "this is zero"));
        }
        match parse_duration(text) {
            Ok(duration) => self.in_range(name, duration),
            Err(reason) => Err(Problem::value(format!("`{name}`: {reason}"), "not a duration")),
        }
    }

    /// A number without a unit, as older descriptions have it.
    fn seconds(&self, name: &str, raw: &Raw, factor: u32) -> Result<Value, Problem> {
        let (number, shown) = match raw {
            Raw::Int(number) => (*number as f64, number.to_string()),
            Raw::Fraction(number) => (*number, number.to_string()),
            _ => return Err(self.wrong_kind(name, raw)),
        };
        // In Python, 0 switches a check off.
        if number == 0.0 && matches!(self, Self::Duration { off: true, .. }) {
            return Ok(Value::Off);
        }
        let millis = (number * f64::from(factor) * 1_000.0).round();
        match Duration::try_from_secs_f64(millis / 1_000.0) {
            Ok(duration) => self.in_range(name, duration),
            Err(_) => Err(self.out_of_range(name, format!("this is {shown}"))),
        }
    }

    fn in_range(&self, name: &str, duration: Duration) -> Result<Value, Problem> {
        match self {
            Self::Duration { least, most, .. } if (*least..=*most).contains(&duration) => {
                Ok(Value::Duration(duration))
            }
            _ => Err(self.out_of_range(name, format!("this is {}", show_duration(duration)))),
        }
    }

    fn out_of_range(&self, name: &str, label: impl Into<String>) -> Problem {
        Problem::value(format!("`{name}` is {}", self.range().unwrap_or_default()), label)
    }

    fn wrong_kind(&self, name: &str, raw: &Raw) -> Problem {
        let problem = not_a(name, &self.to_string(), raw);
        match raw {
            Raw::Text(text) if !matches!(Raw::of_text(text, self, Meaning::Same), Raw::Text(_)) => {
                problem.help("write it without quotes")
            }
            _ => problem,
        }
    }
}

fn not_a(name: &str, expected: &str, raw: &Raw) -> Problem {
    Problem::value(format!("`{name}` takes {expected}"), format!("this is {}", raw.kind_name()))
}

fn filled(name: &str, text: &str) -> Result<String, Problem> {
    if text.is_empty() {
        return Err(Problem::value(format!("`{name}` is empty"), "nothing here").help("leave it out instead"));
    }
    Ok(text.to_owned())
}

/// The rule of [`keyplane_schema::Naming::check`], which needs a contract; a test holds the two together.
fn namespace(text: &str) -> Result<Value, Problem> {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    let part = |part: &str| !part.is_empty() && part.bytes().all(letter);
    if text.is_empty() || text.split(':').all(part) {
        return Ok(Value::Text(text.to_owned()));
    }
    Err(Problem::value(NamingError::Namespace(text.to_owned()).to_string(), "not a namespace"))
}

fn words(name: &str, items: &[Raw]) -> Result<Value, Problem> {
    let letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let word = |item: &Raw| match item {
        Raw::Text(text) if !text.is_empty() && text.chars().all(letter) => Some(text.clone()),
        _ => None,
    };
    match items.iter().map(word).collect() {
        Some(words) => Ok(Value::Words(words)),
        None => Err(Problem::value(
            format!("`{name}` takes a list of words in lower-case letters, digits and `-`"),
            "one of these is not",
        )),
    }
}

#[cfg(test)]
mod tests {
    use keyplane_schema::{Naming, parse};

    use super::*;
    use crate::{Section, Sources, read};

    const CONTRACTS: [(Section, &str); 5] = [
        (Section::Mempool, include_str!("../../../systems/mempool/keys.toml")),
        (Section::Docket, include_str!("../../../systems/docket/keys.toml")),
        (Section::Market, include_str!("../../../systems/market/keys.toml")),
        (Section::Swarm, include_str!("../../../systems/swarm/keys.toml")),
        (Section::Sequencer, include_str!("../../../systems/sequencer/keys.toml")),
    ];

    #[test]
    fn a_namespace_is_accepted_here_when_a_contract_accepts_it() {
        let contract = parse("swarm", CONTRACTS[3].1).unwrap();
        for text in
            ["", "a", "a:b", "a_b-c.D9", ":", "a:", ":a", "a::b", "{a}", "a b", "ü", "a*", "a/b", "a\n"]
        {
            let by_contract = Naming::plain(&contract).in_namespace(text).check(&contract).is_ok();
            assert_eq!(namespace(text).is_ok(), by_contract, "{text:?}");
        }
    }

    #[test]
    fn the_default_namespace_is_the_contracts_own() {
        let config = read(&Sources::default()).unwrap();
        for (section, text) in CONTRACTS {
            let contract = parse(section.word(), text).unwrap();
            assert_eq!(config.section(section).text("namespace"), Some(&*contract.namespace), "{section}");
        }
    }
}
