//! Keys: pattern, type, TTL, owners and the rest.

use super::types::life_cycle;
use super::words::TTL;
use super::{Reader, closest};
use crate::diagnostic::{Code, Diagnostic, Span};
use crate::model::{Before, How, Key, KeyPlaces, Owner, Policy, Tag, Ttl, ValueType};
use crate::node::{Kind, Name, Node, Table};
use crate::pattern::Pattern;
use crate::units;
use crate::verbs::{RedisType, Verb};

impl Reader<'_> {
    pub(super) fn key(&mut self, name: &Name, node: &Node, default_tag: Option<&str>) -> Option<Key> {
        let table = node.table()?;
        let at = |word: &str| table.get(word).map_or(name.at, |node| node.at);
        let places = KeyPlaces {
            name: name.at,
            pattern: at("pattern"),
            ttl: at("ttl"),
            max: at("max"),
            tag: at("tag"),
            life: ["alias_of", "replaced_by"]
                .iter()
                .find_map(|word| table.get(word))
                .map_or(name.at, |node| node.at),
            refers: ["member_of", "index_of", "fields_of", "via"]
                .iter()
                .find_map(|word| table.get(word))
                .map_or(name.at, |node| node.at),
            example: at("example"),
        };
        let pattern = table.text("pattern").and_then(|text| self.pattern(text, places.pattern));
        let types = self.types(table);
        let ttl = table.get("ttl").and_then(|ttl| self.ttl(ttl));
        let element = self.element(table, &types);
        let fields = self.key_fields(table, &types);
        self.dates(table, name);
        let (pattern, ttl) = (pattern?, ttl?);
        let tag = self.tag(table, &pattern, places, default_tag);
        let text = |word: &str| table.text(word).map(str::to_owned);
        Some(Key {
            name: name.text.clone(),
            types: types?,
            tag,
            ttl,
            max: table.get("max").map(|max| self.limits(max)).unwrap_or_default(),
            doc: text("doc").unwrap_or_default(),
            note: text("note"),
            fields,
            element,
            score: table.get("score").and_then(|score| self.value_type(score)),
            owners: owners(table),
            member_of: text("member_of"),
            index_of: text("index_of"),
            via_outbox: self.via(table),
            fields_of: text("fields_of"),
            helper_of: None,
            acl_reach: text("acl_reach"),
            examples: table.texts("example"),
            life: life_cycle(table),
            uses: uses(table),
            at: places,
            pattern,
        })
    }

    fn types(&mut self, table: &Table) -> Option<Vec<RedisType>> {
        let mut types = Vec::new();
        for word in table.get("type").map(Node::texts).unwrap_or_default() {
            let Some(kind) = RedisType::parse(&word.text) else {
                let all: Vec<&str> = RedisType::ALL.iter().map(|kind| kind.word()).collect();
                let help = match closest(&word.text, &all) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("types: {}", all.join(", ")),
                };
                self.error(
                    Code::BadValue,
                    format!("`{}` is not a Redis type", word.text),
                    word.at,
                    "not known",
                )
                .help = Some(help);
                return None;
            };
            if types.contains(&kind) {
                self.error(Code::BadValue, format!("`{kind}` is named twice"), word.at, "again");
            } else {
                types.push(kind);
            }
        }
        (!types.is_empty()).then_some(types)
    }

    fn element(&mut self, table: &Table, types: &Option<Vec<RedisType>>) -> Option<ValueType> {
        let words = [
            ("value", RedisType::String),
            ("items", RedisType::List),
            ("members", RedisType::Set),
            ("score", RedisType::Zset),
        ];
        let types = types.as_ref()?;
        let mut element = None;
        for (word, kind) in words {
            let Some(node) = table.get(word) else { continue };
            let fits = types.contains(&kind) || (word == "members" && types.contains(&RedisType::Zset));
            if !fits {
                let message = format!(
                    "`{word}` does not go with a {}",
                    types.iter().map(|kind| kind.word()).collect::<Vec<_>>().join(" or ")
                );
                let help =
                    "value: string; items: list; members: set and zset; score: zset; fields: hash and stream";
                self.error(Code::BadValue, message, node.at, "not for this type").help =
                    Some(help.to_owned());
            } else if word != "score" {
                element = self.value_type(node);
            }
        }
        element
    }

    fn key_fields(&mut self, table: &Table, types: &Option<Vec<RedisType>>) -> Vec<crate::model::Field> {
        let Some(node) = table.get("fields") else { return Vec::new() };
        if let Some(types) = types
            && !types.iter().any(|kind| matches!(kind, RedisType::Hash | RedisType::Stream))
        {
            let message = format!("`fields` do not go with a {}", types[0]);
            self.error(Code::BadValue, message, first_entry(node), "only a hash or a stream has fields");
        }
        self.fields(node)
    }

    fn tag(
        &mut self,
        table: &Table,
        pattern: &Pattern,
        places: KeyPlaces,
        default: Option<&str>,
    ) -> Option<Tag> {
        let own = table.get("tag");
        if let Some(braced) = pattern.braced() {
            let said = own.and_then(Node::text);
            if said.is_none() && !braced.contains('<') {
                self.literal_braces(braced, places.pattern);
            } else if own.is_some() && said != Some(braced) {
                let message = "the pattern has its hash tag in braces already";
                self.error(Code::BadValue, message, places.tag, "a second tag");
            }
            return Some(Tag::Braced(braced.to_owned()));
        }
        let part = match own.map(|node| &node.kind) {
            Some(Kind::Flag(_)) => return None,
            Some(Kind::Text(part)) => part.as_str(),
            _ => default
                .filter(|&part| part == "<namespace>" || part_start(pattern.as_str(), part).is_some())?,
        };
        if part == "<namespace>" {
            return Some(Tag::Namespace);
        }
        let Some(start) = part_start(pattern.as_str(), part) else {
            let (message, label) = if pattern.as_str().contains(part) {
                (
                    format!("the hash tag `{part}` cuts a part of the pattern in two"),
                    "takes whole words and whole <placeholders>",
                )
            } else {
                (format!("the hash tag `{part}` is not a part of the pattern"), "not found there")
            };
            self.found.push(
                Diagnostic::error(Code::BadValue, message, places.tag, label)
                    .also(places.pattern, "in this pattern"),
            );
            return None;
        };
        Some(Tag::Part { text: part.to_owned(), start })
    }

    pub(super) fn dates(&mut self, table: &Table, name: &Name) {
        let date = |word: &str| table.get(word).and_then(|node| Some((node.text()?, node.at)));
        let mut sound = true;
        for word in ["deprecated", "remove_after"] {
            if let Some((text, at)) = date(word).filter(|(text, _)| !is_date(text)) {
                self.error(
                    Code::LifeCycle,
                    format!("`{word}` takes a date, not `{text}`"),
                    at,
                    "write YYYY-MM-DD",
                );
                sound = false;
            }
        }
        match (date("deprecated"), date("remove_after")) {
            (None, Some((_, at))) if sound => {
                let message = format!("`{}` has `remove_after` without `deprecated`", name.text);
                self.error(Code::LifeCycle, message, at, "say first since when it is deprecated");
            }
            (Some((deprecated, since)), Some((removed, at))) if sound && removed < deprecated => {
                let message = format!(
                    "`{}` would be removed on {removed}, before it is deprecated on {deprecated}",
                    name.text
                );
                self.found.push(
                    Diagnostic::error(Code::LifeCycle, message, at, "too early")
                        .also(since, "deprecated only then"),
                );
            }
            _ => {}
        }
    }

    /// Most pages write placeholders in braces, so a word in braces must be meant as the literal hash tag it is.
    fn literal_braces(&mut self, word: &str, at: Span) {
        let mut name = String::new();
        for c in word.chars().filter(char::is_ascii_alphanumeric) {
            name.push_str(if c.is_ascii_uppercase() && !name.is_empty() { "_" } else { "" });
            name.push(c.to_ascii_lowercase());
        }
        let name = if word.contains('_') { word.to_lowercase() } else { name };
        let message = format!("`{{{word}}}` is a literal hash tag: every key would hold this very word");
        let help = format!(
            "a placeholder is written `<{name}>`; if the word is meant, confirm it with `tag = \"{word}\"`"
        );
        self.error(Code::BadPattern, message, at, "not a placeholder").help = Some(help);
    }

    fn via(&mut self, table: &Table) -> bool {
        match table.get("via") {
            None => false,
            Some(node) if node.text() == Some("outbox") => true,
            Some(node) => {
                self.error(Code::BadValue, "`via` knows only \"outbox\"", node.at, "here");
                false
            }
        }
    }

    fn ttl(&mut self, node: &Node) -> Option<Ttl> {
        let table = node.table()?;
        let policy = self.policy(table, node.at)?;
        Some(Ttl {
            policy,
            doc: table.text("doc").map(str::to_owned),
            setting: table.text("setting").map(str::to_owned),
        })
    }

    fn policy(&mut self, table: &Table, at: Span) -> Option<Policy> {
        let word = table.text("policy")?;
        let allowed: &[&str] = match word {
            "none" => &[],
            "fixed" | "sliding" | "refreshed" | "max" => &["for"],
            "linked" => &["to", "for"],
            "pruned" => &["for", "key", "by"],
            "after" => &["event", "for", "before"],
            other => {
                let all = ["none", "fixed", "sliding", "linked", "refreshed", "pruned", "after", "max"];
                let help = match closest(other, &all) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("policies: {}", all.join(", ")),
                };
                let at = table.get("policy").map_or(at, |node| node.at);
                self.error(Code::BadValue, format!("`{other}` is not a TTL policy"), at, "not known").help =
                    Some(help);
                return None;
            }
        };
        // What no policy knows is already told.
        for (name, _) in
            table.entries.iter().filter(|(name, _)| TTL.iter().any(|word| word.name == name.text))
        {
            if !allowed.contains(&name.text.as_str())
                && !["policy", "doc", "setting"].contains(&name.text.as_str())
            {
                self.error(
                    Code::BadValue,
                    format!("the policy `{word}` has no `{}`", name.text),
                    name.at,
                    "not for this policy",
                );
            }
        }
        let lasts = |reader: &mut Self| {
            reader.needed(table, "for", word, at).and_then(|node| reader.parsed(node, units::duration))
        };
        match word {
            "none" => Some(Policy::None),
            "fixed" => lasts(self).map(Policy::Fixed),
            "sliding" => lasts(self).map(Policy::Sliding),
            "refreshed" => lasts(self).map(Policy::Refreshed),
            "max" => lasts(self).map(Policy::Max),
            "linked" => Some(Policy::Linked {
                to: self.needed(table, "to", word, at)?.text()?.to_owned(),
                at_least: table.get("for").and_then(|node| self.parsed(node, units::duration)),
            }),
            "pruned" => Some(Policy::Pruned {
                members: lasts(self)?,
                key: table.get("key").and_then(|node| self.parsed(node, units::duration)),
                by: table.text("by").map(str::to_owned),
            }),
            _ => Some(Policy::After {
                event: self.needed(table, "event", word, at)?.text()?.to_owned(),
                lasts: lasts(self)?,
                before: table.table("before").and_then(|before| self.before(before)),
            }),
        }
    }

    fn before(&mut self, table: &Table) -> Option<Before> {
        let lasts = table.get("for").and_then(|node| self.parsed(node, units::duration))?;
        Some(Before { lasts, plus: table.text("plus").map(str::to_owned) })
    }

    fn needed<'t>(&mut self, table: &'t Table, word: &str, policy: &str, at: Span) -> Option<&'t Node> {
        let node = table.get(word);
        if node.is_none() {
            self.error(
                Code::Missing,
                format!("the policy `{policy}` needs `{word}`"),
                at,
                format!("says no `{word}`"),
            );
        }
        node
    }
}

fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let number =
        |part: &str, length: usize| (part.len() == length).then(|| part.parse::<u32>().ok()).flatten();
    match parts.as_slice() {
        [year, month, day] => {
            number(year, 4).is_some()
                && number(month, 2).is_some_and(|m| (1..=12).contains(&m))
                && number(day, 2).is_some_and(|d| (1..=31).contains(&d))
        }
        _ => false,
    }
}

/// Where `part` stands in the pattern as whole words and whole placeholders.
fn part_start(pattern: &str, part: &str) -> Option<usize> {
    let balanced = part.matches('<').count() == part.matches('>').count();
    let starts = pattern.match_indices(part).map(|(start, _)| start);
    starts.filter(|_| balanced && !part.is_empty()).find(|&start| whole(pattern, start, part.len()))
}

/// A tag must not cut a word in two: what stands before and after it is an end or punctuation.
fn whole(pattern: &str, start: usize, length: usize) -> bool {
    let joins = |byte: Option<&u8>| byte.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
    let bytes = pattern.as_bytes();
    let inner = &bytes[start..start + length];
    let cut_left = start > 0 && joins(bytes.get(start - 1)) && joins(inner.first());
    let cut_right = joins(bytes.get(start + length)) && joins(inner.last());
    let in_placeholder = pattern[..start].rfind('<').is_some_and(|open| !pattern[open..start].contains('>'));
    !cut_left && !cut_right && !in_placeholder
}

fn owners(table: &Table) -> Vec<Owner> {
    let verbs = Verb::ALL.into_iter().map(|verb| (verb.owner_word(), How::By(verb)));
    let words = [("writes", How::Writes), ("reads", How::Reads)].into_iter().chain(verbs);
    let owner = |(word, how): (&str, How)| {
        let names = table.get(word).map(Node::texts).unwrap_or_default();
        names.into_iter().map(move |name| Owner { component: name.text, how, at: name.at })
    };
    words.flat_map(owner).collect()
}

fn uses(table: &Table) -> Vec<(String, Span)> {
    let Some(node) = table.get("use") else { return Vec::new() };
    let tables: Vec<&Node> = match &node.kind {
        Kind::List(items) => items.iter().collect(),
        _ => vec![node],
    };
    tables
        .iter()
        .filter_map(|node| Some((node.table()?.text("kit")?.to_owned(), node.table()?.get("kit")?.at)))
        .collect()
}

fn first_entry(node: &Node) -> Span {
    node.table().and_then(|table| table.entries.first()).map_or(node.at, |(name, _)| name.at)
}
