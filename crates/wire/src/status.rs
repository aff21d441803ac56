//! The table of errors: the names and numbers of each kind in every binding (sections 3.3.2 "Error Handling" and 5.4
//! "Error Code Mappings"), and the mapping from a peer's error to a kind.
//!
//! The mappings of 1.0.0 and 1.0.1 differ. The table has those of 1.0.1. A client decides by the reason first, then by
//! the code, and accepts the statuses of both.

mod detail;
#[cfg(any(feature = "v0-1", feature = "v0-2", feature = "v0-3"))]
pub(crate) mod facts;
pub(crate) mod named;

use nuncio_model::{Detail, Error, ErrorKind};

pub use detail::{BAD_REQUEST, DetailJson, ERROR_INFO, RETRY_INFO, detail_from_json, details};

/// The `domain` of each `google.rpc.ErrorInfo`: the organization that defines the reasons.
pub const DOMAIN: &str = "a2a-protocol.org";

/// The names and numbers of an error in each binding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// The kind of the error.
    pub kind: ErrorKind,
    /// `reason` of the `google.rpc.ErrorInfo`.
    pub reason: &'static str,
    /// The code in JSON-RPC.
    pub jsonrpc: i32,
    /// The status in HTTP+JSON.
    pub http: u16,
    /// The code in gRPC. [`grpc_name`] returns its name.
    pub grpc: i32,
}

macro_rules! table {
    ($($kind:ident $reason:literal $jsonrpc:literal $http:literal $grpc:literal;)*) => {
        /// All errors.
        pub const TABLE: &[Row] = &[$(
            Row { kind: ErrorKind::$kind, reason: $reason, jsonrpc: $jsonrpc, http: $http, grpc: $grpc },
        )*];
    };
}

// If several kinds have the same code, the first row is the meaning of the code alone.
table! {
    TaskNotFound                   "TASK_NOT_FOUND"                     -32001 404 5;
    TaskNotCancelable              "TASK_NOT_CANCELABLE"                -32002 400 9;
    PushNotificationNotSupported   "PUSH_NOTIFICATION_NOT_SUPPORTED"    -32003 400 9;
    UnsupportedOperation           "UNSUPPORTED_OPERATION"              -32004 400 9;
    ContentTypeNotSupported        "CONTENT_TYPE_NOT_SUPPORTED"         -32005 400 3;
    InvalidAgentResponse           "INVALID_AGENT_RESPONSE"             -32006 500 13;
    ExtendedAgentCardNotConfigured "EXTENDED_AGENT_CARD_NOT_CONFIGURED" -32007 400 9;
    ExtensionSupportRequired       "EXTENSION_SUPPORT_REQUIRED"         -32008 400 9;
    VersionNotSupported            "VERSION_NOT_SUPPORTED"              -32009 400 9;
    Parse                          "PARSE_ERROR"                        -32700 400 3;
    InvalidRequest                 "INVALID_REQUEST"                    -32600 400 3;
    MethodNotFound                 "METHOD_NOT_FOUND"                   -32601 404 5;
    InvalidParams                  "INVALID_PARAMS"                     -32602 400 3;
    Internal                       "INTERNAL_ERROR"                     -32603 500 13;
    Unauthenticated                "UNAUTHENTICATED"                    -32091 401 16;
    PermissionDenied               "PERMISSION_DENIED"                  -32092 403 7;
    ResourceExhausted              "RESOURCE_EXHAUSTED"                 -32093 429 8;
    PayloadTooLarge                "PAYLOAD_TOO_LARGE"                  -32600 413 8;
    HeadTooLarge                   "HEAD_TOO_LARGE"                     -32600 431 8;
    MisdirectedRequest             "MISDIRECTED_REQUEST"                -32600 421 9;
    Unavailable                    "UNAVAILABLE"                        -32603 503 14;
    DeadlineExceeded               "DEADLINE_EXCEEDED"                  -32603 504 4;
}

/// The row of a kind. A kind without a row is `Internal`.
pub fn row(kind: ErrorKind) -> &'static Row {
    find(|row| row.kind == kind).unwrap_or(&INTERNAL)
}

