//! The depth of nested lists and objects.

use super::{Struct, Value};

/// Whether a value has at most this many levels. A text, a number, a boolean and `null` have no level. A list or an
/// object has one level more than its deepest value. Deeper values are not visited, so the depth of a value does not
/// matter.
pub fn nests_within(value: &Value, levels: usize) -> bool {
    match (value, levels.checked_sub(1)) {
        (Value::Array(_) | Value::Object(_), None) => false,
        (Value::Array(items), Some(levels)) => items.iter().all(|item| nests_within(item, levels)),
        (Value::Object(members), Some(_)) => members_nest_within(members, levels),
        _ => true,
    }
}

/// Whether the members of an object, with the object itself, have at most this many levels.
pub fn members_nest_within(members: &Struct, levels: usize) -> bool {
    levels.checked_sub(1).is_some_and(|levels| members.values().all(|value| nests_within(value, levels)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_level_is_a_list_or_an_object() {
        for (value, levels) in [
            (json!("text"), 0),
            (json!(null), 0),
            (json!([]), 1),
            (json!({}), 1),
            (json!([1, "a", true]), 1),
            (json!({"a": 1, "b": [[]]}), 3),
            (json!([{"a": [{}]}, 2]), 4),
        ] {
            assert!(nests_within(&value, levels) && nests_within(&value, levels + 1), "{value}");
            assert!(levels == 0 || !nests_within(&value, levels - 1), "{value}");
        }
        assert!(members_nest_within(&Struct::new(), 1) && !members_nest_within(&Struct::new(), 0));
    }
}
