//! Validates written documents against the JSON types of 0.3, member by member.

use std::{collections::BTreeMap, sync::LazyLock};

use serde::Deserialize;
use serde_json::Value;

use crate::spec::file;

#[derive(Deserialize)]
struct Facts {
    json_types: BTreeMap<String, Type>,
    methods: BTreeMap<String, Signature>,
}

#[derive(Deserialize)]
struct Type {
    alias: Option<String>,
    #[serde(default)]
    fields: BTreeMap<String, Field>,
}

#[derive(Deserialize)]
struct Field {
    #[serde(rename = "type")]
    kind: String,
    required: bool,
}

#[derive(Deserialize)]
struct Signature {
    params: Option<String>,
    result: String,
}

static FACTS: LazyLock<Facts> = LazyLock::new(|| file("v0.3/messages.json"));

/// Asserts that a value is the params of this method.
#[track_caller]
pub(super) fn check_params(method: &str, params: &Value) {
    let known = FACTS.methods.get(method).unwrap_or_else(|| panic!("no method {method}"));
    if let Some(kind) = known.params.as_deref().filter(|kind| *kind != "none") {
        assert_is(params, kind);
    }
}

/// Asserts that a value is the result of this method.
#[track_caller]
pub(super) fn check_result(method: &str, result: &Value) {
    assert_is(result, &FACTS.methods[method].result);
}

#[track_caller]
pub(crate) fn assert_is(value: &Value, kind: &str) {
    if let Err(reason) = is(value, kind) {
        panic!("not {kind}: {reason}\n{value}");
    }
}

/// Whether a value has a type of the tables.
fn is(value: &Value, kind: &str) -> Result<(), String> {
    let kind = kind.trim();
    if let Some(values) = kind.strip_prefix("enum ") {
        let text = value.as_str().ok_or("not a string")?;
        return values
            .split('|')
            .any(|it| it.trim() == text)
            .then_some(())
            .ok_or(format!("{text} is not one of {values}"));
    }
    if let Some(text) = kind.strip_prefix("const ") {
        return (value.as_str() == Some(text.trim_matches('"'))).then_some(()).ok_or(format!("{value} is not {text}"));
    }
    if kind.contains(" | ") {
        let reasons: Vec<_> = kind.split('|').map(|kind| is(value, kind)).collect();
        let ok = reasons.iter().any(Result::is_ok);
        return ok.then_some(()).ok_or_else(|| format!("{reasons:?}"));
    }
    if let Some(entry) = kind.strip_prefix("map<string, ").and_then(|it| it.strip_suffix('>')) {
        return value.as_object().ok_or("not a map")?.values().try_for_each(|value| is(value, entry));
    }
    if let Some(item) = kind.strip_suffix("[]") {
        return value.as_array().ok_or("not a list")?.iter().try_for_each(|value| is(value, item));
    }
    if let Some(entry) = kind.strip_prefix("map<string, ").and_then(|kind| kind.strip_suffix('>')) {
        return value.as_object().ok_or("not an object")?.values().try_for_each(|value| is(value, entry));
    }
    let fits = match kind {
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "null" => value.is_null(),
        "any" => true,
        "object (any JSON)" => value.is_object(),
        name => return is_named(value, name),
    };
    fits.then_some(()).ok_or(format!("{value} is not {kind}"))
}

fn is_named(value: &Value, name: &str) -> Result<(), String> {
    let kind = FACTS.json_types.get(name).ok_or(format!("no type {name}"))?;
    if let Some(alias) = &kind.alias {
        return is(value, alias);
    }
    let members = value.as_object().ok_or(format!("{name} is not an object"))?;
    if let Some(unknown) = members.keys().find(|member| !kind.fields.contains_key(*member)) {
        return Err(format!("{name} has no {unknown}"));
    }
    for (member, field) in &kind.fields {
        match members.get(member) {
            Some(value) => is(value, &field.kind).map_err(|reason| format!("{name}.{member}: {reason}"))?,
            None if field.required => return Err(format!("{name}.{member} is missing")),
            None => {}
        }
    }
    Ok(())
}
