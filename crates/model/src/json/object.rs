//! Messages: a struct, the fields with their presence, and the resulting serde implementations.

/// Defines a message by its fields and their JSON names, and implements serde for the message.
macro_rules! json_object {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $(
                $(#[$field_meta:meta])*
                pub $field:ident: $type:ty => $presence:ident $json:literal $(| $alias:literal)*
                    $(unless $opposite:literal)? $(via $decode:path)?,
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
                                    $crate::json::json_object!(@name key $json $(| $alias)*);
                                    object.$field = $crate::json::json_object!(@read $presence map $($decode)?);
                                }
                                $($opposite => {
                                    $crate::Leniency::OldName.note();
                                    object.$field = $crate::json::next_opposite(&mut map)?;
                                })?)*
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
    (@name $key:ident $json:literal) => {};
    (@name $key:ident $json:literal $(| $alias:literal)+) => {
        if *$key.0 != *$json {
            $crate::Leniency::note_name($json, &$key.0);
        }
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

/// Implements [`Field`] by the serde implementations of the type; the value is never unset.
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

pub(crate) use {field_by_serde, json_object};
