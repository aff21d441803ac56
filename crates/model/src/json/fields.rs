//! The JSON form of values of each type.

use std::{collections::BTreeMap, fmt, marker::PhantomData, sync::Arc};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, MapAccess, SeqAccess, Visitor},
    ser::{SerializeMap, SerializeSeq},
};

use super::{Field, In, Out, Struct, metadata};

macro_rules! string_field {
    ($($type:ty),*) => {$(
        impl Field for $type {
            fn decode<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                Deserialize::deserialize(from)
            }
            fn encode<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(self)
            }
            fn is_unset(&self) -> bool {
                self.is_empty()
            }
        }
    )*};
}

string_field!(String, Box<str>, Arc<str>);

impl Field for bool {
    fn decode<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Deserialize::deserialize(from)
    }
    fn encode<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_bool(*self)
    }
    fn is_unset(&self) -> bool {
        !self
    }
}

impl Field for i32 {
    fn decode<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct IntVisitor;
        impl Visitor<'_> for IntVisitor {
            type Value = i32;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a 32-bit integer")
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<i32, E> {
                i32::try_from(number).map_err(|_| E::custom(format_args!("{number} is not a 32-bit integer")))
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<i32, E> {
                i32::try_from(number).map_err(|_| E::custom(format_args!("{number} is not a 32-bit integer")))
            }
            fn visit_f64<E: de::Error>(self, number: f64) -> Result<i32, E> {
                #[expect(clippy::cast_possible_truncation, reason = "the comparison refuses what was cut")]
                let whole = number as i32;
                #[expect(clippy::float_cmp, reason = "an integral float is exactly its integer")]
                if f64::from(whole) == number {
                    Ok(whole)
                } else {
                    Err(E::custom(format_args!("{number} is not a 32-bit integer")))
                }
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<i32, E> {
                text.parse().map_err(|_| E::custom(format_args!("`{text}` is not a 32-bit integer")))
            }
        }
        from.deserialize_any(IntVisitor)
    }
    fn encode<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_i32(*self)
    }
    fn is_unset(&self) -> bool {
        *self == 0
    }
}

impl Field for Struct {
    fn decode<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        metadata::read(from)
    }
    fn encode<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.serialize(to)
    }
    fn is_unset(&self) -> bool {
        false
    }
}

impl<T: Field> Field for Option<T> {
    fn decode<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        T::decode(from).map(Some)
    }
    fn encode<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Some(value) => value.encode(to),
            None => to.serialize_none(),
        }
    }
    fn is_unset(&self) -> bool {
        self.is_none()
    }
    fn settle(self) -> Self {
        self.filter(|value| !value.is_unset())
    }
}

impl<T: Field> Field for Box<T> {
    fn decode<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        T::decode(from).map(Box::new)
    }
    fn encode<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        (**self).encode(to)
    }
    fn is_unset(&self) -> bool {
        (**self).is_unset()
    }
}

impl<T: Field> Field for Vec<T> {
    fn decode<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct ListVisitor<T>(PhantomData<T>);
        impl<'de, T: Field> Visitor<'de> for ListVisitor<T> {
            type Value = Vec<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Vec<T>, A::Error> {
                let Some(first) = seq.next_element::<In<T>>()? else { return Ok(Vec::new()) };
                // Most lists have one item; `push` would reserve memory for four.
                let mut list = vec![first.0];
                while let Some(item) = seq.next_element::<In<T>>()? {
                    list.push(item.0);
                }
                list.shrink_to_fit();
                Ok(list)
            }
        }
        from.deserialize_seq(ListVisitor(PhantomData))
    }
    fn encode<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut seq = to.serialize_seq(Some(self.len()))?;
        for item in self {
            seq.serialize_element(&Out(item))?;
        }
        seq.end()
    }
    fn is_unset(&self) -> bool {
        self.is_empty()
    }
}

impl<T: Field> Field for BTreeMap<String, T> {
    fn decode<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct MapVisitor<T>(PhantomData<T>);
        impl<'de, T: Field> Visitor<'de> for MapVisitor<T> {
            type Value = BTreeMap<String, T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = BTreeMap::new();
                while let Some((key, value)) = map.next_entry::<String, In<T>>()? {
                    entries.insert(key, value.0);
                }
                Ok(entries)
            }
        }
        from.deserialize_map(MapVisitor(PhantomData))
    }
    fn encode<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(self.len()))?;
        for (key, value) in self {
            map.serialize_entry(key, &Out(value))?;
        }
        map.end()
    }
    fn is_unset(&self) -> bool {
        self.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<T: Field>(json: &str) -> Result<T, serde_json::Error> {
        serde_json::from_str::<In<T>>(json).map(|field| field.0)
    }

    #[test]
    fn integers_are_read_from_numbers_integral_floats_and_strings() {
        for json in ["7", "7.0", "\"7\"", "7e0"] {
            assert_eq!(read::<i32>(json).unwrap(), 7, "{json}");
        }
        for json in ["7.5", "2147483648", "\"x\"", "true"] {
            assert!(read::<i32>(json).is_err(), "{json}");
        }
    }
}
