//! The facts and examples of the specification, from the folder `spec`.

use std::path::PathBuf;

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

/// A file of the facts. The tests require the file.
pub(crate) fn text(name: &str) -> String {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../spec")).join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{} cannot be read: {error}", path.display()))
}

/// A JSON file of the facts.
pub(crate) fn file<T: DeserializeOwned>(name: &str) -> T {
    serde_json::from_str(&text(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The examples of version 1.0 for this binding, with the names of their files.
pub(crate) fn examples(binding: &str) -> Vec<(String, Value)> {
    examples_of("1.0", "v10-", binding)
}

/// The examples for this binding, of versions and files with these prefixes.
pub(crate) fn examples_of(version: &str, file_prefix: &str, binding: &str) -> Vec<(String, Value)> {
    #[derive(Deserialize)]
    struct Index {
        files: Vec<Entry>,
    }
    #[derive(Deserialize)]
    struct Entry {
        file: String,
        version: String,
        binding: String,
    }
    let index: Index = file("examples/index.json");
    let chosen = index.files.into_iter().filter(|entry| entry.version.starts_with(version) && entry.binding == binding);
    let examples: Vec<_> = chosen
        .filter(|entry| entry.file.starts_with(file_prefix))
        .map(|entry| {
            let example = file(&format!("examples/{}", entry.file));
            (entry.file, example)
        })
        .collect();
    assert!(!examples.is_empty(), "there are no examples for {binding}");
    examples
}

/// A document without optional details: zeros in the fraction of a time (section 5.6.1), an extension that is not
/// required, params without members.
fn plain(document: &Value) -> Value {
    match document {
        Value::String(text) => text.replace(".000Z", "Z").into(),
        Value::Array(items) => items.iter().map(plain).collect(),
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| (name.clone(), plain(value)))
            .filter(|(name, value)| !(name == "required" && *value == false))
            .filter(|(name, value)| !(name == "params" && value.as_object().is_some_and(serde_json::Map::is_empty)))
            .collect(),
        other => other.clone(),
    }
}

/// The written bytes as a document.
pub(crate) fn json(written: &[u8]) -> Value {
    serde_json::from_slice(written).unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(written)))
}

/// Asserts that the written bytes are equivalent to a document.
#[track_caller]
pub(crate) fn assert_same(written: &[u8], expected: &Value, what: &str) {
    assert_eq!(plain(&json(written)), plain(expected), "{what}");
}
