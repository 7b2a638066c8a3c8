//! The inventory of a seed, as it was written down by reading it.

use super::*;

pub(crate) struct Inventory {
    pub(crate) keys: Vec<Entry>,
    pub(crate) examples: Vec<Entry>,
    pub(crate) commands: Vec<Entry>,
}

/// A key, an example or a command line of a seed.
pub(crate) struct Entry(pub(crate) Value);

impl Inventory {
    pub(crate) fn read(name: &str) -> Self {
        let text = read(&format!("crates/schema/tests/seeds/{name}.toml"));
        let table = DeTable::parse(&text).unwrap_or_else(|error| panic!("{name}.toml: {error}"));
        let mut all = table_value(table.get_ref());
        check_words(&all, &["key", "example", "command"]);
        let mut entries = |of: &str, words: &[&str]| -> Vec<Entry> {
            let Value::Array(entries) = all[of].take() else { panic!("{name}.toml has no [[{of}]]") };
            entries.iter().for_each(|entry| check_words(entry, words));
            entries.into_iter().map(Entry).collect()
        };
        let words = ["seed", "line", "type", "ttl", "ttl_words", "fields", "values", "members", "limits"];
        let keys = entries("key", &[words.as_slice(), &["writes", "reads", "reading"]].concat());
        for key in keys.iter().filter(|key| !key.0["reading"].is_null()) {
            check_words(&key.0["reading"], &["pattern", "type", "ttl", "fields", "why"]);
        }
        let examples = entries("example", &["key", "of", "line", "legacy"]);
        Self { keys, examples, commands: entries("command", &["line", "run"]) }
    }
}

impl Entry {
    pub(crate) fn name(&self) -> &str {
        ["seed", "key", "run"].iter().find_map(|word| self.text(word)).expect("an entry has a name")
    }

    /// The pattern of a key, by the reading where there is one.
    pub(crate) fn pattern(&self) -> &str {
        self.0["reading"]["pattern"].as_str().unwrap_or_else(|| self.must("seed"))
    }

    pub(crate) fn must(&self, word: &str) -> &str {
        self.text(word).unwrap_or_else(|| panic!("`{word}` is missing in {}", self.0))
    }

    pub(crate) fn text(&self, word: &str) -> Option<&str> {
        self.0[word].as_str()
    }

    pub(crate) fn texts(&self, word: &str) -> Vec<&str> {
        texts(&self.0[word])
    }

    /// What counts: the reading where the seed contradicts itself or says nothing, else what it states.
    pub(crate) fn read_text(&self, word: &str) -> Option<&str> {
        self.0["reading"][word].as_str().or_else(|| self.text(word))
    }

    pub(crate) fn read_texts(&self, word: &str) -> Vec<&str> {
        let reading = &self.0["reading"][word];
        texts(if reading.is_null() { &self.0[word] } else { reading })
    }

    pub(crate) fn table(&self, word: &str) -> impl Iterator<Item = (&str, &Value)> {
        self.0[word].as_object().into_iter().flatten().map(|(name, value)| (name.as_str(), value))
    }
}

/// A misspelt word would never be checked.
pub(crate) fn check_words(table: &Value, words: &[&str]) {
    for name in table.as_object().expect("a table").keys() {
        assert!(words.contains(&name.as_str()), "an inventory has no word `{name}`; it knows {words:?}");
    }
}

pub(crate) fn texts(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().map(|item| item.as_str().expect("a text")).collect()
}

pub(crate) fn table_value(table: &DeTable<'_>) -> Value {
    table.iter().map(|(name, value)| (name.get_ref().to_string(), value_of(value.get_ref()))).collect()
}

pub(crate) fn value_of(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => text.to_string().into(),
        DeValue::Integer(number) => number.as_str().parse::<u64>().expect("a number").into(),
        DeValue::Boolean(flag) => (*flag).into(),
        DeValue::Array(items) => items.iter().map(|item| value_of(item.get_ref())).collect(),
        DeValue::Table(table) => table_value(table),
        DeValue::Float(_) | DeValue::Datetime(_) => panic!("an inventory holds no {}", value.type_str()),
    }
}

// ── Small things ──
