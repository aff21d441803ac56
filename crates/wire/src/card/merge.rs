//! One document of two that say the same in different words.

use nuncio_model::{AgentCard, card::SecurityScheme};
use serde_json::{Map, Value, map::Entry};

/// A card with the members of an older version beside its own.
pub(super) fn both(card: &AgentCard, older: Map<String, Value>) -> Value {
    let mut document = serde_json::to_value(card).unwrap_or_default();
    if let Some(schemes) = document.get_mut("securitySchemes").and_then(Value::as_object_mut) {
        // It tells a reader of 1.0 nothing, and one of 0.3 takes it for a mistake.
        schemes.retain(|name, _| card.security_schemes.get(name) != Some(&SecurityScheme::Unknown));
    }
    add(&mut document, older.into());
    document
}

/// Adds what a document does not have. Where both have a member, it is the members within that are added; entries of
/// lists as long as each other belong together.
pub(super) fn add(document: &mut Value, other: Value) {
    match (document, other) {
        (Value::Object(members), Value::Object(others)) => {
            for (name, value) in others {
                match members.entry(name) {
                    Entry::Vacant(vacant) => drop(vacant.insert(value)),
                    Entry::Occupied(mut occupied) => add(occupied.get_mut(), value),
                }
            }
        }
        (Value::Array(items), Value::Array(others)) if items.len() == others.len() => {
            items.iter_mut().zip(others).for_each(|(item, other)| add(item, other));
        }
        _ => {}
    }
}
