//! The JSON form of values in these messages, if the form differs from the form of the model.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use nuncio_model::{Leniency, Role, TaskState, Timestamp, Value, decode_base64, json::Field};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::{
    proto::{
        fault::Fault,
        field::{Item, Scalar},
        reader::{Reader, Wire},
    },
    v0_3::Kinded,
};

/// Adapter: reads a [`Field`] through serde.
pub(in crate::v0_3) struct FieldIn<T>(pub(in crate::v0_3) T);

impl<'de, T: Field> Deserialize<'de> for FieldIn<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        T::decode(from).map(FieldIn)
    }
}

/// Adapter: writes a borrowed [`Field`] through serde.
pub(in crate::v0_3) struct FieldOut<'a, T>(pub(in crate::v0_3) &'a T);

impl<T: Field> Serialize for FieldOut<'_, T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.0.encode(to)
    }
}

/// Declares objects. Each row has the field, type and names of a member. The first name is used for writing. Unset
/// fields are omitted. On reading, `null` is the default, and the last occurrence of a repeated member wins.
macro_rules! object {
    ($(#[$meta:meta])* $name:ident { $($field:ident: $type:ty = $json:literal $(| $alias:literal)*,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Default)]
        #[allow(clippy::struct_field_names, reason = "the protocol defines the names")]
        pub(in crate::v0_3) struct $name {
            $(pub(in crate::v0_3) $field: $type,)*
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeMap as _;
                #[allow(unused_mut, reason = "a message may have no fields")]
                let mut map = to.serialize_map(None)?;
                $(if !nuncio_model::json::Field::is_unset(&self.$field) {
                    map.serialize_entry($json, &crate::v0_3::proto::json::FieldOut(&self.$field))?;
                })*
                map.end()
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                struct ObjectVisitor;
                impl<'de> serde::de::Visitor<'de> for ObjectVisitor {
                    type Value = $name;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        // The Rust names of the types would not help a peer.
                        f.write_str("an object")
                    }
                    fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<$name, A::Error> {
                        #[allow(unused_mut, reason = "a message may have no fields")]
                        let mut object = $name::default();
                        while let Some(key) = map.next_key::<nuncio_model::json::Key<'de>>()? {
                            match &*key.0 {
                                $($json $(| $alias)* => {
                                    let value = map.next_value::<Option<crate::v0_3::proto::json::FieldIn<$type>>>()?;
                                    object.$field = value.map_or_else(Default::default, |value| value.0);
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

        crate::v0_3::proto::json::by_serde!($name);
    };
}
pub(super) use object;

/// Makes a type with serde implementations a field of other types.
macro_rules! by_serde {
    ($name:ty) => {
        impl nuncio_model::json::Field for $name {
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
pub(super) use by_serde;

/// Bytes as base64. Both alphabets are read, with or without padding.
#[derive(Debug, Clone, PartialEq, Default)]
pub(in crate::v0_3) struct Bytes(pub(super) Box<[u8]>);

impl Item for Bytes {
    const WIRE: Wire = Wire::Length;

    fn write(&self, to: &mut Vec<u8>) {
        self.0.write(to);
    }

    fn read(&mut self, from: &mut Reader<'_>) -> Result<(), Fault> {
        self.0.read(from)
    }
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        decode_base64(&String::deserialize(from)?).map(Self).map_err(|reason| de::Error::custom(format!("is {reason}")))
    }
}

by_serde!(Bytes);

/// A time. In JSON, a time without an offset is a time in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(in crate::v0_3) struct Time(pub(super) Timestamp);

impl Item for Time {
    const WIRE: Wire = Wire::Length;

    fn write(&self, to: &mut Vec<u8>) {
        self.0.write(to);
    }

    fn read(&mut self, from: &mut Reader<'_>) -> Result<(), Fault> {
        self.0.read(from)
    }
}

impl Field for Time {
    fn decode<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        <Timestamp as crate::shape::Read<Kinded>>::read(from).map(Self)
    }

    fn encode<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(to)
    }

    fn is_unset(&self) -> bool {
        false
    }
}

/// A state. One name differs in 0.3. An unknown state becomes unspecified.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(in crate::v0_3) struct State(pub(super) TaskState);

/// The name of the canceled state in 0.3.
const CANCELLED: &str = "TASK_STATE_CANCELLED";

impl Item for State {
    const WIRE: Wire = Wire::Varint;

    fn write(&self, to: &mut Vec<u8>) {
        self.0.number().write(to);
    }

    fn read(&mut self, from: &mut Reader<'_>) -> Result<(), Fault> {
        let mut number = 0_i32;
        number.read(from)?;
        self.0 = TaskState::from_number(number).unwrap_or_else(unknown_state);
        Ok(())
    }
}

impl Scalar for State {
    fn is_default(&self) -> bool {
        self.0 == TaskState::Unspecified
    }
}

impl Field for State {
    fn decode<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Ok(Self(match Value::deserialize(from)? {
            Value::String(name) if name == CANCELLED => TaskState::Canceled,
            Value::String(name) if name.to_ascii_uppercase().ends_with("CANCELLED") => {
                Leniency::EnumForm.note();
                TaskState::Canceled
            }
            Value::String(name) => match TaskState::from_name(&name) {
                Some(known) => {
                    if known.as_str() != name || known == TaskState::Canceled {
                        Leniency::EnumForm.note();
                    }
                    known
                }
                None => unknown_state(),
            },
            Value::Number(number) => {
                let number = number.as_i64().and_then(|number| i32::try_from(number).ok());
                number.and_then(TaskState::from_number).unwrap_or_else(unknown_state)
            }
            _ => return Err(de::Error::custom("must be the name of a state")),
        }))
    }

    fn encode<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(if self.0 == TaskState::Canceled { CANCELLED } else { self.0.as_str() })
    }

    fn is_unset(&self) -> bool {
        self.is_default()
    }
}

fn unknown_state() -> TaskState {
    Leniency::UnknownState.note();
    TaskState::default()
}

/// The role of a message. An unknown role becomes the role of the user in a request, and unspecified in an answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::v0_3) enum Speaker {
    Known(Role),
    Unknown,
}

impl Speaker {
    pub(super) fn or(self, other: Role) -> Role {
        match self {
            Self::Known(role) => role,
            Self::Unknown => other,
        }
    }

    fn numbered(number: Option<i32>) -> Self {
        number.and_then(Role::from_number).map_or_else(Self::unknown, Self::Known)
    }

    fn unknown() -> Self {
        Leniency::UnknownRole.note();
        Self::Unknown
    }
}

impl Default for Speaker {
    fn default() -> Self {
        Self::Known(Role::Unspecified)
    }
}

impl Item for Speaker {
    const WIRE: Wire = Wire::Varint;

    fn write(&self, to: &mut Vec<u8>) {
        self.or(Role::Unspecified).number().write(to);
    }

    fn read(&mut self, from: &mut Reader<'_>) -> Result<(), Fault> {
        let mut number = 0_i32;
        number.read(from)?;
        *self = Self::numbered(Some(number));
        Ok(())
    }
}

impl Scalar for Speaker {
    fn is_default(&self) -> bool {
        self.or(Role::Unspecified) == Role::Unspecified
    }
}

impl Field for Speaker {
    fn decode<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Ok(match Value::deserialize(from)? {
            Value::String(name) if name.is_empty() => Self::default(),
            Value::String(name) => Role::from_name(&name).map_or_else(Self::unknown, Self::Known),
            Value::Number(number) => Self::numbered(number.as_i64().and_then(|number| i32::try_from(number).ok())),
            _ => return Err(de::Error::custom("must be the name of a role")),
        })
    }

    fn encode<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.or(Role::Unspecified).as_str())
    }

    fn is_unset(&self) -> bool {
        self.is_default()
    }
}
