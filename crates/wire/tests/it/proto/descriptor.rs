//! The `.proto` file matches the specification: every message, field, enum, call and option.

use std::collections::BTreeSet;

use nuncio_model::Method;
use nuncio_wire::proto;
use prost_reflect::{DynamicMessage, FieldDescriptor, Kind, Value as Reflected};
use serde_json::{Value, json};

use super::oracle::POOL;

const PACKAGE: &str = "lf.a2a.v1";

fn facts() -> Value {
    serde_json::from_str(include_str!("spec/messages.json")).unwrap()
}

/// The name without the package of A2A.
fn short(full_name: &str) -> &str {
    let name = full_name.strip_prefix("lf.").unwrap_or(full_name);
    name.strip_prefix("a2a.v1.").unwrap_or(full_name)
}

fn kind_name(kind: &Kind) -> String {
    match kind {
        Kind::Message(message) => short(message.full_name()).to_owned(),
        Kind::Enum(it) => short(it.full_name()).to_owned(),
        scalar => format!("{scalar:?}").to_lowercase(),
    }
}

fn extension<'a>(options: &'a DynamicMessage, name: &str) -> std::borrow::Cow<'a, Reflected> {
    options.get_extension(&POOL.get_extension_by_name(name).unwrap())
}

fn field_facts(field: &FieldDescriptor) -> Value {
    let (kind, cardinality) = match field.kind() {
        Kind::Message(entry) if field.is_map() => {
            let value = entry.map_entry_value_field();
            return merge(
                field,
                json!({
                    "type": "map", "cardinality": "map", "map_key": "string", "map_value": kind_name(&value.kind()),
                }),
            );
        }
        kind => (kind, if field.is_list() { "repeated" } else { "singular" }),
    };
    merge(field, json!({ "type": kind_name(&kind), "cardinality": cardinality }))
}

fn merge(field: &FieldDescriptor, mut facts: Value) -> Value {
    let options = field.options();
    let behaviour = extension(&options, "google.api.field_behavior");
    let required = behaviour.as_list().unwrap().iter().any(|it| it.as_enum_number() == Some(2));
    let oneof = field.containing_oneof().filter(|oneof| !oneof.is_synthetic());
    let deprecated = options.get_field_by_name("deprecated").and_then(|it| it.as_bool()).unwrap_or_default();
    let more = json!({
        "name": field.name(),
        "json_name": field.json_name(),
        "number": field.number(),
        "proto3_optional": field.field_descriptor_proto().proto3_optional(),
        "required": required,
        "oneof": oneof.map(|oneof| oneof.name().to_owned()),
        "deprecated": deprecated,
    });
    facts.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    facts
}

#[test]
fn messages_and_fields_are_those_of_the_specification() {
    assert_messages(PACKAGE, &facts());
}

pub(crate) fn assert_messages(package: &str, facts: &Value) {
    let expected = facts["messages"].as_object().unwrap();
    let messages: Vec<_> =
        POOL.all_messages().filter(|it| it.package_name() == package && !it.is_map_entry()).collect();
    assert_eq!(
        messages.iter().map(|it| it.name().to_owned()).collect::<BTreeSet<_>>(),
        expected.keys().cloned().collect::<BTreeSet<_>>(),
    );
    for message in messages {
        let expected = &expected[message.name()];
        let mut fields = expected["fields"].as_array().unwrap().clone();
        for field in &mut fields {
            field.as_object_mut().unwrap().remove("kind");
        }
        fields.sort_by_key(|field| field["number"].as_u64());
        let mut actual: Vec<_> = message.fields().map(|field| field_facts(&field)).collect();
        actual.sort_by_key(|field| field["number"].as_u64());
        assert_eq!(actual, fields, "{}", message.name());
        assert_eq!(message.reserved_names().count(), 0);
        assert_eq!(message.reserved_ranges().count(), 0);
        let oneofs: Vec<_> = message.oneofs().filter(|it| !it.is_synthetic()).map(|it| it.name().to_owned()).collect();
        assert_eq!(json!(oneofs), expected["oneofs"], "{}", message.name());
    }
}

