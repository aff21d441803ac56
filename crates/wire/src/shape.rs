//! Shapes: the JSON form of values of the model in versions with other JSON than the model.
//!
//! Each older version with such JSON is a marker type. A type with another form has a [`Shape`] for the marker. Values
//! are written in place and read directly into the model, without an intermediate tree. A message has one table,
//! declared with [`shape!`], which uses these words:
//!
//! | word | written | read |
//! |---|---|---|
//! | `required` | always | absent or `null` is the default |
//! | `filled` | always; unset as the default | `""` counts as unset |
//! | `implicit` | if not the default | `""`, `0`, `false` count as unset |
//! | `presence` | if set | unchanged |
//! | `shown` | if set, without the flag of a plan in the metadata | unchanged |
//! | `inverted` | always, as the opposite flag | absent or `null` is not set |
//! | `listed` | always, as a list of at most one value | the first value of a list, or a single value |

mod values;

use std::marker::PhantomData;

use nuncio_model::Value;
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, IntoDeserializer, MapAccess},
    ser::SerializeMap,
};

/// Reads a type from the JSON of the version with the marker `V`.
pub(crate) trait Read<V>: Sized + Default {
    /// Reads a value that is not `null`.
    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error>;
}

/// Writes a type in the JSON of the version with the marker `V`.
pub(crate) trait Shape<V>: Read<V> {
    /// Writes the value.
    fn write<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error>;

    /// Whether a field without presence omits this value.
    fn is_unset(&self) -> bool {
        false
    }

    /// Converts an explicit default of a field without presence to "unset".
    fn settle(self) -> Self {
        self
    }
}

/// Adapter: reads a value through serde.
pub(crate) struct In<V, T>(pub(crate) T, PhantomData<V>);

impl<'de, V, T: Read<V>> Deserialize<'de> for In<V, T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        T::read(from).map(|value| In(value, PhantomData))
    }
}

/// Adapter: writes a value through serde.
pub(crate) struct Out<'a, V, T>(&'a T, PhantomData<V>);

impl<V, T: Shape<V>> Serialize for Out<'_, V, T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.0.write(to)
    }
}

/// Wraps a value in the adapter for writing.
pub(crate) fn out<V, T: Shape<V>>(value: &T) -> Out<'_, V, T> {
    Out(value, PhantomData)
}

/// Reads the value of a member. `null` is the default.
pub(crate) fn next<'de, V, A: MapAccess<'de>, T: Read<V>>(map: &mut A) -> Result<T, A::Error> {
    Ok(map.next_value::<Option<In<V, T>>>()?.map_or_else(T::default, |value| value.0))
}

/// Reads the first value of a list, or a value without a list.
pub(crate) fn next_listed<'de, V, A: MapAccess<'de>, T: Read<V>>(map: &mut A) -> Result<T, A::Error> {
    let first = match map.next_value::<Value>()? {
        Value::Array(values) => values.into_iter().next(),
        value => Some(value),
    };
    let first = first.filter(|value| !value.is_null());
    first.map_or_else(|| Ok(T::default()), |value| T::read(value.into_deserializer()).map_err(de::Error::custom))
}

/// Writes a value, or the default if the value is unset.
#[cfg(any(feature = "v0-2", feature = "v0-3"))]
pub(crate) fn write_filled<V, M: SerializeMap, T: Shape<V>>(
    map: &mut M,
    name: &'static str,
    value: Option<&T>,
) -> Result<(), M::Error> {
    match value {
        Some(value) => map.serialize_entry(name, &out::<V, T>(value)),
        None => map.serialize_entry(name, &out::<V, T>(&T::default())),
    }
}

/// Writes a value as a list of one element, or as an empty list if the value is unset.
pub(crate) fn write_listed<V, M: SerializeMap, T: Shape<V>>(
    map: &mut M,
    name: &'static str,
    value: &T,
) -> Result<(), M::Error> {
    let values: &[_] = if value.is_unset() { &[] } else { &[out::<V, T>(value)] };
    map.serialize_entry(name, values)
}

