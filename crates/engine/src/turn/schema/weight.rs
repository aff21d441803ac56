//! The cost of a schema, counted before the schema is used: a few definitions with two references each can need an
//! exponential number of checks.
//!
//! Every value in the schema is counted like a schema, because only the position distinguishes values from schemas. An
//! overestimate is harmless.

use std::{collections::HashMap, ptr};

use nuncio_model::Value;

/// The largest number of subschemas after each reference is replaced by its target.
const HEAVIEST: u64 = 50_000;
/// The largest depth, with references followed.
const DEEPEST: usize = 128;

/// Whether a schema is recursive, or the reason why the schema is too large or cannot be counted.
pub(super) fn weigh(schema: &Value) -> Result<bool, String> {
    let mut scales = Scales { root: schema, known: HashMap::new(), is_recursive: false };
    match scales.value(schema, DEEPEST)? {
        weight if weight > HEAVIEST => Err("its references are too many".to_owned()),
        _ => Ok(scales.is_recursive),
    }
}

struct Scales<'a> {
    root: &'a Value,
    /// The weights by the address of an object; `None` while the object is being weighed.
    known: HashMap<usize, Option<u64>>,
    is_recursive: bool,
}

impl<'a> Scales<'a> {
    fn value(&mut self, value: &'a Value, depth: usize) -> Result<u64, String> {
        let depth = depth.checked_sub(1).ok_or("it is too deep")?;
        match value {
            Value::Array(list) => {
                list.iter().try_fold(0_u64, |sum, item| Ok(sum.saturating_add(self.value(item, depth)?)))
            }
            Value::Object(members) => {
                let place = ptr::from_ref(members).addr();
                match self.known.get(&place) {
                    Some(Some(weight)) => return Ok(*weight),
                    Some(None) => {
                        self.is_recursive = true;
                        return Ok(1);
                    }
                    None => self.known.insert(place, None),
                };
                let mut weight = 1_u64;
                for (name, member) in members {
                    weight = weight.saturating_add(self.member(value, name, member, depth)?);
                }
                self.known.insert(place, Some(weight));
                Ok(weight)
            }
            _ => Ok(0),
        }
    }

    fn member(&mut self, of: &Value, name: &str, member: &'a Value, depth: usize) -> Result<u64, String> {
        match (name, member) {
            ("$ref", Value::String(target)) => {
                let target = target.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer));
                let target = target.ok_or_else(|| format!("its reference {member} leads to no place within it"))?;
                self.value(target, depth)
            }
            ("$dynamicRef" | "$recursiveRef", Value::String(_)) => Err(format!("{name} is not supported")),
            // Nested references would be relative to this id. Draft 4 calls the member `id`, which is also a common
            // name.
            ("$id", Value::String(_)) if !ptr::eq(of, self.root) => Err("an inner $id is not supported".to_owned()),
            ("$schema", Value::String(draft)) if draft.contains("draft-04") => {
                Err("draft 4 is not supported".to_owned())
            }
            _ => self.value(member, depth),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Definitions, each with `width` references to the next one.
    fn chain(length: usize, times: usize) -> Value {
        let mut definitions = serde_json::Map::new();
        for number in 0..length {
            let next = json!({"$ref": format!("#/$defs/d{}", number + 1)});
            definitions.insert(format!("d{number}"), json!({"allOf": vec![next; times]}));
        }
        definitions.insert(format!("d{length}"), json!({"type": "integer"}));
        json!({"$ref": "#/$defs/d0", "$defs": definitions})
    }

    #[test]
    fn many_ways_through_a_few_references_are_too_many() {
        assert_eq!(weigh(&chain(10, 2)), Ok(false));
        assert_eq!(weigh(&chain(20, 2)).unwrap_err(), "its references are too many");
        assert_eq!(weigh(&chain(40, 1000)).unwrap_err(), "its references are too many");
    }

    #[test]
    fn a_long_chain_is_too_deep() {
        assert_eq!(weigh(&chain(30, 1)), Ok(false));
        assert_eq!(weigh(&chain(5_000, 1)).unwrap_err(), "it is too deep");
    }

    #[test]
    fn recursion_is_seen() {
        assert_eq!(weigh(&json!({"$ref": "#"})), Ok(true));
        assert_eq!(weigh(&json!({"properties": {"next": {"$ref": "#"}, "$ref": {"type": "string"}}})), Ok(true));
        assert_eq!(weigh(&json!({"enum": [{"id": "x"}], "$id": "https://example.com/schema"})), Ok(false));
    }

    #[test]
    fn nothing_outside_is_referred_to() {
        for target in ["http://127.0.0.1:1/schema", "file:///etc/hostname", "#anchor", "other.json#/a", "#/nowhere"] {
            let reason = weigh(&json!({"items": {"$ref": target}})).unwrap_err();
            assert_eq!(reason, format!("its reference {target:?} leads to no place within it"));
        }
        assert!(weigh(&json!({"$dynamicRef": "#a"})).is_err());
        assert!(weigh(&json!({"$defs": {"a": {"$id": "https://example.com/a"}}})).is_err());
    }
}
