//! Host, port and database: what older descriptions give instead of a url.

use keyplane_schema::Span;

use crate::definition::{Part, Setting};
use crate::given::{Given, Level, Source};
use crate::section::Section;
use crate::table::setting;
use crate::url::StoreUrl;
use crate::value::Value;

/// What redis-py and the docket's description assume.
const HOST: &str = "localhost";
const PORT: u64 = 6379;

/// The parts that were given, in one section and one place.
#[derive(Default)]
pub(crate) struct Parts {
    given: Vec<(Part, Value)>,
    /// The first of them speaks for all.
    first: Option<(Part, Source, Option<Span>)>,
}

impl Parts {
    pub(crate) fn add(&mut self, part: Part, value: Value, source: Source, at: impl Into<Option<Span>>) {
        self.given.push((part, value));
        self.first.get_or_insert((part, source, at.into()));
    }

    /// The url they make, when there are any.
    pub(crate) fn url(self, section: Section, level: Level) -> Option<Given> {
        let setting: &'static Setting = setting(section, "url")?;
        let (part, source, at) = self.first.clone()?;
        let word = match &source {
            Source::Variable(name) => name.clone(),
            _ => part.word().to_owned(),
        };
        let value = Value::Url(self.assembled());
        Some(Given { setting, section, value, level, source, word, at })
    }

    fn assembled(self) -> StoreUrl {
        let (mut tls, mut host, mut port, mut db, mut password) = (false, HOST.to_owned(), PORT, 0, None);
        for given in self.given {
            match given {
                (Part::Tls, Value::Flag(on)) => tls = on,
                (Part::Host, Value::Text(name)) => host = name,
                (Part::Port, Value::Count(number)) => port = number,
                (Part::Db, Value::Count(number)) => db = number,
                (Part::Password, Value::Secret(secret)) => password = Some(secret),
                // The kind of a part is fixed by `Part::kind`.
                _ => {}
            }
        }
        StoreUrl::of_parts(tls, &host, port, db, password)
    }
}
