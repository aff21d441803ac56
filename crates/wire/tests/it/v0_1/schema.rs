//! Validates documents against the tables of the specification: every member must be known and have its type, and no
//! required member can be missing.

use std::{collections::BTreeMap, sync::LazyLock};

use serde_json::Value;

use crate::spec;

/// A type of a table: its members, or an alias.
enum Type {
    Object(Vec<Member>),
    Is(String),
}

struct Member {
    name: String,
    kind: String,
    required: bool,
}

static TYPES: LazyLock<BTreeMap<String, Type>> = LazyLock::new(|| {
    let text = spec::text("v0.1/messages.md");
    let mut types = BTreeMap::new();
    for section in text.split("\n#### ").skip(1) {
        let (name, body) = section.split_once('\n').unwrap();
        let body = body.split("\n## ").next().unwrap().replace("\\|", "∣");
        let is =
            body.lines().find_map(|line| line.strip_prefix("= `")).map(|line| line.trim_end_matches('`').to_owned());
        let members = body.lines().filter(|line| line.starts_with("| `")).map(|line| {
            let cells: Vec<_> = line.split('|').map(|cell| cell.trim().trim_matches('`').to_owned()).collect();
            Member { name: cells[1].clone(), kind: cells[2].clone(), required: cells[3] == "yes" }
        });
        types.insert(name.trim().to_owned(), is.map_or_else(|| Type::Object(members.collect()), Type::Is));
    }
    assert!(types.len() > 20, "the tables have moved");
    types
});

/// Asserts that a document has a type.
#[track_caller]
pub(crate) fn assert_is(document: &Value, kind: &str) {
    if let Err(reason) = check(document, kind, kind) {
        panic!("{reason} in {document:#}");
    }
}

/// The reason why a document does not have a type.
pub(crate) fn check(document: &Value, kind: &str, at: &str) -> Result<(), String> {
    if let Some(item) = kind.strip_suffix("[]") {
        let items = document.as_array().ok_or_else(|| format!("{at} is not a list"))?;
        return items.iter().enumerate().try_for_each(|(place, it)| check(it, item, &format!("{at}[{place}]")));
    }
    if kind.contains('∣') && !kind.starts_with("enum") {
        let reasons: Result<Vec<_>, ()> =
            kind.split('∣').map(|kind| check(document, kind.trim(), at).err().ok_or(())).collect();
        return reasons.map_or(Ok(()), |reasons| Err(reasons.join("; or ")));
    }
    let fits = match kind {
        "string" => document.is_string(),
        "boolean" => document.is_boolean(),
        "integer" => document.is_i64() || document.is_u64(),
        "object (any JSON)" => document.is_object(),
        kind => match kind.split_once(' ') {
            Some(("enum", values)) => values.split('∣').any(|value| document == value.trim()),
            Some(("const", value)) => *document == serde_json::from_str::<Value>(value).unwrap(),
            _ => return check_named(document, kind, at),
        },
    };
    if fits { Ok(()) } else { Err(format!("{at} is not {kind}")) }
}

fn check_named(document: &Value, kind: &str, at: &str) -> Result<(), String> {
    let members = match TYPES.get(kind) {
        Some(Type::Object(members)) => members,
        Some(Type::Is(kind)) => return check(document, kind, at),
        None => panic!("there is no type {kind}"),
    };
    let object = document.as_object().ok_or_else(|| format!("{at} is not an object"))?;
    if let Some(unknown) = object.keys().find(|name| !members.iter().any(|member| member.name == **name)) {
        return Err(format!("{at} has no member {unknown}"));
    }
    for member in members {
        let at = format!("{at}.{}", member.name);
        match object.get(&member.name) {
            // The text allows `null` for an absent configuration.
            Some(Value::Null) if member.name == "pushNotificationConfig" => {}
            Some(value) => check(value, &member.kind, &at)?,
            None if member.required => return Err(format!("{at} is missing")),
            None => {}
        }
    }
    Ok(())
}

#[test]
fn invalid_documents_are_refused() {
    let part = serde_json::json!({"type": "text", "text": "a"});
    assert_is(&part, "Part");
    for wrong in [
        serde_json::json!({"type": "text"}),
        serde_json::json!({"type": "text", "text": "a", "kind": "text"}),
        serde_json::json!({"type": "data", "data": [1]}),
        serde_json::json!({"kind": "text", "text": "a"}),
    ] {
        assert!(check(&wrong, "Part", "part").is_err(), "{wrong}");
    }
    assert!(check(&"rejected".into(), "TaskState", "state").is_err());
}
