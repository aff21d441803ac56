//! Ids as types, so that the compiler refuses a context id in the place of a task id.
//!
//! All ids are opaque strings of the protocol. They are reference-counted, so a clone costs no allocation. This matters
//! because each event of a task carries two ids.

use std::{
    borrow::Borrow,
    fmt,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Visitor};
use uuid::Uuid;

use crate::json::Field;

/// A fresh UUID of version 7, or a random UUID if the clock is before 1970, which version 7 cannot express.
fn fresh(now: SystemTime) -> Uuid {
    if now < UNIX_EPOCH { Uuid::new_v4() } else { Uuid::now_v7() }
}

macro_rules! id {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
        pub struct $name(Arc<str>);

        impl $name {
            /// An id with this text, kept unchanged.
            pub fn new(id: impl Into<Arc<str>>) -> Self {
                Self(id.into())
            }

            /// A fresh id (UUID version 7, so ids sort by the time of their creation).
            pub fn generate() -> Self {
                let mut text = [0; uuid::fmt::Hyphenated::LENGTH];
                Self(Arc::from(&*fresh(SystemTime::now()).hyphenated().encode_lower(&mut text)))
            }

            /// The id's text.
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// Whether the id is the empty string, which the protocol reads as "unset".
            pub fn is_empty(&self) -> bool {
                self.0.is_empty()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({:?})", stringify!($name), &*self.0)
            }
        }

        impl From<&str> for $name {
            fn from(id: &str) -> Self {
                Self(id.into())
            }
        }

        impl From<String> for $name {
            fn from(id: String) -> Self {
                Self(id.into())
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl PartialEq<str> for $name {
            fn eq(&self, other: &str) -> bool {
                &*self.0 == other
            }
        }

        impl PartialEq<&str> for $name {
            fn eq(&self, other: &&str) -> bool {
                &*self.0 == *other
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                struct IdVisitor;
                impl Visitor<'_> for IdVisitor {
                    type Value = $name;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str("a string")
                    }
                    // Decode directly from the input: serde's own conversion to `Arc<str>` allocates twice.
                    fn visit_str<E>(self, id: &str) -> Result<$name, E> {
                        Ok($name(id.into()))
                    }
                }
                from.deserialize_str(IdVisitor)
            }
        }

        impl Field for $name {
            fn decode<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                Self::deserialize(from)
            }
            fn encode<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                self.serialize(to)
            }
            fn is_unset(&self) -> bool {
                self.0.is_empty()
            }
        }
    };
}

id!(
    /// The id of a task; created by the server.
    TaskId
);
id!(
    /// The id of a context: a session of related tasks and messages.
    ContextId
);
id!(
    /// The id of a message; created by the sender.
    MessageId
);
id!(
    /// The id of an artifact, unique within its task.
    ArtifactId
);
id!(
    /// The id of a push notification configuration, unique within its task.
    PushConfigId
);
id!(
    /// The opaque routing id of an agent's interface (section 8.3.2); empty if there is none.
    Tenant
);

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn ids_are_generated_with_a_clock_before_1970() {
        let before = fresh(UNIX_EPOCH - Duration::from_secs(1));
        assert_ne!(before, fresh(UNIX_EPOCH - Duration::from_secs(1)));
        assert_eq!((before.get_version_num(), fresh(SystemTime::now()).get_version_num()), (4, 7));
    }
}
