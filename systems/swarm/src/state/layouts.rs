//! What stands inside a JSON document, compared with its layout in the contract: what a field's own check does not look at.

use keyplane_schema::{Contract, Field, FieldMax, Layout, Shape, ValueCheck, ValueType};
use serde_json::Value;

use super::error::OpError;

/// Whether a document is as the layout of that name says. What the layout does not name may be there.
pub(super) fn check(contract: &Contract, field: &str, layout: &str, text: &str) -> Result<(), OpError> {
    // What is no JSON the field's own check has refused.
    let (Some(layout), Ok(value)) = (contract.value(layout), serde_json::from_str(text)) else {
        return Ok(());
    };
    of_layout(contract, field, layout, &value)
}

fn of_layout(contract: &Contract, at: &str, layout: &Layout, value: &Value) -> Result<(), OpError> {
    match layout.shape {
        Shape::Object => layout.fields.iter().try_for_each(|field| of_field(contract, at, field, value)),
        Shape::List => match &layout.of {
            Some(kind) => of_items(contract, at, kind, value),
            None => Ok(()),
        },
        Shape::Array | Shape::Map => Ok(()),
    }
}

fn of_field(contract: &Contract, at: &str, field: &Field, object: &Value) -> Result<(), OpError> {
    let at = format!("{at}.{}", field.name.as_str());
    match object.get(field.name.as_str()) {
        None if field.required => Err(wrong(&at, "is missing".to_owned())),
        None => Ok(()),
        Some(Value::Null) if field.nullable || !field.required => Ok(()),
        Some(value) => {
            of_kind(contract, &at, &field.kind, value)?;
            is_short(&at, field.max, value)
        }
    }
}

fn of_kind(contract: &Contract, at: &str, kind: &ValueType, value: &Value) -> Result<(), OpError> {
    match kind {
        ValueType::List(kind) => of_items(contract, at, kind, value),
        ValueType::Json(Some(layout)) => match contract.value(layout) {
            Some(layout) if value.is_object() || layout.shape != Shape::Object => {
                of_layout(contract, at, layout, value)
            }
            _ => Err(no_such(at, kind, value)),
        },
        ValueType::OneOf { words, open: false, .. } => match value.as_str() {
            Some(word) if words.iter().any(|known| known == word) => Ok(()),
            _ => Err(wrong(at, format!("cannot be {value}: it is one of {}", words.join(", ")))),
        },
        ValueType::Text if !value.is_string() => Err(no_such(at, kind, value)),
        kind => {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            match ValueCheck::new(contract, kind).accepts(text.as_bytes()) {
                true => Ok(()),
                false => Err(no_such(at, kind, value)),
            }
        }
    }
}

fn of_items(contract: &Contract, at: &str, kind: &ValueType, value: &Value) -> Result<(), OpError> {
    let Some(items) = value.as_array() else {
        return Err(wrong(at, format!("cannot be {value}: it is a list of {kind}")));
    };
    let mut numbered = items.iter().enumerate();
    numbered.try_for_each(|(number, item)| of_kind(contract, &format!("{at}[{number}]"), kind, item))
}

fn is_short(at: &str, max: Option<FieldMax>, value: &Value) -> Result<(), OpError> {
    let Some(text) = value.as_str() else { return Ok(()) };
    match max {
        Some(FieldMax::Chars(most)) if text.chars().count() as u64 > most => {
            Err(wrong(at, format!("has {} characters, and {most} are allowed", text.chars().count())))
        }
        Some(FieldMax::Bytes(most)) if text.len() as u64 > most => {
            Err(wrong(at, format!("has {} bytes, and {most} are allowed", text.len())))
        }
        _ => Ok(()),
    }
}

fn no_such(at: &str, kind: &ValueType, value: &Value) -> OpError {
    wrong(at, format!("cannot be {value}: it is {kind}"))
}

fn wrong(at: &str, why: String) -> OpError {
    OpError::Layout { field: at.to_owned(), why }
}
