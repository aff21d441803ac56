//! The messages of `proto/a2a/v1/a2a.proto`. gRPC of 0.3 carries them as protobuf, and HTTP+JSON as JSON.
//!
//! Each message is one table, which generates the struct and both encodings. Conversions to the model stand beside the
//! tables. The tables have the numbers and names of 0.3.0 and later additions of SDKs; older peers skip unknown fields.
//! JSON is written as ProtoJSON. The reader also accepts forms that peers send: `parts` instead of `content`, roles and
//! states in lower case, and parts and events with a `kind`.

pub(super) mod card;
mod json;
mod name;
mod part;
pub(super) mod push;
pub(super) mod reply;
pub(super) mod request;
pub(super) mod task;

/// Declares messages. Each row has the number, name, type and protobuf word of a field (see [`crate::proto::field`]),
/// and its JSON names. The first JSON name is used for writing.
macro_rules! message {
    ($(
        $(#[$meta:meta])*
        $name:ident {
            $($number:literal $field:ident: $type:ty = $standing:ident $json:literal $(| $alias:literal)*,)*
        }
    )*) => {$(
        crate::v0_3::proto::json::object! {
            $(#[$meta])*
            $name { $($field: $type = $json $(| $alias)*,)* }
        }

        crate::proto::message::message! {
            $name { $($number $field: $standing,)* }
        }
    )*};
}
use message;
