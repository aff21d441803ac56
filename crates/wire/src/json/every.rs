//! Finds every wrong field of a request. A normal read stops at the first wrong field.

use std::fmt::Write as _;

use nuncio_model::{Error, ErrorKind, error::FieldViolation};
use serde_json::Value;

/// The maximum number of fields in an error.
const MOST: usize = 16;

/// The size of the longest request that is read more than once, in bytes.
const LONGEST: usize = 64 * 1024;

/// Adds to an error that names wrong fields the others that are wrong. The request is read again without these fields,
/// until the request can be read or no other field is found.
#[cold]
pub(crate) fn with_others<T>(error: Error, json: &str, read: impl Fn(&str) -> Result<T, Error>) -> Error {
    // The length first: a parsed value takes many times the memory of its text.
    if error.kind() != ErrorKind::InvalidParams || error.field_violations().is_empty() || json.len() > LONGEST {
        return error;
    }
    let Ok(value) = serde_json::from_str::<Value>(json) else { return error };
    let mut request = Remaining { value, items: Vec::new() };
    let mut violations = error.field_violations().to_vec();
    let mut wrong: Vec<String> = violations.iter().map(|violation| violation.field.clone()).collect();
    while violations.len() < MOST {
        // All of them: a loop that stops at the first success would read more often.
        let removed = wrong.iter().filter(|field| request.remove(field)).count();
        if removed == 0 {
            break;
        }
        let Err(again) = read(&request.value.to_string()) else { break };
        wrong.clear();
        for FieldViolation { field, description } in again.field_violations() {
            let field = request.original(field);
            add(&mut violations, FieldViolation { field: field.clone(), description: description.clone() });
            wrong.push(field);
        }
    }
    violations.truncate(MOST);
    if violations.len() > error.field_violations().len() { Error::violations(violations) } else { error }
}

/// The error that names these fields, and those that are incomplete.
pub(crate) fn violations(mut violations: Vec<FieldViolation>, incomplete: Vec<FieldViolation>) -> Error {
    for it in incomplete {
        add(&mut violations, it);
    }
    violations.truncate(MOST);
    Error::violations(violations)
}

/// Adds a field, unless the field is wrong because a field within it is: without that field, it is incomplete.
fn add(violations: &mut Vec<FieldViolation>, it: FieldViolation) {
    if !it.field.is_empty() && !violations.iter().any(|known| is_within(&known.field, &it.field)) {
        violations.push(it);
    }
}

/// Whether `field` is `outer` or within it. A field may have its name in snake_case.
fn is_within(field: &str, outer: &str) -> bool {
    let plain = |name: &str| name.replace('_', "").to_ascii_lowercase();
    plain(field).strip_prefix(&plain(outer)).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// A request without the fields that were removed. Fields have their names in the whole request, for example
/// `message.parts[0].text`.
struct Remaining {
    value: Value,
    /// The items that were removed: the list, and the index in the whole list, ascending.
    items: Vec<(String, usize)>,
}

impl Remaining {
    /// Removes a field. Returns whether the field was there.
    fn remove(&mut self, field: &str) -> bool {
        let mut at = &mut self.value;
        let mut steps = steps(field).peekable();
        while let Some((list, step)) = steps.next() {
            let is_last = steps.peek().is_none();
            at = match (at, step) {
                (Value::Object(members), Step::Member(name)) if is_last => return members.remove(name).is_some(),
                (Value::Object(members), Step::Member(name)) => match members.get_mut(name) {
                    Some(member) => member,
                    None => return false,
                },
                (Value::Array(values), Step::Item(index)) => {
                    let mut before = self.items.iter().filter(|(of, _)| of == list);
                    let place = index - before.clone().filter(|(_, removed)| *removed < index).count();
                    if before.any(|(_, removed)| *removed == index) || place >= values.len() {
                        return false;
                    }
                    if is_last {
                        values.remove(place);
                        self.items.push((list.to_owned(), index));
                        self.items.sort_unstable();
                        return true;
                    }
                    &mut values[place]
                }
                _ => return false,
            };
        }
        false
    }

    /// The name in the whole request of a field of what remains.
    fn original(&self, field: &str) -> String {
        let mut name = String::new();
        for (_, step) in steps(field) {
            match step {
                Step::Member(member) => {
                    let dot = if name.is_empty() { "" } else { "." };
                    name.push_str(dot);
                    name.push_str(member);
                }
                Step::Item(place) => {
                    let of_list = self.items.iter().filter(|(list, _)| *list == name);
                    let index = of_list.fold(place, |index, (_, removed)| index + usize::from(*removed <= index));
                    let _ = write!(name, "[{index}]");
                }
            }
        }
        name
    }
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Member(&'a str),
    Item(usize),
}

/// The steps of a path, each with the path before the step.
fn steps(path: &str) -> impl Iterator<Item = (&str, Step<'_>)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let (before, rest) = path.split_at_checked(at)?;
        let rest = rest.strip_prefix('.').filter(|_| at > 0).unwrap_or(rest);
        if rest.is_empty() {
            return None;
        }
        let start = path.len() - rest.len();
        let end = rest.char_indices().skip(1).find(|(_, letter)| ['.', '['].contains(letter));
        let end = end.map_or(rest.len(), |(end, _)| end);
        at = start + end;
        let step = &rest[..end];
        let item = step.strip_prefix('[').and_then(|step| step.strip_suffix(']')?.parse().ok());
        Some((before, item.map_or(Step::Member(step), Step::Item)))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_field_is_removed_and_the_others_keep_their_names() {
        let value = json!({"m": {"parts": [{"a": 1}, {"b": 2}, {"c": 3}, {"d": 4}]}, "n": 5});
        let mut request = Remaining { value, items: Vec::new() };
        for (field, is_there) in
            [("m.parts[2]", true), ("m.parts[2]", false), ("m.parts[0]", true), ("m.parts[3].d", true), ("n", true)]
        {
            assert_eq!(request.remove(field), is_there, "{field}");
        }
        for absent in ["", "n", "m.parts[4]", "m.parts[1].x", "m.x.y", "m[0]", "é.é"] {
            assert!(!request.remove(absent), "{absent}");
        }
        assert_eq!(request.value, json!({"m": {"parts": [{"b": 2}, {}]}}));
        assert_eq!(request.original("m.parts[0].b"), "m.parts[1].b");
        assert_eq!(request.original("m.parts[1]"), "m.parts[3]");
        assert_eq!(request.original("m.parts[2].x"), "m.parts[4].x");
    }
}
