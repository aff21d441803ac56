//! Access to the members of a document by both spellings of their names.

use serde_json::{Map, Value};

/// A member by its JSON name or by the same name in `snake_case`. A `null` member counts as absent.
pub(super) fn member<'a>(members: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    members.get(name).or_else(|| members.get(&snake(name))).filter(|value| !value.is_null())
}

/// Like [`member`], but mutable.
pub(super) fn member_mut<'a>(members: &'a mut Map<String, Value>, name: &str) -> Option<&'a mut Value> {
    let name = if members.contains_key(name) { name.to_owned() } else { snake(name) };
    members.get_mut(&name).filter(|value| !value.is_null())
}

/// The trimmed text of a member, or `None` if the text is empty.
pub(super) fn text<'a>(members: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    member(members, name)?.as_str().map(str::trim).filter(|text| !text.is_empty())
}

fn snake(name: &str) -> String {
    let mut snake = String::with_capacity(name.len() + 4);
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}
