//! Metadata is parsed on reading, so the number of values in the metadata of foreign documents is limited.
//!
//! serde passes no context to the fields of a message. The limit is therefore stored in the thread while a document is
//! read.

use std::{cell::Cell, fmt};

use serde::{
    Deserializer,
    de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor},
};
use serde_json::Number;

use super::{Struct, Value};
use crate::Data;

/// The limit of values in all metadata of one document read by [`with_few_values`].
pub const METADATA_VALUES: usize = 10_000;

thread_local! {
    /// The number of values that metadata can still have; `None` if there is no limit.
    static LEFT: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Reads a foreign document. All metadata of the document together can have [`METADATA_VALUES`] values. More values are
/// a read error, which occurs before the values take memory.
pub fn with_few_values<R>(read: impl FnOnce() -> R) -> R {
    struct Restore(Option<usize>);
    impl Drop for Restore {
        fn drop(&mut self) {
            LEFT.set(self.0);
        }
    }
    let _restore = Restore(LEFT.replace(Some(METADATA_VALUES)));
    read()
}

/// The metadata of a document has more values than the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooManyValues;

impl fmt::Display for TooManyValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "metadata has more than {METADATA_VALUES} values (metadata_values)")
    }
}

/// Counts values of metadata against the limit.
fn count(values: usize) -> Result<(), TooManyValues> {
    let Some(left) = LEFT.get() else { return Ok(()) };
    LEFT.set(Some(left.checked_sub(values).ok_or(TooManyValues)?));
    Ok(())
}

/// The members of an object as metadata; no members if the data is not an object.
///
/// # Errors
///
/// Within [`with_few_values`], if the limit is exceeded.
pub fn members(data: &Data) -> Result<Struct, TooManyValues> {
    count(data.values())?;
    Ok(data.read_with(std::marker::PhantomData).unwrap_or_default())
}

/// Reads metadata and counts the values.
pub(super) fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Struct, D::Error> {
    struct Members;

    impl<'de> Visitor<'de> for Members {
        type Value = Struct;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a map")
        }

        fn visit_unit<E>(self) -> Result<Struct, E> {
            Ok(Struct::new())
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Struct, A::Error> {
            count(1).map_err(A::Error::custom)?;
            let mut members = Struct::new();
            while let Some(key) = map.next_key()? {
                members.insert(key, map.next_value_seed(Counted)?);
            }
            Ok(members)
        }
    }

    from.deserialize_map(Members)
}

/// Reads a value; counts the value and all values inside.
struct Counted;

impl<'de> DeserializeSeed<'de> for Counted {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        count(1).map_err(D::Error::custom)?;
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Counted {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any valid JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        from.deserialize_any(self)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        from.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element_seed(Self)? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut members = Struct::new();
        while let Some(key) = map.next_key()? {
            members.insert(key, map.next_value_seed(Self)?);
        }
        Ok(Value::Object(members))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{Message, op::SendMessageRequest};

    fn message(metadata: &str) -> String {
        format!(r#"{{"messageId":"m","role":"ROLE_USER","parts":[{{"text":"x","metadata":{metadata}}}]}}"#)
    }

    #[test]
    fn all_metadata_of_a_document_is_counted() {
        // The list, its items, and the surrounding object.
        let many = |items: usize| format!(r#"{{"a":[{}]}}"#, vec!["{}"; items].join(","));
        let read = |json: &str| with_few_values(|| serde_json::from_str::<Message>(json));
        read(&message(&many(METADATA_VALUES - 2))).unwrap();
        let error = read(&message(&many(METADATA_VALUES - 1))).unwrap_err().to_string();
        assert!(error.starts_with("metadata has more than 10000 values (metadata_values)"), "{error}");
        // Outside of `with_few_values` there is no limit.
        serde_json::from_str::<Message>(&message(&many(METADATA_VALUES))).unwrap();

        let half = many(METADATA_VALUES / 2);
        let request = format!(r#"{{"message":{},"metadata":{half}}}"#, message(&half));
        assert!(with_few_values(|| serde_json::from_str::<SendMessageRequest>(&request)).is_err());
        // The count starts again with each document.
        for _ in 0..3 {
            read(&message(&half)).unwrap();
        }
        assert_eq!(with_few_values(|| members(&half.parse().unwrap())).unwrap().len(), 1);
        assert_eq!(with_few_values(|| members(&many(METADATA_VALUES).parse().unwrap())), Err(TooManyValues));
    }

    #[test]
    fn metadata_without_a_limit_is_read_unchanged() {
        let value = json!({"a": [1, -2, 2.5, null, true, "x", {"b": {}}], "c": u64::MAX});
        let read: Message = with_few_values(|| serde_json::from_str(&message(&value.to_string()))).unwrap();
        assert_eq!(read.parts[0].metadata(), value.as_object());
        for wrong in ["3", "[]", r#""x""#] {
            let text = message(wrong);
            let error = with_few_values(|| serde_json::from_str::<Message>(&text)).unwrap_err().to_string();
            assert!(error.contains("expected a map"), "{error}");
        }
    }
}
