//! Structured answers that follow the JSON schema of the client. The message contains the schema, and data is validated
//! before it is sent.

mod weight;

use jsonschema::PatternOptions;
use nuncio_model::{Part, Value};

use super::Turn;
use crate::agent::AgentError;

/// The largest size of a schema as JSON, in bytes. A larger schema is refused.
const SCHEMA_BYTES: usize = 256 << 10;
/// The largest size of a compiled pattern, in bytes.
const PATTERN_BYTES: usize = 1 << 20;
/// The number of backtracking steps after which a pattern does not match.
const PATTERN_STEPS: usize = 100_000;
/// The largest number of characters of a validation error, because the data can be long.
const COMPLAINT: usize = 500;

impl Turn {
    /// The JSON schema for structured data that the client requests: the member `schema` in the metadata of the first
    /// part of the message that has this member.
    pub fn requested_schema(&self) -> Option<&Value> {
        self.message().parts.iter().find_map(|part| part.metadata()?.get("schema"))
    }

    /// The data as a part, if the data follows the requested schema, or if no schema was requested.
    ///
    /// The schema comes from the client, so its cost is bounded. References lead to places in the schema (`#/…`), and
    /// to no file or network. The schema is at most 256 KiB large and 128 levels deep, and the number of recursive
    /// references is limited.
    ///
    /// # Errors
    ///
    /// If the data does not follow the schema, or if the schema cannot be used. The client reads the reason and the
    /// place.
    pub fn validated(&self, data: impl Into<Value>) -> Result<Part, AgentError> {
        let data = data.into();
        if let Some(schema) = self.requested_schema() {
            check(schema, &data).map_err(AgentError::new)?;
        }
        Ok(Part::data(data))
    }
}

fn check(schema: &Value, data: &Value) -> Result<(), String> {
    let unusable = |reason: &str| format!("the requested schema cannot be used: {}", short(reason));
    if schema.to_string().len() > SCHEMA_BYTES {
        return Err(unusable("it is over 256 KiB"));
    }
    let is_recursive = weight::weigh(schema).map_err(|reason| unusable(&reason))?;
    let patterns = PatternOptions::fancy_regex()
        .size_limit(PATTERN_BYTES)
        .dfa_size_limit(PATTERN_BYTES)
        .backtrack_limit(PATTERN_STEPS);
    let validator = jsonschema::options()
        .offline()
        .with_pattern_options(patterns)
        .build(schema)
        .map_err(|error| unusable(&error.to_string()))?;
    // This check is fast for every schema, because it remembers the visited places of a recursion.
    if validator.is_valid(data) {
        return Ok(());
    }
    let complaint = "the data does not follow the requested schema";
    // The search for the place of the fault does not remember visited places.
    if is_recursive {
        return Err(complaint.to_owned());
    }
    Err(match validator.validate(data) {
        Ok(()) => complaint.to_owned(),
        Err(error) if error.instance_path().as_str().is_empty() => {
            format!("{complaint}: {}", short(&error.to_string()))
        }
        Err(error) => format!("{complaint}: {}: {}", error.instance_path(), short(&error.to_string())),
    })
}

fn short(text: &str) -> String {
    match text.char_indices().nth(COMPLAINT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn data_is_validated_by_the_schema_with_the_place_of_the_fault() {
        let schema = json!({
            "type": "object", "required": ["rows"],
            "properties": {"rows": {"type": "array", "items": {"$ref": "#/$defs/row"}}},
            "$defs": {"row": {"type": "object", "properties": {"count": {"type": "integer"}}}},
        });
        assert_eq!(check(&schema, &json!({"rows": [{"count": 1}]})), Ok(()));
        let complaint = check(&schema, &json!({"rows": [{"count": 1}, {"count": "x"}]})).unwrap_err();
        assert_eq!(
            complaint,
            r#"the data does not follow the requested schema: /rows/1/count: "x" is not of type "integer""#
        );
        assert!(check(&schema, &json!({})).unwrap_err().ends_with(r#"schema: "rows" is a required property"#));
    }

    #[test]
    fn an_unusable_schema_is_an_error() {
        for schema in [json!({"type": "made-up"}), json!({"$ref": "#/nowhere"}), json!("text"), json!({"pattern": "("})]
        {
            let complaint = check(&schema, &json!(1)).unwrap_err();
            assert!(complaint.starts_with("the requested schema cannot be used: "), "{schema}: {complaint}");
        }
        assert!(check(&json!({"const": "x".repeat(SCHEMA_BYTES)}), &json!(1)).unwrap_err().contains("is over"));
    }

    #[test]
    fn a_recursive_schema_is_followed_as_deep_as_the_data() {
        let schema = json!({"properties": {"a": {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}}, "type": "object"});
        let deep = |leaf| (0..60).fold(leaf, |data, _| json!({"a": data}));
        assert_eq!(check(&schema, &deep(json!({}))), Ok(()));
        assert_eq!(check(&schema, &deep(json!(1))).unwrap_err(), "the data does not follow the requested schema");
    }

    #[test]
    fn a_pattern_with_much_backtracking_does_not_match() {
        let schema = json!({"pattern": "^(?=(a+)+$)(a|aa)+$"});
        assert!(check(&schema, &json!("a".repeat(5_000) + "b")).is_err());
    }
}
