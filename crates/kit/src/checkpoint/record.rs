//! One record: its fields in one order, as bytes.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::snapshot::{Cursor, Damaged, put};

/// Fields and values of a record, in the order of the fields' names and each once: the same record always has the same bytes.
///
/// Cheap to clone. One that was read from a snapshot shares its bytes, and keeps all of them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Body(Bytes);

impl Body {
    /// Of these fields, in any order. Of a name that comes twice the last counts.
    pub fn new<F: AsRef<[u8]>, V: AsRef<[u8]>>(fields: impl IntoIterator<Item = (F, V)>) -> Self {
        let mut fields: Vec<(F, V)> = fields.into_iter().collect();
        fields.sort_by(|one, other| one.0.as_ref().cmp(other.0.as_ref()));
        let is_last =
            |at: usize| fields.get(at + 1).is_none_or(|(next, _)| next.as_ref() != fields[at].0.as_ref());
        let last: Vec<&(F, V)> = (0..fields.len()).filter(|at| is_last(*at)).map(|at| &fields[at]).collect();
        let mut bytes =
            Vec::with_capacity(last.iter().map(|(f, v)| f.as_ref().len() + v.as_ref().len() + 4).sum());
        super::snapshot::put_number(&mut bytes, last.len());
        for (field, value) in last {
            put(&mut bytes, field.as_ref());
            put(&mut bytes, value.as_ref());
        }
        Self(bytes.into())
    }

    /// From bytes that others have written: only in the one order.
    pub(super) fn read(bytes: Bytes) -> Result<Self, Damaged> {
        let mut cursor = Cursor::new(&bytes);
        let mut before: Option<&[u8]> = None;
        for _ in 0..cursor.count(2)? {
            let field = cursor.bytes()?;
            if before.is_some_and(|before| before >= field) {
                return Err(Damaged::Order);
            }
            before = Some(field);
            cursor.bytes()?;
        }
        cursor.end()?;
        Ok(Self(bytes))
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Fields and values in order.
    pub fn fields(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let mut cursor = Cursor::new(&self.0);
        // Only whole bodies are made, so every read succeeds.
        let count = cursor.count(2).unwrap_or_default();
        (0..count).map_while(move |_| Some((cursor.bytes().ok()?, cursor.bytes().ok()?)))
    }

    /// A field's value.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.fields().find(|(field, _)| *field == name.as_bytes()).map(|(_, value)| value)
    }

    /// A field's value, if it is text.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(|value| std::str::from_utf8(value).ok())
    }

    /// The same with these fields, and without those that are given as `None`.
    #[must_use]
    pub fn with<'a>(&'a self, changes: impl IntoIterator<Item = (&'a str, Option<Vec<u8>>)>) -> Self {
        let mut fields: BTreeMap<&[u8], Vec<u8>> =
            self.fields().map(|(field, value)| (field, value.to_vec())).collect();
        for (field, value) in changes {
            match value {
                Some(value) => fields.insert(field.as_bytes(), value),
                None => fields.remove(field.as_bytes()),
            };
        }
        Self::new(fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_fields_are_the_same_bytes_in_whatever_order() {
        let one = Body::new([("status", "idle"), ("role", "coder"), ("status", "busy")]);
        let other = Body::new([("role", "coder"), ("status", "busy")]);
        assert_eq!(one, other);
        assert_eq!(
            (one.text("status"), one.text("role"), one.text("type")),
            (Some("busy"), Some("coder"), None)
        );
        assert_eq!(Body::read(Bytes::copy_from_slice(one.bytes())), Ok(other));
    }

    #[test]
    fn another_order_is_no_body() {
        let mut bytes = vec![2];
        put(&mut bytes, b"b");
        put(&mut bytes, b"");
        put(&mut bytes, b"a");
        put(&mut bytes, b"");
        assert_eq!(Body::read(bytes.into()), Err(Damaged::Order));
    }

    #[test]
    fn fields_are_changed_added_and_taken_away() {
        let body = Body::new([("a", "1"), ("b", "2")]);
        let changed = body.with([("a", None), ("b", Some(b"3".to_vec())), ("c", Some(b"4".to_vec()))]);
        assert_eq!(changed, Body::new([("b", "3"), ("c", "4")]));
    }
}
