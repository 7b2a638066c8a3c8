//! From text to model. Finds as many faults as it can in one pass.

mod key;
mod param;
mod types;
pub(crate) mod words;

use crate::diagnostic::{Code, Diagnostic, Span};
use crate::model::{
    Component, Contract, Encoding, Event, Key, Layout, Limits, Op, OpKey, Shape as LayoutShape, Version,
};
use crate::node::{Kind, Name, Node, Table};
use crate::pattern::is_name;
use crate::units;
use crate::verbs::Verb;
use words::{Shape, Word};

/// Collects faults while reading.
pub(crate) struct Reader<'s> {
    pub(crate) source: &'s str,
    pub(crate) found: Vec<Diagnostic>,
}

/// Reads a whole contract. What could not be read is missing from the model and named in `found`.
pub(crate) fn contract(source: &str, table: &Table) -> (Contract, Vec<Diagnostic>) {
    let mut reader = Reader { source, found: Vec::new() };
    reader.words(table, words::FILE, "this file", Span::new(0, 0));
    let head = table.table("contract");
    let text = |word: &str| head.and_then(|head| head.text(word)).unwrap_or_default().to_owned();
    let mut contract = Contract {
        name: text("name"),
        version: reader.version(head.and_then(|head| head.get("version"))),
        doc: text("doc"),
        namespace: text("namespace"),
        limits: table.get("limits").map(|node| reader.limits(node)).unwrap_or_default(),
        events: events(table),
        params: Vec::new(),
        components: Vec::new(),
        keys: Vec::new(),
        values: Vec::new(),
        ops: Vec::new(),
    };
    reader.head(head, &contract);
    let default_tag = head.and_then(|head| head.text("tag"));
    contract.params = reader.named(table, "param", is_name, |reader, name, node| reader.param(name, node));
    contract.components =
        reader.named(table, "component", is_component, |_, name, node| Some(component(name, node)));
    contract.values = reader.named(table, "value", is_layout, |reader, name, node| reader.layout(name, node));
    contract.keys =
        reader.named(table, "key", is_name, |reader, name, node| reader.key(name, node, default_tag));
    reader.default_tag(head, &contract.keys);
    contract.ops = reader.named(table, "op", is_name, |reader, name, node| reader.op(name, node));
    (contract, reader.found)
}

/// Reads the helper keys of a kit fragment whose `<host>` has been filled in.
pub(crate) fn fragment_keys(source: &str, table: &Table) -> (Vec<Key>, Vec<Diagnostic>) {
    let mut reader = Reader { source, found: Vec::new() };
    reader.words(table, words::FRAGMENT_FILE, "a fragment", Span::new(0, 0));
    let keys = reader.named(table, "key", is_name, |reader, name, node| reader.key(name, node, None));
    (keys, reader.found)
}

