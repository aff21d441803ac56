//! Errors in gRPC: a code, a message, and `google.rpc.Status` for `grpc-status-details-bin` (section 10.6).
//!
//! The codes and reasons come from the common table, [`crate::status`].

use std::{collections::BTreeMap, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use nuncio_model::{Detail, Error, ErrorKind, FieldViolation};
use serde_json::json;

use super::{
    message::{Message, decode, message},
    reader::Side,
};
use crate::status::{
    BAD_REQUEST, ERROR_INFO, RETRY_INFO, details, from_peer, kind_of_details, kind_of_grpc, named, row,
};

/// The status of a failed gRPC call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// The code, `grpc-status`.
    pub code: i32,
    /// The message for the peer, `grpc-message`, before percent encoding.
    pub message: String,
    /// A `google.rpc.Status` with the details, `grpc-status-details-bin`, before base64 encoding.
    pub details: Vec<u8>,
}

/// The status of a failed gRPC call.
pub fn encode_status(error: &Error) -> Status {
    encode(error, code(error.kind()), error.message().to_owned())
}

/// The status of a failed gRPC call of 0.2 or 0.3. The message contains the name of the error. The details are those of
/// 1.0: peers of 0.2 and 0.3 ignore the details, and other peers can use them.
#[cfg(any(feature = "v0-2", feature = "v0-3"))]
pub(crate) fn encode_named_status(error: &Error) -> Status {
    encode(error, named::grpc(error.kind()), named::message(error).into_owned())
}

/// The message inside the details has no name. Therefore a reader can distinguish a name in the status message from a
/// message that happens to begin with a name.
fn encode(error: &Error, code: i32, message: String) -> Status {
    let mut details_bin = Vec::new();
    let details = details(error).iter().filter_map(any_of_detail).collect();
    RpcStatus { code, message: error.message().to_owned(), details }.write_fields(&mut details_bin);
    Status { code, message, details: details_bin }
}

/// The code of a kind. A method that does not exist is "not found" in HTTP, but "unimplemented" in gRPC.
fn code(kind: ErrorKind) -> i32 {
    match kind {
        ErrorKind::MethodNotFound => UNIMPLEMENTED,
        kind => row(kind).grpc,
    }
}

const UNIMPLEMENTED: i32 = 12;

/// The error of a failed gRPC call. `details` are the bytes of `grpc-status-details-bin`. Bytes that are not a
/// `google.rpc.Status` are ignored.
pub fn decode_status(code: i32, message: impl Into<String>, details: Option<&[u8]>) -> Error {
    let mut message = message.into();
    let status = details.and_then(|bytes| decode::<RpcStatus>(bytes, Side::Reply).ok()).unwrap_or_default();
    if message.is_empty() {
        message.clone_from(&status.message);
    }
    let has_no_name = !status.message.is_empty() && status.message == message;
    let details: Vec<_> = status.details.iter().map(detail_of_any).collect();
    match named::split(&message) {
        // The form of 0.3. A reason is a fact of 1.0 and has priority over the beginning of a message.
        Some((kind, rest)) if !has_no_name && kind_of_details(&details).is_none_or(|reason| reason == kind) => {
            from_peer(kind, rest, details)
        }
        _ => from_peer(kind_of_grpc(code), message, details),
    }
}

#[derive(Default)]
struct RpcStatus {
    code: i32,
    message: String,
    details: Vec<Any>,
}

/// `google.protobuf.Any`.
#[derive(Default)]
struct Any {
    type_url: String,
    value: Box<[u8]>,
}

#[derive(Default)]
struct ErrorInfo {
    reason: String,
    domain: String,
    metadata: BTreeMap<String, String>,
}

#[derive(Default)]
struct BadRequest {
    field_violations: Vec<Violation>,
}

#[derive(Default)]
struct Violation {
    field: String,
    description: String,
}

#[derive(Default)]
struct RetryInfo {
    retry_delay: Option<Delay>,
}

