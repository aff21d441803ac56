//! ProtoJSON: how a field of each kind is read and written, and the macro that defines a message by its fields.
//!
//! With serde's derive, these rules need four attributes for each field. `json_object!` needs one word:
//!
//! | word | proto3 | written | read |
//! |---|---|---|---|
//! | `required` | `REQUIRED` field behaviour | always, also when empty (card signatures depend on this) | absent or `null` is the default; [`Validate`](crate::Validate) reports the field |
//! | `implicit` | no presence | unless equal to the default | `""`, `0`, `false` count as unset |
//! | `presence` | `optional`, and every message | when set, also to the default | kept as sent |
//!
//! Further names after the JSON name are also read. A name after `unless` has the opposite meaning; earlier texts of
//! the specification have such a name. Unknown members are ignored. If a member is repeated, the last value counts.

mod fields;
mod metadata;
mod names;
mod nesting;
mod object;
mod pretty;
mod write;

use std::{borrow::Cow, fmt};

pub(crate) use names::json_enum;
pub(crate) use object::{field_by_serde, json_object};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, IntoDeserializer, MapAccess, Visitor},
};

pub use metadata::{METADATA_VALUES, TooManyValues, members, with_few_values};
pub use nesting::{members_nest_within, nests_within};
pub use pretty::pretty;
pub(crate) use write::write_text;
pub use write::{to_long_string, to_string, write};

/// Any JSON value; `google.protobuf.Value`.
pub use serde_json::Value;

/// A JSON object with any members; `google.protobuf.Struct`.
pub type Struct = serde_json::Map<String, Value>;

/// The reason for a parse error, without the position in the text.
pub fn reason(error: &serde_json::Error) -> String {
    let mut reason = error.to_string();
    if let Some(place) = reason.rfind(" at line ") {
        reason.truncate(place);
    }
    // serde_json reports these two errors only for half of a surrogate pair: the first if no escape follows at all.
    if error.is_syntax() && ["unexpected end of hex escape", "lone leading surrogate in hex escape"].contains(&&*reason)
    {
        return "a lone surrogate: an escape from \\ud800 to \\udfff needs the other half of its pair".to_owned();
    }
    reason
}

/// The form of a type in ProtoJSON as the value of a field.
pub trait Field: Sized + Default {
    /// Reads a value that is not `null`.
    fn decode<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error>;

    /// Writes the value.
    fn encode<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error>;

    /// Whether a field without presence leaves this value out.
    fn is_unset(&self) -> bool;

    /// Converts an explicit default of a field without presence to "unset".
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

/// Reads a switch by the name of its opposite: the switch is on only if the opposite is explicitly false.
pub(crate) fn next_opposite<'de, A: MapAccess<'de>>(map: &mut A) -> Result<bool, A::Error> {
    Ok(map.next_value::<Option<In<bool>>>()?.is_some_and(|opposite| !opposite.0))
}

/// The key of a member, borrowed from the input if possible.
#[derive(Debug)]
pub struct Key<'de>(pub Cow<'de, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Key<'a> {
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

/// The names of a message's fields, so that a test can compare them with the specification.
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

/// Reads a field from a parsed JSON value.
pub(crate) fn from_value<T: Field, E: de::Error>(value: Value) -> Result<T, E> {
    T::decode(value.into_deserializer()).map_err(E::custom)
}
