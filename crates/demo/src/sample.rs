//! Sample data for a JSON schema: plain values for common schemas.

use nuncio_model::{Struct, Value};
use serde_json::json;

/// The maximum number of created values; a schema that requires more gets an invalid sample.
const BUDGET: usize = 2_000;
/// The maximum depth of a sample.
const DEPTH: usize = 16;

/// A sample. The caller must validate the sample, because a schema can have requirements that this code does not
/// support.
pub(crate) fn of(schema: &Value) -> Value {
    Sampler { root: schema, left: BUDGET }.value(schema, "text", 1, DEPTH)
}

struct Sampler<'a> {
    root: &'a Value,
    left: usize,
}

impl<'a> Sampler<'a> {
    /// A value with this `name` in this row.
    fn value(&mut self, schema: &'a Value, name: &str, row: usize, depth: usize) -> Value {
        let (Some(left), Some(depth)) = (self.left.checked_sub(1), depth.checked_sub(1)) else { return Value::Null };
        self.left = left;
        if let Some(fixed) = schema.get("const").or_else(|| schema.get("enum")?.get(0)) {
            return fixed.clone();
        }
        let choice = ["oneOf", "anyOf", "allOf"].into_iter().find_map(|word| schema.get(word)?.get(0));
        if let Some(other) = self.target(schema).or(choice) {
            return self.value(other, name, row, depth);
        }
        match kind(schema) {
            "object" => self.object(schema, row, depth),
            "array" => self.array(schema, name, depth),
            "string" => string(schema, name, row),
            "integer" | "number" => number(schema, row),
            "boolean" => json!(row % 2 == 1),
            _ => Value::Null,
        }
    }

    /// The target of a `$ref` within the schema.
    fn target(&self, schema: &Value) -> Option<&'a Value> {
        self.root.pointer(schema.get("$ref")?.as_str()?.strip_prefix('#')?)
    }

    fn object(&mut self, schema: &'a Value, row: usize, depth: usize) -> Value {
        let properties = schema.get("properties").and_then(Value::as_object);
        let object: Struct = properties
            .into_iter()
            .flatten()
            .map(|(name, property)| (name.clone(), self.value(property, name, row, depth)))
            .collect();
        Value::Object(object)
    }

    fn array(&mut self, schema: &'a Value, name: &str, depth: usize) -> Value {
        let bound = |word| schema.get(word).and_then(Value::as_u64).and_then(|bound| usize::try_from(bound).ok());
        let rows = bound("minItems").unwrap_or(0).max(3).min(bound("maxItems").unwrap_or(usize::MAX)).min(BUDGET);
        let any = &Value::Null;
        let items = schema.get("items").unwrap_or(any);
        (1..=rows).map(|row| self.value(items, name, row, depth)).collect()
    }
}

/// The first type of a schema, declared or implied.
fn kind(schema: &Value) -> &str {
    match schema.get("type") {
        Some(Value::String(kind)) => kind,
        Some(Value::Array(kinds)) => kinds.first().and_then(Value::as_str).unwrap_or("string"),
        _ if schema.get("properties").is_some() => "object",
        _ if schema.get("items").is_some() => "array",
        _ => "string",
    }
}

fn string(schema: &Value, name: &str, row: usize) -> Value {
    let bound = |word| schema.get(word).and_then(Value::as_u64).and_then(|bound| usize::try_from(bound).ok());
    let mut text = match schema.get("format").and_then(Value::as_str) {
        Some("date") => format!("2026-01-{:02}", row.min(31)),
        Some("date-time") => format!("2026-01-{:02}T12:00:00Z", row.min(31)),
        Some("email") => format!("{row}@example.com"),
        Some("uri") => format!("https://example.com/{row}"),
        Some("uuid") => format!("00000000-0000-4000-8000-{row:012}"),
        _ => format!("{name} {row}"),
    };
    let length = text.chars().count();
    if let Some(least) = bound("minLength") {
        text.extend(std::iter::repeat_n('.', least.min(BUDGET).saturating_sub(length)));
    }
    match bound("maxLength") {
        Some(most) => text.chars().take(most).collect::<String>().into(),
        None => text.into(),
    }
}

fn number(schema: &Value, row: usize) -> Value {
    let bound = |word| schema.get(word).and_then(Value::as_i64);
    let least = bound("minimum").or_else(|| bound("exclusiveMinimum")?.checked_add(1));
    let most = bound("maximum").or_else(|| bound("exclusiveMaximum")?.checked_sub(1));
    let number = i64::try_from(row).unwrap_or(i64::MAX).max(least.unwrap_or(i64::MIN)).min(most.unwrap_or(i64::MAX));
    match bound("multipleOf").filter(|step| *step > 0) {
        Some(step) => json!(number.saturating_add(step - 1) / step * step),
        None => json!(number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_numbered_and_follow_the_schema() {
        let schema = json!({
            "type": "array", "minItems": 1, "maxItems": 2,
            "items": {"$ref": "#/$defs/row"},
            "$defs": {"row": {"type": "object", "properties": {
                "name": {"type": "string"},
                "count": {"type": "integer", "minimum": 10},
                "kind": {"enum": ["a", "b"]},
                "when": {"type": "string", "format": "date"},
                "note": {"type": ["null", "string"]},
            }}},
        });
        let row = |name, when| json!({"name": name, "count": 10, "kind": "a", "when": when, "note": null});
        assert_eq!(of(&schema), json!([row("name 1", "2026-01-01"), row("name 2", "2026-01-02")]));
    }

    #[test]
    fn a_recursive_schema_has_a_finite_sample() {
        of(&json!({"$ref": "#"}));
        of(&json!({"type": "array", "minItems": 1_000_000, "items": {"$ref": "#"}}));
        of(&json!({"properties": {"a": {"$ref": "#"}, "b": {"$ref": "#"}}}));
        of(&json!({"type": "string", "minLength": 1_000_000_000_000_u64}));
    }
}
