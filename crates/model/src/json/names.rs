//! Enums of the protocol: names, numbers and short forms.

/// An enum of the protocol: its names, numbers and short forms.
macro_rules! json_enum {
    (
        $(#[$meta:meta])*
        pub enum $name:ident($prefix:literal, unknown $unknown:ident) {
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
            /// The leniency for a value that no version defines.
            pub const UNKNOWN: $crate::Leniency = $crate::Leniency::$unknown;

            /// Every value, by ascending number.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The proto name, as written in JSON.
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

            /// The result for an unknown value: the default in the second, lenient reading of an answer; otherwise an
            /// error.
            fn unknown<E>(error: impl FnOnce() -> E) -> Result<Self, E> {
                if !$crate::leniency::is_in_answer() {
                    return Err(error());
                }
                Self::UNKNOWN.note();
                Ok(Self::default())
            }

            /// The value with this name: the proto name, or the short form in any case, with `-` or `_`.
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
                        match $name::from_name(name) {
                            Some(known) => {
                                if known.as_str() != name {
                                    $crate::Leniency::EnumForm.note();
                                }
                                Ok(known)
                            }
                            None => $name::unknown(|| E::custom(format_args!("unknown {} `{name}`", stringify!($name)))),
                        }
                    }
                    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<$name, E> {
                        match i32::try_from(number).ok().and_then($name::from_number) {
                            Some(known) => Ok(known),
                            None => $name::unknown(|| E::custom(format_args!("unknown {} {number}", stringify!($name)))),
                        }
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

pub(crate) use json_enum;
