//! The table of errors, and errors in each binding.

use std::{collections::BTreeSet, time::Duration};

use http::StatusCode;
use nuncio_model::{Detail, Error, ErrorKind};
use nuncio_wire::{Version, dialect, jsonrpc, rest, status};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::spec::{self, assert_same};

#[derive(Deserialize)]
struct Cases {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    reason: String,
    jsonrpc: Value,
    rest: Rest,
    grpc: Grpc,
}

#[derive(Deserialize)]
struct Rest {
    status: u16,
    body: Value,
}

#[derive(Deserialize)]
struct Grpc {
    code: String,
}

fn write_jsonrpc(error: &Error) -> Vec<u8> {
    let mut written = Vec::new();
    jsonrpc::write_error(dialect(Version::V1_0).jsonrpc(), &1.into(), error, &mut written);
    written
}

fn write_rest(error: &Error) -> (StatusCode, Vec<u8>) {
    rest::write_error(dialect(Version::V1_0).rest().unwrap(), error)
}

#[test]
fn the_table_matches_the_specification() {
    let Cases { cases } = spec::file("examples/v10-errors-all.json");
    let mut seen = BTreeSet::new();
    for case in cases {
        let kind = status::kind_of_reason(&case.reason).unwrap();
        let row = status::row(kind);
        assert_eq!(row.reason, case.reason);
        assert_eq!(row.jsonrpc, case.jsonrpc["error"]["code"], "{kind:?}");
        assert_eq!(row.http, case.rest.status, "{kind:?}");
        assert_eq!(status::grpc_name(row.grpc), case.grpc.code, "{kind:?}");
        seen.insert(row.jsonrpc);

        // An error of this server has the form of the example.
        let error =
            Error::new(kind, case.jsonrpc["error"]["message"].as_str().unwrap()).with_metadata("taskId", "t-404");
        assert_same(&write_jsonrpc(&error), &case.jsonrpc, "JSON-RPC");
        let (code, body) = write_rest(&error);
        assert_eq!(code.as_u16(), case.rest.status);
        assert_same(&body, &case.rest.body, "HTTP+JSON");

        // An error of a peer is read, and written again unchanged.
        let body = case.jsonrpc.to_string();
        let peer = jsonrpc::parse_response(dialect(Version::V1_0).jsonrpc(), body.as_bytes()).unwrap().1.unwrap_err();
        assert_eq!((peer.kind(), &*peer.metadata()["taskId"]), (kind, "t-404"));
        assert_same(&write_jsonrpc(&peer), &case.jsonrpc, "JSON-RPC again");
        let peer = rest::parse_error(code, case.rest.body.to_string().as_bytes());
        assert_eq!((peer.kind(), peer.message()), (kind, error.message()));
        assert_same(&write_rest(&peer).1, &case.rest.body, "HTTP+JSON again");
    }
    let ours: Vec<_> = status::TABLE.iter().filter(|row| row.kind.is_a2a()).map(|row| row.jsonrpc).collect();
    assert_eq!(ours.len(), seen.len());
    assert!(ours.iter().all(|code| seen.contains(code)));
}

#[test]
fn reasons_are_unique_and_each_kind_survives_each_binding() {
    let reasons: BTreeSet<_> = status::TABLE.iter().map(|row| row.reason).collect();
    assert_eq!(reasons.len(), status::TABLE.len());
    for row in status::TABLE {
        assert_eq!(status::row(row.kind), row);
        let error = Error::new(row.kind, "m").with_metadata("k", "v");
        let body = write_jsonrpc(&error);
        let back = jsonrpc::parse_response(dialect(Version::V1_0).jsonrpc(), &body).unwrap().1.unwrap_err();
        assert_eq!((back.kind(), back.message(), &*back.metadata()["k"]), (row.kind, "m", "v"));
        let (code, body) = write_rest(&error);
        let back = rest::parse_error(code, &body);
        assert_eq!((back.kind(), back.message(), &*back.metadata()["k"]), (row.kind, "m", "v"));
    }
}

