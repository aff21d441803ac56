//! One document of two that say the same in different words.

use serde_json::{Value, map::Entry};

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
