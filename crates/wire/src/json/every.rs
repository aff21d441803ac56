//! Finds every wrong field of a request. A normal read stops at the first wrong field.

use nuncio_model::{Error, Validate, error::FieldViolation};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::explain;

/// The maximum number of fields in an error.
const MOST: usize = 16;

/// The size of the longest request that is read more than once, in bytes.
const LONGEST: usize = 64 * 1024;

/// Adds the other wrong fields to an error that names one field. The request is read again without the known wrong
/// fields, until the read succeeds. Then the request is validated like any request.
pub(super) fn with_others<T: DeserializeOwned + Validate>(error: Error, json: &str) -> Error {
    let [first] = error.field_violations() else { return error };
    // This check comes first, because a parsed value takes many times the memory of its text.
    if json.len() > LONGEST {
        return error;
    }
    let Ok(mut value) = serde_json::from_str::<Value>(json) else { return error };
    let mut violations = vec![first.clone()];
    while violations.len() < MOST && violations.last().is_some_and(|last| remove(&mut value, &last.field)) {
        let json = value.to_string();
        let mut others = Vec::new();
        let read = serde_json::from_str::<T>(&json);
        let is_read = read.is_ok();
        if let Ok(request) = read {
            request.validate_at("", &mut others);
        } else {
            let (field, description) = explain::<T>(&json);
            others.push(FieldViolation { field, description });
        }
        // A field that was removed here is not missing.
        others.retain(|other| !other.field.is_empty() && violations.iter().all(|known| known.field != other.field));
        let is_new = !others.is_empty();
        violations.extend(others);
        if is_read || !is_new {
            break;
        }
    }
    violations.truncate(MOST);
    if violations.len() > 1 { Error::violations(violations) } else { error }
}

/// Removes the member at a path such as `message.parts[0].text`. Returns whether the member existed.
fn remove(value: &mut Value, path: &str) -> bool {
    let (parent, name) = path.rsplit_once('.').unwrap_or(("", path));
    let mut at = value;
    for step in parent.split(['.', '[']).filter(|step| !step.is_empty()) {
        let next = match step.strip_suffix(']').map(str::parse::<usize>) {
            Some(Ok(index)) => at.get_mut(index),
            _ => at.get_mut(step),
        };
        let Some(next) = next else { return false };
        at = next;
    }
    at.as_object_mut().is_some_and(|members| members.remove(name).is_some())
}
