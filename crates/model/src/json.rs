//! ProtoJSON, written once: how a field of each kind is read and written, and the macro that makes a message of fields.
//!
//! serde's derive can express these rules only with four attributes a field, so `json_object!` states them in one
//! word instead:
//!
//! | word | proto3 | written | read |
//! |---|---|---|---|
//! | `required` | `REQUIRED` field behaviour | always, also when empty (card signatures count on it) | absent or `null` is the default; [`Validate`](crate::Validate) complains |
//! | `implicit` | no presence | when not the default | `""`, `0`, `false` count as unset |
//! | `presence` | `optional`, and every message | when set, also to the default | kept as sent |
//!
//! Members that are not known are ignored. The last one of a repeated member wins.

use std::{borrow::Cow, collections::BTreeMap, fmt, marker::PhantomData, sync::Arc};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, IntoDeserializer, MapAccess, SeqAccess, Visitor},
    ser::{SerializeMap, SerializeSeq},
};

/// Any JSON value; `google.protobuf.Value`.
pub use serde_json::Value;

/// A JSON object with any members; `google.protobuf.Struct`.
pub type Struct = serde_json::Map<String, Value>;

/// How a type stands in ProtoJSON as the value of a field.
pub trait Field: Sized + Default {
    /// Reads a value that is not `null`.
    fn decode<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error>;

    /// Writes the value.
    fn encode<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error>;

    /// Whether a field without presence leaves this value out.
    fn is_unset(&self) -> bool;

    /// Folds the spelled-out default of a field without presence into "unset".
    fn settle(self) -> Self {
        self
    }
}

/// Carries a [`Field`] through serde.
pub(crate) struct In<T>(pub(crate) T);

impl<'de, T: Field> Deserialize<'de> for In<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        T::decode(from).map(In)
    }
}

/// Carries a borrowed [`Field`] through serde.
pub(crate) struct Out<'a, T>(pub(crate) &'a T);

impl<T: Field> Serialize for Out<'_, T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.0.encode(to)
    }
}

/// Reads a field's value; `null` is the default.
pub(crate) fn next_field<'de, A: MapAccess<'de>, T: Field>(map: &mut A) -> Result<T, A::Error> {
    Ok(map.next_value::<Option<In<T>>>()?.map_or_else(T::default, |field| field.0))
}

/// The key of a member, borrowed from the input where it can be.
pub(crate) struct Key<'de>(pub(crate) Cow<'de, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct KeyVisitor;
        impl<'de> Visitor<'de> for KeyVisitor {
            type Value = Key<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a member name")
            }
            fn visit_borrowed_str<E>(self, key: &'de str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Borrowed(key)))
            }
            fn visit_str<E>(self, key: &str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Owned(key.to_owned())))
            }
        }
        from.deserialize_str(KeyVisitor)
    }
}

/// A message: its fields, their JSON names, and the serde implementations that follow from them.
macro_rules! json_object {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $(
                $(#[$field_meta:meta])*
                pub $field:ident: $type:ty => $presence:ident $json:literal $(| $alias:literal)* $(via $decode:path)?,
            )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Default)]
        pub struct $name {
            $($(#[$field_meta])* pub $field: $type,)*
        }

        impl $crate::json::Described for $name {
            const FIELDS: &'static [$crate::json::FieldInfo] = &[
                $($crate::json::FieldInfo {
                    name: stringify!($field),
                    json: $json,
                    presence: stringify!($presence),
                },)*
            ];
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeMap as _;
                #[allow(unused_mut, reason = "a message may have no fields")]
                let mut map = to.serialize_map(None)?;
                $($crate::json::json_object!(@write $presence map $json self.$field);)*
                map.end()
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                struct ObjectVisitor;
                impl<'de> serde::de::Visitor<'de> for ObjectVisitor {
                    type Value = $name;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str(concat!("an object (", stringify!($name), ")"))
                    }
                    fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<$name, A::Error> {
                        #[allow(unused_mut, reason = "a message may have no fields")]
                        let mut object = $name::default();
                        while let Some(key) = map.next_key::<$crate::json::Key<'de>>()? {
                            match &*key.0 {
                                $($json $(| $alias)* => {
                                    object.$field = $crate::json::json_object!(@read $presence map $($decode)?);
                                })*
                                _ => {
                                    map.next_value::<serde::de::IgnoredAny>()?;
                                }
                            }
                        }
                        Ok(object)
                    }
                }
                from.deserialize_map(ObjectVisitor)
            }
        }

        $crate::json::field_by_serde!($name);
    };
    (@write required $map:ident $json:literal $self:ident.$field:ident) => {
        $map.serialize_entry($json, &$crate::json::Out(&$self.$field))?;
    };
    (@write implicit $map:ident $json:literal $self:ident.$field:ident) => {
        if !$crate::json::Field::is_unset(&$self.$field) {
            $map.serialize_entry($json, &$crate::json::Out(&$self.$field))?;
        }
    };
    (@write presence $map:ident $json:literal $self:ident.$field:ident) => {
        if let Some(value) = &$self.$field {
            $map.serialize_entry($json, &$crate::json::Out(value))?;
        }
    };
    (@read $presence:ident $map:ident $decode:path) => { $decode(&mut $map)? };
    (@read implicit $map:ident) => { $crate::json::Field::settle($crate::json::next_field(&mut $map)?) };
    (@read $presence:ident $map:ident) => { $crate::json::next_field(&mut $map)? };
}

