//! The JSON Schema for editors agrees with the reader.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::{Map, Value, json};
use toml::de::{DeTable, DeValue};

fn to_json(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => json!(text),
        DeValue::Integer(number) => json!(number.as_str().parse::<i64>().unwrap()),
        DeValue::Float(number) => json!(number.as_str().parse::<f64>().unwrap()),
        DeValue::Boolean(flag) => json!(flag),
        DeValue::Datetime(date) => json!(date.to_string()),
        DeValue::Array(items) => items.iter().map(|item| to_json(item.get_ref())).collect(),
        DeValue::Table(table) => table_json(table),
    }
}

fn table_json(table: &DeTable<'_>) -> Value {
    let entry = |(name, value): (&toml::Spanned<_>, &toml::Spanned<DeValue<'_>>)| {
        (AsRef::<str>::as_ref(name.get_ref()).to_owned(), to_json(value.get_ref()))
    };
    Value::Object(table.iter().map(entry).collect::<Map<_, _>>())
}

fn accepts(source: &str) -> Result<(), String> {
    let validator = jsonschema::validator_for(&keyplane_schema::json_schema()).unwrap();
    let document = table_json(DeTable::parse(source).unwrap().get_ref());
    validator.validate(&document).map_err(|error| format!("{} at {}", error, error.instance_path()))
}

const SMALL: &str = r#"
[contract]
name = "small"
version = "1.0"
doc = "Small."
[component]
app = "App."
[key.user]
pattern = "user"
type = "hash"
ttl = { policy = "none" }
writes = ["app"]
doc = "A user."
[key.user.fields]
name = { text = true, required = true }
age = "int:0.."
"#;

#[test]
fn the_five_contracts_are_valid() {
    for system in ["mempool", "docket", "market", "swarm", "sequencer"] {
        let path = format!("{}/../../systems/{system}/keys.toml", env!("CARGO_MANIFEST_DIR"));
        accepts(&std::fs::read_to_string(path).unwrap()).unwrap_or_else(|error| panic!("{system}: {error}"));
    }
}

#[test]
fn what_the_reader_refuses_by_its_words_the_schema_refuses_too() {
    accepts(SMALL).unwrap();
    let faults = [
        ("writes = [\"app\"]", "wirtes = [\"app\"]"),
        ("type = \"hash\"", "type = 3"),
        ("doc = \"A user.\"", ""),
        ("policy = \"none\"", "policy = \"none\", four = \"2h\""),
        ("name = { text = true, required = true }", "name = { text = true, int = true }"),
        ("name = { text = true, required = true }", "name = { required = true }"),
        ("version = \"1.0\"", "version = 1"),
    ];
    for (from, to) in faults {
        let source = SMALL.replace(from, to);
        assert!(keyplane_schema::parse("keys.toml", &source).is_err(), "the reader takes {to}");
        assert!(accepts(&source).is_err(), "the schema takes {to}");
    }
}