const INTERNAL: Row = Row { kind: ErrorKind::Internal, reason: "INTERNAL_ERROR", jsonrpc: -32603, http: 500, grpc: 13 };

fn find(is_it: impl Fn(&Row) -> bool) -> Option<&'static Row> {
    TABLE.iter().find(|row| is_it(row))
}

/// The kind that a reason names.
pub fn kind_of_reason(reason: &str) -> Option<ErrorKind> {
    find(|row| row.reason == reason).map(|row| row.kind)
}

/// The kind of a JSON-RPC code without a reason.
pub fn kind_of_jsonrpc(code: i64) -> Option<ErrorKind> {
    find(|row| i64::from(row.jsonrpc) == code).map(|row| row.kind)
}

/// The kind of an HTTP status without further facts. The mapping includes the statuses of 1.0.0 and of proxies.
pub fn kind_of_http(status: u16) -> ErrorKind {
    match status {
        401 | 407 => ErrorKind::Unauthenticated,
        403 => ErrorKind::PermissionDenied,
        404 | 405 => ErrorKind::MethodNotFound,
        408 | 504 => ErrorKind::DeadlineExceeded,
        409 => ErrorKind::TaskNotCancelable,
        413 => ErrorKind::PayloadTooLarge,
        415 => ErrorKind::ContentTypeNotSupported,
        421 => ErrorKind::MisdirectedRequest,
        422 => ErrorKind::InvalidParams,
        431 => ErrorKind::HeadTooLarge,
        429 => ErrorKind::ResourceExhausted,
        501 => ErrorKind::UnsupportedOperation,
        502 | 503 => ErrorKind::Unavailable,
        400..=499 => ErrorKind::InvalidRequest,
        _ => ErrorKind::Internal,
    }
}

/// Whether an HTTP status tells more than an accompanying JSON-RPC code: access is denied, or the caller must retry
/// later.
pub const fn outranks_code(status: u16) -> bool {
    matches!(status, 401 | 403 | 407 | 429 | 503)
}

/// The kind of a gRPC code without a reason.
pub fn kind_of_grpc(code: i32) -> ErrorKind {
    match code {
        1 | 14 => ErrorKind::Unavailable,
        3 | 11 => ErrorKind::InvalidParams,
        4 => ErrorKind::DeadlineExceeded,
        5 => ErrorKind::TaskNotFound,
        7 => ErrorKind::PermissionDenied,
        8 => ErrorKind::ResourceExhausted,
        9 => ErrorKind::UnsupportedOperation,
        12 => ErrorKind::MethodNotFound,
        16 => ErrorKind::Unauthenticated,
        _ => ErrorKind::Internal,
    }
}

/// Creates an error from a peer's error. A reason in the details decides the kind, else the kind is `otherwise`. The
/// details are preserved.
pub fn from_peer(otherwise: ErrorKind, message: impl Into<String>, details: Vec<Detail>) -> Error {
    let kind = kind_of_details(&details).unwrap_or(otherwise);
    let retry_after = details.iter().find_map(detail::retry_after);
    let error = Error::new(kind, message).with_peer_details(details);
    match retry_after {
        Some(after) => error.with_retry_after(after),
        None => error,
    }
}

/// The kind that a reason in the details names.
pub fn kind_of_details(details: &[Detail]) -> Option<ErrorKind> {
    details.iter().find_map(kind_of_detail)
}

fn kind_of_detail(detail: &Detail) -> Option<ErrorKind> {
    match detail {
        Detail::ErrorInfo { reason, domain, .. } if domain == DOMAIN || domain.is_empty() => kind_of_reason(reason),
        _ => None,
    }
}

const GRPC_NAMES: [&str; 17] = [
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
];

/// The name of a gRPC code. `UNKNOWN` for an undefined number.
pub fn grpc_name(code: i32) -> &'static str {
    usize::try_from(code).ok().and_then(|code| GRPC_NAMES.get(code)).copied().unwrap_or("UNKNOWN")
}

/// The gRPC code of a name.
pub fn grpc_code(name: &str) -> Option<i32> {
    GRPC_NAMES.iter().position(|known| *known == name).and_then(|code| i32::try_from(code).ok())
}
