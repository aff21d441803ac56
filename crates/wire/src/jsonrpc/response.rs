//! JSON-RPC responses: a server writes them, a client reads them (sections 9.3 "Base Request Structure" and 9.5 "Error
//! Handling").

use nuncio_model::{Detail, Error, ErrorKind, Value};
use serde::Deserialize;
use serde_json::{json, value::RawValue};

use super::Id;
use crate::{dialect::JsonRpcDialect, json, status};

/// Writes a response. `result` writes the result. If `result` fails, `to` is unchanged.
pub fn write_result<E>(id: &Id, to: &mut Vec<u8>, result: impl FnOnce(&mut Vec<u8>) -> Result<(), E>) -> Result<(), E> {
    let start = to.len();
    to.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    id.write(to);
    to.extend_from_slice(br#","result":"#);
    if let Err(error) = result(to) {
        to.truncate(start);
        return Err(error);
    }
    to.push(b'}');
    Ok(())
}

/// Writes an error response in the form of a version. If no call tells the version,
/// [`Versions::refusing_method`](crate::Versions::refusing_method) chooses the version.
pub fn write_error(dialect: &dyn JsonRpcDialect, id: &Id, error: &Error, to: &mut Vec<u8>) {
    to.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    id.write(to);
    to.extend_from_slice(br#","error":"#);
    dialect.encode_error(error, to);
    to.push(b'}');
}

/// Reads a response: the id, and the result or the error of the peer.
///
/// The kind of a peer's error comes from its reason, else from its code. The details of the error are preserved. Fails
/// with `InvalidAgentResponse` if the body is not a response.
pub fn parse_response<'a>(
    dialect: &dyn JsonRpcDialect,
    body: &'a [u8],
) -> Result<(Id, Result<&'a RawValue, Error>), Error> {
    #[derive(Deserialize)]
    #[serde(expecting = "a response")]
    struct Members<'a> {
        #[serde(borrow, default)]
        id: Option<&'a RawValue>,
        #[serde(borrow, default, deserialize_with = "present")]
        result: Option<&'a RawValue>,
        #[serde(borrow, default)]
        error: Option<&'a RawValue>,
        #[serde(borrow, default)]
        jsonrpc: Option<&'a RawValue>,
    }
    let members: Members<'_> = json::answer(body)?;
    let id = members.id.and_then(Id::read).unwrap_or_default();
    match (members.error, members.result) {
        (Some(error), _) => Ok((id, Err(peer_error(dialect, error)?))),
        (None, Some(result)) => Ok((id, Ok(result))),
        // Some SDKs omit members that are null, and therefore omit an empty result.
        (None, None) if members.jsonrpc.is_some() => Ok((id, Ok(RawValue::NULL))),
        (None, None) => {
            Err(Error::new(ErrorKind::InvalidAgentResponse, "the agent's answer has neither a result nor an error"))
        }
    }
}

/// A result of null is a result, unlike an absent one.
fn present<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(from).map(Some)
}

fn peer_error(dialect: &dyn JsonRpcDialect, error: &RawValue) -> Result<Error, Error> {
    #[derive(Deserialize)]
    #[serde(expecting = "an error")]
    struct Members {
        #[serde(default)]
        code: Value,
        #[serde(default)]
        message: Value,
        #[serde(default)]
        data: Value,
    }
    let Members { code, message, data } = json::answer(error.get().as_bytes())?;
    let kind = code.as_i64().and_then(|code| dialect.kind_of_code(code)).unwrap_or(ErrorKind::Internal);
    let message = match message {
        Value::String(message) => message,
        _ => format!("the agent answered with error {code}"),
    };
    let details = match data {
        Value::Null => Vec::new(),
        Value::Array(details) => details.into_iter().map(status::detail_from_json).collect(),
        other => older_details(other),
    };
    let facts = facts(&details);
    let error = status::from_peer(kind, message, details);
    Ok(facts.into_iter().fold(error, |error, (name, fact)| error.with_metadata(name, fact)))
}

/// The member of older error data that lists the wrong params. The data of older versions is a single object.
const VIOLATIONS: &str = "fieldViolations";

/// Reads the error data of an older version. The data can be any value and is preserved.
fn older_details(data: Value) -> Vec<Detail> {
    let violations = data.get(VIOLATIONS).filter(|it| it.is_array() && data.get("@type").is_none());
    let wrong = violations.map(|it| status::detail_from_json(json!({"@type": status::BAD_REQUEST, VIOLATIONS: it})));
    std::iter::once(Detail::Other(data)).chain(wrong).collect()
}

/// The facts in the error data of older versions: one object, while 1.0 has a list of typed objects.
fn facts(details: &[Detail]) -> Vec<(String, String)> {
    match details.first() {
        Some(Detail::Other(Value::Object(members))) if !members.contains_key("@type") => members
            .iter()
            .filter(|(name, fact)| *name != VIOLATIONS && !fact.is_null())
            .map(|(name, fact)| (name.clone(), fact.as_str().map_or_else(|| fact.to_string(), str::to_owned)))
            .collect(),
        _ => Vec::new(),
    }
}