#[test]
fn wrong_fields_and_retry_times_are_written() {
    let error = Error::invalid_params("message.parts", "must hold at least one part");
    insta::assert_snapshot!(String::from_utf8(write_jsonrpc(&error)).unwrap());
    let error = Error::new(ErrorKind::ResourceExhausted, "slow down").with_retry_after(Duration::from_millis(1500));
    let (code, body) = write_rest(&error);
    assert_eq!(code, 429);
    insta::assert_snapshot!(String::from_utf8(body.clone()).unwrap());
    assert_eq!(rest::parse_error(code, &body).retry_after(), Some(Duration::from_millis(1500)));
}

#[test]
fn the_cause_of_an_error_is_not_sent() {
    let error = Error::internal("password=hunter2");
    for written in [write_jsonrpc(&error), write_rest(&error).1] {
        assert!(!String::from_utf8(written).unwrap().contains("hunter2"));
    }
}

#[test]
fn a_reason_wins_over_a_code() {
    let read = |error: Value| {
        let body = json!({"jsonrpc": "2.0", "id": 1, "error": error}).to_string();
        jsonrpc::parse_response(dialect(Version::V1_0).jsonrpc(), body.as_bytes()).unwrap().1.unwrap_err()
    };
    let info =
        |domain: &str| json!([{"@type": "x/google.rpc.ErrorInfo", "reason": "TASK_NOT_FOUND", "domain": domain}]);
    let kind = |code: i64, data: Value| read(json!({"code": code, "message": "m", "data": data})).kind();
    assert_eq!(kind(-32603, info("a2a-protocol.org")), ErrorKind::TaskNotFound);
    assert_eq!(kind(-32603, info("elsewhere.example")), ErrorKind::Internal);
    assert_eq!(kind(-32002, Value::Null), ErrorKind::TaskNotCancelable);
    assert_eq!(kind(-32050, Value::Null), ErrorKind::Internal);
    // Details of any form are preserved.
    for data in [json!("text"), json!({"a": 1}), json!(7)] {
        let error = read(json!({"code": -32001, "message": "m", "data": data}));
        assert_eq!(error.peer_details(), Some(&[Detail::Other(data)][..]));
    }
    // An empty error is still an error.
    assert_eq!(read(json!({})).kind(), ErrorKind::Internal);
}

#[test]
fn errors_of_other_versions_and_of_proxies_are_read() {
    let kind =
        |status: u16, body: &str| rest::parse_error(StatusCode::from_u16(status).unwrap(), body.as_bytes()).kind();
    // 1.0.0 had other statuses. The examples of section 6 have other bodies than section 11.6 "Error Handling".
    assert_eq!(kind(409, ""), ErrorKind::TaskNotCancelable);
    assert_eq!(kind(415, "{}"), ErrorKind::ContentTypeNotSupported);
    let problem =
        r#"{"type":"https://a2a-protocol.org/errors/task-not-cancelable","title":"x","status":400,"detail":"d"}"#;
    assert_eq!(kind(400, problem), ErrorKind::TaskNotCancelable);
    assert_eq!(rest::parse_error(StatusCode::BAD_REQUEST, problem.as_bytes()).message(), "d");
    assert_eq!(kind(404, r#"{"error":{"code":404,"status":"NOT_FOUND","message":"m"}}"#), ErrorKind::TaskNotFound);
    assert_eq!(kind(404, r#"{"message":"not here"}"#), ErrorKind::MethodNotFound);
    assert_eq!(kind(400, r#"{"code":-32004,"message":"m"}"#), ErrorKind::UnsupportedOperation);
    assert_eq!(kind(401, r#"{"error":"invalid_token","error_description":"expired"}"#), ErrorKind::Unauthenticated);
    assert_eq!(kind(502, "<html>Bad Gateway</html>"), ErrorKind::Unavailable);
    let gateway = rest::parse_error(StatusCode::BAD_GATEWAY, b"<html>\n  no\tupstream</html>");
    assert_eq!(gateway.message(), "the agent answered 502 Bad Gateway: <html> no upstream</html>");
    let long = rest::parse_error(StatusCode::BAD_GATEWAY, "é".repeat(100_000).as_bytes());
    assert!(long.message().len() < 500);
}