/// `google.protobuf.Duration`.
#[derive(Default)]
struct Delay {
    seconds: i64,
    nanos: i32,
}

message! {
    RpcStatus {
        1 code: implicit,
        2 message: implicit,
        3 details: repeated,
    }

    Any {
        1 type_url: implicit,
        2 value: implicit,
    }

    ErrorInfo {
        1 reason: implicit,
        2 domain: implicit,
        3 metadata: map,
    }

    BadRequest {
        1 field_violations: repeated,
    }

    Violation {
        1 field: implicit,
        2 description: implicit,
    }

    RetryInfo {
        1 retry_delay: presence,
    }

    Delay {
        1 seconds: implicit,
        2 nanos: implicit,
    }
}

/// `None` for a detail that exists only as JSON.
fn any_of_detail(detail: &Detail) -> Option<Any> {
    match detail {
        Detail::ErrorInfo { reason, domain, metadata } => Some(any(
            ERROR_INFO,
            &ErrorInfo { reason: reason.clone(), domain: domain.clone(), metadata: metadata.clone() },
        )),
        Detail::BadRequest(violations) => {
            let field_violations = violations
                .iter()
                .map(|it| Violation { field: it.field.clone(), description: it.description.clone() })
                .collect();
            Some(any(BAD_REQUEST, &BadRequest { field_violations }))
        }
        Detail::Other(other) => {
            let type_url = other.get("@type")?.as_str()?;
            if type_url == RETRY_INFO {
                let retry_delay = other.get("retryDelay").and_then(|delay| parse_delay(delay.as_str()?));
                return Some(any(RETRY_INFO, &RetryInfo { retry_delay }));
            }
            let value = STANDARD.decode(other.get("value")?.as_str()?).ok()?;
            Some(Any { type_url: type_url.to_owned(), value: value.into() })
        }
        _ => None,
    }
}

fn any(type_url: &str, message: &impl Message) -> Any {
    let mut value = Vec::new();
    message.write_fields(&mut value);
    Any { type_url: type_url.to_owned(), value: value.into() }
}

/// A detail of an unknown type is preserved, with its bytes in base64.
fn detail_of_any(any: &Any) -> Detail {
    known_detail(any)
        .unwrap_or_else(|| Detail::Other(json!({ "@type": any.type_url, "value": STANDARD.encode(&any.value) })))
}

fn known_detail(any: &Any) -> Option<Detail> {
    let is = |name: &str| any.type_url.rsplit('/').next() == name.rsplit('/').next();
    if is(ERROR_INFO) {
        let ErrorInfo { reason, domain, metadata } = decode(&any.value, Side::Reply).ok()?;
        return Some(Detail::ErrorInfo { reason, domain, metadata });
    }
    if is(BAD_REQUEST) {
        let BadRequest { field_violations } = decode(&any.value, Side::Reply).ok()?;
        let violations = field_violations
            .into_iter()
            .map(|Violation { field, description }| FieldViolation { field, description })
            .collect();
        return Some(Detail::BadRequest(violations));
    }
    if is(RETRY_INFO) {
        let delay = decode::<RetryInfo>(&any.value, Side::Reply).ok()?.retry_delay?;
        return Some(Detail::Other(json!({ "@type": RETRY_INFO, "retryDelay": format_delay(&delay)? })));
    }
    None
}

/// Reads a duration such as `1.5s`.
fn parse_delay(text: &str) -> Option<Delay> {
    let delay = Duration::try_from_secs_f64(text.strip_suffix('s')?.parse().ok()?).ok()?;
    Some(Delay { seconds: delay.as_secs().try_into().ok()?, nanos: delay.subsec_nanos().try_into().ok()? })
}

fn format_delay(delay: &Delay) -> Option<String> {
    let delay = Duration::new(delay.seconds.try_into().ok()?, delay.nanos.try_into().ok()?);
    Some(format!("{}s", delay.as_secs_f64()))
}