impl Reader<'_> {
    pub(crate) fn error(
        &mut self,
        code: Code,
        message: impl Into<String>,
        at: Span,
        label: impl Into<String>,
    ) -> &mut Diagnostic {
        self.found.push(Diagnostic::error(code, message, at, label));
        let last = self.found.len() - 1;
        &mut self.found[last]
    }

    fn head(&mut self, head: Option<&Table>, contract: &Contract) {
        let Some(head) = head else { return };
        if let Some(node) = head.get("name")
            && !is_component(&contract.name)
        {
            let message = format!("`{}` cannot name a contract", contract.name);
            self.error(Code::BadName, message, node.at, "lower-case letters, digits, `-` and `_`");
        }
        if let Some(node) = head.get("namespace")
            && contract.namespace.split(':').any(|part| !is_namespace_part(part))
            && !contract.namespace.is_empty()
        {
            let message = format!("`{}` cannot be a namespace", contract.namespace);
            self.error(Code::BadName, message, node.at, "letters, digits, `_`, `-`, `.`, with `:` between");
        }
    }

    /// A default hash tag that no key has is a typo that would be found on a cluster only.
    fn default_tag(&mut self, head: Option<&Table>, keys: &[Key]) {
        let Some(node) = head.and_then(|head| head.get("tag")) else { return };
        let Some(tag) = node.text() else { return };
        // Keys that could not be read may be the ones that have it.
        if self.found.is_empty()
            && !keys.iter().any(|key| key.tag.as_ref().is_some_and(|own| own.template() == tag))
        {
            self.error(
                Code::BadValue,
                format!("no key has the hash tag `{tag}`"),
                node.at,
                "in no pattern",
            )
            .help =
                Some("a tag is a part of patterns, such as \"<swarm_id>\", or \"<namespace>\"".to_owned());
        }
    }

    /// Reads every entry of a table of tables, complaining about names that are not.
    fn named<T>(
        &mut self,
        table: &Table,
        word: &str,
        valid: fn(&str) -> bool,
        mut read: impl FnMut(&mut Self, &Name, &Node) -> Option<T>,
    ) -> Vec<T> {
        let Some(entries) = table.table(word) else { return Vec::new() };
        let mut all = Vec::new();
        for (name, node) in &entries.entries {
            if !valid(&name.text) {
                let message = format!("`{}` cannot be a name in [{word}]", name.text);
                let help = match word {
                    "component" => "use lower-case letters, digits, `-` and `_`",
                    "value" => "use letters and digits, starting with a capital",
                    _ => "use lower-case letters, digits and `_`",
                };
                self.error(Code::BadName, message, name.at, "not a usable name").help = Some(help.to_owned());
            }
            all.extend(read(self, name, node));
        }
        all
    }

    /// Complains about unknown words, wrong shapes and missing words; descends into tables.
    pub(crate) fn words(&mut self, table: &Table, words: &[Word], place: &str, at: Span) {
        for (name, node) in &table.entries {
            match words.iter().find(|word| word.name == name.text) {
                Some(word) => self.shape(&name.text, node, word.shape, place),
                None => self.unknown_word(name, words, place),
            }
        }
        for word in words.iter().filter(|word| word.required && table.get(word.name).is_none()) {
            let message = format!("{place} has no `{}`", word.name);
            self.error(Code::Missing, message, at, "add it here").help =
                Some(format!("`{}`: {}", word.name, word.doc));
        }
    }

    fn unknown_word(&mut self, name: &Name, words: &[Word], place: &str) {
        let names: Vec<&str> = words.iter().map(|word| word.name).collect();
        let help = match closest(&name.text, &names) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("{place} knows: {}", names.join(", ")),
        };
        let message = format!("{place} has no word `{}`", name.text);
        self.error(Code::UnknownWord, message, name.at, "not known here").help = Some(help);
    }

    fn shape(&mut self, name: &str, node: &Node, shape: Shape, place: &str) {
        let fits = match (shape, &node.kind) {
            (Shape::Text, Kind::Text(_))
            | (Shape::Number, Kind::Int(0..))
            | (Shape::Flag, Kind::Flag(_))
            | (Shape::TextOrFlag, Kind::Text(_) | Kind::Flag(false))
            | (Shape::TextOrNumber, Kind::Text(_) | Kind::Int(0..))
            | (Shape::True, Kind::Flag(true))
            | (Shape::Optional, Kind::Flag(true) | Kind::Text(_) | Kind::Int(0..))
            | (Shape::Type, Kind::Text(_) | Kind::Table(_))
            | (Shape::Texts, Kind::Text(_)) => true,
            (Shape::Texts, Kind::List(items)) if !items.is_empty() => {
                for item in items.iter().filter(|item| item.text().is_none()) {
                    self.wrong_shape(name, item, expected(Shape::Text), place);
                }
                true
            }
            (Shape::Types, Kind::List(items)) => {
                items.len() > 1 && items.iter().all(|item| item.text().or(item.table().map(|_| "")).is_some())
            }
            (Shape::Table(words) | Shape::Tables(words), Kind::Table(table)) => {
                self.words(table, words, &format!("`{name}`"), node.at);
                true
            }
            (Shape::Tables(words), Kind::List(items)) if items.iter().all(|item| item.table().is_some()) => {
                for item in items {
                    self.shape(name, item, Shape::Tables(words), place);
                }
                true
            }
            (Shape::Named(words) | Shape::NamedOrText(words), Kind::Table(table)) => {
                for (entry, inner) in &table.entries {
                    match &inner.kind {
                        Kind::Table(inner_table) => {
                            self.words(inner_table, words, &format!("[{name}.{}]", entry.text), entry.at)
                        }
                        Kind::Text(_) if matches!(shape, Shape::NamedOrText(_)) => {}
                        _ => self.wrong_shape(
                            &format!("{name}.{}", entry.text),
                            inner,
                            expected_entry(shape),
                            place,
                        ),
                    }
                }
                true
            }
            (Shape::TextByName | Shape::TextsByName | Shape::TypesByName, Kind::Table(table)) => {
                for (entry, inner) in &table.entries {
                    let fits = match shape {
                        Shape::TextByName => inner.text().is_some(),
                        Shape::TextsByName => match &inner.kind {
                            Kind::List(items) => {
                                !items.is_empty() && items.iter().all(|item| item.text().is_some())
                            }
                            _ => inner.text().is_some(),
                        },
                        _ => inner.text().is_some() || inner.table().is_some(),
                    };
                    if !fits {
                        self.wrong_shape(
                            &format!("{name}.{}", entry.text),
                            inner,
                            expected_entry(shape),
                            place,
                        );
                    }
                }
                true
            }
            _ => false,
        };
        if !fits {
            self.wrong_shape(name, node, expected(shape), place);
        }
    }

    fn wrong_shape(&mut self, name: &str, node: &Node, expected: &str, place: &str) {
        let message = format!("`{name}` in {place} takes {expected}");
        let label = match &node.kind {
            Kind::Flag(flag) => format!("this is {flag}"),
            Kind::Int(..0) => "this is below 0".to_owned(),
            Kind::List(items) if items.is_empty() => "this list is empty".to_owned(),
            Kind::List(items) if items.len() == 1 && expected.contains("two or more") => {
                "this list has one".to_owned()
            }
            Kind::Int(_) | Kind::Other("a fraction") if expected == "a text" => {
                format!("this is {}; put it in quotes", node.kind_name())
            }
            _ => format!("this is {}", node.kind_name()),
        };
        self.error(Code::BadValue, message, node.at, label).help = match name {
            "ttl" => Some("as in `{ policy = \"sliding\", for = \"1h\" }`".to_owned()),
            "use" => Some("as in `{ kit = \"queue\" }`".to_owned()),
            _ if name.starts_with("param.") => {
                Some("as in `{ text = true }` or `{ like = '[a-z0-9]+' }`".to_owned())
            }
            _ => None,
        };
    }

    fn version(&mut self, node: Option<&Node>) -> Version {
        let Some((node, text)) = node.and_then(|node| node.text().map(|text| (node, text))) else {
            return Version::default();
        };
        let parts = text.split_once('.').and_then(|(major, minor)| {
            Some(Version { major: major.parse().ok()?, minor: minor.parse().ok()? })
        });
        parts.unwrap_or_else(|| {
            self.error(
                Code::BadValue,
                format!("`{text}` is not a version"),
                node.at,
                "write MAJOR.MINOR, such as \"1.0\"",
            );
            Version::default()
        })
    }

    pub(crate) fn limits(&mut self, node: &Node) -> Limits {
        let Some(table) = node.table() else { return Limits::default() };
        let number = |word: &str| match table.get(word).map(|node| &node.kind) {
            Some(Kind::Int(number)) => u64::try_from(*number).ok(),
            _ => None,
        };
        Limits {
            bytes: table.get("bytes").and_then(|node| self.parsed(node, units::size)),
            fields: number("fields"),
            members: number("members"),
            total: table.get("total").and_then(|node| self.parsed(node, units::size)),
        }
    }

    /// Parses a text, turning the parser's word into a finding at its place.
    pub(crate) fn parsed<T>(&mut self, node: &Node, parse: impl Fn(&str) -> Result<T, String>) -> Option<T> {
        match parse(node.text()?) {
            Ok(value) => Some(value),
            Err(reason) => {
                self.error(Code::BadValue, reason, node.at, "here");
                None
            }
        }
    }

    fn layout(&mut self, name: &Name, node: &Node) -> Option<Layout> {
        let table = node.table()?;
        let encoding = match table.text("encoding") {
            Some("cbor") => Encoding::Cbor,
            Some("json") | None => Encoding::Json,
            Some(other) => {
                let at = table.get("encoding").map_or(name.at, |node| node.at);
                self.error(Code::BadValue, format!("`{other}` is not an encoding"), at, "json or cbor");
                Encoding::Json
            }
        };
        let shape = match table.text("shape") {
            Some("array") => LayoutShape::Array,
            Some("list") => LayoutShape::List,
            Some("map") => LayoutShape::Map,
            Some("object") | None => LayoutShape::Object,
            Some(other) => {
                let at = table.get("shape").map_or(name.at, |node| node.at);
                self.error(
                    Code::BadValue,
                    format!("`{other}` is not a shape"),
                    at,
                    "object, array, list or map",
                );
                LayoutShape::Object
            }
        };
        let fields = table.get("fields").map(|fields| self.fields(fields)).unwrap_or_default();
        let of = table.get("of").and_then(|of| self.value_type(of));
        let many = matches!(shape, LayoutShape::List | LayoutShape::Map);
        if table.get(if many { "of" } else { "fields" }).is_none() {
            let message = format!("[value.{}] does not say what it holds", name.text);
            self.error(
                Code::Missing,
                message,
                name.at,
                if many { "a list or map needs `of`" } else { "needs `fields`" },
            );
        }
        Some(Layout {
            name: name.text.clone(),
            encoding,
            shape,
            doc: table.text("doc").unwrap_or_default().to_owned(),
            fields,
            of,
            at: name.at,
        })
    }

    fn op(&mut self, name: &Name, node: &Node) -> Option<Op> {
        let table = node.table()?;
        let named = |word: &str| {
            table.get(word).map(Node::texts).unwrap_or_default().into_iter().map(|name| (name.text, name.at))
        };
        let keys = table
            .table("keys")
            .map(|keys| keys.entries.iter().map(|(key, verbs)| self.op_key(key, verbs)).collect())
            .unwrap_or_default();
        Some(Op {
            name: name.text.clone(),
            doc: table.text("doc").unwrap_or_default().to_owned(),
            by: named("by").collect(),
            script: table.text("script").map(str::to_owned),
            kit: named("kit").next(),
            keys,
            atomic: table.get("atomic").is_none() || table.flag("atomic"),
            event: named("event").next(),
            at: name.at,
        })
    }

    fn op_key(&mut self, key: &Name, verbs: &Node) -> OpKey {
        let mut known = Vec::new();
        for verb in verbs.texts() {
            match Verb::parse(&verb.text) {
                Some(parsed) => known.push(parsed),
                None => {
                    let all: Vec<&str> = Verb::ALL.iter().map(|verb| verb.word()).collect();
                    let near = Verb::meant(&verb.text).map(Verb::word).or_else(|| closest(&verb.text, &all));
                    let help = match near {
                        Some(near) => format!("did you mean `{near}`?"),
                        None => format!("verbs: {}", all.join(", ")),
                    };
                    self.error(Code::Verb, format!("`{}` is not a verb", verb.text), verb.at, "not known")
                        .help = Some(help);
                }
            }
        }
        OpKey { key: key.text.clone(), verbs: known, at: key.at }
    }
}

