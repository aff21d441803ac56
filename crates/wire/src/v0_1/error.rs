//! Errors of 0.1. Codes that later versions use for other errors are never passed through.

use nuncio_model::{Error, ErrorKind};

use crate::status::{self, facts};

/// The metadata of the error of a streaming call to an agent that does not stream.
pub(super) const NO_STREAMING: (&str, &str) = ("capability", "streaming");

const STREAMING_NOT_SUPPORTED: i32 = -32006;
const AUTHENTICATION_REQUIRED: i32 = -32007;
const AUTHORIZATION_FAILED: i32 = -32008;
const INVALID_TASK_STATE: i32 = -32009;
const RATE_LIMIT_EXCEEDED: i32 = -32010;
const RESOURCE_UNAVAILABLE: i32 = -32011;

/// The kind of a 0.1 code.
pub(super) fn kind(code: i64) -> Option<ErrorKind> {
    match i32::try_from(code).ok()? {
        STREAMING_NOT_SUPPORTED | INVALID_TASK_STATE => Some(ErrorKind::UnsupportedOperation),
        AUTHENTICATION_REQUIRED => Some(ErrorKind::Unauthenticated),
        AUTHORIZATION_FAILED => Some(ErrorKind::PermissionDenied),
        RATE_LIMIT_EXCEEDED => Some(ErrorKind::ResourceExhausted),
        RESOURCE_UNAVAILABLE => Some(ErrorKind::Unavailable),
        _ => status::kind_of_jsonrpc(code),
    }
}

fn code(error: &Error) -> i32 {
    match error.kind() {
        ErrorKind::UnsupportedOperation if contains_fact(error, NO_STREAMING) => STREAMING_NOT_SUPPORTED,
        ErrorKind::UnsupportedOperation if is_about_a_task(error) => INVALID_TASK_STATE,
        ErrorKind::InvalidAgentResponse => row(ErrorKind::Internal),
        ErrorKind::ExtendedAgentCardNotConfigured => row(ErrorKind::MethodNotFound),
        ErrorKind::ExtensionSupportRequired | ErrorKind::VersionNotSupported => row(ErrorKind::InvalidRequest),
        ErrorKind::Unauthenticated => AUTHENTICATION_REQUIRED,
        ErrorKind::PermissionDenied => AUTHORIZATION_FAILED,
        ErrorKind::ResourceExhausted => RATE_LIMIT_EXCEEDED,
        ErrorKind::Unavailable => RESOURCE_UNAVAILABLE,
        kind => row(kind),
    }
}

fn row(kind: ErrorKind) -> i32 {
    status::row(kind).jsonrpc
}

fn contains_fact(error: &Error, (name, value): (&str, &str)) -> bool {
    error.metadata().get(name).is_some_and(|it| it == value)
}

/// Whether the error concerns the state of a task. Such an error names the task.
pub(super) fn is_about_a_task(error: &Error) -> bool {
    error.kind() == ErrorKind::UnsupportedOperation && error.metadata().contains_key("taskId")
}

/// Writes an error.
pub(super) fn write(error: &Error, to: &mut Vec<u8>) {
    facts::write(code(error), error, to);
}
