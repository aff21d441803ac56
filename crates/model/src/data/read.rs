//! Reads data from any serde format in a streaming way: each value is written as text immediately.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor},
};

use super::{Data, DataWriter};
use crate::json::Key;

impl<'de> Deserialize<'de> for Data {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let mut writer = DataWriter::new();
        from.deserialize_any(OneValue(&mut writer))?;
        Ok(writer.finish())
    }
}

/// Reads a value and writes the value as text.
struct OneValue<'a>(&'a mut DataWriter);

impl<'de> DeserializeSeed<'de> for OneValue<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

macro_rules! visit {
    ($($method:ident($value:ident: $type:ty) => $write:expr;)*) => {$(
        fn $method<E: Error>(self, $value: $type) -> Result<(), E> {
            let write: fn(&mut DataWriter, $type) = $write;
            write(self.0, $value);
            Ok(())
        }
    )*};
}

impl<'de> Visitor<'de> for OneValue<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any valid JSON value")
    }

    visit! {
        visit_bool(value: bool) => |writer, value| writer.bool(value);
        visit_i64(value: i64) => |writer, value| writer.i64(value);
        visit_u64(value: u64) => |writer, value| writer.u64(value);
        visit_f64(value: f64) => |writer, value| writer.f64(value);
        visit_str(value: &str) => |writer, value| writer.text(value);
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.0.null();
        Ok(())
    }

    fn visit_none<E: Error>(self) -> Result<(), E> {
        self.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        self.deserialize(from)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        self.deserialize(from)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        self.0.begin_list();
        while list.next_element_seed(OneValue(self.0))?.is_some() {}
        self.0.end_list();
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        self.0.begin_object();
        while let Some(key) = map.next_key::<Key<'de>>()? {
            self.0.key(&key.0);
            map.next_value_seed(OneValue(self.0))?;
        }
        self.0.end_object();
        Ok(())
    }
}

/// Finds the member with this name in an object.
pub(super) struct FindMember<'a>(pub(super) &'a str);

impl<'de> DeserializeSeed<'de> for FindMember<'_> {
    type Value = Option<Data>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Option<Data>, D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for FindMember<'_> {
    type Value = Option<Data>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Option<Data>, A::Error> {
        let mut found = None;
        while let Some(key) = map.next_key::<Key<'de>>()? {
            if key.0 == self.0 {
                found = Some(map.next_value()?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}
