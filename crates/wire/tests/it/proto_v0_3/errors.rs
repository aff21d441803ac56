//! Errors of 0.3 in HTTP+JSON and gRPC, written and read.

use http::{HeaderMap, StatusCode};
use nuncio_model::{Error, ErrorKind};
use nuncio_wire::{
    proto::metadata,
    rest::{parse_error, write_error},
};
use serde_json::json;

use super::{grpc, rest};
use crate::spec;

/// The JSON-RPC code, HTTP status, gRPC code and name of each error of 0.3.
const TABLE: [(ErrorKind, i64, u16, i32, &str); 12] = [
    (ErrorKind::Parse, -32700, 400, 13, "JSONParseError"),
    (ErrorKind::InvalidRequest, -32600, 400, 3, "InvalidRequestError"),
    (ErrorKind::MethodNotFound, -32601, 404, 5, "MethodNotFoundError"),
    (ErrorKind::InvalidParams, -32602, 422, 3, "InvalidParamsError"),
    (ErrorKind::Internal, -32603, 500, 13, "InternalError"),
    (ErrorKind::TaskNotFound, -32001, 404, 5, "TaskNotFoundError"),
    (ErrorKind::TaskNotCancelable, -32002, 409, 12, "TaskNotCancelableError"),
    (ErrorKind::PushNotificationNotSupported, -32003, 501, 12, "PushNotificationNotSupportedError"),
    (ErrorKind::UnsupportedOperation, -32004, 501, 12, "UnsupportedOperationError"),
    (ErrorKind::ContentTypeNotSupported, -32005, 415, 12, "ContentTypeNotSupportedError"),
    (ErrorKind::InvalidAgentResponse, -32006, 502, 13, "InvalidAgentResponseError"),
    (ErrorKind::ExtendedAgentCardNotConfigured, -32007, 404, 2, "AuthenticatedExtendedCardNotConfiguredError"),
];

#[test]
fn http_errors_have_a_code_and_a_status() {
    for (kind, code, status, ..) in TABLE {
        let (written, body) = write_error(rest(), &Error::new(kind, "why"));
        assert_eq!(written, status, "{kind:?}");
        assert_eq!(spec::json(&body), json!({"code": code, "message": "why"}));
        let read = parse_error(written, &body);
        assert_eq!((read.kind(), read.message()), (kind, "why"));
    }
    for (kind, status) in [
        (ErrorKind::Unauthenticated, 401),
        (ErrorKind::PermissionDenied, 403),
        (ErrorKind::ResourceExhausted, 429),
        (ErrorKind::Unavailable, 503),
        (ErrorKind::VersionNotSupported, 400),
        (ErrorKind::ExtensionSupportRequired, 400),
    ] {
        assert_eq!(write_error(rest(), &Error::new(kind, "why")).0, status, "{kind:?}");
    }
}

#[test]
fn http_errors_list_wrong_fields_in_their_data() {
    let (_, body) = write_error(rest(), &Error::invalid_params("message.role", "is required"));
    let violations = json!([{"field": "message.role", "description": "is required"}]);
    assert_eq!(spec::json(&body)["data"]["fieldViolations"], violations);
}

#[test]
fn bare_messages_of_the_python_sdk_are_read() {
    for (status, message, kind) in [
        (404, "Task not found", ErrorKind::TaskNotFound),
        (404, "Authenticated Extended Card is not configured", ErrorKind::ExtendedAgentCardNotConfigured),
        (409, "Task cannot be canceled", ErrorKind::TaskNotCancelable),
        (409, "it is over", ErrorKind::TaskNotCancelable),
        (501, "Push Notification is not supported", ErrorKind::PushNotificationNotSupported),
        (501, "no", ErrorKind::UnsupportedOperation),
        (422, "a field", ErrorKind::InvalidParams),
        (415, "no", ErrorKind::ContentTypeNotSupported),
    ] {
        let body = json!({ "message": message }).to_string();
        let error = parse_error(StatusCode::from_u16(status).unwrap(), body.as_bytes());
        assert_eq!((error.kind(), error.message()), (kind, message));
    }
}

#[test]
fn grpc_messages_begin_with_the_name_of_the_error() {
    for (kind, _, _, code, name) in TABLE {
        let error = Error::new(kind, "why: so").with_metadata("taskId", "7");
        let mut headers = HeaderMap::new();
        grpc().write_error(&error, &mut headers);
        assert_eq!(headers[metadata::STATUS], code.to_string(), "{kind:?}");
        assert_eq!(headers[metadata::MESSAGE], format!("{name}: why: so"));
        let read = metadata::read_outcome(&headers).unwrap().unwrap_err();
        assert_eq!((read.kind(), read.message()), (kind, "why: so"));
        assert_eq!(read.metadata()["taskId"], "7");
        // Peers of 0.3 send no details.
        headers.remove(metadata::DETAILS);
        let read = metadata::read_outcome(&headers).unwrap().unwrap_err();
        assert_eq!((read.kind(), read.message()), (kind, "why: so"));
    }
    let mut headers = HeaderMap::new();
    grpc().write_error(&Error::new(ErrorKind::Unauthenticated, "who"), &mut headers);
    assert_eq!(
        (&headers[metadata::STATUS], &headers[metadata::MESSAGE]),
        (&"16".parse().unwrap(), &"who".parse().unwrap())
    );
}

#[test]
fn text_that_resembles_an_error_name_stays_in_a_grpc_message() {
    for (message, kind) in [
        ("SomeError: why", ErrorKind::TaskNotFound),
        ("TaskNotCancelableError", ErrorKind::TaskNotFound),
        ("why: TaskNotCancelableError: no", ErrorKind::TaskNotFound),
    ] {
        let mut headers = HeaderMap::new();
        headers.insert(metadata::STATUS, "5".parse().unwrap());
        headers.insert(metadata::MESSAGE, message.parse().unwrap());
        let read = metadata::read_outcome(&headers).unwrap().unwrap_err();
        assert_eq!((read.kind(), read.message()), (kind, message));
    }
    // A reason of 1.0 has priority.
    let mut headers = HeaderMap::new();
    let message = "TaskNotFoundError: said the agent";
    metadata::write_error(&Error::new(ErrorKind::UnsupportedOperation, message), &mut headers);
    let read = metadata::read_outcome(&headers).unwrap().unwrap_err();
    assert_eq!((read.kind(), read.message()), (ErrorKind::UnsupportedOperation, message));
}

#[test]
fn a_grpc_message_that_begins_with_an_error_name_is_preserved() {
    for message in ["TaskNotFoundError: x", "TaskNotFoundError: TaskNotFoundError: x", "InternalError: x"] {
        let error = Error::new(ErrorKind::TaskNotFound, message);
        for write in [metadata::write_error, |error: &Error, to: &mut HeaderMap| grpc().write_error(error, to)] {
            let mut headers = HeaderMap::new();
            write(&error, &mut headers);
            let read = metadata::read_outcome(&headers).unwrap().unwrap_err();
            assert_eq!((read.kind(), read.message()), (ErrorKind::TaskNotFound, message));
        }
    }
}
