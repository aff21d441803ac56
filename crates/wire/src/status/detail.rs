//! The details of an error as JSON: `google.rpc` messages with their `@type` (sections 3.3.2 "Error Handling" and 9.5
//! "Error Handling").

use std::{collections::BTreeMap, time::Duration};

use nuncio_model::{Detail, Error, FieldViolation, Value};
use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::json;

use super::{DOMAIN, row};

/// The `@type` of [`Detail::ErrorInfo`].
pub const ERROR_INFO: &str = "type.googleapis.com/google.rpc.ErrorInfo";
/// The `@type` of [`Detail::BadRequest`].
pub const BAD_REQUEST: &str = "type.googleapis.com/google.rpc.BadRequest";
/// The `@type` of the detail with the time after which to retry.
pub const RETRY_INFO: &str = "type.googleapis.com/google.rpc.RetryInfo";

/// The details of an error for the peer: the reason (always, although 1.0.1 only recommends the reason for JSON-RPC),
/// the wrong fields, the time after which to retry. Details that came from another peer are passed on unchanged. If the
/// protocol defines the error and those details have no reason, a reason is added in front.
pub fn details(error: &Error) -> Vec<Detail> {
    let reason = || Detail::ErrorInfo {
        reason: row(error.kind()).reason.to_owned(),
        domain: DOMAIN.to_owned(),
        metadata: error.metadata().clone(),
    };
    if let Some(peer) = error.peer_details() {
        let has_reason = peer.iter().any(|detail| matches!(detail, Detail::ErrorInfo { .. }));
        let missing = (error.kind().is_a2a() && !has_reason).then(reason);
        return missing.into_iter().chain(peer.iter().filter(|detail| is_typed(detail)).cloned()).collect();
    }
    let mut details = vec![reason()];
    if !error.field_violations().is_empty() {
        details.push(Detail::BadRequest(error.field_violations().to_vec()));
    }
    if let Some(after) = error.retry_after() {
        details.push(Detail::Other(json!({"@type": RETRY_INFO, "retryDelay": seconds(after)})));
    }
    details
}

/// Whether a detail is typed and can be an element of the list. Error data of older versions has no type; the reason
/// carries its facts.
fn is_typed(detail: &Detail) -> bool {
    !matches!(detail, Detail::Other(other) if other.get("@type").is_none())
}

/// A duration in the form of ProtoJSON: `1.500s`.
fn seconds(duration: Duration) -> String {
    match duration.subsec_millis() {
        0 => format!("{}s", duration.as_secs()),
        millis => format!("{}.{millis:03}s", duration.as_secs()),
    }
}

/// The time after which to retry, if the detail has the type `RetryInfo`.
pub(super) fn retry_after(detail: &Detail) -> Option<Duration> {
    let Detail::Other(detail) = detail else { return None };
    if !is_type(detail, RETRY_INFO) {
        return None;
    }
    let seconds: f64 = detail.get("retryDelay")?.as_str()?.strip_suffix('s')?.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// Writes a detail as JSON.
#[derive(Debug, Clone, Copy)]
pub struct DetailJson<'a>(pub &'a Detail);

impl Serialize for DetailJson<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Detail::ErrorInfo { reason, domain, metadata } => {
                let mut map = to.serialize_map(None)?;
                map.serialize_entry("@type", ERROR_INFO)?;
                map.serialize_entry("reason", reason)?;
                map.serialize_entry("domain", domain)?;
                if !metadata.is_empty() {
                    map.serialize_entry("metadata", metadata)?;
                }
                map.end()
            }
            Detail::BadRequest(violations) => {
                let mut map = to.serialize_map(Some(2))?;
                map.serialize_entry("@type", BAD_REQUEST)?;
                map.serialize_entry("fieldViolations", &Violations(violations))?;
                map.end()
            }
            Detail::Other(other) => other.serialize(to),
            // A variant that this code does not know is written as an empty object, so that the list contains only
            // objects.
            _ => to.serialize_map(Some(0))?.end(),
        }
    }
}

/// Writes the wrong fields with their descriptions.
pub(super) struct Violations<'a>(pub(super) &'a [FieldViolation]);

impl Serialize for Violations<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Violation<'a> {
            field: &'a str,
            description: &'a str,
        }
        to.collect_seq(self.0.iter().map(|it| Violation { field: &it.field, description: &it.description }))
    }
}

/// Reads a detail. Details of other types are preserved.
pub fn detail_from_json(detail: Value) -> Detail {
    if is_type(&detail, ERROR_INFO) {
        return Detail::ErrorInfo {
            reason: text(&detail, "reason"),
            domain: text(&detail, "domain"),
            metadata: detail.get("metadata").and_then(Value::as_object).map_or_else(BTreeMap::new, |facts| {
                facts.iter().map(|(key, value)| (key.clone(), plain(value))).collect()
            }),
        };
    }
    if is_type(&detail, BAD_REQUEST)
        && let Some(violations) = member(&detail, "fieldViolations", "field_violations").and_then(Value::as_array)
    {
        return Detail::BadRequest(
            violations
                .iter()
                .map(|it| FieldViolation { field: text(it, "field"), description: text(it, "description") })
                .collect(),
        );
    }
    Detail::Other(detail)
}

/// Whether a detail has this type. Some peers omit the host of the type.
fn is_type(detail: &Value, name: &str) -> bool {
    let message = |name: &str| name.rsplit('/').next().map(str::to_owned);
    detail.get("@type").and_then(Value::as_str).is_some_and(|it| message(it) == message(name))
}

fn member<'a>(object: &'a Value, name: &str, alias: &str) -> Option<&'a Value> {
    object.get(name).or_else(|| object.get(alias))
}

fn text(object: &Value, name: &str) -> String {
    object.get(name).map(plain).unwrap_or_default()
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}
