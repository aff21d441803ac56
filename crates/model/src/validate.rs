//! Checks beyond the types: empty required fields, for example (section 5.7).

use crate::error::{Error, FieldViolation};

/// A message whose required fields can be checked.
///
/// Reading is lenient and validation is separate, for two reasons: a client must be able to read the answers of an
/// imprecise server, and a server must report all violations at once.
pub trait Validate {
    /// Adds the violations to `violations`; `path` is the position of this message, empty at the top.
    fn validate_at(&self, path: &str, violations: &mut Vec<FieldViolation>);

    /// Returns `InvalidParams` with every invalid field, or nothing.
    fn validate(&self) -> Result<(), Error> {
        let mut violations = Vec::new();
        self.validate_at("", &mut violations);
        if violations.is_empty() { Ok(()) } else { Err(Error::violations(violations)) }
    }
}

/// The path of a member below `path`.
pub(crate) fn member(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// Adds a violation for this field.
pub(crate) fn wrong(violations: &mut Vec<FieldViolation>, field: String, description: &str) {
    violations.push(FieldViolation { field, description: description.to_owned() });
}

/// Adds a violation if a required field is empty.
pub(crate) fn require(violations: &mut Vec<FieldViolation>, path: &str, name: &str, is_there: bool) {
    if !is_there {
        wrong(violations, member(path, name), "is required");
    }
}

impl Validate for crate::Message {
    fn validate_at(&self, path: &str, violations: &mut Vec<FieldViolation>) {
        require(violations, path, "messageId", !self.message_id.is_empty());
        require(violations, path, "role", self.role != crate::Role::Unspecified);
        if self.parts.is_empty() {
            wrong(violations, member(path, "parts"), "must hold at least one part");
        }
    }
}

impl Validate for crate::Artifact {
    fn validate_at(&self, path: &str, violations: &mut Vec<FieldViolation>) {
        require(violations, path, "artifactId", !self.artifact_id.is_empty());
        if self.parts.is_empty() {
            wrong(violations, member(path, "parts"), "must hold at least one part");
        }
    }
}

impl Validate for crate::AuthenticationInfo {
    fn validate_at(&self, path: &str, violations: &mut Vec<FieldViolation>) {
        require(violations, path, "scheme", !self.scheme.is_empty());
    }
}

/// A negative `historyLength` is invalid (section 3.2.4, "History Length Semantics").
pub(crate) fn history_length(violations: &mut Vec<FieldViolation>, path: &str, length: Option<i32>) {
    if length.is_some_and(|length| length < 0) {
        wrong(violations, member(path, "historyLength"), "must not be negative");
    }
}
