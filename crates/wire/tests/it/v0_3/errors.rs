//! Errors: their codes, and an object of facts.

use nuncio_model::{Error, ErrorKind};
use nuncio_wire::jsonrpc;
use serde_json::{Value, json};

use super::{v03, v10};
use crate::spec::json;

fn written(error: &Error) -> Value {
    let mut to = Vec::new();
    v03().encode_error(error, &mut to);
    json(&to)
}

fn read(document: &Value) -> Error {
    let body = json!({"jsonrpc": "2.0", "id": 1, "error": document}).to_string();
    jsonrpc::parse_response(v03(), body.as_bytes()).unwrap().1.unwrap_err()
}

#[test]
fn codes_are_those_of_1_0_in_both_directions() {
    for (kind, code) in [
        (ErrorKind::TaskNotFound, -32001),
        (ErrorKind::TaskNotCancelable, -32002),
        (ErrorKind::PushNotificationNotSupported, -32003),
        (ErrorKind::UnsupportedOperation, -32004),
        (ErrorKind::ContentTypeNotSupported, -32005),
        (ErrorKind::InvalidAgentResponse, -32006),
        (ErrorKind::ExtendedAgentCardNotConfigured, -32007),
        (ErrorKind::ExtensionSupportRequired, -32008),
        (ErrorKind::VersionNotSupported, -32009),
        (ErrorKind::Parse, -32700),
        (ErrorKind::InvalidRequest, -32600),
        (ErrorKind::MethodNotFound, -32601),
        (ErrorKind::InvalidParams, -32602),
        (ErrorKind::Internal, -32603),
    ] {
        let document = written(&Error::new(kind, "why"));
        assert_eq!(document, json!({"code": code, "message": "why"}));
        assert_eq!(read(&document).kind(), kind);
    }
}

#[test]
fn facts_and_wrong_fields_are_in_an_object() {
    assert_eq!(written(&Error::task_not_found("t"))["data"], json!({"taskId": "t"}));
    let wrong = Error::invalid_params("message.role", "is required");
    assert_eq!(
        written(&wrong)["data"],
        json!({"fieldViolations": [{"field": "message.role", "description": "is required"}]})
    );
}

#[test]
fn peer_details_are_passed_on_in_the_form_of_the_version() {
    // From a peer of 0.3: any type of data is preserved.
    for data in [json!({"taskId": "t"}), json!("text"), json!(7)] {
        let document = json!({"code": -32001, "message": "m", "data": data});
        assert_eq!(written(&read(&document)), document);
    }
    // From a peer of 1.0: the list becomes an object.
    let mut newer = Vec::new();
    v10().encode_error(&Error::task_not_found("t"), &mut newer);
    assert!(json(&newer)["data"].is_array());
    assert_eq!(written(&read(&json(&newer)))["data"], json!({"taskId": "t"}));
}

#[test]
fn facts_of_an_older_peer_become_metadata() {
    let error =
        read(&json!({"code": -32001, "message": "m", "data": {"taskId": "t", "tries": 3, "of": [1], "none": null}}));
    let facts: Vec<_> = error.metadata().iter().map(|(name, fact)| (&**name, &**fact)).collect();
    assert_eq!(facts, [("of", "[1]"), ("taskId", "t"), ("tries", "3")]);
    let wrong = Error::invalid_params("message.role", "is required");
    assert_eq!(read(&written(&wrong)).field_violations(), wrong.field_violations());
    assert_eq!(written(&read(&written(&wrong))), written(&wrong));

    // In 1.0 the facts are in the reason, and data without a type is not part of the details.
    let mut newer = Vec::new();
    v10().encode_error(&error, &mut newer);
    let data = json(&newer)["data"].clone();
    assert_eq!((data.as_array().map(Vec::len), &data[0]["metadata"]["tries"]), (Some(1), &json!("3")));
}