/// A [`Field`] that is what its serde implementations say, and never unset.
macro_rules! field_by_serde {
    ($name:ident) => {
        impl $crate::json::Field for $name {
            fn decode<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                serde::Deserialize::deserialize(from)
            }
            fn encode<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                serde::Serialize::serialize(self, to)
            }
            fn is_unset(&self) -> bool {
                false
            }
        }
    };
}

/// An enum of the protocol: its names, numbers and short forms.
macro_rules! json_enum {
    (
        $(#[$meta:meta])*
        pub enum $name:ident($prefix:literal) {
            $($(#[$variant_meta:meta])* $variant:ident = $number:literal, $upper:literal, $short:literal;)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$variant_meta])* $variant = $number,)*
        }

        impl $name {
            /// Every value, in the order of their numbers.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The proto name, as JSON carries it.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => concat!($prefix, $upper),)* }
            }

            /// The short, lower-case form, for people.
            pub const fn short(self) -> &'static str {
                match self { $(Self::$variant => $short,)* }
            }

            /// The number in protobuf.
            pub const fn number(self) -> i32 {
                self as i32
            }

            /// The value of a protobuf number.
            pub const fn from_number(number: i32) -> Option<Self> {
                match number { $($number => Some(Self::$variant),)* _ => None }
            }

            /// The value of a name: the proto name, or its short form in any case, with `-` or `_`.
            pub fn from_name(name: &str) -> Option<Self> {
                $(if name == concat!($prefix, $upper) { return Some(Self::$variant); })*
                let mut short = name.to_ascii_lowercase().replace('_', "-");
                let prefix = $prefix.to_ascii_lowercase().replace('_', "-");
                if let Some(rest) = short.strip_prefix(&prefix) {
                    short = rest.to_owned();
                }
                match short.as_str() { $($short => Some(Self::$variant),)* _ => None }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                struct EnumVisitor;
                impl serde::de::Visitor<'_> for EnumVisitor {
                    type Value = $name;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str(concat!("a ", stringify!($name), " by name or number"))
                    }
                    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<$name, E> {
                        $name::from_name(name).ok_or_else(|| {
                            E::custom(format_args!("unknown {} `{name}`", stringify!($name)))
                        })
                    }
                    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<$name, E> {
                        i32::try_from(number).ok().and_then($name::from_number).ok_or_else(|| {
                            E::custom(format_args!("unknown {} {number}", stringify!($name)))
                        })
                    }
                    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<$name, E> {
                        self.visit_i64(i64::try_from(number).unwrap_or(i64::MAX))
                    }
                }
                from.deserialize_any(EnumVisitor)
            }
        }

        impl $crate::json::Field for $name {
            fn decode<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                serde::Deserialize::deserialize(from)
            }
            fn encode<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                serde::Serialize::serialize(self, to)
            }
            fn is_unset(&self) -> bool {
                *self == Self::default()
            }
        }
    };
}

pub(crate) use {field_by_serde, json_enum, json_object};

/// What a message's fields are called, so that a test can hold them against the specification.
pub trait Described {
    /// The fields, in the order of the specification's table.
    const FIELDS: &'static [FieldInfo];
}

/// One field of a [`Described`] message.
#[derive(Debug, Clone, Copy)]
pub struct FieldInfo {
    /// The proto name.
    pub name: &'static str,
    /// The JSON name.
    pub json: &'static str,
    /// `required`, `implicit` or `presence`.
    pub presence: &'static str,
}

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
        Deserialize::deserialize(from)
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
                let mut list = Vec::new();
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

/// Reads a field from a JSON value that was already parsed.
pub(crate) fn from_value<T: Field, E: de::Error>(value: Value) -> Result<T, E> {
    T::decode(value.into_deserializer()).map_err(E::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<T: Field>(json: &str) -> Result<T, serde_json::Error> {
        serde_json::from_str::<In<T>>(json).map(|field| field.0)
    }

    #[test]
    fn integers_come_as_number_integral_float_or_string() {
        for json in ["7", "7.0", "\"7\"", "7e0"] {
            assert_eq!(read::<i32>(json).unwrap(), 7, "{json}");
        }
        for json in ["7.5", "2147483648", "\"x\"", "true"] {
            assert!(read::<i32>(json).is_err(), "{json}");
        }
    }
}
