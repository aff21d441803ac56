//! The messages of `proto/a2a/v1/a2a.proto`: what gRPC of 0.3 carries as protobuf, and HTTP+JSON as its JSON.
//!
//! Each message is one table, from which its struct and both forms follow; what differs from the model is turned beside
//! it. In the tables stand the numbers and names of 0.3.0 and what SDKs added to them later; older peers pass over what
//! they do not know. As JSON, a message is written as ProtoJSON has it and read as it has been seen: with `parts` for
//! `content`, roles and states in lower case, parts and events with a `kind`.

pub(super) mod card;
mod json;
mod name;
mod part;
pub(super) mod push;
pub(super) mod reply;
pub(super) mod request;
pub(super) mod task;

/// Messages: each field's number, name, type, how it stands in protobuf (see [`crate::proto::field`]), and its names in
/// JSON, of which the first is written.
macro_rules! message {
    ($(
        $(#[$meta:meta])*
        $name:ident {
            $($number:literal $field:ident: $type:ty = $standing:ident $json:literal $(| $alias:literal)*,)*
        }
    )*) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Default, serde::Serialize, serde::Deserialize)]
        #[serde(default)]
        pub(in crate::v0_3) struct $name {
            $(
                #[serde(
                    rename = $json,
                    $(alias = $alias,)*
                    serialize_with = "nuncio_model::json::Field::encode",
                    deserialize_with = "crate::v0_3::proto::json::field",
                    skip_serializing_if = "nuncio_model::json::Field::is_unset",
                )]
                pub(in crate::v0_3) $field: $type,
            )*
        }

        crate::proto::message::message! {
            $name { $($number $field: $standing,)* }
        }

        crate::v0_3::proto::json::by_serde!($name);
    )*};
}
use message;