/// Declares the table of a message of the model for the version of a marker. Fields without a row are lost.
macro_rules! shape {
    (
        $type:ty as $version:ty $(, kind $kind:literal)? {
            $($field:ident => $presence:ident $json:literal $(| $alias:literal)*,)*
        }
        $(and $computed:literal by $compute:path)?
    ) => {
        impl $crate::shape::Shape<$version> for $type {
            fn write<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeMap as _;
                let mut map = to.serialize_map(None)?;
                $(map.serialize_entry("kind", $kind)?;)?
                $($crate::shape::shape!(@write $version, $presence map $json self.$field);)*
                $(map.serialize_entry($computed, &$compute(self))?;)?
                map.end()
            }
        }
        $crate::shape::reads! {
            $type as $version, named $type { $($field => $presence $json $(| $alias)*,)* }
        }
    };
    (@write $version:ty, required $map:ident $json:literal $self:ident.$field:ident) => {
        $map.serialize_entry($json, &$crate::shape::out::<$version, _>(&$self.$field))?;
    };
    (@write $version:ty, filled $map:ident $json:literal $self:ident.$field:ident) => {
        $crate::shape::write_filled::<$version, _, _>(&mut $map, $json, $self.$field.as_ref())?;
    };
    (@write $version:ty, implicit $map:ident $json:literal $self:ident.$field:ident) => {
        if !$crate::shape::Shape::<$version>::is_unset(&$self.$field) {
            $map.serialize_entry($json, &$crate::shape::out::<$version, _>(&$self.$field))?;
        }
    };
    (@write $version:ty, presence $map:ident $json:literal $self:ident.$field:ident) => {
        if let Some(value) = &$self.$field {
            $map.serialize_entry($json, &$crate::shape::out::<$version, _>(value))?;
        }
    };
    (@write $version:ty, shown $map:ident $json:literal $self:ident.$field:ident) => {
        if let Some(value) = $crate::dialect::finality::without($self.$field.as_deref()) {
            $map.serialize_entry($json, &$crate::shape::out::<$version, _>(&*value))?;
        }
    };
    (@write $version:ty, inverted $map:ident $json:literal $self:ident.$field:ident) => {
        $map.serialize_entry($json, &!$self.$field)?;
    };
    (@write $version:ty, listed $map:ident $json:literal $self:ident.$field:ident) => {
        $crate::shape::write_listed::<$version, _, _>(&mut $map, $json, &$self.$field)?;
    };
}
pub(crate) use shape;

/// The reading half of [`shape!`], for types that are written by hand because the writer needs more than the value.
macro_rules! reads {
    (
        $type:ty as $version:ty, named $name:ty {
            $($field:ident => $presence:ident $json:literal $(| $alias:literal)*,)*
        }
    ) => {
        impl $crate::shape::Read<$version> for $type {
            fn read<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                struct ObjectVisitor;
                impl<'de> serde::de::Visitor<'de> for ObjectVisitor {
                    type Value = $type;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        // The Rust names of the types would not help a peer.
                        f.write_str("an object")
                    }
                    fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<$type, A::Error> {
                        let mut object = <$type>::default();
                        while let Some(key) = map.next_key::<nuncio_model::json::Key<'de>>()? {
                            match &*key.0 {
                                $($json $(| $alias)* => {
                                    $crate::shape::reads!(@name key $json $(| $alias)*);
                                    object.$field = $crate::shape::reads!(@read $version, $presence map);
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
    };
    (@name $key:ident $json:literal) => {};
    (@name $key:ident $json:literal $(| $alias:literal)+) => {
        if *$key.0 != *$json {
            nuncio_model::Leniency::note_name($json, &$key.0);
        }
    };
    (@read $version:ty, implicit $map:ident) => {
        $crate::shape::Shape::<$version>::settle($crate::shape::next::<$version, _, _>(&mut $map)?)
    };
    (@read $version:ty, filled $map:ident) => { $crate::shape::reads!(@read $version, implicit $map) };
    (@read $version:ty, inverted $map:ident) => { $map.next_value::<Option<bool>>()? == Some(false) };
    (@read $version:ty, listed $map:ident) => { $crate::shape::next_listed::<$version, _, _>(&mut $map)? };
    (@read $version:ty, $presence:ident $map:ident) => { $crate::shape::next::<$version, _, _>(&mut $map)? };
}
pub(crate) use reads;
