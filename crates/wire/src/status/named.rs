//! The names and numbers of errors in versions 0.2 and 0.3. The specification defines only names and JSON-RPC codes.
//! The HTTP statuses and gRPC codes are those of the Python SDK. The Java SDK has the same statuses.

#![cfg_attr(
    not(any(feature = "v0-2", feature = "v0-3")),
    allow(dead_code, reason = "without these versions, such errors are only read")
)]

use std::borrow::Cow;

use nuncio_model::{Error, ErrorKind};

use super::row;

/// The name and numbers of an error in 0.3, without the JSON-RPC code.
struct NamedError {
    kind: ErrorKind,
    name: &'static str,
    http: u16,
    grpc: i32,
    /// The default message of the Python SDK.
    message: &'static str,
}

macro_rules! table {
    ($($kind:ident $name:literal $http:literal $grpc:literal $message:literal;)*) => {
        const TABLE: &[NamedError] = &[$(
            NamedError { kind: ErrorKind::$kind, name: $name, http: $http, grpc: $grpc, message: $message },
        )*];
    };
}

table! {
    TaskNotFound                 "TaskNotFoundError"                 404  5 "Task not found";
    TaskNotCancelable            "TaskNotCancelableError"            409 12 "Task cannot be canceled";
    PushNotificationNotSupported "PushNotificationNotSupportedError" 501 12 "Push Notification is not supported";
    UnsupportedOperation         "UnsupportedOperationError"         501 12 "This operation is not supported";
    ContentTypeNotSupported      "ContentTypeNotSupportedError"      415 12 "Incompatible content types";
    InvalidAgentResponse         "InvalidAgentResponseError"         502 13 "Invalid agent response";
    ExtendedAgentCardNotConfigured "AuthenticatedExtendedCardNotConfiguredError" 404 2 "Authenticated Extended Card is not configured";
    Parse                        "JSONParseError"                    400 13 "Invalid JSON payload";
    InvalidRequest               "InvalidRequestError"               400  3 "Request payload validation error";
    MethodNotFound               "MethodNotFoundError"               404  5 "Method not found";
    InvalidParams                "InvalidParamsError"                422  3 "Invalid parameters";
    Internal                     "InternalError"                     500 13 "Internal error";
}

fn find(is_it: impl Fn(&NamedError) -> bool) -> Option<&'static NamedError> {
    TABLE.iter().find(|named| is_it(named))
}

/// The HTTP status. Errors that 0.3 does not define have the status of 1.0.
pub(crate) fn http(kind: ErrorKind) -> u16 {
    find(|named| named.kind == kind).map_or_else(|| row(kind).http, |named| named.http)
}

/// The gRPC code. Errors that 0.3 does not define have the code of 1.0.
pub(crate) fn grpc(kind: ErrorKind) -> i32 {
    find(|named| named.kind == kind).map_or_else(|| row(kind).grpc, |named| named.grpc)
}

/// The message of an error in gRPC, for example `TaskNotFoundError: task 7 was not found`.
pub(crate) fn message(error: &Error) -> Cow<'_, str> {
    match find(|named| named.kind == error.kind()) {
        Some(named) => Cow::Owned(format!("{}: {}", named.name, error.message())),
        None => Cow::Borrowed(error.message()),
    }
}

/// Splits a message that begins with the name of an error into the kind and the rest.
pub(crate) fn split(message: &str) -> Option<(ErrorKind, &str)> {
    let (name, rest) = message.split_once(": ")?;
    find(|named| named.name == name).map(|named| (named.kind, rest))
}

/// The kind whose default message is `message`.
pub(crate) fn kind_of_message(message: &str) -> Option<ErrorKind> {
    find(|named| named.message == message).map(|named| named.kind)
}