#[test]
fn enums_are_those_of_the_specification() {
    assert_enums(PACKAGE, &facts());
}

pub(crate) fn assert_enums(package: &str, facts: &Value) {
    let enums: serde_json::Map<_, _> = POOL
        .all_enums()
        .filter(|it| it.package_name() == package)
        .map(|it| {
            let values = it.values().map(|value| (value.name().to_owned(), json!(value.number()))).collect();
            (it.name().to_owned(), Value::Object(values))
        })
        .collect();
    assert_eq!(Value::Object(enums), facts["enums"]);
}

fn http_facts(rule: &DynamicMessage) -> Value {
    let (verb, path) = rule
        .fields()
        .find(|(field, _)| field.containing_oneof().is_some())
        .map(|(field, path)| (field.name().to_uppercase(), path.as_str().unwrap().to_owned()))
        .unwrap();
    let body = rule.get_field_by_name("body").unwrap().as_str().unwrap().to_owned();
    json!({ "method": verb, "path": path, "body": if body.is_empty() { Value::Null } else { body.into() } })
}

#[test]
fn calls_and_their_http_rules_are_those_of_the_specification() {
    assert_calls(proto::SERVICE, &facts());
}

pub(crate) fn assert_calls(service: &str, facts: &Value) {
    let service = POOL.get_service_by_name(service).unwrap();
    let calls: Vec<_> = service
        .methods()
        .map(|call| {
            let options = call.options();
            let rule = extension(&options, "google.api.http");
            let rule = rule.as_message().unwrap();
            let mut http = http_facts(rule);
            let more = rule.get_field_by_name("additional_bindings").unwrap();
            http["additional_bindings"] =
                more.as_list().unwrap().iter().map(|it| http_facts(it.as_message().unwrap())).collect();
            let signature: Vec<_> = extension(&options, "google.api.method_signature")
                .as_list()
                .unwrap()
                .iter()
                .map(|it| it.as_str().unwrap().to_owned())
                .collect();
            json!({
                "name": call.name(),
                "request": short(call.input().full_name()),
                "response": short(call.output().full_name()),
                "client_streaming": call.is_client_streaming(),
                "server_streaming": call.is_server_streaming(),
                "http": http,
                "method_signature": signature,
            })
        })
        .collect();
    let mut expected = facts["services"]["A2AService"]["methods"].clone();
    for call in expected.as_array_mut().unwrap() {
        let joined: Vec<_> =
            call["method_signature"].as_array().unwrap().iter().map(|it| it.as_str().unwrap().to_owned()).collect();
        call["method_signature"] = if joined.is_empty() { json!([]) } else { json!([joined.join(",")]) };
    }
    assert_eq!(json!(calls), expected);
}

#[test]
fn each_method_has_a_path() {
    let service = POOL.get_service_by_name(proto::SERVICE).unwrap();
    for method in Method::ALL {
        let call = service.methods().find(|call| call.name() == method.name()).unwrap();
        assert_eq!(call.is_server_streaming(), method.is_streaming());
        assert_eq!(proto::path(method), format!("/{}/{}", proto::SERVICE, method.name()));
        assert_eq!(proto::method_of_path(proto::path(method)), Some(method));
    }
    for path in ["/lf.a2a.v1.A2AService/Nothing", "/a2a.v1.A2AService/GetTask", "/lf.a2a.v1.A2AServiceGetTask", "", "/"]
    {
        assert_eq!(proto::method_of_path(path), None, "{path}");
    }
}

#[test]
fn file_options_are_those_of_the_specification() {
    assert_options("lf/a2a/v1/a2a.proto", &facts());
}

pub(crate) fn assert_options(file: &str, facts: &Value) {
    let file = POOL.get_file_by_name(file).unwrap();
    let options = file.options();
    for (name, expected) in facts["file_options"].as_object().unwrap() {
        let actual = options.get_field_by_name(name).unwrap();
        let actual = match &*actual {
            Reflected::Bool(value) => json!(value),
            other => json!(other.as_str()),
        };
        assert_eq!(actual, *expected, "{name}");
    }
}
