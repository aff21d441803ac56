//! JSON samples of any message, created from the specification's tables.

use serde_json::{Map, Value, json};

use crate::spec::{Field, Messages};

/// All forms of a message with all fields set: one form for each member of the `oneof`, or a single form.
pub(crate) fn full(messages: &Messages, name: &str) -> Vec<Value> {
    let fields = &messages.messages[name].fields;
    let choices = fields.iter().filter(|field| field.oneof.is_some()).count();
    let with = |choice: usize| {
        let chosen = fields.iter().filter(|field| field.oneof.is_some()).skip(choice).take(1);
        let members = chosen.chain(fields.iter().filter(|field| field.oneof.is_none()));
        Value::Object(members.map(|field| (field.json_name.clone(), value(messages, field))).collect())
    };
    (0..choices.max(1)).map(with).collect()
}

/// The written form of a message without set fields: only the required fields.
pub(crate) fn empty(messages: &Messages, name: &str) -> Value {
    let fields = messages.messages[name].fields.iter().filter(|field| field.required);
    Value::Object(fields.map(|field| (field.json_name.clone(), field.default(messages))).collect())
}

/// A value for a field that is not its default.
pub(crate) fn value(messages: &Messages, field: &Field) -> Value {
    match &*field.cardinality {
        "repeated" => Value::from(vec![single(messages, &field.kind), single(messages, &field.kind)]),
        "map" => {
            let value = field.map_value.as_deref().expect("a map has values");
            json!({"key": single(messages, value)})
        }
        _ => single(messages, &field.kind),
    }
}

fn single(messages: &Messages, kind: &str) -> Value {
    match kind {
        "string" => "text".into(),
        "int32" => 7.into(),
        "bool" => true.into(),
        "bytes" => "+/8=".into(),
        "google.protobuf.Struct" => json!({"a": {"b": [1, "x", null, true]}}),
        "google.protobuf.Value" => json!([{"c": null}, 1.5]),
        "google.protobuf.Timestamp" => "2026-03-02T08:15:00.120Z".into(),
        name => match messages.enums.get(name) {
            Some(values) => values.iter().find(|(_, number)| **number == 2).expect("a third value").0.clone().into(),
            None => full(messages, name).swap_remove(0),
        },
    }
}

/// The same object with the proto names of its fields, at every depth.
pub(crate) fn snake(messages: &Messages, name: &str, object: &Value) -> Value {
    let mut renamed = Map::new();
    for (key, value) in object.as_object().expect("an object") {
        let field = messages.messages[name].fields.iter().find(|field| field.json_name == *key).expect("a known field");
        let below = |kind: &str, value: &Value| {
            if messages.messages.contains_key(kind) { snake(messages, kind, value) } else { value.clone() }
        };
        let value = match (value, &*field.cardinality, &field.map_value) {
            (Value::Array(items), "repeated", _) => items.iter().map(|item| below(&field.kind, item)).collect(),
            (Value::Object(entries), "map", Some(kind)) => {
                entries.iter().map(|(key, value)| (key.clone(), below(kind, value))).collect()
            }
            (value, _, _) => below(&field.kind, value),
        };
        renamed.insert(field.name.clone(), value);
    }
    Value::Object(renamed)
}
