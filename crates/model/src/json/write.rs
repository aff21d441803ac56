//! A JSON writer with the same bytes as serde_json. It is faster for text, which is most of the model.
//!
//! serde_json examines each byte of a text and writes quote, text and quote separately. This writer examines up to
//! sixteen bytes at once. A text without escapes (nearly all texts) is copied in one step.

mod compound;
mod text;

use serde::{
    Serialize, Serializer,
    ser::{Error as _, SerializeMap},
};
use serde_json::Error;

use self::compound::Compound;

/// Appends a value as compact JSON.
///
/// # Errors
///
/// The errors of serde_json: the value refuses to be written, or has a map with keys other than texts, numbers and
/// booleans. The bytes written before the error remain.
pub fn write(value: &(impl Serialize + ?Sized), to: &mut Vec<u8>) -> Result<(), Error> {
    value.serialize(Writer { to })
}

/// Writes a value as compact JSON.
///
/// # Errors
///
/// As [`write()`].
pub fn to_string(value: &(impl Serialize + ?Sized)) -> Result<String, Error> {
    to_long_string(value, 0)
}

/// Like [`to_string`], for JSON with a known approximate length: reserves so many bytes, so that the text is not moved
/// while it grows.
///
/// # Errors
///
/// As [`write()`].
pub fn to_long_string(value: &(impl Serialize + ?Sized), length: usize) -> Result<String, Error> {
    let mut json = Vec::with_capacity(length.max(512));
    write(value, &mut json)?;
    String::from_utf8(json).map_err(Error::custom)
}

/// Appends a text with its quotes.
pub(crate) fn write_text(text: &str, to: &mut Vec<u8>) {
    text::write(text, to);
}

struct Writer<'a> {
    to: &'a mut Vec<u8>,
}

impl<'a> Writer<'a> {
    /// Appends `{"variant":`; the caller appends `}` after the value.
    fn variant(self, variant: &str) -> &'a mut Vec<u8> {
        self.to.push(b'{');
        text::write(variant, self.to);
        self.to.push(b':');
        self.to
    }
}

/// Values for which serde_json is fast enough.
macro_rules! by_serde_json {
    ($($method:ident($type:ty))*) => {$(
        fn $method(self, value: $type) -> Result<(), Error> {
            serde_json::Serializer::new(self.to).$method(value)
        }
    )*};
}

impl<'a> Serializer for Writer<'a> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Compound<'a>;
    type SerializeTuple = Compound<'a>;
    type SerializeTupleStruct = Compound<'a>;
    type SerializeTupleVariant = Compound<'a>;
    type SerializeMap = Compound<'a>;
    type SerializeStruct = Compound<'a>;
    type SerializeStructVariant = Compound<'a>;

    by_serde_json! {
        serialize_bool(bool)
        serialize_i8(i8) serialize_i16(i16) serialize_i32(i32) serialize_i64(i64) serialize_i128(i128)
        serialize_u8(u8) serialize_u16(u16) serialize_u32(u32) serialize_u64(u64) serialize_u128(u128)
        serialize_f32(f32) serialize_f64(f64)
        serialize_char(char) serialize_bytes(&[u8])
    }

    fn serialize_str(self, value: &str) -> Result<(), Error> {
        text::write(value, self.to);
        Ok(())
    }

    fn serialize_none(self) -> Result<(), Error> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Error> {
        self.to.extend_from_slice(b"null");
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Error> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<(), Error> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        let to = self.variant(variant);
        value.serialize(Writer { to: &mut *to })?;
        to.push(b'}');
        Ok(())
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Compound<'a>, Error> {
        Ok(Compound::list(self.to, "]"))
    }

    fn serialize_tuple(self, length: usize) -> Result<Compound<'a>, Error> {
        self.serialize_seq(Some(length))
    }

    fn serialize_tuple_struct(self, _: &'static str, length: usize) -> Result<Compound<'a>, Error> {
        self.serialize_seq(Some(length))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Compound<'a>, Error> {
        Ok(Compound::list(self.variant(variant), "]}"))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Compound<'a>, Error> {
        Ok(Compound::object(self.to, "}"))
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> Result<Compound<'a>, Error> {
        if name == compound::RAW {
            return Ok(Compound::raw(self.to));
        }
        self.serialize_map(None)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Compound<'a>, Error> {
        Ok(Compound::object(self.variant(variant), "}}"))
    }

    fn collect_map<K: Serialize, V: Serialize, I: IntoIterator<Item = (K, V)>>(self, members: I) -> Result<(), Error> {
        let mut map = self.serialize_map(None)?;
        members.into_iter().try_for_each(|(key, value)| map.serialize_entry(&key, &value))?;
        SerializeMap::end(map)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use serde_json::{json, value::RawValue};

    use super::*;

    fn is_as_serde_json(value: &(impl Serialize + ?Sized)) {
        let expected = serde_json::to_string(value).map_err(|error| error.to_string());
        assert_eq!(to_string(value).map_err(|error| error.to_string()), expected);
    }

    proptest! {
        #[test]
        fn text_is_written_as_serde_json_does(text in "(?s)[\\x00-\\x24\"\\\\a-c\\x7f-\\x{2029}😀]{0,40}") {
            is_as_serde_json(&text);
        }
    }

    #[test]
    fn bytes_are_escaped_at_every_position() {
        for byte in 0..0x80 {
            for before in 0..36 {
                for after in [0, 1, 7, 8, 9] {
                    let text = format!("{}{}{}", "a".repeat(before), char::from(byte), "é".repeat(after));
                    is_as_serde_json(&text);
                }
            }
        }
    }

    #[test]
    fn every_kind_of_value_is_written_as_serde_json_does() {
        #[derive(Serialize)]
        enum Kind {
            Unit,
            Newtype(Box<str>),
            Tuple(i8, Option<()>),
            Struct { a: u128, b: char },
        }
        #[derive(Serialize)]
        struct Unit;
        #[derive(Serialize)]
        struct Tuple(f32, f64);
        is_as_serde_json(&json!({"a": [1, -2.5, "x\n", null, true, {}], "": [], "k\"": {"b": [[]]}}));
        is_as_serde_json(&[Kind::Unit, Kind::Newtype("\\".into()), Kind::Tuple(-1, None)]);
        is_as_serde_json(&(Kind::Struct { a: u128::MAX, b: '"' }, Unit, Tuple(0.1, f64::NAN), (), i128::MIN));
        is_as_serde_json(&(1e300, 5e-324, -0.0, u64::MAX, i64::MIN, 1_u8, Some(Some("x"))));
        is_as_serde_json(&BTreeMap::from([(-1, "a"), (7, "b")]));
        is_as_serde_json(&BTreeMap::from([(true, "a"), (false, "b")]));
        is_as_serde_json(&BTreeMap::from([('"', Kind::Unit)]));
        is_as_serde_json(&BTreeMap::<String, u8>::new());
        is_as_serde_json(&format_args!("{}\t", 7));
        is_as_serde_json(&RawValue::from_string(r#"{"a" : [1.0]}"#.to_owned()).unwrap());
        is_as_serde_json(&(1, RawValue::from_string("1e5".to_owned()).unwrap()));
    }

    #[test]
    fn keys_other_than_texts_numbers_and_booleans_are_refused() {
        is_as_serde_json(&BTreeMap::from([(vec![1], 1)]));
        is_as_serde_json(&BTreeMap::from([((), 1)]));
        is_as_serde_json(&BTreeMap::from([(Some("a"), 1)]));
    }
}
