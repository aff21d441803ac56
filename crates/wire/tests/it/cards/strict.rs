//! Holds a document against the tables of JSON types of version 0.3.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::spec;

/// The types, by name.
#[derive(Deserialize)]
pub(super) struct Types {
    json_types: BTreeMap<String, Type>,
}

#[derive(Deserialize)]
struct Type {
    #[serde(default)]
    fields: BTreeMap<String, Field>,
    alias: Option<String>,
}

#[derive(Deserialize)]
struct Field {
    #[serde(rename = "type")]
    kind: String,
    required: bool,
}

impl Types {
    pub(super) fn v0_3() -> Self {
        spec::file("v0.3/messages.json")
    }

    /// What of a value is not of a type. `extra` is whether it may have members that the type does not.
    pub(super) fn check(&self, kind: &str, value: &Value, extra: bool) -> Result<(), String> {
        let wrong = |what: &str| Err(format!("{what}: {value} as {kind}"));
        if let Some(item) = kind.strip_suffix("[]") {
            let Some(items) = value.as_array() else { return wrong("no list") };
            return items.iter().try_for_each(|value| self.check(item, value, extra));
        }
        if let Some(entry) = kind.strip_prefix("map<string, ").and_then(|it| it.strip_suffix('>')) {
            let Some(entries) = value.as_object() else { return wrong("no map") };
            return entries.values().try_for_each(|value| self.check(entry, value, extra));
        }
        if let Some(choices) = kind.strip_prefix("enum ") {
            let known = choices.split(" | ").any(|choice| value == choice);
            return if known { Ok(()) } else { wrong("not one of these") };
        }
        if let Some(constant) = kind.strip_prefix("const ") {
            return if constant.trim_matches('"') == value { Ok(()) } else { wrong("not this") };
        }
        let is_right = match kind {
            "string" => value.is_string(),
            "boolean" => value.is_boolean(),
            "object (any JSON)" => value.is_object(),
            name => return self.check_named(name, value, extra),
        };
        if is_right { Ok(()) } else { wrong("another type") }
    }

    fn check_named(&self, name: &str, value: &Value, extra: bool) -> Result<(), String> {
        let Type { fields, alias } = &self.json_types[name];
        if let Some(alias) = alias {
            let mut failures = Vec::new();
            for choice in alias.split(" | ") {
                match self.check(choice, value, extra) {
                    Ok(()) => return Ok(()),
                    Err(failure) => failures.push(failure),
                }
            }
            return Err(failures.join("; "));
        }
        let no_members = Map::new();
        let members = value.as_object().unwrap_or(&no_members);
        if let Some(surplus) = members.keys().find(|name| !extra && !fields.contains_key(*name)) {
            return Err(format!("{name} has no {surplus}"));
        }
        fields.iter().try_for_each(|(field, Field { kind, required })| match members.get(field) {
            None if *required => Err(format!("{name} lacks {field}: {value}")),
            None => Ok(()),
            Some(value) => self.check(kind, value, extra).map_err(|failure| format!("{name}.{field}: {failure}")),
        })
    }
}
