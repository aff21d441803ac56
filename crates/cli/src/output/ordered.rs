//! JSON with the members in their original order.

use std::fmt;

use nuncio_model::Value;
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{MapAccess, SeqAccess, Visitor},
};

/// A document with its members in their original order.
#[derive(Debug)]
pub(crate) enum Ordered {
    Object(Vec<(String, Ordered)>),
    Array(Vec<Ordered>),
    Plain(Value),
}

impl Serialize for Ordered {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Object(members) => to.collect_map(members.iter().map(|(name, value)| (name, value))),
            Self::Array(items) => to.collect_seq(items),
            Self::Plain(value) => value.serialize(to),
        }
    }
}

impl<'de> Deserialize<'de> for Ordered {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct AnyVisitor;
        impl<'de> Visitor<'de> for AnyVisitor {
            type Value = Ordered;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("JSON")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Ordered, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Ordered::Object(members))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Ordered, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = seq.next_element()? {
                    items.push(item);
                }
                Ok(Ordered::Array(items))
            }
            fn visit_unit<E>(self) -> Result<Ordered, E> {
                Ok(Ordered::Plain(Value::Null))
            }
            fn visit_bool<E>(self, value: bool) -> Result<Ordered, E> {
                Ok(Ordered::Plain(value.into()))
            }
            fn visit_i64<E>(self, value: i64) -> Result<Ordered, E> {
                Ok(Ordered::Plain(value.into()))
            }
            fn visit_u64<E>(self, value: u64) -> Result<Ordered, E> {
                Ok(Ordered::Plain(value.into()))
            }
            fn visit_f64<E>(self, value: f64) -> Result<Ordered, E> {
                Ok(Ordered::Plain(value.into()))
            }
            fn visit_str<E>(self, value: &str) -> Result<Ordered, E> {
                Ok(Ordered::Plain(value.into()))
            }
        }
        from.deserialize_any(AnyVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_keep_their_order() {
        let json = r#"{"b":[1,-2,0.5,null,true,"x"],"a":{"d":{},"c":[]}}"#;
        assert_eq!(serde_json::to_string(&serde_json::from_str::<Ordered>(json).unwrap()).unwrap(), json);
    }
}
