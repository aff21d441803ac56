//! The JSON form of values of each type in all versions before 1.0, and the deviations that are accepted.

use std::{fmt, marker::PhantomData};

use nuncio_model::{
    ArtifactId, ContextId, Leniency, MessageId, Part, Parts, PushConfigId, Role, Struct, TaskId, TaskState, Timestamp,
    Value, json::Field, leniency,
};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, SeqAccess, Visitor},
    ser::SerializeSeq,
};

use super::{In, Read, Shape, out};
use crate::part;

/// Types with the form of the model in every version.
macro_rules! same {
    ($($type:ty),*) => {$(
        impl<V> Read<V> for $type {
            fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                Field::decode(from)
            }
        }
        impl<V> Shape<V> for $type {
            fn write<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                Field::encode(self, to)
            }
            fn is_unset(&self) -> bool {
                Field::is_unset(self)
            }
        }
    )*};
}
same!(String, Box<str>, bool, Struct, MessageId, ArtifactId, PushConfigId);

/// Ids that some agents send as numbers in answers.
macro_rules! ids {
    ($($type:ty),*) => {$(
        impl<V> Read<V> for $type {
            fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                if !leniency::is_in_answer() {
                    return Field::decode(from);
                }
                Ok(match Value::deserialize(from)? {
                    Value::Number(number) => {
                        Leniency::NumericId.note();
                        number.to_string().into()
                    }
                    text => Field::decode(text).map_err(de::Error::custom)?,
                })
            }
        }
        impl<V> Shape<V> for $type {
            fn write<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                Field::encode(self, to)
            }
            fn is_unset(&self) -> bool {
                Field::is_unset(self)
            }
        }
    )*};
}
ids!(TaskId, ContextId);

/// An enum of the model, by name or number. Unknown values become the default, `Unspecified`.
macro_rules! names {
    ($type:ident $(, $alias:literal = $variant:ident)*) => {
        impl<V> Read<V> for $type {
            fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                struct NameVisitor;
                impl Visitor<'_> for NameVisitor {
                    type Value = $type;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str(concat!("a ", stringify!($type), " by name or number"))
                    }
                    fn visit_str<E>(self, name: &str) -> Result<$type, E> {
                        if let Some(known) = $type::ALL.iter().find(|known| known.short() == name) {
                            return Ok(*known);
                        }
                        $(if name.eq_ignore_ascii_case($alias) {
                            Leniency::EnumForm.note();
                            return Ok($type::$variant);
                        })*
                        Ok(noted($type::from_name(name), $type::UNKNOWN, name.is_empty() || name == UNKNOWN))
                    }
                    fn visit_i64<E: de::Error>(self, number: i64) -> Result<$type, E> {
                        let known = i32::try_from(number).ok().and_then($type::from_number);
                        Ok(noted(known, $type::UNKNOWN, false))
                    }
                    fn visit_u64<E: de::Error>(self, number: u64) -> Result<$type, E> {
                        self.visit_i64(i64::try_from(number).unwrap_or(i64::MAX))
                    }
                }
                from.deserialize_any(NameVisitor)
            }
        }
    };
}

/// The name of the unknown state before 1.0.
const UNKNOWN: &str = "unknown";

/// Notes a value in a form of another version, or an unknown value. `is_stated`: the peer itself states that the value is
/// unknown.
fn noted<T: Default>(known: Option<T>, unknown: Leniency, is_stated: bool) -> T {
    if !is_stated {
        if known.is_some() { Leniency::EnumForm.note() } else { unknown.note() }
    }
    known.unwrap_or_default()
}

names!(TaskState, "cancelled" = Canceled, "TASK_STATE_CANCELLED" = Canceled);
names!(Role);

impl<V> Read<V> for Part {
    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        part::read(from)
    }
}

impl<V> Read<V> for Parts {
    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        <Vec<Part> as Read<V>>::read(from).map(Self::from)
    }
}

impl<V> Read<V> for Value {
    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::deserialize(from)
    }
}

/// A whole number, also as a text or with a fraction of zero. A number out of range becomes the nearest number in
/// range, because the difference does not matter to a peer.
impl<V> Read<V> for i64 {
    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct WholeVisitor;
        impl Visitor<'_> for WholeVisitor {
            type Value = i64;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number")
            }
            fn visit_i64<E>(self, number: i64) -> Result<i64, E> {
                Ok(number)
            }
            fn visit_u64<E>(self, number: u64) -> Result<i64, E> {
                Ok(i64::try_from(number).unwrap_or(i64::MAX))
            }
            fn visit_f64<E: de::Error>(self, number: f64) -> Result<i64, E> {
                if number.fract() != 0.0 {
                    return Err(E::invalid_value(de::Unexpected::Float(number), &self));
                }
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "the number has no fraction, and the cast saturates"
                )]
                Ok(number as i64)
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<i64, E> {
                let number = text.trim().parse::<i64>();
                number.map_err(|_| E::invalid_value(de::Unexpected::Str(text), &self))
            }
        }
        from.deserialize_any(WholeVisitor)
    }
}

impl<V> Read<V> for i32 {
    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let number = <i64 as Read<V>>::read(from)?;
        Ok(i32::try_from(number).unwrap_or(if number < 0 { i32::MIN } else { i32::MAX }))
    }
}

impl<V> Shape<V> for i32 {
    fn write<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_i32(*self)
    }
    fn is_unset(&self) -> bool {
        *self == 0
    }
}

impl<V> Read<V> for Timestamp {
    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct TimeVisitor;
        impl Visitor<'_> for TimeVisitor {
            type Value = Timestamp;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a time")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Timestamp, E> {
                Timestamp::read(text).map_err(E::custom)
            }
        }
        from.deserialize_str(TimeVisitor)
    }
}

impl<V> Shape<V> for Timestamp {
    fn write<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.serialize(to)
    }
}

impl<V, T: Read<V>> Read<V> for Option<T> {
    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        T::read(from).map(Some)
    }
}

impl<V, T: Shape<V>> Shape<V> for Option<T> {
    fn write<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Some(value) => value.write(to),
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

impl<V, T: Read<V>> Read<V> for Box<T> {
    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        T::read(from).map(Box::new)
    }
}

impl<V, T: Shape<V>> Shape<V> for Box<T> {
    fn write<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        (**self).write(to)
    }
    fn is_unset(&self) -> bool {
        (**self).is_unset()
    }
}

impl<V, T: Read<V>> Read<V> for Vec<T> {
    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct ListVisitor<V, T>(PhantomData<(V, T)>);
        impl<'de, V, T: Read<V>> Visitor<'de> for ListVisitor<V, T> {
            type Value = Vec<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Vec<T>, A::Error> {
                let mut list = Vec::new();
                while let Some(item) = seq.next_element::<In<V, T>>()? {
                    list.push(item.0);
                }
                list.shrink_to_fit();
                Ok(list)
            }
        }
        from.deserialize_seq(ListVisitor(PhantomData))
    }
}

impl<V, T: Shape<V>> Shape<V> for Vec<T> {
    fn write<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut seq = to.serialize_seq(Some(self.len()))?;
        for item in self {
            seq.serialize_element(&out::<V, T>(item))?;
        }
        seq.end()
    }
    fn is_unset(&self) -> bool {
        self.is_empty()
    }
}
