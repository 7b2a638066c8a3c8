//! A JSON Schema of `keys.toml`, so that editors complete and check it while it is written. Made from the reader's own
//! tables of words.

use serde_json::{Map, Value, json};

use crate::read::words::{FILE, Shape, TYPE_KINDS, TYPE_OPTIONS, Word};

/// The schema, as a JSON document.
#[must_use]
pub fn json_schema() -> Value {
    let mut schema = table(FILE);
    if let Value::Object(object) = &mut schema {
        let head = [
            ("$schema", json!("https://json-schema.org/draft/2020-12/schema")),
            ("title", json!("Keyplane contract")),
            ("description", json!("keys.toml: the contract of a Redis keyspace.")),
        ];
        for (index, (name, value)) in head.into_iter().enumerate() {
            object.shift_insert(index, name.to_owned(), value);
        }
        object.insert("$defs".to_owned(), json!({ "type": value_type() }));
    }
    schema
}

fn table(words: &[Word]) -> Value {
    let required: Vec<&str> = words.iter().filter(|word| word.required).map(|word| word.name).collect();
    let mut object = Map::new();
    object.insert("type".to_owned(), json!("object"));
    object.insert("additionalProperties".to_owned(), json!(false));
    if !required.is_empty() {
        object.insert("required".to_owned(), json!(required));
    }
    object.insert("properties".to_owned(), properties(words));
    Value::Object(object)
}

fn properties<'w>(words: impl IntoIterator<Item = &'w Word>) -> Value {
    let property = |word: &Word| {
        let mut value = shape(word.shape);
        if let Value::Object(object) = &mut value {
            object.insert("description".to_owned(), json!(word.doc));
        }
        (word.name.to_owned(), value)
    };
    Value::Object(words.into_iter().map(property).collect())
}

fn shape(shape: Shape) -> Value {
    let text = json!({ "type": "string" });
    let number = json!({ "type": "integer", "minimum": 0 });
    let texts = json!({ "anyOf": [text, { "type": "array", "items": text, "minItems": 1 }] });
    let by_name = |value: Value| json!({ "type": "object", "additionalProperties": value });
    let of_type = json!({ "$ref": "#/$defs/type" });
    match shape {
        Shape::Text => text,
        Shape::Texts => texts,
        Shape::Number => number,
        Shape::Flag => json!({ "type": "boolean" }),
        Shape::True => json!({ "const": true }),
        Shape::TextOrFlag => json!({ "anyOf": [text, { "const": false }] }),
        Shape::TextOrNumber => json!({ "anyOf": [text, number] }),
        Shape::Optional => json!({ "anyOf": [{ "const": true }, text, number] }),
        Shape::Table(words) => table(words),
        Shape::Named(words) => by_name(table(words)),
        Shape::NamedOrText(words) => by_name(json!({ "anyOf": [text, table(words)] })),
        Shape::Tables(words) => {
            json!({ "anyOf": [table(words), { "type": "array", "items": table(words) }] })
        }
        Shape::TextByName => by_name(text),
        Shape::TextsByName => by_name(texts),
        Shape::Type => of_type,
        Shape::TypesByName => by_name(of_type),
        Shape::Types => json!({ "type": "array", "items": of_type, "minItems": 2 }),
    }
}

/// A type: in short, or a table with exactly one kind.
fn value_type() -> Value {
    let kinds: Vec<Value> = TYPE_KINDS.iter().map(|kind| json!({ "required": [kind.name] })).collect();
    json!({
        "anyOf": [
            { "type": "string" },
            {
                "type": "object",
                "additionalProperties": false,
                "properties": properties(TYPE_KINDS.iter().chain(TYPE_OPTIONS)),
                "oneOf": kinds,
            },
        ],
    })
}