fn events(table: &Table) -> Vec<Event> {
    let Some(events) = table.table("event") else { return Vec::new() };
    let event = |(name, node): &(Name, Node)| Event {
        name: name.text.clone(),
        doc: node.text().unwrap_or_default().to_owned(),
    };
    events.entries.iter().map(event).collect()
}

fn component(name: &Name, node: &Node) -> Component {
    let table = node.table();
    Component {
        name: name.text.clone(),
        doc: node.text().or(table.and_then(|table| table.text("doc"))).unwrap_or_default().to_owned(),
        read_only: table.is_some_and(|table| table.flag("read_only")),
        extra: table
            .and_then(|table| table.get("extra"))
            .map(Node::texts)
            .unwrap_or_default()
            .into_iter()
            .map(|name| name.text)
            .collect(),
        at: name.at,
    }
}

fn expected(shape: Shape) -> &'static str {
    match shape {
        Shape::Text => "a text",
        Shape::Texts => "a text or a list of texts",
        Shape::Number => "a number, 0 or more",
        Shape::Flag => "true or false",
        Shape::TextOrFlag => "a text, or false",
        Shape::TextOrNumber => "a number, or a size such as \"100KB\"",
        Shape::True => "true",
        Shape::Optional => "true, a text or a number",
        Shape::Type => "a type: a short text such as \"int\", or a table",
        Shape::Types => "a list of two or more types",
        Shape::Table(_) | Shape::Named(_) | Shape::NamedOrText(_) => "a table",
        Shape::Tables(_) => "a table or a list of tables",
        Shape::TextByName => "a table of texts",
        Shape::TextsByName => "a table of texts or lists of texts",
        Shape::TypesByName => "a table of types",
    }
}

/// What an entry of a table of many takes.
fn expected_entry(shape: Shape) -> &'static str {
    match shape {
        Shape::NamedOrText(_) => "a text or a table",
        Shape::TextByName => expected(Shape::Text),
        Shape::TextsByName => expected(Shape::Texts),
        Shape::TypesByName => expected(Shape::Type),
        _ => "a table",
    }
}

fn is_component(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_')
}

fn is_layout(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_uppercase()) && text.bytes().all(|b| b.is_ascii_alphanumeric())
}

pub(crate) fn is_namespace_part(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(&b))
}

/// The candidate that differs in at most a third of its letters, for "did you mean". Two letters that changed places
/// count as one difference.
#[must_use]
pub fn closest<'c>(word: &str, candidates: &[&'c str]) -> Option<&'c str> {
    let best = candidates.iter().map(|candidate| (distance(word, candidate), *candidate)).min()?;
    (best.0 <= word.chars().count().max(3) / 3).then_some(best.1)
}

fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 0..a.len() {
        let mut row = vec![i + 1];
        for j in 0..b.len() {
            let mut best = (above[j] + usize::from(a[i] != b[j])).min(above[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        (before, above) = (above, row);
    }
    above[b.len()]
}
