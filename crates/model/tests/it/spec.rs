//! The specification's facts, from the folder `spec`.

use std::{collections::BTreeMap, path::PathBuf};

use serde::Deserialize;
use serde_json::Value;

/// The folder of the specification's facts.
fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../spec"))
}

/// Reads a JSON file of the facts; the tests require this file.
pub(crate) fn file<T: serde::de::DeserializeOwned>(name: &str) -> T {
    let path = folder().join(name);
    let json = std::fs::read(&path).unwrap_or_else(|error| panic!("{} cannot be read: {error}", path.display()));
    serde_json::from_slice(&json).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// `v1.0/messages.json`.
#[derive(Debug, Deserialize)]
#[expect(clippy::struct_field_names, reason = "the file's own names")]
pub(crate) struct Messages {
    pub(crate) messages: BTreeMap<String, Message>,
    pub(crate) enums: BTreeMap<String, BTreeMap<String, i32>>,
    pub(crate) services: BTreeMap<String, Service>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Message {
    pub(crate) fields: Vec<Field>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) json_name: String,
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) cardinality: String,
    pub(crate) map_value: Option<String>,
    pub(crate) proto3_optional: bool,
    pub(crate) required: bool,
    pub(crate) oneof: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Service {
    pub(crate) methods: Vec<Rpc>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Rpc {
    pub(crate) name: String,
    pub(crate) request: String,
    pub(crate) server_streaming: bool,
}

impl Messages {
    pub(crate) fn load() -> Self {
        file("v1.0/messages.json")
    }
}

impl Field {
    /// `required`, `presence` or `implicit`: the words of the model's macro.
    pub(crate) fn presence(&self, messages: &Messages) -> &'static str {
        let is_message = messages.messages.contains_key(&self.kind) || self.kind.starts_with("google.protobuf.");
        match self {
            _ if self.required => "required",
            _ if self.cardinality != "singular" => "implicit",
            _ if is_message || self.proto3_optional || self.oneof.is_some() => "presence",
            _ => "implicit",
        }
    }

    /// The value of an unset field.
    pub(crate) fn default(&self, messages: &Messages) -> Value {
        match (&*self.cardinality, &*self.kind) {
            ("repeated", _) => serde_json::json!([]),
            ("map", _) | (_, "google.protobuf.Struct") => serde_json::json!({}),
            (_, "string" | "bytes") => "".into(),
            (_, "int32") => 0.into(),
            (_, "bool") => false.into(),
            (_, name) => match messages.enums.get(name) {
                Some(values) => values.iter().find(|(_, number)| **number == 0).map(|(name, _)| name.clone()).into(),
                None => crate::sample::empty(messages, name),
            },
        }
    }
}
