//! Merges two documents that describe the same card in different forms.

use nuncio_model::{AgentCard, card::SecurityScheme};
use serde_json::{Map, Value, map::Entry};

/// A card with the members of an older version in addition to its own members.
pub(super) fn both(card: &AgentCard, older: Map<String, Value>) -> Value {
    let mut document = serde_json::to_value(card).unwrap_or_default();
    if let Some(schemes) = document.get_mut("securitySchemes").and_then(Value::as_object_mut) {
        // The unknown scheme is useless for a reader of 1.0, and a reader of 0.3 rejects the scheme.
        schemes.retain(|name, _| card.security_schemes.get(name) != Some(&SecurityScheme::Unknown));
    }
    add(&mut document, older.into());
    document
}

/// Adds members that a document does not have. If both documents have a member, the values are merged in the same way.
/// Lists of equal length are merged entry by entry.
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
